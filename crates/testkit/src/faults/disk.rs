//! A disk in memory that knows what has been synced. A kill loses nothing that was written; a power cut loses, tears or
//! scrambles whatever was not synced; a disk that lies says that it has synced, and has not.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use cahoots_node::inside::{Opening, SimulatedFile};

use super::content::Content;
use super::dice::Dice;

/// A change of names.
#[derive(Clone, Debug)]
enum Naming {
    Made(PathBuf, usize),
    Renamed { from: PathBuf, to: PathBuf, content: usize },
    Removed(PathBuf),
}

/// What the disk does next.
#[derive(Clone, Debug, Default)]
pub(super) struct Mood {
    /// The power goes (or the process is killed) before the operation of this number.
    pub(super) off_at: Option<u64>,
    /// The same, before so many more syncs: what was written just now is not safe yet.
    pub(super) off_at_sync: Option<u64>,
    /// The same, after the next file was given another name.
    pub(super) off_after_rename: bool,
    /// Nothing can be written.
    pub(super) full: bool,
    /// The next sync fails, and says so.
    pub(super) sync_fails: bool,
    /// Syncs say that they have done what they have not.
    pub(super) lies: bool,
}

#[derive(Clone, Debug, Default)]
struct Inner {
    contents: Vec<Content>,
    names: BTreeMap<PathBuf, usize>,
    /// As they were when they were last synced.
    synced_names: BTreeMap<PathBuf, usize>,
    /// What has changed since: a power cut may leave any of it out.
    namings: Vec<Naming>,
    operations: u64,
    mood: Mood,
    off: bool,
    /// It has lied about something that is still not synced.
    lied: bool,
}

/// A disk; clones are the same disk.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk(Arc<Mutex<Inner>>);

/// A copy of all that is on a disk.
#[derive(Clone, Debug)]
pub(super) struct Image(Inner);

/// An open file.
#[derive(Debug)]
struct Open {
    disk: Disk,
    content: usize,
}

impl Disk {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("no panic under the lock")
    }

    /// What it does next.
    pub(super) fn mood(&self, change: impl FnOnce(&mut Mood)) {
        change(&mut self.lock().mood);
    }

    /// Operations that have changed something, ever.
    pub(super) fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// The power has gone.
    pub(super) fn is_off(&self) -> bool {
        self.lock().off
    }

    /// The power goes now.
    pub(super) fn switch_off(&self) {
        self.lock().off = true;
    }

    /// A process was killed: all that was written stays.
    pub(super) fn kill(&self) {
        let mut inner = self.lock();
        inner.restart();
    }

    /// The power was cut: what was not synced is lost, torn or scrambled. `true` if something is gone that the disk had
    /// said to be safe.
    pub(super) fn cut(&self, dice: &mut Dice) -> bool {
        let mut inner = self.lock();
        inner.lose_names(dice);
        for content in &mut inner.contents {
            content.tear(dice);
        }
        inner.restart();
        std::mem::take(&mut inner.lied)
    }

    /// A copy of everything.
    pub(super) fn image(&self) -> Image {
        let mut inner = self.lock().clone();
        inner.restart();
        inner.lied = false;
        inner.sync_names();
        inner.contents.iter_mut().for_each(|content| content.unsynced.clear());
        Image(inner)
    }

    /// Everything is as it was then.
    pub(super) fn put_back(&self, image: &Image) {
        let mut inner = self.lock();
        let (mood, operations) = (inner.mood.clone(), inner.operations);
        *inner = Inner { mood, operations, ..image.0.clone() };
    }

    /// A bit rots in the last bytes of the newest log beside `store`, if all its `commits` are counted in its mark, or
    /// must be: then someone can tell. `true` if one did.
    pub(super) fn rot(&self, store: &Path, commits: u64, must_be: bool, dice: &mut Dice) -> bool {
        let mut inner = self.lock();
        let beside = |end: &str| PathBuf::from(format!("{}.{end}", store.display()));
        let mark = inner.names.get(&beside("mark")).map(|mark| inner.contents[*mark].bytes.clone());
        let counted = mark.and_then(|mark| mark.last_chunk().map(|count| u64::from_le_bytes(*count)));
        let log =
            (1..200).rev().find_map(|generation| inner.names.get(&beside(&format!("{generation}.log"))));
        let (Some(log), true) = (log.copied(), must_be || counted == Some(commits)) else { return false };
        let bytes = &mut inner.contents[log].bytes;
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let at = end.saturating_sub(1 + dice.below(40) as usize);
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << dice.below(8);
        }
        true
    }

    /// Is there such a file?
    pub(super) fn exists(&self, path: &Path) -> bool {
        self.lock().names.contains_key(path)
    }

    /// Opens a file.
    pub(super) fn open(&self, path: &Path, opening: Opening) -> io::Result<Box<dyn SimulatedFile>> {
        let mut inner = self.lock();
        inner.powered()?;
        let content = match (inner.names.get(path).copied(), opening) {
            (None, Opening::ToRead) => return Err(io::ErrorKind::NotFound.into()),
            (None, _) => {
                inner.operation()?;
                let content = inner.contents.len();
                inner.contents.push(Content::default());
                inner.names.insert(path.into(), content);
                inner.namings.push(Naming::Made(path.into(), content));
                content
            }
            (Some(content), Opening::Anew) => {
                inner.operation()?;
                inner.contents[content].set_len(0);
                content
            }
            (Some(content), _) => content,
        };
        Ok(Box::new(Open { disk: self.clone(), content }))
    }

    /// Renames a file.
    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut inner = self.lock();
        inner.operation()?;
        let content = inner.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        inner.names.insert(to.into(), content);
        inner.namings.push(Naming::Renamed { from: from.into(), to: to.into(), content });
        if std::mem::take(&mut inner.mood.off_after_rename) {
            inner.mood.off_at = Some(inner.operations + 1);
        }
        Ok(())
    }

    /// Removes a file.
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        let mut inner = self.lock();
        inner.powered()?;
        if !inner.names.contains_key(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        inner.operation()?;
        inner.names.remove(path);
        inner.namings.push(Naming::Removed(path.into()));
        Ok(())
    }

    /// The names in a folder.
    pub(super) fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let inner = self.lock();
        inner.powered()?;
        let inside = inner.names.keys().filter(|path| path.parent() == Some(folder));
        Ok(inside.filter_map(|path| Some(path.file_name()?.to_str()?.to_string())).collect())
    }

    /// Names are on disk.
    pub(super) fn sync_folder(&self) -> io::Result<()> {
        let mut inner = self.lock();
        inner.operation()?;
        if inner.sync()? {
            inner.sync_names();
        }
        Ok(())
    }
}

