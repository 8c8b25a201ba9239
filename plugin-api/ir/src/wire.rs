//! The encoding of everything that describes itself: records and option values.
//!
//! A value is a list of fields, each a tag (two bytes), a length (four bytes) and that many bytes, little-endian. A
//! field whose tag a reader does not know is skipped, unless its tag has the bit [`CRITICAL`]; a tag never changes its
//! meaning.

use std::fmt;

/// Bytes of a field before its contents.
pub const FIELD_HEADER: usize = 6;

/// The most bytes of the fields of a record, and of a text in one.
pub const MAX_LEN: usize = 64 * 1024;

/// The first bytes of a record.
pub const MAGIC: [u8; 8] = *b"\x89RelaisR";
/// The format of records that this version writes, and the newest it reads.
pub const FORMAT: u32 = 1;
/// Bytes of a record before its fields: magic, format, kind, length of the fields, the bits of the kind inverted, checksum
/// of the fields.
pub const HEADER: usize = 32;

/// The bit of a tag without whose field the others cannot be understood: a reader that does not know it fails.
pub const CRITICAL: u16 = 1 << 15;

/// Writes fields in const evaluation: once to count, once to fill an array of exactly that length.
pub struct Writer<'a> {
    buf: Option<&'a mut [u8]>,
    len: usize,
}

impl<'a> Writer<'a> {
    /// Writes nothing and counts.
    pub const fn counting() -> Self {
        Self { buf: None, len: 0 }
    }

    /// Fills a buffer.
    pub const fn filling(buf: &'a mut [u8]) -> Self {
        Self { buf: Some(buf), len: 0 }
    }

    /// Bytes so far.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes as they are.
    pub const fn raw(&mut self, bytes: &[u8]) {
        self.patch(self.len, bytes);
        self.len += bytes.len();
    }

    /// A field.
    pub const fn field(&mut self, tag: u16, bytes: &[u8]) {
        let start = self.begin(tag);
        self.raw(bytes);
        self.end(start);
    }

    /// A field of text.
    pub const fn text(&mut self, tag: u16, text: &str) {
        self.field(tag, text.as_bytes());
    }

    /// A field for each text.
    pub const fn texts(&mut self, tag: u16, texts: &[&str]) {
        let mut i = 0;
        while i < texts.len() {
            self.text(tag, texts[i]);
            i += 1;
        }
    }

    /// Begins a field that contains fields; pass the result to [`end`](Self::end).
    pub const fn begin(&mut self, tag: u16) -> usize {
        self.raw(&[tag as u8, (tag >> 8) as u8, 0, 0, 0, 0]);
        self.len
    }

    /// Ends a field that [`begin`](Self::begin) began.
    pub const fn end(&mut self, start: usize) {
        let len = self.len - start;
        assert!(len <= u32::MAX as usize, "a field is shorter than 4 GiB");
        self.patch(start - 4, &(len as u32).to_le_bytes());
    }

    /// Begins a record; pass the result to [`end_record`](Self::end_record).
    pub const fn begin_record(&mut self, kind: u32) -> usize {
        self.raw(&MAGIC);
        self.raw(&FORMAT.to_le_bytes());
        self.raw(&kind.to_le_bytes());
        self.raw(&[0; 4]);
        self.raw(&(!kind).to_le_bytes());
        self.raw(&[0; 8]);
        self.len
    }

    /// Ends a record that [`begin_record`](Self::begin_record) began.
    ///
    /// # Panics
    /// If its fields have more than [`MAX_LEN`] bytes.
    pub const fn end_record(&mut self, start: usize) {
        let len = self.len - start;
        assert!(len <= MAX_LEN, "a record, its documentation included, takes at most 64 KiB");
        let checksum = self.checksum_from(start);
        self.patch(start - 16, &(len as u32).to_le_bytes());
        self.patch(start - 8, &checksum.to_le_bytes());
    }

    /// Overwrites bytes.
    pub const fn patch(&mut self, at: usize, bytes: &[u8]) {
        if let Some(buf) = &mut self.buf {
            // Calls are what const evaluation takes most of its time for, and splitting a slice is a dozen of them.
            let (mut i, len) = (0, bytes.len());
            while i < len {
                buf[at + i] = bytes[i];
                i += 1;
            }
        }
    }

