//! The type relations of operators, as passes and the manager ask for them.

use crate::{
    ir::{Function, OpId, is_same_domain},
    plugin::OperatorRecord,
    registry::Registry,
};
use relais_plugin_api::{
    boundary::abi::{InferEntry, RequestCx, operator_part},
    diagnostics::PassError,
    infer::{TypeRelations, other_index, other_op},
    op::{InferRequest, OpError, OpSchema},
};
use std::cell::OnceCell;

/// The type relations of the operators that a function uses, by their ids in it.
pub(super) struct Relations<'a> {
    registry: &'a Registry,
    ops: Vec<KnownOp<'a>>,
    /// Operators that the function does not have, by domain and name.
    others: Vec<(String, String, KnownOp<'a>)>,
}

struct KnownOp<'a> {
    version: i64,
    relation: Relation,
    /// Its record, when a plugin describes it.
    record: Option<&'a OperatorRecord>,
    schema: OnceCell<OpSchema>,
    /// Whether its domain is described whole.
    is_closed: bool,
}

/// Requested when it is first needed: that may open a library.
#[derive(Clone, Copy)]
enum Relation {
    None,
    Unopened(u32),
    Open(u32, InferEntry),
}

impl<'a> Relations<'a> {
    pub fn new(registry: &'a Registry) -> Self {
        Self { registry, ops: Vec::new(), others: Vec::new() }
    }

    /// Returns the facts about an operator in a version of its domain's operator set; in the newest for `None`.
    fn look_up(&self, domain: &str, name: &str, version: Option<i64>) -> KnownOp<'a> {
        let wanted = version.map_or(u32::MAX, |version| u32::try_from(version).unwrap_or(0));
        let known = self.registry.operator(domain, name, wanted);
        let newest = known.map_or(0, |(_, record)| record.since_version.into());
        KnownOp {
            version: version.unwrap_or(newest),
            relation: known
                .filter(|(_, record)| record.has_infer)
                .map_or(Relation::None, |(id, _)| Relation::Unopened(id)),
            record: known.map(|(_, record)| record),
            schema: OnceCell::new(),
            is_closed: self.registry.is_closed(domain, wanted),
        }
    }

    fn known(&self, op: OpId) -> Option<&KnownOp<'a>> {
        match other_index(op) {
            None => self.ops.get(op.index()),
            Some(index) => self.others.get(index).map(|(_, _, known)| known),
        }
    }
}

impl TypeRelations for Relations<'_> {
    fn version(&mut self, function: &Function, op: OpId) -> i64 {
        for index in self.ops.len()..function.n_ops() {
            let op = OpId::from_index(index);
            let rec = function.op(op);
            let known = self.look_up(function.str(rec.domain), function.str(rec.name), Some(function.op_version(op)));
            self.ops.push(known);
        }
        self.known(op).map_or(0, |known| known.version)
    }

    fn other(&mut self, function: &Function, domain: &str, name: &str) -> Option<OpId> {
        let found = self.others.iter().position(|(d, n, _)| n == name && is_same_domain(d, domain));
        let index = found.unwrap_or_else(|| {
            let known = self.look_up(domain, name, function.opset_version(domain));
            self.others.push((domain.to_owned(), name.to_owned(), known));
            self.others.len() - 1
        });
        Some(other_op(index))
    }

    fn newest_version(&mut self, domain: &str, name: &str) -> Option<i64> {
        self.look_up(domain, name, None).record.map(|record| record.since_version.into())
    }

    fn infer(&mut self, op: OpId, request: &mut InferRequest<'_>) -> Option<Result<(), OpError>> {
        let known = match other_index(op) {
            None => self.ops.get_mut(op.index())?,
            Some(index) => &mut self.others.get_mut(index)?.2,
        };
        if let Relation::Unopened(id) = known.relation {
            known.relation = match self.registry.infer_entry(id) {
                Ok(entry) => Relation::Open(id, entry),
                Err(error) => return Some(Err(OpError::broken(error))),
            };
        }
        match known.relation {
            Relation::Open(_, entry) => Some(entry.call(RequestCx::NONE, request).into_result()),
            _ => None,
        }
    }

    fn schema(&self, op: OpId) -> Option<&OpSchema> {
        let KnownOp { record, schema, .. } = self.known(op)?;
        record.map(|record| schema.get_or_init(|| OpSchema::read(record.fields())))
    }

    fn is_closed(&self, op: OpId) -> bool {
        self.known(op).is_some_and(|known| known.is_closed)
    }

    fn fault(&self, op: OpId, error: &OpError) -> PassError {
        match self.known(op).map(|known| known.relation) {
            Some(Relation::Open(id, _) | Relation::Unopened(id)) => {
                self.registry.operator_fault(operator_part::RELATION, id, &error.message)
            }
            _ => PassError::new(&error.message),
        }
    }
}
