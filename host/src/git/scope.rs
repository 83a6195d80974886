//! What git tracks and ignores, as a scan asks it.
//!
//! Invariant: what the index lists is in scope, whatever a rule says; rules decide on the rest only.

use std::{
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use gix::{ThreadSafeRepository, bstr::ByteSlice};

use super::Ignores;
use crate::{model::Error, path::join};

/// The index and the rules of one moment.
pub(crate) struct Scope {
    repository: ThreadSafeRepository,
    index: gix::index::File,
    /// The workspace root's path below the worktree's top.
    prefix: Vec<u8>,
    top: PathBuf,
}

impl Scope {
    pub(super) fn read(repository: ThreadSafeRepository, prefix: Vec<u8>) -> Result<Self, Error> {
        let local = repository.to_thread_local();
        let top = local.workdir().map(PathBuf::from).unwrap_or_default();
        let path = local.index_path();
        let index = match local.open_index() {
            Ok(index) => index,
            Err(_) if !path.exists() => gix::index::File::from_state(gix::index::State::new(local.object_hash()), path),
            Err(error) => return Err(Error::io("read the index", path.display(), error)),
        };
        drop(local);
        Ok(Scope { repository, index, prefix, top })
    }

    pub(crate) fn index(&self) -> &gix::index::File {
        &self.index
    }

    pub(crate) fn local(&self) -> gix::Repository {
        self.repository.to_thread_local()
    }

    /// The rules that hold for the workspace root itself.
    pub(crate) fn ignores(&self) -> Arc<Ignores> {
        Ignores::over_root(self)
    }

    /// The worktree's top.
    pub(super) fn top(&self) -> &Path {
        &self.top
    }

    /// The workspace root's path below it.
    pub(super) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// The path as the index has it.
    pub(crate) fn in_index(&self, path: &[u8]) -> Vec<u8> {
        join_prefix(&self.prefix, path)
    }

    /// The index entries at and below the root, with their paths below it; a path in conflict comes once for each stage.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&gix::index::Entry, &[u8])> {
        let folder = self.folder(b"");
        folder.entries.iter().map(move |entry| (entry, &entry.path(&self.index).as_bytes()[folder.base..]))
    }

    /// What git tracks in and below the folder.
    pub(crate) fn folder(&self, path: &[u8]) -> Tracked<'_> {
        let mut base = self.in_index(path);
        if !base.is_empty() {
            base.push(b'/');
        }
        let entries = self.index.entries();
        let from = entries.partition_point(|entry| entry.path(&self.index).as_bytes() < base.as_slice());
        let count = entries[from..].partition_point(|entry| entry.path(&self.index).as_bytes().starts_with(&base));
        Tracked { entries: &entries[from..from + count], index: &self.index, base: base.len() }
    }

    /// Whether the folder is a repository of its own, judged as git does: by what its `.git` holds or points to.
    pub(crate) fn is_repository(&self, folder: &[u8]) -> bool {
        let git = self.in_index(&join(folder, b".git"));
        gix::discover::is_git(&self.top.join(std::ffi::OsStr::from_bytes(&git))).is_ok()
    }

    pub(super) fn root_is_ignored(&self) -> bool {
        !self.prefix.is_empty() && self.folder(b"").entries.is_empty() && self.ignores().ignore_all()
    }
}

fn join_prefix(prefix: &[u8], path: &[u8]) -> Vec<u8> {
    if path.is_empty() { prefix.to_vec() } else { join(prefix, path) }
}

/// The index entries in and below one folder.
#[derive(Clone, Copy)]
pub(crate) struct Tracked<'s> {
    entries: &'s [gix::index::Entry],
    index: &'s gix::index::State,
    base: usize,
}

impl<'s> Tracked<'s> {
    fn rest(&self, entry: &'s gix::index::Entry) -> &'s [u8] {
        &entry.path(self.index).as_bytes()[self.base..]
    }

    /// Whether the name itself is tracked, as a file, a link or a submodule.
    fn has(&self, name: &[u8]) -> bool {
        let at = self.entries.partition_point(|entry| self.rest(entry) < name);
        self.entries.get(at).is_some_and(|entry| self.rest(entry) == name)
    }

    /// Like [`Tracked::has`], for names in ascending order: what sorts before the name is left behind.
    pub(crate) fn next_is(&mut self, name: &[u8]) -> bool {
        let before = |entry: &gix::index::Entry| self.rest(entry) < name;
        // Mostly the next entry is the one; where it is not, steps that double find it.
        let mut near = 1;
        while self.entries.get(near - 1).is_some_and(before) {
            near *= 2;
        }
        let within = &self.entries[..near.min(self.entries.len())];
        let at = within.partition_point(before);
        self.entries = &self.entries[at..];
        self.entries.first().is_some_and(|entry| self.rest(entry) == name)
    }

    /// Whether something below the folder of that name is tracked, or the folder itself as a submodule.
    pub(crate) fn has_below(&self, name: &[u8]) -> bool {
        // Names such as `a-b` and `a.b` sort between `a` and `a/`.
        let slashed = [name, b"/"].concat();
        let at = self.entries.partition_point(|entry| self.rest(entry) < slashed.as_slice());
        self.entries.get(at).is_some_and(|entry| self.rest(entry).starts_with(&slashed)) || self.has(name)
    }
}
