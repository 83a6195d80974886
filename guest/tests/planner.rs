//! The restore table, over every small state and over random ones.

use proptest::prelude::*;
use turnback_guest::{
    plan::{Candidate, decide},
    state::{Action, Digest, FileState, Target},
};

fn file(content: u8, executable: bool) -> FileState {
    FileState::Regular { content: Digest([content; 32]), size: u64::from(content), executable }
}

fn states() -> Vec<FileState> {
    vec![
        FileState::Absent,
        file(1, false),
        file(1, true),
        file(2, false),
        FileState::Symlink(Digest([1; 32])),
        FileState::Symlink(Digest([2; 32])),
        FileState::Directory,
        FileState::Other,
    ]
}

fn targets() -> Vec<Target> {
    let present = states().into_iter().filter(|state| *state != FileState::Absent).map(Target::Present);
    [Target::Absent, Target::Unrestorable("too large".into())].into_iter().chain(present).collect()
}

fn every_candidate() -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for target in targets() {
        for expected in states() {
            for found in states().into_iter().map(Ok).chain([Err("no".to_owned())]) {
                for incomplete in [None, Some("a folder could not be read".to_owned())] {
                    candidates.push(Candidate {
                        path: "p".into(),
                        target: target.clone(),
                        expected: expected.clone(),
                        found: found.clone(),
                        incomplete,
                    });
                }
            }
        }
    }
    candidates
}

/// The specification's table as it is written, apart from the code that implements it.
fn by_the_table(candidate: &Candidate) -> Action {
    let Ok(found) = &candidate.found else { return Action::Fail };
    let boundary = match &candidate.target {
        Target::Absent => Some(FileState::Absent),
        Target::Present(state) => Some(state.clone()),
        Target::Unrestorable(_) => None,
    };
    // Of these nothing is known but that they are there: they are neither made nor removed.
    let special = [Some(found), boundary.as_ref()].contains(&Some(&FileState::Other));
    if boundary.as_ref() == Some(found) {
        return Action::Skip;
    }
    let guard_holds = *found == candidate.expected && candidate.incomplete.is_none();
    match boundary {
        _ if special => Action::Refuse,
        Some(FileState::Absent) if guard_holds => Action::Delete,
        Some(_) if guard_holds && *found == FileState::Absent => Action::Recreate,
        Some(_) if guard_holds => Action::Restore,
        _ => Action::Refuse,
    }
}

#[test]
fn every_small_state_gets_the_action_of_the_table() {
    let candidates = every_candidate();
    assert_eq!(candidates.len(), 9 * 8 * 9 * 2);
    for candidate in candidates {
        let expected = by_the_table(&candidate);
        assert_eq!(decide(candidate.clone()).action, expected, "{candidate:?}");
    }
}

#[test]
fn what_equals_the_boundary_is_always_skipped() {
    for state in states() {
        let target = if state == FileState::Absent { Target::Absent } else { Target::Present(state.clone()) };
        for expected in states() {
            for incomplete in [None, Some("why".to_owned())] {
                let found = Ok(state.clone());
                let candidate = Candidate {
                    path: "p".into(),
                    target: target.clone(),
                    expected: expected.clone(),
                    found,
                    incomplete,
                };
                assert_eq!(decide(candidate).action, Action::Skip);
            }
        }
    }
}

#[test]
fn what_the_boundary_does_not_hold_is_never_deleted_nor_written() {
    for candidate in every_candidate() {
        if matches!(candidate.target, Target::Unrestorable(_)) {
            assert!(!decide(candidate).action.changes());
        }
    }
}

#[test]
fn a_refusal_says_why() {
    let refused = |expected: FileState, found: FileState| {
        let target = Target::Present(file(9, false));
        decide(Candidate { path: "p".into(), target, expected, found: Ok(found), incomplete: None }).reason.unwrap()
    };
    assert_eq!(refused(file(1, false), file(2, false)), "changed outside the session: its content differs");
    assert_eq!(refused(file(1, false), file(1, true)), "changed outside the session: it was made executable");
    assert_eq!(
        refused(file(1, false), FileState::Absent),
        "changed outside the session: the session left a file, now nothing is there"
    );
    assert_eq!(
        refused(FileState::Absent, FileState::Directory),
        "changed outside the session: the session left nothing there, now a folder is there"
    );
}

fn any_state() -> impl Strategy<Value = FileState> {
    prop_oneof![
        Just(FileState::Absent),
        Just(FileState::Directory),
        Just(FileState::Other),
        (0u8..4).prop_map(|n| FileState::Symlink(Digest([n; 32]))),
        (0u8..4, any::<bool>()).prop_map(|(n, executable)| file(n, executable)),
    ]
}

fn any_candidate() -> impl Strategy<Value = Candidate> {
    let target = prop_oneof![
        1 => Just(Target::Absent),
        1 => "[a-z ]{0,12}".prop_map(Target::Unrestorable),
        4 => any_state().prop_map(|state| match state {
            FileState::Absent => Target::Absent,
            state => Target::Present(state),
        }),
    ];
    let found = prop_oneof![8 => any_state().prop_map(Ok), 1 => "[a-z ]{0,12}".prop_map(Err)];
    ("[a-z/]{1,8}", target, any_state(), found, proptest::option::of("[a-z ]{1,12}"))
        .prop_map(|(path, target, expected, found, incomplete)| Candidate { path, target, expected, found, incomplete })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_change_is_planned_only_where_the_guard_holds_and_the_boundary_differs(candidate in any_candidate()) {
        let entry = decide(candidate.clone());
        prop_assert_eq!(&entry.path, &candidate.path);
        prop_assert_eq!(entry.action, by_the_table(&candidate));
        if entry.action.changes() {
            prop_assert_eq!(candidate.found.as_ref().ok(), Some(&candidate.expected));
            prop_assert_eq!(candidate.incomplete, None);
            prop_assert!(!matches!(candidate.target, Target::Unrestorable(_)));
        }
    }

    #[test]
    fn a_mismatch_with_what_the_session_left_is_always_refused_or_already_right(candidate in any_candidate()) {
        if let Ok(found) = &candidate.found && *found != candidate.expected {
            let entry = decide(candidate.clone());
            prop_assert!(matches!(entry.action, Action::Refuse | Action::Skip));
            prop_assert!(entry.reason.is_some());
        }
    }
}
