//! The methods over an in-memory host: random histories against what the specification says of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use turnback_guest::{
    methods::{InFlight, call_begin, call_end, capture, drop_session, plan, restore},
    ports::Host,
    state::{
        Action, Applied, Change, ChangeKind, Difference, Digest, Error, FileState, Held, Observation, Outcome, Prior,
        ScanSummary, SideEffect, Step, Target,
    },
};

const SESSION: &str = "s";

type Files = BTreeMap<String, u8>;

/// A workspace of small files, each one byte, with whole copies of it as scans and boundaries.
#[derive(Default)]
struct Memory {
    files: Files,
    events: Vec<Vec<u8>>,
    scans: Vec<Files>,
    boundaries: BTreeMap<u64, Files>,
    /// Every path that a step changed.
    touched: BTreeSet<String>,
}

fn state(files: &Files, path: &str) -> FileState {
    match files.get(path) {
        None => FileState::Absent,
        Some(&byte) => FileState::Regular { content: Digest([byte; 32]), size: 1, executable: false },
    }
}

impl Host for Memory {
    type Scan = Files;

    fn now_ms(&mut self) -> u64 {
        0
    }

    fn take_scan(&mut self) -> Result<Files, Error> {
        Ok(self.files.clone())
    }

    fn summary(&mut self, scan: &Files) -> ScanSummary {
        ScanSummary { files: scan.len() as u64, errors: 0, elapsed_ms: 0 }
    }

    fn save_scan(&mut self, _: &str, scan: &Files) -> Result<u64, Error> {
        self.scans.push(scan.clone());
        Ok(self.scans.len() as u64 - 1)
    }

    fn changes_since(&mut self, _: &str, before: u64, now: &Files) -> Result<Difference, Error> {
        let before = &self.scans[before as usize];
        let paths: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        let changes = paths.into_iter().filter(|path| before.get(*path) != now.get(*path)).map(|path| Change {
            path: path.clone(),
            kind: match (before.contains_key(path), now.contains_key(path)) {
                (false, _) => ChangeKind::Created,
                (true, true) => ChangeKind::Modified,
                (true, false) => ChangeKind::Deleted,
            },
            before: before.get(path).map(|_| Prior { size: 1, permissions: Some(0o644), state: None }),
            after: state(now, path),
            incomplete: None,
        });
        Ok(Difference { changes: changes.collect(), ..Difference::default() })
    }

    fn forget_scan(&mut self, _: &str, _: u64) {}

    fn observe(&mut self, paths: &[String]) -> Vec<Observation> {
        paths.iter().map(|path| Observation::Seen(state(&self.files, path))).collect()
    }

    fn take_boundary(&mut self, _: &str, key: u64, now: &Files) -> Result<Held, Error> {
        assert!(self.boundaries.insert(key, now.clone()).is_none(), "a boundary's number is never used twice");
        Ok(Held { stored_files: 0, stored_bytes: 0, unrestorable_files: 0 })
    }

    fn targets(&mut self, _: &str, key: u64, paths: &[String]) -> Result<Vec<Target>, Error> {
        let target = |path: &String| match state(&self.boundaries[&key], path) {
            FileState::Absent => Target::Absent,
            state => Target::Present(state),
        };
        Ok(paths.iter().map(target).collect())
    }

    fn apply(&mut self, _: &str, key: u64, steps: &[Step], _: &[String]) -> Result<Applied, Error> {
        let mut outcomes = Vec::new();
        for step in steps {
            assert_eq!(step.to, state(&self.boundaries[&key], &step.path));
            let found = state(&self.files, &step.path);
            if found != step.guard {
                outcomes.push(Outcome::Changed(found));
                continue;
            }
            self.touched.insert(step.path.clone());
            match self.boundaries[&key].get(&step.path) {
                Some(&byte) => self.files.insert(step.path.clone(), byte),
                None => self.files.remove(&step.path),
            };
            outcomes.push(Outcome::Done);
        }
        Ok(Applied { outcomes, removed_directories: Vec::new() })
    }

    fn append(&mut self, _: &str, event: &[u8]) -> Result<(), Error> {
        self.events.push(event.to_vec());
        Ok(())
    }

    fn read(&mut self, _: &str, start: u64) -> Result<Vec<Vec<u8>>, Error> {
        Ok(self.events[start as usize..].to_vec())
    }

