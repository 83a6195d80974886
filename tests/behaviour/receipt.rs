//! What a restore answers, and what it leaves of the attribution.

use std::collections::BTreeSet;

use turnback::{
    InFlight, SideEffect,
    receipt::{Action, RestoreReceipt},
};
use turnback_tests::{SESSION, Scratch, actions, change, entry, hash, unavailable};

fn irreversible(scratch: &Scratch, boundary: &str) -> Vec<(String, SideEffect)> {
    let found = scratch.plan(boundary).irreversible;
    found.into_iter().map(|call| (call.call_id, call.side_effect)).collect()
}

/// A workspace in which a restore has something of everything to do.
fn of_everything() -> (Scratch, RestoreReceipt) {
    let scratch = Scratch::with(&[("back", "1\n"), ("fails/f", "1\n"), ("match", "1\n"), ("other", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || {
        for path in ["back", "match", "new", "other"] {
            scratch.write(path, "2\n");
        }
        std::fs::remove_dir_all(scratch.path("fails")).unwrap();
    });
    scratch.write("match", "1\n");
    scratch.write("other", "person\n");
    scratch.write("fails", "a file where its folder was\n");
    let receipt = scratch.restore("m1");
    (scratch, receipt)
}

#[test]
fn each_path_is_in_exactly_one_list() {
    let (_scratch, receipt) = of_everything();
    assert_eq!(actions(&receipt.restored), [("back", Action::Restore), ("new", Action::Delete)]);
    assert_eq!(actions(&receipt.refused), [("other", Action::Refuse)]);
    assert_eq!(actions(&receipt.skipped), [("match", Action::Skip)]);
    assert_eq!(actions(&receipt.failed), [("fails/f", Action::Fail)]);
    let lists = [&receipt.restored, &receipt.refused, &receipt.skipped, &receipt.failed];
    let paths: Vec<&str> = lists.iter().flat_map(|list| list.iter().map(|entry| entry.path.as_str())).collect();
    assert_eq!(paths.iter().collect::<BTreeSet<_>>().len(), paths.len());
}

#[test]
fn a_write_that_fails_is_named_with_its_reason_and_the_rest_still_runs() {
    let (scratch, receipt) = of_everything();
    let failed = entry(&receipt.failed, "fails/f");
    assert!(failed.reason.as_ref().is_some_and(|why| !why.is_empty()));
    assert_eq!(scratch.read("fails"), "a file where its folder was\n");
    assert_eq!(scratch.read("back"), "1\n");
    assert!(receipt.is_partial());
}

#[test]
fn hashes_are_of_the_bytes_that_the_session_left_and_that_were_found() {
    let scratch = Scratch::with(&[("a", "1\n"), ("b", "1\n")]);
    scratch.capture("m1");
    let ended = scratch.call("c1", || {
        scratch.write("a", [0xff, 0, b'\n']);
        scratch.write("b", "");
    });
    scratch.write("b", "person\n");
    let receipt = scratch.restore("m1");
    let (a, b) = (entry(&receipt.restored, "a"), entry(&receipt.refused, "b"));
    assert_eq!(a.expected_hash, change(&ended, "a").post_hash);
    assert_eq!(a.expected_hash, Some(hash([0xff, 0, b'\n'])));
    assert_eq!(a.found_hash, a.expected_hash);
    assert_eq!(b.expected_hash, Some(hash("")));
    assert_eq!(b.found_hash, Some(hash("person\n")));
}

#[test]
fn a_full_restore_that_left_nothing_undone_discards_later_boundaries_and_attributions() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    scratch.capture("m2");
    scratch.call_with("c2", Some(SideEffect::Network), || scratch.write("a", "3\n"));
    assert!(!scratch.restore("m1").is_partial());
    let (reason, detail) = unavailable(scratch.turnback().plan(SESSION, "m2", InFlight::Refuse));
    assert_eq!(reason, "unknown_boundary");
    assert!(detail.contains("m1"), "it says which there are: {detail}");
    let plan = scratch.plan("m1");
    assert!(plan.entries.is_empty() && plan.irreversible.is_empty());
}

#[test]
fn after_a_full_restore_the_session_goes_on_under_names_that_are_free_again() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    scratch.capture("m2");
    scratch.call("c2", || scratch.write("a", "3\n"));
    scratch.restore("m1");
    scratch.call("c1", || scratch.write("a", "4\n"));
    scratch.capture("m2");
    scratch.call("c2", || scratch.write("a", "5\n"));
    scratch.restore("m2");
    assert_eq!(scratch.read("a"), "4\n");
    scratch.restore("m1");
    assert_eq!(scratch.read("a"), "1\n");
}

