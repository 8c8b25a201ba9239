//! The records of operators, of what others add to them, and of evaluators.

use relais_plugin_api::{
    boundary::{
        record::{attr_tag, op_flag, op_tag},
        wire::{Fields, Malformed},
    },
    ir::normal_domain,
    op::{AddedPart, Effects, FusionKind, OpSchema, parts_of},
};
use std::{cmp::Ordering, fmt, ops::Range, sync::Arc};

/// The contents of an operator's record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperatorRecord {
    /// Domain; empty is ONNX's own.
    pub domain: String,
    /// Name.
    pub name: String,
    /// First version.
    pub since_version: u32,
    /// Fewest and most arguments.
    pub inputs: (u16, u16),
    /// Fewest and most results.
    pub outputs: (u16, u16),
    /// Effects.
    pub effects: Effects,
    /// The fusion kind.
    pub fusion: FusionKind,
    /// Whether it has a type relation.
    pub has_infer: bool,
    /// Whether it has an evaluator.
    pub has_eval: bool,
    /// Whether a function makes the body of each call.
    pub has_body_of: bool,
    /// Whether it has a verifier.
    pub has_verifier: bool,
    /// Whether a function makes the gradient of each call.
    pub has_gradient: bool,
    /// Whether a function makes the kernel of each call.
    pub has_kernel: bool,
    fields: Slice,
}

/// A plugin may describe hundreds of operators: parts that only people look at are read on request.
impl OperatorRecord {
    pub(super) fn new(op: Operator<'_>, section: &Arc<[u8]>) -> Self {
        let pair = |pair: u32| (pair as u16, (pair >> 16) as u16);
        Self {
            domain: op.domain.to_owned(),
            name: op.name.to_owned(),
            since_version: op.since_version,
            inputs: pair(op.inputs),
            outputs: pair(op.outputs),
            effects: Effects(op.effects),
            fusion: FusionKind(op.fusion),
            has_infer: op.flags & op_flag::INFER != 0,
            has_eval: op.flags & op_flag::EVAL != 0,
            has_body_of: op.flags & op_flag::BODY != 0,
            has_verifier: op.flags & op_flag::VERIFY != 0,
            has_gradient: op.flags & op_flag::GRADIENT != 0,
            has_kernel: op.flags & op_flag::COMPUTE != 0,
            fields: Slice { section: section.clone(), range: op.start..op.start + op.len },
        }
    }

    /// Reads a record that is not stored in a file; `None` if it cannot be parsed.
    pub(crate) fn of_fields(fields: &Arc<[u8]>) -> Option<Self> {
        Some(Self::new(read_operator(fields, 0).ok()?, fields))
    }

    /// The fields as stored in the file, for passes to see.
    pub fn fields(&self) -> &[u8] {
        self.fields.bytes()
    }

    /// Its documentation; empty when there is none that reads.
    pub fn doc(&self) -> &str {
        let mut docs = Fields::new(self.fields()).flatten().filter(|field| field.tag == op_tag::DOC);
        docs.next().and_then(|field| field.text().ok()).unwrap_or_default()
    }

    /// Returns its formal inputs and results, their types, and the other properties that calls are checked against.
    pub fn schema(&self) -> OpSchema {
        OpSchema::read(self.fields())
    }

    /// Its attributes, as stored in the record.
    ///
    /// # Errors
    /// An attribute is an error if it cannot be decoded.
    pub fn attrs(&self) -> impl Iterator<Item = Result<AttrRecord<'_>, Malformed>> {
        let attrs = Fields::new(self.fields()).flatten().filter(|field| field.tag == op_tag::ATTR);
        attrs.map(|field| read_attr(field.bytes))
    }
}

/// An addition of a plugin to an operator that another one describes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdditionRecord {
    /// The parts, and which operator they are of.
    pub parts: OperatorRecord,
    /// Its rank among what is given for the operator.
    pub priority: u16,
    /// The target that it is for; empty if it is for all.
    pub target: String,
}

impl AdditionRecord {
    /// Reads the fields of one, which are in a section from `start` on.
    pub(super) fn read(fields: &[u8], start: usize, section: &Arc<[u8]>) -> Result<Self, Malformed> {
        let (mut priority, mut target) = (0, String::new());
        for field in Fields::new(fields) {
            let field = field?;
            match field.tag {
                op_tag::PRIORITY => priority = field.u16()?,
                op_tag::FOR_TARGET => target = field.text()?.to_owned(),
                // The parts are read below.
                _ => {}
            }
        }
        Ok(Self { parts: OperatorRecord::new(read_operator(fields, start)?, section), priority, target })
    }

    /// The key of what it adds to: domain, name and first version of the operator, and the target.
    pub(super) fn key(&self) -> (&str, &str, u32, &str) {
        (&self.parts.domain, &self.parts.name, self.parts.since_version, &self.target)
    }

    /// The names of the parts.
    pub fn names(&self) -> Vec<String> {
        let evaluator = self.parts.has_eval.then(|| "evaluator".to_owned());
        parts_of(self.parts.fields()).iter().map(AddedPart::to_string).chain(evaluator).collect()
    }
}

/// An attribute in an operator's record.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct AttrRecord<'a> {
    /// Name.
    pub name: &'a str,
    /// Attribute kind.
    pub kind: u8,
    /// Whether it must be given.
    pub required: bool,
    /// Default, as text; empty when there is none.
    pub default: &'a str,
}

