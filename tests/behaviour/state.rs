//! Calls in flight, and state between processes: each command line is a process of its own.

use turnback::{
    InFlight, SideEffect,
    receipt::{Action, ChangeKind},
};
use turnback_tests::{SESSION, Scratch, actions, kinds, unavailable};

#[test]
fn state_survives_into_a_fresh_runtime_at_every_step() {
    let mut scratch = Scratch::with(&[("a", "1\n")]);
    scratch.write("untracked", "mine\n");
    scratch.capture("m1");
    scratch.reopen();
    scratch.turnback().call_begin(SESSION, "c1").unwrap();
    scratch.reopen();
    scratch.write("a", "2\n");
    scratch.remove("untracked");
    let ended = scratch.turnback().call_end(SESSION, "c1", Some(SideEffect::Network)).unwrap();
    assert_eq!(kinds(&ended), [("a", ChangeKind::Modified), ("untracked", ChangeKind::Deleted)]);
    scratch.reopen();
    let plan = scratch.plan("m1");
    assert_eq!(actions(&plan.entries), [("a", Action::Restore), ("untracked", Action::Recreate)]);
    assert_eq!(plan.irreversible[0].call_id, "c1");
    scratch.reopen();
    assert!(!scratch.restore("m1").is_partial());
    assert_eq!((scratch.read("a").as_str(), scratch.read("untracked").as_str()), ("1\n", "mine\n"));
    scratch.reopen();
    assert!(scratch.plan("m1").entries.is_empty(), "that the restore was done is remembered too");
}

#[test]
fn two_runtimes_on_one_workspace_see_each_others_events() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let other = turnback_tests::open(&scratch.root());
    scratch.capture("m1");
    other.call_begin(SESSION, "c1").unwrap();
    scratch.write("a", "2\n");
    scratch.turnback().call_end(SESSION, "c1", None).unwrap();
    let plan = other.plan(SESSION, "m1", InFlight::Refuse).unwrap();
    assert_eq!(actions(&plan.entries), [("a", Action::Restore)]);
}

#[test]
fn overlapping_calls_are_both_restored() {
    let scratch = Scratch::with(&[("a", "1\n"), ("b", "1\n")]);
    scratch.capture("m1");
    let turnback = scratch.turnback();
    turnback.call_begin(SESSION, "c1").unwrap();
    scratch.write("a", "by c1\n");
    turnback.call_begin(SESSION, "c2").unwrap();
    scratch.write("b", "by c2\n");
    scratch.write("new", "by c2\n");
    let first = turnback.call_end(SESSION, "c1", None).unwrap();
    scratch.write("new", "by c2 again\n");
    let second = turnback.call_end(SESSION, "c2", None).unwrap();
    assert!(kinds(&first).contains(&("a", ChangeKind::Modified)));
    assert!(!kinds(&second).contains(&("a", ChangeKind::Modified)), "it was changed before c2 began");
    assert!(kinds(&second).contains(&("b", ChangeKind::Modified)));
    let receipt = scratch.restore("m1");
    assert_eq!(actions(&receipt.restored), [("a", Action::Restore), ("b", Action::Restore), ("new", Action::Delete)]);
    assert_eq!((scratch.read("a").as_str(), scratch.read("b").as_str()), ("1\n", "1\n"));
}

#[test]
fn the_call_that_ended_last_says_what_the_session_last_left() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    let turnback = scratch.turnback();
    turnback.call_begin(SESSION, "outer").unwrap();
    scratch.call("inner", || scratch.write("a", "inner\n"));
    scratch.write("a", "outer, longer\n");
    turnback.call_end(SESSION, "outer", None).unwrap();
    assert_eq!(actions(&scratch.plan("m1").entries), [("a", Action::Restore)]);
    scratch.write("a", "inner\n");
    assert_eq!(actions(&scratch.plan("m1").entries), [("a", Action::Refuse)], "the session left something newer");
}

