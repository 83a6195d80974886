//! A scan on disk: from before a call in flight, and of the last look.
//!
//! ```text
//! "turnback scan 3\n"
//! settled_ns i64 · unsettled u64 · files u64 · errors u64
//! how many listings u32 · the listings, as in `listing`
//! one CBOR item: unseen, the list of (path, why), known, the list of (path, state), and ground
//! BLAKE3-256 of all before it
//! ```
//!
//! Numbers are little-endian. It is read whole and not mapped: the agent may write where it lies, and a mapped file that
//! somebody cuts kills its reader.

use std::{sync::Arc, time::Duration};

use super::{Hidden, Known, Listing, Scan, Settled};
use crate::{git::Ground, model::Digest};

const MAGIC: &[u8; 16] = b"turnback scan 3\n";
const DIGEST: usize = 32;
const HEAD: usize = MAGIC.len() + 4 * 8 + 4;

/// The scan as it is saved.
pub(crate) fn encode(scan: &Scan) -> Vec<u8> {
    let listings: usize = scan.listings.iter().map(|listing| listing.as_bytes().len()).sum();
    let mut out = Vec::with_capacity(HEAD + listings + 256 + DIGEST);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&scan.settled.to_ns().to_le_bytes());
    for count in [scan.unsettled, scan.files, scan.errors] {
        out.extend_from_slice(&count.to_le_bytes());
    }
    out.extend_from_slice(&u32::try_from(scan.listings.len()).unwrap_or(u32::MAX).to_le_bytes());
    for listing in &scan.listings {
        out.extend_from_slice(listing.as_bytes());
    }
    // A Vec as writer cannot fail.
    let _infallible = minicbor::encode((&scan.unseen, &scan.known, &scan.ground), &mut out);
    let digest = blake3::hash(&out);
    out.extend_from_slice(digest.as_bytes());
    out
}

/// By which a saved scan is known from others: its last 32 bytes are enough.
pub(crate) fn digest_of(bytes: &[u8]) -> Option<Digest> {
    bytes.last_chunk::<DIGEST>().map(|digest| Digest(*digest))
}

/// Reads a saved scan; `None` when it is damaged or of another format.
pub(crate) fn decode(bytes: Vec<u8>) -> Option<Scan> {
    let (body, digest) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST)?)?;
    if blake3::hash(body).as_bytes() != digest {
        return None;
    }
    let end = body.len();
    let bytes = Arc::new(bytes);
    let mut head = Reader(bytes.get(..HEAD)?.strip_prefix(MAGIC)?);
    let settled = Settled::from_ns(i64::from_le_bytes(head.array()?));
    let [unsettled, files, errors] = [head.array()?, head.array()?, head.array()?].map(u64::from_le_bytes);
    let count = u32::from_le_bytes(head.array()?);
    let mut listings = Vec::new();
    let mut at = HEAD;
    for _ in 0..count {
        let listing = Listing::read(&bytes, at)?;
        at += listing.as_bytes().len();
        listings.push(listing);
    }
    let rest = bytes.get(at..end)?;
    let (unseen, known, ground) = minicbor::decode::<(Vec<Hidden>, Vec<Known>, Ground)>(rest).ok()?;
    let (young, elapsed) = (Vec::new(), Duration::ZERO);
    Some(Scan { listings, unseen, known, ground, settled, young, unsettled, files, errors, elapsed })
}

struct Reader<'b>(&'b [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        git::Tracked,
        model::FileState,
        scan::{Kind, Stat, Why, listing::Draft},
    };

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
        let mut draft = Draft::new(Vec::new(), 1, 2);
        draft.folder = Some(Stat { kind: Kind::Directory, ..stat });
        draft.push(b"a\xff", &stat, Tracked::Yes);
        draft.push(b"b", &stat, Tracked::No);
        draft.ignore(b"c");
        Scan {
            listings: vec![draft.finish(), Draft::new(b"d".to_vec(), 0, 0).finish()],
            unseen: vec![Hidden { path: b"x".to_vec(), why: Why::Unreadable("no".into()) }],
            known: vec![Known { path: b"a\xff".to_vec(), state: FileState::Directory }],
            ground: Ground::default(),
            settled: Settled::from_ns(5),
            young: Vec::new(),
            unsettled: 2,
            files: 1,
            errors: 1,
            elapsed: Duration::ZERO,
        }
    }

    #[test]
    fn a_saved_scan_reads_back_as_it_was() {
        let scan = sample();
        let read = decode(encode(&scan)).unwrap();
        assert!(read.saw_the_same(&scan));
        assert_eq!(read.known, scan.known);
        assert_eq!((read.settled, read.unsettled, read.files, read.errors), (Settled::from_ns(5), 2, 1, 1));
        let listing = &read.listings[0];
        assert_eq!(listing.entries().map(|(name, _)| name).collect::<Vec<_>>(), [&b"a\xff"[..], b"b"]);
        assert_eq!(listing.stat(b"b").map(|stat| stat.inode), Some(7));
        assert_eq!(listing.stat(b"c"), None);
        assert!(listing.ignores(b"c") && !listing.ignores(b"b"));
        assert_eq!(read.listings[1].path(), b"d");
        assert!(read.is_empty(b"d") && !read.is_empty(b""));
    }

    #[test]
    fn a_saved_scan_with_any_byte_changed_or_cut_is_refused() {
        let whole = encode(&sample());
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            assert!(decode(damaged).is_none(), "byte {at}");
            assert!(decode(whole[..at].to_vec()).is_none(), "cut at {at}");
        }
    }

    #[test]
    fn a_saved_scan_that_claims_more_than_it_has_is_refused() {
        let whole = encode(&sample());
        let body = whole.len() - DIGEST;
        for at in HEAD..body {
            for value in [0, 0x7f, 0xff] {
                let mut odd = whole[..body].to_vec();
                odd[at] = value;
                odd.extend_from_slice(blake3::hash(&odd.clone()).as_bytes());
                if let Some(scan) = decode(odd) {
                    let seen = scan.entries().count() + scan.hidden().len();
                    assert!(seen < 100 && scan.stat(b"a\xff/b").is_none(), "byte {at}");
                }
            }
        }
    }
}
