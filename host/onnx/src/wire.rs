//! The protobuf wire format: a scanner that keeps every field's exact bytes, and the functions with which the writer
//! makes fields.

use super::error::{ErrorKind, OnnxError, Result, WireFault};

/// The wire types.
pub(crate) mod wire_type {
    pub const VARINT: u8 = 0;
    pub const FIXED64: u8 = 1;
    pub const LEN: u8 = 2;
    pub const GROUP: u8 = 3;
    pub const END_GROUP: u8 = 4;
    pub const FIXED32: u8 = 5;
}

/// A stretch of the source: where it starts and how long it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Part {
    pub at: u64,
    pub len: u64,
}

impl Part {
    /// The bytes of a part of `bytes`.
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.at as usize..][..self.len as usize]
    }
}

/// One field of a message.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    pub number: u32,
    pub wire: u8,
    /// Where the field starts in the source.
    pub at: u64,
    /// The whole field, tag included.
    pub raw: &'a [u8],
    /// The value of a varint or a fixed-width field.
    value: u64,
    /// The bytes of a length-delimited field.
    data: &'a [u8],
}

impl<'a> Field<'a> {
    #[inline]
    fn expect(&self, wire: u8) -> Result<()> {
        if self.wire == wire {
            return Ok(());
        }
        Err(OnnxError::at(self.at, ErrorKind::WireType { field: self.number, found: self.wire, expected: wire }))
    }

    /// The bytes of a length-delimited field.
    #[inline]
    pub fn bytes(&self) -> Result<&'a [u8]> {
        self.expect(wire_type::LEN)?;
        Ok(self.data)
    }

    /// Returns the position of the bytes of a length-delimited field.
    #[inline]
    pub fn part(&self) -> Result<Part> {
        let len = self.bytes()?.len() as u64;
        Ok(Part { at: self.at + self.raw.len() as u64 - len, len })
    }

    /// Returns the place of the whole field.
    #[inline]
    pub fn whole(&self) -> Part {
        Part { at: self.at, len: self.raw.len() as u64 }
    }

    /// The text of a length-delimited field.
    #[inline]
    pub fn str(&self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| OnnxError::at(self.at, ErrorKind::NotUtf8))
    }

    /// The bytes of a length-delimited field that is text.
    #[inline]
    pub fn text(&self) -> Result<&'a [u8]> {
        let bytes = self.bytes()?;
        if is_text(bytes) { Ok(bytes) } else { Err(OnnxError::at(self.at, ErrorKind::NotUtf8)) }
    }

    /// The value of a varint.
    pub fn int(&self) -> Result<i64> {
        self.expect(wire_type::VARINT)?;
        Ok(self.value as i64)
    }

    /// The value of a 32-bit float.
    pub fn float(&self) -> Result<f32> {
        self.expect(wire_type::FIXED32)?;
        Ok(f32::from_bits(self.value as u32))
    }

    /// The values of a repeated varint field, packed or not.
    pub fn ints(&self, mut add: impl FnMut(i64)) -> Result<()> {
        if self.wire != wire_type::LEN {
            add(self.int()?);
            return Ok(());
        }
        let mut scan = Scan::new(self.data, self.part()?.at);
        while scan.pos < scan.bytes.len() {
            add(scan.varint()? as i64);
        }
        Ok(())
    }

    /// The little-endian bytes of a repeated fixed-width field of `width` bytes, packed or not.
    pub fn fixed(&self, width: usize, mut add: impl FnMut(&[u8])) -> Result<()> {
        if self.wire == wire_type::LEN {
            if !self.data.len().is_multiple_of(width) {
                return Err(OnnxError::at(self.at, ErrorKind::Packed { field: self.number, width }));
            }
            add(self.data);
            return Ok(());
        }
        self.expect(if width == 4 { wire_type::FIXED32 } else { wire_type::FIXED64 })?;
        add(&self.value.to_le_bytes()[..width]);
        Ok(())
    }
}

