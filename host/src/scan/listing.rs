//! One folder as a scan saw it.

use super::Stat;

/// One folder: its names, sorted, with the stat of each.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listing {
    pub(crate) path: Vec<u8>,
    /// The names, one after the other.
    names: Vec<u8>,
    /// Where each name ends, and its stat.
    entries: Vec<(usize, Stat)>,
}

impl Listing {
    /// An empty one, with room for so many names of so many bytes together.
    pub(super) fn with_capacity(path: Vec<u8>, names: usize, bytes: usize) -> Self {
        Listing { path, names: Vec::with_capacity(bytes), entries: Vec::with_capacity(names) }
    }

    /// Adds a name, which sorts after those that are there.
    pub(super) fn push(&mut self, name: &[u8], stat: Stat) {
        self.names.extend_from_slice(name);
        self.entries.push((self.names.len(), stat));
    }

    /// How many names there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Each name and its stat, sorted by name.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&[u8], &Stat)> {
        let mut start = 0;
        self.entries.iter().map(move |(end, stat)| {
            let name = &self.names[start..*end];
            start = *end;
            (name, stat)
        })
    }

    /// What was seen under that name.
    pub(crate) fn stat(&self, name: &[u8]) -> Option<&Stat> {
        let (mut from, mut to) = (0, self.entries.len());
        while from < to {
            let middle = usize::midpoint(from, to);
            match self.name(middle).cmp(name) {
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Greater => to = middle,
                std::cmp::Ordering::Equal => return self.entries.get(middle).map(|(_, stat)| stat),
            }
        }
        None
    }

    fn name(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.entries[before].0);
        &self.names[start..self.entries[at].0]
    }
}
