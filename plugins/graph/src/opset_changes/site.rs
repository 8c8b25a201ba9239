//! One call that is converted to a neighbouring version.

use crate::computed::{Computed, value_of};
use relais_plugin_api::{
    build::Builder,
    infer::Operators,
    ir::{AttrData, AttrRec, AttrValue, Dims, Users, attr_flag, attr_kind},
    op::OpSchema,
    prelude::*,
};

/// The result for a call.
pub(crate) enum Outcome {
    /// Nothing; from a row of the table, that the records decide.
    Same,
    /// Its attributes were changed.
    InPlace,
    /// These take the places of its results.
    Results(Vec<NodeId>),
}

/// The first version in which axes may be counted from the last one.
pub(crate) const NEGATIVE_AXES: i64 = 11;

/// The most elements of a constant that is read: no list of axes, sizes or parts is near this.
const MOST: u64 = 1 << 16;

/// The operators that always could.
const COUNT_FROM_LAST: &[&str] = &["LpNormalization", "OneHot", "TopK"];

/// Converts a call; the error says why that cannot be done.
pub(crate) type Row = fn(&mut Site<'_, '_>) -> Result<Outcome, String>;

/// An attribute that became an argument.
pub(crate) struct Move {
    pub(super) op: &'static str,
    pub(super) since: i64,
    pub(super) attr: &'static str,
    pub(super) arg: usize,
    pub(super) form: Form,
}

/// The tensor that has the value of an attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The list, or the one value as a list.
    List,
    /// The value.
    Scalar,
    /// The value, with elements of the type of the first argument.
    Element,
}

/// A call that is converted to a neighbouring version.
pub(crate) struct Site<'s, 'r> {
    at: &'s mut RebuildCx<'r>,
    ops: &'s mut dyn Operators,
    /// The values that were computed because a call needed them.
    computed: &'s mut Computed,
    users: &'s Users,
    pub(super) id: NodeId,
    /// The record in the version that the call is written for, and in the other one, if it has the operator.
    old: &'s OpSchema,
    new: Option<&'s OpSchema>,
    from: i64,
    to: i64,
    pub(super) args: Vec<NodeId>,
    /// Attributes that go, whatever their values.
    dropped: Vec<String>,
    /// Attributes that are added, or take the place of those of the same name.
    pub(super) stated: Vec<Attr>,
}

