//! State that is not what it was: it is said, nothing is made up for it, and the session can be dropped.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;
use turnback_tests::{Scratch, git};

use super::program::{each, everything, json, run};

const PLAN: &[&str] = &["--json", "plan", "--session", "s", "--boundary", "b"];
const RESTORE: &[&str] = &["--json", "restore", "--session", "s", "--boundary", "b"];

/// A session in which a call changed the untracked `note` and the committed `a`.
fn called() -> Scratch {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.write("note", "of the person\n");
    json(&scratch.root(), &["capture", "--session", "s", "--boundary", "b"]);
    json(&scratch.root(), &["call-begin", "--session", "s", "--call", "c"]);
    scratch.write("note", "of the agent\n");
    scratch.write("a", "2\n");
    json(&scratch.root(), &["call-end", "--session", "s", "--call", "c"]);
    scratch
}

/// The only file in a folder of the session's state, beside the scan of the last look.
fn only(scratch: &Scratch, folder: &str) -> PathBuf {
    let files: Vec<PathBuf> = fs::read_dir(scratch.state().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("scans/last"))
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.into_iter().next().unwrap()
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x20;
    fs::write(path, bytes).unwrap();
}

/// `note` is not restored and named with the reason, `a` is restored all the same; once the content is back, so is the
/// file.
#[track_caller]
fn note_is_left(scratch: &Scratch, words: &str) {
    let ran = run(&scratch.root(), RESTORE);
    assert_eq!(ran.code, 4, "{ran:?}");
    let receipt = ran.json();
    assert_eq!(each(&receipt["restored"], "path"), ["a"]);
    assert_eq!(each(&receipt["failed"], "path"), ["note"], "{receipt}");
    let reason = receipt["failed"][0]["reason"].as_str().unwrap();
    assert!(reason.contains(words), "{reason}");
    assert_eq!((scratch.read("note"), scratch.read("a")), ("of the agent\n".into(), "1\n".into()));
}

#[test]
fn a_corrupted_stored_content_fails_its_path_and_leaves_the_file_as_it_was() {
    let scratch = called();
    let blob = only(&scratch, "blobs");
    let whole = fs::read(&blob).unwrap();
    assert_eq!(whole, b"of the person\n");
    flip(&blob, 3);
    note_is_left(&scratch, "corrupt");

    fs::write(&blob, whole).unwrap();
    let receipt = json(&scratch.root(), &RESTORE[1..]);
    assert_eq!(each(&receipt["restored"], "path"), ["note"]);
    assert_eq!(scratch.read("note"), "of the person\n");
}

#[test]
fn a_stored_content_that_was_cut_or_grew_is_corrupt_as_well() {
    for length in [0, 5, 100] {
        let scratch = called();
        let file = fs::File::options().write(true).open(only(&scratch, "blobs")).unwrap();
        file.set_len(length).unwrap();
        note_is_left(&scratch, "corrupt");
    }
}

#[test]
fn a_missing_stored_content_is_no_absent_file() {
    let scratch = called();
    fs::remove_file(only(&scratch, "blobs")).unwrap();
    note_is_left(&scratch, "missing");
}

#[test]
fn a_link_in_place_of_a_stored_content_is_not_followed() {
    let scratch = called();
    let blob = only(&scratch, "blobs");
    let beside = scratch.outside().join("beside");
    fs::rename(&blob, &beside).unwrap();
    std::os::unix::fs::symlink(&beside, &blob).unwrap();
    note_is_left(&scratch, "cannot be read");
}

#[test]
fn a_git_object_that_is_gone_is_no_absent_file() {
    let scratch = called();
    let id = git(&scratch.root(), &["rev-parse", "HEAD:a"]);
    let (folder, name) = id.trim().split_at(2);
    fs::remove_file(scratch.path(".git/objects").join(folder).join(name)).unwrap();
    let ran = run(&scratch.root(), RESTORE);
    assert_eq!(ran.code, 4, "{ran:?}");
    let receipt = ran.json();
    assert_eq!(each(&receipt["restored"], "path"), ["note"]);
    let left = [each(&receipt["refused"], "path"), each(&receipt["failed"], "path")].concat();
    assert_eq!(left, ["a"], "{receipt}");
    assert_eq!(scratch.read("a"), "2\n");
}

/// Every command but `drop` answers `state_damaged` and changes nothing; after `drop` one can start anew.
#[track_caller]
fn only_drop_works(scratch: &Scratch) {
    let before = everything(&scratch.root());
    for arguments in [
        PLAN,
        RESTORE,
        &["--json", "capture", "--session", "s", "--boundary", "next"],
        &["--json", "call-begin", "--session", "s", "--call", "next"],
        &["--json", "call-end", "--session", "s", "--call", "c"],
        &["--json", "run", "--session", "s", "--", "touch", "made"],
    ] {
        let (reason, detail) = run(&scratch.root(), arguments).unavailable();
        assert_eq!(reason, "state_damaged", "{arguments:?}");
        assert!(detail.to_lowercase().contains("drop"), "what to do: {detail}");
        assert_eq!(everything(&scratch.root()), before, "{arguments:?}");
    }
    let dropped = json(&scratch.root(), &["drop", "--session", "s"]);
    assert_eq!(dropped, json!({"available": true, "dropped": true}));
    assert!(!scratch.state().exists());
    json(&scratch.root(), &["capture", "--session", "s", "--boundary", "b"]);
}

