//! Operators of a function, in its own table.

use super::*;

impl Function {
    /// An entry of the operator table.
    #[inline]
    pub fn op(&self, id: OpId) -> &OpRec {
        &self.ops.as_slice()[id.index()]
    }

    /// All entries of the operator table, by id.
    pub fn ops(&self) -> &[OpRec] {
        self.ops.as_slice()
    }

    /// The operator's entry, added when there is none. `version` is 0 for the operator set that the function imports.
    pub fn add_op(&mut self, domain: &str, name: &str, overload: &str, version: u32) -> OpId {
        let [domain, name, overload] = [domain, name, overload].map(|string| self.intern(string));
        let hash = |op: &OpRec| {
            let names = Hash64::new().word(op.domain.0.into()).word(op.name.0.into()).word(op.overload.0.into());
            names.word(op.version.into()).finish()
        };
        let mut rec = OpRec { domain, name, overload, version, node: NodeId::ABSENT };
        let key = |op: &OpRec| (op.domain, op.name, op.overload, op.version);
        let found = self.op_index.find(hash(&rec), |id| key(&self.ops.as_slice()[id as usize]) == key(&rec));
        if let Some(id) = found {
            return OpId(id);
        }
        let id = next_id(self.ops.len());
        rec.node = self.push_node(NodeRec { kind: kind::OP, flags: 0, aux: 0, a: id, b: 0, c: 0 });
        self.ops.push(rec);
        let ops = &self.ops;
        self.op_index.insert(hash(&rec), id, |id| hash(&ops.as_slice()[id as usize]));
        OpId(id)
    }
}
