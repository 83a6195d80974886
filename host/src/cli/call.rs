//! `turnback call-begin` and `turnback call-end`

use std::io::{self, Write};

use turnback::{
    Runtime,
    receipt::{ChangeKind, EndReceipt},
};

use super::{
    Call, EndOfCall, Ended,
    exit::Exit,
    output::{Output, printable},
    table,
};

pub(super) fn begin(turnback: &Runtime, arguments: &Call, output: &Output) -> Ended {
    let receipt = turnback.call_begin(&arguments.session.session, &arguments.call)?;
    output.result(&receipt, |out, receipt| {
        let seen = table::count(receipt.scanned_files, "file");
        writeln!(out, "call {} has begun: {seen} seen", printable(&receipt.call_id))
    })?;
    Ok(Exit::Done)
}

pub(super) fn end(turnback: &Runtime, arguments: &EndOfCall, output: &Output) -> Ended {
    let EndOfCall { call, effect } = arguments;
    let receipt = turnback.call_end(&call.session.session, &call.call, effect.side_effect)?;
    output.result(&receipt, changes)?;
    Ok(Exit::Done)
}

/// What a call changed, one path a line.
pub(super) fn changes(out: &mut dyn Write, receipt: &EndReceipt) -> io::Result<()> {
    let number = receipt.changes.len() as u64;
    writeln!(out, "call {} changed {}", printable(&receipt.call_id), table::count(number, "path"))?;
    for change in &receipt.changes {
        let kind = match change.kind {
            ChangeKind::Created => "created",
            ChangeKind::Modified => "modified",
            ChangeKind::Deleted => "deleted",
        };
        write!(out, "  {kind:8}  {}", printable(&change.path))?;
        match &change.reason {
            Some(reason) => writeln!(out, "  incomplete: {}", printable(reason))?,
            None => writeln!(out)?,
        }
    }
    if receipt.scan_errors > 0 {
        writeln!(out, "  {} could not be looked at", table::count(receipt.scan_errors, "path"))?;
    }
    Ok(())
}
