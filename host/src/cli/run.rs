//! `turnback run`: a command as a bracketed call.
//!
//! Invariant: the command runs only after the call has begun, and the call is ended whatever becomes of the command: an
//! interrupt goes to the command, not to us.

use std::{
    io::IsTerminal,
    os::unix::process::ExitStatusExt,
    process::{Command, ExitStatus},
    time::{SystemTime, UNIX_EPOCH},
};

use anstream::eprintln;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM},
    iterator::Signals,
};
use turnback::{MethodError, Runtime, receipt::Unavailable};

use super::{
    Ended, RunArguments, call,
    exit::{Exit, Failure},
    output::{Output, printable},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  turnback run --session s1 -- cargo fmt
  turnback run --session s1 --side-effect network -- git push
  turnback run --session s1 -- sh -c 'sed -i s/a/b/ *.txt'

The command runs in the current folder, with the same standard streams and environment. If the call cannot begin, it
does not run.";

pub(super) fn run(turnback: &Runtime, arguments: &RunArguments, output: &Output) -> Ended {
    let session = &arguments.session.session;
    let call = arguments.call.clone().unwrap_or_else(made_up);
    // Before the call begins: from then on it must be ended.
    let signals = Signals::new(ours_to_pass_on()).map_err(Failure::Signals)?;
    turnback.call_begin(session, &call)?;
    let status = run_command(arguments, signals);
    let ended = turnback
        .call_end(session, &call, arguments.effect.side_effect)
        .map_err(|error| Failure::from(after_the_command(error)))
        .and_then(|receipt| output.beside(&receipt, call::changes));
    let exit = match status {
        Ok(status) => Exit::Of(code(status)),
        Err(error) => {
            let command = arguments.command.first().map(|command| command.to_string_lossy()).unwrap_or_default();
            eprintln!("turnback: cannot run {}: {error}", printable(&command));
            Exit::Of(if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 })
        }
    };
    match ended {
        Ok(()) => Ok(exit),
        // The command's own failure says more than ours.
        Err(failure) if exit != Exit::Of(0) => {
            output.failure(failure);
            Ok(exit)
        }
        Err(failure) => Err(failure),
    }
}

fn made_up() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_micros());
    format!("run-{now}-{}", std::process::id())
}

/// Says what a status alone would not: that the command has run all the same.
fn after_the_command(mut error: MethodError) -> MethodError {
    if let MethodError::Unavailable(Unavailable { detail: text, .. })
    | MethodError::Failed(text)
    | MethodError::Component(text) = &mut error
    {
        *text = format!("the command ran, but what it changed was not attributed: {text}");
    }
    error
}

/// The signals that would end us. One that we were started to ignore, by `nohup` for example, is the command's to ignore
/// too: a handler would undo that.
fn ours_to_pass_on() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    let is_ignored = |signal: i32| ignored.unwrap_or(0) >> (signal - 1) & 1 == 1;
    [SIGINT, SIGQUIT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal)).collect()
}

/// Runs the command and waits for it. Signals that would end us go to it.
fn run_command(arguments: &RunArguments, mut signals: Signals) -> std::io::Result<ExitStatus> {
    let (program, rest) = arguments.command.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
    if let Some(signal) = signals.pending().next() {
        // It came too early for the command: it does not run, as if the signal had ended it.
        return Ok(ExitStatus::from_raw(signal));
    }
    let mut child = Command::new(program).args(rest).spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    let handle = signals.handle();
    let forward = std::thread::spawn(move || {
        for signal in signals.forever() {
            // A terminal sends these two to the command itself.
            if matches!(signal, SIGINT | SIGQUIT) && std::io::stdin().is_terminal() {
                continue;
            }
            if let (Some(pid), Some(signal)) = (pid, rustix::process::Signal::from_named_raw(signal)) {
                let _gone_already = rustix::process::kill_process(pid, signal);
            }
        }
    });
    let status = child.wait();
    handle.close();
    let _best_effort = forward.join();
    status
}

/// As a shell gives it: 128 and the signal for a command that a signal ended.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code & 0xff).unwrap_or(1)
}
