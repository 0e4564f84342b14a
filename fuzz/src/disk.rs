//! A disk in memory: nothing but files.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cahoots_node::inside::{Bug, Opening, Simulated, SimulatedFile};
use cahoots_node::store::Batch;

type Content = Arc<Mutex<Vec<u8>>>;

/// Files by their paths.
#[derive(Debug, Default)]
pub struct Disk(Mutex<BTreeMap<PathBuf, Content>>);

#[derive(Debug)]
struct Open(Content);

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Disk {
    /// With these files.
    pub fn with(files: impl IntoIterator<Item = (PathBuf, Vec<u8>)>) -> Disk {
        Disk(Mutex::new(files.into_iter().map(|(path, bytes)| (path, Arc::new(Mutex::new(bytes)))).collect()))
    }

    /// All files.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        held(&self.0).iter().map(|(path, content)| (path.clone(), held(content).clone())).collect()
    }
}

impl Simulated for Disk {
    fn wall(&self) -> Duration {
        Duration::ZERO
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }

    fn open(&self, path: &Path, opening: Opening) -> io::Result<Box<dyn SimulatedFile>> {
        let mut files = held(&self.0);
        if opening == Opening::ToRead && !files.contains_key(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let content = files.entry(path.into()).or_default();
        if opening == Opening::Anew {
            held(content).clear();
        }
        Ok(Box::new(Open(content.clone())))
    }

    fn exists(&self, path: &Path) -> bool {
        held(&self.0).contains_key(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut files = held(&self.0);
        let content = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.into(), content);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        held(&self.0).remove(path).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let name = |path: &PathBuf| Some(path.strip_prefix(folder).ok()?.to_str()?.to_string());
        Ok(held(&self.0).keys().filter_map(name).collect())
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn room(&self) -> u64 {
        256
    }

    fn committing(&self, _: &Path, _: u64, _: &Batch) {}

    fn bug(&self) -> Option<Bug> {
        None
    }
}

impl SimulatedFile for Open {
    fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        let content = held(&self.0);
        let end = usize::try_from(at).ok().and_then(|at| at.checked_add(buffer.len()));
        let part = end.and_then(|end| content.get(at as usize..end)).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(part);
        Ok(())
    }

    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let (mut content, at) = (held(&self.0), at as usize);
        let end = at + bytes.len();
        if content.len() < end {
            content.resize(end, 0);
        }
        content[at..end].copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        held(&self.0).resize(length as usize, 0);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(held(&self.0).len() as u64)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        Ok(true)
    }

    fn unlock(&self) {}
}