    fn erase(&mut self, _: &str) -> Result<bool, Error> {
        Ok(!std::mem::take(&mut self.events).is_empty())
    }
}

fn reason<T: std::fmt::Debug>(answer: Result<T, Error>) -> String {
    match answer {
        Err(Error::Unavailable { reason, .. }) => reason,
        Err(Error::Invalid { parameter, .. }) => parameter.to_owned(),
        other => panic!("{other:?}"),
    }
}

fn bracket(host: &mut Memory, call: &str, effect: Option<SideEffect>, work: impl FnOnce(&mut Files)) -> Vec<Change> {
    call_begin(host, SESSION, call).unwrap();
    work(&mut host.files);
    call_end(host, SESSION, call, effect).unwrap().changes
}

#[test]
fn ids_that_are_no_safe_folder_names_are_malformed_everywhere() {
    let mut host = Memory::default();
    let long = "x".repeat(201);
    for bad in ["", ".", "..", ".hidden", "a/b", "a\\b", "a\nb", "a\0b", long.as_str()] {
        assert_eq!(reason(capture(&mut host, bad, "b", InFlight::Refuse)), "session_id");
        assert_eq!(reason(capture(&mut host, SESSION, bad, InFlight::Refuse)), "boundary_id");
        assert_eq!(reason(call_begin(&mut host, SESSION, bad)), "call_id");
        assert_eq!(reason(call_end(&mut host, SESSION, bad, None)), "call_id");
        assert_eq!(reason(plan(&mut host, SESSION, bad, InFlight::Refuse)), "boundary_id");
        assert_eq!(reason(restore(&mut host, SESSION, bad, None, InFlight::Refuse)), "boundary_id");
        assert_eq!(reason(drop_session(&mut host, bad)), "session_id");
    }
    assert!(host.events.is_empty());
    for good in ["a", "msg_01:23", "3fa85f64-5717-4562-b3fc-2c963f66afa6", "grün", &"x".repeat(200)] {
        assert!(capture(&mut host, SESSION, good, InFlight::Refuse).is_ok(), "{good}");
    }
}

#[test]
fn what_the_state_does_not_allow_is_refused_by_name_and_journals_nothing() {
    let mut host = Memory::default();
    assert_eq!(reason(call_begin(&mut host, SESSION, "c")), "no_checkpoint");
    assert_eq!(reason(call_end(&mut host, SESSION, "c", None)), "no_checkpoint");
    assert_eq!(reason(plan(&mut host, SESSION, "b", InFlight::Refuse)), "no_checkpoint");
    capture(&mut host, SESSION, "b", InFlight::Refuse).unwrap();
    call_begin(&mut host, SESSION, "open").unwrap();
    let journalled = host.events.clone();

    assert_eq!(reason(capture(&mut host, SESSION, "b", InFlight::Refuse)), "boundary_exists");
    assert_eq!(reason(capture(&mut host, SESSION, "b2", InFlight::Refuse)), "calls_in_flight");
    assert_eq!(reason(plan(&mut host, SESSION, "b", InFlight::Refuse)), "calls_in_flight");
    assert_eq!(reason(restore(&mut host, SESSION, "b", None, InFlight::Refuse)), "calls_in_flight");
    assert_eq!(reason(plan(&mut host, SESSION, "other", InFlight::Close)), "unknown_boundary");
    assert_eq!(reason(call_begin(&mut host, SESSION, "open")), "call_exists");
    assert_eq!(reason(call_end(&mut host, SESSION, "other", None)), "unknown_call");
    assert_eq!(reason(restore(&mut host, SESSION, "b", Some(&[]), InFlight::Close)), "paths");
    for path in ["", "/a", "a/../b", "./a", "a/", "a//b", "a\0"] {
        assert_eq!(reason(restore(&mut host, SESSION, "b", Some(&[path.into()]), InFlight::Close)), "paths", "{path}");
    }
    assert_eq!(host.events, journalled);

    call_end(&mut host, SESSION, "open", None).unwrap();
    assert_eq!(reason(call_end(&mut host, SESSION, "open", None)), "unknown_call");
    assert_eq!(reason(call_begin(&mut host, SESSION, "open")), "call_exists");
}

