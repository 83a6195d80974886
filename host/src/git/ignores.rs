//! What git ignores.
//!
//! Invariant: whatever a rule says of a path, it is ignored where a folder above it is. Of the rules for one path the
//! nearest `.gitignore` comes first, then those above it, then `info/exclude`, then `core.excludesFile`; in a file the
//! last rule that matches decides. (gitignore(5).) What the index lists is never asked for here.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    },
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use gix::{
    bstr::{BStr, ByteSlice},
    ignore::{Search, search::Ignore},
    index::entry::{Flags, Stage},
};
use rustix::{
    fs::{Mode, OFlags, openat},
    io::Errno,
};

use super::Scope;
use crate::{
    anchor::Way,
    path::{WorkPath, join, with_ancestors},
};

/// The name of a file of rules.
pub(crate) const RULES_FILE: &[u8] = b".gitignore";

/// git reads no larger file of rules.
const MAX_BYTES: u64 = 100 * 1024 * 1024;

/// The rules that hold in one folder.
#[derive(Debug)]
pub(crate) struct Ignores {
    /// Of the folders above, or those of the repository and the user.
    above: Option<Arc<Ignores>>,
    source: Source,
    /// Read from the source when they are first asked for.
    rules: OnceLock<Search>,
    /// The folder itself is ignored, and so is all in it.
    all: bool,
}

#[derive(Debug)]
enum Source {
    None,
    /// The repository's and the user's own.
    Outside,
    /// The `.gitignore` in the folder of this path below the root.
    Folder(Vec<u8>),
}

/// What stands at a path of which rules are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Folder,
    /// Anything else.
    File,
}

/// The files of rules that are not below the root, as they were read. Those that cannot be read hold no rules, as in git.
#[derive(Debug)]
pub(super) struct Outside {
    /// `core.excludesFile` and `info/exclude`.
    global: Vec<(PathBuf, Vec<u8>)>,
    /// The folders above the root, from the top down, with what their `.gitignore` holds.
    above: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Outside {
    /// For a workspace at `prefix` below the worktree's top.
    pub(super) fn read(repository: &gix::Repository, top: &Path, prefix: &[u8]) -> Self {
        let configured = repository.config_snapshot().trusted_path("core.excludesFile").ok().flatten();
        let users = configured.map(|path| top.join(path)).or_else(users_own);
        let global = users.into_iter().chain([repository.common_dir().join("info/exclude")]);
        // A FIFO would block.
        let regular = |path: &Path| path.metadata().is_ok_and(|stat| stat.is_file()).then(|| File::open(path));
        let global = global.filter_map(|path| {
            let bytes = regular(&path)?.and_then(read).ok()?;
            Some((path, bytes))
        });
        let mut folders: Vec<&[u8]> =
            if prefix.is_empty() { Vec::new() } else { with_ancestors(prefix).skip(1).collect() };
        if !prefix.is_empty() {
            folders.push(b"");
        }
        let of_above = |folder: &[u8]| {
            let path = top.join(std::ffi::OsStr::from_bytes(&join(folder, RULES_FILE)));
            let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
            #[allow(clippy::cast_possible_wrap, reason = "the flags are bits")]
            let opened = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
            opened.and_then(read_regular).ok()
        };
        let above = folders.into_iter().rev().map(|folder| (folder.to_vec(), of_above(folder)));
        Outside { global: global.collect(), above: above.collect() }
    }

    /// Adds all that they hold.
    pub(super) fn digest(&self, hasher: &mut blake3::Hasher) {
        let mut add = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        };
        for (_, bytes) in &self.global {
            add(bytes);
        }
        for (folder, bytes) in &self.above {
            add(folder);
            add(bytes.as_deref().unwrap_or(b"\0"));
        }
    }

    fn rules(&self) -> Search {
        let mut rules = Search::default();
        for (path, bytes) in &self.global {
            add(&mut rules, bytes.clone(), path, None);
        }
        rules
    }

