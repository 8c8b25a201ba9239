//! The right side of a rule, at a match.

use super::{
    compile::{Program, numbers},
    constant,
    search::{Bound, Search},
};
use crate::{boundary::record::formal_kind, ir::*, op::OpSchema, rewrite::RewriteCx};
use relais_patterns::{Name, Number, Setting, Value};

/// A value to be made: everything that does not need new nodes is decided.
pub(super) enum Plan {
    Nodes(Vec<NodeId>),
    Absent,
    Numbers { values: Vec<Number>, is_list: bool },
    Call { domain: String, name: String, attrs: Vec<Attr>, args: Vec<Plan> },
    Like { call: NodeId, attrs: Vec<Attr>, args: Vec<Plan> },
}

impl Search<'_, '_> {
    /// Decides everything about the results that needs no new nodes.
    ///
    /// # Errors
    /// Returns why they cannot be made.
    pub fn plan(&self, program: &Program<'_>) -> Result<Vec<Plan>, String> {
        self.rule.rule.results.iter().map(|result| self.plan_of(result, program)).collect()
    }

    fn plan_of(&self, value: &Value, program: &Program<'_>) -> Result<Plan, String> {
        Ok(match value {
            Value::Var(name) | Value::Rest(name) => match self.of(name) {
                Some(Bound::Node(id)) => Plan::Nodes(vec![*id]),
                Some(Bound::Rest(ids)) => Plan::Nodes(ids.clone()),
                Some(Bound::Absent) => Plan::Absent,
                Some(Bound::Attr(_)) | None => return Err(format!("`{}` is not a value", name.text)),
            },
            Value::Number(number, _) => Plan::Numbers { values: vec![*number], is_list: false },
            Value::List(items, _) => Plan::Numbers { values: numbers(items), is_list: true },
            Value::Absent(_) => Plan::Absent,
            Value::Call { op, attrs, args } => Plan::Call {
                domain: op.domain.clone(),
                name: op.name.clone(),
                attrs: self.attrs_of(attrs, program.schema(&op.domain, &op.name))?,
                args: self.plans(args, program)?,
            },
            Value::Like { call, attrs, args } => {
                let call = self.call_named(call)?;
                let f = self.cx.function();
                let rec = call.op().map(|op| f.op(op));
                let schema = rec.and_then(|rec| program.schema(normal_domain(f.str(rec.domain)), f.str(rec.name)));
                Plan::Like { call: call.id, attrs: self.attrs_of(attrs, schema)?, args: self.plans(args, program)? }
            }
        })
    }

    fn plans(&self, args: &[Value], program: &Program<'_>) -> Result<Vec<Plan>, String> {
        args.iter().map(|arg| self.plan_of(arg, program)).collect()
    }

    /// Returns the call that a variable names.
    fn call_named(&self, name: &Name) -> Result<CallView<'_>, String> {
        let call = match self.of(name) {
            Some(Bound::Node(id)) => self.cx.call_of(*id),
            _ => None,
        };
        let call = call.filter(|call| call.n_results().is_none());
        call.ok_or_else(|| format!("`{}` is one of several results", name.text))
    }

    fn attrs_of(&self, attrs: &[Setting], schema: Option<&OpSchema>) -> Result<Vec<Attr>, String> {
        let attr = |setting: &Setting| {
            let key = &setting.key.text;
            let kind = schema.and_then(|schema| schema.attr(key)).map_or(0, |attr| attr.kind);
            let value = self.eval(&setting.value).and_then(|value| value.into_data(kind));
            let value = value.map_err(|why| format!("`{setting}` cannot be computed: {why}"))?;
            Ok(Attr { name: key.clone().into(), value, flags: 0 })
        };
        attrs.iter().map(attr).collect()
    }
}

impl Plan {
    /// The values of the match that it uses.
    pub fn nodes(&self, found: &mut Vec<NodeId>) {
        match self {
            Self::Nodes(ids) => found.extend(ids),
            Self::Call { args, .. } | Self::Like { args, .. } => args.iter().for_each(|arg| arg.nodes(found)),
            Self::Absent | Self::Numbers { .. } => {}
        }
    }

