//! One step: look, keep what is displaced, put the boundary's state in its place.

use std::{
    fmt,
    os::fd::{AsFd, BorrowedFd},
};

use rustix::{
    fs::{self, AtFlags, RenameFlags},
    io::Errno,
};

use super::{
    Restorer,
    stage::{self, Look, Stage},
};
use crate::{
    anchor::{self, Way},
    git::Trees,
    model::{Digest, FileState, Outcome, RegularFile, Step},
    scan::{self, ReadFailure, Stat},
};

/// Why a step stopped, with everything as it was.
pub(super) enum Stopped {
    /// Something else stands there.
    Changed(FileState),
    /// It would have destroyed what is not the session's.
    Refused(String),
    /// The system said no: what was being done, and what it said.
    Failed(String),
}

impl Stopped {
    pub(super) fn failed(doing: &str, error: impl fmt::Display) -> Self {
        Stopped::Failed(format!("cannot {doing}: {error}; it was left as it was"))
    }

    pub(super) fn outcome(self) -> Outcome {
        match self {
            Stopped::Changed(found) => Outcome::Changed(found),
            Stopped::Refused(why) => Outcome::Refused(why),
            Stopped::Failed(why) => Outcome::Failed(why),
        }
    }
}

/// Does the step, or stops with everything as it was.
pub(super) fn carry_out(restorer: &Restorer<'_>, trees: &mut Trees, step: &Step) -> Result<Outcome, Stopped> {
    if step.guard == FileState::Other {
        return Err(Stopped::Refused("a FIFO, socket, device or nested repository is never touched".to_owned()));
    }
    if step.guard == step.to {
        return Err(Stopped::Refused("it is as at the boundary already".to_owned()));
    }
    // Before anything is made: without content there is nothing to make a folder for.
    let content = content(restorer, trees, step)?;
    let opened = match (&step.guard, &step.to) {
        (FileState::Absent, _) => {
            restorer.root.parent_made(&step.path, |folder| restorer.boundary.bits(folder, &FileState::Directory))
        }
        _ => match restorer.root.parent(&step.path) {
            Ok(Way::Open(folder, name)) => Ok((folder, name)),
            Ok(Way::Missing | Way::Blocked(_)) => return Err(Stopped::Changed(FileState::Absent)),
            Err(errno) => Err(errno),
        },
    };
    let (folder, name) = match opened {
        Ok(parent) => parent,
        Err(Errno::NOTDIR | Errno::LOOP) => {
            let why = "a folder on the way to it is a file or a link now; nothing was written through it";
            return Err(Stopped::Failed(why.to_owned()));
        }
        Err(errno) => return Err(Stopped::failed("reach its folder", errno)),
    };
    let place = Place { folder: folder.as_fd(), name };
    place.keep_displaced(restorer, &step.guard)?;
    let bits = restorer.boundary.bits(step.path.as_bytes(), &step.to);
    match &step.to {
        FileState::Absent => place.remove(&step.guard)?,
        FileState::Directory => place.make_folder(&step.guard, bits)?,
        FileState::Regular(_) | FileState::Symlink(_) | FileState::Other => {
            place.publish(step, &content, narrowed(bits, step.permissions))?;
        }
    }
    Ok(Outcome::Done)
}

/// The bytes or the link text that the step puts in place; checked against what it says.
fn content(restorer: &Restorer<'_>, trees: &mut Trees, step: &Step) -> Result<Vec<u8>, Stopped> {
    match &step.to {
        FileState::Absent | FileState::Directory => Ok(Vec::new()),
        FileState::Other => Err(Stopped::Failed("a special file cannot be made; nothing was changed".to_owned())),
        FileState::Regular(_) | FileState::Symlink(_) => {
            let content = restorer.boundary.content(trees, step.path.as_bytes());
            let content = content.map_err(|why| Stopped::Failed(format!("{why}; it was left as it was")))?;
            if Some(Digest::of(&content)) == step.to.digest() {
                return Ok(content);
            }
            Err(Stopped::Failed("its content at the boundary is not to be had; it was left as it was".to_owned()))
        }
    }
}