/// Part of a section, which all records of a file share.
#[derive(Clone)]
pub(super) struct Slice {
    section: Arc<[u8]>,
    range: Range<usize>,
}

impl Slice {
    fn bytes(&self) -> &[u8] {
        &self.section[self.range.clone()]
    }
}

impl PartialEq for Slice {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Slice {}

impl fmt::Debug for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().fmt(f)
    }
}

/// The contents of an evaluator's record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EvaluatorRecord {
    /// Domain; empty is ONNX's own.
    pub domain: String,
    /// Name.
    pub name: String,
    /// First version.
    pub since_version: u32,
}

impl EvaluatorRecord {
    pub(super) fn new(eval: Evaluator<'_>) -> Self {
        Self { domain: eval.domain.to_owned(), name: eval.name.to_owned(), since_version: eval.since_version }
    }
}

/// An operator's record before it is sorted, when there may be hundreds to move.
#[derive(Clone, Copy)]
pub(super) struct Operator<'a> {
    pub domain: &'a str,
    pub name: &'a str,
    pub since_version: u32,
    pub inputs: u32,
    pub outputs: u32,
    pub effects: u32,
    pub fusion: u8,
    pub flags: u32,
    pub start: usize,
    pub len: usize,
}

pub(super) fn read_operator(fields: &[u8], start: usize) -> Result<Operator<'_>, Malformed> {
    let mut op = Operator {
        domain: "",
        name: "",
        since_version: 0,
        inputs: u32::from(u16::MAX) << 16,
        outputs: u32::from(u16::MAX) << 16,
        effects: Effects::OPAQUE.0,
        fusion: FusionKind::OPAQUE.0,
        flags: 0,
        start,
        len: fields.len(),
    };
    for field in Fields::new(fields) {
        let field = field?;
        match field.tag {
            op_tag::DOMAIN => op.domain = normal_domain(field.text()?),
            op_tag::NAME => op.name = field.text()?,
            op_tag::SINCE => op.since_version = field.u32()?,
            op_tag::INPUTS => op.inputs = field.u32()?,
            op_tag::OUTPUTS => op.outputs = field.u32()?,
            op_tag::EFFECTS => op.effects = field.u32()?,
            op_tag::FUSION => op.fusion = field.u8()?,
            op_tag::FLAGS => op.flags = field.u32()?,
            _ => field.skip()?,
        }
    }
    if op.name.is_empty() { Err(Malformed::Missing("name")) } else { Ok(op) }
}

fn read_attr(fields: &[u8]) -> Result<AttrRecord<'_>, Malformed> {
    let mut attr = AttrRecord::default();
    for field in Fields::new(fields) {
        let field = field?;
        match field.tag {
            attr_tag::NAME => attr.name = field.text()?,
            attr_tag::KIND => attr.kind = field.u8()?,
            attr_tag::REQUIRED => attr.required = field.u8()? != 0,
            attr_tag::DEFAULT => attr.default = field.text()?,
            _ => field.skip()?,
        }
    }
    Ok(attr)
}

#[derive(Clone, Copy)]
pub(super) struct Evaluator<'a> {
    pub domain: &'a str,
    pub name: &'a str,
    pub since_version: u32,
}

pub(super) fn read_evaluator(fields: &[u8]) -> Result<Evaluator<'_>, Malformed> {
    let mut eval = Evaluator { domain: "", name: "", since_version: 0 };
    for field in Fields::new(fields) {
        let field = field?;
        match field.tag {
            op_tag::DOMAIN => eval.domain = normal_domain(field.text()?),
            op_tag::NAME => eval.name = field.text()?,
            op_tag::SINCE => eval.since_version = field.u32()?,
            _ => field.skip()?,
        }
    }
    if eval.name.is_empty() { Err(Malformed::Missing("name")) } else { Ok(eval) }
}

/// Sorted by domain, name and first version. The first bytes of the texts are compared as one word, and the texts only
/// if it is equal.
pub(super) fn by_operator<T: Copy>(items: Vec<T>, key: impl Fn(&T) -> (&str, &str, u32)) -> Vec<T> {
    let mut order: Vec<(u128, usize)> = items.iter().map(|item| begins(key(item))).zip(0..).collect();
    order.sort_unstable_by(|&(first, a), &(other, b)| {
        first.cmp(&other).then_with(|| in_order(key(&items[a]), key(&items[b]))).then(a.cmp(&b))
    });
    order.into_iter().map(|(_, at)| items[at]).collect()
}

/// Nearly all domains are empty, and `memcmp` of the dangling pointers of two empty strings takes longer than the rest
/// of reading a record: its masked load of an unmapped address is handled in microcode.
fn in_order(a: (&str, &str, u32), b: (&str, &str, u32)) -> Ordering {
    let domains = if a.0.is_empty() && b.0.is_empty() { Ordering::Equal } else { a.0.cmp(b.0) };
    domains.then_with(|| (a.1, a.2).cmp(&(b.1, b.2)))
}

/// The first key of operators: those of ONNX's own domain come before all others, which begin with their domain.
fn begins((domain, name, _): (&str, &str, u32)) -> u128 {
    let (first, text) = if domain.is_empty() { (0, name) } else { (1, domain) };
    let mut bytes = [0; 16];
    bytes[0] = first;
    for (byte, letter) in bytes[1..].iter_mut().zip(text.bytes()) {
        *byte = letter;
    }
    u128::from_be_bytes(bytes)
}
