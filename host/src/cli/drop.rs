//! `turnback drop`

use anstream::eprintln;
use turnback::Runtime;

use super::{
    Ended, Session,
    exit::Exit,
    output::{Output, printable},
};

pub(super) fn run(turnback: &Runtime, arguments: &Session, output: &Output) -> Ended {
    let receipt = turnback.drop_session(&arguments.session)?;
    output.result(&receipt, |out, receipt| {
        let session = printable(&arguments.session);
        match (&receipt.error, receipt.dropped) {
            (Some(error), _) => {
                eprintln!("turnback: session {session} could not be dropped: {}", printable(error));
                Ok(())
            }
            (None, true) => writeln!(out, "session {session} is dropped"),
            (None, false) => writeln!(out, "session {session} had no state"),
        }
    })?;
    Ok(if receipt.error.is_some() { Exit::Failed } else { Exit::Done })
}
