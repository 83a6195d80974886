//! What the guest remembers of a session: boundaries, calls and attributions, replayed from its events.
//!
//! Invariant: the ledger is a pure function of the events. Boundary keys only grow, and a call belongs to the boundary
//! that was the newest when it ended, so that "at or after boundary N" is a comparison of keys.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    event::{Event, Extent},
    state::{Change, ChangeKind, Error, FileState, Irreversible, SideEffect},
};

/// A recorded boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// The caller's name for it.
    pub id: String,
    /// The number under which the host keeps it.
    pub key: u64,
}

/// A bracketed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The caller's name for it.
    pub id: String,
    /// The newest boundary's key.
    boundary: u64,
    progress: Progress,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Progress {
    Open { scan: u64 },
    Ended(Effects),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Effects {
    side_effect: SideEffect,
    changes: Vec<Change>,
    made_directories: Vec<String>,
    removed_directories: Vec<String>,
}

/// What the session did to one path at or after a boundary, over all calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribution {
    /// What the session last left there.
    pub last: FileState,
    /// Why the last call's view of it was incomplete, when it was.
    pub incomplete: Option<String>,
    /// Whether a call of the session created it.
    pub created: bool,
    /// The permission bits from before the first call that found something there.
    pub permissions: Option<u32>,
}

impl Attribution {
    /// Of a path where the session left nothing, and about which nothing else is known.
    pub fn gone() -> Self {
        Attribution { last: FileState::Absent, incomplete: None, created: false, permissions: None }
    }
}

/// The state of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    boundaries: Vec<Boundary>,
    calls: Vec<Call>,
    next_key: u64,
}

impl Ledger {
    /// Replays a session's events.
    pub fn replay(events: &[Vec<u8>]) -> Result<Self, Error> {
        let mut ledger = Ledger::default();
        for bytes in events {
            ledger.apply(Event::from_bytes(bytes)?);
        }
        Ok(ledger)
    }

    /// Takes one more event in.
    pub fn apply(&mut self, event: Event) {
        match event {
            Event::Captured { boundary_id, key, .. } => {
                self.next_key = self.next_key.max(key.saturating_add(1));
                self.boundaries.push(Boundary { id: boundary_id, key });
            }
            Event::Begun { call_id, scan, .. } => {
                let boundary = self.newest_key();
                self.calls.push(Call { id: call_id, boundary, progress: Progress::Open { scan } });
            }
            Event::Ended { call_id, side_effect, changes, made_directories, removed_directories, .. } => {
                // Ended calls stay in the order in which they ended: the last attribution of a path is the last here.
                let Some(at) = self.calls.iter().position(|call| call.id == call_id) else { return };
                let mut call = self.calls.remove(at);
                call.boundary = self.newest_key();
                let effects = Effects { side_effect, changes, made_directories, removed_directories };
                call.progress = Progress::Ended(effects);
                self.calls.push(call);
            }
            Event::Restored { key, extent: Extent::Full, .. } => {
                self.boundaries.retain(|boundary| boundary.key <= key);
                self.calls.retain(|call| call.boundary < key);
            }
            Event::Restored { key, extent: Extent::Partial, paths, .. } => {
                for call in self.calls.iter_mut().filter(|call| call.boundary >= key) {
                    if let Progress::Ended(effects) = &mut call.progress {
                        effects.changes.retain(|change| paths.binary_search_by(|p| p.path.cmp(&change.path)).is_err());
                    }
                }
            }
        }
    }

    fn newest_key(&self) -> u64 {
        self.boundaries.last().map_or(0, |boundary| boundary.key)
    }

    /// The number for the next boundary.
    pub fn next_key(&self) -> u64 {
        self.next_key
    }

    /// The newest boundary, or the reason why there is none.
    pub fn newest_boundary(&self, session_id: &str) -> Result<&Boundary, Error> {
        self.boundaries.last().ok_or_else(|| {
            let detail = format!("session '{session_id}' has no boundary; capture one first");
            Error::unavailable("no_checkpoint", detail)
        })
    }

    /// The boundary of that name.
    pub fn boundary(&self, session_id: &str, id: &str) -> Result<&Boundary, Error> {
        self.newest_boundary(session_id)?;
        self.boundaries.iter().find(|boundary| boundary.id == id).ok_or_else(|| {
            let detail = format!("session '{session_id}' has no boundary '{id}'; it has {}", self.boundary_names());
            Error::unavailable("unknown_boundary", detail)
        })
    }

    /// Refuses a boundary name that is taken.
    pub fn check_new_boundary(&self, session_id: &str, id: &str) -> Result<(), Error> {
        if self.boundaries.iter().any(|boundary| boundary.id == id) {
            let detail = format!("session '{session_id}' already has a boundary '{id}'; it was left as it is");
            return Err(Error::unavailable("boundary_exists", detail));
        }
        Ok(())
    }

