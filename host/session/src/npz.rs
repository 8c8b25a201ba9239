//! Files of NumPy: `.npy`, an array, and `.npz`, arrays with names, each a file `NAME.npy` in a zip archive.

use relais::{
    files::{self, Existing},
    ir::{ElemType, Tensor, element_count},
};
use std::{
    fs::File,
    io::{self, BufReader, Cursor, Read, Write},
    path::Path,
};
use zip::{CompressionMethod, ZipArchive, ZipWriter, result::ZipError, write::SimpleFileOptions};

/// The first bytes of an array.
const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The most bytes of an array.
const MAX_SIZE: u64 = 1 << 34;

/// The most bytes of an array's description.
const MAX_HEADER: u64 = 1 << 16;

/// Element types whose elements NumPy stores as this library does.
const PLAIN: [(ElemType, &str); 12] = [
    (ElemType::BOOL, "|b1"),
    (ElemType::INT8, "|i1"),
    (ElemType::UINT8, "|u1"),
    (ElemType::INT16, "<i2"),
    (ElemType::UINT16, "<u2"),
    (ElemType::INT32, "<i4"),
    (ElemType::UINT32, "<u4"),
    (ElemType::INT64, "<i8"),
    (ElemType::UINT64, "<u8"),
    (ElemType::FLOAT16, "<f2"),
    (ElemType::FLOAT, "<f4"),
    (ElemType::DOUBLE, "<f8"),
];

/// Reads all arrays of a file, in its order.
///
/// # Errors
/// Returns an error if it cannot be read, or an array is not a tensor.
pub fn read(path: &Path) -> Result<Vec<(String, Tensor)>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| match error {
        ZipError::Io(error) => error.to_string(),
        _ => "it is not an archive of arrays".to_owned(),
    })?;
    let mut arrays = Vec::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(|error| error.to_string())?;
        let name = entry.name().map_err(|error| error.to_string())?.into_owned();
        let name = name.strip_suffix(".npy").unwrap_or(&name).to_owned();
        let tensor = array(&mut entry).map_err(|error| format!("array `{name}`: {error}"))?;
        arrays.push((name, tensor));
    }
    Ok(arrays)
}

/// Reads an array.
fn array(bytes: &mut dyn Read) -> Result<Tensor, String> {
    let io = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => "it ends early".to_owned(),
        _ => error.to_string(),
    };
    let mut start = [0; 8];
    bytes.read_exact(&mut start).map_err(io)?;
    if !start.starts_with(MAGIC) {
        return Err("it is not an array of NumPy".to_owned());
    }
    let mut len = [0; 4];
    bytes.read_exact(if start[6] == 1 { &mut len[..2] } else { &mut len }).map_err(io)?;
    let mut header = String::new();
    let len = u64::from(u32::from_le_bytes(len)).min(MAX_HEADER);
    bytes.take(len).read_to_string(&mut header).map_err(io)?;
    let Header { descr, is_fortran, dims } = Header::parse(&header).ok_or("its description cannot be parsed")?;
    let (elem, width) = element(&descr)?;
    let size = element_count(&dims).and_then(|count| count.checked_mul(width)).filter(|&size| size < MAX_SIZE);
    let size = size.ok_or_else(|| format!("its shape {dims:?} is too large"))?;
    let mut data = Vec::new();
    bytes.take(size + 1).read_to_end(&mut data).map_err(io)?;
    if data.len() as u64 != size {
        return Err(format!("its shape {dims:?} needs {size} bytes, and there are {}", data.len()));
    }
    if is_fortran {
        data = row_by_row(&data, &dims, width as usize);
    }
    let tensor = match elem {
        ElemType::STRING => {
            let strings: Vec<String> = data.chunks_exact(width as usize).map(string).collect::<Result<_, _>>()?;
            Tensor::from_strings(&dims, strings.iter().map(String::as_bytes))
        }
        ElemType::BOOL => Tensor::dense(elem, &dims, data.iter().map(|&byte| u8::from(byte != 0)).collect::<Vec<_>>()),
        elem => Tensor::dense(elem, &dims, data),
    };
    tensor.map_err(|error| error.to_string())
}

/// The element type that NumPy describes so, and the bytes of an element.
fn element(descr: &str) -> Result<(ElemType, u64), String> {
    if let Some(&(elem, _)) = PLAIN.iter().find(|(_, known)| known[1..] == descr[1..] && !descr.starts_with('>')) {
        return Ok((elem, u64::from(elem.bits()) / 8));
    }
    // Strings of no bytes could be any number.
    let characters = descr.strip_prefix("<U").and_then(|n| n.parse::<u64>().ok()).filter(|&n| n > 0);
    let characters = characters.and_then(|n| n.checked_mul(4));
    let kind = descr.get(1..2).unwrap_or_default();
    match characters {
        Some(width) => Ok((ElemType::STRING, width)),
        None if kind == "O" => Err("it has Python objects as elements, which are not read".to_owned()),
        None if descr.starts_with('>') => Err("it is stored with the most significant byte first".to_owned()),
        None => Err(format!("elements of NumPy's type `{descr}` are not read")),
    }
}

