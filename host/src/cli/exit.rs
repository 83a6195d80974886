//! Exit statuses.

use std::{io, process::ExitCode};

use turnback::{LoadError, MethodError};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// It did what it was asked.
    Done,
    /// It failed.
    Failed,
    /// The request is malformed.
    Malformed,
    /// No checkpoint can be had.
    Unavailable,
    /// A restore left something undone.
    Partial,
    /// The status of a command that was run.
    Of(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Malformed => 2,
            Exit::Unavailable => 3,
            Exit::Partial => 4,
            Exit::Of(status) => status,
        })
    }
}

/// Why a command gave no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The component cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A method gave no receipt.
    #[error(transparent)]
    Method(#[from] MethodError),
    /// Signals cannot be caught, so a call could be left open.
    #[error("cannot prepare for signals: {0}; nothing was run")]
    Signals(io::Error),
    /// The result could not be printed.
    #[error("it was done, but the result could not be printed: {0}")]
    Output(io::Error),
}

impl Failure {
    pub(super) fn exit(&self) -> Exit {
        match self {
            Failure::Method(MethodError::Invalid { .. }) => Exit::Malformed,
            Failure::Method(MethodError::Unavailable(_)) => Exit::Unavailable,
            Failure::Method(_) | Failure::Load(_) | Failure::Signals(_) | Failure::Output(_) => Exit::Failed,
        }
    }
}
