//! What others do: refused where it is in the way, never touched where it is not.

use std::{fs, fs::FileTimes, time::SystemTime};

use turnback::{
    InFlight,
    receipt::{Action, ChangeKind},
};
use turnback_tests::{SESSION, Scratch, actions, kinds, tree};

fn touch(scratch: &Scratch, path: &str) {
    let file = fs::File::options().write(true).open(scratch.path(path)).unwrap();
    file.set_times(FileTimes::new().set_modified(SystemTime::now())).unwrap();
}

/// Writes the same bytes to a new file under the old name, as `sed -i` and formatters do.
fn rewrite(scratch: &Scratch, path: &str) {
    let content = fs::read(scratch.path(path)).unwrap();
    scratch.write("rewritten.tmp", content);
    fs::rename(scratch.path("rewritten.tmp"), scratch.path(path)).unwrap();
}

#[test]
fn what_others_changed_outside_any_call_is_refused_and_stays_byte_identical() {
    let scratch = Scratch::with(&[("a", "1\n"), ("gone", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.write("a", "session\n");
        scratch.write("new", "session\n");
        scratch.remove("gone");
    });
    for path in ["a", "new", "gone"] {
        scratch.write(path, "person\n");
    }
    let before = scratch.tree();
    let receipt = scratch.restore("m1");
    let refused = [("a", Action::Refuse), ("gone", Action::Refuse), ("new", Action::Refuse)];
    assert_eq!(actions(&receipt.refused), refused);
    assert_eq!(scratch.tree(), before);
}

#[test]
fn a_path_that_no_call_changed_is_never_touched() {
    let scratch = Scratch::with(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    scratch.capture("m1");
    scratch.write("b", "person, before the call\n");
    scratch.remove("c");
    scratch.call("c1", || scratch.write("a", "2\n"));
    scratch.write("new", "person, after the call\n");
    let receipt = scratch.restore("m1");
    assert_eq!(actions(&receipt.restored), [("a", Action::Restore)]);
    assert!(receipt.refused.is_empty() && receipt.skipped.is_empty());
    assert_eq!(scratch.read("b"), "person, before the call\n");
    assert_eq!(scratch.read("new"), "person, after the call\n");
    assert!(!scratch.exists("c"));
}

#[test]
fn a_file_that_somebody_created_before_the_call_that_changed_it_is_not_deleted() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.write("theirs", "person\n");
    let ended = scratch.call("c1", || scratch.write("theirs", "person and session\n"));
    assert_eq!(kinds(&ended), [("theirs", ChangeKind::Modified)]);
    assert_eq!(actions(&scratch.plan("m1").entries), [("theirs", Action::Refuse)]);
    assert_eq!(actions(&scratch.restore("m1").refused), [("theirs", Action::Refuse)]);
    assert_eq!(scratch.read("theirs"), "person and session\n");
}

#[test]
fn a_touch_is_no_change() {
    let scratch = Scratch::with(&[("clean", "1\n")]);
    scratch.write("untracked", "1\n");
    scratch.link("clean", "link");
    scratch.capture("m1");
    let ended = scratch.call("c1", || {
        touch(&scratch, "clean");
        touch(&scratch, "untracked");
        scratch.remove("link");
        scratch.link("clean", "link");
    });
    assert!(ended.changes.is_empty(), "{ended:?}");
    assert!(scratch.plan("m1").entries.is_empty());
}

#[test]
fn a_file_that_is_written_anew_with_the_same_bytes_is_no_change() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    assert!(scratch.call("c1", || rewrite(&scratch, "a")).changes.is_empty());
    scratch.call("c2", || scratch.write("a", "2\n"));
    assert!(scratch.call("c3", || rewrite(&scratch, "a")).changes.is_empty(), "it is what the session left");
    scratch.restore("m1");
    assert_eq!(scratch.read("a"), "1\n");
}

#[test]
fn an_edit_of_somebody_else_that_a_call_only_touches_stays_theirs() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.write("a", "person\n");
    let ended = scratch.call("c1", || touch(&scratch, "a"));
    assert!(ended.changes.is_empty(), "{ended:?}");
    scratch.restore("m1");
    assert_eq!(scratch.read("a"), "person\n");
}

#[test]
fn an_edit_of_somebody_else_that_a_call_rewrites_with_the_same_bytes_stays_theirs() {
    let scratch = Scratch::with(&[("a", "1\n"), ("b", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "session\n"));
    scratch.write("a", "person's later edit\n");
    scratch.write("b", "person's edit\n");
    // A formatter over the whole tree that finds nothing to do in these two.
    scratch.call("c2", || {
        rewrite(&scratch, "a");
        rewrite(&scratch, "b");
    });
    let receipt = scratch.restore("m1");
    assert_eq!(actions(&receipt.restored), []);
    assert_eq!(scratch.read("a"), "person's later edit\n");
    assert_eq!(scratch.read("b"), "person's edit\n");
}

#[test]
fn another_sessions_work_is_untouched() {
    let scratch = Scratch::with(&[("mine", "1\n"), ("theirs", "1\n")]);
    let turnback = scratch.turnback();
    scratch.capture("m1");
    turnback.capture("other", "m1", InFlight::Refuse).unwrap();
    scratch.call("c1", || scratch.write("mine", "session\n"));
    turnback.call_begin("other", "c1").unwrap();
    scratch.write("theirs", "other\n");
    scratch.write("created", "other\n");
    turnback.call_end("other", "c1", None).unwrap();
    let receipt = scratch.restore("m1");
    assert_eq!(actions(&receipt.restored), [("mine", Action::Restore)]);
    assert_eq!((scratch.read("theirs").as_str(), scratch.read("created").as_str()), ("other\n", "other\n"));
    let receipt = turnback.restore("other", "m1", None, InFlight::Refuse).unwrap();
    assert_eq!(actions(&receipt.restored), [("created", Action::Delete), ("theirs", Action::Restore)]);
}

#[test]
fn what_another_session_changed_after_this_one_is_refused() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let turnback = scratch.turnback();
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "session\n"));
    turnback.capture("other", "m1", InFlight::Refuse).unwrap();
    turnback.call_begin("other", "c1").unwrap();
    scratch.write("a", "other\n");
    turnback.call_end("other", "c1", None).unwrap();
    assert_eq!(actions(&scratch.restore("m1").refused), [("a", Action::Refuse)]);
    assert_eq!(scratch.read("a"), "other\n");
    turnback.restore("other", "m1", None, InFlight::Refuse).unwrap();
    assert_eq!(scratch.read("a"), "session\n");
    scratch.restore("m1");
    assert_eq!(scratch.read("a"), "1\n");
}