impl Inner {
    fn restart(&mut self) {
        self.off = false;
        self.contents.iter_mut().for_each(|content| content.locked = false);
    }

    fn powered(&self) -> io::Result<()> {
        if self.off { Err(io::Error::other("the power is off")) } else { Ok(()) }
    }

    /// One more operation, unless the power goes before it.
    fn operation(&mut self) -> io::Result<()> {
        self.powered()?;
        self.operations += 1;
        if self.mood.off_at.is_some_and(|at| self.operations >= at) {
            (self.off, self.mood.off_at) = (true, None);
        }
        self.powered()
    }

    /// Whether a sync does anything.
    fn sync(&mut self) -> io::Result<bool> {
        if let Some(left) = &mut self.mood.off_at_sync {
            *left = left.saturating_sub(1);
            if *left == 0 {
                (self.off, self.mood.off_at_sync) = (true, None);
                return Err(io::Error::other("the power is off"));
            }
        }
        if std::mem::take(&mut self.mood.sync_fails) {
            return Err(io::Error::other("the device does not answer"));
        }
        self.lied |= self.mood.lies;
        Ok(!self.mood.lies)
    }

    fn sync_names(&mut self) {
        if !self.namings.is_empty() {
            self.namings.clear();
            self.synced_names.clone_from(&self.names);
        }
    }

    /// Of what happened to names since they were last synced, all lasts, or the beginning, or anything.
    fn lose_names(&mut self, dice: &mut Dice) {
        let namings = std::mem::take(&mut self.namings);
        let first = dice.below(namings.len() as u64 + 1) as usize;
        let any = dice.one_in(2);
        let mut names = self.synced_names.clone();
        for (place, naming) in namings.into_iter().enumerate() {
            if if any { dice.one_in(2) } else { place >= first } {
                continue;
            }
            match naming {
                Naming::Made(path, content) => {
                    names.insert(path, content);
                }
                Naming::Renamed { from, to, content } => {
                    names.remove(&from);
                    names.insert(to, content);
                }
                Naming::Removed(path) => {
                    names.remove(&path);
                }
            }
        }
        self.names.clone_from(&names);
        self.synced_names = names;
    }
}

impl SimulatedFile for Open {
    fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        let inner = self.disk.lock();
        inner.powered()?;
        let bytes = inner.contents[self.content].bytes.get(at as usize..at as usize + buffer.len());
        buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut inner = self.disk.lock();
        inner.operation()?;
        if inner.mood.full {
            // What still fits is written.
            inner.contents[self.content].write(&bytes[..bytes.len() / 2], at as usize);
            return Err(io::ErrorKind::StorageFull.into());
        }
        inner.contents[self.content].write(bytes, at as usize);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut inner = self.disk.lock();
        inner.operation()?;
        inner.contents[self.content].set_len(length as usize);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        let inner = self.disk.lock();
        inner.powered()?;
        Ok(inner.contents[self.content].bytes.len() as u64)
    }

    fn sync(&self) -> io::Result<()> {
        let mut inner = self.disk.lock();
        inner.operation()?;
        if inner.sync()? {
            inner.contents[self.content].unsynced.clear();
        }
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        let mut inner = self.disk.lock();
        inner.powered()?;
        let free = !inner.contents[self.content].locked;
        inner.contents[self.content].locked = true;
        Ok(free)
    }

    fn unlock(&self) {
        self.disk.lock().contents[self.content].locked = false;
    }
}
