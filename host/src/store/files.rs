//! Owner-only files that appear whole.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::fs::OFlags;

use crate::model::Digest;

/// Numbers the temporary names of this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// No link is followed, and a FIFO does not block.
#[allow(clippy::cast_possible_wrap, reason = "the flags are bits")]
pub(super) const NO_FOLLOW: i32 = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits() as i32;

/// A name that starts like `path`, ends like `ending`, and is no other's: process ids come again, so the number does too
/// where a crash left something.
pub(super) fn free_name(path: &Path, ending: &str) -> PathBuf {
    let start = path.file_name().unwrap_or_default().to_string_lossy();
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let free = path.with_file_name(format!("{start}-{}-{number}-{ending}", std::process::id()));
        if free.symlink_metadata().is_err() {
            return free;
        }
    }
}

/// Makes a folder that was not there, named after `path`.
pub(super) fn make_fresh_folder(path: &Path) -> io::Result<PathBuf> {
    let fresh = free_name(path, "session");
    DirBuilder::new().mode(0o700).create(&fresh)?;
    Ok(fresh)
}

/// Makes a folder for its owner only, and what is missing above it.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Opens a file of ours for reading; a link or anything that is no regular file is refused.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(NO_FOLLOW).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

/// Reads a whole file of ours.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut open(path)?, &mut bytes)?;
    Ok(bytes)
}

/// Writes a file of ours under a temporary name, then gives it its name.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    through_temporary(path, |file| file.write_all(bytes))
}

/// Copies to a file of ours under a temporary name, and gives it its name if `accept` agrees to what was written.
pub(super) fn write_whole_from(
    path: &Path,
    from: &mut impl io::Read,
    accept: impl FnOnce(Digest) -> io::Result<()>,
) -> io::Result<()> {
    through_temporary(path, |file| {
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 128 * 1024];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return accept(hasher.finalize().into()),
                Ok(n) => {
                    hasher.update(&buffer[..n]);
                    file.write_all(&buffer[..n])?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    })
}

fn through_temporary(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let temporary = free_name(&path.with_file_name(".tmp"), "file");
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    let written = write(&mut file).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _best_effort = fs::remove_file(&temporary);
    }
    written
}