    /// The rules that hold for the workspace root itself.
    pub(super) fn over_root(&self, scope: &Scope) -> Arc<Ignores> {
        let mut ignores = Ignores::of(None, Source::Outside, false);
        // The root's own rules are for what is in it, and read with it.
        let below = self.above.iter().skip(1).map(|(folder, _)| folder.as_slice()).chain([scope.prefix()]);
        for ((folder, bytes), below) in self.above.iter().zip(below) {
            let bytes = bytes.clone().or_else(|| scope.not_checked_out(&join(folder, RULES_FILE)));
            if let Some(bytes) = bytes {
                ignores = ignores.with_rules(folder, bytes);
            }
            if ignores.all || ignores.match_path(scope, below, Asked::Folder) {
                ignores = ignores.ignoring_all();
            }
        }
        ignores
    }
}

impl Ignores {
    fn of(above: Option<Arc<Self>>, source: Source, all: bool) -> Arc<Self> {
        Arc::new(Ignores { above, source, rules: OnceLock::new(), all })
    }

    /// The rules for what is in the folder, an open one, where these hold for the folder itself. `listed`: whether there is
    /// a `.gitignore`. Also where its rules are from.
    pub(crate) fn within(
        self: &Arc<Self>,
        scope: &Scope,
        folder: BorrowedFd<'_>,
        path: &[u8],
        listed: Listed,
    ) -> (Arc<Self>, ReadRules) {
        let path = scope.in_index(path);
        match (read_in(folder, listed), listed) {
            (Ok(Some(bytes)), _) => (self.with_rules(&path, bytes), ReadRules::OnDisk),
            (Ok(None), Listed::Yes) => (Arc::clone(self), ReadRules::OnDisk),
            (Ok(None), Listed::No) => match scope.not_checked_out(&join(&path, RULES_FILE)) {
                Some(bytes) => (self.with_rules(&path, bytes), ReadRules::InIndex),
                None => (Arc::clone(self), ReadRules::OnDisk),
            },
            (Err(_), _) => (Arc::clone(self), ReadRules::NotAll),
        }
    }

    /// The same for a folder whose rules could be read before, to be read when they are asked for.
    pub(crate) fn with_those_of(self: &Arc<Self>, path: &[u8]) -> Arc<Self> {
        Ignores::of(Some(Arc::clone(self)), Source::Folder(path.to_vec()), self.all)
    }

    /// The folder's path is the index's.
    fn with_rules(self: &Arc<Self>, folder: &[u8], bytes: Vec<u8>) -> Arc<Self> {
        let ignores =
            Ignores { above: Some(Arc::clone(self)), source: Source::None, rules: OnceLock::new(), all: self.all };
        let _fresh = ignores.rules.set(rules_of(folder, bytes));
        Arc::new(ignores)
    }

    /// These rules for a folder that is ignored and looked into all the same.
    pub(crate) fn ignoring_all(self: &Arc<Self>) -> Arc<Self> {
        if self.all {
            return Arc::clone(self);
        }
        Ignores::of(None, Source::None, true)
    }

    /// Whether all that these rules are asked of is ignored.
    pub(crate) fn ignore_all(&self) -> bool {
        self.all
    }

    /// Whether a path in the folder is ignored.
    pub(crate) fn matches(&self, scope: &Scope, path: &[u8], asked: Asked) -> bool {
        self.all || self.match_path(scope, &scope.in_index(path), asked)
    }

    fn match_path(&self, scope: &Scope, path: &[u8], asked: Asked) -> bool {
        let is_folder = Some(asked == Asked::Folder);
        std::iter::successors(Some(self), |ignores| ignores.above.as_deref())
            .find_map(|ignores| {
                ignores.rules(scope).pattern_matching_relative_path(BStr::new(path), is_folder, scope.case())
            })
            .is_some_and(|found| !found.pattern.is_negative())
    }

