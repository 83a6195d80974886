//! The tree of the index.
//!
//! gix has no index-to-tree, and `git write-tree` needs a process, an unlocked index and no conflicts. The format is
//! git's: entries sorted by name, a folder's as if it ended in a slash.
//!
//! Invariant: a tree that is answered is in the object store with every tree below it. Entries in conflict and entries
//! that were only announced (intent to add) are left out: a boundary holds their files as bytes.

use gix::{
    ObjectId,
    bstr::{BStr, ByteSlice},
    index::entry::Mode,
    objs::{
        Tree,
        tree::{Entry, EntryKind},
    },
};

use super::{Clean, Scope};
use crate::model::Error;

/// Writes the tree of the index, where it is not there yet, and answers its id.
pub(crate) fn write_tree(scope: &Scope) -> Result<ObjectId, Error> {
    let repository = scope.local();
    let index = scope.index()?;
    build(&repository, index, index.entries(), 0)
        .map(|tree| tree.unwrap_or_else(|| repository.empty_tree().id))
        .map_err(|error| Error::Unavailable {
            reason: "index_not_writable_as_tree",
            detail: format!(
                "cannot write the tree of the index to {}: {error}; nothing was changed",
                repository.git_dir().join("objects").display()
            ),
        })
}

/// The tree of those entries, whose paths share their first `base` bytes; `None` when it would be empty.
fn build(
    repository: &gix::Repository,
    index: &gix::index::State,
    mut entries: &[gix::index::Entry],
    base: usize,
) -> Result<Option<ObjectId>, gix::Error> {
    let mut tree = Tree::empty();
    while let Some(entry) = entries.first() {
        let rest = &entry.path(index)[base..];
        let Some(slash) = rest.find_byte(b'/') else {
            entries = &entries[1..];
            if let Some(kind) = kind(entry) {
                tree.entries.push(Entry { mode: kind.into(), filename: BStr::new(rest).to_owned(), oid: entry.id });
            }
            continue;
        };
        let (folder, shared) = (&rest[..slash], &rest[..=slash]);
        let count = entries.partition_point(|entry| entry.path(index)[base..].starts_with(shared));
        let (below, after) = entries.split_at(count);
        entries = after;
        // A sparse index has one entry for a folder that is not checked out: its tree.
        let id = match below {
            [only] if only.mode == Mode::DIR => Some(only.id),
            _ => build(repository, index, below, base + slash + 1)?,
        };
        if let Some(oid) = id {
            tree.entries.push(Entry { mode: EntryKind::Tree.into(), filename: BStr::new(folder).to_owned(), oid });
        }
    }
    if tree.entries.is_empty() && base > 0 {
        return Ok(None);
    }
    tree.entries.sort();
    Ok(Some(repository.write_object(&tree)?.detach()))
}

fn kind(entry: &gix::index::Entry) -> Option<EntryKind> {
    if !Clean::is_in_tree(entry) {
        return None;
    }
    match entry.mode {
        Mode::FILE => Some(EntryKind::Blob),
        Mode::FILE_EXECUTABLE => Some(EntryKind::BlobExecutable),
        Mode::SYMLINK => Some(EntryKind::Link),
        Mode::COMMIT => Some(EntryKind::Commit),
        _ => None,
    }
}