/// A session that changed, deleted and created files in `d`; then `d` became a link to a folder with the same files.
fn behind_a_link() -> Scratch {
    let scratch = Scratch::with(&[("d/changed", "1\n"), ("d/deleted", "1\n"), ("d/kept", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.write("d/changed", "session\n");
        scratch.write("d/created", "session\n");
        scratch.remove("d/deleted");
    });
    let away = scratch.outside().join("away");
    fs::rename(scratch.path("d"), &away).unwrap();
    scratch.link(away.to_str().unwrap(), "d");
    scratch
}

#[test]
fn nothing_is_written_or_deleted_through_a_link_that_took_a_folders_place() {
    let scratch = behind_a_link();
    let away = scratch.outside().join("away");
    let before = tree(&away);
    let receipt = scratch.restore("m1");
    assert!(receipt.restored.is_empty(), "{receipt:?}");
    assert_eq!(tree(&away), before);
    assert!(scratch.path("d").symlink_metadata().unwrap().is_symlink(), "the link itself stays");
}

#[test]
fn a_path_to_be_recreated_behind_a_link_is_reported_as_failed() {
    let receipt = behind_a_link().restore("m1");
    assert!(actions(&receipt.failed).contains(&("d/deleted", Action::Fail)), "{receipt:?}");
}

#[test]
fn every_path_whose_walk_meets_a_link_is_reported_as_failed() {
    let receipt = behind_a_link().restore("m1");
    let failed = [("d/changed", Action::Fail), ("d/created", Action::Fail), ("d/deleted", Action::Fail)];
    assert_eq!(actions(&receipt.failed), failed, "{receipt:?}");
}

#[test]
fn after_the_link_is_gone_again_a_retry_restores() {
    let scratch = behind_a_link();
    scratch.restore("m1");
    scratch.remove("d");
    fs::rename(scratch.outside().join("away"), scratch.path("d")).unwrap();
    scratch.restore("m1");
    assert_eq!((scratch.read("d/changed").as_str(), scratch.read("d/deleted").as_str()), ("1\n", "1\n"));
    assert!(!scratch.exists("d/created"), "a path behind a link is not taken for one that is gone");
}

#[test]
fn state_is_not_kept_through_a_link() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let elsewhere = scratch.outside().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    scratch.link(elsewhere.to_str().unwrap(), ".harn");
    let (reason, detail) = turnback_tests::unavailable(scratch.turnback().capture(SESSION, "m1", InFlight::Refuse));
    assert_eq!(reason, "state_damaged");
    assert!(detail.contains(".harn"), "{detail}");
    assert_eq!(tree(&elsewhere), []);
}

#[test]
fn an_edit_of_somebody_else_stays_theirs_however_many_calls_pass_before_one_touches_it() {
    let scratch = Scratch::with(&[("a", "1\n"), ("b", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "session\n"));
    scratch.write("a", "person's\n");
    scratch.write("b", "person's\n");
    scratch.call("c2", || {});
    scratch.call("c3", || scratch.write("new", "x\n"));
    let ended = scratch.call("c4", || {
        touch(&scratch, "a");
        rewrite(&scratch, "b");
    });
    assert!(ended.changes.is_empty(), "{ended:?}");
    scratch.restore("m1");
    assert_eq!((scratch.read("a"), scratch.read("b")), ("person's\n".to_owned(), "person's\n".to_owned()));
}

#[test]
fn an_edit_of_somebody_else_stays_theirs_when_the_boundary_that_saw_it_was_discarded() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.write("a", "person's\n");
    scratch.capture("m2");
    scratch.call("c1", || scratch.write("new", "x\n"));
    assert!(!scratch.restore("m1").is_partial());
    let ended = scratch.call("c2", || touch(&scratch, "a"));
    assert!(ended.changes.is_empty(), "{ended:?}");
    scratch.restore("m1");
    assert_eq!(scratch.read("a"), "person's\n");
}

#[test]
fn what_the_session_left_in_a_folder_is_gone_where_somebody_put_the_file_back() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.remove("a");
        scratch.write("a/x", "2\n");
    });
    scratch.remove("a/x");
    fs::remove_dir(scratch.path("a")).unwrap();
    scratch.write("a", "1\n");
    let receipt = scratch.restore("m1");
    assert!(!receipt.is_partial(), "{receipt:?}");
    assert_eq!(receipt.skipped.len(), 2);
}