impl<'s, 'r> Site<'s, 'r> {
    pub(crate) fn new(
        at: &'s mut RebuildCx<'r>,
        (ops, computed): (&'s mut dyn Operators, &'s mut Computed),
        users: &'s Users,
        id: NodeId,
        (old, from): (&'s OpSchema, i64),
        (new, to): (Option<&'s OpSchema>, i64),
    ) -> Self {
        let args = at.function().call(id).map_or_else(Vec::new, |call| call.args().to_vec());
        Self { at, ops, computed, users, id, old, new, from, to, args, dropped: Vec::new(), stated: Vec::new() }
    }

    /// Converts the call of an operator: by the row of the table for the version, if there is one, else by the records,
    /// and by the attributes that became arguments in the version.
    pub(crate) fn convert(mut self, op: &str, row: Option<Row>, moves: &[&Move]) -> Result<Outcome, String> {
        let f = self.at.function();
        if f.call(self.id).and_then(CallView::op).is_some_and(|op| f.op(op).version != 0) {
            return Err("the call has a version of its own".to_owned());
        }
        if f.n_results(self.id).is_some_and(|n_results| n_results > usize::from(self.old.outputs.1)) {
            // No version has a call like this, and a conversion of it would lack the results beyond.
            return Ok(Outcome::Same);
        }
        if self.args.len() < usize::from(self.old.inputs.0) {
            return Err("it has too few arguments".to_owned());
        }
        if let Some(row) = row {
            if f.attrs(self.id).has_refs() {
                return Err("one of its attributes is a parameter of the function".to_owned());
            }
            match row(&mut self)? {
                Outcome::Same => {}
                done => return Ok(done),
            }
        }
        self.by_records(op, moves)
    }

    pub(super) fn is_up(&self) -> bool {
        self.from < self.to
    }

    pub(super) fn f(&self) -> &Function {
        self.at.function()
    }

    /// Whether the call has an attribute.
    pub(super) fn has(&self, attr: &str) -> bool {
        self.f().attrs(self.id).get(attr).is_some()
    }

    /// An attribute, or its default.
    pub(super) fn int(&self, attr: &str) -> Option<i64> {
        self.f().attrs(self.id).with_defaults(Some(self.old)).int(attr)
    }

    /// An attribute, or its default.
    pub(super) fn ints(&self, attr: &str) -> Option<Vec<i64>> {
        self.f().attrs(self.id).with_defaults(Some(self.old)).ints(attr)
    }

    /// An attribute, or its default; empty if it has neither.
    pub(super) fn text(&self, attr: &str) -> String {
        self.f().attrs(self.id).with_defaults(Some(self.old)).str(attr).unwrap_or_default().to_owned()
    }

    pub(super) fn arg(&self, index: usize) -> Option<NodeId> {
        self.args.get(index).copied().filter(|arg| !arg.is_absent())
    }

    pub(super) fn name_of(&self, index: usize) -> String {
        self.old.formal_input(index).map_or_else(|| index.to_string(), |formal| formal.name.clone())
    }

    /// An argument that must be constant, or follow from constants.
    pub(super) fn constant(&mut self, index: usize) -> Result<Option<Tensor>, String> {
        let Some(arg) = self.arg(index) else { return Ok(None) };
        let f = self.at.function();
        match f.constant(arg).cloned().or_else(|| value_of(f, self.ops, arg, self.computed)) {
            Some(tensor) if tensor.len() > MOST => Err(format!("its argument `{}` is too large", self.name_of(index))),
            Some(tensor) => Ok(Some(tensor)),
            None => Err(format!("its argument `{}` is not constant", self.name_of(index))),
        }
    }

    /// A list of integers that must be constant.
    pub(super) fn constant_ints(&mut self, index: usize) -> Result<Option<Vec<i64>>, String> {
        Ok(self.constant(index)?.and_then(|tensor| tensor.to_i64s()))
    }

    pub(super) fn elem(&self, index: usize) -> ElemType {
        self.arg(index).and_then(|arg| self.f().type_of(arg).elem()).unwrap_or(ElemType::UNKNOWN)
    }

    pub(super) fn dims(&self, index: usize) -> Option<Dims> {
        Some(self.f().type_of(self.arg(index)?).shape()?.iter().map(|&dim| dim.into()).collect())
    }

    pub(super) fn known_dims(&self, index: usize) -> Result<Dims, String> {
        self.dims(index).ok_or_else(|| format!("the rank of its argument `{}` is not known", self.name_of(index)))
    }

    /// An axis of an argument, counted from the first one.
    pub(super) fn axis_of(&self, index: usize, axis: i64) -> Result<i64, String> {
        match axis {
            0.. => Ok(axis),
            _ => Ok(axis + self.known_dims(index)?.len() as i64),
        }
    }

    /// Whether something uses a result, as far as that is known.
    pub(super) fn uses_result(&self, index: usize) -> bool {
        let Some(n) = self.f().n_results(self.id) else { return index == 0 };
        let is_it =
            |&&user: &&NodeId| matches!(self.f().expr(user), Expr::TupleGetItem { index: at, .. } if at == index);
        // A call that was made for an earlier version has no users yet.
        index < n
            && (self.id.index() >= self.users.n_nodes()
                || self.users.of(self.id).iter().filter(is_it).any(|&user| self.users.is_used(user)))
    }

    /// The attributes of the call except for those that go, with those that are stated.
    pub(super) fn attrs(&self) -> Vec<Attr> {
        let replaced = |name: &str| self.drops(name) || self.stated.iter().any(|attr| attr.name == name);
        let attrs = self.f().attrs(self.id);
        let kept = attrs.iter().filter(|(name, _)| !replaced(name));
        kept.filter_map(|(name, value)| Attr::of(name.to_owned(), value)).chain(self.stated.iter().cloned()).collect()
    }

    pub(super) fn drops(&self, name: &str) -> bool {
        self.dropped.iter().any(|dropped| dropped == name)
    }

    /// Lets attributes go, whatever their values.
    pub(super) fn drop_attrs(&mut self, names: &[&str]) {
        self.dropped.extend(names.iter().map(|&name| name.to_owned()));
    }

    pub(super) fn state(&mut self, attr: &'static str, value: impl Into<AttrData>) {
        self.stated.push(Attr::new(attr, value));
    }

    pub(super) fn build(&mut self) -> Builder<'_> {
        Builder::before(self.at, self.ops)
    }

    pub(super) fn new_constant(&mut self, tensor: Tensor) -> NodeId {
        self.build().constant(tensor)
    }

    pub(super) fn new_ints(&mut self, values: &[i64]) -> NodeId {
        self.new_constant(Tensor::from_i64(&[values.len() as u64], values))
    }

    /// A new call with one result.
    pub(super) fn new_call(&mut self, op: &'static str, args: &[NodeId], attrs: Vec<Attr>) -> Result<NodeId, String> {
        self.build().call(op, args, attrs).map_err(|error| error.to_string())
    }

    /// A new call in the place of this one, with the arguments and attributes that it has now.
    pub(super) fn in_place_of(&mut self, op: String) -> Result<Outcome, String> {
        while self.args.last().is_some_and(|arg| arg.is_absent()) {
            self.args.pop();
        }
        let (args, attrs) = (self.args.clone(), self.attrs());
        let n_results = self.f().n_results(self.id).map(|n| n as u16);
        let mut build = self.build();
        let made = match n_results {
            None => build.call(op, &args, attrs).map(|result| vec![result]),
            Some(n) => build.call_results("", op, &args, attrs, n).map(|(_, results)| results),
        };
        made.map(Outcome::Results).map_err(|error| error.to_string())
    }

    /// Does what follows from the records: an attribute that the other version does not have goes if it has its default or
    /// becomes an argument, an argument becomes an attribute, and a default that changed is stated.
    pub(super) fn by_records(mut self, op: &str, moves: &[&Move]) -> Result<Outcome, String> {
        let Some(new) = self.new else { return Err(format!("operator set {} has no such operator", self.to)) };
        if self.from == NEGATIVE_AXES && !self.is_up() && !COUNT_FROM_LAST.contains(&op) {
            self.count_from_first(op)?;
        }
        let mut kept: Vec<AttrRec> = Vec::new();
        let mut is_changed = !self.stated.is_empty();
        for rec in self.f().attr_recs(self.id).to_vec() {
            let attrs = self.f().attrs(self.id);
            let (name, value) = (self.f().str(rec.name), attrs.decode(rec));
            if rec.flags & attr_flag::META != 0 || new.attr(name).is_some() && !self.drops(name) {
                if rec.flags & attr_flag::META != 0 || self.stated.iter().all(|attr| attr.name != name) {
                    kept.push(rec);
                }
                continue;
            }
            is_changed = true;
            let name = name.to_owned();
            if let Some(it) = moves.iter().find(|it| it.attr == name && self.is_up()) {
                let tensor = tensor_of(value, it.form, self.elem(0)).ok_or_else(|| not_a_tensor(&name, value))?;
                let constant = self.new_constant(tensor);
                self.args.resize(self.args.len().max(it.arg + 1), NodeId::ABSENT);
                self.args[it.arg] = constant;
            } else if !self.drops(&name) && !self.is_neutral(&name, value) {
                return Err(format!("operator set {} has no attribute `{name}`, which is {}", self.to, shown(value)));
            }
            self.dropped.push(name);
        }
        if !self.is_up() {
            for it in moves {
                let Some(tensor) = self.constant(it.arg)? else { continue };
                let kind = new.attr(it.attr).map_or(attr_kind::NONE, |attr| attr.kind);
                let value = attr_of(&tensor, kind).ok_or_else(|| {
                    format!("its argument `{}` has a value that no attribute can have", self.name_of(it.arg))
                })?;
                if self.stated.iter().all(|attr| attr.name != it.attr) {
                    self.state(it.attr, value);
                }
                self.args[it.arg] = NodeId::ABSENT;
            }
        }
        self.state_defaults(new);
        let is_moved = self.f().call(self.id).is_some_and(|call| call.args() != self.args);
        if is_moved {
            while self.args.last().is_some_and(|arg| arg.is_absent()) {
                self.args.pop();
            }
        }
        if new.inputs.1 != u16::MAX && self.args.len() > usize::from(new.inputs.1) {
            let last = self.name_of(self.args.len() - 1);
            return Err(format!("operator set {} has no argument `{last}`", self.to));
        }
        if is_moved {
            return self.in_place_of(op.to_owned());
        }
        if !is_changed && self.stated.is_empty() {
            return Ok(Outcome::Same);
        }
        let id = self.id;
        let f = self.at.function_mut();
        kept.extend(self.stated.iter().map(|attr| f.encode_attr(attr)).collect::<Vec<_>>());
        f.set_attr_recs(id, &kept);
        Ok(Outcome::InPlace)
    }

    /// States the defaults of attributes that the call leaves out, where the other version has others.
    pub(super) fn state_defaults(&mut self, new: &OpSchema) {
        for attr in &new.attrs {
            let Some(old) = self.old.attr(&attr.name).and_then(|old| old.default_value()) else { continue };
            let is_given = self.has(&attr.name) || self.stated.iter().any(|stated| stated.name == attr.name);
            if !is_given && attr.default_value().as_ref() != Some(&old) {
                self.stated.push(Attr::new(attr.name.clone(), AttrData::from(old)));
            }
        }
    }

    /// Counts axes from the first one.
    pub(super) fn count_from_first(&mut self, op: &str) -> Result<(), String> {
        for name in ["axis", "axes"] {
            let (axes, is_list) = match self.f().attrs(self.id).get(name) {
                Some(AttrValue::Int(axis)) => (vec![axis], false),
                Some(AttrValue::Ints(axes)) => (axes.ints().collect(), true),
                _ => continue,
            };
            if axes.iter().all(|&axis| axis >= 0) {
                continue;
            }
            let added = if op == "Unsqueeze" { axes.len() as i64 } else { 0 };
            let rank = self.known_dims(0)?.len() as i64 + added;
            let axes: Vec<i64> = axes.iter().map(|&axis| if axis < 0 { axis + rank } else { axis }).collect();
            match is_list {
                true => self.state(name, axes),
                false => self.state(name, axes[0]),
            }
        }
        Ok(())
    }

    /// Whether an attribute says what a call says without it.
    pub(super) fn is_neutral(&self, name: &str, value: AttrValue<'_>) -> bool {
        let default = self.old.attr(name).and_then(|attr| attr.default_value()).map(AttrData::from);
        match (name, value) {
            ("dilations", AttrValue::Ints(sizes)) => sizes.ints().all(|size| size == 1),
            // It is for training.
            ("seed", _) => true,
            _ => default.is_some() && value.to_data() == default,
        }
    }
}

fn not_a_tensor(name: &str, value: AttrValue<'_>) -> String {
    match value {
        AttrValue::Ref { .. } => {
            format!("its attribute `{name}` is a parameter of the function, and becomes an argument")
        }
        _ => format!("its attribute `{name}` becomes an argument, whose element type is not known"),
    }
}

/// The value of an attribute as a tensor.
fn tensor_of(value: AttrValue<'_>, form: Form, elem: ElemType) -> Option<Tensor> {
    Some(match (value, form) {
        (AttrValue::Int(value), Form::List) => Tensor::from_i64(&[1], &[value]),
        (AttrValue::Int(value), Form::Scalar) => Tensor::from_i64(&[], &[value]),
        (AttrValue::Ints(values), Form::List) => {
            Tensor::from_i64(&[values.ints().len() as u64], &values.ints().collect::<Vec<_>>())
        }
        (AttrValue::Floats(values), Form::List) => {
            Tensor::from_f32(&[values.floats().len() as u64], &values.floats().collect::<Vec<_>>())
        }
        (AttrValue::Float(value), Form::Scalar) => Tensor::from_f32(&[], &[value]),
        (AttrValue::Float(value), Form::Element) => Tensor::from_f64s(elem, &[], &[value.into()])?,
        _ => return None,
    })
}

/// A tensor as the value of an attribute of a kind.
fn attr_of(tensor: &Tensor, kind: u8) -> Option<AttrData> {
    Some(match kind {
        attr_kind::INT => AttrData::Int(tensor.to_i64()?),
        attr_kind::INTS => AttrData::Ints(tensor.to_i64s()?),
        attr_kind::FLOATS => AttrData::Floats(tensor.to_f32s()?),
        attr_kind::FLOAT => {
            let value = tensor.to_f64()?;
            let narrow = value as f32;
            (f64::from(narrow) == value || value.is_nan()).then_some(AttrData::Float(narrow))?
        }
        _ => return None,
    })
}

/// The value of an attribute, in a message.
fn shown(value: AttrValue<'_>) -> String {
    match value {
        AttrValue::Int(value) => value.to_string(),
        AttrValue::Float(value) => value.to_string(),
        AttrValue::String(value) => format!("`{}`", String::from_utf8_lossy(value)),
        AttrValue::Ints(values) => format!("{:?}", values.ints().collect::<Vec<_>>()),
        AttrValue::Ref { name, .. } => format!("the parameter `{name}` of the function"),
        _ => "given".to_owned(),
    }
}
