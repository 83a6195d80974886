//! The methods, one a file. Each reads the ledger from the journal, decides, asks the host to act, and journals what
//! happened; none keeps anything between two calls, so that any instance can take the next one.

mod call;
mod capture;
mod drop;
mod plan;
mod restore;

pub use self::{
    call::{BeginReceipt, EndReceipt, call_begin, call_end},
    capture::{CaptureReceipt, capture},
    drop::{DropReceipt, drop_session},
    plan::{PlanReceipt, plan},
    restore::{RestoreReceipt, restore},
};
use crate::{event::Event, ids::Ids, ledger::Ledger, ports::Host, state::Error};

/// What to do when calls have begun and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlight {
    /// Answer `calls_in_flight` and name them.
    Refuse,
    /// End them first.
    Close,
}

fn open<H: Host>(host: &mut H, ids: &Ids) -> Result<Ledger, Error> {
    Ledger::replay(&host.read(ids.session, 0)?)
}

fn record<H: Host>(host: &mut H, session_id: &str, ledger: &mut Ledger, event: Event) -> Result<(), Error> {
    host.append(session_id, &event.to_bytes()?)?;
    ledger.apply(event);
    Ok(())
}

/// Sees to it that no call is in flight; answers the ids of those that had to be ended.
fn settle<H: Host>(
    host: &mut H,
    session_id: &str,
    ledger: &mut Ledger,
    in_flight: InFlight,
) -> Result<Vec<String>, Error> {
    let open = ledger.open_calls();
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<String> = open.into_iter().map(|(id, _)| id).collect();
    match in_flight {
        InFlight::Refuse => Err(Error::unavailable(
            "calls_in_flight",
            format!(
                "session '{session_id}' has calls that have begun and not ended: {}; end them, or close open calls first (--close-open)",
                ids.join(", ")
            ),
        )),
        InFlight::Close => {
            for id in &ids {
                call::end(host, session_id, ledger, id, None)?;
            }
            Ok(ids)
        }
    }
}
