//! The files that the keys of a world name. Where they are, and what account is kept of them, is for whoever reads an
//! experiment to say.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// Gives what is in files, or says why not.
pub trait Files {
    /// The text of a small one.
    fn text(&self, path: &str) -> Result<String, String>;

    /// Whether there is, or was, a file of this path. What cannot be looked at counts as there.
    fn has(&self, path: &str) -> bool;

    /// Where a file of any size and kind is, and what it is known by.
    fn locate(&self, path: &str) -> Result<Located, String>;
}

/// A file that was found and read to its end once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// Where to open it.
    pub path: PathBuf,
    /// Hash of its bytes, in hexadecimal digits.
    pub sha256: String,
    /// How many there are.
    pub bytes: u64,
}

impl Located {
    /// Reads a file to its end for its hash, in bounded memory.
    pub fn at(path: &Path) -> io::Result<Located> {
        // Others may have no end.
        if !path.metadata()?.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is no file that can be read to its end",
            ));
        }
        let mut file = File::open(path)?;
        let (mut hash, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 16]);
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => {
                    hash.update(&buffer[..read]);
                    bytes += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Located { path: path.to_path_buf(), sha256: hexadecimal(&hash.finalize()), bytes })
    }
}

/// Two digits per byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Files of the current folder, for those who have no account to keep.
#[derive(Clone, Copy, Debug, Default)]
pub struct Here;

impl Files for Here {
    fn text(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| error.to_string())
    }

    fn has(&self, path: &str) -> bool {
        Path::new(path).try_exists().unwrap_or(true)
    }

    fn locate(&self, path: &str) -> Result<Located, String> {
        Located::at(Path::new(path)).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_all_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "abc").unwrap();
        let found = Here.locate(path.to_str().unwrap()).unwrap();
        assert_eq!(found.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!((found.bytes, &found.path), (3, &path));
        let mut long = vec![7; 200_000];
        std::fs::write(&path, &long).unwrap();
        let before = Located::at(&path).unwrap();
        long[150_000] = 8;
        std::fs::write(&path, &long).unwrap();
        assert_ne!(Located::at(&path).unwrap().sha256, before.sha256);
        assert!(
            Here.locate("no such file").is_err() && Here.locate(folder.path().to_str().unwrap()).is_err()
        );
    }
}
