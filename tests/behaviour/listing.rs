//! What a scan sees is what git has in its index or would list as untracked, whatever the ignore rules say.
//!
//! git is the oracle: on trees and rules drawn from fixed seeds, a call that changes every file there is must be found to
//! have changed exactly the files that `git ls-files --cached --others --exclude-standard` lists.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, OpenOptions},
    io::Write,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::symlink,
    },
    path::{Path, PathBuf},
    process::Command,
};

use turnback::{InFlight, path};
use turnback_tests::{Draw, SESSION, Scratch, git, open};

const SEEDS: std::ops::Range<u64> = 0..300;

/// Names that sort before and after a slash, that differ in case alone, and that need quoting or are no text.
const NAMES: [&[u8]; 14] =
    [b"a", b"a-b", b"a.b", b"b", b"x.log", b"build", b"!n", b"#c", b"s ", b"\xc3\xa9", b"\xff", b"a*", b"A", b"Build"];
/// How many of them no other one equals but for case.
const UNLIKE: usize = 12;

const PATTERNS: [&[u8]; 34] = [
    b"a",
    b"A",
    b"a/",
    b"/a",
    b"/b/",
    b"*.log",
    b"*",
    b"!a",
    b"!a/",
    b"!*/",
    b"!.gitignore",
    b"a/b",
    b"**/b",
    b"a/**",
    b"a/**/b",
    b"/*/a",
    b"[ab]",
    b"[!a]",
    b"?",
    b"a?b",
    b"build",
    b"build/",
    b"\\!n",
    b"\\#c",
    b"# c",
    b"s\\ ",
    b"s ",
    b"\xc3\xa9",
    b"\xff",
    b"a\\*",
    b"!x.log",
    b"!/build/a",
    b"*.b\r",
    b"**",
];

fn rules(draw: &mut Draw) -> Vec<u8> {
    let count = draw.below(4);
    let mut rules: Vec<u8> = Vec::new();
    for _ in 0..count {
        rules.extend_from_slice(draw.one_of(&PATTERNS));
        rules.push(b'\n');
    }
    if draw.below(8) == 0 {
        rules.splice(0..0, *b"\xef\xbb\xbf");
    }
    if draw.below(6) == 0 {
        rules.pop();
    }
    rules
}

/// Files, links, folders and rules below a folder.
fn grow(folder: &Path, names: &[&[u8]], depth: usize, draw: &mut Draw) {
    fs::create_dir_all(folder).unwrap();
    for _ in 0..2 + draw.below(5) {
        let path = folder.join(OsStr::from_bytes(draw.one_of(names)));
        if path.symlink_metadata().is_ok() {
            continue;
        }
        match draw.below(10) {
            0..4 if depth < 3 => grow(&path, names, depth + 1, draw),
            4 => symlink("nowhere", path).unwrap(),
            5 => symlink("a", path).unwrap(),
            _ => fs::write(path, "1\n").unwrap(),
        }
    }
    if draw.below(3) == 0 {
        fs::write(folder.join(".gitignore"), rules(draw)).unwrap();
    }
}

/// Every file and link below the folder, `.git` and the state folder left out.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_name() == ".git" || entry.file_name() == ".harn" {
            continue;
        }
        if entry.file_type().unwrap().is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// The paths that git lists below the folder, of what is there. It is asked at the worktree's top: from a folder below,
/// `ls-files` does not find rules above that are tracked and not checked out, which `git status` does.
fn listed(top: &Path, folder: &Path) -> BTreeSet<Vec<u8>> {
    let output = Command::new("git")
        .current_dir(top)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let below = |path: &[u8]| {
        let path = top.join(OsStr::from_bytes(path));
        let is_there = path.symlink_metadata().is_ok_and(|stat| !stat.is_dir());
        is_there.then(|| path.strip_prefix(folder).ok().map(|path| path.as_os_str().as_bytes().to_vec())).flatten()
    };
    output.stdout.split(|&byte| byte == 0).filter_map(below).collect()
}

