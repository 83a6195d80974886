//! Locks that die with their holder.
//!
//! Invariant: a lock is an flock on an open file, so the kernel releases it when the process ends, however it ends. It is
//! never broken by age.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

use super::files::NO_FOLLOW;

/// A held lock.
#[derive(Debug)]
pub(crate) struct Guard(#[allow(dead_code, reason = "closing it releases the lock")] File);

/// Makes a lock file, held, where nobody can wait for it yet.
pub(super) fn make_lock(path: &Path) -> io::Result<Guard> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    wait(&file)?;
    Ok(Guard(file))
}

/// Waits for the lock file at `path`; `None` when it is gone.
pub(super) fn lock_file(path: &Path) -> io::Result<Option<Guard>> {
    loop {
        let opened = OpenOptions::new().read(true).custom_flags(NO_FOLLOW).open(path);
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        wait(&file)?;
        // Whoever held it may have dropped the session: then this file is nobody's lock any more.
        let held = file.metadata()?;
        match path.symlink_metadata() {
            Ok(there) if (there.dev(), there.ino()) == (held.dev(), held.ino()) => return Ok(Some(Guard(file))),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
}

/// Waits for a lock on the folder itself.
pub(crate) fn lock_folder(path: &Path) -> io::Result<Guard> {
    let folder = File::open(path)?;
    wait(&folder)?;
    Ok(Guard(folder))
}

fn wait(file: &File) -> io::Result<()> {
    loop {
        match flock(file, FlockOperation::LockExclusive) {
            Err(Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}
