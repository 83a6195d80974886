//! Seeing the workspace: the stat index of the tree at one moment, and what differs between two.
//!
//! A scan covers what git would list as tracked or untracked, and the folders on the way; symbolic links are entries,
//! special files are seen and never opened. What it leaves out it names: ignored names in their folder's listing, nested
//! repositories and what could not be looked at in [`Scan::unseen`]. A path below one of these is unknown, never absent:
//! that is what keeps an edited `.gitignore` from making an old file look new.
//!
//! | file | what lives there |
//! |---|---|
//! | `stat` | what identifies a file to a scan, and when that is to be trusted |
//! | `listing` | one folder as a scan saw it |
//! | `names` | the names in a folder |
//! | `base` | an earlier scan, and what of it still holds |
//! | `walk` | the parallel walk |
//! | `folder` | looking at one folder |
//! | `diff` | what differs between two scans |
//! | `observe` | what stands at a path now, with its content's digest |
//! | `saved` | a scan on disk: from before a call in flight, and of the last look |
//! | `recent` | the scans that were on disk last, as they were read or written |

mod base;
mod diff;
mod folder;
mod listing;
mod names;
mod observe;
mod recent;
mod saved;
mod stat;
mod walk;

use std::{collections::BTreeMap, time::Duration};

use crate::{
    git::Ground,
    model::FileState,
    path::{join, split_last, with_ancestors},
};

pub(crate) use self::{
    base::Base,
    diff::{contents_of_changed, contents_of_young, difference},
    listing::Listing,
    observe::{ReadFailure, content_of, digest, observe, observe_all, open_regular, read_settled},
    recent::Recent,
    saved::{decode, digest_of, encode},
    stat::{Kind, Settled, Stat},
    walk::{Walk, walk},
};

/// The stat index of the tree at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    /// Each folder that was listed, sorted by path; the root's path is empty.
    pub(crate) listings: Vec<Listing>,
    /// What could not be looked at or is not to be, but for ignored names: sorted by path, each path once.
    pub(crate) unseen: Vec<Hidden>,
    /// What stands at paths whose content was read, sorted by path: those that changed since the newest boundary was
    /// taken, and those whose stamps do not tell. Only a saved scan has it.
    pub(crate) known: Vec<Known>,
    /// What git's rules and index were.
    pub(crate) ground: Ground,
    /// What had settled when the scan began.
    pub(crate) settled: Settled,
    /// Files and links that had not, by path in no order. Only a fresh scan has it.
    pub(crate) young: Vec<Vec<u8>>,
    /// How many files, links and folders had not.
    pub(crate) unsettled: u64,
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
        let at = self.listings.binary_search_by(|listing| listing.path().cmp(path)).ok()?;
        self.listings.get(at)
    }

    /// Every entry: the path of its folder, its name, its stat.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&[u8], &[u8], Stat)> {
        self.listings.iter().flat_map(|listing| listing.entries().map(move |(name, stat)| (listing.path(), name, stat)))
    }

    /// Why the path was left out, where it was, or one above it.
    pub(crate) fn hidden_over(&self, path: &[u8]) -> Option<&Why> {
        hidden_over(&self.unseen, path).map(|hidden| &hidden.why).or_else(|| {
            let is_ignored = |path: &[u8]| {
                let (parent, name) = split_last(path);
                self.listing(parent).is_some_and(|listing| listing.ignores(name))
            };
            with_ancestors(path).any(is_ignored).then_some(&Why::Ignored)
        })
    }

    /// All that was left out, sorted by path.
    pub(crate) fn hidden(&self) -> Vec<Hidden> {
        let ignored = self.listings.iter().flat_map(|listing| {
            listing.ignored().map(|name| Hidden { path: join(listing.path(), name), why: Why::Ignored })
        });
        let mut hidden: Vec<Hidden> = self.unseen.iter().cloned().chain(ignored).collect();
        hidden.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        hidden
    }

    /// Whether nothing at all was seen in the folder.
    pub(crate) fn is_empty(&self, path: &[u8]) -> bool {
        let below = [path, b"/"].concat();
        let first = self.unseen.partition_point(|hidden| hidden.path.as_slice() < below.as_slice());
        self.listing(path).is_none_or(Listing::is_empty)
            && self.unseen.get(first).is_none_or(|hidden| !hidden.path.starts_with(&below))
    }

    /// Whether the other saw the same, at whatever time.
    pub(crate) fn saw_the_same(&self, other: &Scan) -> bool {
        self.listings == other.listings && self.unseen == other.unseen && self.ground == other.ground
    }

    /// Takes over what `earlier` knew of paths that have not changed since.
    pub(crate) fn know_from(&mut self, earlier: &Scan) {
        let is_the_same =
            |known: &&Known| earlier.stat(&known.path).is_some_and(|stat| self.stat(&known.path) == Some(stat));
        self.known = earlier.known.iter().filter(is_the_same).cloned().collect();
    }

    /// Adds what was read.
    pub(crate) fn know(&mut self, read: Vec<(Vec<u8>, FileState)>) {
        if read.is_empty() {
            return;
        }
        let mut known: BTreeMap<Vec<u8>, FileState> =
            std::mem::take(&mut self.known).into_iter().map(|known| (known.path, known.state)).collect();
        known.extend(read);
        self.known = known.into_iter().map(|(path, state)| Known { path, state }).collect();
    }

    /// What stood at the path, where it was read.
    pub(crate) fn known(&self, path: &[u8]) -> Option<FileState> {
        let at = self.known.binary_search_by(|known| known.path.as_slice().cmp(path)).ok()?;
        self.known.get(at).map(|known| known.state)
    }

    /// What was seen at the path.
    pub(crate) fn stat(&self, path: &[u8]) -> Option<Stat> {
        let (parent, name) = split_last(path);
        self.listing(parent)?.stat(name)
    }
}