    /// The checksum of the bytes from `start` on; 0 while counting.
    pub const fn checksum_from(&self, start: usize) -> u64 {
        match &self.buf {
            Some(buf) => {
                let (written, _) = buf.split_at(self.len);
                checksum(written.split_at(start).1)
            }
            None => 0,
        }
    }
}

/// A checksum against damage, not against intent: two sums, each of every other word, that a processor computes side by
/// side.
pub const fn checksum(bytes: &[u8]) -> u64 {
    let mut even = 0x9e37_79b9_7f4a_7c15 ^ bytes.len() as u64;
    let mut odd = 0;
    let (pairs, rest) = bytes.as_chunks::<16>();
    let (mut i, len) = (0, pairs.len());
    while i < len {
        let pair = u128::from_le_bytes(pairs[i]);
        even = mix(even, pair as u64);
        odd = mix(odd, (pair >> 64) as u64);
        i += 1;
    }
    if !rest.is_empty() {
        let mut pair = 0;
        let mut at = 0;
        while at < rest.len() {
            pair |= (rest[at] as u128) << (8 * at);
            at += 1;
        }
        even = mix(even, pair as u64);
        odd = mix(odd, (pair >> 64) as u64);
    }
    let hash = mix(even, odd);
    hash ^ (hash >> 29)
}

/// One step of a checksum or fingerprint.
#[expect(clippy::manual_rotate, reason = "a call takes const evaluation longer than everything else here")]
pub const fn mix(hash: u64, word: u64) -> u64 {
    let hash = ((hash << 5 | hash >> 59) ^ word).wrapping_mul(0xf135_7aea_2e62_a9c5);
    hash ^ (hash >> 32)
}

/// Whether two texts are equal, in const evaluation.
pub const fn is_equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Bytes that are not a list of fields, or a field whose contents do not match its tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// A field is longer than its container.
    Length,
    /// Text is not UTF-8.
    Text,
    /// A number has another width.
    Number,
    /// A field that must be there is not.
    Missing(&'static str),
    /// Fields are nested deeper than anything needs.
    Depth,
    /// A field of this tag is of a later version, and must not be skipped.
    Critical(u16),
    /// Something is of a later version, and cannot be left out.
    Later(&'static str),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => f.write_str("a field is longer than what holds it"),
            Self::Text => f.write_str("text is not UTF-8"),
            Self::Number => f.write_str("a number has the wrong width"),
            Self::Missing(what) => write!(f, "the {what} is missing"),
            Self::Depth => f.write_str("fields are nested too deep"),
            Self::Later(what) => {
                write!(f, "the {what} is of a later version, and nothing can be understood without it")
            }
            Self::Critical(tag) => {
                write!(f, "its field {tag:#06x} is of a later version, and nothing can be understood without it")
            }
        }
    }
}

impl std::error::Error for Malformed {}

/// A field of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field<'a> {
    /// The tag.
    pub tag: u16,
    /// Its contents.
    pub bytes: &'a [u8],
}

impl<'a> Field<'a> {
    /// Skips a field that the reader does not know.
    ///
    /// # Errors
    /// Returns an error if its tag is critical.
    pub const fn skip(self) -> Result<(), Malformed> {
        if self.tag & CRITICAL == 0 { Ok(()) } else { Err(Malformed::Critical(self.tag)) }
    }

