//! The layouts of an operator's arguments and results, and the forms of calls in others.

use super::{AttrSchema, attr::AttrFacts};
use crate::op::tags::layout_tag;
use relais_ir::{Attrs, CallView, Function, NodeId, wire::Fields};

/// A form of an operator: how the axes of its arguments and results are laid out, and what a call is in this form.
///
/// ```
/// use relais_plugin_api::{ir::attr_kind, op::{AttrSchema, Layout, Operator, Required}};
/// const fn layout(value: &'static str) -> AttrSchema {
///     AttrSchema { name: "data_layout", kind: attr_kind::STRING, required: Required::No, default: value }
/// }
/// // Written for channels-last, and the same as ONNX's operator where channels are first.
/// const POOL: Operator = Operator::new("acme", "Pool", 1)
///     .layouts(&[Layout::new("NHWC->NHWC"), Layout::new("NCHW->NCHW").of("MaxPool")]);
/// // Either, by an attribute; preferably the first one.
/// const CONV: Operator = Operator::new("acme", "Conv", 1).inputs(2, 3).layouts(&[
///     Layout::new("NHWC,HWIO,O->NHWC").attrs(&[layout("\"NHWC\"")]),
///     Layout::new("NCHW,OIHW,O->NCHW").attrs(&[layout("\"NCHW\"")]),
/// ]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The layouts of the arguments and of the results, a capital letter for each axis: `NHWC,HWIO,O->NHWC`. `_` is one that is
    /// the same in all forms, and so are all that follow the last one.
    pub axes: &'static str,
    /// The operator that calls in this form are of, as `domain::Name`; empty for the operator itself. It computes the same, and
    /// its attributes have the same names.
    pub op: &'static str,
    /// The attributes that calls in this form have; the values are the defaults of the schemas.
    pub attrs: &'static [AttrSchema],
}

impl Layout {
    /// A form of the operator itself, in these layouts.
    pub const fn new(axes: &'static str) -> Self {
        Self { axes, op: "", attrs: &[] }
    }

    /// Sets the operator that calls in this form are of.
    pub const fn of(mut self, op: &'static str) -> Self {
        self.op = op;
        self
    }

    /// Sets the attributes that calls in this form have.
    pub const fn attrs(mut self, attrs: &'static [AttrSchema]) -> Self {
        self.attrs = attrs;
        self
    }
}

/// A form of calls in an operator's record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LayoutFacts {
    /// The layouts of the arguments; `_` is one that is the same in all forms.
    pub inputs: Vec<String>,
    /// The layouts of the results.
    pub outputs: Vec<String>,
    /// The operator that calls in this form are of, as `domain::Name`; empty for the operator itself.
    pub op: String,
    /// The attributes that calls in this form have, the values being the defaults.
    pub attrs: Vec<AttrFacts>,
}

impl LayoutFacts {
    /// The layout of an argument or result that is the same in all forms.
    pub const SAME: &str = "_";

    pub(super) fn read(fields: &[u8]) -> Self {
        let mut layout = Self::default();
        for field in Fields::new(fields).map_while(Result::ok) {
            match field.tag {
                layout_tag::AXES => {
                    let split = |list: &str| list.split(',').map(str::to_owned).collect();
                    if let Some((inputs, outputs)) = field.text().ok().and_then(|text| text.split_once("->")) {
                        (layout.inputs, layout.outputs) = (split(inputs), split(outputs));
                    }
                }
                layout_tag::OPERATOR => layout.op = field.text().unwrap_or_default().to_owned(),
                layout_tag::ATTR => layout.attrs.push(AttrFacts::read(field.bytes)),
                _ => {}
            }
        }
        layout
    }

    /// Whether a call that has these attributes, with the defaults of its operator, is in this form: its attributes are
    /// those of the form, and its arguments and its result have as many axes as the layouts.
    pub fn fits(&self, f: &Function, call: CallView<'_>, attrs: Attrs<'_>) -> bool {
        let fits = |value: NodeId, layout: &str| {
            let rank = || f.type_of(value).shape().map(<[_]>::len);
            layout == Self::SAME || value.is_absent() || rank() == Some(layout.len())
        };
        let mut args = call.args().iter().zip(&self.inputs);
        // The ranks of several results follow from those of the arguments.
        let result = self.outputs.first().filter(|_| call.n_results().is_none());
        self.attrs.iter().all(|attr| attr.is_default(attrs))
            && args.all(|(&arg, layout)| fits(arg, layout))
            && result.is_none_or(|layout| fits(call.id, layout))
    }

    /// Returns whether a call in this form can be in another one: its layouts have the same axes there.
    pub fn has_axes_of(&self, other: &Self) -> bool {
        let same = |a: &[String], b: &[String]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Self::order(a, b).is_some())
        };
        same(&self.inputs, &other.inputs) && same(&self.outputs, &other.outputs)
    }

    /// Returns the order of axes that makes one layout of another, as in the attribute `perm` of `Transpose`; `None` if
    /// they do not have the same axes.
    pub fn order(from: &str, to: &str) -> Option<Vec<usize>> {
        match from.len() == to.len() {
            true => to.chars().map(|axis| from.find(axis)).collect(),
            false => None,
        }
    }
}
