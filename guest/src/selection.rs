//! Which paths a restore was asked for.
//!
//! Invariant: a selected path is relative, normal and below the root. A folder selects all that is below it.

use crate::state::Error;

/// The paths that were asked for.
#[derive(Clone, Copy, Debug)]
pub enum Selection<'a> {
    /// All that the session changed.
    Everything,
    /// These, and what is below them.
    Paths(&'a [String]),
}

impl<'a> Selection<'a> {
    /// Checks what the caller asked for.
    pub fn new(paths: Option<&'a [String]>) -> Result<Self, Error> {
        let Some(paths) = paths else { return Ok(Selection::Everything) };
        if paths.is_empty() {
            let expected = "the selection is empty: name at least one path, or leave it out to restore everything";
            return Err(Error::Invalid { parameter: "paths", expected: expected.to_string() });
        }
        for path in paths {
            if let Some(wrong) = fault(path) {
                let expected = format!(
                    "'{}' {wrong}: a path is relative to the workspace root, without '.', '..' or empty components",
                    path.escape_debug()
                );
                return Err(Error::Invalid { parameter: "paths", expected });
            }
        }
        Ok(Selection::Paths(paths))
    }

    /// Whether all was asked for.
    pub fn is_everything(&self) -> bool {
        matches!(self, Selection::Everything)
    }

    /// Whether the path was asked for.
    pub fn wants(&self, path: &str) -> bool {
        match self {
            Selection::Everything => true,
            Selection::Paths(paths) => paths.iter().any(|selected| covers(selected, path)),
        }
    }

    /// Whether the folder was asked for, or is above one of the paths that were considered, which are sorted.
    pub fn reaches(&self, folder: &str, considered: &[&str]) -> bool {
        let below = format!("{folder}/");
        let from = considered.partition_point(|path| *path < below.as_str());
        self.wants(folder) || considered.get(from).is_some_and(|path| path.starts_with(&below))
    }

    /// The selected paths for which no attributed path is found, by `attributed` or below them.
    pub fn unmatched(&self, paths: &[&str]) -> Vec<&'a str> {
        match self {
            Selection::Everything => Vec::new(),
            Selection::Paths(selected) => selected
                .iter()
                .map(String::as_str)
                .filter(|selected| !paths.iter().any(|path| covers(selected, path)))
                .collect(),
        }
    }
}

fn covers(selected: &str, path: &str) -> bool {
    path.strip_prefix(selected).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn fault(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("is empty");
    }
    if path.starts_with('/') {
        return Some("is absolute");
    }
    if path.contains('\0') {
        return Some("contains a NUL");
    }
    path.split('/').find_map(|component| match component {
        "" => Some("has an empty component or a trailing slash"),
        "." | ".." => Some("has a relative component"),
        _ => None,
    })
}