#[test]
fn a_damaged_journal_stops_everything_but_drop() {
    let scratch = called();
    let journal = scratch.state().join("journal");
    let length = fs::metadata(&journal).unwrap().len() as usize;
    flip(&journal, length / 2);
    only_drop_works(&scratch);
}

#[test]
fn a_journal_of_a_later_format_stops_everything_but_drop() {
    let scratch = called();
    fs::write(scratch.state().join("journal"), "turnback journal 9\nwhat it may be\n").unwrap();
    only_drop_works(&scratch);
}

#[test]
fn a_journal_that_is_no_regular_file_is_not_read_and_does_not_hang() {
    let scratch = called();
    let journal = scratch.state().join("journal");
    fs::remove_file(&journal).unwrap();
    fs::create_dir(&journal).unwrap();
    for arguments in [PLAN, RESTORE] {
        let ran = run(&scratch.root(), arguments);
        assert!([1, 3].contains(&ran.code), "{ran:?}");
        assert!(format!("{}{}", ran.out, ran.err).contains("journal"), "{ran:?}");
    }
    assert_eq!(scratch.read("a"), "2\n");
    json(&scratch.root(), &["drop", "--session", "s"]);
}

#[test]
fn a_journal_that_a_crash_cut_in_its_last_record_has_lost_that_record_only() {
    let scratch = called();
    let journal = scratch.state().join("journal");
    let length = fs::metadata(&journal).unwrap().len();
    fs::File::options().write(true).open(&journal).unwrap().set_len(length - 1).unwrap();
    // The end of the call was never acknowledged: the call is in flight again, and can be ended.
    let (reason, detail) = run(&scratch.root(), PLAN).unavailable();
    assert_eq!(reason, "calls_in_flight", "{detail}");
}

#[test]
fn a_damaged_record_of_a_boundary_is_no_empty_boundary() {
    for damage in [
        |path: &Path| flip(path, 5),
        |path: &Path| fs::write(path, b"").unwrap(),
        |path: &Path| {
            fs::remove_file(path).unwrap();
        },
    ] {
        let scratch = called();
        damage(&only(&scratch, "boundaries"));
        let before = everything(&scratch.root());
        for arguments in [PLAN, RESTORE] {
            let (reason, _) = run(&scratch.root(), arguments).unavailable();
            assert_eq!(reason, "state_damaged");
        }
        assert_eq!(everything(&scratch.root()), before);
        json(&scratch.root(), &["drop", "--session", "s"]);
    }
}

#[test]
fn any_byte_that_changes_in_the_record_of_a_boundary_is_noticed() {
    let scratch = called();
    let record = only(&scratch, "boundaries");
    let whole = fs::read(&record).unwrap();
    let before = everything(&scratch.root());
    let before: Vec<_> = before.iter().filter(|(path, _)| !path.starts_with(".harn")).collect();
    for at in 0..whole.len() {
        flip(&record, at);
        let (reason, _) = run(&scratch.root(), RESTORE).unavailable();
        assert_eq!(reason, "state_damaged", "byte {at}");
        let now = everything(&scratch.root());
        let now: Vec<_> = now.iter().filter(|(path, _)| !path.starts_with(".harn")).collect();
        assert_eq!(now, before, "byte {at}");
        fs::write(&record, &whole).unwrap();
    }
}

#[test]
fn a_damaged_scan_of_a_call_in_flight_attributes_nothing() {
    for damage in [|path: &Path| flip(path, 40), |path: &Path| fs::remove_file(path).unwrap()] {
        let scratch = Scratch::with(&[("a", "1\n")]);
        json(&scratch.root(), &["capture", "--session", "s", "--boundary", "b"]);
        json(&scratch.root(), &["call-begin", "--session", "s", "--call", "c"]);
        scratch.write("a", "2\n");
        damage(&only(&scratch, "scans"));
        let close = [RESTORE, &["--close-open"]].concat();
        for arguments in [&["--json", "call-end", "--session", "s", "--call", "c"][..], &close] {
            let (reason, detail) = run(&scratch.root(), arguments).unavailable();
            assert_eq!(reason, "state_damaged", "{arguments:?}");
            assert!(detail.contains("drop"), "what to do: {detail}");
            assert_eq!(scratch.read("a"), "2\n");
        }
        json(&scratch.root(), &["drop", "--session", "s"]);
    }
}

#[test]
fn a_link_in_the_way_of_the_state_folder_is_not_followed() {
    for link in [".harn", ".harn/state", ".harn/state/checkpoints", ".harn/state/checkpoints/s"] {
        let scratch = Scratch::with(&[("a", "1\n")]);
        let outside = scratch.outside().join("outside");
        fs::create_dir(&outside).unwrap();
        let link = scratch.path(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        for arguments in
            [&["--json", "capture", "--session", "s", "--boundary", "b"][..], &["--json", "drop", "--session", "s"]]
        {
            let (reason, _) = run(&scratch.root(), arguments).unavailable();
            assert_eq!(reason, "state_damaged", "{arguments:?} through {}", link.display());
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        assert!(link.is_symlink());
    }
}