#[test]
fn capture_plan_and_restore_refuse_while_a_call_is_in_flight_and_name_it() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    let turnback = scratch.turnback();
    turnback.call_begin(SESSION, "still-open").unwrap();
    scratch.write("a", "2\n");
    let answers = [
        unavailable(turnback.capture(SESSION, "m2", InFlight::Refuse)),
        unavailable(turnback.plan(SESSION, "m1", InFlight::Refuse)),
        unavailable(turnback.restore(SESSION, "m1", None, InFlight::Refuse)),
    ];
    for (reason, detail) in answers {
        assert_eq!(reason, "calls_in_flight");
        assert!(detail.contains("still-open"), "{detail}");
    }
    assert_eq!(scratch.read("a"), "2\n");
    assert_eq!(turnback.call_end(SESSION, "still-open", None).unwrap().changes.len(), 1, "the call is still open");
}

#[test]
fn restore_with_close_ends_open_calls_with_what_they_changed_and_restores_it() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.turnback().call_begin(SESSION, "lost").unwrap();
    scratch.write("a", "2\n");
    let receipt = scratch.turnback().restore(SESSION, "m1", None, InFlight::Close).unwrap();
    assert_eq!(receipt.closed_calls, ["lost"]);
    assert_eq!(actions(&receipt.restored), [("a", Action::Restore)]);
    assert_eq!(scratch.read("a"), "1\n");
}

#[test]
fn plan_with_close_ends_open_calls_oldest_first() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.turnback().call_begin(SESSION, "z").unwrap();
    scratch.turnback().call_begin(SESSION, "a").unwrap();
    scratch.write("a", "2\n");
    let plan = scratch.turnback().plan(SESSION, "m1", InFlight::Close).unwrap();
    assert_eq!(plan.closed_calls, ["z", "a"]);
    assert_eq!(actions(&plan.entries), [("a", Action::Restore)]);
    assert_eq!(scratch.read("a"), "2\n");
    assert!(scratch.plan("m1").closed_calls.is_empty(), "they are closed for good");
}

#[test]
fn capture_with_close_attributes_to_the_turn_in_which_the_call_began() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.turnback().call_begin(SESSION, "lost").unwrap();
    scratch.write("a", "2\n");
    let receipt = scratch.turnback().capture(SESSION, "m2", InFlight::Close).unwrap();
    assert_eq!(receipt.closed_calls, ["lost"]);
    assert!(scratch.plan("m2").entries.is_empty());
    assert_eq!(actions(&scratch.plan("m1").entries), [("a", Action::Restore)]);
}

#[test]
fn an_end_that_comes_after_the_call_was_closed_is_told_so() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.turnback().call_begin(SESSION, "late").unwrap();
    scratch.turnback().plan(SESSION, "m1", InFlight::Close).unwrap();
    let (reason, detail) = unavailable(scratch.turnback().call_end(SESSION, "late", None));
    assert_eq!(reason, "unknown_call");
    assert!(detail.contains("late") && detail.contains("ended"), "{detail}");
}

#[test]
fn a_call_id_or_a_boundary_id_names_one_thing_only() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    let turnback = scratch.turnback();
    assert_eq!(unavailable(turnback.call_begin(SESSION, "c1")).0, "call_exists");
    assert_eq!(unavailable(turnback.capture(SESSION, "m1", InFlight::Refuse)).0, "boundary_exists");
    scratch.restore("m1");
    assert_eq!(scratch.read("a"), "1\n", "the first boundary of that name is the one that holds");
}

#[test]
fn a_drop_while_a_call_is_in_flight_drops_the_call_too() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.turnback().call_begin(SESSION, "c1").unwrap();
    assert!(scratch.turnback().drop_session(SESSION).unwrap().dropped);
    assert_eq!(unavailable(scratch.turnback().call_end(SESSION, "c1", None)).0, "no_checkpoint");
}

#[test]
fn sessions_do_not_see_each_others_boundaries_and_calls() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    let turnback = scratch.turnback();
    turnback.call_begin(SESSION, "c1").unwrap();
    assert_eq!(unavailable(turnback.plan("other", "m1", InFlight::Refuse)).0, "no_checkpoint");
    turnback
        .capture("other", "m1", InFlight::Refuse)
        .expect("an open call of another session does not stand in the way");
    turnback.call_begin("other", "c1").expect("nor does its name");
}

#[test]
fn the_scan_of_a_call_is_released_at_its_end() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    let left: Vec<_> =
        std::fs::read_dir(scratch.state().join("scans")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["last"], "only the last look is kept: the next call is compared with it");
}
