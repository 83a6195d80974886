//! `turnback capture`

use turnback::Runtime;

use super::{
    Boundary, Ended,
    exit::Exit,
    output::{Output, printable},
    table,
};

pub(super) fn run(turnback: &Runtime, arguments: &Boundary, output: &Output) -> Ended {
    let receipt = turnback.capture(&arguments.session.session, &arguments.boundary, arguments.in_flight())?;
    output.result(&receipt, |out, receipt| {
        table::closed(out, &receipt.closed_calls)?;
        writeln!(
            out,
            "boundary {} recorded: {} seen, {} ({} bytes) kept that git does not have",
            printable(&receipt.boundary_id),
            table::count(receipt.scanned_files, "file"),
            table::count(receipt.stored_files, "file"),
            receipt.stored_bytes,
        )?;
        if receipt.unrestorable_files > 0 {
            writeln!(out, "  {} could not be kept", table::count(receipt.unrestorable_files, "file"))?;
        }
        if receipt.scan_errors > 0 {
            writeln!(out, "  {} could not be looked at", table::count(receipt.scan_errors, "path"))?;
        }
        Ok(())
    })?;
    Ok(Exit::Done)
}
