//! Results on standard output, messages on standard error.

use std::io::{self, Write};

use anstream::{eprintln, stdout};
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use turnback::MethodError;

use super::exit::{Exit, Failure};

/// How results are printed.
#[derive(Clone, Copy, Debug)]
enum Form {
    Json,
    Text,
}

/// Where results go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output {
    form: Form,
}

impl Output {
    pub(super) fn new(json: bool) -> Self {
        Output { form: if json { Form::Json } else { Form::Text } }
    }

    /// Prints a result: itself as JSON, or as `text` writes it for a person.
    pub(super) fn result<R: Serialize>(
        &self,
        result: &R,
        text: impl FnOnce(&mut dyn Write, &R) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut out = stdout().lock();
        let written = match self.form {
            Form::Json => json(&mut out, result),
            Form::Text => text(&mut out, result),
        };
        written.and_then(|()| out.flush()).map_err(Failure::Output)
    }

    /// Like [`Output::result`] where standard output is another program's: for a person, on standard error.
    pub(super) fn beside<R: Serialize>(
        &self,
        result: &R,
        text: impl FnOnce(&mut dyn Write, &R) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut out = anstream::stderr().lock();
        match self.form {
            Form::Json => self.result(result, |_, _| Ok(())),
            Form::Text => text(&mut out, result).map_err(Failure::Output),
        }
    }

    /// Says why there is no result.
    pub(super) fn failure(&self, failure: Failure) -> Exit {
        let exit = failure.exit();
        if let (Failure::Method(MethodError::Unavailable(unavailable)), Form::Json) = (&failure, self.form) {
            let mut out = stdout().lock();
            if json(&mut out, unavailable).and_then(|()| out.flush()).is_ok() {
                return exit;
            }
        }
        let error = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        eprintln!("{error}turnback:{error:#} {}", printable(&failure.to_string()));
        exit
    }
}

fn json(out: &mut dyn Write, result: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, result)?;
    out.write_all(b"\n")
}

/// Text on one line that cannot move a terminal's cursor: control characters are escaped, and so is what stands for a
/// byte that is not UTF-8.
pub(super) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        match u32::from(character).checked_sub(0x10_FF00) {
            Some(byte) => printable.push_str(&format!("\\x{byte:02x}")),
            None if character.is_control() || is_invisible(character) => printable.extend(character.escape_default()),
            None => printable.push(character),
        }
    }
    printable
}

/// Characters without a width, and those that turn the direction of the text around them.
fn is_invisible(character: char) -> bool {
    matches!(u32::from(character), 0xAD | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0xFEFF)
}
