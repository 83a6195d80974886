//! Each method's request and result, field for field.

use serde_json::{Value, json, to_value};
use turnback::{
    InFlight, MethodError, SideEffect,
    receipt::{Action, ChangeKind, Kind},
};
use turnback_tests::{SESSION, Scratch, actions, change, hash, kinds, reason, unavailable};

fn invalid<R: std::fmt::Debug>(answer: Result<R, MethodError>) -> String {
    match answer {
        Err(MethodError::Invalid { parameter, .. }) => parameter,
        other => panic!("the request is malformed, and was answered {other:?}"),
    }
}

#[test]
fn capture_tells_what_it_scanned_and_stored() {
    let scratch = Scratch::with(&[("clean", "1\n"), ("dirty", "1\n")]);
    scratch.write("dirty", "22\n");
    scratch.write("new", "333\n");
    let receipt = scratch.capture("m1");
    assert_eq!(receipt.boundary_id, "m1");
    assert_eq!(receipt.scanned_files, 3);
    assert_eq!(receipt.stored_files, 2);
    assert_eq!(receipt.stored_bytes, 3 + 4);
    assert_eq!(receipt.unrestorable_files, 0);
    assert_eq!(receipt.scan_errors, 0);
    assert!(receipt.closed_calls.is_empty());
}

#[test]
fn call_begin_tells_what_it_scanned() {
    let scratch = Scratch::with(&[("a", "1\n"), ("d/b", "1\n")]);
    scratch.link("a", "l");
    scratch.capture("m1");
    let receipt = scratch.turnback().call_begin(SESSION, "c1").unwrap();
    assert_eq!(receipt.call_id, "c1");
    assert_eq!(receipt.scanned_files, 3, "two files and a link");
    assert_eq!(receipt.scan_errors, 0);
}

#[test]
fn call_end_attributes_each_changed_path_with_its_hash_after_the_call() {
    let scratch = Scratch::with(&[("gone", "1\n"), ("kept", "1\n"), ("modified", "1\n")]);
    scratch.capture("m1");
    let receipt = scratch.call("c1", || {
        scratch.write("created", "new\n");
        scratch.write("modified", "2\n");
        scratch.remove("gone");
    });
    assert_eq!(receipt.call_id, "c1");
    assert_eq!(receipt.scan_errors, 0);
    assert_eq!(
        kinds(&receipt),
        [("created", ChangeKind::Created), ("gone", ChangeKind::Deleted), ("modified", ChangeKind::Modified)]
    );
    assert_eq!(change(&receipt, "created").post_hash, Some(hash("new\n")));
    assert_eq!(change(&receipt, "modified").post_hash, Some(hash("2\n")));
    assert_eq!(change(&receipt, "gone").post_hash, None);
    assert_eq!(change(&receipt, "gone").post_kind, Kind::Absent);
    assert!(receipt.changes.iter().all(|change| !change.incomplete && change.reason.is_none()));
}

#[test]
fn a_call_that_changes_nothing_attributes_nothing() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    assert!(scratch.call("c1", || {}).changes.is_empty());
    assert!(scratch.plan("m1").entries.is_empty());
}

