//! What stands at a path now, with its content's digest.
//!
//! Invariant: only regular files are read, never through a link, never blocking, and a digest is of bytes that did not
//! change while they were read.

use std::{
    fs::File,
    io::{self, Read},
    os::fd::{AsFd, BorrowedFd},
};

use rustix::{
    fs::{Mode, OFlags, fstat, openat, readlinkat},
    io::Errno,
};

use super::{Kind, Stat};
use crate::{
    anchor::{self, Root, Way},
    model::{Digest, FileState, Observation, RegularFile},
    parallel,
    path::WorkPath,
    progress::Progress,
};

/// How often a file that changes while it is read is read again.
const ATTEMPTS: usize = 3;
const BUFFER: usize = 128 * 1024;

/// Why a file's content could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadFailure {
    /// It is no regular file any more, or is gone.
    #[error("it vanished or was replaced while it was being looked at")]
    Vanished,
    /// Somebody wrote it each time.
    #[error("it keeps changing while it is being read")]
    Unsettled,
    /// The system would not.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl From<Errno> for ReadFailure {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::NXIO => ReadFailure::Vanished,
            errno => ReadFailure::Io(errno.into()),
        }
    }
}

/// What stands at each path, in the order asked.
pub(crate) fn observe_all(root: &Root, paths: &[WorkPath], progress: &Progress) -> Vec<Observation> {
    parallel::map(
        paths,
        progress,
        || (),
        |(), path| match observe(root, path) {
            Ok(observation) => observation,
            Err(failure) => Observation::Unreadable(failure.to_string()),
        },
    )
}

/// What stands at the path.
pub(crate) fn observe(root: &Root, path: &WorkPath) -> Result<Observation, ReadFailure> {
    for _ in 0..ATTEMPTS {
        let (folder, name) = match root.parent(path).map_err(|errno| ReadFailure::Io(errno.into()))? {
            Way::Open(folder, name) => (folder, name),
            Way::Missing => return Ok(Observation::Seen(FileState::Absent)),
            Way::Blocked(above) => return Ok(Observation::Blocked(above.to_vec())),
        };
        match observe_in(folder.as_fd(), name) {
            Err(ReadFailure::Vanished) => {}
            other => return other.map(Observation::Seen),
        }
    }
    Err(ReadFailure::Unsettled)
}

/// What stands under the name in the folder.
fn observe_in(folder: BorrowedFd<'_>, name: &[u8]) -> Result<FileState, ReadFailure> {
    let Some(stat) = anchor::stat(folder, name).map_err(|errno| ReadFailure::Io(errno.into()))? else {
        return Ok(FileState::Absent);
    };
    content_of(folder, name, &Stat::from(&stat))
}

/// The state of what was seen under the name as that kind.
pub(crate) fn content_of(folder: BorrowedFd<'_>, name: &[u8], stat: &Stat) -> Result<FileState, ReadFailure> {
    match stat.kind {
        Kind::File => {
            let mut file = open_regular(folder, name)?;
            let (content, stat) = digest(&mut file)?;
            Ok(FileState::Regular(RegularFile { content, size: stat.size, executable: stat.executable() }))
        }
        Kind::Symlink => match readlinkat(folder, name, Vec::new()) {
            Ok(text) => Ok(FileState::Symlink(Digest::of(text.to_bytes()))),
            Err(Errno::INVAL) => Err(ReadFailure::Vanished),
            Err(errno) => Err(errno.into()),
        },
        Kind::Directory => Ok(FileState::Directory),
        Kind::Special => Ok(FileState::Other),
    }
}

/// Opens a regular file for reading; anything else is not touched, and a FIFO does not block.
pub(crate) fn open_regular(folder: BorrowedFd<'_>, name: &[u8]) -> Result<File, ReadFailure> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = openat(folder, name, flags, Mode::empty())?;
    if Stat::from(&fstat(&file)?).kind != Kind::File {
        return Err(ReadFailure::Vanished);
    }
    Ok(File::from(file))
}

/// The digest of the whole file, and the stat that it had all the while.
pub(crate) fn digest(file: &mut File) -> Result<(Digest, Stat), ReadFailure> {
    let mut buffer = vec![0; BUFFER];
    for _ in 0..ATTEMPTS {
        let before = Stat::from(&fstat(&*file)?);
        io::Seek::rewind(file)?;
        let mut hasher = blake3::Hasher::new();
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => {
                    hasher.update(&buffer[..n]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        let after = Stat::from(&fstat(&*file)?);
        if before == after && hasher.count() == after.size {
            return Ok((hasher.finalize().into(), after));
        }
    }
    Err(ReadFailure::Unsettled)
}

/// The whole content of the file, and the stat that it had all the while. Of a file larger than `limit` no more than
/// that is read: its stat tells.
pub(crate) fn read_settled(file: &mut File, limit: u64) -> Result<(Vec<u8>, Stat), ReadFailure> {
    for _ in 0..ATTEMPTS {
        let before = Stat::from(&fstat(&*file)?);
        if before.size > limit {
            return Ok((Vec::new(), before));
        }
        io::Seek::rewind(file)?;
        let mut bytes = Vec::with_capacity(usize::try_from(before.size).unwrap_or(0));
        file.take(limit + 1).read_to_end(&mut bytes)?;
        let after = Stat::from(&fstat(&*file)?);
        if before == after && bytes.len() as u64 == after.size {
            return Ok((bytes, after));
        }
    }
    Err(ReadFailure::Unsettled)
}
