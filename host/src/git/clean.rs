//! Whether a tracked file's bytes are those of its blob.
//!
//! Invariant: "clean" is said only of a file whose bytes on disk are the blob's, not merely of one that git would not
//! list as modified. git calls a file clean when a filter or a line-ending rule would make the blob of it; such a file's
//! blob does not give the file back. So besides the stamps the sizes must agree, and no filter, encoding or
//! `$Id$` may apply: the other conversions, of line endings, always change the size.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use gix::{
    bstr::BStr,
    index::entry::{Flags, Mode, Stage},
    worktree::stack::state::attributes::Source,
};

use super::Scope;
use crate::{
    path::with_ancestors,
    scan::{Kind, Scan, Stat},
};

/// The attributes with which bytes may change and their number stay.
const SAME_SIZE_CONVERSIONS: [&str; 3] = ["filter", "ident", "working-tree-encoding"];

/// The attribute rules.
enum Rules {
    /// There are none.
    None,
    Read(Box<(gix::worktree::Stack, gix::attrs::search::Outcome)>),
    /// They may say anything.
    Unreadable,
}

/// Judges tracked files, for one thread.
pub(crate) struct Clean<'s> {
    repository: gix::Repository,
    index_written_ns: i64,
    attributes: Rules,
    scope: &'s Scope,
}

impl<'s> Clean<'s> {
    pub(crate) fn new(scope: &'s Scope, index: &gix::index::File, attributes: Attributes) -> Self {
        let repository = scope.local();
        let attributes = match attributes {
            Attributes::None => Rules::None,
            Attributes::Some => match repository.attributes_only(index, Source::WorktreeThenIdMapping) {
                Ok(stack) => {
                    let matches = stack.selected_attribute_matches(SAME_SIZE_CONVERSIONS);
                    Rules::Read(Box::new((stack.detach(), matches)))
                }
                Err(_) => Rules::Unreadable,
            },
        };
        let written = index.timestamp();
        let index_written_ns =
            written.unix_seconds().saturating_mul(1_000_000_000).saturating_add(i64::from(written.nanoseconds()));
        Clean { repository, index_written_ns, attributes, scope }
    }

    /// Whether the index entry's stamps prove that the file is as the index has it. Of a file as young as the index they
    /// prove nothing.
    pub(crate) fn by_stamps(&self, entry: &gix::index::Entry, stat: &Stat) -> bool {
        let as_expected = match stat.kind {
            Kind::File if stat.executable() => entry.mode == Mode::FILE_EXECUTABLE,
            Kind::File => entry.mode == Mode::FILE,
            Kind::Symlink => entry.mode == Mode::SYMLINK,
            Kind::Directory | Kind::Special => false,
        };
        let known = &entry.stat;
        let same_time = |known: gix::index::entry::stat::Time, now_ns: i64| {
            // An index written without nanoseconds has zeros there.
            i64::from(known.secs) == now_ns.div_euclid(1_000_000_000)
                && (known.nsecs == 0 || i64::from(known.nsecs) == now_ns.rem_euclid(1_000_000_000))
        };
        if !Self::is_in_tree(entry)
            || !as_expected
            || u64::from(known.size) != stat.size
            || !same_time(known.mtime, stat.mtime_ns)
            || !same_time(known.ctime, stat.ctime_ns)
            || known.ino != truncated(stat.inode)
        {
            return false;
        }
        let tick = if known.mtime.nsecs == 0 { 1_000_000_000 } else { 1 };
        stat.mtime_ns.saturating_add(tick) <= self.index_written_ns
    }

    /// Whether the tree of the index has the entry: conflicts and mere announcements are left out of it.
    pub(crate) fn is_in_tree(entry: &gix::index::Entry) -> bool {
        entry.stage() == Stage::Unconflicted && !entry.flags.contains(Flags::INTENT_TO_ADD)
    }

    /// Whether the blob is there, has the file's size, and no conversion stands between the two.
    pub(crate) fn blob_is_the_file(&mut self, entry: &gix::index::Entry, path: &[u8], size: u64) -> bool {
        let header = self.repository.try_find_header(entry.id);
        let there = header.is_ok_and(|header| header.is_some_and(|header| header.size() == size));
        there && !self.is_converted(|| path.to_vec())
    }

    /// Whether a conversion stands between the file and its blob by which their number of bytes may stay the same.
    pub(crate) fn is_converted(&mut self, path: impl Fn() -> Vec<u8>) -> bool {
        let (stack, matches) = match &mut self.attributes {
            Rules::None => return false,
            Rules::Read(rules) => (&mut rules.0, &mut rules.1),
            Rules::Unreadable => return true,
        };
        let path = self.scope.in_index(&path());
        match stack.at_entry(BStr::new(&path), Some(Mode::FILE), &self.repository.objects) {
            Ok(platform) => {
                platform.matching_attributes(matches);
                matches.iter_selected().any(|found| {
                    use gix::attrs::StateRef;
                    matches!(found.assignment.state, StateRef::Set | StateRef::Value(_))
                })
            }
            Err(_) => true,
        }
    }
}

/// Whether there are attribute rules that could apply in the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attributes {
    None,
    Some,
}

impl Attributes {
    pub(crate) fn of(scope: &Scope, index: &gix::index::File, scan: &Scan) -> Self {
        if has_attributes(scope, index, scan) { Attributes::Some } else { Attributes::None }
    }
}

fn has_attributes(scope: &Scope, index: &gix::index::File, scan: &Scan) -> bool {
    const NAME: &[u8] = b".gitattributes";
    let repository = scope.local();
    let on_disk = || scan.listings.iter().any(|listing| listing.stat(NAME).is_some());
    let above = || {
        let folders = with_ancestors(scope.prefix()).map(OsStr::from_bytes).chain([OsStr::new("")]);
        folders.into_iter().any(|folder| scope.top().join(folder).join(OsStr::from_bytes(NAME)).exists())
    };
    let in_index = || index.entries().iter().any(|entry| entry.path(index).ends_with(NAME));
    let local = || repository.common_dir().join("info/attributes").exists();
    let global = || repository.attribute_global_paths().map_or(true, |paths| paths.iter().any(|path| path.exists()));
    let configured = || repository.config_snapshot().string("core.attributesFile").is_some();
    on_disk() || above() || in_index() || local() || global() || configured()
}

/// The id that the bytes would have as a blob.
pub(crate) fn blob_id(kind: gix::hash::Kind, bytes: &[u8]) -> Option<gix::ObjectId> {
    gix::objs::compute_hash(kind, gix::objs::Kind::Blob, bytes).ok()
}

#[allow(clippy::cast_possible_truncation, reason = "the index keeps the lower half")]
fn truncated(inode: u64) -> u32 {
    inode as u32
}
