//! That the files of a folder are the tree's.
//!
//! Finding out that a blob is there and has its file's size costs more than asking for the file's stat. What was found
//! out holds as long as the same entries of the index stand for files of the same sizes, so a boundary keeps a digest of
//! these for each folder, and the next one goes by it.

use gix::index::Entry;
use minicbor::{Decode, Encode};

use super::manifest::Path;

/// Half of a BLAKE3-256.
type Short = [u8; 16];

/// A folder whose files, but for those that are written down or named, were found to be the tree's.
#[derive(Debug, Encode, Decode)]
pub(super) struct Proven {
    #[n(0)]
    pub(super) path: Path,
    #[cbor(n(1), with = "minicbor::bytes")]
    pub(super) digest: Short,
}

/// A proof in the making.
#[derive(Clone, Debug, Default)]
pub(super) struct Proof(Option<Box<blake3::Hasher>>);

impl Proof {
    /// Adds a file, by its name, its entry in the index and its size. Names come in ascending order.
    pub(super) fn add(&mut self, name: &[u8], entry: &Entry, size: u64) {
        let hasher = self.0.get_or_insert_default();
        hasher.update(name).update(b"\0").update(entry.id.as_slice()).update(&size.to_le_bytes());
    }

    /// The digest of what was added; `None` when nothing was.
    pub(super) fn digest(&self) -> Option<Short> {
        self.0.as_ref()?.finalize().as_bytes().first_chunk().copied()
    }

    pub(super) fn finish(&self, folder: &[u8]) -> Option<Proven> {
        Some(Proven { path: Path(folder.to_vec()), digest: self.digest()? })
    }
}
