//! What the methods answer, as the library gives it and as `--json` prints it.
//!
//! Field names are part of the interface. A receipt may get more fields, never fewer. A path is a string; a name whose
//! bytes are not UTF-8 carries each offending byte as U+10FF00 plus the byte. Hashes are BLAKE3-256 in lowercase
//! hexadecimal, of a file's bytes or of a link's text.

use serde::Serialize;

/// Serializes as `true`: the receipt is there. What is not available is an [`Unavailable`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Available;

impl Serialize for Available {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

/// Serializes as `false`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NotAvailable;

impl Serialize for NotAvailable {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(false)
    }
}

/// A checkpoint cannot be had here or now. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{detail} ({reason})")]
pub struct Unavailable {
    available: NotAvailable,
    /// One of the documented names, `not_a_git_worktree` for example; names may be added.
    pub reason: String,
    /// For a person: what, where, and what to do.
    pub detail: String,
}

impl Unavailable {
    pub(crate) fn new(reason: String, detail: String) -> Self {
        Unavailable { available: NotAvailable, reason, detail }
    }
}

/// Why a method gave no receipt. Nothing in the workspace was changed, unless it says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MethodError {
    /// A checkpoint cannot be had here or now.
    #[error(transparent)]
    Unavailable(Unavailable),
    /// The request is malformed: no state of the workspace would make it right.
    #[error("{parameter}: {expected}")]
    Invalid {
        /// The parameter's name.
        parameter: String,
        /// What is wrong, and what it must be.
        expected: String,
    },
    /// The system failed: what, where, and what was left as it was.
    #[error("{0}")]
    Failed(String),
    /// The component did not answer as a component of its world must.
    #[error("the component failed: {0}")]
    Component(String),
}

/// What to do when calls have begun and not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InFlight {
    /// Answer `calls_in_flight` and name them.
    #[default]
    Refuse,
    /// End them first, with what they have changed so far.
    Close,
}

/// What a call may have done beside changing files, lowest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SideEffect {
    /// Undeclared.
    #[default]
    None,
    /// Reads only.
    ReadOnly,
    /// Writes the workspace.
    WorkspaceWrite,
    /// Runs programs.
    ProcessExec,
    /// Reads from the network.
    NetworkRead,
    /// Changes things across the network. No file restore undoes that.
    Network,
    /// Drives the desktop. No file restore undoes that.
    DesktopControl,
}

impl SideEffect {
    /// Every class, lowest first.
    pub const ALL: [SideEffect; 7] = [
        SideEffect::None,
        SideEffect::ReadOnly,
        SideEffect::WorkspaceWrite,
        SideEffect::ProcessExec,
        SideEffect::NetworkRead,
        SideEffect::Network,
        SideEffect::DesktopControl,
    ];

    /// The class's name in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            SideEffect::None => "none",
            SideEffect::ReadOnly => "read_only",
            SideEffect::WorkspaceWrite => "workspace_write",
            SideEffect::ProcessExec => "process_exec",
            SideEffect::NetworkRead => "network_read",
            SideEffect::Network => "network",
            SideEffect::DesktopControl => "desktop_control",
        }
    }
}

/// How a call changed a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Nothing stood there before the call.
    Created,
    /// Something else stood there before the call.
    Modified,
    /// Nothing stands there after the call.
    Deleted,
}

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Nothing.
    Absent,
    /// A regular file.
    File,
    /// A symbolic link.
    Symlink,
    /// A folder.
    Directory,
    /// A FIFO, socket, device or nested repository.
    Other,
}

/// One path that a call changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Where, relative to the workspace root.
    pub path: String,
    /// How.
    pub kind: ChangeKind,
    /// The hash of what stands there after the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_hash: Option<String>,
    /// What stands there after the call.
    pub post_kind: Kind,
    /// Whether the file there is executable after the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executable: Option<bool>,
    /// The scans could not see the path fully: a restore refuses it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
    /// Why it is incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a plan does with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Put the boundary's content in place of what stands there.
    Restore,
    /// Make what the boundary held and nothing stands for now.
    Recreate,
    /// Remove what the boundary did not have.
    Delete,
    /// Nothing: it already is as at the boundary, or the session did not change it.
    Skip,
    /// Nothing: the guard does not hold, or the boundary does not have it.
    Refuse,
    /// It was tried, or had to be looked at, and the system said no.
    Fail,
}

