//! The command line. Each command is a process of its own: what a session remembers is on disk.
//!
//! Invariant: results go to standard output, as one line of JSON or as text for a person; everything else goes to
//! standard error.

mod call;
mod capture;
mod drop;
mod exit;
mod output;
mod plan;
mod progress;
mod restore;
mod run;
mod table;

use std::{ffi::OsString, os::unix::ffi::OsStrExt, path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};
use turnback::{Guest, InFlight, Options, Proof, Runtime, SideEffect, path};

use self::{
    exit::{Exit, Failure},
    output::Output,
};

const EXAMPLES: &str = "\
Examples:
  turnback capture --session s1 --boundary msg-1          record the workspace at a user message
  turnback run --session s1 -- make fmt                   run a command as a bracketed call
  turnback plan --session s1 --boundary msg-1             what a restore would do, and why not where it would not
  turnback restore --session s1 --boundary msg-1          go back
  turnback restore --session s1 --boundary msg-1 --path src/main.rs
  turnback drop --session s1                              forget the session

Exit status: 0 done; 1 it failed; 2 the request is malformed; 3 no checkpoint can be had; 4 a restore left something
undone.";

/// Rewinds the files that an AI agent changed, and only those, to any earlier user message.
#[derive(Debug, Parser)]
#[command(name = "turnback", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Args)]
struct Global {
    /// The workspace: the top of a git worktree, or a folder below it.
    #[arg(long, global = true, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Keep state here, in place of .harn/state/checkpoints below the root.
    #[arg(long, global = true, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Let this component decide, in place of the one that comes with turnback.
    #[arg(long, global = true, value_name = "FILE")]
    guest: Option<PathBuf>,
    /// Go by what files hold, not by their stamps: every look at the workspace reads every file.
    #[arg(long, global = true)]
    paranoid: bool,
    /// Print the result as one line of JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Record a boundary: once per user message, before the agent acts on it.
    Capture(Boundary),
    /// Look at the workspace before a tool or shell call.
    CallBegin(Call),
    /// Look again, and attribute each changed path to the call.
    CallEnd(EndOfCall),
    /// Run a command as a bracketed call, and exit with its status.
    #[command(after_help = run::EXAMPLES)]
    Run(RunArguments),
    /// Show what a restore to a boundary would do. Touches nothing.
    Plan(Boundary),
    /// Restore what the session changed since a boundary.
    Restore(RestoreArguments),
    /// Forget the session: its state and stored files. The workspace stays as it is.
    Drop(Session),
}

#[derive(Debug, Args)]
struct Session {
    /// The agent conversation.
    #[arg(long, value_name = "ID")]
    session: String,
}

#[derive(Debug, Args)]
struct Boundary {
    #[command(flatten)]
    session: Session,
    /// The user message.
    #[arg(long, value_name = "ID")]
    boundary: String,
    /// End calls that have begun and not ended first, with what they have changed so far.
    #[arg(long)]
    close_open: bool,
}

impl Boundary {
    fn in_flight(&self) -> InFlight {
        if self.close_open { InFlight::Close } else { InFlight::Refuse }
    }
}

#[derive(Debug, Args)]
struct Call {
    #[command(flatten)]
    session: Session,
    /// The tool or shell call.
    #[arg(long, value_name = "ID")]
    call: String,
}

#[derive(Debug, Args)]
struct Effect {
    /// What the call may have done beside changing files: none, read_only, workspace_write, process_exec, network_read,
    /// network or desktop_control.
    #[arg(long, value_name = "CLASS", value_parser = side_effect)]
    side_effect: Option<SideEffect>,
}

#[derive(Debug, Args)]
struct EndOfCall {
    #[command(flatten)]
    call: Call,
    #[command(flatten)]
    effect: Effect,
}

#[derive(Debug, Args)]
struct RunArguments {
    #[command(flatten)]
    session: Session,
    /// The call's id; one is made up where none is given.
    #[arg(long, value_name = "ID")]
    call: Option<String>,
    #[command(flatten)]
    effect: Effect,
    /// The command, after `--`.
    #[arg(last = true, required = true, value_name = "CMD ARG")]
    command: Vec<OsString>,
}

#[derive(Debug, Args)]
struct RestoreArguments {
    #[command(flatten)]
    boundary: Boundary,
    /// Only this path, relative to the root, or all that is below it. May be given more than once.
    #[arg(long, value_name = "PATH")]
    path: Vec<OsString>,
}

fn side_effect(name: &str) -> Result<SideEffect, String> {
    SideEffect::ALL.into_iter().find(|class| class.name() == name).ok_or_else(|| {
        let names: Vec<&str> = SideEffect::ALL.into_iter().map(SideEffect::name).collect();
        format!("it is one of {}", names.join(", "))
    })
}

/// A path as the methods take it. Text is taken as receipts give it; other bytes are encoded as receipts would.
fn path_text(argument: &OsString) -> String {
    argument.to_str().map_or_else(|| path::encode(argument.as_bytes()), ToOwned::to_owned)
}

pub(crate) fn main() -> ExitCode {
    let Arguments { global, command } = Arguments::parse();
    let output = Output::new(global.json);
    let exit = Runtime::open(&global.root, options(&global)).map_err(Failure::from).and_then(|turnback| {
        let _shown = progress::show(turnback.progress());
        match &command {
            Command::Capture(arguments) => capture::run(&turnback, arguments, &output),
            Command::CallBegin(arguments) => call::begin(&turnback, arguments, &output),
            Command::CallEnd(arguments) => call::end(&turnback, arguments, &output),
            Command::Run(arguments) => run::run(&turnback, arguments, &output),
            Command::Plan(arguments) => plan::run(&turnback, arguments, &output),
            Command::Restore(arguments) => restore::run(&turnback, arguments, &output),
            Command::Drop(arguments) => drop::run(&turnback, arguments, &output),
        }
    });
    exit.unwrap_or_else(|failure| output.failure(failure)).into()
}

fn options(global: &Global) -> Options {
    let mut options = Options::default();
    options.state_dir.clone_from(&global.state_dir);
    options.proof = if global.paranoid { Proof::Contents } else { Proof::Stamps };
    options.guest = global.guest.clone().map_or(Guest::Embedded, Guest::File);
    options
}

/// What a command ends with.
type Ended = Result<Exit, Failure>;
