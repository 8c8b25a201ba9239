//! Parts of an operator that other plugins give than the one that describes it.

use super::{
    Operator,
    tags::{op_flag, op_tag, property_tag},
};
use crate::abi::operator_part;
use relais_ir::wire::{Fields, push_field};
use std::{cmp::Reverse, collections::BTreeMap, fmt};

/// The parts that a plugin adds to an operator that another one describes: kernel, body, gradient, evaluator, layouts,
/// multiply-accumulates, properties. Built in const context, and registered with `additions!`:
///
/// ```
/// use relais_plugin_api::op::{Addition, Axes, Operator};
/// const FASTER: Addition = Addition::of(Operator::new("", "Softplus", 1).macs("y0")).priority(1);
/// ```
///
/// Of several that give one part, that for the target counts, then that with the highest priority, then the part of the
/// plugin that describes the operator. Two of the same rank are disputed until the pipeline's table `[plugins]` chooses
/// a plugin for the operator, and neither counts. Layouts are joined, those of the highest rank first.
#[derive(Clone, Copy, Debug)]
pub struct Addition {
    /// The parts, with the domain, the name and exactly the first version of the description that they belong to.
    pub op: Operator,
    /// Its rank among what is given for the operator; the plugin that describes it has 0.
    pub priority: u16,
    /// The target that it is for; empty when it is for all of them.
    pub target: &'static str,
}

impl Addition {
    /// The parts of an operator, which are not its description.
    ///
    /// # Panics
    /// Panics if there are none, or if something is said that only the description says: the number, the types and the
    /// effects of arguments and results, attributes, the type relation and the verifier.
    pub const fn of(op: Operator) -> Self {
        let is_plain = op.inputs.0 == 1 && op.inputs.1 == 1 && op.outputs.0 == 1 && op.outputs.1 == 1;
        let is_untyped = op.takes.is_empty() && op.gives.is_empty() && op.types.is_empty() && op.attrs.is_empty();
        let is_bare = op.infer.is_none() && op.verify.is_none() && op.fusion.0 == 8 && op.effects.0 == 0;
        assert!(
            is_plain && is_untyped && is_bare && !op.commutative,
            "an addition has parts only: arguments, results, attributes, types and effects are its description's"
        );
        let has_function =
            op.eval.is_some() || op.body_of.is_some() || op.gradient_of.is_some() || op.compute.is_some();
        let has_text = !op.body.is_empty() || !op.macs.is_empty() || !op.layouts.is_empty();
        let has_property =
            op.axes.is_some() || op.exact.is_some() || op.precision.is_some() || !op.properties.is_empty();
        assert!(has_function || has_text || has_property, "an addition adds something: `.compute(…)`, `.layouts(…)`");
        Self { op, priority: 0, target: "" }
    }

    /// Sets the rank among what is given for the operator. By default it is 0: what the plugin that describes the
    /// operator gives counts before that.
    pub const fn priority(mut self, priority: u16) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the target: the addition counts in pipelines with `target = "…"`, and there before all that is for none.
    ///
    /// # Panics
    /// Panics if there is an evaluator: models are evaluated where the host runs.
    pub const fn target(mut self, target: &'static str) -> Self {
        assert!(self.op.eval.is_none(), "an evaluator is for no target: models are evaluated where the host runs");
        self.target = target;
        self
    }
}

/// The rank of what is given for an operator, in the order in which it counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Rank {
    /// Whether the user chose the plugin for the operator.
    pub is_chosen: bool,
    /// Whether it is for the target.
    pub is_for_target: bool,
    /// Its priority.
    pub priority: u16,
}

/// A part of an operator that can be added.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum AddedPart {
    /// The body.
    Body,
    /// The gradient.
    Gradient,
    /// The kernel.
    Kernel,
    /// The formula of multiply-accumulates.
    Macs,
    /// The layouts.
    Layouts,
    /// A property of this name.
    Property(String),
}

impl AddedPart {
    /// The part that a function computes for a call; one of [`operator_part`].
    pub fn of(part: u8) -> Option<Self> {
        match part {
            operator_part::BODY => Some(Self::Body),
            operator_part::GRADIENT => Some(Self::Gradient),
            operator_part::COMPUTE => Some(Self::Kernel),
            _ => None,
        }
    }
}

impl fmt::Display for AddedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body => f.write_str("body"),
            Self::Gradient => f.write_str("gradient"),
            Self::Kernel => f.write_str("kernel"),
            Self::Macs => f.write_str("formula of multiply-accumulates"),
            Self::Layouts => f.write_str("layouts"),
            Self::Property(name) => write!(f, "property `{name}`"),
        }
    }
}

/// An operator's record together with what others add to it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Merged {
    /// The fields of the record.
    pub fields: Vec<u8>,
    /// The parts that additions give, each with the index of the addition. Layouts may have several.
    pub given: Vec<(AddedPart, usize)>,
    /// The parts that additions of the highest rank dispute, with their indices: the description's stands.
    pub disputed: Vec<(AddedPart, Vec<usize>)>,
}

