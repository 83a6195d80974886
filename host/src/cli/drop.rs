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
            (Some(_), _) => Ok(()),
            (None, true) => writeln!(out, "session {session} is dropped"),
            (None, false) => writeln!(out, "session {session} had no state"),
        }
    })?;
    let Some(error) = receipt.error else { return Ok(Exit::Done) };
    eprintln!("turnback: session {} could not be dropped: {}", printable(&arguments.session), printable(&error));
    Ok(Exit::Failed)
}