#[test]
fn a_full_restore_in_which_all_was_skipped_discards_later_boundaries_too() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    scratch.capture("m2");
    scratch.write("a", "1\n");
    assert_eq!(actions(&scratch.restore("m1").skipped), [("a", Action::Skip)]);
    assert_eq!(unavailable(scratch.turnback().plan(SESSION, "m2", InFlight::Refuse)).0, "unknown_boundary");
    assert!(scratch.plan("m1").entries.is_empty());
}

#[test]
fn after_a_refusal_only_the_restored_paths_leave_the_attribution_and_a_retry_keeps_its_guard() {
    let scratch = Scratch::with(&[("a", "1\n"), ("b", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.write("a", "2\n");
        scratch.write("b", "2\n");
    });
    scratch.capture("m2");
    scratch.write("b", "person\n");
    let receipt = scratch.restore("m1");
    assert_eq!(actions(&receipt.restored), [("a", Action::Restore)]);
    assert_eq!(actions(&receipt.refused), [("b", Action::Refuse)]);
    assert_eq!(actions(&scratch.plan("m1").entries), [("b", Action::Refuse)]);
    assert!(scratch.plan("m2").entries.is_empty(), "the later boundary is still there");

    assert_eq!(actions(&scratch.restore("m1").refused), [("b", Action::Refuse)], "a retry is refused as well");
    scratch.write("b", "2\n");
    assert_eq!(actions(&scratch.restore("m1").restored), [("b", Action::Restore)], "until the guard holds");
    assert_eq!(scratch.read("b"), "1\n");
}

#[test]
fn after_a_failure_later_boundaries_stay_and_a_retry_succeeds_when_the_obstacle_is_gone() {
    let (scratch, _) = of_everything();
    scratch.remove("fails");
    scratch.write("other", "2\n");
    let receipt = scratch.restore("m1");
    assert_eq!(actions(&receipt.restored), [("fails/f", Action::Recreate), ("other", Action::Restore)]);
    assert_eq!(actions(&receipt.skipped), [("match", Action::Skip)]);
    assert!(!receipt.is_partial());
    assert!(scratch.plan("m1").entries.is_empty());
}

#[test]
fn a_restored_path_that_somebody_changes_afterwards_is_no_longer_the_sessions() {
    let scratch = Scratch::with(&[("a", "1\n"), ("b", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.write("a", "2\n");
        scratch.write("b", "2\n");
    });
    scratch.restore_paths("m1", &["a"]);
    scratch.write("a", "2\n");
    let receipt = scratch.restore("m1");
    assert_eq!(actions(&receipt.restored), [("b", Action::Restore)]);
    assert_eq!(scratch.read("a"), "2\n", "a person may write what the session once wrote");
}

#[test]
fn a_restore_of_selected_paths_keeps_later_boundaries() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    scratch.capture("m2");
    scratch.call("c2", || scratch.write("new", "2\n"));
    scratch.restore_paths("m1", &["a", "new"]);
    assert!(scratch.plan("m2").entries.is_empty());
    assert!(scratch.plan("m1").entries.is_empty());
}

#[test]
fn a_selected_path_goes_back_one_turn_and_then_another() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    scratch.capture("m2");
    scratch.call("c2", || scratch.write("a", "3\n"));
    scratch.restore_paths("m2", &["a"]);
    assert_eq!(scratch.read("a"), "2\n");
    assert_eq!(actions(&scratch.plan("m1").entries), [("a", Action::Restore)]);
    scratch.restore_paths("m1", &["a"]);
    assert_eq!(scratch.read("a"), "1\n");
}

#[test]
fn irreversible_lists_network_and_desktop_control_only() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    for class in SideEffect::ALL {
        scratch.call_with(class.name(), Some(class), || {});
    }
    scratch.call("undeclared", || {});
    let expected =
        [("network".to_owned(), SideEffect::Network), ("desktop_control".to_owned(), SideEffect::DesktopControl)];
    assert_eq!(irreversible(&scratch, "m1"), expected);
    let receipt = scratch.restore("m1");
    let found: Vec<_> = receipt.irreversible.into_iter().map(|call| (call.call_id, call.side_effect)).collect();
    assert_eq!(found, expected);
}

#[test]
fn irreversible_lists_calls_after_the_boundary_only() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call_with("early", Some(SideEffect::Network), || {});
    scratch.capture("m2");
    scratch.call_with("late", Some(SideEffect::DesktopControl), || {});
    let names = |boundary| irreversible(&scratch, boundary).into_iter().map(|(call, _)| call).collect::<Vec<_>>();
    assert_eq!(names("m2"), ["late"]);
    assert_eq!(names("m1"), ["early", "late"]);
}

#[test]
fn a_partial_restore_still_lists_what_it_cannot_undo() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call_with("sent", Some(SideEffect::Network), || scratch.write("a", "2\n"));
    assert_eq!(scratch.restore_paths("m1", &["a"]).irreversible[0].call_id, "sent");
    assert_eq!(irreversible(&scratch, "m1").len(), 1);
}