#[test]
fn an_event_of_a_later_version_is_damage_not_silence() {
    let mut host = Memory::default();
    capture(&mut host, SESSION, "b", InFlight::Refuse).unwrap();
    // A variant that does not exist, with no fields.
    host.events.push(vec![0x82, 0x18, 0x63, 0x80]);
    assert_eq!(reason(plan(&mut host, SESSION, "b", InFlight::Refuse)), "state_damaged");
    assert!(drop_session(&mut host, SESSION).unwrap().dropped);
}

#[test]
fn touched_files_are_not_attributed() {
    let mut host = Memory::default();
    host.files.insert("a".into(), 1);
    capture(&mut host, SESSION, "b", InFlight::Refuse).unwrap();
    call_begin(&mut host, SESSION, "c").unwrap();
    // Somebody changed it before the call looked, and the call put it back.
    let scan = host.scans.last_mut().unwrap();
    scan.insert("a".into(), 2);
    assert_eq!(call_end(&mut host, SESSION, "c", None).unwrap().changes, []);
    assert_eq!(plan(&mut host, SESSION, "b", InFlight::Refuse).unwrap().entries, []);
}

#[test]
fn irreversible_calls_are_listed_until_a_full_restore_discards_them() {
    let mut host = Memory::default();
    capture(&mut host, SESSION, "b", InFlight::Refuse).unwrap();
    for (call, effect) in
        [("r", SideEffect::NetworkRead), ("n", SideEffect::Network), ("d", SideEffect::DesktopControl)]
    {
        bracket(&mut host, call, Some(effect), |_| {});
    }
    let listed = |calls: Vec<turnback_guest::state::Irreversible>| -> Vec<String> {
        calls.into_iter().map(|call| call.call_id).collect()
    };
    assert_eq!(listed(plan(&mut host, SESSION, "b", InFlight::Refuse).unwrap().irreversible), ["n", "d"]);
    assert_eq!(listed(restore(&mut host, SESSION, "b", None, InFlight::Refuse).unwrap().irreversible), ["n", "d"]);
    assert!(plan(&mut host, SESSION, "b", InFlight::Refuse).unwrap().irreversible.is_empty());
}

#[test]
fn overlapping_calls_each_own_what_changed_in_their_window_and_the_last_state_guards() {
    let mut host = Memory::default();
    capture(&mut host, SESSION, "b", InFlight::Refuse).unwrap();
    call_begin(&mut host, SESSION, "outer").unwrap();
    host.files.insert("a".into(), 1);
    call_begin(&mut host, SESSION, "inner").unwrap();
    host.files.insert("a".into(), 2);
    assert_eq!(call_end(&mut host, SESSION, "inner", None).unwrap().changes[0].kind, ChangeKind::Modified);
    host.files.insert("a".into(), 3);
    assert_eq!(call_end(&mut host, SESSION, "outer", None).unwrap().changes[0].kind, ChangeKind::Created);
    let receipt = restore(&mut host, SESSION, "b", None, InFlight::Refuse).unwrap();
    assert_eq!(receipt.restored[0].action, Action::Delete);
    assert!(host.files.is_empty());
}

/// One step of a random history.
#[derive(Clone, Debug)]
enum Op {
    Capture,
    Call(Vec<(usize, Option<u8>)>),
    Outside(usize, Option<u8>),
    Restore(usize),
    RestoreOne(usize, usize),
}

const PATHS: [&str; 4] = ["a", "b", "d/a", "d/b"];

fn any_op() -> impl Strategy<Value = Op> {
    let byte = proptest::option::weighted(0.7, 0u8..3);
    prop_oneof![
        2 => Just(Op::Capture),
        4 => proptest::collection::vec((0..PATHS.len(), byte.clone()), 0..4).prop_map(Op::Call),
        2 => (0..PATHS.len(), byte).prop_map(|(path, byte)| Op::Outside(path, byte)),
        2 => (0usize..8).prop_map(Op::Restore),
        1 => (0usize..8, 0..PATHS.len()).prop_map(|(boundary, path)| Op::RestoreOne(boundary, path)),
    ]
}

