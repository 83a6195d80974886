//! What identifies a file to a scan, and when that is to be trusted.
//!
//! Two equal stats mean that nobody wrote the file in between through the file system's calls, if the file had [settled]
//! by the first of the two: the change time cannot be put back. A store through an old writable mapping moves no stamp at
//! all; the guard's digest is what catches it.
//!
//! [settled]: Settled

use rustix::fs::FileType;

use crate::{anchor::Stamping, model::Proof};

/// What stands under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File = 1,
    Symlink = 2,
    Directory = 3,
    /// A FIFO, socket or device.
    Special = 4,
}

impl Kind {
    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        [Kind::File, Kind::Symlink, Kind::Directory, Kind::Special].into_iter().find(|&kind| kind as u8 == byte)
    }
}

/// The stat of one name, a link being itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) kind: Kind,
    /// The twelve lowest bits of the mode.
    pub(crate) permissions: u16,
    pub(crate) size: u64,
    /// Nanoseconds since the Unix epoch.
    pub(crate) mtime_ns: i64,
    /// Nanoseconds since the Unix epoch.
    pub(crate) ctime_ns: i64,
    pub(crate) inode: u64,
    pub(crate) device: u64,
}

impl Stat {
    /// How many bytes one takes.
    pub(crate) const BYTES: usize = 1 + 1 + 2 + 5 * 8;

    /// The same, known by kind, permissions and device alone.
    pub(crate) fn without_stamps(self) -> Self {
        Stat { size: 0, mtime_ns: 0, ctime_ns: 0, inode: 0, ..self }
    }

    pub(crate) fn executable(&self) -> bool {
        self.permissions & 0o100 != 0
    }

    /// The nine permission bits.
    pub(crate) fn nine_bits(&self) -> u32 {
        u32::from(self.permissions) & 0o777
    }

    /// The younger of the two stamps.
    pub(super) fn youngest_ns(&self) -> i64 {
        self.mtime_ns.max(self.ctime_ns)
    }

    /// As a scan keeps it: kind u8 · 0 u8 · permissions u16 · size u64 · mtime_ns i64 · ctime_ns i64 · inode u64 ·
    /// device u64, little-endian.
    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[0] = self.kind as u8;
        out[2..4].copy_from_slice(&self.permissions.to_le_bytes());
        out[4..12].copy_from_slice(&self.size.to_le_bytes());
        out[12..20].copy_from_slice(&self.mtime_ns.to_le_bytes());
        out[20..28].copy_from_slice(&self.ctime_ns.to_le_bytes());
        out[28..36].copy_from_slice(&self.inode.to_le_bytes());
        out[36..].copy_from_slice(&self.device.to_le_bytes());
        out
    }

    /// Out of [`Stat::to_bytes`], whatever the second byte; `None` of anything else.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().ok()?;
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            word
        };
        Some(Stat {
            kind: Kind::from_byte(bytes[0])?,
            permissions: u16::from_le_bytes([bytes[2], bytes[3]]),
            size: u64::from_le_bytes(word(4)),
            mtime_ns: i64::from_le_bytes(word(12)),
            ctime_ns: i64::from_le_bytes(word(20)),
            inode: u64::from_le_bytes(word(28)),
            device: u64::from_le_bytes(word(36)),
        })
    }
}

#[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "the fields' widths differ between systems")]
impl From<&rustix::fs::Stat> for Stat {
    fn from(stat: &rustix::fs::Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Symlink => Kind::Symlink,
            FileType::Directory => Kind::Directory,
            _ => Kind::Special,
        };
        let ns = |seconds: i64, nanoseconds: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
        Stat {
            kind,
            permissions: (stat.st_mode & 0o7777) as u16,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime_ns: ns(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            ctime_ns: ns(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            inode: stat.st_ino as u64,
            device: stat.st_dev as u64,
        }
    }
}

/// Before which time stamps tell.
///
/// A kernel stamps with a clock that ticks: what is written twice within a tick, once before a scan looked and once
/// after, has the same stamps both times. So what is as young as the scan has not settled, and the next scan cannot go by
/// its stamps. (The racy rule of git's index.) A stamp of the future has not settled either. Kernels that stamp finely
/// what somebody has looked at are not relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settled {
    before_ns: i64,
}

impl Settled {
    /// For a look that began then. Where only contents prove something, nothing ever settles.
    pub(crate) fn at(started_ns: i64, stamping: Stamping, proof: Proof) -> Self {
        let ticks_ns = match (proof, stamping) {
            (Proof::Contents, _) => return Settled { before_ns: i64::MIN },
            // The coarsest clock tick of a kernel, doubled.
            (Proof::Stamps, Stamping::Here) => 20_000_000,
            // FAT counts in steps of two seconds; clocks of two machines differ.
            (Proof::Stamps, Stamping::Elsewhere) => 5_000_000_000,
        };
        Settled { before_ns: started_ns.saturating_sub(ticks_ns) }
    }

    /// Whether stamps tell at all.
    pub(crate) fn by_stamps(self) -> bool {
        self.before_ns != i64::MIN
    }

    pub(crate) fn to_ns(self) -> i64 {
        self.before_ns
    }

    /// Out of [`Settled::to_ns`].
    pub(crate) fn from_ns(before_ns: i64) -> Self {
        Settled { before_ns }
    }

    /// Whether the stamps tell whether what they are of was changed after the look.
    pub(crate) fn has(self, stat: &Stat) -> bool {
        stat.youngest_ns() < self.before_ns
    }
}
