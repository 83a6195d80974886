//! Plans and receipts for a person: aligned columns, one path a line.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use turnback::receipt::{Action, Entry, Irreversible};

use super::output::printable;

/// A longer path does not push the reasons of all the others aside.
const WIDEST: usize = 60;

/// The entries, one a line: action, path, reason.
pub(super) fn entries<'e>(out: &mut dyn Write, entries: impl Iterator<Item = &'e Entry>) -> io::Result<()> {
    let rows: Vec<(Action, String, &str)> = entries
        .map(|entry| (entry.action, printable(&entry.path), entry.reason.as_deref().unwrap_or_default()))
        .collect();
    let width = rows.iter().map(|(_, path, _)| path.chars().count()).filter(|width| *width <= WIDEST).max();
    let width = width.unwrap_or_default();
    for (action, path, reason) in rows {
        let style = style(action);
        let line = format!("{path:width$}  {}", printable(reason));
        writeln!(out, "  {style}{:8}{style:#}  {}", action.name(), line.trim_end())?;
    }
    Ok(())
}

/// The calls that no file restore undoes.
pub(super) fn irreversible(out: &mut dyn Write, calls: &[Irreversible]) -> io::Result<()> {
    for Irreversible { call_id, side_effect } in calls {
        writeln!(out, "  not undone: call {} ({})", printable(call_id), side_effect.name())?;
    }
    Ok(())
}

/// The calls that were ended first.
pub(super) fn closed(out: &mut dyn Write, calls: &[String]) -> io::Result<()> {
    for call in calls {
        writeln!(out, "  ended first: call {}", printable(call))?;
    }
    Ok(())
}

/// `1 file`, `2 files`.
pub(super) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

fn style(action: Action) -> Style {
    let colour = match action {
        Action::Restore | Action::Recreate => AnsiColor::Green,
        Action::Delete => AnsiColor::Yellow,
        Action::Refuse | Action::Fail => AnsiColor::Red,
        Action::Skip => return Style::new().dimmed(),
    };
    Style::new().fg_color(Some(colour.into()))
}
