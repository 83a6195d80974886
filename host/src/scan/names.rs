//! The names in a folder.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

/// How much the kernel is asked for at once, in bytes.
#[cfg(target_os = "linux")]
const BUFFER: usize = 64 * 1024;

/// The names in one folder after the other; what it takes is kept for the next.
#[derive(Default)]
pub(super) struct Names {
    #[cfg(target_os = "linux")]
    buffer: Vec<u8>,
    /// The names, one after the other.
    bytes: Vec<u8>,
    /// Where each name is.
    places: Vec<(u32, u32)>,
}

impl Names {
    /// Reads the names in a folder that was just opened, without `.` and `..`.
    #[cfg(target_os = "linux")]
    pub(super) fn read(&mut self, folder: &OwnedFd) -> Result<(), Errno> {
        self.clear();
        self.buffer.reserve(BUFFER);
        let mut dir = rustix::fs::RawDir::new(folder, self.buffer.spare_capacity_mut());
        while let Some(entry) = dir.next() {
            push(&mut self.bytes, &mut self.places, entry?.file_name().to_bytes())?;
        }
        Ok(())
    }

    /// Reads the names in a folder that was just opened, without `.` and `..`.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn read(&mut self, folder: &OwnedFd) -> Result<(), Errno> {
        self.clear();
        for entry in rustix::fs::Dir::read_from(folder)? {
            push(&mut self.bytes, &mut self.places, entry?.file_name().to_bytes())?;
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.places.len()
    }

    /// How long they are together.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Each name, in the order of their bytes.
    pub(super) fn sorted(&mut self) -> impl Iterator<Item = &[u8]> {
        let bytes = &self.bytes;
        let name = |&(start, end): &(u32, u32)| &bytes[start as usize..end as usize];
        self.places.sort_unstable_by(|a, b| name(a).cmp(name(b)));
        self.places.iter().map(name)
    }
}

fn push(bytes: &mut Vec<u8>, places: &mut Vec<(u32, u32)>, name: &[u8]) -> Result<(), Errno> {
    if matches!(name, b"." | b"..") {
        return Ok(());
    }
    let place = |at: usize| u32::try_from(at).map_err(|_| Errno::OVERFLOW);
    let start = place(bytes.len())?;
    bytes.extend_from_slice(name);
    places.push((start, place(bytes.len())?));
    Ok(())
}
