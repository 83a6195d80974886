//! Seeing the workspace: the stat index of the tree at one moment, and what differs between two.
//!
//! A scan covers what git would list as tracked or untracked, and the folders on the way; symbolic links are entries,
//! special files are seen and never opened. What it leaves out it names in [`Scan::hidden`]: ignored paths, nested
//! repositories, what could not be read. A path below a hidden one is unknown, never absent: that is what keeps an
//! edited `.gitignore` from making an old file look new.
//!
//! | file | what lives there |
//! |---|---|
//! | `stat` | what identifies a file to a scan |
//! | `listing` | one folder as a scan saw it |
//! | `names` | the names in a folder |
//! | `walk` | the parallel walk |
//! | `diff` | what differs between two scans |
//! | `observe` | what stands at a path now, with its content's digest |
//! | `saved` | a scan on disk: from before a call in flight, and of the last look |

mod diff;
mod listing;
mod names;
mod observe;
mod saved;
mod stat;
mod walk;

use std::{collections::BTreeMap, time::Duration};

use crate::{
    model::FileState,
    path::{split_last, with_ancestors},
};

pub(crate) use self::{
    diff::{contents_of_changed, difference},
    listing::Listing,
    observe::{ReadFailure, content_of, digest, observe, observe_all, open_regular, read_settled},
    saved::{Body, decode},
    stat::{Kind, Stat},
    walk::{Walk, walk},
};

/// The stat index of the tree at one moment.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Each folder that was listed, sorted by path; the root's path is empty.
    pub(crate) listings: Vec<Listing>,
    /// What was left out, sorted by path, each path once.
    pub(crate) hidden: Vec<Hidden>,
    /// What stands at the paths that changed since the newest boundary was taken, sorted by path; only a saved scan has it.
    pub(crate) known: Vec<Known>,
    /// When the scan began, in nanoseconds since the Unix epoch.
    pub(crate) started_ns: i64,
    /// Files and links seen.
    pub files: u64,
    /// Folders and files that could not be looked at.
    pub errors: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// A path whose content was read when the scan was saved.
#[derive(Clone, Debug, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
pub(crate) struct Known {
    #[cbor(n(0), with = "minicbor::bytes")]
    pub(crate) path: Vec<u8>,
    #[n(1)]
    pub(crate) state: FileState,
}

/// A path that the scan left out, with all that is below it.
#[derive(Clone, Debug, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
pub(crate) struct Hidden {
    #[cbor(n(0), with = "minicbor::bytes")]
    pub(crate) path: Vec<u8>,
    #[n(1)]
    pub(crate) why: Why,
}

/// Why a path was left out.
#[derive(Clone, Debug, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
pub(crate) enum Why {
    /// A rule of git's ignores it, and git does not track it.
    #[n(0)]
    Ignored,
    /// A repository of its own.
    #[n(1)]
    Repository,
    /// The system would not let it be listed or looked at; what it said.
    #[n(2)]
    Unreadable(#[n(0)] String),
    /// It was listed, and gone when it was looked at.
    #[n(3)]
    Vanished,
}

impl Why {
    /// In words that stand alone, or after a time and a colon.
    pub(crate) fn words(&self) -> String {
        match self {
            Why::Ignored => "ignored by git, so its content is not known".to_owned(),
            Why::Repository => "in a nested repository, whose content is not captured".to_owned(),
            Why::Unreadable(error) => format!("it could not be read ({error})"),
            Why::Vanished => "it vanished while it was being looked at".to_owned(),
        }
    }
}

/// The entry of `hidden`, sorted by path, that covers the path.
pub(crate) fn hidden_over<'h>(hidden: &'h [Hidden], path: &[u8]) -> Option<&'h Hidden> {
    if hidden.is_empty() {
        return None;
    }
    with_ancestors(path)
        .chain([&b""[..]])
        .find_map(|above| hidden.binary_search_by(|h| h.path.as_slice().cmp(above)).ok().and_then(|at| hidden.get(at)))
}

impl Scan {
    /// The folder of that path, when it was listed.
    pub(crate) fn listing(&self, path: &[u8]) -> Option<&Listing> {
        let at = self.listings.binary_search_by(|listing| listing.path.as_slice().cmp(path)).ok()?;
        self.listings.get(at)
    }

    /// What covers the path among what was left out.
    pub(crate) fn hidden_over(&self, path: &[u8]) -> Option<&Hidden> {
        hidden_over(&self.hidden, path)
    }

    /// Takes over what `earlier` knew of paths that have not changed since, and adds what was read now.
    pub(crate) fn know(&mut self, earlier: &Scan, now: Vec<(Vec<u8>, FileState)>) {
        let mut known: BTreeMap<Vec<u8>, FileState> = earlier
            .known
            .iter()
            .filter(|known| earlier.stat(&known.path).is_some_and(|stat| self.stat(&known.path) == Some(stat)))
            .map(|known| (known.path.clone(), known.state))
            .collect();
        known.extend(now);
        self.known = known.into_iter().map(|(path, state)| Known { path, state }).collect();
    }

    /// What stood at the path, where it was read.
    pub(crate) fn known(&self, path: &[u8]) -> Option<FileState> {
        let at = self.known.binary_search_by(|known| known.path.as_slice().cmp(path)).ok()?;
        self.known.get(at).map(|known| known.state)
    }

    /// What was seen at the path.
    pub(crate) fn stat(&self, path: &[u8]) -> Option<&Stat> {
        let (parent, name) = split_last(path);
        self.listing(parent)?.stat(name)
    }
}
