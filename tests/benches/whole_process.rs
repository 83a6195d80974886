//! Whole processes against git, side by side: what each command of the program costs on a repository of 10,000 files,
//! next to `git status`, which has to look at the same files.
//!
//! The two of a pair run right after one another, so that whatever else the machine does meets both. It prints numbers
//! and judges nothing: they differ from machine to machine, the ratios less so. `TURNBACK_BENCH_RUNS` and
//! `TURNBACK_BENCH_FILES` change the number of runs and of files.

#![allow(clippy::expect_used, reason = "a bench that cannot run its processes has nothing to tell")]

use std::{
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use turnback_tests::{Scratch, program};

const FILES_PER_FOLDER: usize = 100;
const COMMANDS: [&str; 4] = ["capture", "call-begin", "call-end", "plan"];

/// What one command and the `git status` beside it took, a pair for each run.
struct Measured {
    name: &'static str,
    pairs: Vec<(Duration, Duration)>,
}

fn main() {
    let runs = number("TURNBACK_BENCH_RUNS", 30);
    let files = number("TURNBACK_BENCH_FILES", 10_000);
    let scratch = repository(files);
    let root = scratch.root();
    // Once unmeasured: the page cache and git's own index are then as they are between turns of a session.
    status(&root);
    turnback(&root, &["capture", "--session", "s", "--boundary", "warm"]);

    let mut measured = COMMANDS.map(|name| Measured { name, pairs: Vec::new() });
    for run in 0..runs {
        let boundary = ["--session", "s", "--boundary", &format!("b{run}")].map(ToOwned::to_owned);
        let call = ["--session", "s", "--call", &format!("c{run}")].map(ToOwned::to_owned);
        for measured in &mut measured {
            let ids = if measured.name.starts_with("call") { &call } else { &boundary };
            if measured.name == "call-end" {
                scratch.write("folder-7/file-42", format!("changed by run {run}\n"));
            }
            let mut arguments = vec![measured.name];
            arguments.extend(ids.iter().map(String::as_str));
            // Which of the two goes first changes with each run: the second finds warmer caches.
            let pair = if run % 2 == 0 {
                let ours = turnback(&root, &arguments);
                (ours, status(&root))
            } else {
                let git = status(&root);
                (turnback(&root, &arguments), git)
            };
            measured.pairs.push(pair);
        }
    }
    print(files, runs, &measured);
}

fn number(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).filter(|&number| number > 0).unwrap_or(otherwise)
}

/// A repository in which that many files are committed.
fn repository(files: usize) -> Scratch {
    let scratch = Scratch::new();
    for file in 0..files {
        let path = format!("folder-{}/file-{}", file / FILES_PER_FOLDER, file % FILES_PER_FOLDER);
        scratch.write(&path, format!("the content of file {file}\n"));
    }
    scratch.commit();
    scratch
}

fn turnback(root: &Path, arguments: &[&str]) -> Duration {
    let mut command = Command::new(program());
    command.args(arguments);
    timed(root, command)
}

fn status(root: &Path) -> Duration {
    let mut command = Command::new("git");
    command.args(["status", "--porcelain=v2", "-z", "--untracked-files=all"]);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    timed(root, command)
}

/// From before the process is made to after it is gone.
fn timed(root: &Path, mut command: Command) -> Duration {
    command.current_dir(root).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
    let begun = Instant::now();
    let status = command.status().expect("a process");
    let elapsed = begun.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    elapsed
}

fn print(files: usize, runs: usize, measured: &[Measured]) {
    println!(
        "whole processes, {files} files, {runs} runs, medians in milliseconds; the ratio is the median of the pairs'"
    );
    println!("{:<12} {:>10} {:>12} {:>8} {:>6}", "command", "turnback", "git status", "ratio", "runs");
    for Measured { name, pairs } in measured {
        let ours = median(pairs.iter().map(|(ours, _)| ours.as_secs_f64() * 1e3));
        let git = median(pairs.iter().map(|(_, git)| git.as_secs_f64() * 1e3));
        let ratio = median(pairs.iter().map(|(ours, git)| ours.as_secs_f64() / git.as_secs_f64()));
        println!("{name:<12} {ours:>10.2} {git:>12.2} {ratio:>8.2} {:>6}", pairs.len());
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        even if even % 2 == 0 => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}
