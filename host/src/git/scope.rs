//! What git tracks and ignores, as a scan asks it.
//!
//! Invariant: what the index lists is in scope, whatever a rule says; rules decide on the rest only.

use std::{
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use gix::{ThreadSafeRepository, bstr::ByteSlice, glob::pattern::Case, index::entry::Flags};
use rustix::io::Errno;

use super::{Ignores, RULES_FILE, ignores::Outside};
use crate::{
    anchor::Root,
    model::{Digest, Error},
    path::join,
    scan::{Settled, Stat},
};

/// The index and the rules of one moment. The index is read when it is first asked for.
pub(crate) struct Scope {
    repository: ThreadSafeRepository,
    index: OnceLock<Result<gix::index::File, Error>>,
    /// The index file, before it is read.
    index_stat: Option<Stat>,
    /// The workspace root's path below the worktree's top.
    prefix: Vec<u8>,
    top: PathBuf,
    root: Arc<Root>,
    case: Case,
    outside: Outside,
    ignores: OnceLock<Arc<Ignores>>,
    rules: Digest,
}

/// What a scan was taken by, to be held against later.
#[derive(Clone, Debug, Default, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
pub(crate) struct Ground {
    /// Of all that comes from outside the workspace and says what is looked at.
    #[n(0)]
    rules: Option<Digest>,
    /// The index file, as [`Stat::to_bytes`]; empty when there was none.
    #[cbor(n(1), with = "minicbor::bytes")]
    index: Vec<u8>,
    /// Of the rules that are tracked and not checked out.
    #[n(2)]
    rules_in_index: Option<Digest>,
}

/// Whether git tracks what it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    Same,
    /// The index was written since.
    Changed,
}

impl Scope {
    pub(super) fn read(
        repository: ThreadSafeRepository,
        prefix: Vec<u8>,
        root: Arc<Root>,
        state: Option<&[u8]>,
    ) -> Result<Self, Error> {
        let local = repository.to_thread_local();
        let top = local.workdir().map(PathBuf::from).unwrap_or_default();
        let path = local.index_path();
        let index_stat = match rustix::fs::lstat(&path) {
            Ok(stat) => Some(Stat::from(&stat)),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(Error::io("look at the index", path.display(), errno)),
        };
        let case = match local.config_snapshot().boolean("core.ignoreCase") {
            Some(true) => Case::Fold,
            _ => Case::Sensitive,
        };
        let outside = Outside::read(&local, &top, &prefix);
        let mut hasher = blake3::Hasher::new();
        for part in [prefix.as_slice(), state.unwrap_or(b"\0"), &[u8::from(case == Case::Fold)]] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        outside.digest(&mut hasher);
        let rules = hasher.finalize().into();
        drop(local);
        let (index, ignores) = (OnceLock::new(), OnceLock::new());
        Ok(Scope { repository, index, index_stat, prefix, top, root, case, outside, ignores, rules })
    }

    /// The index.
    pub(crate) fn index(&self) -> Result<&gix::index::File, Error> {
        self.index.get_or_init(|| self.read_index()).as_ref().map_err(Clone::clone)
    }

    fn read_index(&self) -> Result<gix::index::File, Error> {
        let local = self.local();
        let path = local.index_path();
        match local.open_index() {
            Ok(index) => Ok(index),
            Err(_) if !path.exists() => {
                Ok(gix::index::File::from_state(gix::index::State::new(local.object_hash()), path))
            }
            Err(error) => Err(Error::io("read the index", path.display(), error)),
        }
    }

    pub(crate) fn local(&self) -> gix::Repository {
        self.repository.to_thread_local()
    }

    /// The rules that hold for the workspace root itself.
    pub(crate) fn ignores(&self) -> Arc<Ignores> {
        Arc::clone(self.ignores.get_or_init(|| self.outside.over_root(self)))
    }

    /// The rules that are not below the root.
    pub(super) fn outside(&self) -> &Outside {
        &self.outside
    }

    pub(super) fn case(&self) -> Case {
        self.case
    }

    /// The worktree's top.
    pub(super) fn top(&self) -> &Path {
        &self.top
    }

    /// The workspace root.
    pub(super) fn root(&self) -> &Root {
        &self.root
    }

    /// The workspace root's path below the top.
    pub(super) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// The path as the index has it.
    pub(crate) fn in_index(&self, path: &[u8]) -> Vec<u8> {
        if path.is_empty() { self.prefix.clone() } else { join(&self.prefix, path) }
    }

    /// What a scan was taken by, where an earlier one was taken by `earlier`.
    pub(crate) fn ground(&self, earlier: Option<&Ground>) -> Result<Ground, Error> {
        let index = self.index_stat.map_or_else(Vec::new, |stat| stat.to_bytes().to_vec());
        let rules_in_index = match earlier {
            Some(earlier) if self.index.get().is_none() => earlier.rules_in_index,
            _ => Some(self.rules_in_index()?),
        };
        Ok(Ground { rules: Some(self.rules), index, rules_in_index })
    }

