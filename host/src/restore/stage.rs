//! A complete file or link under a temporary name, in the folder where it will live.
//!
//! Invariant: the stage is made exclusively and without following links, holds all its content and has its final
//! permissions before it can be published, and is gone when it is not published. Its name has a fixed length, so that it
//! fits where the real name has 255 bytes.

use std::{
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, BorrowedFd},
    process,
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use rustix::{
    fs::{self, AtFlags, Gid, Mode, OFlags, Uid, fchmod, fchown, openat, symlinkat},
    io::Errno,
};

use super::step::{exchange, rename_new};

const PREFIX: &[u8] = b".turnback-";
const DIGITS: usize = 16;

/// Whether a name is one that stages have: scans leave it out.
pub(crate) fn is_stage_name(name: &[u8]) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|rest| {
        rest.len() == DIGITS && rest.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte))
    })
}

/// What is staged.
#[derive(Clone, Copy, Debug)]
pub(super) enum Look {
    /// A regular file with these permission bits.
    File { permissions: u32 },
    /// A symbolic link, whose text is the content.
    Link,
}

/// A staged file or link. Dropped without being published, it is removed.
pub(super) struct Stage<'s> {
    folder: BorrowedFd<'s>,
    name: Vec<u8>,
}

impl<'s> Stage<'s> {
    /// Makes the stage. `owner`: who owned the file that it replaces.
    pub(super) fn make(
        folder: BorrowedFd<'s>,
        look: Look,
        content: &[u8],
        owner: Option<(u32, u32)>,
    ) -> io::Result<Self> {
        loop {
            let name = stage_name();
            let made = match look {
                Look::File { .. } => {
                    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    openat(folder, &name, flags, Mode::from_raw_mode(0o600)).map(Some)
                }
                Look::Link => symlinkat(content, folder, &name).map(|()| None),
            };
            let file = match made {
                Err(Errno::EXIST) => continue,
                other => other?,
            };
            let stage = Stage { folder, name };
            if let (Some(file), Look::File { permissions }) = (file, look) {
                fill(File::from(file), content, permissions, owner)?;
            }
            return Ok(stage);
        }
    }

    /// Gives the stage the name of a folder, and removes the folder, which must be empty: otherwise all is as it was.
    pub(super) fn exchange_for_folder(&self, name: &[u8]) -> Result<(), Errno> {
        exchange(self.folder, &self.name, name)?;
        if let Err(errno) = fs::unlinkat(self.folder, &self.name, AtFlags::REMOVEDIR) {
            exchange(self.folder, &self.name, name)?;
            return Err(errno);
        }
        Ok(())
    }

    /// Gives the stage a name that nothing has.
    pub(super) fn publish_new(self, name: &[u8]) -> Result<(), Errno> {
        rename_new(self.folder, &self.name, name)?;
        std::mem::forget(self);
        Ok(())
    }

    /// Gives the stage the name of a file or link, which it replaces.
    pub(super) fn publish_over(self, name: &[u8]) -> Result<(), Errno> {
        fs::renameat(self.folder, &self.name, self.folder, name)?;
        std::mem::forget(self);
        Ok(())
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // It holds nothing that is not elsewhere, and scans leave it out if it stays.
        let _best_effort = fs::unlinkat(self.folder, &self.name, AtFlags::empty());
    }
}

fn fill(mut file: File, content: &[u8], mut permissions: u32, owner: Option<(u32, u32)>) -> io::Result<()> {
    file.write_all(content)?;
    if let Some((uid, gid)) = owner {
        let stat = fs::fstat(&file)?;
        // Only the superuser may give files away; without that the file is ours, as if we had saved it, and our group gets
        // no more than everybody.
        let _best_effort = (stat.st_uid != uid).then(|| fchown(file.as_fd(), Some(Uid::from_raw(uid)), None));
        if stat.st_gid != gid && fchown(file.as_fd(), None, Some(Gid::from_raw(gid))).is_err() {
            permissions &= 0o707 | ((permissions & 0o007) << 3);
        }
    }
    // Last: writing and changing the owner clear bits.
    fchmod(file.as_fd(), Mode::from_raw_mode(permissions as _))?;
    Ok(())
}

/// A name that no stage has had.
pub(super) fn stage_name() -> Vec<u8> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_nanos());
    let seed = format!("{}-{now}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let mut name = PREFIX.to_vec();
    name.extend_from_slice(&blake3::hash(seed.as_bytes()).to_hex().as_bytes()[..DIGITS]);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_stages_have_stage_names() {
        assert!(is_stage_name(&stage_name()));
        for name in [&b".turnback-"[..], b".turnback-0123456789abcdeg", b".turnback-0123456789abcdef0", b"turnback"] {
            assert!(!is_stage_name(name));
        }
    }
}
