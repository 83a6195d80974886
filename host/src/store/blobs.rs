//! Contents, each once, under the digest of its bytes.
//!
//! Invariant: bytes that are handed out hash to the digest that was asked for.

use std::{
    fs::File,
    io::{self, Seek},
    path::{Path, PathBuf},
};

use super::files;
use crate::model::Digest;

/// The contents of one session.
#[derive(Clone, Debug)]
pub(crate) struct Blobs {
    folder: PathBuf,
}

/// Why a content is not to be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BlobError {
    /// It is not there.
    #[error("the stored content {0} is missing")]
    Missing(Digest),
    /// Its bytes are not what they were.
    #[error("the stored content {0} is corrupt: its bytes do not hash to its name")]
    Corrupt(Digest),
    /// The system would not read it.
    #[error("the stored content {0} cannot be read: {1}")]
    Io(Digest, io::Error),
}

impl Blobs {
    pub(super) fn new(folder: PathBuf) -> Self {
        Blobs { folder }
    }

    /// Where they are.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the folder. Before [`Blobs::put`].
    pub(crate) fn prepare(&self) -> io::Result<()> {
        files::make_folder(&self.folder)
    }

    /// Whether a content of that size is there. Its bytes are checked when it is read.
    pub(crate) fn has(&self, digest: Digest, size: u64) -> bool {
        self.path(digest).symlink_metadata().is_ok_and(|there| there.is_file() && there.len() == size)
    }

    /// Keeps a content.
    pub(crate) fn put(&self, digest: Digest, bytes: &[u8]) -> io::Result<()> {
        if self.get(digest).is_ok() {
            return Ok(());
        }
        files::write_whole(&self.path(digest), bytes)
    }

    /// Keeps a content that is read from the file's start, of any size.
    pub(crate) fn put_from(&self, digest: Digest, size: u64, file: &mut File) -> io::Result<()> {
        self.prepare()?;
        if self.has(digest, size) && self.is_whole(digest) {
            return Ok(());
        }
        file.rewind()?;
        files::write_whole_from(&self.path(digest), file, |written| {
            if written == digest { Ok(()) } else { Err(io::Error::other("it changed while it was being copied")) }
        })
    }

    /// Whether the bytes of a content, of any size, are what they were.
    fn is_whole(&self, digest: Digest) -> bool {
        let mut hasher = blake3::Hasher::new();
        let read = files::open(&self.path(digest)).and_then(|file| hasher.update_reader(file).map(|_| ()));
        read.is_ok() && Digest::from(hasher.finalize()) == digest
    }

    /// The bytes of a content.
    pub(crate) fn get(&self, digest: Digest) -> Result<Vec<u8>, BlobError> {
        let bytes = files::read(&self.path(digest)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => BlobError::Missing(digest),
            _ => BlobError::Io(digest, error),
        })?;
        if Digest::of(&bytes) == digest { Ok(bytes) } else { Err(BlobError::Corrupt(digest)) }
    }

    fn path(&self, digest: Digest) -> PathBuf {
        Path::new(&self.folder).join(digest.to_string())
    }
}
