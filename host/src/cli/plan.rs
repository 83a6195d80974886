//! `turnback plan`

use turnback::Runtime;

use super::{
    Boundary, Ended,
    exit::Exit,
    output::{Output, printable},
    table,
};

pub(super) fn run(turnback: &Runtime, arguments: &Boundary, output: &Output) -> Ended {
    let receipt = turnback.plan(&arguments.session.session, &arguments.boundary, arguments.in_flight())?;
    output.result(&receipt, |out, plan| {
        table::closed(out, &plan.closed_calls)?;
        let boundary = printable(&plan.boundary_id);
        if plan.entries.is_empty() {
            writeln!(out, "the session changed nothing since boundary {boundary}")?;
        } else {
            let number = plan.entries.len() as u64;
            writeln!(out, "back to boundary {boundary}: {}", table::count(number, "path"))?;
            table::entries(out, plan.entries.iter())?;
        }
        table::irreversible(out, &plan.irreversible)
    })?;
    Ok(Exit::Done)
}
