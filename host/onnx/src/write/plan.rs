//! The data to write, as a flat list of pieces whose sizes are known before the first byte is written.

use crate::wire::{Part, put_tag, put_varint, wire_type};
use relais_files::mapped::file_stamp;
use relais_plugin_api::ir::{Blob, Tensor};
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};

/// Slices from here on are taken by reference, not copied into the plan.
pub(super) const BY_REFERENCE: u64 = 4096;

/// Slices of a file from here on are copied from file to file.
const FILE_TO_FILE: u64 = 1 << 20;

enum Piece {
    /// Bytes made here.
    Made {
        at: usize,
        len: usize,
    },
    /// Bytes of the model that was read.
    Source(Part),
    Bytes(Blob),
    /// The elements of a splat, written out.
    Splat(Tensor),
    /// The tag and length of a message that is still open.
    Open,
}

/// The header that a message had in the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// Tag and length.
    pub part: Part,
    /// Its stored length.
    pub len: u64,
}

struct OpenMessage {
    piece: usize,
    /// The plan's size where the content starts.
    start: u64,
    number: u32,
    header: Option<Header>,
}

/// The pieces of a file.
pub(super) struct Plan {
    made: Vec<u8>,
    pieces: Vec<Piece>,
    size: u64,
    open: Vec<OpenMessage>,
    source: Blob,
    from_source: u64,
}

impl Plan {
    /// An empty plan; [`source`](Plan::source) copies from `source`.
    pub fn new(source: Blob) -> Self {
        Self { made: Vec::new(), pieces: Vec::new(), size: 0, open: Vec::new(), source, from_source: 0 }
    }

    /// Bytes in total.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes that are copied from the model that was read.
    pub fn source_bytes(&self) -> u64 {
        self.from_source
    }

    /// Begins a message; its size is filled in when it ends. The source's header is kept where it still is right.
    pub fn begin(&mut self, number: u32, header: Option<Header>) {
        self.open.push(OpenMessage { piece: self.pieces.len(), start: self.size, number, header });
        self.pieces.push(Piece::Open);
    }

    /// Ends the innermost message.
    pub fn end(&mut self) {
        let Some(OpenMessage { piece, start, number, header }) = self.open.pop() else { return };
        let len = self.size - start;
        match header.filter(|header| header.len == len) {
            Some(header) => {
                self.size += header.part.len;
                self.from_source += header.part.len;
                self.pieces[piece] = Piece::Source(header.part);
            }
            None => {
                let at = self.made.len();
                put_tag(&mut self.made, number, wire_type::LEN);
                put_varint(&mut self.made, len);
                let len = self.made.len() - at;
                self.size += len as u64;
                self.pieces[piece] = Piece::Made { at, len };
            }
        }
    }

    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let at = self.made.len();
        self.made.extend_from_slice(bytes);
        self.size += bytes.len() as u64;
        match self.pieces.last_mut() {
            Some(Piece::Made { at: last, len }) if *last + *len == at => *len += bytes.len(),
            _ => self.pieces.push(Piece::Made { at, len: bytes.len() }),
        }
    }

    /// Adds a part of the model that was read.
    pub fn source(&mut self, part: Part) {
        if part.len == 0 {
            return;
        }
        self.size += part.len;
        self.from_source += part.len;
        match self.pieces.last_mut() {
            Some(Piece::Source(last)) if last.at + last.len == part.at => last.len += part.len,
            _ => self.pieces.push(Piece::Source(part)),
        }
    }

    /// Adds bytes by reference.
    pub fn blob(&mut self, blob: &Blob) {
        if (blob.len() as u64) < BY_REFERENCE {
            return self.bytes(blob);
        }
        self.size += blob.len() as u64;
        self.pieces.push(Piece::Bytes(blob.clone()));
    }

    /// Adds the elements of a tensor.
    pub fn elements(&mut self, tensor: &Tensor) {
        match tensor.as_dense() {
            Some(blob) => self.blob(blob),
            None if tensor.byte_len() < BY_REFERENCE => self.bytes(&tensor.to_bytes()),
            None => {
                self.size = self.size.saturating_add(tensor.byte_len());
                self.pieces.push(Piece::Splat(tensor.clone()));
            }
        }
    }

    /// Adds zeros up to a multiple of `alignment`.
    pub fn align(&mut self, alignment: u64) {
        let missing = self.size.next_multiple_of(alignment) - self.size;
        self.bytes(&vec![0; missing as usize]);
    }

    /// Writes everything to a file, large slices of files from file to file.
    pub fn write_to_file(&self, out: &mut File) -> io::Result<()> {
        let mut writer = io::BufWriter::with_capacity(1 << 18, out);
        let mut files = Vec::new();
        for piece in &self.pieces {
            let blob = match piece {
                Piece::Source(part) if part.len >= FILE_TO_FILE => self.source.slice(part.at, part.len),
                Piece::Bytes(blob) if blob.len() as u64 >= FILE_TO_FILE => Some(blob.clone()),
                _ => None,
            };
            let Some(blob) = blob else {
                self.write_piece(piece, &mut writer)?;
                continue;
            };
            let Some(file) = reopen(&mut files, &blob) else {
                write_blob(&blob, &mut writer)?;
                continue;
            };
            writer.flush()?;
            file.seek(SeekFrom::Start(blob.file().map_or(0, |file| file.start)))?;
            let len = blob.len() as u64;
            if io::copy(&mut Read::by_ref(file).take(len), *writer.get_mut())? != len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        writer.flush()?;
        self.check_files()
    }

    /// Writes everything.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let mut writer = io::BufWriter::with_capacity(1 << 18, out);
        for piece in &self.pieces {
            self.write_piece(piece, &mut writer)?;
        }
        writer.flush()?;
        self.check_files()
    }

    /// Whether all bytes are still those that were read.
    fn check_files(&self) -> io::Result<()> {
        let blobs = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Bytes(blob) => Some(blob),
            _ => None,
        });
        let mut last = "";
        for file in [&self.source].into_iter().chain(blobs).filter_map(Blob::file) {
            if file.path != last && file.stamp == 0 {
                return Err(io::Error::other(format!(
                    "`{}` was changed by another process while it was in use; run again, and leave it alone meanwhile",
                    file.path
                )));
            }
            last = file.path;
        }
        Ok(())
    }

    fn write_piece(&self, piece: &Piece, out: &mut impl Write) -> io::Result<()> {
        match piece {
            Piece::Made { at, len } => out.write_all(&self.made[*at..*at + *len]),
            Piece::Source(part) => out.write_all(part.of(&self.source)),
            Piece::Bytes(blob) => write_blob(blob, out),
            Piece::Splat(tensor) => write_splat(tensor, out),
            Piece::Open => Err(io::Error::other("a message was left open")),
        }
    }
}