/// A string of four bytes for each character, up to the zeros at its end.
fn string(bytes: &[u8]) -> Result<String, String> {
    let codes = bytes.chunks_exact(4).map(|code| u32::from_le_bytes([code[0], code[1], code[2], code[3]]));
    let text: Option<String> = codes.map(char::from_u32).collect();
    text.map(|text| text.trim_end_matches('\0').to_owned()).ok_or_else(|| "a string is not Unicode".to_owned())
}

/// Elements that are stored with the first index changing fastest, in the usual order.
fn row_by_row(data: &[u8], dims: &[u64], width: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len());
    let mut index = vec![0u64; dims.len()];
    for _ in 0..data.len().checked_div(width).unwrap_or(0) {
        let at = index.iter().zip(dims).rev().fold(0, |at, (&index, &dim)| at * dim + index) as usize;
        out.extend_from_slice(&data[at * width..][..width]);
        for (index, &dim) in index.iter_mut().zip(dims).rev() {
            *index += 1;
            if *index < dim {
                break;
            }
            *index = 0;
        }
    }
    out
}

/// The description of an array: a literal of Python.
struct Header {
    descr: String,
    is_fortran: bool,
    dims: Vec<u64>,
}

impl Header {
    fn parse(text: &str) -> Option<Self> {
        let value = |key: &str| {
            let (_, rest) = text.split_once(&format!("'{key}':"))?;
            Some(rest.trim_start())
        };
        let descr = value("descr")?.strip_prefix('\'')?.split_once('\'')?.0;
        let is_fortran = match value("fortran_order")? {
            order if order.starts_with("True") => true,
            order if order.starts_with("False") => false,
            _ => return None,
        };
        let dims = value("shape")?.strip_prefix('(')?.split_once(')')?.0;
        let dims = dims.split(',').map(str::trim).filter(|dim| !dim.is_empty()).map(|dim| dim.parse().ok());
        let descr = descr.to_owned();
        // A byte order, a kind and a size.
        (descr.is_ascii() && descr.len() > 1).then_some(Self { descr, is_fortran, dims: dims.collect::<Option<_>>()? })
    }
}

/// Writes arrays into a new file.
///
/// # Errors
/// Returns an error if NumPy has no such elements, or the file cannot be written.
pub fn write(path: &Path, arrays: &[(&str, &Tensor)]) -> Result<(), String> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    for (name, tensor) in arrays {
        let (header, data) = encoded(tensor).map_err(|error| format!("`{name}` {error}"))?;
        let entry = archive.start_file(format!("{name}.npy"), options);
        entry.map_err(io::Error::from).and_then(|()| archive.write_all(&header)).map_err(|error| error.to_string())?;
        archive.write_all(&data).map_err(|error| error.to_string())?;
    }
    let bytes = archive.finish().map_err(|error| error.to_string())?.into_inner();
    files::write(path, Existing::Keep, &bytes).map_err(|error| error.of("file"))
}

/// Returns the contents of a file `.npy`, with a single array.
///
/// # Errors
/// Returns an error if NumPy has no such elements: what the array does, such as `has elements of …`.
pub fn npy(tensor: &Tensor) -> Result<Vec<u8>, String> {
    encoded(tensor).map(|(header, data)| [header, data].concat())
}

