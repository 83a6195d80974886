//! Releases a session's state. It reads nothing of it, so that damaged state can be dropped too.

use crate::{ids::Ids, ports::Host, state::Error};

/// What was released.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "documented in wit/checkpoints.wit, field for field")]
pub struct DropReceipt {
    pub dropped: bool,
    pub error: Option<String>,
}

/// Removes all that the session keeps.
pub fn drop_session<H: Host>(host: &mut H, session_id: &str) -> Result<DropReceipt, Error> {
    let ids = Ids::session(session_id)?;
    match host.erase(ids.session) {
        Ok(dropped) => Ok(DropReceipt { dropped, error: None }),
        Err(Error::Other(why)) => Ok(DropReceipt { dropped: false, error: Some(why) }),
        Err(error) => Err(error),
    }
}