fn write_blob(blob: &Blob, out: &mut impl Write) -> io::Result<()> {
    out.write_all(blob)
}

/// Writes a splat piece by piece: it may be far larger than memory.
fn write_splat(tensor: &Tensor, out: &mut impl Write) -> io::Result<()> {
    let element = tensor.as_splat().unwrap_or_default();
    let bits = u64::from(tensor.elem().bits());
    let count = tensor.len();
    if bits >= 8 {
        let chunk = element.repeat((1 << 16) / element.len());
        let mut left = tensor.byte_len();
        while left > 0 {
            let len = left.min(chunk.len() as u64);
            out.write_all(&chunk[..len as usize])?;
            left -= len;
        }
        return Ok(());
    }
    // Types under a byte: all bytes are alike but the last.
    let per_byte = 8 / bits;
    let value = element.first().copied().unwrap_or(0) & ((1 << bits) - 1);
    let full = (0..per_byte).fold(0u8, |byte, index| byte | value << (index * bits));
    let chunk = vec![full; 1 << 16];
    let mut left = count / per_byte;
    while left > 0 {
        let len = left.min(chunk.len() as u64);
        out.write_all(&chunk[..len as usize])?;
        left -= len;
    }
    match count % per_byte {
        0 => Ok(()),
        rest => out.write_all(&[full & ((1u16 << (rest * bits)) - 1) as u8]),
    }
}

/// The file that a blob maps, opened again, if it still is the file that was mapped.
fn reopen<'a>(files: &'a mut Vec<(String, u64, Option<File>)>, blob: &Blob) -> Option<&'a mut File> {
    let slice = blob.file()?;
    let known = files.iter().position(|(path, stamp, _)| path == slice.path && *stamp == slice.stamp);
    let index = known.unwrap_or_else(|| {
        let file = File::open(slice.path).ok();
        let file = file.filter(|file| file.metadata().is_ok_and(|metadata| file_stamp(&metadata) == slice.stamp));
        files.push((slice.path.to_owned(), slice.stamp, file));
        files.len() - 1
    });
    files[index].2.as_mut()
}

#[cfg(test)]
mod tests {
    use super::*;
    use relais_plugin_api::ir::ElemType;

    #[test]
    fn messages_nest_and_keep_headers_that_still_fit() {
        let source: Vec<u8> = vec![0x0a, 0x83, 0x00, 1, 2, 3];
        let header = Header { part: Part { at: 0, len: 3 }, len: 3 };
        let mut plan = Plan::new(source.into());
        plan.begin(1, Some(header));
        plan.source(Part { at: 3, len: 3 });
        plan.end();
        plan.begin(1, Some(header));
        plan.begin(2, None);
        plan.bytes(b"x");
        plan.end();
        plan.bytes(b"y");
        plan.end();
        let mut out = Vec::new();
        plan.write_to(&mut out).unwrap();
        assert_eq!(out, [0x0a, 0x83, 0x00, 1, 2, 3, 0x0a, 4, 0x12, 1, b'x', b'y']);
        assert_eq!(plan.size(), out.len() as u64);
    }

    #[test]
    fn splats_are_written_out() {
        for (elem, element) in
            [(ElemType::INT4, &[5u8][..]), (ElemType::UINT2, &[3]), (ElemType::FLOAT, &[0, 0, 128, 63])]
        {
            let tensor = Tensor::splat(elem, &[100_003], element).unwrap();
            let mut plan = Plan::new(Blob::default());
            plan.elements(&tensor);
            let mut out = Vec::new();
            plan.write_to(&mut out).unwrap();
            assert_eq!(out, &*tensor.to_bytes());
        }
    }
}
