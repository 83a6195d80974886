//! The workspace root, and the way down from it.
//!
//! Invariant: below the root no symbolic link is followed and no name leads up. A folder is reached by opening one
//! component after the other, each through the handle of the one above it, each without following links; a joined path
//! never reaches the kernel, since `O_NOFOLLOW` guards its last component only, and a trailing slash undoes even that.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{self, AtFlags, Mode, OFlags},
    io::Errno,
};

use crate::path::WorkPath;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The workspace root, opened once.
#[derive(Debug)]
pub(crate) struct Root {
    handle: OwnedFd,
    path: PathBuf,
    stamping: Stamping,
}

/// Who stamps what changes on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamping {
    /// This machine's kernel, from its clock: files when they are written, folders when their names change.
    Here,
    /// Somebody else, or coarsely, or it is not known: nothing but files' stamps is gone by, and those late.
    Elsewhere,
}

impl Stamping {
    #[cfg(target_os = "linux")]
    fn of(folder: BorrowedFd<'_>) -> Self {
        // ext2 to 4, xfs, btrfs, tmpfs, ramfs, overlayfs, f2fs, zfs, bcachefs: linux/magic.h and their own headers.
        const HERE: [u32; 9] = [
            0xef53,
            0x5846_5342,
            0x9123_683e,
            0x0102_1994,
            0x8584_58f6,
            0x794c_7630,
            0xf2f5_2010,
            0x2fc1_2fc1,
            0xca45_1a4e,
        ];
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a magic number has 32 bits")]
        let is_here = fs::fstatfs(folder).is_ok_and(|found| HERE.contains(&(found.f_type as u32)));
        if is_here { Stamping::Here } else { Stamping::Elsewhere }
    }

    #[cfg(not(target_os = "linux"))]
    fn of(_: BorrowedFd<'_>) -> Self {
        Stamping::Elsewhere
    }
}

impl Root {
    /// Opens the root. Links above it and the root itself are followed here, once.
    pub(crate) fn open(path: &Path) -> std::io::Result<Self> {
        let path = path.canonicalize()?;
        let handle = fs::open(&path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let stamping = Stamping::of(handle.as_fd());
        Ok(Root { handle, path, stamping })
    }

    /// Who stamps what changes there.
    pub(crate) fn stamping(&self) -> Stamping {
        self.stamping
    }

    /// Where the root was found, with all links resolved.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The way to the folder in which the path's last component lives.
    pub(crate) fn parent<'p>(&self, path: &'p WorkPath) -> Result<Way<'_, 'p>, Errno> {
        let (components, name) = path.split();
        let mut folder = Folder::Root(self.handle.as_fd());
        let mut walked = 0;
        for component in components {
            walked += component.len();
            match open_folder(folder.as_fd(), component) {
                Ok(handle) => folder = Folder::Below(handle),
                Err(Errno::NOENT) => return Ok(Way::Missing),
                Err(Errno::NOTDIR | Errno::LOOP) => return Ok(Way::Blocked(&path.as_bytes()[..walked])),
                Err(errno) => return Err(errno),
            }
            walked += 1;
        }
        Ok(Way::Open(folder, name))
    }

    /// Like [`Root::parent`], making the folders that are not there, with the permission bits that `bits` gives for each.
    pub(crate) fn parent_made<'p>(
        &self,
        path: &'p WorkPath,
        bits: impl Fn(&[u8]) -> u32,
    ) -> Result<(Folder<'_>, &'p [u8]), Errno> {
        let (components, name) = path.split();
        let mut folder = Folder::Root(self.handle.as_fd());
        let mut walked = 0;
        for component in components {
            walked += component.len();
            let handle = match open_folder(folder.as_fd(), component) {
                Err(Errno::NOENT) => make_folder(folder.as_fd(), component, bits(&path.as_bytes()[..walked]))?,
                other => other?,
            };
            folder = Folder::Below(handle);
            walked += 1;
        }
        Ok((folder, name))
    }
}

/// Where the way to a path's folder leads.
#[derive(Debug)]
pub(crate) enum Way<'r, 'p> {
    /// To an open folder, and the name in it.
    Open(Folder<'r>, &'p [u8]),
    /// Nowhere: a folder on it is not there.
    Missing,
    /// Nowhere: this path on it is no folder.
    Blocked(&'p [u8]),
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// An open folder at or below the root.
#[derive(Debug)]
pub(crate) enum Folder<'r> {
    /// The root itself.
    Root(BorrowedFd<'r>),
    /// One below it.
    Below(OwnedFd),
}

impl AsFd for Folder<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Folder::Root(handle) => handle.as_fd(),
            Folder::Below(handle) => handle.as_fd(),
        }
    }
}

/// Opens the folder of that name, which must be a single component.
pub(crate) fn open_folder(parent: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    fs::openat(parent, name, FOLDER, Mode::empty())
}

/// The stat of what stands under that name, a link being itself; `None` when nothing does.
pub(crate) fn stat(parent: BorrowedFd<'_>, name: &[u8]) -> Result<Option<fs::Stat>, Errno> {
    match fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Makes a folder, which nobody but its owner can enter before it has its permission bits. One that is there is opened.
pub(crate) fn make_folder(parent: BorrowedFd<'_>, name: &[u8], bits: u32) -> Result<OwnedFd, Errno> {
    match fs::mkdirat(parent, name, Mode::RWXU) {
        Ok(()) => {
            let handle = open_folder(parent, name)?;
            fs::fchmod(&handle, Mode::from_raw_mode(bits as _))?;
            Ok(handle)
        }
        Err(Errno::EXIST) => open_folder(parent, name),
        Err(errno) => Err(errno),
    }
}
