//! One folder as a scan saw it.
//!
//! A listing is a run of bytes, the same in memory and on disk: a saved scan is not parsed, and scans that saw the same
//! share it.
//!
//! ```text
//! path, entries, bytes of names, ignored, bytes of ignored names: u32 each, how many · marks u32
//! the folder's own stat, when it was opened · the stat of its .gitignore, zeros when there is none
//! path · entries, each: stat, its second byte 1 when git tracks it · where its name ends u32 · names
//! ignored, each: where its name ends u32 · ignored names
//! ```
//!
//! Numbers are little-endian; names are sorted by their bytes.

use std::{ops::Range, sync::Arc};

use super::{Kind, Stat};
use crate::git::{Tracked, TrackedIn};

const HEAD: usize = 6 * 4 + 2 * Stat::BYTES;
const ENTRY: usize = Stat::BYTES + 4;
const END: usize = 4;
/// Where in a stat it says whether git tracks the entry.
const TRACKED: usize = 1;

/// What holds of a listing as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(u32);

impl Marks {
    /// All names were looked at, and none can make the folder a repository.
    pub(super) const REVISITABLE: Marks = Marks(1);
    /// The folder is ignored, and looked into for what is tracked in it.
    pub(super) const IGNORED: Marks = Marks(2);
    /// Its rules were read out of the index.
    pub(super) const RULES_IN_INDEX: Marks = Marks(4);

    pub(super) fn with(self, other: Marks) -> Self {
        Marks(self.0 | other.0)
    }

    pub(super) fn without(self, other: Marks) -> Self {
        Marks(self.0 & !other.0)
    }

    pub(super) fn has(self, other: Marks) -> bool {
        self.0 & other.0 == other.0
    }
}

/// One folder: its names, sorted, with the stat of each, and the names that are ignored.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    bytes: Arc<Vec<u8>>,
    at: Range<usize>,
}

impl PartialEq for Listing {
    fn eq(&self, other: &Self) -> bool {
        (Arc::ptr_eq(&self.bytes, &other.bytes) && self.at == other.at) || self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Listing {}

impl Listing {
    /// The listing that begins there; `None` when there is none whole.
    pub(super) fn read(bytes: &Arc<Vec<u8>>, start: usize) -> Option<Self> {
        let head = bytes.get(start..)?.get(..HEAD)?;
        let count = |n: usize| number(head, n * 4) as usize;
        let sizes = [(count(0), 1), (count(1), ENTRY), (count(2), 1), (count(3), END), (count(4), 1)];
        let mut length = HEAD;
        for (count, of) in sizes {
            length = length.checked_add(count.checked_mul(of)?)?;
        }
        let end = start.checked_add(length)?;
        (end <= bytes.len()).then(|| Listing { bytes: Arc::clone(bytes), at: start..end })
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(self.at.clone()).unwrap_or_default()
    }

    fn count(&self, n: usize) -> usize {
        number(self.as_bytes(), n * 4) as usize
    }

    fn part(&self, from: usize, length: usize) -> &[u8] {
        self.as_bytes().get(from..).and_then(|rest| rest.get(..length)).unwrap_or_default()
    }

    /// The folder's path; the root's is empty.
    pub(crate) fn path(&self) -> &[u8] {
        self.part(HEAD, self.count(0))
    }

    pub(super) fn marks(&self) -> Marks {
        Marks(number(self.as_bytes(), 5 * 4))
    }

    /// The folder itself, when it was opened.
    pub(super) fn folder(&self) -> Option<Stat> {
        Stat::from_bytes(self.part(6 * 4, Stat::BYTES))
    }

    /// The `.gitignore` in it.
    pub(super) fn rules(&self) -> Option<Stat> {
        Stat::from_bytes(self.part(6 * 4 + Stat::BYTES, Stat::BYTES))
    }

    fn entries_at(&self) -> usize {
        HEAD + self.count(0)
    }

    fn names(&self) -> Names<'_> {
        let count = self.len();
        let names = self.entries_at() + count * ENTRY;
        Names {
            table: self.part(self.entries_at(), count * ENTRY),
            stride: ENTRY,
            names: self.part(names, self.count(2)),
        }
    }

    fn ignored_names(&self) -> Names<'_> {
        let at = self.entries_at() + self.len() * ENTRY + self.count(2);
        let count = self.count(3);
        Names { table: self.part(at, count * END), stride: END, names: self.part(at + count * END, self.count(4)) }
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.count(1)
    }

