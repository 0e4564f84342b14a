//! The log since a checkpoint: a header that names the checkpoint, then one frame per commit, one after the other.
//!
//! A frame is the length of its body, a checksum of that length, a checksum of the body, and the body. Both checksums
//! are keyed by the log's salt and the commit's number, so that a frame counts only where it was written. Zeros after
//! the last frame are room for more.

use std::io;

use super::files::{self, Files};
use super::record::checksum;
use super::{Batch, FORMAT, Sync};
use crate::platform::{Bug, File, Opening};

const MAGIC: &[u8; 8] = b"cahootsL";
const HEADER: usize = 40;
const FRAME: usize = 12;

/// One batch larger than this must not be paid for in memory for ever.
const LARGE: usize = 1 << 20;

/// What makes a log the log of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Link {
    /// Counts checkpoints.
    pub(super) generation: u64,
    /// Random, so that copies of a store that went separate ways are not mixed up.
    pub(super) salt: u64,
    /// Commits before the log's first.
    pub(super) commits: u64,
}

impl Link {
    fn header(&self, format: u32) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(MAGIC);
        header[8..12].copy_from_slice(&format.to_le_bytes());
        header[12..20].copy_from_slice(&self.generation.to_le_bytes());
        header[20..28].copy_from_slice(&self.salt.to_le_bytes());
        header[28..36].copy_from_slice(&self.commits.to_le_bytes());
        let sum = checksum(b"log", &header[..36]);
        header[36..].copy_from_slice(&sum.to_le_bytes());
        header
    }

    fn key(&self, commit: u64) -> [u8; 16] {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&self.salt.to_le_bytes());
        key[8..].copy_from_slice(&commit.to_le_bytes());
        key
    }

    /// The length of this commit's body, if a frame of it begins here.
    fn body_length(&self, commit: u64, bytes: &[u8]) -> Option<usize> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let sum = u32::from_le_bytes(*rest.first_chunk::<4>()?);
        (checksum(&self.key(commit), length) == sum).then_some(u32::from_le_bytes(*length) as usize)
    }

    /// This commit's body, if its frame is here and whole.
    fn body<'a>(&self, commit: u64, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let length = self.body_length(commit, bytes)?;
        let sum = u32::from_le_bytes(*bytes.get(8..FRAME)?.first_chunk::<4>()?);
        let body = bytes.get(FRAME..FRAME.checked_add(length)?)?;
        (checksum(&self.key(commit), body) == sum).then_some(body)
    }
}

/// What a log holds.
#[derive(Debug)]
pub(super) struct Scanned {
    pub(super) batches: Vec<Batch>,
    /// Bytes up to the end of the last sound frame.
    pub(super) end: u64,
    /// Something lies behind it: a commit that was cut short.
    pub(super) torn: bool,
}

/// Reads a log of a store of this format. The last frame may be incomplete, since a commit may be cut short; nothing else may be amiss.
pub(super) fn scan(bytes: &[u8], link: &Link, format: u32) -> Result<Scanned, String> {
    if bytes.get(..HEADER) != Some(&link.header(format)[..]) {
        return Err("its log is another checkpoint's, or altered at its beginning".into());
    }
    let (mut at, mut batches) = (HEADER, Vec::new());
    let mut commit = link.commits + 1;
    while let Some(body) = link.body(commit, &bytes[at..]) {
        batches.push(Batch::decode(body).ok_or_else(|| format!("commit {commit} makes no sense"))?);
        at += FRAME + body.len();
        commit += 1;
    }
    let tail = &bytes[at..];
    let tail = &tail[..tail.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)];
    // A commit begins when the one before is complete: what was cut short has nothing behind it.
    let beyond = link.body_length(commit, tail).map_or(tail.len(), |length| FRAME.saturating_add(length));
    let follows = (0..tail.len()).any(|from| link.body_length(commit + 1, &tail[from..]).is_some());
    if tail.len() > beyond || follows {
        return Err(format!("commit {commit} is altered, and it is not the last"));
    }
    Ok(Scanned { batches, end: at as u64, torn: !tail.is_empty() })
}

