//! What git ignores.
//!
//! Invariant: whatever a rule says of a path, it is ignored where a folder above it is. Of the rules for one path the
//! nearest `.gitignore` comes first, then those above it, then `info/exclude`, then `core.excludesFile`; in a file the
//! last rule that matches decides. (gitignore(5).) What the index lists is never asked for here.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    os::{
        fd::BorrowedFd,
        unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use gix::{
    bstr::{BStr, ByteSlice},
    glob::pattern::Case,
    ignore::{Search, search::Ignore},
    index::entry::{Flags, Stage},
};
use rustix::{
    fs::{Mode, OFlags, openat},
    io::Errno,
};

use super::Scope;
use crate::path::{join, with_ancestors};

/// The name of a file of rules.
const NAME: &[u8] = b".gitignore";

/// git reads no larger file of rules.
const MAX_BYTES: u64 = 100 * 1024 * 1024;

/// The rules that hold in one folder.
#[derive(Debug)]
pub(crate) struct Ignores {
    /// Of the folders above, or those of the repository and the user.
    above: Option<Arc<Ignores>>,
    rules: Search,
    case: Case,
    /// The folder itself is ignored, and so is all in it.
    all: bool,
}

/// What stands at a path of which rules are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Folder,
    /// Anything else.
    File,
}

impl Ignores {
    /// The rules that hold for the workspace root itself. Files of rules that cannot be read hold none, as in git.
    pub(super) fn over_root(scope: &Scope) -> Arc<Self> {
        let repository = scope.local();
        let config = repository.config_snapshot();
        let case = if config.boolean("core.ignoreCase").unwrap_or(false) { Case::Fold } else { Case::Sensitive };
        let configured = config.trusted_path("core.excludesFile").ok().flatten();
        let users = configured.map(|path| scope.top().join(path)).or_else(users_own);
        let mut rules = Search::default();
        for path in users.into_iter().chain([repository.common_dir().join("info/exclude")]) {
            // A FIFO would block.
            if let Ok(bytes) =
                path.metadata().and_then(|stat| if stat.is_file() { read(File::open(&path)?) } else { no_file() })
            {
                add(&mut rules, bytes, &path, None);
            }
        }
        let mut ignores = Arc::new(Ignores { above: None, rules, case, all: false });
        let mut folders: Vec<&[u8]> = with_ancestors(scope.prefix()).filter(|folder| !folder.is_empty()).collect();
        folders.push(b"");
        // The root's own rules are for what is in it, and read with it.
        for pair in folders.windows(2).rev() {
            let (folder, above) = (pair[0], pair[1]);
            let of_above = scope.top().join(std::ffi::OsStr::from_bytes(above)).join(".gitignore");
            let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
            #[allow(clippy::cast_possible_wrap, reason = "the flags are bits")]
            let opened = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(of_above);
            ignores = ignores.with_rules(scope, above, opened).0;
            ignores = ignores.entering(folder);
        }
        ignores
    }

    /// The rules for what is in the folder, an open one, where these hold for the folder itself. `listed`: whether there is
    /// a `.gitignore`. Also whether all rules could be read.
    pub(crate) fn within(
        self: &Arc<Self>,
        scope: &Scope,
        folder: BorrowedFd<'_>,
        path: &[u8],
        listed: Listed,
    ) -> (Arc<Self>, ReadRules) {
        let path = scope.in_index(path);
        let opened = match listed {
            Listed::No => Err(Errno::NOENT),
            Listed::Yes => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                openat(folder, NAME, flags, Mode::empty()).map(File::from)
            }
        };
        self.with_rules(scope, &path, opened.map_err(io::Error::from))
    }

    fn with_rules(self: &Arc<Self>, scope: &Scope, folder: &[u8], opened: io::Result<File>) -> (Arc<Self>, ReadRules) {
        let (bytes, outcome) =
            match opened.and_then(|file| if file.metadata()?.is_file() { read(file) } else { no_file() }) {
                Ok(bytes) => (Some(bytes), ReadRules::All),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    (scope.not_checked_out(&join(folder, NAME)), ReadRules::All)
                }
                // git does not follow a link to rules.
                Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => (None, ReadRules::All),
                Err(_) => (None, ReadRules::NotAll),
            };
        let Some(bytes) = bytes else { return (Arc::clone(self), outcome) };
        let mut rules = Search::default();
        let source = PathBuf::from(std::ffi::OsStr::from_bytes(&join(folder, NAME)));
        add(&mut rules, bytes, &source, Some(Path::new("")));
        (Arc::new(Ignores { above: Some(Arc::clone(self)), rules, case: self.case, all: self.all }), outcome)
    }

    /// These rules below a folder in which they hold, whose path is the index's.
    fn entering(self: &Arc<Self>, folder: &[u8]) -> Arc<Self> {
        if self.all || !self.match_path(folder, Asked::Folder) {
            return Arc::clone(self);
        }
        Arc::new(Ignores { above: Some(Arc::clone(self)), rules: Search::default(), case: self.case, all: true })
    }

    /// These rules for a folder that is ignored and looked into all the same.
    pub(crate) fn ignoring_all(self: &Arc<Self>) -> Arc<Self> {
        Arc::new(Ignores { above: None, rules: Search::default(), case: self.case, all: true })
    }

    /// Whether all that these rules are asked of is ignored.
    pub(super) fn ignore_all(&self) -> bool {
        self.all
    }

    /// Whether a path in the folder is ignored.
    pub(crate) fn matches(&self, scope: &Scope, path: &[u8], asked: Asked) -> bool {
        self.all || self.match_path(&scope.in_index(path), asked)
    }

    fn match_path(&self, path: &[u8], asked: Asked) -> bool {
        let is_folder = Some(asked == Asked::Folder);
        std::iter::successors(Some(self), |ignores| ignores.above.as_deref())
            .find_map(|ignores| ignores.rules.pattern_matching_relative_path(BStr::new(path), is_folder, self.case))
            .is_some_and(|found| !found.pattern.is_negative())
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
        if sorted.any(|name| name == NAME) { Listed::Yes } else { Listed::No }
    }
}

/// Whether the rules of a folder could be read. Where not, git warns, and goes on without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadRules {
    All,
    NotAll,
}

fn no_file() -> io::Result<Vec<u8>> {
    Err(io::ErrorKind::NotFound.into())
}

fn read(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        bytes.clear();
    }
    Ok(bytes)
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
        let entry = self.index().entry_by_path_and_stage(path.as_bstr(), Stage::Unconflicted)?;
        if !entry.flags.contains(Flags::SKIP_WORKTREE) {
            return None;
        }
        Some(self.local().try_find_object(entry.id).ok()??.detach().data)
    }
}
