//! The directory of a ZIP archive as torch writes it: entries that are stored, none compressed. The archive may be a part of a file.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::CheckpointError;
use crate::source::Disk;

/// The largest directory that is read; an entry has about 100 bytes.
///
/// # Units
/// Bytes.
const MOST_DIRECTORY: u64 = 64 << 20;

/// The end of a directory: its signature, its length without a comment, and the longest comment.
const END: (&[u8; 4], usize, u64) = (b"PK\x05\x06", 22, 65_535);

/// Returns the bytes of each entry within the file.
///
/// # Errors
/// If this part of the file is not an archive, an entry is compressed, encrypted or beyond the archive, or two have one name.
pub(crate) fn entries(
    file: &Disk,
    archive: Range<u64>,
) -> Result<BTreeMap<String, Range<u64>>, CheckpointError> {
    let fault = |reason: String| file.file_fault(reason);
    let (directory, count, end) = directory(file, &archive)?;
    let mut entries = BTreeMap::new();
    let mut rest = Fields { bytes: &directory, at: 0 };
    for _ in 0..count {
        let (name, size, local) = entry(&mut rest).map_err(|reason| {
            fault(format!("its ZIP directory is damaged: {reason}; copy or save it again"))
        })?;
        let head = archive.start.checked_add(local).filter(|head| head.saturating_add(30) <= end);
        let head = head.ok_or_else(|| fault(format!("{name}: begins beyond the archive; copy it again")))?;
        let mut fixed = [0; 30];
        file.fill_at(head, &mut fixed)?;
        let two = |at: usize| u64::from(u16::from_le_bytes([fixed[at], fixed[at + 1]]));
        if !fixed.starts_with(b"PK\x03\x04") {
            return Err(fault(format!("{name}: there is no entry at byte {head}; copy it again")));
        }
        let start = head + 30 + two(26) + two(28);
        let range = start..start.saturating_add(size);
        if range.end > end {
            return Err(fault(format!("{name}: reaches beyond the archive; copy it again")));
        }
        if file.bytes(head + 30, two(26) as usize)? != name.as_bytes() {
            return Err(fault(format!("{name}: has another name in its own header; do not use this file")));
        }
        if entries.insert(name.clone(), range).is_some() {
            return Err(fault(format!("{name}: occurs twice in the archive; do not use this file")));
        }
    }
    Ok(entries)
}

/// Returns the bytes of the directory, the number of its entries, and the end of the entries.
fn directory(file: &Disk, archive: &Range<u64>) -> Result<(Vec<u8>, u64, u64), CheckpointError> {
    let length = archive.end.saturating_sub(archive.start);
    let tail = length.min(END.1 as u64 + END.2);
    let from = archive.end - tail;
    let last = file.bytes(from, tail as usize)?;
    let found = last.windows(END.1).rposition(|window| {
        let comment = u16::from_le_bytes([window[20], window[21]]);
        window.starts_with(END.0) && u64::from(comment) <= END.2
    });
    let place =
        found.ok_or_else(|| file.file_fault("not a ZIP archive: it has no directory; copy it again"))?;
    let fields = Fields { bytes: &last, at: place };
    let damaged =
        |reason: String| file.file_fault(format!("its ZIP directory is damaged: {reason}; copy it again"));
    let get = |at: usize, width: usize| fields.peek(at, width).map_err(damaged);
    let (mut count, mut size, mut start) = (get(10, 2)?, get(12, 4)?, get(16, 4)?);
    if count == 0xffff || size == 0xffff_ffff || start == 0xffff_ffff {
        // The longer form: a locator of 20 bytes before the end, then the record to which it points.
        let locator = (from + place as u64).checked_sub(20).filter(|at| *at >= archive.start);
        let locator = locator.ok_or_else(|| damaged("no 64-bit locator".into()))?;
        let locator = file.bytes(locator, 20)?;
        let long = Fields { bytes: &locator, at: 0 };
        let record = archive.start.checked_add(long.peek(8, 8).map_err(damaged)?);
        let record = record.filter(|at| at.saturating_add(56) <= archive.end);
        let record = file.bytes(record.ok_or_else(|| damaged("no 64-bit record".into()))?, 56)?;
        if !locator.starts_with(b"PK\x06\x07") || !record.starts_with(b"PK\x06\x06") {
            return Err(damaged("no 64-bit record".into()));
        }
        let long = Fields { bytes: &record, at: 0 };
        let get = |at: usize| long.peek(at, 8).map_err(damaged);
        (count, size, start) = (get(32)?, get(40)?, get(48)?);
    }
    let start = archive.start.checked_add(start);
    let end = start.and_then(|start| start.checked_add(size)).filter(|end| *end <= archive.end);
    let (Some(start), Some(_)) = (start, end) else {
        return Err(damaged("it is beyond the archive".into()));
    };
    if size > MOST_DIRECTORY || count > size {
        let most = MOST_DIRECTORY >> 20;
        return Err(damaged(format!("{count} entries in {size} bytes, at most {most} MiB are read")));
    }
    Ok((file.bytes(start, size as usize)?, count, start))
}

/// Reads an entry of the directory: name, size, and the place of its own header in the archive.
fn entry(rest: &mut Fields<'_>) -> Result<(String, u64, u64), String> {
    let fixed = Fields { bytes: rest.take(46)?, at: 0 };
    if !fixed.bytes.starts_with(b"PK\x01\x02") {
        return Err("an entry has no signature".into());
    }
    let get = |at, width| fixed.peek(at, width);
    let (flags, method) = (get(8, 2)?, get(10, 2)?);
    let (mut packed, mut size, mut local) = (get(20, 4)?, get(24, 4)?, get(42, 4)?);
    let [name, extra, comment] = [get(28, 2)?, get(30, 2)?, get(32, 2)?].map(|length| length as usize);
    let name = String::from_utf8(rest.take(name)?.to_vec()).map_err(|_| "a name is not UTF-8".to_string())?;
    let mut extras = Fields { bytes: rest.take(extra)?, at: 0 };
    rest.take(comment)?;
    while extras.at < extras.bytes.len() {
        let head = Fields { bytes: extras.take(4)?, at: 0 };
        let (id, length) = (head.peek(0, 2)?, head.peek(2, 2)? as usize);
        let mut long = Fields { bytes: extras.take(length)?, at: 0 };
        // Fields of 64 bits follow in this order, each only if its short form is full.
        for value in [&mut size, &mut packed, &mut local] {
            if id == 1 && *value == 0xffff_ffff {
                let bytes = long.take(8)?.try_into().map_err(|_| "a short field".to_string())?;
                *value = u64::from_le_bytes(bytes);
            }
        }
    }
    if flags & 1 != 0 {
        return Err(format!("{name} is encrypted"));
    }
    if method != 0 || packed != size {
        return Err(format!("{name} is compressed, but torch stores entries without compression"));
    }
    Ok((name, size, local))
}

/// Little-endian numbers in bytes.
struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    /// Returns a number at an offset from here.
    fn peek(&self, offset: usize, width: usize) -> Result<u64, String> {
        let bytes = self.bytes.get(self.at + offset..self.at + offset + width);
        let bytes = bytes.ok_or_else(|| "it ends early".to_string())?;
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Returns the next bytes.
    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(length);
        let bytes = end.and_then(|end| self.bytes.get(self.at..end)).ok_or("it ends early")?;
        self.at += length;
        Ok(bytes)
    }
}