impl Merged {
    /// The addition that gives a part.
    pub fn giver(&self, part: &AddedPart) -> Option<usize> {
        self.given.iter().find(|(given, _)| given == part).map(|&(_, addition)| addition)
    }
}

/// The parts in some fields of a record.
#[derive(Default)]
struct Parts<'a> {
    flags: u32,
    body: Option<&'a [u8]>,
    macs: Option<&'a [u8]>,
    layouts: Vec<&'a [u8]>,
    properties: BTreeMap<&'a str, &'a [u8]>,
}

impl<'a> Parts<'a> {
    fn read(fields: &'a [u8]) -> Self {
        let mut parts = Self::default();
        for field in Fields::new(fields).map_while(Result::ok) {
            match field.tag {
                op_tag::FLAGS => parts.flags = field.u32().unwrap_or(0),
                op_tag::BODY => parts.body = Some(field.bytes),
                op_tag::MACS => parts.macs = Some(field.bytes),
                op_tag::LAYOUT => parts.layouts.push(field.bytes),
                op_tag::PROPERTY => {
                    let mut names = Fields::new(field.bytes).flatten().filter(|field| field.tag == property_tag::NAME);
                    let name = names.next().and_then(|name| name.text().ok()).unwrap_or_default();
                    parts.properties.insert(name, field.bytes);
                }
                _ => {}
            }
        }
        parts
    }

    fn has(&self, part: &AddedPart) -> bool {
        match part {
            AddedPart::Body => self.body.is_some() || self.flags & op_flag::BODY != 0,
            AddedPart::Gradient => self.flags & op_flag::GRADIENT != 0,
            AddedPart::Kernel => self.flags & op_flag::COMPUTE != 0,
            AddedPart::Macs => self.macs.is_some(),
            AddedPart::Layouts => !self.layouts.is_empty(),
            AddedPart::Property(name) => self.properties.contains_key(name.as_str()),
        }
    }
}

/// The parts in some fields of a record.
pub fn parts_of(fields: &[u8]) -> Vec<AddedPart> {
    let parts = Parts::read(fields);
    let all = [AddedPart::Body, AddedPart::Gradient, AddedPart::Kernel, AddedPart::Macs, AddedPart::Layouts];
    let properties = parts.properties.keys().map(|name| AddedPart::Property((*name).to_owned()));
    all.into_iter().filter(|part| parts.has(part)).chain(properties).collect()
}