    /// What of an earlier scan's ground still holds: nothing where its rules were others.
    pub(crate) fn since(&self, earlier: &Ground, settled: Settled) -> Result<Option<Since>, Error> {
        if earlier.rules != Some(self.rules) {
            return Ok(None);
        }
        let is_settled = self.index_stat.is_none_or(|stat| settled.has(&stat));
        if is_settled && Stat::from_bytes(&earlier.index) == self.index_stat {
            return Ok(Some(Since::Same));
        }
        Ok((earlier.rules_in_index == Some(self.rules_in_index()?)).then_some(Since::Changed))
    }

    /// Of the rules that are tracked and not checked out.
    fn rules_in_index(&self) -> Result<Digest, Error> {
        let index = self.index()?;
        let mut hasher = blake3::Hasher::new();
        for entry in index.entries().iter().filter(|entry| entry.flags.contains(Flags::SKIP_WORKTREE)) {
            let path = entry.path(index);
            if path.ends_with(RULES_FILE) {
                hasher.update(path).update(b"\0").update(entry.id.as_slice());
            }
        }
        Ok(hasher.finalize().into())
    }

    /// The index entries at and below the root, with their paths below it; a path in conflict comes once for each stage.
    pub(crate) fn entries(&self) -> Result<impl Iterator<Item = (&gix::index::Entry, &[u8])>, Error> {
        let folder = self.folder(b"")?;
        Ok(folder.entries.iter().map(move |entry| (entry, folder.rest(entry))))
    }

    /// What git tracks in and below the folder.
    pub(crate) fn folder(&self, path: &[u8]) -> Result<TrackedIn<'_>, Error> {
        let mut base = self.in_index(path);
        if !base.is_empty() {
            base.push(b'/');
        }
        let index = self.index()?;
        let entries = index.entries();
        let from = entries.partition_point(|entry| entry.path(index).as_bytes() < base.as_slice());
        let count = entries[from..].partition_point(|entry| entry.path(index).as_bytes().starts_with(&base));
        Ok(TrackedIn { entries: &entries[from..from + count], index, base: base.len() })
    }

    /// Whether the folder is a repository of its own, judged as git does: by what its `.git` holds or points to.
    pub(crate) fn is_repository(&self, folder: &[u8]) -> bool {
        let git = self.in_index(&join(folder, b".git"));
        gix::discover::is_git(&self.top.join(std::ffi::OsStr::from_bytes(&git))).is_ok()
    }

    /// Whether the root is ignored as a whole, and nothing in it is tracked.
    pub(super) fn root_is_ignored(&self) -> Result<bool, Error> {
        Ok(self.ignores().ignore_all() && self.folder(b"")?.entries.is_empty())
    }
}

/// Whether git tracks a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tracked {
    No,
    Yes,
}

impl From<bool> for Tracked {
    fn from(is_tracked: bool) -> Self {
        if is_tracked { Tracked::Yes } else { Tracked::No }
    }
}

/// The index entries in and below one folder.
#[derive(Clone, Copy)]
pub(crate) struct TrackedIn<'s> {
    entries: &'s [gix::index::Entry],
    index: &'s gix::index::State,
    base: usize,
}

impl<'s> TrackedIn<'s> {
    fn rest(&self, entry: &'s gix::index::Entry) -> &'s [u8] {
        &entry.path(self.index).as_bytes()[self.base..]
    }

    /// Whether the name itself is tracked, as a file, a link or a submodule.
    fn has(&self, name: &[u8]) -> bool {
        let at = self.entries.partition_point(|entry| self.rest(entry) < name);
        self.entries.get(at).is_some_and(|entry| self.rest(entry) == name)
    }

    /// Whether the name itself is tracked, for names in ascending order: what sorts before the name is left behind.
    pub(crate) fn next_is(&mut self, name: &[u8]) -> Tracked {
        self.next_entry(name).is_some().into()
    }

    /// The entry of that name, the first where it is in conflict; for names in ascending order, like
    /// [`TrackedIn::next_is`].
    pub(crate) fn next_entry(&mut self, name: &[u8]) -> Option<&'s gix::index::Entry> {
        let before = |entry: &gix::index::Entry| self.rest(entry) < name;
        // Mostly the next entry is the one; where it is not, steps that double find it.
        let mut near = 1;
        while self.entries.get(near - 1).is_some_and(before) {
            near *= 2;
        }
        let within = &self.entries[..near.min(self.entries.len())];
        let at = within.partition_point(before);
        self.entries = &self.entries[at..];
        self.entries.first().filter(|entry| self.rest(entry) == name)
    }

    /// Whether something below the folder of that name is tracked, or the folder itself as a submodule.
    pub(crate) fn has_below(&self, name: &[u8]) -> Tracked {
        // Names such as `a-b` and `a.b` sort between `a` and `a/`.
        let slashed = [name, b"/"].concat();
        let at = self.entries.partition_point(|entry| self.rest(entry) < slashed.as_slice());
        (self.entries.get(at).is_some_and(|entry| self.rest(entry).starts_with(&slashed)) || self.has(name)).into()
    }
}
