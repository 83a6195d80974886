//! A session's events on disk, append-only.
//!
//! ```text
//! "turnback journal 1\n"
//! then each record: length u32 · its bitwise complement u32 · chain, 16 bytes · the event
//! ```
//!
//! Numbers are little-endian. The chain of a record is the start of BLAKE3(chain of the record before it · event), and
//! sixteen zeros stand before the first: no record can be changed, left out or moved without every later chain failing.
//!
//! A record that the file ends in the middle of was never acknowledged: it is cut off by the next append. Anything else
//! that does not fit is damage, and the session is then not acted on.

use std::{
    fs::OpenOptions,
    io::{self, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
};

use super::files;
use crate::model::Error;

const MAGIC: &[u8] = b"turnback journal 1\n";
const FAMILY: &[u8] = b"turnback journal ";
const HEADER: usize = 4 + 4 + CHAIN;
const CHAIN: usize = 16;

/// The journal of one session.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
}

/// What a journal held.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) events: Vec<Vec<u8>>,
    /// Where the next record goes.
    end: u64,
    chain: [u8; CHAIN],
}

impl Journal {
    pub(super) fn new(path: PathBuf) -> Self {
        Journal { path }
    }

    /// Every event, in order.
    pub(crate) fn read(&self) -> Result<Read, Error> {
        match files::read(&self.path) {
            Ok(bytes) => parse(&bytes).map_err(|why| self.damaged(&why)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Read::default()),
            Err(error) => Err(Error::io("read the journal", self.path.display(), error)),
        }
    }

    /// Adds an event after those that were read.
    pub(crate) fn append(&self, read: &mut Read, event: &[u8]) -> Result<(), Error> {
        let Ok(length) = u32::try_from(event.len()) else {
            return Err(Error::Other("an event is larger than 4 GiB; it was not recorded".to_owned()));
        };
        let chain = next_chain(&read.chain, event);
        let mut record = Vec::with_capacity(MAGIC.len() + HEADER + event.len());
        if read.end == 0 {
            record.extend_from_slice(MAGIC);
        }
        record.extend_from_slice(&length.to_le_bytes());
        record.extend_from_slice(&(!length).to_le_bytes());
        record.extend_from_slice(&chain);
        record.extend_from_slice(event);

        let write = || -> io::Result<()> {
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(files::NO_FOLLOW)
                .open(&self.path)?;
            // Cuts off what a crash left of a record.
            file.set_len(read.end)?;
            file.seek(SeekFrom::Start(read.end))?;
            let written = file.write_all(&record);
            if written.is_err() {
                // A full disk leaves part of a record; without it the space is free again.
                let _best_effort = file.set_len(read.end);
            }
            written
        };
        write().map_err(|error| Error::io("record in", self.path.display(), error))?;
        read.end += record.len() as u64;
        read.chain = chain;
        read.events.push(event.to_vec());
        Ok(())
    }

    fn damaged(&self, why: &str) -> Error {
        let detail = format!(
            "the journal {} {why}; nothing was changed. Drop the session to start anew: its boundaries cannot be relied \
             on",
            self.path.display()
        );
        Error::Unavailable { reason: "state_damaged", detail }
    }
}

fn next_chain(chain: &[u8; CHAIN], event: &[u8]) -> [u8; CHAIN] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(chain).update(event);
    let mut next = [0; CHAIN];
    hasher.finalize_xof().fill(&mut next);
    next
}

fn parse(bytes: &[u8]) -> Result<Read, String> {
    let mut read = Read::default();
    let Some(mut rest) = bytes.strip_prefix(MAGIC) else {
        // A crash in the first append leaves a beginning of the first line.
        return match (MAGIC.starts_with(bytes), bytes.starts_with(FAMILY)) {
            (true, _) => Ok(read),
            (false, true) => Err("is of a format that this version does not know: a later version wrote it".to_owned()),
            (false, false) => Err("does not begin as a journal does".to_owned()),
        };
    };
    read.end = MAGIC.len() as u64;
    while !rest.is_empty() {
        let number = read.events.len();
        let Some((header, after)) = rest.split_first_chunk::<HEADER>() else { break };
        let [a, b, c, d, e, f, g, h, ..] = *header;
        let length = u32::from_le_bytes([a, b, c, d]);
        if length != !u32::from_le_bytes([e, f, g, h]) {
            return Err(format!("is damaged at record {number}, in its length"));
        }
        let Some((event, after)) = after.split_at_checked(length as usize) else { break };
        let chain = next_chain(&read.chain, event);
        if header[8..] != chain {
            return Err(format!("is damaged at record {number}: its checksum does not fit"));
        }
        read.events.push(event.to_vec());
        read.chain = chain;
        read.end += (HEADER + event.len()) as u64;
        rest = after;
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(events: &[&[u8]]) -> (tempfile::TempDir, Journal) {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::new(dir.path().join("journal"));
        let mut read = journal.read().unwrap();
        for event in events {
            journal.append(&mut read, event).unwrap();
        }
        (dir, journal)
    }

    #[test]
    fn events_read_back_in_order() {
        let (_dir, journal) = journal(&[b"one", b"", b"three"]);
        assert_eq!(journal.read().unwrap().events, [&b"one"[..], b"", b"three"]);
    }

    #[test]
    fn a_torn_record_is_cut_and_the_next_append_takes_its_place() {
        let (_dir, journal) = journal(&[b"one", b"two"]);
        let whole = std::fs::read(&journal.path).unwrap();
        let kept = whole.len() - HEADER - 3;
        for cut in kept..whole.len() {
            std::fs::write(&journal.path, &whole[..cut]).unwrap();
            let mut read = journal.read().unwrap();
            assert_eq!(read.events, [b"one"], "cut at {cut}");
            journal.append(&mut read, b"TWO").unwrap();
            assert_eq!(journal.read().unwrap().events, [b"one", b"TWO"], "cut at {cut}");
        }
    }

    #[test]
    fn no_changed_byte_goes_unnoticed() {
        let (_dir, journal) = journal(&[b"one", b"two"]);
        let whole = std::fs::read(&journal.path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x40;
            std::fs::write(&journal.path, &damaged).unwrap();
            let error = journal.read().unwrap_err();
            assert!(matches!(error, Error::Unavailable { reason: "state_damaged", .. }), "byte {at}: {error}");
        }
    }

    #[test]
    fn a_later_format_is_refused_by_name() {
        let (_dir, journal) = journal(&[]);
        std::fs::write(&journal.path, b"turnback journal 2\n....").unwrap();
        assert!(journal.read().unwrap_err().to_string().contains("a later version wrote it"));
    }
}
