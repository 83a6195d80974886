//! The plan table, row by row, with disk states that are made for real.

use std::fs;

use turnback::receipt::{Action, Kind};
use turnback_tests::{Scratch, actions, entry, hash, reason};

const MIB: u64 = 1024 * 1024;

fn only(scratch: &Scratch, boundary: &str) -> Action {
    let entries = scratch.plan(boundary).entries;
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries[0].action
}

#[test]
fn what_equals_the_boundary_content_is_skipped_as_matching_already() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    scratch.write("a", "1\n");
    let plan = scratch.plan("m1");
    assert_eq!(actions(&plan.entries), [("a", Action::Skip)]);
    assert!(reason(&plan.entries, "a").contains("already matches"));
    let receipt = scratch.restore("m1");
    assert_eq!(actions(&receipt.skipped), [("a", Action::Skip)]);
    assert!(receipt.restored.is_empty());
}

#[test]
fn what_is_absent_as_at_the_boundary_is_skipped() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("new", "2\n"));
    scratch.remove("new");
    assert_eq!(only(&scratch, "m1"), Action::Skip);
}

#[test]
fn what_differs_from_the_last_attributed_hash_is_refused() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "session\n"));
    scratch.write("a", "person\n");
    let plan = scratch.plan("m1");
    assert_eq!(actions(&plan.entries), [("a", Action::Refuse)]);
    let entry = entry(&plan.entries, "a");
    assert!(reason(&plan.entries, "a").contains("changed outside the session"));
    assert_eq!(entry.expected_hash, Some(hash("session\n")));
    assert_eq!(entry.found_hash, Some(hash("person\n")));
    assert_eq!((entry.expected_kind, entry.found_kind), (Some(Kind::File), Some(Kind::File)));
}

#[test]
fn a_created_file_that_somebody_changed_since_is_refused_and_not_deleted() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("new", "session\n"));
    scratch.write("new", "person\n");
    assert_eq!(only(&scratch, "m1"), Action::Refuse);
    scratch.restore("m1");
    assert_eq!(scratch.read("new"), "person\n");
}

#[test]
fn a_file_that_somebody_deleted_since_is_refused_and_not_recreated() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "session\n"));
    scratch.remove("a");
    let plan = scratch.plan("m1");
    assert_eq!(actions(&plan.entries), [("a", Action::Refuse)]);
    assert_eq!(entry(&plan.entries, "a").found_kind, Some(Kind::Absent));
    assert_eq!(entry(&plan.entries, "a").found_hash, None);
    scratch.restore("m1");
    assert!(!scratch.exists("a"));
}

#[test]
fn a_file_that_somebody_recreated_after_the_session_deleted_it_is_refused() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.remove("a"));
    scratch.write("a", "person\n");
    let plan = scratch.plan("m1");
    assert_eq!(actions(&plan.entries), [("a", Action::Refuse)]);
    assert_eq!(entry(&plan.entries, "a").expected_hash, None);
    scratch.restore("m1");
    assert_eq!(scratch.read("a"), "person\n");
}

#[test]
fn an_executable_bit_that_somebody_set_since_is_refused() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    scratch.chmod("a", 0o755);
    assert_eq!(only(&scratch, "m1"), Action::Refuse);
    scratch.restore("m1");
    assert_eq!((scratch.read("a").as_str(), scratch.mode("a")), ("2\n", 0o755));
}

#[test]
fn what_the_session_last_left_is_restored_where_the_boundary_has_content() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    assert_eq!(only(&scratch, "m1"), Action::Restore);
    scratch.restore("m1");
    assert_eq!(scratch.read("a"), "1\n");
}

#[test]
fn what_the_session_deleted_is_recreated() {
    let scratch = Scratch::with(&[("d/a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || fs::remove_dir_all(scratch.path("d")).unwrap());
    assert_eq!(only(&scratch, "m1"), Action::Recreate);
    scratch.restore("m1");
    assert_eq!(scratch.read("d/a"), "1\n");
}

#[test]
fn what_was_absent_at_the_boundary_is_deleted() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("new", "2\n"));
    assert_eq!(only(&scratch, "m1"), Action::Delete);
    scratch.restore("m1");
    assert!(!scratch.exists("new"));
}

#[test]
fn what_a_later_call_left_is_what_the_guard_compares_with() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    scratch.call("c2", || scratch.write("a", "3\n"));
    assert_eq!(only(&scratch, "m1"), Action::Restore);
    scratch.write("a", "2\n");
    assert_eq!(only(&scratch, "m1"), Action::Refuse);
}

