//! The values that the host's rooms hand to each other. They mirror the records of `wit/types.wit`.

use std::fmt;

use minicbor::{Decode, Encode};

use crate::path::WorkPath;

/// BLAKE3-256 of a file's bytes or of a link's text. Printed in lowercase hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub(crate) struct Digest(#[cbor(with = "minicbor::bytes")] pub(crate) [u8; 32]);

impl Digest {
    /// Of these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Digest(*blake3::hash(bytes).as_bytes())
    }
}

impl From<blake3::Hash> for Digest {
    fn from(hash: blake3::Hash) -> Self {
        Digest(*hash.as_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What proves that a file has not changed between two looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proof {
    /// Its stamps, size, mode, inode and device, where the stamps are old enough to tell. What writes through an old
    /// writable mapping moves none of them.
    #[default]
    Stamps,
    /// Its content alone: every look reads every file.
    Contents,
}

/// What stands at a path. Two states are equal only when kind, content and executable bit are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum FileState {
    /// Nothing.
    #[n(0)]
    Absent,
    /// A regular file.
    #[n(1)]
    Regular(#[n(0)] RegularFile),
    /// A symbolic link, by the digest of its text.
    #[n(2)]
    Symlink(#[n(0)] Digest),
    /// A folder.
    #[n(3)]
    Directory,
    /// A FIFO, socket, device or nested repository: seen, never read, never written.
    #[n(4)]
    Other,
}

impl FileState {
    /// The digest of what stands there, for a file or a link.
    pub(crate) fn digest(&self) -> Option<Digest> {
        match self {
            FileState::Regular(file) => Some(file.content),
            FileState::Symlink(text) => Some(*text),
            _ => None,
        }
    }
}

/// The content and executable bit of a regular file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct RegularFile {
    /// Of the file's bytes.
    #[n(0)]
    pub(crate) content: Digest,
    /// In bytes.
    #[n(1)]
    pub(crate) size: u64,
    /// Whether its owner may execute it.
    #[n(2)]
    pub(crate) executable: bool,
}

/// What a boundary holds for a path. Three states: a path that was not captured is never taken for an absent one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Nothing stood there.
    Absent,
    /// This stood there, and can be brought back.
    Present(FileState),
    /// The boundary does not tell, or its content is not to be had.
    Unrestorable(String),
}

/// How a call changed a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// Nothing stood there before the call.
    Created,
    /// Something else stood there before the call.
    Modified,
    /// Nothing stands there after the call.
    Deleted,
}

/// What a scan remembers of a path from before a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prior {
    /// In bytes; 0 for what is no regular file.
    pub(crate) size: u64,
    /// The nine permission bits of a regular file.
    pub(crate) permissions: Option<u32>,
    /// What stood there, where it was read.
    pub(crate) state: Option<FileState>,
}

/// One path that differs between two scans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Where. The bytes as the file system has them: a path that may not be written can still be seen.
    pub(crate) path: Vec<u8>,
    /// How.
    pub(crate) kind: ChangeKind,
    /// What stood there before, when something did.
    pub(crate) before: Option<Prior>,
    /// What stands there now.
    pub(crate) after: FileState,
    /// Why the scans could not see the path fully, when they could not.
    pub(crate) incomplete: Option<String>,
}

/// What differs between two scans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Every path that differs, sorted by path.
    pub(crate) changes: Vec<Change>,
    /// Every folder that was made, sorted by path.
    pub(crate) made_directories: Vec<Vec<u8>>,
    /// Every folder that was removed or replaced, sorted by path.
    pub(crate) removed_directories: Vec<Vec<u8>>,
}

/// What was found at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Observation {
    /// This stands there.
    Seen(FileState),
    /// Nothing can stand there: this path above it is no folder.
    Blocked(Vec<u8>),
    /// It cannot be told; the reason.
    Unreadable(String),
}

/// What a boundary recorded, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// Files whose bytes are in the store.
    pub(crate) stored_files: u64,
    /// Their sizes together, in bytes.
    pub(crate) stored_bytes: u64,
    /// Files that are named but not held.
    pub(crate) unrestorable_files: u64,
}

/// One path to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Where.
    pub(crate) path: WorkPath,
    /// The path is changed only while this stands there.
    pub(crate) guard: FileState,
    /// What the boundary is said to hold.
    pub(crate) to: FileState,
    /// The nine permission bits that a file had before the session changed it, where known.
    pub(crate) permissions: Option<u32>,
}

/// What became of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was done.
    Done,
    /// The guard did not hold; this stands there, and was left.
    Changed(FileState),
    /// It would have destroyed what is not the session's. All was left as it was.
    Refused(String),
    /// The system said no. What stood there still stands there.
    Failed(String),
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    /// Of each step, in the order asked.
    pub(crate) outcomes: Vec<Outcome>,
    /// The folders that were removed because they had become empty, sorted.
    pub(crate) removed_directories: Vec<WorkPath>,
}

/// Why a room could not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A checkpoint cannot be had here or now.
    #[error("{detail} ({reason})")]
    Unavailable {
        /// A documented name.
        reason: &'static str,
        /// For a person: what, where, and what to do.
        detail: String,
    },
    /// A parameter that no state of the workspace would make right.
    #[error("{parameter}: {expected}")]
    Invalid {
        /// The parameter's name.
        parameter: &'static str,
        /// What it must be.
        expected: String,
    },
    /// The system failed.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// A failure of the system: what was being done, to what, and what it said.
    pub(crate) fn io(doing: &str, what: impl fmt::Display, error: impl fmt::Display) -> Self {
        Error::Other(format!("cannot {doing} {what}: {error}"))
    }
}
