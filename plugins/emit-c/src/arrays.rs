//! Constants as arrays of C.

use crate::names::{c_type, literal};
use relais_plugin_api::ir::{ElemType, Imm, Tensor};
use std::fmt::Write;

/// The widest line.
const WIDTH: usize = 110;

/// The definition of an array with the elements of a tensor; `None` if C has no such elements.
pub fn definition(name: &str, tensor: &Tensor) -> Option<String> {
    let ty = c_type(tensor.elem())?;
    let bytes = tensor.to_bytes();
    let width = (tensor.elem().bits() as usize).div_ceil(8);
    let n = bytes.len() / width;
    let mut out = format!("static const {ty} {name}[{}] = {{", n.max(1));
    let mut column = WIDTH;
    for element in bytes.chunks_exact(width) {
        let text = literal(imm(tensor.elem(), element)?);
        if column + text.len() + 2 > WIDTH {
            out.push_str("\n    ");
            column = 4;
        } else {
            out.push(' ');
            column += 1;
        }
        write!(out, "{text},").ok()?;
        column += text.len() + 1;
    }
    if n == 0 {
        out.push('0');
    }
    out.push_str("\n};\n");
    Some(out)
}

fn imm(elem: ElemType, bytes: &[u8]) -> Option<Imm> {
    let mut bits = [0; 8];
    bits.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Imm::new(elem, u64::from_le_bytes(bits))
}