#[test]
fn plan_names_session_boundary_and_each_attributed_path_and_touches_nothing() {
    let scratch = Scratch::with(&[("a", "1\n"), ("b", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    let (before, state) = (scratch.tree(), turnback_tests::tree(&scratch.state()));
    let plan = scratch.plan("m1");
    assert_eq!((plan.session_id.as_str(), plan.boundary_id.as_str()), (SESSION, "m1"));
    assert_eq!(actions(&plan.entries), [("a", Action::Restore)]);
    assert!(plan.irreversible.is_empty() && plan.closed_calls.is_empty());
    assert_eq!(scratch.tree(), before);
    assert_eq!(turnback_tests::tree(&scratch.state()), state, "a plan records nothing");
}

#[test]
fn restore_without_paths_restores_every_attributed_path() {
    let scratch = Scratch::with(&[("a", "1\n"), ("b", "1\n")]);
    scratch.capture("m1");
    let before = scratch.tree();
    scratch.call("c1", || {
        scratch.write("a", "2\n");
        scratch.write("new", "2\n");
        scratch.remove("b");
    });
    let receipt = scratch.restore("m1");
    assert_eq!(receipt.boundary_id, "m1");
    assert_eq!(actions(&receipt.restored), [("a", Action::Restore), ("b", Action::Recreate), ("new", Action::Delete)]);
    assert_eq!(scratch.tree(), before);
}

#[test]
fn restore_with_paths_restores_those_and_leaves_the_others() {
    let scratch = Scratch::with(&[("a", "1\n"), ("b", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.write("a", "2\n");
        scratch.write("b", "2\n");
    });
    let receipt = scratch.restore_paths("m1", &["a"]);
    assert_eq!(actions(&receipt.restored), [("a", Action::Restore)]);
    assert!(receipt.skipped.is_empty() && receipt.refused.is_empty() && receipt.failed.is_empty());
    assert_eq!((scratch.read("a").as_str(), scratch.read("b").as_str()), ("1\n", "2\n"));
}

#[test]
fn a_selected_folder_selects_all_that_is_below_it_and_no_name_that_merely_begins_alike() {
    let scratch = Scratch::with(&[("d/a", "1\n"), ("d/e/b", "1\n"), ("d.txt", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || {
        for path in ["d/a", "d/e/b", "d.txt"] {
            scratch.write(path, "2\n");
        }
    });
    let receipt = scratch.restore_paths("m1", &["d"]);
    assert_eq!(actions(&receipt.restored), [("d/a", Action::Restore), ("d/e/b", Action::Restore)]);
    assert_eq!(scratch.read("d.txt"), "2\n");
}

#[test]
fn a_selected_path_that_the_session_did_not_change_is_skipped_and_named() {
    let scratch = Scratch::with(&[("a", "1\n"), ("b", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    scratch.write("b", "somebody's\n");
    let receipt = scratch.restore_paths("m1", &["b"]);
    assert_eq!(actions(&receipt.skipped), [("b", Action::Skip)]);
    assert!(!reason(&receipt.skipped, "b").is_empty());
    assert_eq!((scratch.read("a").as_str(), scratch.read("b").as_str()), ("2\n", "somebody's\n"));
}

#[test]
fn paths_must_not_be_empty_and_must_lie_below_the_root() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    let restore = |paths: &[&str]| {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        invalid(scratch.turnback().restore(SESSION, "m1", Some(&paths), InFlight::Refuse))
    };
    assert_eq!(restore(&[]), "paths");
    for path in ["", "/etc/passwd", "../w/a", "./a", "d/../a", "a/", "d//a"] {
        assert_eq!(restore(&["a", path]), "paths", "{path:?}");
    }
    assert_eq!(scratch.read("a"), "2\n", "a malformed request changes nothing");
}

#[test]
fn ids_that_are_not_safe_as_one_name_are_refused_and_leave_no_state() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let long = "x".repeat(201);
    for id in ["", ".", "..", ".hidden", "a/b", "a\\b", "../up", "line\nbreak", &long] {
        assert_eq!(invalid(scratch.turnback().capture(id, "m1", InFlight::Refuse)), "session_id", "{id:?}");
        assert_eq!(invalid(scratch.turnback().capture(SESSION, id, InFlight::Refuse)), "boundary_id", "{id:?}");
        assert_eq!(invalid(scratch.turnback().call_begin(SESSION, id)), "call_id", "{id:?}");
        assert_eq!(invalid(scratch.turnback().drop_session(id)), "session_id", "{id:?}");
    }
    assert!(!scratch.exists(".harn"));
    let longest = "é".repeat(100);
    scratch.turnback().capture(&longest, &longest, InFlight::Refuse).expect("200 bytes are an id");
}

#[test]
fn every_receipt_has_the_fields_of_the_specification() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let turnback = scratch.turnback();
    let has = |value: &Value, fields: &[&str]| {
        for field in fields {
            assert!(value.get(field).is_some(), "no {field} in {value}");
        }
        assert_eq!(value["available"], json!(true));
    };
    let capture = to_value(scratch.capture("m1")).unwrap();
    let counts = ["scanned_files", "stored_files", "stored_bytes", "unrestorable_files", "scan_errors", "scan_ms"];
    has(&capture, &counts);
    assert_eq!(capture["boundary_id"], "m1");
    let begin = to_value(turnback.call_begin(SESSION, "c1").unwrap()).unwrap();
    has(&begin, &["call_id", "scanned_files", "scan_errors", "scan_ms"]);
    scratch.write("a", "2\n");
    let end = to_value(turnback.call_end(SESSION, "c1", Some(SideEffect::Network)).unwrap()).unwrap();
    has(&end, &["call_id", "scan_errors"]);
    assert_eq!(end["changes"][0]["path"], "a");
    assert_eq!(end["changes"][0]["kind"], "modified");
    assert_eq!(end["changes"][0]["post_hash"], hash("2\n"));
    let plan = to_value(scratch.plan("m1")).unwrap();
    has(&plan, &["session_id", "boundary_id"]);
    assert_eq!(plan["entries"][0]["action"], "restore");
    assert_eq!(plan["entries"][0]["expected_hash"], hash("2\n"));
    assert_eq!(plan["entries"][0]["found_hash"], hash("2\n"));
    assert_eq!(plan["irreversible"], json!([{"call_id": "c1", "side_effect": "network"}]));
    let restore = to_value(scratch.restore("m1")).unwrap();
    has(&restore, &["boundary_id", "restored", "refused", "skipped", "failed", "irreversible"]);
    let drop = to_value(turnback.drop_session(SESSION).unwrap()).unwrap();
    has(&drop, &["dropped"]);
    let gone = turnback.plan(SESSION, "m1", InFlight::Refuse).unwrap_err();
    let MethodError::Unavailable(gone) = gone else { panic!("{gone:?}") };
    let gone = to_value(gone).unwrap();
    assert_eq!((&gone["available"], &gone["reason"]), (&json!(false), &json!("no_checkpoint")));
    assert!(gone["detail"].is_string());
}

#[test]
fn drop_removes_the_state_and_leaves_the_workspace() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.write("new", "untracked\n");
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    let before = scratch.tree();
    let receipt = scratch.turnback().drop_session(SESSION).unwrap();
    assert!(receipt.dropped && receipt.error.is_none());
    assert!(!scratch.state().exists());
    assert_eq!(scratch.tree(), before);
    assert_eq!(unavailable(scratch.turnback().plan(SESSION, "m1", InFlight::Refuse)).0, "no_checkpoint");
}

#[test]
fn drop_of_a_session_without_state_says_that_nothing_was_dropped() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    assert!(!scratch.turnback().drop_session(SESSION).unwrap().dropped);
    assert!(!scratch.exists(".harn"));
}

#[test]
fn a_dropped_session_can_begin_anew_under_the_same_names() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    scratch.turnback().drop_session(SESSION).unwrap();
    scratch.capture("m1");
    assert!(scratch.plan("m1").entries.is_empty(), "what was dropped is not remembered");
    scratch.call("c1", || scratch.write("a", "3\n"));
    scratch.restore("m1");
    assert_eq!(scratch.read("a"), "2\n");
}

#[test]
fn drop_of_one_session_leaves_the_others() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    scratch.turnback().capture("other", "m1", InFlight::Refuse).unwrap();
    scratch.turnback().drop_session("other").unwrap();
    scratch.restore("m1");
    assert_eq!(scratch.read("a"), "1\n");
}
