//! The records of operators and evaluators, written in const evaluation.

use super::{tags::*, *};
use relais_ir::wire::{Writer, is_equal};

/// Writes the fields of an operator's record.
pub const fn operator(w: &mut Writer<'_>, op: &Operator) {
    parts(w, op, (op.inputs.1, op.outputs.1));
    w.field(op_tag::INPUTS, &(op.inputs.0 as u32 | (op.inputs.1 as u32) << 16).to_le_bytes());
    w.field(op_tag::OUTPUTS, &(op.outputs.0 as u32 | (op.outputs.1 as u32) << 16).to_le_bytes());
    w.field(op_tag::EFFECTS, &op.effects.0.to_le_bytes());
    w.field(op_tag::FUSION, &[op.fusion.0]);
    let mut i = 0;
    while i < op.attrs.len() {
        let start = w.begin(op_tag::ATTR);
        attr(w, &op.attrs[i]);
        w.end(start);
        i += 1;
    }
    formals(w, op_tag::INPUT, op.takes, op);
    formals(w, op_tag::OUTPUT, op.gives, op);
    let mut i = 0;
    while i < op.types.len() {
        let var = &op.types[i];
        let start = w.begin(op_tag::TYPE_VAR);
        w.text(type_var_tag::NAME, var.name);
        elems(w, type_var_tag::TENSORS, var.tensors);
        elems(w, type_var_tag::SEQUENCES, var.sequences);
        elems(w, type_var_tag::OPTIONALS, var.optionals);
        elems(w, type_var_tag::OPTIONAL_SEQUENCES, var.optional_sequences);
        w.texts(type_var_tag::OTHER, var.others);
        w.end(start);
        i += 1;
    }
}

/// Writes the fields of the record of an addition.
pub const fn addition(w: &mut Writer<'_>, addition: &Addition) {
    // How many arguments there are is the description's.
    parts(w, &addition.op, (u16::MAX, u16::MAX));
    w.field(op_tag::PRIORITY, &addition.priority.to_le_bytes());
    if !addition.target.is_empty() {
        w.text(op_tag::FOR_TARGET, addition.target);
    }
}

/// The fields that both have: which operator it is, and the parts that can be added.
const fn parts(w: &mut Writer<'_>, op: &Operator, (most_inputs, most_outputs): (u16, u16)) {
    w.text(op_tag::DOMAIN, op.domain);
    w.text(op_tag::NAME, op.name);
    w.field(op_tag::SINCE, &op.since_version.to_le_bytes());
    let mut flags = 0;
    if op.infer.is_some() {
        flags |= op_flag::INFER;
    }
    if op.eval.is_some() {
        flags |= op_flag::EVAL;
    }
    if op.body_of.is_some() {
        flags |= op_flag::BODY;
    }
    if op.verify.is_some() {
        flags |= op_flag::VERIFY;
    }
    if op.gradient_of.is_some() {
        flags |= op_flag::GRADIENT;
    }
    if op.compute.is_some() {
        flags |= op_flag::COMPUTE;
    }
    assert!(op.body.is_empty() || op.body_of.is_none(), "an operator has one body, or makes one for each call");
    if op.commutative {
        flags |= op_flag::COMMUTATIVE;
    }
    w.field(op_tag::FLAGS, &flags.to_le_bytes());
    w.text(op_tag::DOC, op.doc);
    if !op.body.is_empty() {
        w.text(op_tag::BODY, op.body);
    }
    let mut i = 0;
    while i < op.layouts.len() {
        let start = w.begin(op_tag::LAYOUT);
        layout(w, &op.layouts[i]);
        w.end(start);
        i += 1;
    }
    if !op.macs.is_empty() {
        assert!(is_formula(op.macs, most_inputs, most_outputs), "a formula of sizes: `y0 * x1 / x1[0]`");
        w.text(op_tag::MACS, op.macs);
    }
    properties::write(w, op);
}

