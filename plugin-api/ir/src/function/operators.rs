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
        let mut rec = OpRec { domain, name, overload, version, node: NodeId::ABSENT };
        if let Some(id) = self.find_op(&rec) {
            return id;
        }
        let id = next_id(self.ops.len());
        rec.node = self.push_node(NodeRec { kind: kind::OP, flags: 0, aux: 0, a: id, b: 0, c: 0 });
        self.ops.push(rec);
        self.insert_op(id);
        OpId(id)
    }

    fn find_op(&self, rec: &OpRec) -> Option<OpId> {
        let key = |op: &OpRec| (op.domain, op.name, op.overload, op.version);
        let ops = self.ops.as_slice();
        self.op_index.find(hash_op(rec), |id| key(&ops[id as usize]) == key(rec)).map(OpId)
    }

    fn insert_op(&mut self, id: u32) {
        let ops = self.ops.as_slice();
        self.op_index.insert(hash_op(&ops[id as usize]), id, |id| hash_op(&ops[id as usize]));
    }

    /// Makes the index of operators.
    ///
    /// # Errors
    /// Returns an error if two are equal.
    pub(super) fn index_ops(&mut self) -> Result<(), String> {
        self.op_index = InternTable::default();
        for id in 0..next_id(self.ops.len()) {
            if let Some(first) = self.find_op(&self.ops[id as usize]) {
                let name = self.str(self.ops[id as usize].name);
                return Err(format!("operators {} and {id} are both `{name}`", first.0));
            }
            self.insert_op(id);
        }
        Ok(())
    }
}

fn hash_op(op: &OpRec) -> u64 {
    let names = Hash64::new().word(op.domain.0.into()).word(op.name.0.into()).word(op.overload.0.into());
    names.word(op.version.into()).finish()
}
