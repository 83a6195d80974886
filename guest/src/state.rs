//! The values that the guest reasons about, and their form in the journal.
//!
//! They mirror the records of `wit/types.wit`. They are types of their own, so that the rules compile and are tested
//! natively, and so that what is journalled does not change shape with the interface.

use minicbor::{Decode, Encode};

/// BLAKE3-256 of a file's bytes or of a link's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Digest(#[cbor(with = "minicbor::bytes")] pub [u8; 32]);

/// What stands at a path. Two states are equal only when kind, content and executable bit are.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum FileState {
    /// Nothing.
    #[n(0)]
    Absent,
    /// A regular file.
    #[n(1)]
    Regular {
        /// Of the file's bytes.
        #[n(0)]
        content: Digest,
        /// In bytes.
        #[n(1)]
        size: u64,
        /// Whether its owner may execute it.
        #[n(2)]
        executable: bool,
    },
    /// A symbolic link, by the digest of its text.
    #[n(2)]
    Symlink(#[n(0)] Digest),
    /// A folder.
    #[n(3)]
    Directory,
    /// Something that is seen, never read, never written.
    #[n(4)]
    Other,
}

/// What a boundary holds for a path. Three states: a path that was not captured is never taken for an absent one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Nothing stood there.
    Absent,
    /// This stood there.
    Present(FileState),
    /// The boundary does not tell, or its content is not to be had.
    Unrestorable(String),
}

/// How a call changed a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum ChangeKind {
    /// Nothing stood there before the call.
    #[n(0)]
    Created,
    /// Something else stood there before the call.
    #[n(1)]
    Modified,
    /// Nothing stands there after the call.
    #[n(2)]
    Deleted,
}

/// What a scan remembers of a path from before a call.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Prior {
    /// In bytes.
    #[n(0)]
    pub size: u64,
    /// The nine permission bits of a regular file.
    #[n(1)]
    pub permissions: Option<u32>,
    /// What stood there, where it is known.
    #[n(2)]
    pub state: Option<FileState>,
}

/// One path that a call changed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Change {
    /// Where.
    #[n(0)]
    pub path: String,
    /// How.
    #[n(1)]
    pub kind: ChangeKind,
    /// What stood there before the call, when something did.
    #[n(2)]
    pub before: Option<Prior>,
    /// What stands there after the call.
    #[n(3)]
    pub after: FileState,
    /// Why the scans could not see the path fully, when they could not.
    #[n(4)]
    pub incomplete: Option<String>,
}

/// What a call may have done beside changing files, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
#[allow(missing_docs, reason = "the names are the specification's and say all there is")]
pub enum SideEffect {
    #[n(0)]
    None,
    #[n(1)]
    ReadOnly,
    #[n(2)]
    WorkspaceWrite,
    #[n(3)]
    ProcessExec,
    #[n(4)]
    NetworkRead,
    #[n(5)]
    Network,
    #[n(6)]
    DesktopControl,
}

impl SideEffect {
    /// Whether it leaves something that no file restore undoes.
    pub fn is_irreversible(self) -> bool {
        matches!(self, SideEffect::Network | SideEffect::DesktopControl)
    }
}

/// What a plan does with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "documented in wit/types.wit, word for word the same set")]
pub enum Action {
    Restore,
    Recreate,
    Delete,
    Skip,
    Refuse,
    Fail,
}

impl Action {
    /// Whether the action changes the workspace.
    pub fn changes(self) -> bool {
        matches!(self, Action::Restore | Action::Recreate | Action::Delete)
    }
}

/// One path of a plan or a receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where.
    pub path: String,
    /// What is or was done.
    pub action: Action,
    /// Why, where the action does not say it.
    pub reason: Option<String>,
    /// What the session last left there.
    pub expected: Option<FileState>,
    /// What stands there now.
    pub found: Option<FileState>,
}

/// A call whose effect no file restore can undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Irreversible {
    /// The call.
    pub call_id: String,
    /// Its class.
    pub side_effect: SideEffect,
}

/// Why a method gave no receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A checkpoint cannot be had here or now.
    Unavailable {
        /// A documented name.
        reason: String,
        /// For a person.
        detail: String,
    },
    /// The request is malformed.
    Invalid {
        /// The parameter's name.
        parameter: &'static str,
        /// What it must be.
        expected: String,
    },
    /// The system failed.
    Other(String),
}

impl Error {
    pub(crate) fn unavailable(reason: &str, detail: String) -> Self {
        Error::Unavailable { reason: reason.into(), detail }
    }
}

/// What a scan saw, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanSummary {
    /// Files and links.
    pub files: u64,
    /// Folders and files that could not be looked at.
    pub errors: u64,
    /// In milliseconds.
    pub elapsed_ms: u64,
}

/// What differs between two scans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Every path that differs, sorted by path.
    pub changes: Vec<Change>,
    /// Every folder that was made, sorted by path.
    pub made_directories: Vec<String>,
    /// Every folder that was removed or replaced, sorted by path.
    pub removed_directories: Vec<String>,
}

/// What was found at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// This stands there.
    Seen(FileState),
    /// Nothing can stand there: this path above it is no folder.
    Blocked(String),
    /// It cannot be told; the reason.
    Unreadable(String),
}

/// What a boundary recorded, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Files whose bytes are in the store.
    pub stored_files: u64,
    /// Their sizes together, in bytes.
    pub stored_bytes: u64,
    /// Files that are named but not held.
    pub unrestorable_files: u64,
}

/// One path to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Where.
    pub path: String,
    /// The path is changed only while this stands there.
    pub guard: FileState,
    /// What the boundary holds.
    pub to: FileState,
    /// The nine permission bits that a file had before the session changed it, where known.
    pub permissions: Option<u32>,
}

/// What became of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done.
    Done,
    /// The guard did not hold; this stands there.
    Changed(FileState),
    /// It would have destroyed what is not the session's.
    Refused(String),
    /// The system said no.
    Failed(String),
}

/// What became of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Of each step, in the order asked.
    pub outcomes: Vec<Outcome>,
    /// The folders that were removed because they had become empty, sorted by path.
    pub removed_directories: Vec<String>,
}