fn set(files: &mut Files, path: usize, byte: Option<u8>) {
    match byte {
        Some(byte) => files.insert(PATHS[path].into(), byte),
        None => files.remove(PATHS[path]),
    };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Whatever happens, a restore changes only paths that calls changed since the boundary, each to exactly what the
    /// boundary had, and only where the last who wrote it was a call; all else is as it was.
    #[test]
    fn a_restore_takes_back_exactly_what_is_the_sessions(ops in proptest::collection::vec(any_op(), 1..40)) {
        let mut host = Memory::default();
        let mut boundaries: Vec<(String, Files)> = Vec::new();
        // Per path: what a call last left there, since each boundary that is left.
        let mut owned: Vec<BTreeMap<String, FileState>> = Vec::new();
        let (mut ids, mut calls) = (0, 0);
        for op in ops {
            match op {
                Op::Capture => {
                    let id = format!("b{ids}");
                    ids += 1;
                    capture(&mut host, SESSION, &id, InFlight::Refuse).unwrap();
                    boundaries.push((id, host.files.clone()));
                    owned.push(BTreeMap::new());
                }
                Op::Call(edits) if !boundaries.is_empty() => {
                    calls += 1;
                    let changes = bracket(&mut host, &format!("c{calls}"), None, |files| {
                        for (path, byte) in edits {
                            set(files, path, byte);
                        }
                    });
                    for change in changes {
                        for owned in &mut owned {
                            owned.insert(change.path.clone(), change.after.clone());
                        }
                    }
                }
                Op::Call(_) => {}
                Op::Outside(path, byte) => set(&mut host.files, path, byte),
                Op::Restore(_) | Op::RestoreOne(..) if boundaries.is_empty() => {}
                Op::Restore(n) | Op::RestoreOne(n, _) => {
                    let n = n % boundaries.len();
                    let only = if let Op::RestoreOne(_, path) = op { Some(vec![PATHS[path].to_owned()]) } else { None };
                    let before = host.files.clone();
                    host.touched.clear();
                    let boundary = boundaries[n].clone();
                    let receipt = restore(&mut host, SESSION, &boundary.0, only.as_deref(), InFlight::Refuse).unwrap();
                    for path in PATHS {
                        let selected = only.as_ref().is_none_or(|only| only[0] == path);
                        let guard = owned[n].get(path).filter(|_| selected);
                        let was = state(&before, path);
                        let now = state(&host.files, path);
                        if host.touched.contains(path) {
                            prop_assert_eq!(guard, Some(&was));
                            prop_assert_eq!(&now, &state(&boundary.1, path));
                        } else {
                            prop_assert_eq!(&now, &was);
                        }
                        if guard.is_some() && now != state(&boundary.1, path) {
                            prop_assert!(receipt.refused.iter().any(|entry| entry.path == path));
                        }
                    }
                    let everything = only.is_none() && receipt.refused.is_empty() && receipt.failed.is_empty();
                    if everything {
                        boundaries.truncate(n + 1);
                        owned.truncate(n + 1);
                        let gone: Vec<String> = owned[n].keys().cloned().collect();
                        owned[n].clear();
                        // Older boundaries keep what calls before this one left.
                        for m in 0..n {
                            for path in &gone {
                                let earlier = last_before(&host, &boundaries[m].0, path);
                                match earlier {
                                    Some(state) => owned[m].insert(path.clone(), state),
                                    None => owned[m].remove(path),
                                };
                            }
                        }
                    } else {
                        for entry in &receipt.restored {
                            for (m, owned) in owned.iter_mut().enumerate() {
                                if m >= n {
                                    owned.remove(&entry.path);
                                } else {
                                    match last_before(&host, &boundaries[m].0, &entry.path) {
                                        Some(state) => owned.insert(entry.path.clone(), state),
                                        None => owned.remove(&entry.path),
                                    };
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What the component itself says it last left at a path since a boundary.
fn last_before(host: &Memory, boundary: &str, path: &str) -> Option<FileState> {
    let mut copy = Memory {
        files: host.files.clone(),
        events: host.events.clone(),
        scans: host.scans.clone(),
        boundaries: host.boundaries.clone(),
        touched: BTreeSet::new(),
    };
    let entries = plan(&mut copy, SESSION, boundary, InFlight::Refuse).unwrap().entries;
    entries.into_iter().find(|entry| entry.path == path).and_then(|entry| entry.expected)
}
