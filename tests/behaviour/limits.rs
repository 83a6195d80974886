//! The known limits of the specification: each is overcome, or is as it says and no worse.

use std::{fs, fs::FileTimes};

use turnback::{
    InFlight,
    receipt::{Action, ChangeKind},
};
use turnback_tests::{SESSION, Scratch, actions, git, kinds, reason};

#[test]
fn as_it_is_an_edit_of_somebody_else_during_a_call_is_the_calls() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    let ended = scratch.call("c1", || scratch.write("a", "person, in the call's window\n"));
    assert_eq!(kinds(&ended), [("a", ChangeKind::Modified)]);
    scratch.write("a", "person, later\n");
    assert_eq!(actions(&scratch.plan("m1").entries), [("a", Action::Refuse)], "what comes later is guarded");
}

#[test]
fn as_it_is_an_edit_of_somebody_else_before_a_call_that_changes_the_file_too_goes_back_with_it() {
    // The guard compares with what the session last left. Only for a file that the boundary lacks is it refused.
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.write("a", "person\n");
    scratch.call("c1", || scratch.write("a", "person, and session\n"));
    assert_eq!(actions(&scratch.restore("m1").restored), [("a", Action::Restore)]);
    assert_eq!(scratch.read("a"), "1\n");
    let kept = scratch.state().join("blobs").join(turnback_tests::hash("person, and session\n"));
    assert!(kept.exists(), "what was displaced is kept");
}

#[test]
fn overcome_an_edit_of_equal_size_whose_time_is_put_back_is_seen() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    let modified = fs::metadata(scratch.path("a")).unwrap().modified().unwrap();
    let ended = scratch.call("c1", || {
        // Past the tick in which the file was made, whatever the kernel's clock.
        std::thread::sleep(std::time::Duration::from_millis(30));
        let file = fs::File::options().write(true).open(scratch.path("a")).unwrap();
        std::io::Write::write_all(&mut &file, b"2\n").unwrap();
        file.set_times(FileTimes::new().set_modified(modified)).unwrap();
    });
    assert_eq!(kinds(&ended), [("a", ChangeKind::Modified)]);
    scratch.restore("m1");
    assert_eq!(scratch.read("a"), "1\n");
}

#[test]
fn overcome_symbolic_links_are_in_the_index_dirty_ones_too() {
    let scratch = Scratch::with(&[("a", "1\n"), ("b", "1\n")]);
    scratch.link("a", "link");
    scratch.commit();
    scratch.remove("link");
    scratch.link("b", "link");
    assert_eq!(scratch.capture("m1").unrestorable_files, 0);
    scratch.call("c1", || scratch.remove("link"));
    assert_eq!(actions(&scratch.restore("m1").restored), [("link", Action::Recreate)]);
    assert_eq!(fs::read_link(scratch.path("link")).unwrap().to_str(), Some("b"));
}

#[test]
fn overcome_tracked_files_that_an_ignore_rule_matches_are_in_the_index() {
    let scratch = Scratch::with(&[("kept.log", "1\n")]);
    scratch.write(".gitignore", "*.log\n");
    scratch.commit();
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("kept.log", "2\n"));
    assert_eq!(actions(&scratch.restore("m1").restored), [("kept.log", Action::Restore)]);
}

#[test]
fn as_it_is_nested_repositories_are_outside() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.write("nested/file", "1\n");
    git(&scratch.path("nested"), &["init", "-q", "."]);
    scratch.capture("m1");
    assert!(scratch.call("c1", || scratch.write("nested/file", "2\n")).changes.is_empty());
    assert!(scratch.plan("m1").entries.is_empty());
}

/// A boundary with content that only the index knew; then git collected it.
fn collected(stamps_moved_after_staging: bool) -> Scratch {
    let scratch = Scratch::with(&[("a", "1\n"), ("clean", "1\n")]);
    let set_modified = |to| {
        let file = fs::File::options().write(true).open(scratch.path("a")).unwrap();
        file.set_times(FileTimes::new().set_modified(to)).unwrap();
    };
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    scratch.write("a", "staged, and in no commit\n");
    // Older than the index, so that its stamps are enough to call it clean.
    set_modified(long_ago);
    scratch.git(&["add", "a"]);
    if stamps_moved_after_staging {
        set_modified(long_ago + std::time::Duration::from_secs(1));
    }
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.git(&["reset", "-q", "--hard"]);
        scratch.write("new", "2\n");
    });
    scratch.git(&["reflog", "expire", "--expire=now", "--all"]);
    scratch.git(&["gc", "-q", "--prune=now"]);
    scratch
}

#[test]
fn as_it_is_staged_content_that_git_collected_is_refused_and_nothing_is_deleted() {
    for stamps_moved in [false, true] {
        let scratch = collected(stamps_moved);
        let before = scratch.tree();
        let planned = scratch.plan("m1").entries;
        let expected = [("a", Action::Refuse), ("new", Action::Refuse)];
        assert_eq!(actions(&planned), expected, "the plan knows, with stamps moved: {stamps_moved}");
        let receipt = scratch.restore("m1");
        assert_eq!(actions(&receipt.refused), expected);
        assert!(reason(&receipt.refused, "a").starts_with("unrestorable"), "{receipt:?}");
        assert_eq!(scratch.tree(), before);
    }
}

#[test]
fn overcome_committed_content_survives_a_collection_after_the_index_moved_on() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.write("a", "2\n");
        scratch.commit();
    });
    scratch.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(actions(&scratch.restore("m1").restored), [("a", Action::Restore)]);
    assert_eq!(scratch.read("a"), "1\n");
}

#[test]
fn overcome_state_is_on_disk_and_outlives_the_process() {
    let mut scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    scratch.reopen();
    assert_eq!(actions(&scratch.restore("m1").restored), [("a", Action::Restore)]);
}

#[test]
fn as_it_is_permissions_without_the_executable_bit_are_not_restored_on_their_own() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.chmod("a", 0o600);
    scratch.capture("m1");
    scratch.call("c1", || scratch.chmod("a", 0o644));
    scratch.restore("m1");
    assert_eq!(scratch.mode("a"), 0o644, "it is not an attributed path, so it is not touched");
}

#[test]
fn as_it_is_an_ignored_file_in_a_folder_that_a_call_removed_does_not_come_back() {
    let scratch = Scratch::with(&[(".gitignore", "*.log\n"), ("d/a", "1\n")]);
    scratch.write("d/old.log", "old\n");
    scratch.capture("m1");
    scratch.call("c1", || fs::remove_dir_all(scratch.path("d")).unwrap());
    assert!(!scratch.restore("m1").is_partial());
    assert_eq!(scratch.read("d/a"), "1\n");
    assert!(!scratch.exists("d/old.log"));
}

#[test]
fn as_it_is_a_call_that_removes_the_state_folder_removes_the_checkpoint_and_is_told_so() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.turnback().call_begin(SESSION, "c1").unwrap();
    scratch.git(&["clean", "-q", "-f", "-d", "-x"]);
    let (reason, _) = turnback_tests::unavailable(scratch.turnback().call_end(SESSION, "c1", None));
    assert_eq!(reason, "no_checkpoint");
    let answer = scratch.turnback().restore(SESSION, "m1", None, InFlight::Refuse);
    assert_eq!(turnback_tests::unavailable(answer).0, "no_checkpoint");
}