/// Adds to the file a line that no rule takes for a pattern; gives a link another text.
fn change(path: &Path) {
    if path.is_symlink() {
        fs::remove_file(path).unwrap();
        symlink("elsewhere", path).unwrap();
    } else {
        OpenOptions::new().append(true).open(path).unwrap().write_all(b"\n# changed\n").unwrap();
    }
}

/// A drawn repository, and the folder in it that is to be the workspace root.
fn drawn(draw: &mut Draw) -> (Scratch, PathBuf) {
    let scratch = Scratch::new();
    let top = scratch.root();
    // Two names that git takes for one can both be there only where the setting does not fit the file system.
    let (ignore_case, names) = draw.one_of(&[("true", &NAMES[..UNLIKE]), ("false", &NAMES[..])]);
    git(&top, &["config", "core.ignoreCase", ignore_case]);
    grow(&top, names, 0, draw);
    fs::write(scratch.path(".git/info/exclude"), rules(draw)).unwrap();
    if draw.below(3) == 0 {
        let excludes = scratch.outside().join("excludes");
        fs::write(&excludes, rules(draw)).unwrap();
        git(&top, &["config", "core.excludesFile", excludes.to_str().unwrap()]);
    }
    let (mut added, mut assumed, mut skipped, mut removed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for path in files(&top) {
        if draw.below(3) > 0 {
            continue;
        }
        let below = path.strip_prefix(&top).unwrap().as_os_str().to_owned();
        added.push(OsStr::from_bytes(&[b":(literal)", below.as_bytes()].concat()).to_owned());
        match draw.below(6) {
            0 => assumed.push(below),
            1 => skipped.push(below),
            _ => continue,
        }
        if draw.below(3) == 0 {
            removed.push(path);
        }
    }
    for (command, paths) in [
        (&["add", "-f", "--"][..], added),
        (&["update-index", "--assume-unchanged", "--"], assumed),
        (&["update-index", "--skip-worktree", "--"], skipped),
    ] {
        if !paths.is_empty() {
            let ran = Command::new("git").current_dir(&top).args(command).args(&paths).output().unwrap();
            assert!(ran.status.success(), "{ran:?}");
        }
    }
    removed.iter().for_each(|path| fs::remove_file(path).unwrap());
    let folders: Vec<PathBuf> =
        fs::read_dir(&top).unwrap().map(|entry| entry.unwrap().path()).filter(|path| is_plain_folder(path)).collect();
    let root = if draw.below(4) == 0 { folders.into_iter().min() } else { None };
    // A folder that git ignores as a whole is no workspace, which has a test of its own.
    let root = root.filter(|root| !listed(&top, root).is_empty()).unwrap_or(top);
    (scratch, root)
}

fn is_plain_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|stat| stat.is_dir()) && path.file_name().is_some_and(|name| name != ".git")
}

#[test]
fn a_call_that_changes_every_file_changes_exactly_what_git_lists() {
    let mut compared = 0;
    // ext4 is slow to make files while many have just been removed.
    let mut kept = Vec::new();

    for seed in SEEDS {
        let mut draw = Draw(seed);
        let (scratch, root) = drawn(&mut draw);
        let expected = listed(&scratch.root(), &root);
        let turnback = open(&root);
        let captured = turnback.capture(SESSION, "m1", InFlight::Refuse).unwrap();
        turnback.call_begin(SESSION, "c1").unwrap();
        files(&root).iter().for_each(|path| change(path));
        let ended = turnback.call_end(SESSION, "c1", None).unwrap();
        let changed: BTreeSet<Vec<u8>> = ended.changes.iter().map(|change| path::decode(&change.path)).collect();
        let show = |paths: &BTreeSet<Vec<u8>>| -> Vec<PathBuf> {
            paths.iter().map(|path| std::ffi::OsString::from_vec(path.clone()).into()).collect()
        };
        assert_eq!(show(&changed), show(&expected), "seed {seed}");
        assert_eq!(captured.scanned_files, expected.len() as u64, "seed {seed}");
        compared += expected.len();
        kept.push(scratch);
    }
    assert!(compared > 2000, "{compared} paths are few to tell anything");
}