/// Whether bytes are UTF-8. Names are short and nearly always ASCII, which is sooner checked than decoded.
#[inline]
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    bytes.is_ascii() || std::str::from_utf8(bytes).is_ok()
}

/// Walks the fields of one message.
pub(crate) struct Scan<'a> {
    bytes: &'a [u8],
    pos: usize,
    /// Where `bytes` starts in the source.
    base: u64,
}

impl<'a> Scan<'a> {
    pub fn new(bytes: &'a [u8], base: u64) -> Self {
        Self { bytes, pos: 0, base }
    }

    /// The fields of a part of the source.
    pub fn part(source: &'a [u8], part: Part) -> Self {
        Self::new(part.of(source), part.at)
    }

    fn fail<T>(&self, at: usize, fault: WireFault) -> Result<T> {
        Err(OnnxError::at(self.base + at as u64, ErrorKind::Wire(fault)))
    }

    fn varint(&mut self) -> Result<u64> {
        let start = self.pos;
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let Some(&byte) = self.bytes.get(self.pos) else {
                return self.fail(start, WireFault::Truncated);
            };
            self.pos += 1;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        self.fail(start, WireFault::LongVarint)
    }

    fn take(&mut self, start: usize, len: u64) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.pos..];
        if len > rest.len() as u64 {
            return self.fail(start, WireFault::PastEnd { len, left: rest.len() as u64 });
        }
        self.pos += len as usize;
        Ok(&rest[..len as usize])
    }

    fn fixed_value(&mut self, start: usize, width: usize) -> Result<u64> {
        let mut value = [0; 8];
        value[..width].copy_from_slice(self.take(start, width as u64)?);
        Ok(u64::from_le_bytes(value))
    }

    fn tag(&mut self) -> Result<(u32, u8)> {
        let start = self.pos;
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).ok().filter(|number| (1..1 << 29).contains(number));
        match number {
            Some(number) => Ok((number, (tag & 7) as u8)),
            None => self.fail(start, WireFault::Tag(tag)),
        }
    }

    /// Skips a group, whose start tag is read; groups nest.
    fn skip_group(&mut self, start: usize, number: u32) -> Result<()> {
        let mut open = vec![number];
        while let Some(&innermost) = open.last() {
            if self.pos == self.bytes.len() {
                return self.fail(start, WireFault::Group);
            }
            let at = self.pos;
            match self.tag()? {
                (number, wire_type::GROUP) => open.push(number),
                (number, wire_type::END_GROUP) if number == innermost => drop(open.pop()),
                (_, wire) => drop(self.value(at, wire)?),
            }
        }
        Ok(())
    }

    fn value(&mut self, start: usize, wire: u8) -> Result<(u64, &'a [u8])> {
        Ok(match wire {
            wire_type::VARINT => (self.varint()?, &[]),
            wire_type::FIXED64 => (self.fixed_value(start, 8)?, &[]),
            wire_type::FIXED32 => (self.fixed_value(start, 4)?, &[]),
            wire_type::LEN => {
                let len = self.varint()?;
                (0, self.take(start, len)?)
            }
            wire_type::END_GROUP => return self.fail(start, WireFault::Group),
            other => return self.fail(start, WireFault::WireType(other)),
        })
    }

    /// The next field; `None` at the end of the message.
    #[inline]
    pub fn field(&mut self) -> Result<Option<Field<'a>>> {
        let rest = &self.bytes[self.pos..];
        // Nearly every field is length-delimited, with a tag and a length of one byte each.
        if let &[tag @ 8..0x80, len @ 0..0x80, ref content @ ..] = rest
            && tag & 7 == wire_type::LEN
            && let Some(data) = content.get(..len.into())
        {
            let at = self.base + self.pos as u64;
            let raw = &rest[..2 + data.len()];
            self.pos += raw.len();
            return Ok(Some(Field { number: (tag >> 3).into(), wire: wire_type::LEN, at, raw, value: 0, data }));
        }
        if rest.is_empty() { Ok(None) } else { self.any_field().map(Some) }
    }

    fn any_field(&mut self) -> Result<Field<'a>> {
        let start = self.pos;
        let (number, wire) = self.tag()?;
        let (value, data): (u64, &[u8]) = if wire == wire_type::GROUP {
            self.skip_group(start, number)?;
            (0, &[])
        } else {
            self.value(start, wire)?
        };
        let raw = &self.bytes[start..self.pos];
        Ok(Field { number, wire, at: self.base + start as u64, raw, value, data })
    }
}