    /// Makes the value that takes the place of a result with this type.
    ///
    /// # Errors
    /// Returns why it cannot be made.
    pub fn result(&self, cx: &mut RewriteCx<'_>, program: &Program<'_>, old: TypeId) -> Result<NodeId, String> {
        let Self::Numbers { values, is_list } = self else {
            return match self.make(cx, program)?.as_slice() {
                &[one] => Ok(one),
                _ => Err("a result is not one value".to_owned()),
            };
        };
        let ty = cx.function().ty(old);
        let elem = ty.elem().ok_or("the element type of the replaced value is not known")?;
        let sizes = ty.shape().and_then(|shape| shape.iter().map(|&dim| Dim::from(dim).known()).collect());
        let dims: Vec<u64> = sizes.ok_or("the sizes of the replaced value are not known")?;
        let is_wrong = || format!("the right side has a number that `{elem}` cannot hold");
        let tensor = if *is_list {
            constant::tensor(elem, &[values.len() as u64], values).ok_or_else(is_wrong)?
        } else {
            let one = constant::tensor(elem, &[], values).ok_or_else(is_wrong)?;
            Tensor::splat(elem, &dims, &one.to_bytes()).map_err(|error| error.to_string())?
        };
        Ok(cx.constant(tensor))
    }

    /// Makes the values that it stands for.
    fn make(&self, cx: &mut RewriteCx<'_>, program: &Program<'_>) -> Result<Vec<NodeId>, String> {
        Ok(match self {
            Self::Nodes(ids) => ids.clone(),
            Self::Absent => vec![NodeId::ABSENT],
            Self::Numbers { .. } => return Err("a number is not an argument here".to_owned()),
            Self::Call { domain, name, attrs, args } => {
                let args = arguments(args, cx, program, program.schema(domain, name))?;
                vec![cx.call_in(domain.clone(), name.clone(), &args, attrs.clone())]
            }
            Self::Like { call, attrs, args } => {
                let f = cx.function();
                let call = f.call(*call).ok_or("a call is gone")?;
                let rec = call.op().map(|op| f.op(op));
                let schema = rec.and_then(|rec| program.schema(normal_domain(f.str(rec.domain)), f.str(rec.name)));
                let args = arguments(args, cx, program, schema)?;
                vec![cx.call_like(call, &args, attrs.clone())]
            }
        })
    }
}

/// Makes the arguments of a call: first those whose element types decide about those of numbers.
fn arguments(
    plans: &[Plan],
    cx: &mut RewriteCx<'_>,
    program: &Program<'_>,
    schema: Option<&OpSchema>,
) -> Result<Vec<NodeId>, String> {
    let mut args: Vec<NodeId> = Vec::with_capacity(plans.len());
    let mut literals = Vec::new();
    for plan in plans {
        if let Plan::Numbers { values, is_list } = plan {
            literals.push((args.len(), values, *is_list));
            args.push(NodeId::ABSENT);
        } else {
            args.extend(plan.make(cx, program)?);
        }
    }
    let literal_places: Vec<usize> = literals.iter().map(|(at, ..)| *at).collect();
    for (at, values, is_list) in literals {
        let elem = literal_type(at, &args, &literal_places, values, cx, schema)?;
        let dims: &[u64] = if is_list { &[values.len() as u64] } else { &[] };
        let tensor = constant::tensor(elem, dims, values);
        args[at] = cx.constant(tensor.ok_or_else(|| format!("the right side has a number that `{elem}` cannot hold"))?);
    }
    while args.last().is_some_and(|arg| arg.is_absent()) {
        args.pop();
    }
    Ok(args)
}

/// The element type of a number that is argument `at`.
fn literal_type(
    at: usize,
    args: &[NodeId],
    literals: &[usize],
    values: &[Number],
    cx: &RewriteCx<'_>,
    schema: Option<&OpSchema>,
) -> Result<ElemType, String> {
    let has_float = values.iter().any(|value| matches!(value, Number::Float(_)));
    let written = if has_float { ElemType::FLOAT } else { ElemType::INT64 };
    let Some((schema, formal)) = schema.and_then(|schema| Some((schema, schema.formal_input(at)?))) else {
        return Ok(written);
    };
    let mut is_shared = false;
    for (other, &arg) in args.iter().enumerate().filter(|(_, arg)| !arg.is_absent()) {
        let is_same = schema.formal_input(other).is_some_and(|other| other.var == formal.var);
        if other == at || literals.contains(&other) || !is_same || formal.kind == formal_kind::MIXED {
            continue;
        }
        if let Some(elem) = cx.type_of(arg).elem() {
            return Ok(elem);
        }
        is_shared = true;
    }
    match schema.type_var(&formal.var).map(|var| var.tensors.as_slice()) {
        Some(&[only]) => Ok(only),
        _ if is_shared => Err("the element type of the other arguments is not known, nor that of a number".to_owned()),
        Some(allowed) if !allowed.is_empty() && !allowed.contains(&written) => {
            Err(format!("a number on the right side is of `{written}`, which the operator does not take"))
        }
        _ => Ok(written),
    }
}
