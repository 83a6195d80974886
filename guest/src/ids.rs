//! The caller's names for sessions, boundaries and calls.
//!
//! Invariant: a name that passed is safe as the name of one folder and can be printed on one line.

use crate::state::Error;

/// The longest id, in bytes: short enough that a file name can be made of it.
pub const MAX_ID_BYTES: usize = 200;

/// The ids of one request, checked.
#[derive(Clone, Copy, Debug)]
pub struct Ids<'a> {
    /// The session.
    pub session: &'a str,
}

impl<'a> Ids<'a> {
    /// Checks a session id.
    pub fn session(id: &'a str) -> Result<Self, Error> {
        Ok(Ids { session: check("session_id", id)? })
    }

    /// Checks a boundary id that goes with it.
    pub fn boundary<'b>(&self, id: &'b str) -> Result<&'b str, Error> {
        check("boundary_id", id)
    }

    /// Checks a call id that goes with it.
    pub fn call<'b>(&self, id: &'b str) -> Result<&'b str, Error> {
        check("call_id", id)
    }
}

fn check<'a>(parameter: &'static str, id: &'a str) -> Result<&'a str, Error> {
    let wrong = if id.is_empty() {
        "it is empty"
    } else if id.len() > MAX_ID_BYTES {
        "it is too long"
    } else if id.starts_with('.') {
        "it starts with a dot"
    } else if id.contains(['/', '\\']) {
        "it contains a slash or a backslash"
    } else if id.chars().any(char::is_control) {
        "it contains a control character"
    } else {
        return Ok(id);
    };
    Err(invalid_id(parameter, wrong))
}

fn invalid_id(parameter: &'static str, wrong: &str) -> Error {
    let expected: String = format!(
        "{wrong}: an id is 1 to {MAX_ID_BYTES} bytes without slashes, backslashes or control characters, and does not \
         start with a dot"
    );
    Error::Invalid { parameter, expected }
}
