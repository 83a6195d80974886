//! A scan on disk: from before a call in flight, and of the last look at the workspace.
//!
//! ```text
//! "turnback scan 1\n"
//! started_ns i64 · files u64 · errors u64 · length of the listings u64
//! listings u32, then each: path · entries u32, then each: name · kind u8 · permissions u16 · size u64 ·
//!                          mtime_ns i64 · ctime_ns i64 · inode u64 · device u64
//! one CBOR item: hidden, the list of (path, why), and known, the list of (path, state)
//! BLAKE3-256 of all before it
//! ```
//!
//! Numbers are little-endian; a path or name is its length as u32 and its bytes.

use std::time::Duration;

use super::{Entry, Hidden, Kind, Known, Listing, Scan, Stat};

const MAGIC: &[u8; 16] = b"turnback scan 1\n";
const DIGEST: usize = 32;
/// A length, an empty name and a stat.
const SMALLEST_ENTRY: usize = 4 + 1 + 2 + 5 * 8;
/// Where the listings begin.
const LISTINGS: usize = MAGIC.len() + 4 * 8;

/// The scan as it is saved.
pub(crate) fn encode(scan: &Scan) -> Vec<u8> {
    let entries: usize = scan.listings.iter().map(|listing| listing.entries.len()).sum();
    let mut out = Vec::with_capacity(128 + entries * 80);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&scan.started_ns.to_le_bytes());
    out.extend_from_slice(&scan.files.to_le_bytes());
    out.extend_from_slice(&scan.errors.to_le_bytes());
    out.extend_from_slice(&0_u64.to_le_bytes());
    put_count(&mut out, scan.listings.len());
    for listing in &scan.listings {
        put_bytes(&mut out, &listing.path);
        put_count(&mut out, listing.entries.len());
        for Entry { name, stat } in &listing.entries {
            put_bytes(&mut out, name);
            out.push(stat.kind as u8);
            out.extend_from_slice(&stat.permissions.to_le_bytes());
            out.extend_from_slice(&stat.size.to_le_bytes());
            out.extend_from_slice(&stat.mtime_ns.to_le_bytes());
            out.extend_from_slice(&stat.ctime_ns.to_le_bytes());
            out.extend_from_slice(&stat.inode.to_le_bytes());
            out.extend_from_slice(&stat.device.to_le_bytes());
        }
    }
    let length = (out.len() - LISTINGS) as u64;
    out[LISTINGS - 8..LISTINGS].copy_from_slice(&length.to_le_bytes());
    // A Vec as writer cannot fail.
    let _infallible = minicbor::encode((&scan.hidden, &scan.known), &mut out);
    let digest = blake3::hash(&out);
    out.extend_from_slice(digest.as_bytes());
    out
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Reads a saved scan; `None` when it is damaged or of another format.
pub(crate) fn decode(bytes: &[u8]) -> Option<Scan> {
    let (body, digest) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST)?)?;
    if blake3::hash(body).as_bytes() != digest {
        return None;
    }
    let mut reader = Reader(body.strip_prefix(MAGIC)?);
    let mut scan = Scan {
        started_ns: i64::from_le_bytes(reader.array()?),
        files: u64::from_le_bytes(reader.array()?),
        errors: u64::from_le_bytes(reader.array()?),
        elapsed: Duration::ZERO,
        ..Scan::default()
    };
    let _length: [u8; 8] = reader.array()?;
    for _ in 0..reader.count()? {
        let path = reader.bytes()?.to_vec();
        let count = reader.count()?;
        let mut entries = Vec::with_capacity(count.min(reader.0.len() / SMALLEST_ENTRY));
        for _ in 0..count {
            entries.push(reader.entry()?);
        }
        scan.listings.push(Listing { path, entries });
    }
    (scan.hidden, scan.known) = minicbor::decode::<(Vec<Hidden>, Vec<Known>)>(reader.0).ok()?;
    Some(scan)
}

