//! Removing folders that are empty.
//!
//! Invariant: only `rmdir` removes a folder, so one that holds anything stays.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::{
    fs::{AtFlags, Dir, FileType, unlinkat},
    io::Errno,
};

use crate::{
    anchor::{Root, open_folder},
    path::WorkPath,
};

/// Removes those of the folders that are empty, deepest first; answers those that it removed, sorted.
pub(crate) fn remove_empty(root: &Root, mut paths: Vec<WorkPath>) -> Vec<WorkPath> {
    paths.sort_by(|a, b| b.cmp(a));
    paths.retain(|path| {
        let parent = root.parent(path).ok().flatten();
        parent.is_some_and(|(folder, name)| unlinkat(folder.as_fd(), name, AtFlags::REMOVEDIR).is_ok())
    });
    paths.reverse();
    paths
}

/// Removes a folder in which there is nothing but folders, at any depth. `ENOTEMPTY`: there is, and all was left.
pub(super) fn remove_empty_tree(parent: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    if !holds_only_folders(parent, name)? {
        return Err(Errno::NOTEMPTY);
    }
    remove_tree(parent, name)
}

fn holds_only_folders(parent: BorrowedFd<'_>, name: &[u8]) -> Result<bool, Errno> {
    let folder = open_folder(parent, name)?;
    for child in children(folder.as_fd())? {
        match child {
            (name, true) if holds_only_folders(folder.as_fd(), &name)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn remove_tree(parent: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    let folder = open_folder(parent, name)?;
    for (name, is_folder) in children(folder.as_fd())? {
        if !is_folder {
            return Err(Errno::NOTEMPTY);
        }
        remove_tree(folder.as_fd(), &name)?;
    }
    unlinkat(parent, name, AtFlags::REMOVEDIR)
}

/// The names in the folder, and whether each is a folder.
fn children(folder: BorrowedFd<'_>) -> Result<Vec<(Vec<u8>, bool)>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        let is_folder = match entry.file_type() {
            FileType::Directory => true,
            FileType::Unknown => crate::anchor::stat(folder, name)?
                .is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory),
            _ => false,
        };
        names.push((name.to_vec(), is_folder));
    }
    Ok(names)
}