    fn boundary_names(&self) -> String {
        const SHOWN: usize = 5;
        let hidden = self.boundaries.len().saturating_sub(SHOWN);
        let mut names = String::new();
        if hidden > 0 {
            names = format!("{hidden} older and ");
        }
        for (n, boundary) in self.boundaries.iter().skip(hidden).enumerate() {
            if n > 0 {
                names.push_str(", ");
            }
            names.push('\'');
            names.push_str(&boundary.id);
            names.push('\'');
        }
        names
    }

    /// Refuses a call name that is taken.
    pub fn check_new_call(&self, session_id: &str, id: &str) -> Result<(), Error> {
        match self.calls.iter().find(|call| call.id == id) {
            None => Ok(()),
            Some(call) => {
                let (state, advice) = match call.progress {
                    Progress::Open { .. } => (
                        "has begun and not ended",
                        "end it first; capture, plan and restore end it when asked to close open calls",
                    ),
                    Progress::Ended(_) => ("has ended", "give the next one another id"),
                };
                let detail = format!("call '{id}' of session '{session_id}' {state}; {advice}");
                Err(Error::unavailable("call_exists", detail))
            }
        }
    }

    /// The saved scan of a call that has begun and not ended.
    pub fn open_scan(&self, session_id: &str, id: &str) -> Result<u64, Error> {
        let why = match self.calls.iter().find(|call| call.id == id).map(|call| &call.progress) {
            Some(Progress::Open { scan }) => return Ok(*scan),
            Some(Progress::Ended(_)) => "has ended already",
            None => "has not begun",
        };
        Err(Error::unavailable(
            "unknown_call",
            format!("call '{id}' of session '{session_id}' {why}; nothing was attributed"),
        ))
    }

    /// The calls that have begun and not ended, oldest first, with their saved scans.
    pub fn open_calls(&self) -> Vec<(String, u64)> {
        self.calls
            .iter()
            .filter_map(|call| match call.progress {
                Progress::Open { scan } => Some((call.id.clone(), scan)),
                Progress::Ended(_) => None,
            })
            .collect()
    }

    fn ended_since(&self, key: u64) -> impl Iterator<Item = (&Call, &Effects)> {
        self.calls.iter().filter(move |call| call.boundary >= key).filter_map(|call| match &call.progress {
            Progress::Ended(effects) => Some((call, effects)),
            Progress::Open { .. } => None,
        })
    }

    /// What the session did to each path at or after the boundary.
    pub fn attributions_since(&self, key: u64) -> BTreeMap<&str, Attribution> {
        let mut paths: BTreeMap<&str, Attribution> = BTreeMap::new();
        let made: BTreeSet<&String> =
            self.ended_since(key).flat_map(|(_, effects)| &effects.made_directories).collect();
        for (_, effects) in self.ended_since(key) {
            // A folder with something in it is no change of its own: what is in it is. Where the path is attributed
            // for another reason, the folder is what the session left there.
            for (folders, left) in
                [(&effects.removed_directories, FileState::Absent), (&effects.made_directories, FileState::Directory)]
            {
                for folder in folders {
                    if let Some(attribution) = paths.get_mut(folder.as_str()) {
                        attribution.last = left.clone();
                    }
                }
            }
            for change in &effects.changes {
                let permissions = change.before.as_ref().and_then(|prior| prior.permissions);
                let attribution = paths
                    .entry(&change.path)
                    .or_insert_with(|| Attribution { created: made.contains(&change.path), ..Attribution::gone() });
                attribution.last = change.after.clone();
                attribution.incomplete = change.incomplete.clone();
                attribution.created |= change.kind == ChangeKind::Created && change.incomplete.is_none();
                attribution.permissions = attribution.permissions.or(permissions);
            }
        }
        paths
    }

    /// The folders that the session made at or after the boundary, sorted, each once.
    pub fn directories_made_since(&self, key: u64) -> Vec<String> {
        let mut made: Vec<String> =
            self.ended_since(key).flat_map(|(_, effects)| effects.made_directories.iter().cloned()).collect();
        made.sort_unstable();
        made.dedup();
        made
    }

    /// The folders that the session removed at or after the boundary and did not make again, sorted.
    pub fn directories_removed_since(&self, key: u64) -> Vec<String> {
        let mut removed: BTreeSet<&String> = BTreeSet::new();
        for (_, effects) in self.ended_since(key) {
            removed.extend(&effects.removed_directories);
            for made in &effects.made_directories {
                removed.remove(made);
            }
        }
        removed.into_iter().cloned().collect()
    }

    /// The calls at or after the boundary whose effect no file restore undoes.
    pub fn irreversible_since(&self, key: u64) -> Vec<Irreversible> {
        self.ended_since(key)
            .filter(|(_, effects)| effects.side_effect.is_irreversible())
            .map(|(call, effects)| Irreversible { call_id: call.id.clone(), side_effect: effects.side_effect })
            .collect()
    }
}
