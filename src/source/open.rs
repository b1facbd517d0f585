//! Owns opening an input: gzip and zstd files are read through their decoder, UTF-16 text is turned into UTF-8.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};

use super::Input;

const GZIP: &[u8] = &[0x1F, 0x8B];
const ZSTD: &[u8] = &[0x28, 0xB5, 0x2F, 0xFD];
/// Largest zstd window that is accepted (2^26 bytes): a frame decides how much memory its decoder needs.
const ZSTD_WINDOW_LOG: u32 = 26;

/// What the system, or a decoder, said of a file, and what to do about it.
pub fn told(error: &io::Error) -> String {
    format!("{error}: {}", remedy(error))
}

/// [`told`] of whatever ended the reading of a file.
pub fn told_of(error: &anyhow::Error) -> String {
    match error.chain().find_map(|cause| cause.downcast_ref::<io::Error>()) {
        Some(cause) => format!("{error:#}: {}", remedy(cause)),
        None => format!("{error:#}"),
    }
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "make it readable for yourself, then try again",
        io::ErrorKind::NotFound => "it vanished while it was read, try again",
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof | io::ErrorKind::Other => {
            "the file is damaged or still being written; try again later, restore it from a copy, or leave it out"
        }
        _ => "mend what the system says, then try again",
    }
}

/// Opens a file for reading as text, told by its first bytes and never by its name. Offsets and lines that a reader reports
/// are those of the decoded text.
pub fn open(input: &Input) -> io::Result<Box<dyn Read + Send>> {
    decode(input.open()?)
}

/// The file from a byte on, where its bytes are its text; `None` where a decoder stands between.
pub fn plain_from(input: &Input, offset: u64) -> io::Result<Option<File>> {
    let mut file = input.open()?;
    let magic = magic_of(&mut file)?;
    if [GZIP, ZSTD, &[0xFF, 0xFE], &[0xFE, 0xFF]].iter().any(|m| magic.starts_with(m)) {
        return Ok(None);
    }
    file.seek(io::SeekFrom::Start(offset))?;
    Ok(Some(file))
}

/// The first bytes, by which an encoding is told.
fn magic_of(file: &mut File) -> io::Result<Vec<u8>> {
    let mut magic = Vec::with_capacity(4);
    file.take(4).read_to_end(&mut magic)?;
    Ok(magic)
}

fn decode(mut file: File) -> io::Result<Box<dyn Read + Send>> {
    let magic = magic_of(&mut file)?;
    let utf16 = match magic.as_slice() {
        [0xFF, 0xFE, ..] => Some(false),
        [0xFE, 0xFF, ..] => Some(true),
        _ => None,
    };
    let (gzip, zstd) = (magic.starts_with(GZIP), magic.starts_with(ZSTD));
    let whole = Cursor::new(magic).chain(file);
    if gzip {
        return Ok(Box::new(flate2::read::MultiGzDecoder::new(BufReader::with_capacity(256 << 10, whole))));
    }
    if zstd {
        let mut decoder = zstd::stream::read::Decoder::new(whole)?;
        decoder.window_log_max(ZSTD_WINDOW_LOG)?;
        return Ok(Box::new(decoder));
    }
    if let Some(big_endian) = utf16 {
        return Ok(Box::new(Utf16 { inner: BufReader::with_capacity(256 << 10, whole), big_endian, high: None, ready: Vec::new(), at: 0 }));
    }
    Ok(Box::new(whole))
}

/// Turns UTF-16 into UTF-8 while reading; halves of pairs become U+FFFD.
struct Utf16<R> {
    inner: R,
    big_endian: bool,
    /// The first half of a pair whose second half is not read yet.
    high: Option<u16>,
    ready: Vec<u8>,
    at: usize,
}

impl<R: Read> Utf16<R> {
    fn fill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.at = 0;
        let mut raw = Vec::with_capacity(64 << 10);
        (&mut self.inner).take(64 << 10).read_to_end(&mut raw)?;
        let ended = raw.is_empty();
        let mut units: Vec<u16> = self.high.take().into_iter().collect();
        for pair in raw.chunks(2) {
            match *pair {
                [a, b] => units.push(if self.big_endian { u16::from_be_bytes([a, b]) } else { u16::from_le_bytes([a, b]) }),
                // Half a unit at the end of the file.
                _ => units.push(0xFFFD),
            }
        }
        if !ended && let Some(last) = units.pop_if(|u| (0xD800..0xDC00).contains(u)) {
            self.high = Some(last);
        }
        let text: String = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        self.ready = text.into_bytes();
        if self.ready.is_empty() && !ended {
            return self.fill();
        }
        Ok(())
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.ready.len() {
            self.fill()?;
        }
        let n = into.len().min(self.ready.len() - self.at);
        into[..n].copy_from_slice(&self.ready[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn text_of(bytes: &[u8]) -> io::Result<String> {
        let mut file = tempfile::tempfile()?;
        file.write_all(bytes)?;
        io::Seek::rewind(&mut file)?;
        let mut text = String::new();
        decode(file)?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn gzip_zstd_utf16_and_plain_files_give_the_same_text() {
        let text = "{\"a\":1}\n{\"b\":\"é😀\"}\n".repeat(5_000);
        let mut gzip = Vec::new();
        for part in [&text.as_bytes()[..100], &text.as_bytes()[100..]] {
            let mut encoder = flate2::write::GzEncoder::new(&mut gzip, flate2::Compression::fast());
            encoder.write_all(part).unwrap();
            encoder.finish().unwrap();
        }
        let mut zstd = zstd::encode_all(&text.as_bytes()[..100], 1).unwrap();
        zstd.extend(zstd::encode_all(&text.as_bytes()[100..], 1).unwrap());
        let utf16 = |big: bool| -> Vec<u8> {
            let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
            units.flat_map(|u| if big { u.to_be_bytes() } else { u.to_le_bytes() }).collect()
        };
        assert_eq!(text_of(text.as_bytes()).unwrap(), text);
        assert_eq!(text_of(&gzip).unwrap(), text);
        assert_eq!(text_of(&zstd).unwrap(), text);
        for big in [false, true] {
            assert_eq!(text_of(&utf16(big)).unwrap().trim_start_matches('\u{FEFF}'), text, "big endian: {big}");
        }
    }

    #[test]
    fn short_files_are_read_as_they_are_and_a_broken_archive_is_an_error() {
        for short in ["", "a", "{}\n"] {
            assert_eq!(text_of(short.as_bytes()).unwrap(), short);
        }
        assert!(text_of(&[0x1F, 0x8B, 1, 2, 3]).is_err());
        assert!(text_of(&[0x28, 0xB5, 0x2F, 0xFD, 9, 9, 9]).is_err());
    }
}