/// Whether a scan, as it is saved, knows contents; damage counts as knowing, so that it is found.
pub(crate) fn knows(bytes: &[u8]) -> bool {
    let tail = || {
        let length = u64::from_le_bytes(*bytes.get(LISTINGS - 8..)?.first_chunk()?);
        let tail =
            bytes.get(LISTINGS..)?.get(usize::try_from(length).ok()?..bytes.len().checked_sub(LISTINGS + DIGEST)?)?;
        minicbor::decode::<(Vec<Hidden>, Vec<Known>)>(tail).ok()
    };
    tail().is_none_or(|(_, known)| !known.is_empty())
}

/// Whether two scans, as they are saved, saw the same names with the same stats. Quicker than reading them; damage makes
/// them differ.
pub(crate) fn have_same_entries(a: &[u8], b: &[u8]) -> bool {
    fn listings(bytes: &[u8]) -> Option<&[u8]> {
        let length = u64::from_le_bytes(*bytes.get(LISTINGS - 8..)?.first_chunk()?);
        bytes.get(LISTINGS..)?.get(..usize::try_from(length).ok()?)
    }
    listings(a).is_some_and(|listings_of_a| Some(listings_of_a) == listings(b))
}

struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(self.array()?)).ok()
    }

    fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = self.count()?;
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    fn entry(&mut self) -> Option<Entry> {
        let name = self.bytes()?.into();
        let [kind] = self.array()?;
        let kind = [Kind::File, Kind::Symlink, Kind::Directory, Kind::Special]
            .into_iter()
            .find(|&known| known as u8 == kind)?;
        let stat = Stat {
            kind,
            permissions: u16::from_le_bytes(self.array()?),
            size: u64::from_le_bytes(self.array()?),
            mtime_ns: i64::from_le_bytes(self.array()?),
            ctime_ns: i64::from_le_bytes(self.array()?),
            inode: u64::from_le_bytes(self.array()?),
            device: u64::from_le_bytes(self.array()?),
        };
        Some(Entry { name, stat })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::Why;

    fn sample() -> Scan {
        let stat = Stat {
            kind: Kind::Symlink,
            permissions: 0o777,
            size: 3,
            mtime_ns: -1,
            ctime_ns: i64::MAX,
            inode: 7,
            device: 8,
        };
        Scan {
            listings: vec![
                Listing { path: Vec::new(), entries: vec![Entry { name: b"a\xff".as_slice().into(), stat }] },
                Listing { path: b"d".to_vec(), entries: Vec::new() },
            ],
            hidden: vec![Hidden { path: b"x".to_vec(), why: Why::Unreadable("no".into()) }],
            known: vec![Known { path: b"a\xff".to_vec(), state: crate::model::FileState::Directory }],
            started_ns: 5,
            files: 1,
            errors: 1,
            elapsed: Duration::ZERO,
        }
    }

    #[test]
    fn a_saved_scan_reads_back_as_it_was() {
        let scan = sample();
        let read = decode(&encode(&scan)).unwrap();
        assert_eq!(read.listings, scan.listings);
        assert_eq!((&read.hidden, &read.known), (&scan.hidden, &scan.known));
        assert_eq!((read.started_ns, read.files, read.errors), (5, 1, 1));
    }

    #[test]
    fn scans_have_the_same_entries_whenever_they_were_taken() {
        let (scan, mut later, mut other) = (sample(), sample(), sample());
        later.started_ns += 1;
        later.known.clear();
        other.listings[0].entries[0].stat.ctime_ns -= 1;
        assert!(have_same_entries(&encode(&scan), &encode(&later)));
        assert!(!have_same_entries(&encode(&scan), &encode(&other)));
        assert!(!have_same_entries(&encode(&scan), b"turnback scan 1\n"));
    }

    #[test]
    fn a_saved_scan_with_any_byte_changed_or_cut_is_refused() {
        let whole = encode(&sample());
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            assert!(decode(&damaged).is_none(), "byte {at}");
            assert!(decode(&whole[..at]).is_none(), "cut at {at}");
        }
    }
}