    /// Whether nothing at all was seen in the folder.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0 && self.count(3) == 0
    }

    /// Each entry's name and stat, sorted by name.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&[u8], Stat)> {
        self.records().filter_map(|(name, record)| Some((name, record.stat()?)))
    }

    /// Each entry's name and what is kept of it.
    pub(super) fn records(&self) -> impl Iterator<Item = (&[u8], Record<'_>)> {
        let names = self.names();
        let mut start = 0;
        names.table.chunks_exact(ENTRY).map(move |record| {
            let end = number(record, Stat::BYTES) as usize;
            let name = names.names.get(start..end).unwrap_or_default();
            start = end;
            (name, Record(&record[..Stat::BYTES]))
        })
    }

    /// Whether git tracks the same of these names.
    pub(super) fn is_tracked_as(&self, mut tracked: TrackedIn<'_>) -> bool {
        let of_ignored = tracked;
        self.records().all(|(name, record)| {
            let now =
                if record.kind() == Some(Kind::Directory) { tracked.has_below(name) } else { tracked.next_is(name) };
            record.tracked() == now
        }) && self.ignored().all(|name| of_ignored.has_below(name) == Tracked::No)
    }

    /// What was seen under that name.
    pub(crate) fn stat(&self, name: &[u8]) -> Option<Stat> {
        let names = self.names();
        let at = names.find(name)?;
        Stat::from_bytes(names.table.get(at * ENTRY..)?.get(..Stat::BYTES)?)
    }

    /// The names that were left out because they are ignored, sorted.
    pub(crate) fn ignored(&self) -> impl Iterator<Item = &[u8]> {
        let names = self.ignored_names();
        (0..self.count(3)).map(move |at| names.name(at))
    }

    /// Whether the name was left out because it is ignored.
    pub(crate) fn ignores(&self, name: &[u8]) -> bool {
        self.ignored_names().find(name).is_some()
    }

    /// The same, with the stats of some entries replaced: which, and what each is.
    pub(super) fn with_stats(&self, changed: &[(usize, Stat)]) -> Self {
        let mut bytes = self.as_bytes().to_vec();
        let first = self.entries_at();
        for (at, stat) in changed {
            let from = first + at * ENTRY;
            if let Some(record) = bytes.get_mut(from..from + Stat::BYTES) {
                let tracked = record[TRACKED];
                record.copy_from_slice(&stat.to_bytes());
                record[TRACKED] = tracked;
            }
        }
        let at = 0..bytes.len();
        Listing { bytes: Arc::new(bytes), at }
    }
}

/// What a listing keeps of an entry beside its name.
#[derive(Clone, Copy)]
pub(super) struct Record<'l>(&'l [u8]);

impl Record<'_> {
    fn stat(self) -> Option<Stat> {
        Stat::from_bytes(self.0)
    }

    pub(super) fn kind(self) -> Option<Kind> {
        self.0.first().and_then(|kind| Kind::from_byte(*kind))
    }

    fn tracked(self) -> Tracked {
        if self.0.get(TRACKED) == Some(&1) { Tracked::Yes } else { Tracked::No }
    }

    /// Whether it is the same stat.
    pub(super) fn is_of(self, stat: &Stat) -> bool {
        let now = stat.to_bytes();
        self.0.first() == now.first() && self.0.get(TRACKED + 1..) == now.get(TRACKED + 1..)
    }
}

/// Names one after the other, and a table of where each ends: the last four bytes of each row.
#[derive(Clone, Copy)]
struct Names<'l> {
    table: &'l [u8],
    stride: usize,
    names: &'l [u8],
}

impl<'l> Names<'l> {
    fn end(&self, at: usize) -> usize {
        number(self.table, (at + 1) * self.stride - END) as usize
    }

    fn name(&self, at: usize) -> &'l [u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.end(before));
        self.names.get(start..self.end(at)).unwrap_or_default()
    }

    fn find(&self, name: &[u8]) -> Option<usize> {
        let (mut from, mut to) = (0, self.table.len() / self.stride);
        while from < to {
            let middle = usize::midpoint(from, to);
            match self.name(middle).cmp(name) {
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Greater => to = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }
}

/// The number that begins there; zero where the bytes end before.
fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |number| u32::from_le_bytes(*number))
}

/// A listing in the making.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) path: Vec<u8>,
    pub(super) marks: Marks,
    pub(super) folder: Option<Stat>,
    pub(super) rules: Option<Stat>,
    entries: Vec<u8>,
    names: Vec<u8>,
    ignored: Vec<u8>,
    ignored_names: Vec<u8>,
}

impl Draft {
    /// For the folder of that path, with room for so many names of so many bytes together.
    pub(super) fn new(path: Vec<u8>, names: usize, bytes: usize) -> Self {
        let entries = Vec::with_capacity(names * ENTRY);
        Draft { path, entries, names: Vec::with_capacity(bytes), ..Draft::default() }
    }

    /// Adds an entry, which sorts after those that are there.
    pub(super) fn push(&mut self, name: &[u8], stat: &Stat, tracked: Tracked) {
        self.names.extend_from_slice(name);
        let mut record = stat.to_bytes();
        record[TRACKED] = u8::from(tracked == Tracked::Yes);
        self.entries.extend_from_slice(&record);
        self.entries.extend_from_slice(&length(&self.names));
    }

    /// Adds a name that is ignored, which sorts after those that are there.
    pub(super) fn ignore(&mut self, name: &[u8]) {
        self.ignored_names.extend_from_slice(name);
        self.ignored.extend_from_slice(&length(&self.ignored_names));
    }

    pub(super) fn finish(self) -> Listing {
        let stat = |stat: Option<Stat>| stat.map_or([0; Stat::BYTES], Stat::to_bytes);
        let counts = |bytes: &[u8], of: usize| count(bytes.len() / of);
        let parts = [&self.path, &self.entries, &self.names, &self.ignored, &self.ignored_names];
        let mut bytes = Vec::with_capacity(HEAD + parts.iter().map(|part| part.len()).sum::<usize>());
        for (part, of) in parts.into_iter().zip([1, ENTRY, 1, END, 1]) {
            bytes.extend_from_slice(&counts(part, of));
        }
        bytes.extend_from_slice(&self.marks.0.to_le_bytes());
        bytes.extend_from_slice(&stat(self.folder));
        bytes.extend_from_slice(&stat(self.rules));
        for part in parts {
            bytes.extend_from_slice(part);
        }
        let at = 0..bytes.len();
        Listing { bytes: Arc::new(bytes), at }
    }
}

fn length(bytes: &[u8]) -> [u8; 4] {
    count(bytes.len())
}

/// A folder whose names take 4 GiB is refused when its names are read.
fn count(count: usize) -> [u8; 4] {
    u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes()
}