/// Appends a varint.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a field's tag.
pub(crate) fn put_tag(out: &mut Vec<u8>, number: u32, wire: u8) {
    put_varint(out, u64::from(number) << 3 | u64::from(wire));
}

/// Appends a length-delimited field.
pub(crate) fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_tag(out, number, wire_type::LEN);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a varint field.
pub(crate) fn put_int(out: &mut Vec<u8>, number: u32, value: i64) {
    put_tag(out, number, wire_type::VARINT);
    put_varint(out, value as u64);
}

/// Appends a 32-bit float field.
pub(crate) fn put_float(out: &mut Vec<u8>, number: u32, value: f32) {
    put_tag(out, number, wire_type::FIXED32);
    out.extend_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(bytes: &[u8]) -> WireFault {
        let mut scan = Scan::new(bytes, 0);
        loop {
            match scan.field() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("no fault in {bytes:?}"),
                Err(error) => match error.kind() {
                    ErrorKind::Wire(fault) => return fault.clone(),
                    other => panic!("{other:?}"),
                },
            }
        }
    }

    #[test]
    fn fields_keep_their_bytes() {
        let bytes = [0x08, 0x96, 0x81, 0x00, 0x12, 0x02, b'h', b'i', 0x1b, 0x08, 0x01, 0x1c];
        let mut scan = Scan::new(&bytes, 100);
        let int = scan.field().unwrap().unwrap();
        assert_eq!((int.number, int.int().unwrap(), int.raw), (1, 150, &bytes[..4]));
        let text = scan.field().unwrap().unwrap();
        assert_eq!((text.str().unwrap(), text.part().unwrap()), ("hi", Part { at: 106, len: 2 }));
        let group = scan.field().unwrap().unwrap();
        assert_eq!((group.wire, group.raw), (wire_type::GROUP, &bytes[8..]));
        assert!(scan.field().unwrap().is_none());
    }

    #[test]
    fn damage_is_a_fault() {
        assert_eq!(fault(&[0x08]), WireFault::Truncated);
        assert_eq!(fault(&[0x08, 0x80]), WireFault::Truncated);
        assert_eq!(fault(&[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]), WireFault::LongVarint);
        assert_eq!(fault(&[0x12, 0x05, 1]), WireFault::PastEnd { len: 5, left: 1 });
        assert_eq!(fault(&[0x00, 0x05]), WireFault::Tag(0));
        assert_eq!(fault(&[0x0b, 0x14]), WireFault::Group);
        assert_eq!(fault(&[0x0c]), WireFault::Group);
        assert_eq!(fault(&[0x0e]), WireFault::WireType(6));
    }

    #[test]
    fn deep_groups_do_not_recurse() {
        let mut bytes = vec![0x0b; 1_000_000];
        bytes.extend(vec![0x0c; 1_000_000]);
        assert!(Scan::new(&bytes, 0).field().unwrap().is_some());
    }

    #[test]
    fn a_wrong_wire_type_names_the_field() {
        let field = Scan::new(&[0x08, 1], 7).field().unwrap().unwrap();
        let error = field.bytes().unwrap_err();
        assert!(error.to_string().contains("field 1"), "{error}");
        assert_eq!(error.offset(), Some(7));
    }
}
