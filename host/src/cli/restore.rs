//! `turnback restore`

use std::io::{self, Write};

use turnback::{Runtime, receipt::RestoreReceipt};

use super::{
    Ended, RestoreArguments,
    exit::Exit,
    output::{Output, printable},
    path_text, table,
};

pub(super) fn run(turnback: &Runtime, arguments: &RestoreArguments, output: &Output) -> Ended {
    let RestoreArguments { boundary, path } = arguments;
    let paths: Vec<String> = path.iter().map(path_text).collect();
    let selected = (!paths.is_empty()).then_some(paths.as_slice());
    let receipt = turnback.restore(&boundary.session.session, &boundary.boundary, selected, boundary.in_flight())?;
    output.result(&receipt, text)?;
    Ok(if receipt.is_partial() { Exit::Partial } else { Exit::Done })
}

fn text(out: &mut dyn Write, receipt: &RestoreReceipt) -> io::Result<()> {
    table::closed(out, &receipt.closed_calls)?;
    writeln!(
        out,
        "back to boundary {}: {} restored, {} refused, {} skipped, {} failed",
        printable(&receipt.boundary_id),
        receipt.restored.len(),
        receipt.refused.len(),
        receipt.skipped.len(),
        receipt.failed.len(),
    )?;
    let lists = [&receipt.restored, &receipt.refused, &receipt.failed, &receipt.skipped];
    table::entries(out, lists.into_iter().flatten())?;
    for folder in &receipt.removed_directories {
        writeln!(out, "  removed the empty folder {}", printable(folder))?;
    }
    table::irreversible(out, &receipt.irreversible)
}
