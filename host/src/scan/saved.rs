//! A scan on disk: from before a call in flight, and of the last look at the workspace.
//!
//! ```text
//! "turnback scan 2\n"
//! started_ns i64 · files u64 · errors u64
//! listings u32, then each: path · entries u32, then each: name · kind u8 · permissions u16 · size u64 ·
//!                          mtime_ns i64 · ctime_ns i64 · inode u64 · device u64
//! one CBOR item: hidden, the list of (path, why), and known, the list of (path, state)
//! BLAKE3-256 of all before it
//! ```
//!
//! Numbers are little-endian; a path or name is its length as u32 and its bytes.

use std::time::Duration;

use super::{Hidden, Kind, Known, Listing, Scan, Stat};

const MAGIC: &[u8; 16] = b"turnback scan 2\n";
const DIGEST: usize = 32;
/// A stat.
const STAT: usize = 1 + 2 + 5 * 8;
/// A length, an empty name and a stat.
const SMALLEST_ENTRY: usize = 4 + STAT;
/// Where the time is, and where what comes after it begins.
const STARTED: usize = MAGIC.len();
const FILES: usize = STARTED + 8;

/// A scan as it is saved, but for the digest at its end.
pub(crate) struct Body(Vec<u8>);

impl Body {
    pub(crate) fn of(scan: &Scan) -> Self {
        let entries: usize = scan.listings.iter().map(Listing::len).sum();
        let mut out = Vec::with_capacity(128 + entries * 80 + DIGEST);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&scan.started_ns.to_le_bytes());
        out.extend_from_slice(&scan.files.to_le_bytes());
        out.extend_from_slice(&scan.errors.to_le_bytes());
        put_count(&mut out, scan.listings.len());
        for listing in &scan.listings {
            put_bytes(&mut out, &listing.path);
            put_count(&mut out, listing.len());
            for (name, stat) in listing.entries() {
                put_bytes(&mut out, name);
                out.extend_from_slice(&stat_out(stat));
            }
        }
        // A Vec as writer cannot fail.
        let _infallible = minicbor::encode((&scan.hidden, &scan.known), &mut out);
        Body(out)
    }

    /// Whether a saved scan is whole, and saw and knows the same at another time.
    pub(crate) fn is_that_of(&self, saved: &[u8]) -> bool {
        whole(saved).is_some_and(|body| body[..STARTED] == self.0[..STARTED] && body[FILES..] == self.0[FILES..])
    }

    /// The scan as it is saved.
    pub(crate) fn sealed(self) -> Vec<u8> {
        let Body(mut out) = self;
        let digest = blake3::hash(&out);
        out.extend_from_slice(digest.as_bytes());
        out
    }
}

fn stat_out(stat: &Stat) -> [u8; STAT] {
    let mut out = [0; STAT];
    out[0] = stat.kind as u8;
    out[1..3].copy_from_slice(&stat.permissions.to_le_bytes());
    out[3..11].copy_from_slice(&stat.size.to_le_bytes());
    out[11..19].copy_from_slice(&stat.mtime_ns.to_le_bytes());
    out[19..27].copy_from_slice(&stat.ctime_ns.to_le_bytes());
    out[27..35].copy_from_slice(&stat.inode.to_le_bytes());
    out[35..].copy_from_slice(&stat.device.to_le_bytes());
    out
}

/// What a saved scan holds before its digest; `None` when the two do not fit.
fn whole(saved: &[u8]) -> Option<&[u8]> {
    let (body, digest) = saved.split_at_checked(saved.len().checked_sub(DIGEST)?)?;
    (body.len() >= FILES && blake3::hash(body).as_bytes() == digest).then_some(body)
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
    let mut reader = Reader(whole(bytes)?.strip_prefix(MAGIC)?);
    let mut scan = Scan {
        started_ns: i64::from_le_bytes(reader.array()?),
        files: u64::from_le_bytes(reader.array()?),
        errors: u64::from_le_bytes(reader.array()?),
        elapsed: Duration::ZERO,
        ..Scan::default()
    };
    for _ in 0..reader.count()? {
        let path = reader.bytes()?.to_vec();
        let count = reader.count()?;
        let mut listing = Listing::with_capacity(path, count.min(reader.0.len() / SMALLEST_ENTRY), 0);
        for _ in 0..count {
            listing.push(reader.bytes()?, reader.stat()?);
        }
        scan.listings.push(listing);
    }
    (scan.hidden, scan.known) = minicbor::decode::<(Vec<Hidden>, Vec<Known>)>(reader.0).ok()?;
    Some(scan)
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

    fn stat(&mut self) -> Option<Stat> {
        let [kind] = self.array()?;
        let kind = [Kind::File, Kind::Symlink, Kind::Directory, Kind::Special]
            .into_iter()
            .find(|&known| known as u8 == kind)?;
        Some(Stat {
            kind,
            permissions: u16::from_le_bytes(self.array()?),
            size: u64::from_le_bytes(self.array()?),
            mtime_ns: i64::from_le_bytes(self.array()?),
            ctime_ns: i64::from_le_bytes(self.array()?),
            inode: u64::from_le_bytes(self.array()?),
            device: u64::from_le_bytes(self.array()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::Why;

    fn encode(scan: &Scan) -> Vec<u8> {
        Body::of(scan).sealed()
    }

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
        let mut listing = Listing::with_capacity(Vec::new(), 1, 2);
        listing.push(b"a\xff", stat);
        Scan {
            listings: vec![listing, Listing::with_capacity(b"d".to_vec(), 0, 0)],
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
    fn a_scan_is_the_same_whenever_it_was_taken_and_differs_by_anything_else() {
        let (scan, mut later, mut other, mut unknowing) = (sample(), sample(), sample(), sample());
        later.started_ns += 1;
        other.listings.pop();
        unknowing.known.clear();
        let saved = encode(&scan);
        assert!(Body::of(&later).is_that_of(&saved));
        assert!(!Body::of(&other).is_that_of(&saved));
        assert!(!Body::of(&unknowing).is_that_of(&saved));
        for at in 0..saved.len() {
            let mut damaged = saved.clone();
            damaged[at] ^= 1;
            assert!(!Body::of(&later).is_that_of(&damaged), "byte {at}");
            assert!(!Body::of(&later).is_that_of(&saved[..at]), "cut at {at}");
        }
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