/// Joins the fields of a description with those of additions to it, each with its rank.
pub fn merge(description: &[u8], own: Rank, additions: &[(Rank, &[u8])]) -> Merged {
    let base = Parts::read(description);
    let parts: Vec<Parts<'_>> = additions.iter().map(|(_, fields)| Parts::read(fields)).collect();
    let mut merged = Merged::default();
    let names: Vec<&str> = parts.iter().flat_map(|parts| parts.properties.keys().copied()).collect();
    let mut wanted = vec![AddedPart::Body, AddedPart::Gradient, AddedPart::Kernel, AddedPart::Macs];
    wanted.extend(names.into_iter().map(|name| AddedPart::Property(name.to_owned())));
    wanted.sort();
    wanted.dedup();
    for part in wanted {
        let rank_of = |&at: &usize| additions[at].0;
        let givers: Vec<usize> = (0..parts.len()).filter(|&at| parts[at].has(&part)).collect();
        let Some(highest) = givers.iter().map(rank_of).max() else { continue };
        if base.has(&part) && own >= highest {
            continue;
        }
        let first: Vec<usize> = givers.into_iter().filter(|at| rank_of(at) == highest).collect();
        match first[..] {
            [giver] => merged.given.push((part, giver)),
            _ => merged.disputed.push((part, first)),
        }
    }
    // Stable: of one rank, those of the description come first, then in the order of the additions.
    let mut layouts: Vec<(Rank, Option<usize>)> = vec![(own, None)];
    layouts.extend(additions.iter().enumerate().map(|(at, (rank, _))| (*rank, Some(at))));
    layouts.sort_by_key(|&(rank, _)| Reverse(rank));
    let giver = |part: &AddedPart| merged.giver(part).map(|at| &parts[at]);
    let (body, macs) = (giver(&AddedPart::Body).unwrap_or(&base), giver(&AddedPart::Macs).unwrap_or(&base));
    let mut flags = base.flags & !(op_flag::BODY | op_flag::GRADIENT | op_flag::COMPUTE);
    flags |= body.flags & op_flag::BODY;
    flags |= giver(&AddedPart::Gradient).unwrap_or(&base).flags & op_flag::GRADIENT;
    flags |= giver(&AddedPart::Kernel).unwrap_or(&base).flags & op_flag::COMPUTE;
    let mut out = Vec::with_capacity(description.len());
    for field in Fields::new(description).map_while(Result::ok) {
        if !matches!(field.tag, op_tag::FLAGS | op_tag::BODY | op_tag::MACS | op_tag::LAYOUT) {
            push_field(&mut out, field.tag, field.bytes);
        }
    }
    push_field(&mut out, op_tag::FLAGS, &flags.to_le_bytes());
    body.body.into_iter().for_each(|body| push_field(&mut out, op_tag::BODY, body));
    macs.macs.into_iter().for_each(|macs| push_field(&mut out, op_tag::MACS, macs));
    for (_, at) in layouts {
        let of = at.map_or(&base, |at| &parts[at]);
        of.layouts.iter().for_each(|layout| push_field(&mut out, op_tag::LAYOUT, layout));
    }
    for (part, at) in &merged.given {
        if let AddedPart::Property(name) = part {
            push_field(&mut out, op_tag::PROPERTY, parts[*at].properties[name.as_str()]);
        }
    }
    let with_layouts = (0..parts.len()).filter(|&at| parts[at].has(&AddedPart::Layouts));
    let with_layouts: Vec<(AddedPart, usize)> = with_layouts.map(|at| (AddedPart::Layouts, at)).collect();
    merged.given.extend(with_layouts);
    merged.fields = out;
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Layout, OpSchema, record};
    use relais_ir::wire::Writer;

    fn fields(op: &Operator) -> Vec<u8> {
        let mut counting = Writer::counting();
        record::operator(&mut counting, op);
        let mut bytes = vec![0; counting.len()];
        record::operator(&mut Writer::filling(&mut bytes), op);
        bytes
    }

    const OP: Operator = Operator::new("", "Op", 1);

    fn rank(priority: u16) -> Rank {
        Rank { priority, ..Rank::default() }
    }

    const BASE: Operator = OP
        .body("def @f(%x) #[opset = {\"\": 13}] { %x }")
        .macs("y0")
        .layouts(&[Layout::new("NC->NC")])
        .properties(&[("a.one", "base"), ("a.two", "base")]);

    #[test]
    fn a_part_is_given_by_the_highest_rank_and_the_description_wins_ties() {
        let [base, macs, body] =
            [BASE, OP.macs("x0"), OP.body("def @g(%x) #[opset = {\"\": 13}] { %x }")].map(|op| fields(&op));
        let merged = |own, additions: &[(Rank, &[u8])]| merge(&base, own, additions);
        let schema = |merged: &Merged| OpSchema::read(&merged.fields);
        let same = merged(rank(0), &[(rank(0), &macs)]);
        assert_eq!((schema(&same).macs.as_str(), same.given.len()), ("y0", 0));
        assert_eq!(schema(&same), OpSchema::read(&base));
        let higher = merged(rank(0), &[(rank(1), &macs), (rank(2), &body)]);
        assert_eq!(schema(&higher).macs, "x0");
        assert_eq!(schema(&higher).body, "def @g(%x) #[opset = {\"\": 13}] { %x }");
        assert_eq!(higher.given, [(AddedPart::Body, 1), (AddedPart::Macs, 0)]);
        let chosen = Rank { is_chosen: true, ..Rank::default() };
        assert_eq!(schema(&merged(chosen, &[(rank(9), &macs)])).macs, "y0");
        let for_target = Rank { is_for_target: true, ..Rank::default() };
        let other = fields(&OP.macs("x0 * x0"));
        assert_eq!(schema(&merged(rank(0), &[(rank(9), &macs), (for_target, &other)])).macs, "x0 * x0");
    }

    #[test]
    fn additions_of_one_rank_dispute_a_part_and_the_next_one_does_not_step_in() {
        let [base, two, three] = [BASE, OP.macs("x0"), OP.macs("x0 * x0")].map(|op| fields(&op));
        let merged = merge(&base, rank(0), &[(rank(2), &two), (rank(1), &two), (rank(2), &three)]);
        assert_eq!(OpSchema::read(&merged.fields).macs, "y0");
        assert_eq!((merged.disputed, merged.given.len()), (vec![(AddedPart::Macs, vec![0, 2])], 0));
    }

    const LAST: Operator = OP.layouts(&[Layout::new("NHWC->NHWC")]);

    #[test]
    fn layouts_are_joined_and_properties_are_given_one_by_one() {
        let layouts = fields(&LAST);
        let properties = fields(&OP.properties(&[("a.two", "new"), ("a.three", "new")]));
        let merged = merge(&fields(&BASE), rank(0), &[(rank(1), &layouts), (rank(1), &properties)]);
        let schema = OpSchema::read(&merged.fields);
        let axes: Vec<&str> = schema.layouts.iter().map(|layout| layout.inputs[0].as_str()).collect();
        assert_eq!(axes, ["NHWC", "NC"]);
        let property = |name| schema.property(name);
        assert_eq!(
            [property("a.one"), property("a.two"), property("a.three")],
            [Some("base"), Some("new"), Some("new")]
        );
        let lower = merge(&fields(&BASE), rank(5), &[(rank(1), &layouts)]);
        assert_eq!(OpSchema::read(&lower.fields).layouts[0].inputs[0], "NC");
    }
}