/// A log that is being written.
#[derive(Debug)]
pub(super) struct Log {
    file: File,
    link: Link,
    /// Where the next frame begins.
    end: u64,
    /// The file's length.
    length: u64,
    /// By how much it grows at once.
    room: u64,
    /// It does not wait for the disk: a planted fault.
    hasty: bool,
    /// Part of a commit that failed may lie behind the end.
    torn: bool,
    frame: Vec<u8>,
}

impl Log {
    fn new(files: &Files, file: File, link: Link, end: u64, length: u64, torn: bool) -> Log {
        let (room, hasty) = (files.platform.room(), files.platform.has(Bug::SkipFlush));
        Log { file, link, end, length, room, hasty, torn, frame: Vec::new() }
    }

    /// An empty log, on disk.
    pub(super) fn create(files: &Files, link: Link, sync: Sync) -> io::Result<Log> {
        let file = files.open(&files.log(link.generation), Opening::Anew)?;
        file.write_all_at(&link.header(FORMAT), 0)?;
        sync.data(&file)?;
        let end = HEADER as u64;
        Ok(Log::new(files, file, link, end, end, false))
    }

    /// Goes on behind what was found; what was cut short goes.
    pub(super) fn resume(files: &Files, link: Link, found: &Scanned, sync: Sync) -> io::Result<Log> {
        let file = files.open(&files.log(link.generation), Opening::ToWrite)?;
        let length = file.length()?;
        let mut log = Log::new(files, file, link, found.end, length, found.torn);
        log.mend()?;
        // A killed process may have left to the system what nobody was told of yet; now it counts.
        sync.data(&log.file)?;
        Ok(log)
    }

    /// Appends a commit, all of it or nothing; the bytes it took.
    pub(super) fn append(&mut self, commit: u64, batch: &Batch, sync: Sync) -> io::Result<u64> {
        self.mend()?;
        let mut frame = std::mem::take(&mut self.frame);
        frame.clear();
        frame.resize(FRAME, 0);
        frame = batch.encode(frame);
        let key = self.link.key(commit);
        let length = files::length(frame.len() - FRAME)?;
        let body = checksum(&key, &frame[FRAME..]);
        frame[..4].copy_from_slice(&length);
        frame[4..8].copy_from_slice(&checksum(&key, &length).to_le_bytes());
        frame[8..FRAME].copy_from_slice(&body.to_le_bytes());
        let end = self.end + frame.len() as u64;
        if sync == Sync::Disk && end > self.length && self.file.set_len(end + self.room).is_ok() {
            self.length = end + self.room;
        }
        self.torn = true;
        let written = self.file.write_all_at(&frame, self.end);
        let written = written.and_then(|()| if self.hasty { Ok(()) } else { sync.data(&self.file) });
        if let Err(error) = written {
            // If this fails too, it is done before the next commit.
            let _ = self.mend();
            return Err(error);
        }
        (self.end, self.length, self.torn) = (end, self.length.max(end), false);
        let bytes = frame.len() as u64;
        if frame.capacity() <= LARGE {
            self.frame = frame;
        }
        Ok(bytes)
    }

    /// Cuts off what a failed commit left behind the end.
    fn mend(&mut self) -> io::Result<()> {
        if self.torn {
            self.file.set_len(self.end)?;
            (self.length, self.torn) = (self.end, false);
        }
        Ok(())
    }

    pub(super) fn link(&self) -> Link {
        self.link
    }

    /// Bytes of the header and all frames.
    pub(super) fn bytes(&self) -> u64 {
        self.end
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Another disk, so to speak.
    #[cfg(test)]
    pub(super) fn swap_file(&mut self, file: File) -> File {
        std::mem::replace(&mut self.file, file)
    }
}