/// A name in an open folder.
struct Place<'p> {
    folder: BorrowedFd<'p>,
    name: &'p [u8],
}

impl Place<'_> {
    /// Stops unless what stands there is what the guard says.
    fn check(&self, guard: &FileState) -> Result<Option<Stat>, Stopped> {
        let stat = anchor::stat(self.folder, self.name).map_err(|errno| Stopped::failed("look at it", errno))?;
        let Some(stat) = stat.as_ref().map(Stat::from) else {
            return if *guard == FileState::Absent { Ok(None) } else { Err(Stopped::Changed(FileState::Absent)) };
        };
        match scan::content_of(self.folder, self.name, &stat) {
            Ok(found) if found == *guard => Ok(Some(stat)),
            Ok(found) => Err(Stopped::Changed(found)),
            Err(failure) => Err(Stopped::failed("compare it", failure)),
        }
    }

    /// Keeps the content that is about to be displaced. It is the guard's content, or the step stops.
    fn keep_displaced(&self, restorer: &Restorer<'_>, guard: &FileState) -> Result<(), Stopped> {
        let keep = |error: std::io::Error| Stopped::failed("keep its present content", error);
        match guard {
            FileState::Regular(expected) => {
                let mut file = match scan::open_regular(self.folder, self.name) {
                    Ok(file) => file,
                    Err(ReadFailure::Vanished) => {
                        self.check(guard)?;
                        return Err(Stopped::failed("read it", ReadFailure::Vanished));
                    }
                    Err(failure) => return Err(Stopped::failed("read it", failure)),
                };
                let (content, stat) = scan::digest(&mut file).map_err(|failure| Stopped::failed("read it", failure))?;
                if content != expected.content {
                    let size = stat.size;
                    let found = RegularFile { content, size, executable: stat.executable() };
                    return Err(Stopped::Changed(FileState::Regular(found)));
                }
                restorer.displaced.put_from(content, stat.size, &mut file).map_err(keep)
            }
            FileState::Symlink(digest) => match fs::readlinkat(self.folder, self.name, Vec::new()) {
                Ok(text) if Digest::of(text.to_bytes()) == *digest => {
                    restorer.displaced.put(*digest, text.to_bytes()).map_err(keep)
                }
                _ => {
                    self.check(guard)?;
                    Err(Stopped::failed("read the link", ReadFailure::Unsettled))
                }
            },
            FileState::Absent | FileState::Directory | FileState::Other => Ok(()),
        }
    }

    /// Takes away what stands there.
    fn remove(&self, guard: &FileState) -> Result<(), Stopped> {
        self.check(guard)?;
        let flags = if *guard == FileState::Directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        match fs::unlinkat(self.folder, self.name, flags) {
            Ok(()) => Ok(()),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Err(Stopped::Refused(not_empty())),
            Err(errno) => Err(Stopped::failed("remove it", errno)),
        }
    }

    /// Makes a folder in place of what stands there.
    fn make_folder(&self, guard: &FileState, bits: u32) -> Result<(), Stopped> {
        let make = || anchor::make_folder(self.folder, self.name, bits);
        let failed = |errno: Errno| Stopped::failed("make the folder", errno);
        if *guard == FileState::Absent {
            return make().map(drop).map_err(failed);
        }
        // Made beside it, then exchanged: there is no moment at which nothing stands there.
        self.check(guard)?;
        let aside = stage::stage_name();
        anchor::make_folder(self.folder, &aside, bits).map_err(failed)?;
        match exchange(self.folder, &aside, self.name) {
            Ok(()) => {
                let _best_effort = fs::unlinkat(self.folder, &aside, AtFlags::empty());
                return Ok(());
            }
            Err(errno) => {
                let _best_effort = fs::unlinkat(self.folder, &aside, AtFlags::REMOVEDIR);
                if !is_unsupported(errno) {
                    return Err(failed(errno));
                }
            }
        }
        // Aside, not away: if the folder cannot be made, what stood there comes back.
        rename_new(self.folder, self.name, &aside).map_err(|errno| Stopped::failed("move it aside", errno))?;
        if let Err(errno) = make() {
            let _best_effort = rename_new(self.folder, &aside, self.name);
            return Err(failed(errno));
        }
        let _best_effort = fs::unlinkat(self.folder, &aside, AtFlags::empty());
        Ok(())
    }

    /// Puts a file or link in place of what stands there.
    fn publish(&self, step: &Step, content: &[u8], permissions: u32) -> Result<(), Stopped> {
        let displaced = anchor::stat(self.folder, self.name).map_err(|errno| Stopped::failed("look at it", errno))?;
        let look = match &step.to {
            FileState::Symlink(_) => Look::Link,
            _ => Look::File { permissions },
        };
        let owner = displaced.filter(|_| matches!(step.guard, FileState::Regular(_))).map(|s| (s.st_uid, s.st_gid));
        let stage = Stage::make(self.folder, look, content, owner)
            .map_err(|error| Stopped::failed("write its content beside it", error))?;
        match step.guard {
            FileState::Directory => {
                self.check(&step.guard)?;
                match stage.exchange_for_folder(self.name) {
                    Ok(()) => Ok(()),
                    Err(Errno::NOTEMPTY | Errno::EXIST) => Err(Stopped::Refused(not_empty())),
                    Err(errno) if is_unsupported(errno) => {
                        self.remove(&step.guard)?;
                        stage.publish_new(self.name).map_err(|errno| Stopped::failed("give it its name", errno))
                    }
                    Err(errno) => Err(Stopped::failed("put it in place of the folder", errno)),
                }
            }
            FileState::Absent => stage.publish_new(self.name).map_err(|errno| match errno {
                Errno::EXIST => match self.check(&FileState::Absent) {
                    Err(stopped) => stopped,
                    Ok(_) => Stopped::failed("give it its name", errno),
                },
                errno => Stopped::failed("give it its name", errno),
            }),
            _ => {
                self.check(&step.guard)?;
                stage.publish_over(self.name).map_err(|errno| Stopped::failed("put it in place", errno))
            }
        }
    }
}