    fn rules(&self, scope: &Scope) -> &Search {
        self.rules.get_or_init(|| match &self.source {
            Source::None => Search::default(),
            Source::Outside => scope.outside().rules(),
            Source::Folder(path) => {
                let folder = scope.in_index(path);
                let rules = read_again(scope, path).or_else(|| scope.not_checked_out(&join(&folder, RULES_FILE)));
                rules.map_or_else(Search::default, |bytes| rules_of(&folder, bytes))
            }
        })
    }
}

impl Drop for Ignores {
    fn drop(&mut self) {
        // One after the other: as deep as folders can be nested, calls cannot.
        let mut above = self.above.take();
        while let Some(mut last) = above.and_then(Arc::into_inner) {
            above = last.above.take();
        }
    }
}

/// The rules in an open folder; nothing where there are none.
fn read_in(folder: BorrowedFd<'_>, listed: Listed) -> io::Result<Option<Vec<u8>>> {
    if listed == Listed::No {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = openat(folder, RULES_FILE, flags, Mode::empty()).map(File::from).map_err(io::Error::from);
    match opened.and_then(read_regular) {
        Ok(bytes) => Ok(Some(bytes)),
        // git does not follow a link to rules.
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The rules in the folder of that path below the root.
fn read_again(scope: &Scope, path: &[u8]) -> Option<Vec<u8>> {
    let path = WorkPath::new(join(path, RULES_FILE)).ok()?;
    match scope.root().parent(&path).ok()? {
        Way::Open(folder, _) => read_in(folder.as_fd(), Listed::Yes).ok()?,
        Way::Missing | Way::Blocked(_) => None,
    }
}

/// Whether a folder lists a `.gitignore`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    No,
    Yes,
}

impl Listed {
    /// Whether one of the names is that of a file of rules.
    pub(crate) fn among<'n>(mut sorted: impl Iterator<Item = &'n [u8]>) -> Self {
        if sorted.any(|name| name == RULES_FILE) { Listed::Yes } else { Listed::No }
    }
}

/// Where the rules of a folder were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadRules {
    /// In the folder, if there are any.
    OnDisk,
    /// In the index: they are tracked, and not checked out.
    InIndex,
    /// They could not be. git warns, and goes on without them.
    NotAll,
}

/// No rules where it is no regular file.
fn read_regular(file: File) -> io::Result<Vec<u8>> {
    if file.metadata()?.is_file() { read(file) } else { Err(io::ErrorKind::NotFound.into()) }
}

fn read(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        bytes.clear();
    }
    Ok(bytes)
}

fn rules_of(folder: &[u8], bytes: Vec<u8>) -> Search {
    let mut rules = Search::default();
    let source = PathBuf::from(std::ffi::OsStr::from_bytes(&join(folder, RULES_FILE)));
    add(&mut rules, bytes, &source, Some(Path::new("")));
    rules
}

fn add(rules: &mut Search, mut bytes: Vec<u8>, source: &Path, root: Option<&Path>) {
    // As git does: a carriage return that ends the last line is no part of it, like one before a line's end.
    bytes.push(b'\n');
    // It fails only for a source without a folder, which none here is.
    let _infallible = rules.add_patterns_buffer(&bytes, source, root, Ignore { support_precious: false });
}

/// Where a user's own rules are who has not configured it.
fn users_own() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")))?;
    Some(folder.join("git/ignore"))
}

impl Scope {
    /// The bytes of a file that is tracked and, by a flag, not checked out.
    fn not_checked_out(&self, path: &[u8]) -> Option<Vec<u8>> {
        // An index that cannot be read fails the scan, at its end.
        let entry = self.index().ok()?.entry_by_path_and_stage(path.as_bstr(), Stage::Unconflicted)?;
        if !entry.flags.contains(Flags::SKIP_WORKTREE) {
            return None;
        }
        Some(self.local().try_find_object(entry.id).ok()??.detach().data)
    }
}
