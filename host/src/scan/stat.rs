//! What identifies a file to a scan.
//!
//! Two equal stats mean that nobody wrote the file in between through the file system's calls: the change time cannot be
//! put back. A store through an old writable mapping moves no stamp at all; the guard's digest is what catches it.

use rustix::fs::FileType;

/// What stands under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Symlink,
    Directory,
    /// A FIFO, socket or device.
    Special,
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