/// The bits of a restored file: those at the boundary, and no one may read or write it who might not right before the
/// session changed it, nor execute it who may not read it.
fn narrowed(boundary: u32, before: Option<u32>) -> u32 {
    let readable = boundary & before.unwrap_or(0o666) & 0o666;
    readable | (boundary & 0o111 & (((readable & 0o444) >> 2) | 0o100))
}

fn not_empty() -> String {
    "the folder holds what the session did not make; it was left as it was".to_owned()
}

/// Exchanges what two names stand for, in one step.
pub(super) fn exchange(folder: BorrowedFd<'_>, one: &[u8], other: &[u8]) -> Result<(), Errno> {
    fs::renameat_with(folder, one, folder, other, RenameFlags::EXCHANGE)
}

/// Whether the system or the file system has no such call or flag.
pub(super) fn is_unsupported(errno: Errno) -> bool {
    matches!(errno, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

/// Renames without ever replacing; where the system has no such flag, by a link that fails when the name is taken.
pub(super) fn rename_new(folder: BorrowedFd<'_>, from: &[u8], to: &[u8]) -> Result<(), Errno> {
    match fs::renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
        Err(errno) if is_unsupported(errno) => {
            fs::linkat(folder, from, folder, to, AtFlags::empty())?;
            fs::unlinkat(folder, from, AtFlags::empty())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::narrowed;

    #[test]
    fn restored_bits_are_the_boundarys_and_never_wider_than_before_the_change() {
        assert_eq!(narrowed(0o644, None), 0o644);
        assert_eq!(narrowed(0o755, None), 0o755);
        assert_eq!(narrowed(0o600, Some(0o644)), 0o600);
        assert_eq!(narrowed(0o644, Some(0o600)), 0o600);
        assert_eq!(narrowed(0o755, Some(0o600)), 0o700);
        assert_eq!(narrowed(0o755, Some(0o644)), 0o755);
        assert_eq!(narrowed(0o644, Some(0o755)), 0o644);
        assert_eq!(narrowed(0o750, Some(0o4755)), 0o750);
        assert_eq!(narrowed(0o4755, None), 0o755);
        assert_eq!(narrowed(0o444, Some(0o444)), 0o444);
    }
}
