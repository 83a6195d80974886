//! Workspaces of a real size.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};
use turnback_tests::{Scratch, git, tree};

use super::program::{each, json, run};

const CAPTURE: &[&str] = &["capture", "--session", "s", "--boundary", "b"];
const BEGIN: &[&str] = &["call-begin", "--session", "s", "--call", "c"];
const END: &[&str] = &["call-end", "--session", "s", "--call", "c"];
const PLAN: &[&str] = &["plan", "--session", "s", "--boundary", "b"];
const RESTORE: &[&str] = &["restore", "--session", "s", "--boundary", "b"];

/// How often each action is among the entries.
fn counted(entries: &Value) -> BTreeMap<&str, usize> {
    let mut counted = BTreeMap::new();
    for action in each(entries, "action") {
        *counted.entry(action).or_default() += 1;
    }
    counted
}

/// What git says of the worktree, the index and HEAD.
fn status(root: &Path) -> String {
    git(root, &["status", "--porcelain=v2", "--branch", "--untracked-files=all"])
}

#[test]
fn this_projects_own_checkout_is_rewound_after_a_call_that_went_through_all_of_it() {
    let name = "this_projects_own_checkout_is_rewound_after_a_call_that_went_through_all_of_it";
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    if !project.join(".git").exists() {
        println!("{name}: skipped, {} is no checkout of the project", project.display());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("checkout");
    git(folder.path(), &["clone", "-q", project.to_str().unwrap(), "checkout"]);
    // Work that was not committed is as much the person's as what was.
    fs::write(root.join("Makefile"), "of the person\n").unwrap();
    fs::write(root.join("notes"), "of the person\n").unwrap();
    fs::remove_file(root.join("LICENSE")).unwrap();
    let (before, status_before) = (tree(&root), status(&root));
    let captured = json(&root, CAPTURE);
    let files = before.iter().filter(|(_, what)| what.starts_with("file")).count();
    assert_eq!(captured["scanned_files"], files);
    assert_eq!((&captured["stored_files"], &captured["unrestorable_files"]), (&json!(2), &json!(0)));

    json(&root, BEGIN);
    let mut changed = 0;
    for (number, (path, what)) in before.iter().enumerate().filter(|(_, (_, what))| what.starts_with("file")) {
        let path = root.join(path);
        match number % 3 {
            0 => fs::write(&path, format!("of the agent, in place of {}\n", what.len())).unwrap(),
            1 => fs::remove_file(&path).unwrap(),
            _ => continue,
        }
        changed += 1;
    }
    fs::create_dir_all(root.join("made/by/the")).unwrap();
    fs::write(root.join("made/by/the/agent"), "x").unwrap();
    let ended = json(&root, END);
    assert_eq!(
        ended["changes"].as_array().unwrap().iter().filter(|change| change["post_kind"] != "directory").count(),
        { changed + 1 }
    );

    let plan = json(&root, PLAN);
    assert!(
        counted(&plan["entries"]).keys().all(|action| ["restore", "recreate", "delete"].contains(action)),
        "{plan}"
    );
    let receipt = json(&root, RESTORE);
    assert_eq!(receipt["restored"], plan["entries"]);
    assert_eq!(tree(&root), before);
    assert_eq!(status(&root), status_before);
}

#[test]
fn five_hundred_changed_files_among_ten_thousand_are_found_planned_and_restored() {
    let scratch = Scratch::new();
    let root = scratch.root();
    for file in 0..10_000 {
        scratch.write(&format!("folder-{}/deeper/file-{file}", file / 100), format!("the content of file {file}\n"));
    }
    scratch.commit();
    let before = scratch.tree();
    let captured = json(&root, CAPTURE);
    assert_eq!((&captured["scanned_files"], &captured["stored_files"]), (&json!(10_000), &json!(0)));
    assert_eq!(json(&root, BEGIN)["scanned_files"], 10_000);
    let path = |file: usize| format!("folder-{}/deeper/file-{file}", file / 100);
    for file in 0..200 {
        // Of the same length, so that only stamps tell.
        scratch.write(&path(file * 40), format!("THE CONTENT OF FILE {}\n", file * 40));
    }
    for file in 0..150 {
        scratch.remove(&path(file * 40 + 1));
    }
    for file in 0..150 {
        scratch.write(&format!("made-{}/file-{file}", file / 50), format!("made {file}\n"));
    }
    let ended = json(&root, END);
    let kinds = each(&ended["changes"], "kind");
    let kind = |kind: &str| kinds.iter().filter(|each| **each == kind).count();
    assert_eq!((kind("modified"), kind("deleted"), kind("created")), (200, 150, 150));
    let paths = each(&ended["changes"], "path");
    assert!(paths.is_sorted(), "sorted by path");

    let plan = json(&root, PLAN);
    assert_eq!(each(&plan["entries"], "path"), paths);
    assert_eq!(counted(&plan["entries"]), BTreeMap::from([("delete", 150), ("recreate", 150), ("restore", 200)]));
    let somebody = path(40);
    scratch.write(&somebody, "somebody else's\n");

    let ran = run(&root, &[&["--json"], RESTORE].concat());
    assert_eq!(ran.code, 4, "{}", ran.err);
    let receipt = ran.json();
    assert_eq!(receipt["restored"].as_array().unwrap().len(), 499);
    assert_eq!(each(&receipt["refused"], "path"), [somebody.as_str()]);
    assert_eq!(scratch.read(&somebody), "somebody else's\n");
    scratch.write(&somebody, "the content of file 40\n");
    assert!(scratch.tree() == before, "all else is as it was");
    assert_eq!(scratch.git(&["status", "--porcelain"]), "");
}

#[test]
fn memory_journal_and_state_follow_what_changed_and_not_the_size_of_the_workspace() {
    let scratch = Scratch::new();
    for file in 0..2_000 {
        scratch.write(&format!("folder-{}/file-{file}", file / 100), "x".repeat(1_000));
    }
    scratch.commit();
    let state = |scratch: &Scratch| -> u64 {
        let size = |folder: &Path| -> u64 {
            let entries = fs::read_dir(folder).map(|entries| entries.map(|entry| entry.unwrap()).collect::<Vec<_>>());
            entries.unwrap_or_default().iter().filter_map(|entry| entry.metadata().ok()).map(|stat| stat.len()).sum()
        };
        size(&scratch.state().join("blobs")) + fs::metadata(scratch.state().join("journal")).unwrap().len()
    };
    json(&scratch.root(), CAPTURE);
    assert!(state(&scratch) < 1_000, "two megabytes that git has are not kept twice: {}", state(&scratch));
    for call in 0..10 {
        let call = format!("c{call}");
        json(&scratch.root(), &["call-begin", "--session", "s", "--call", &call]);
        scratch.write("folder-0/file-0", &call);
        json(&scratch.root(), &["call-end", "--session", "s", "--call", &call]);
    }
    assert!(state(&scratch) < 10_000, "ten changes of one file: {}", state(&scratch));
}
