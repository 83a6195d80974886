//! Running the program and looking at what it left.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use turnback_tests::program;

/// How a process of the program ended.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Its exit status.
    pub(crate) code: i32,
    /// Its standard output.
    pub(crate) out: String,
    /// Its standard error.
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Self {
        Ran {
            code: output.status.code().expect("an exit status"),
            out: String::from_utf8(output.stdout.clone()).expect("text on standard output"),
            err: String::from_utf8(output.stderr.clone()).expect("text on standard error"),
        }
    }

    /// The one line of JSON on standard output.
    pub(crate) fn json(&self) -> Value {
        assert!(self.out.ends_with('\n') && self.out.lines().count() == 1, "one line of JSON: {self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The reason with which it answered that no checkpoint can be had, and the detail.
    pub(crate) fn unavailable(&self) -> (String, String) {
        assert_eq!(self.code, 3, "{self:?}");
        let answer = self.json();
        assert_eq!(answer["available"], Value::Bool(false), "{answer}");
        let text = |field: &str| answer[field].as_str().unwrap_or_else(|| panic!("{field} in {answer}")).to_owned();
        (text("reason"), text("detail"))
    }
}

/// Runs the program in a folder, apart from any terminal.
pub(crate) fn run<A: AsRef<OsStr>>(folder: &Path, arguments: &[A]) -> Ran {
    let output = command(folder, arguments).stdin(Stdio::null()).output().expect("the program");
    Ran::of(&output)
}

/// A process of the program that is yet to be started.
pub(crate) fn command<A: AsRef<OsStr>>(folder: &Path, arguments: &[A]) -> Command {
    let mut command = Command::new(program());
    command.current_dir(folder).args(arguments);
    command
}

/// A process that is yet to be started and heeds the signals that end one, also where these tests were started to ignore
/// them, in the background for example.
pub(crate) fn heeding_signals(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,QUIT,TERM").arg(program);
    command
}

/// Runs a command of the program with `--json`; it must succeed.
pub(crate) fn json(folder: &Path, arguments: &[&str]) -> Value {
    let mut all = vec!["--json"];
    all.extend(arguments);
    let ran = run(folder, &all);
    assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
    assert_eq!(ran.err, "", "{arguments:?}");
    ran.json()
}

/// The strings at a field of each item of a list.
pub(crate) fn each<'v>(list: &'v Value, field: &str) -> Vec<&'v str> {
    list.as_array()
        .unwrap_or_else(|| panic!("a list: {list}"))
        .iter()
        .map(|item| item[field].as_str().unwrap_or_else(|| panic!("{field} in {item}")))
        .collect()
}

/// Everything below a folder, `.git` without its objects and the state folder included: kind, permissions, stamps and
/// content. Two that are equal mean that nothing was written in between.
pub(crate) fn everything(root: &Path) -> Vec<(String, String)> {
    fn walk(root: &Path, folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            let path = entry.path();
            let stat = path.symlink_metadata().expect("a stat");
            let stamps = (stat.permissions().mode(), stat.mtime(), stat.mtime_nsec(), stat.ino());
            let content = if stat.is_dir() {
                if !path.ends_with(".git/objects") {
                    walk(root, &path, found);
                }
                String::new()
            } else if stat.is_file() {
                String::from_utf8_lossy(&fs::read(&path).expect("content")).into_owned()
            } else if stat.is_symlink() {
                fs::read_link(&path).expect("a link").display().to_string()
            } else {
                "special".to_owned()
            };
            found
                .push((path.strip_prefix(root).expect("below").display().to_string(), format!("{stamps:?} {content}")));
        }
    }
    let mut found = Vec::new();
    walk(root, root, &mut found);
    found.sort();
    found
}

/// Waits until something stands at a path; a process that never gets there fails the test and not the machine.
pub(crate) fn wait_for(path: &Path) {
    wait_until(&format!("{} to appear", path.display()), || path.exists());
}

/// Waits until something is so.
pub(crate) fn wait_until(what: &str, so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
