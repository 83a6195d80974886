//! Paths below the workspace root.
//!
//! Invariant: a [`WorkPath`] is relative and normal, each component is a name that the file system takes, and none is
//! `.git` or an alias of it on any file system. What is written to goes through one.

use std::fmt;

use gix::bstr::ByteSlice;

/// The first of the 256 code points that stand for a byte of a name that is not UTF-8.
const BYTE_BASE: u32 = 0x10_FF00;
/// Folders are opened one by one, so a path may be longer than the kernel takes at once; this bounds the work.
const MAX_PATH_BYTES: usize = 65_536;
/// The longest name that Linux file systems take, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// A path below the workspace root that may be acted on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkPath(Vec<u8>);

/// Why a path may not be acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPath {
    /// Nothing at all.
    #[error("the path is empty")]
    Empty,
    /// It starts with a slash.
    #[error("the path is absolute; give it relative to the workspace root")]
    Absolute,
    /// Two slashes in a row, or one at the end.
    #[error("the path has an empty component or a trailing slash")]
    EmptyComponent,
    /// `.` or `..`.
    #[error("the path has a relative component")]
    Relative,
    /// A NUL byte.
    #[error("the path contains a NUL byte")]
    Nul,
    /// It, or a component of it, is too long.
    #[error("the path is longer than 65,536 bytes, or a component of it than 255")]
    TooLong,
    /// `.git`, or what some file system takes for it.
    #[error("protected path: it is, or on some file systems stands for, a .git")]
    DotGit,
}

impl WorkPath {
    /// Checks the bytes of a path.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, InvalidPath> {
        let bytes = bytes.into();
        if bytes.is_empty() {
            return Err(InvalidPath::Empty);
        }
        if bytes[0] == b'/' {
            return Err(InvalidPath::Absolute);
        }
        if bytes.len() > MAX_PATH_BYTES {
            return Err(InvalidPath::TooLong);
        }
        for component in bytes.split(|&byte| byte == b'/') {
            check_component(component)?;
        }
        Ok(WorkPath(bytes))
    }

    /// Reads a path as it rides in JSON and WIT.
    pub fn from_text(text: &str) -> Result<Self, InvalidPath> {
        WorkPath::new(decode(text))
    }

    /// The path's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The components, from the root down.
    pub fn components(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|&byte| byte == b'/')
    }

    /// The folder's components and the name in it.
    pub fn split(&self) -> (Vec<&[u8]>, &[u8]) {
        let mut components: Vec<&[u8]> = self.components().collect();
        let name = components.pop().unwrap_or_default();
        (components, name)
    }
}

impl fmt::Display for WorkPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encode(&self.0))
    }
}

impl fmt::Debug for WorkPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.as_bstr())
    }
}

fn check_component(component: &[u8]) -> Result<(), InvalidPath> {
    use gix::validate::path::component::{Error, Options};
    if component.contains(&0) {
        return Err(InvalidPath::Nul);
    }
    if component.len() > MAX_NAME_BYTES {
        return Err(InvalidPath::TooLong);
    }
    let options = Options { protect_windows: false, protect_hfs: true, protect_ntfs: true };
    match gix::validate::path::component(component.as_bstr(), None, options) {
        Ok(_) => Ok(()),
        Err(Error::Empty) => Err(InvalidPath::EmptyComponent),
        Err(Error::Relative) => Err(InvalidPath::Relative),
        Err(_) => Err(InvalidPath::DotGit),
    }
}

/// The text of a path whose bytes may not be UTF-8: each byte that is not stands as U+10FF00 plus itself, and so does
/// each byte of a character from that range.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let escape = |text: &mut String, bytes: &[u8]| {
        text.extend(bytes.iter().filter_map(|&byte| char::from_u32(BYTE_BASE + u32::from(byte))));
    };
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if u32::from(character) >= BYTE_BASE {
                escape(&mut text, character.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                text.push(character);
            }
        }
        escape(&mut text, chunk.invalid());
    }
    text
}

/// The bytes for which the text stands.
pub fn decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match u32::from(character).checked_sub(BYTE_BASE).and_then(|byte| u8::try_from(byte).ok()) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// The path of `name` in the folder `parent`, where the root's own path is empty.
pub fn join(parent: &[u8], name: &[u8]) -> Vec<u8> {
    if parent.is_empty() {
        return name.to_vec();
    }
    let mut path = Vec::with_capacity(parent.len() + 1 + name.len());
    path.extend_from_slice(parent);
    path.push(b'/');
    path.extend_from_slice(name);
    path
}

/// The folder of the path and the name in it, where the root's own path is empty.
pub fn split_last(path: &[u8]) -> (&[u8], &[u8]) {
    path.rfind_byte(b'/').map_or((&[], path), |slash| (&path[..slash], &path[slash + 1..]))
}

/// The path itself and every folder above it, the root left out, nearest first.
pub fn with_ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(path), |path| path.rfind_byte(b'/').map(|slash| &path[..slash]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_survives_the_way_through_text() {
        let names: [&[u8]; 6] = [
            b"plain",
            "gr\u{fc}n/\u{516c}".as_bytes(),
            b"\xff\xfe/a",
            "\u{10ff41}".as_bytes(),
            b"a\xf4\x8f\xbc",
            b"\n",
        ];
        for name in names {
            assert_eq!(decode(&encode(name)), name);
        }
        assert_eq!(encode(b"a\xff"), "a\u{10ffff}");
        assert_eq!(encode("\u{10ff41}".as_bytes()), "\u{10fff4}\u{10ff8f}\u{10ffbd}\u{10ff81}");
    }

    #[test]
    fn paths_that_lead_elsewhere_are_refused_by_name() {
        let long = "x".repeat(256);
        let cases = [
            ("", InvalidPath::Empty),
            ("/etc/passwd", InvalidPath::Absolute),
            ("a/../b", InvalidPath::Relative),
            ("./a", InvalidPath::Relative),
            ("a//b", InvalidPath::EmptyComponent),
            ("a/", InvalidPath::EmptyComponent),
            ("a\0b", InvalidPath::Nul),
            (long.as_str(), InvalidPath::TooLong),
            (".git/config", InvalidPath::DotGit),
            ("sub/.GIT/hooks/x", InvalidPath::DotGit),
            (".g\u{200c}it/x", InvalidPath::DotGit),
            ("git~1/x", InvalidPath::DotGit),
            (".git /x", InvalidPath::DotGit),
            (".git::$INDEX_ALLOCATION/x", InvalidPath::DotGit),
        ];
        for (path, expected) in cases {
            assert_eq!(WorkPath::from_text(path), Err(expected), "{path:?}");
        }
        for path in [".gitignore", "con", "a:b", "back\\slash", "-dash", " ", "..."] {
            assert!(WorkPath::from_text(path).is_ok(), "{path:?}");
        }
    }

    #[test]
    fn a_path_has_itself_and_its_folders_as_ancestors() {
        let ancestors: Vec<&[u8]> = with_ancestors(b"a/b/c").collect();
        assert_eq!(ancestors, [&b"a/b/c"[..], b"a/b", b"a"]);
    }
}