/// The description and the elements of an array.
fn encoded(tensor: &Tensor) -> Result<(Vec<u8>, Vec<u8>), String> {
    let elem = tensor.elem();
    let (descr, data) = match PLAIN.iter().find(|(known, _)| *known == elem) {
        Some((_, descr)) => ((*descr).to_owned(), tensor.to_bytes().into_owned()),
        None if elem == ElemType::STRING => {
            let strings: Vec<Vec<char>> =
                tensor.strings().map(|string| String::from_utf8_lossy(string).chars().collect()).collect();
            let width = strings.iter().map(Vec::len).max().unwrap_or(0).max(1);
            let padded = |string: &Vec<char>| {
                let zeros = std::iter::repeat_n('\0', width - string.len());
                string.iter().copied().chain(zeros).flat_map(|c| u32::from(c).to_le_bytes()).collect::<Vec<u8>>()
            };
            (format!("<U{width}"), strings.iter().flat_map(padded).collect())
        }
        None => return Err(format!("has elements of type `{elem}`, which NumPy does not have")),
    };
    let dims: Vec<String> = tensor.dims().iter().map(u64::to_string).collect();
    // As a tuple of Python.
    let dims = if dims.len() == 1 { format!("{},", dims[0]) } else { dims.join(", ") };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}");
    // The data begins at a multiple of 64 bytes.
    let len = (MAGIC.len() + 4 + text.len() + 1).next_multiple_of(64) - MAGIC.len() - 4;
    text.push_str(&" ".repeat(len - text.len() - 1));
    text.push('\n');
    let len = u16::try_from(len).map_err(|_| "has too many dimensions".to_owned())?;
    Ok(([MAGIC, &[1, 0][..], &len.to_le_bytes(), text.as_bytes()].concat(), data))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(header: &str, data: &[u8]) -> Result<Tensor, String> {
        let bytes = [MAGIC, &[1, 0][..], &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat();
        array(&mut &bytes[..])
    }

    fn header(descr: &str, order: &str, shape: &str) -> String {
        format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n")
    }

    #[test]
    fn arrays_are_read_as_they_were_written() {
        let bools = Tensor::dense(ElemType::BOOL, &[2], vec![1, 0]).unwrap();
        let strings = Tensor::from_strings(&[2, 1], [&b"a"[..], "\u{e4}\u{1f600}".as_bytes()]).unwrap();
        let halves = Tensor::from_f64s(ElemType::FLOAT16, &[], &[1.5]).unwrap();
        for tensor in [Tensor::from_i64(&[0, 3], &[]), Tensor::from_f32(&[1, 2], &[1.0, 2.0]), bools, strings, halves] {
            let (header, data) = encoded(&tensor).unwrap();
            assert_eq!(header.len() % 64, 0);
            let shape = match tensor.dims() {
                [] => "'shape': ()".to_owned(),
                [one] => format!("'shape': ({one},)"),
                [one, two] => format!("'shape': ({one}, {two})"),
                dims => panic!("{dims:?}"),
            };
            assert!(String::from_utf8_lossy(&header).contains(&shape), "{shape}");
            assert_eq!(array(&mut &[header, data].concat()[..]), Ok(tensor));
        }
        let brain = Tensor::from_f64s(ElemType::BFLOAT16, &[], &[1.5]).unwrap();
        assert_eq!(encoded(&brain).unwrap_err(), "has elements of type `bfloat16`, which NumPy does not have");
    }

    #[test]
    fn the_first_index_may_change_fastest() {
        let read = parsed(&header("|u1", "True", "(2, 3)"), &[0, 3, 1, 4, 2, 5]).unwrap();
        assert_eq!(read, Tensor::dense(ElemType::UINT8, &[2, 3], vec![0, 1, 2, 3, 4, 5]).unwrap());
    }

    #[test]
    fn what_is_not_a_tensor_is_refused() {
        let refused = |header: &str, data: &[u8]| parsed(header, data).unwrap_err();
        assert_eq!(refused(&header("<f4", "False", "(2,)"), &[0; 4]), "its shape [2] needs 8 bytes, and there are 4");
        assert_eq!(refused(&header("<f4", "False", "(1,)"), &[0; 5]), "its shape [1] needs 4 bytes, and there are 5");
        assert_eq!(refused(&header("|O", "False", "()"), &[]), "it has Python objects as elements, which are not read");
        assert_eq!(
            refused(&header(">f4", "False", "()"), &[0; 4]),
            "it is stored with the most significant byte first"
        );
        assert_eq!(refused(&header("<c8", "False", "()"), &[0; 8]), "elements of NumPy's type `<c8` are not read");
        let many = header("<U0", "False", "(1099511627776,)");
        assert_eq!(refused(&many, &[]), "elements of NumPy's type `<U0` are not read");
        let huge = header("<f8", "False", "(4294967296, 4294967296)");
        assert_eq!(refused(&huge, &[]), "its shape [4294967296, 4294967296] is too large");
        for text in [
            "",
            "{'descr': '<f4'}",
            &header("<f4", "Maybe", "()"),
            &header("<f4", "False", "(-1,)"),
            &header("", "False", "()"),
        ] {
            assert_eq!(refused(text, &[]), "its description cannot be parsed", "{text}");
        }
        assert_eq!(array(&mut &b"PK"[..]), Err("it ends early".to_owned()));
        assert_eq!(array(&mut &b"12345678"[..]), Err("it is not an array of NumPy".to_owned()));
        let not_unicode = parsed(&header("<U1", "False", "()"), &[0xff; 4]).unwrap_err();
        assert_eq!(not_unicode, "a string is not Unicode");
    }
}