#[test]
fn only_paths_attributed_at_or_after_the_boundary_are_considered() {
    let scratch = Scratch::with(&[("a", "1\n"), ("b", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    scratch.capture("m2");
    scratch.call("c2", || scratch.write("b", "2\n"));
    scratch.capture("m3");
    assert_eq!(actions(&scratch.plan("m3").entries), []);
    assert_eq!(actions(&scratch.plan("m2").entries), [("b", Action::Restore)]);
    assert_eq!(actions(&scratch.plan("m1").entries), [("a", Action::Restore), ("b", Action::Restore)]);
}

#[test]
fn each_boundary_gives_its_own_content_back() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    for turn in 2..=4 {
        scratch.capture(&format!("m{}", turn - 1));
        scratch.call(&format!("c{turn}"), || scratch.write("a", format!("{turn}\n")));
    }
    scratch.restore("m3");
    assert_eq!(scratch.read("a"), "3\n");
    scratch.restore("m2");
    assert_eq!(scratch.read("a"), "2\n");
    scratch.restore("m1");
    assert_eq!(scratch.read("a"), "1\n");
}

#[test]
fn a_file_that_was_created_in_one_turn_and_changed_in_the_next_is_restored_to_its_first_state() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("new", "first\n"));
    scratch.capture("m2");
    scratch.call("c2", || scratch.write("new", "second\n"));
    assert_eq!(only(&scratch, "m2"), Action::Restore);
    assert_eq!(only(&scratch, "m1"), Action::Delete);
    scratch.restore("m2");
    assert_eq!(scratch.read("new"), "first\n");
    scratch.restore("m1");
    assert!(!scratch.exists("new"));
}

#[test]
fn a_file_that_is_unrestorable_is_refused_and_never_deleted() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    fs::File::create(scratch.path("large")).unwrap().set_len(64 * MIB + 1).unwrap();
    assert_eq!(scratch.capture("m1").unrestorable_files, 1);
    scratch.call("c1", || scratch.write("large", "small now\n"));
    let plan = scratch.plan("m1");
    assert_eq!(actions(&plan.entries), [("large", Action::Refuse)]);
    assert!(reason(&plan.entries, "large").contains("64 MiB"), "{plan:?}");
    let receipt = scratch.restore("m1");
    assert_eq!(actions(&receipt.refused), [("large", Action::Refuse)]);
    assert_eq!(scratch.read("large"), "small now\n");
}

#[test]
fn an_unrestorable_file_that_the_session_deleted_is_named_and_not_taken_for_absent() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    fs::File::create(scratch.path("large")).unwrap().set_len(64 * MIB + 1).unwrap();
    scratch.capture("m1");
    scratch.call("c1", || scratch.remove("large"));
    assert_eq!(only(&scratch, "m1"), Action::Refuse);
    scratch.call("c2", || scratch.write("large", "anew\n"));
    assert_eq!(only(&scratch, "m1"), Action::Refuse);
    scratch.restore("m1");
    assert_eq!(scratch.read("large"), "anew\n", "not deleted, although no content is held");
}

#[test]
fn what_a_plan_says_is_what_a_restore_does() {
    let scratch = Scratch::with(&[("back", "1\n"), ("gone", "1\n"), ("match", "1\n"), ("other", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || {
        for path in ["back", "match", "new", "other"] {
            scratch.write(path, "2\n");
        }
        scratch.remove("gone");
    });
    scratch.write("match", "1\n");
    scratch.write("other", "person\n");
    let planned = scratch.plan("m1").entries;
    let receipt = scratch.restore("m1");
    let mut done = [receipt.restored, receipt.refused, receipt.skipped, receipt.failed].concat();
    done.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(done, planned);
}