/// Formal inputs or results; each names a type variable of the operator.
const fn formals(w: &mut Writer<'_>, tag: u16, formals: &[Formal], op: &Operator) {
    let mut i = 0;
    while i < formals.len() {
        let formal = &formals[i];
        let mut var = 0;
        while var < op.types.len() && !is_equal(op.types[var].name, formal.var) {
            var += 1;
        }
        assert!(var < op.types.len(), "a formal input or result names a type variable that the operator does not have");
        let is_last = i + 1 == formals.len();
        let is_many = matches!(formal.kind, formal_kind::VARIADIC | formal_kind::MIXED);
        assert!(!is_many || is_last, "nothing comes after a variadic input or result");
        let start = w.begin(tag);
        w.text(formal_tag::NAME, formal.name);
        w.field(formal_tag::KIND, &[formal.kind]);
        w.text(formal_tag::TYPE_VAR, formal.var);
        w.end(start);
        i += 1;
    }
}

const fn elems(w: &mut Writer<'_>, tag: u16, elems: &[ElemType]) {
    if elems.is_empty() {
        return;
    }
    let start = w.begin(tag);
    let mut i = 0;
    while i < elems.len() {
        w.raw(&[elems[i].0]);
        i += 1;
    }
    w.end(start);
}

const fn attr(w: &mut Writer<'_>, attr: &AttrSchema) {
    w.text(attr_tag::NAME, attr.name);
    w.field(attr_tag::KIND, &[attr.kind]);
    w.field(attr_tag::REQUIRED, &[matches!(attr.required, Required::Yes) as u8]);
    w.text(attr_tag::DEFAULT, attr.default);
}

const fn layout(w: &mut Writer<'_>, layout: &Layout) {
    assert!(are_layouts(layout.axes), "layouts are capital letters, or `_`: `NHWC,HWIO,O->NHWC`");
    w.text(layout_tag::AXES, layout.axes);
    if !layout.op.is_empty() {
        w.text(layout_tag::OPERATOR, layout.op);
    }
    let mut i = 0;
    while i < layout.attrs.len() {
        assert!(!layout.attrs[i].default.is_empty(), "an attribute of a form has a value");
        let start = w.begin(layout_tag::ATTR);
        attr(w, &layout.attrs[i]);
        w.end(start);
        i += 1;
    }
}

/// Whether a text lists layouts of arguments and results.
const fn are_layouts(text: &str) -> bool {
    let bytes = text.as_bytes();
    // The letters of the layout that is read, how many characters it has, and how many arrows there were.
    let (mut letters, mut len, mut n_arrows, mut i) = (0u32, 0, 0, 0);
    while i < bytes.len() {
        let (is_arrow, is_comma) = (bytes[i] == b'-' && i + 1 < bytes.len() && bytes[i + 1] == b'>', bytes[i] == b',');
        if is_arrow || is_comma {
            if len == 0 {
                return false;
            }
            (letters, len) = (0, 0);
            n_arrows += is_arrow as usize;
            i += is_arrow as usize;
        } else if bytes[i].is_ascii_uppercase() {
            let letter = 1 << (bytes[i] - b'A');
            if letters & letter != 0 {
                return false;
            }
            letters |= letter;
            len += 1;
        } else {
            let is_alone = len == 0 && (i + 1 == bytes.len() || bytes[i + 1] == b',' || bytes[i + 1] == b'-');
            if bytes[i] != b'_' || !is_alone {
                return false;
            }
            len += 1;
        }
        i += 1;
    }
    n_arrows == 1 && len > 0
}

/// Writes the fields of an evaluator's record.
pub const fn evaluator(w: &mut Writer<'_>, evaluator: &Evaluator) {
    w.text(op_tag::DOMAIN, evaluator.domain);
    w.text(op_tag::NAME, evaluator.name);
    w.field(op_tag::SINCE, &evaluator.since_version.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_capital_letters() {
        for text in ["NHWC->NHWC", "NHWC,HWIO,O->NHWC", "_,NC->NC,_"] {
            assert!(are_layouts(text), "{text}");
        }
        for text in ["", "NHWC", "->", "NHWC->", "NHWC,->NC", "NHHC->N", "nhwc->nhwc", "NC4->NC", "N->C->N", "N_->N"] {
            assert!(!are_layouts(text), "{text}");
        }
    }
}
