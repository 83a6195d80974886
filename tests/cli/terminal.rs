//! What a person sees, and the program on a terminal, which `script` stands in for.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use turnback_tests::{Scratch, program};

use super::program::{each, heeding_signals, json, run, wait_for};

/// Runs a line of shell on a terminal of its own, in which `$T` is the program; what it typed goes there, once `ready`
/// has been made. `None`, with the test's name printed, where there is no `script`.
fn on_terminal(test: &str, scratch: &Scratch, line: &str, typed: Option<&[u8]>) -> Option<String> {
    let mut command = heeding_signals("script");
    command.args(["-qec", line, "/dev/null"]).current_dir(scratch.root()).env("T", program()).env("TERM", "xterm");
    command.env_remove("NO_COLOR").env("SHELL", "/bin/sh");
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    if Command::new("script").arg("--version").output().is_err() {
        println!("{test}: skipped, there is no script(1)");
        return None;
    }
    let mut child = spawned.unwrap();
    let mut keyboard = child.stdin.take().unwrap();
    if let Some(typed) = typed {
        wait_for(&scratch.outside().join("ready"));
        keyboard.write_all(typed).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    drop(keyboard);
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn called() -> Scratch {
    let scratch = Scratch::with(&[("a", "1\n")]);
    json(&scratch.root(), &["capture", "--session", "s", "--boundary", "b"]);
    json(&scratch.root(), &["call-begin", "--session", "s", "--call", "c"]);
    scratch.write("a", "2\n");
    json(&scratch.root(), &["call-end", "--session", "s", "--call", "c"]);
    scratch
}

#[test]
fn a_table_is_coloured_on_a_terminal_unless_no_color_says_not() {
    let test = "a_table_is_coloured_on_a_terminal_unless_no_color_says_not";
    let scratch = called();
    let plan = "$T plan --session s --boundary b";
    let Some(coloured) = on_terminal(test, &scratch, plan, None) else { return };
    assert!(coloured.contains("\u{1b}[") && coloured.contains("restore"), "{coloured:?}");
    let plain = on_terminal(test, &scratch, &format!("NO_COLOR=1 {plan}"), None).unwrap();
    assert!(!plain.contains('\u{1b}') && plain.contains("restore"), "{plain:?}");
    let json = on_terminal(test, &scratch, &format!("{plan} --json"), None).unwrap();
    assert!(!json.contains('\u{1b}') && json.contains("\"action\":\"restore\""), "{json:?}");
}

#[test]
fn an_interrupt_that_is_typed_reaches_the_command_once_and_the_call_is_ended() {
    let test = "an_interrupt_that_is_typed_reaches_the_command_once_and_the_call_is_ended";
    let scratch = called();
    scratch.write(
        "../work.sh",
        "interrupts=0\n\
         trap 'interrupts=$((interrupts + 1))' INT\n\
         echo 3 > a; touch ../ready\n\
         while [ $interrupts = 0 ]; do sleep 0.05; done\n\
         # A second one would come right after the first.\n\
         sleep 0.5\n\
         echo interrupts=$interrupts; exit 7\n",
    );
    let line = "$T run --session s --call typed -- sh ../work.sh; echo status=$?";
    let Some(seen) = on_terminal(test, &scratch, &format!("trap : INT; {line}"), Some(b"\x03")) else { return };
    assert!(seen.contains("interrupts=1\r\n"), "{seen:?}");
    assert!(seen.contains("status=7\r\n"), "{seen:?}");
    let plan = json(&scratch.root(), &["plan", "--session", "s", "--boundary", "b"]);
    assert_eq!(each(&plan["entries"], "action"), ["restore"], "what it left is the session's");
    assert_eq!(scratch.read("a"), "3\n");
}

#[test]
fn a_command_on_a_terminal_has_the_terminal() {
    let test = "a_command_on_a_terminal_has_the_terminal";
    let scratch = called();
    let line = "$T run --session s -- sh -c 'test -t 0 && test -t 1 && test -t 2 && echo all-three'";
    let Some(seen) = on_terminal(test, &scratch, line, None) else { return };
    assert!(seen.contains("all-three\r\n"), "{seen:?}");
}

#[test]
fn a_name_cannot_move_the_cursor_of_whoever_reads_the_table() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    json(&scratch.root(), &["capture", "--session", "s", "--boundary", "b"]);
    json(&scratch.root(), &["call-begin", "--session", "s", "--call", "c"]);
    scratch.write("evil\u{1b}[2J\nrestore everything", "x");
    let ended = run(&scratch.root(), &["call-end", "--session", "s", "--call", "c"]);
    let plan = run(&scratch.root(), &["plan", "--session", "s", "--boundary", "b"]);
    for ran in [ended, plan] {
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!ran.out.contains('\u{1b}'), "{:?}", ran.out);
        assert_eq!(ran.out.lines().count(), 2, "{:?}", ran.out);
        assert!(ran.out.contains(r"evil\u{1b}[2J\nrestore everything"), "{:?}", ran.out);
    }
}
