//! An earlier scan of the workspace, and what of it still holds.

use std::sync::Arc;

use super::{Listing, Scan, Stat};
use crate::{
    anchor::{Root, Stamping},
    git::{Ground, Scope, Since},
    model::Error,
};

/// An earlier scan that was made by the same rules.
#[derive(Debug)]
pub(crate) struct Base {
    scan: Arc<Scan>,
    index: Since,
    /// The device of the workspace root.
    device: u64,
}

impl Base {
    /// Takes the scan as a base; `None` where nothing of it is to be gone by.
    pub(crate) fn of(scan: Arc<Scan>, root: &Root, scope: &Scope) -> Result<Option<Self>, Error> {
        // Elsewhere the stamps of a folder need not move with its names, or are kept from an earlier look.
        if root.stamping() == Stamping::Elsewhere {
            return Ok(None);
        }
        let Some(index) = scope.since(&scan.ground, scan.settled)? else { return Ok(None) };
        let device = scan.listing(b"").and_then(Listing::folder).map(|folder| folder.device);
        Ok(device.map(|device| Base { scan, index, device }))
    }

    pub(crate) fn ground(&self) -> &Ground {
        &self.scan.ground
    }

    /// What the scan saw of the folder.
    pub(super) fn listing(&self, path: &[u8]) -> Option<&Listing> {
        self.scan.listing(path)
    }

    /// Whether a folder that looked like this has the same names as then.
    pub(super) fn still_is(&self, then: Option<Stat>, now: Stat) -> bool {
        // What is mounted below the root may be of a kind whose stamps do not tell.
        then == Some(now) && now.device == self.device && self.scan.settled.has(&now)
    }

    /// Whether the rules of the folder are what they were then.
    pub(super) fn has_rules(&self, then: &Listing, now: Option<Stat>) -> bool {
        then.rules() == now && now.is_none_or(|now| self.scan.settled.has(&now))
    }

    /// Whether git may track something else than then.
    pub(super) fn has_other_index(&self) -> bool {
        self.index == Since::Changed
    }
}