impl Action {
    /// The action's name in JSON and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Action::Restore => "restore",
            Action::Recreate => "recreate",
            Action::Delete => "delete",
            Action::Skip => "skip",
            Action::Refuse => "refuse",
            Action::Fail => "fail",
        }
    }
}

/// One path of a plan or a receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Where, relative to the workspace root.
    pub path: String,
    /// What is or was done.
    pub action: Action,
    /// Why, where the action does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The hash of what the session last left there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_hash: Option<String>,
    /// The hash of what stands there now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_hash: Option<String>,
    /// What the session last left there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_kind: Option<Kind>,
    /// What stands there now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_kind: Option<Kind>,
}

/// A call whose effect no file restore can undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Irreversible {
    /// The call.
    pub call_id: String,
    /// Its class: `network` or `desktop_control`.
    pub side_effect: SideEffect,
}

/// Of `capture`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CaptureReceipt {
    /// `true`.
    pub available: Available,
    /// The boundary that was recorded.
    pub boundary_id: String,
    /// Files and links seen.
    pub scanned_files: u64,
    /// Files whose bytes the boundary holds in the store, because the index does not have them.
    pub stored_files: u64,
    /// Their sizes together, in bytes.
    pub stored_bytes: u64,
    /// Files that the boundary names but does not hold.
    pub unrestorable_files: u64,
    /// Folders and files that could not be looked at.
    pub scan_errors: u64,
    /// How long the scan took, in milliseconds.
    pub scan_ms: u64,
    /// Calls that [`InFlight::Close`] ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub closed_calls: Vec<String>,
}

/// Of `call_begin`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BeginReceipt {
    /// `true`.
    pub available: Available,
    /// The call.
    pub call_id: String,
    /// Files and links seen.
    pub scanned_files: u64,
    /// Folders and files that could not be looked at.
    pub scan_errors: u64,
    /// How long the scan took, in milliseconds.
    pub scan_ms: u64,
}

/// Of `call_end`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndReceipt {
    /// `true`.
    pub available: Available,
    /// The call.
    pub call_id: String,
    /// What it changed, sorted by path.
    pub changes: Vec<Change>,
    /// Folders and files that could not be looked at.
    pub scan_errors: u64,
}

/// Of `plan`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanReceipt {
    /// `true`.
    pub available: Available,
    /// The session.
    pub session_id: String,
    /// The boundary to go back to.
    pub boundary_id: String,
    /// Each path that the session changed since, sorted by path.
    pub entries: Vec<Entry>,
    /// Calls since the boundary that no file restore undoes.
    pub irreversible: Vec<Irreversible>,
    /// Calls that [`InFlight::Close`] ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub closed_calls: Vec<String>,
}

/// Of `restore`. Each path that was considered is in exactly one of the four lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RestoreReceipt {
    /// `true`.
    pub available: Available,
    /// The boundary that was gone back to.
    pub boundary_id: String,
    /// Done: restored, recreated or deleted.
    pub restored: Vec<Entry>,
    /// Left as it was, because the guard does not hold or the boundary does not have it.
    pub refused: Vec<Entry>,
    /// Left as it was, because there was nothing to do.
    pub skipped: Vec<Entry>,
    /// Tried, and the system said no.
    pub failed: Vec<Entry>,
    /// Calls since the boundary that no file restore undoes.
    pub irreversible: Vec<Irreversible>,
    /// Folders that the session had made, now empty, and removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed_directories: Vec<String>,
    /// Calls that [`InFlight::Close`] ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub closed_calls: Vec<String>,
}

impl RestoreReceipt {
    /// Whether something was left undone.
    pub fn is_partial(&self) -> bool {
        !self.refused.is_empty() || !self.failed.is_empty()
    }
}

/// Of `drop`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DropReceipt {
    /// `true`.
    pub available: Available,
    /// Whether there was state, and it is gone.
    pub dropped: bool,
    /// Why state is left, when some is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