    /// Its contents as text.
    ///
    /// # Errors
    /// Returns an error if they are not UTF-8.
    #[inline]
    pub fn text(self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes).map_err(|_| Malformed::Text)
    }

    /// Its contents as bytes of a number.
    ///
    /// # Errors
    /// Returns an error if the width differs.
    pub fn array<const N: usize>(self) -> Result<[u8; N], Malformed> {
        self.bytes.try_into().map_err(|_| Malformed::Number)
    }

    /// Its contents as a number.
    ///
    /// # Errors
    /// Returns an error if the width differs.
    pub fn u8(self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    /// Its contents as a number.
    ///
    /// # Errors
    /// Returns an error if the width differs.
    pub fn u16(self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    /// Its contents as a number.
    ///
    /// # Errors
    /// Returns an error if the width differs.
    pub fn u32(self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// Its contents as a number.
    ///
    /// # Errors
    /// Returns an error if the width differs.
    pub fn u64(self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// Its contents as a number.
    ///
    /// # Errors
    /// Returns an error if the width differs.
    pub fn i64(self) -> Result<i64, Malformed> {
        self.array().map(i64::from_le_bytes)
    }

    /// Its contents as a number.
    ///
    /// # Errors
    /// Returns an error if the width differs.
    pub fn f64(self) -> Result<f64, Malformed> {
        self.array().map(f64::from_le_bytes)
    }
}

/// The fields of a list.
#[derive(Clone, Copy)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Reads a list.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let (&[a, b, c, d, e, f], rest) = match self.rest.split_first_chunk::<FIELD_HEADER>() {
            Some(split) => split,
            None if self.rest.is_empty() => return None,
            None => {
                self.rest = &[];
                return Some(Err(Malformed::Length));
            }
        };
        let len = u32::from_le_bytes([c, d, e, f]) as usize;
        let Some((bytes, rest)) = rest.split_at_checked(len) else {
            self.rest = &[];
            return Some(Err(Malformed::Length));
        };
        self.rest = rest;
        Some(Ok(Field { tag: u16::from_le_bytes([a, b]), bytes }))
    }
}

/// Appends a field to a vector.
pub fn push_field(out: &mut Vec<u8>, tag: u16, bytes: &[u8]) {
    out.extend_from_slice(&tag.to_le_bytes());
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn write(w: &mut Writer<'_>) {
        w.text(1, "ab");
        let start = w.begin(2);
        w.field(3, &7u32.to_le_bytes());
        w.end(start);
    }

    const LEN: usize = {
        let mut w = Writer::counting();
        write(&mut w);
        w.len()
    };
    const BYTES: [u8; LEN] = {
        let mut buf = [0; LEN];
        write(&mut Writer::filling(&mut buf));
        buf
    };

    #[test]
    fn what_const_evaluation_wrote_reads_back() {
        let fields: Vec<Field<'_>> = Fields::new(&BYTES).collect::<Result<_, _>>().unwrap();
        assert_eq!(fields[0].text(), Ok("ab"));
        assert_eq!(Fields::new(fields[1].bytes).next().unwrap().unwrap().u32(), Ok(7));
    }

    #[test]
    fn a_cut_list_is_an_error_at_every_length_but_between_fields() {
        for len in 0..LEN {
            let result: Result<Vec<_>, _> = Fields::new(&BYTES[..len]).collect();
            assert_eq!(result.is_ok(), len == 0 || len == 8, "{len}");
        }
    }

    #[test]
    fn what_is_not_known_is_skipped_unless_it_is_critical() {
        let field = |tag| Field { tag, bytes: &[] };
        assert_eq!(field(CRITICAL - 1).skip(), Ok(()));
        assert_eq!(field(CRITICAL | 3).skip(), Err(Malformed::Critical(0x8003)));
    }

    #[test]
    fn an_absurd_length_is_an_error() {
        let bytes = [1, 0, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(Fields::new(&bytes).next(), Some(Err(Malformed::Length)));
    }

    #[test]
    fn a_checksum_sees_every_bit() {
        for len in 0..40 {
            let whole = [0x5a; 40];
            let sum = checksum(&whole[..len]);
            for bit in 0..len * 8 {
                let mut bytes = whole;
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert_ne!(checksum(&bytes[..len]), sum, "bit {bit} of {len} bytes");
            }
        }
    }

    #[test]
    fn a_checksum_sees_zeros_and_the_order_of_words() {
        let sums: std::collections::BTreeSet<u64> = (0..40).map(|len| checksum(&[0; 40][..len])).collect();
        assert_eq!(sums.len(), 40);
        let words = |order: [u8; 4]| checksum(order.map(|byte| [byte; 8]).as_flattened());
        let orders = [[1, 2, 3, 4], [2, 1, 3, 4], [3, 2, 1, 4], [1, 4, 3, 2], [1, 2, 4, 3], [3, 4, 1, 2]];
        assert_eq!(orders.map(words).into_iter().collect::<std::collections::BTreeSet<_>>().len(), orders.len());
    }
}
