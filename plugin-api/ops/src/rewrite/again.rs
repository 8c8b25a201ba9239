//! Whether a rule can decide otherwise in another round.

use relais_ir::*;

/// The effects of a round that another one could tell.
#[derive(Default)]
pub(super) struct Traces {
    /// How often each node was used when the round began.
    pub uses: Vec<u32>,
    /// The operators of the calls that were made.
    pub made: Vec<OpId>,
    /// Whether more became known of a value, or a call stayed for a reason that may have gone.
    pub is_open: bool,
}

impl Traces {
    /// Notes that a call of an operator was made.
    pub fn made(&mut self, op: OpId) {
        if !self.made.contains(&op) {
            self.made.push(op);
        }
    }

    /// Notes that a value has one user less, and how many are left.
    pub fn released(&mut self, id: NodeId, n_uses: u32) {
        self.is_open |= n_uses > 0 && id.index() >= self.uses.len();
    }

    /// Whether a call that was there when the round began has become used, or its value has fewer users than it had,
    /// without those that nothing uses themselves. `now` says how often nodes are used, `is_there` whether they are in a
    /// block.
    pub fn change_users(&self, f: &Function, mut now: Vec<u32>, is_there: impl Fn(NodeId) -> bool) -> bool {
        let is_computed = |id: NodeId| matches!(f.kind(id), kind::CALL | kind::IF | kind::TUPLE | kind::TUPLE_GET_ITEM);
        let (mut unused, mut changed) = (Vec::new(), Vec::new());
        for at in (0..self.uses.len()).filter(|&at| self.uses[at] != now[at]) {
            let id = NodeId::from_index(at);
            if is_computed(id) && is_there(id) {
                if now[at] == 0 { &mut unused } else { &mut changed }.push(id);
            }
        }
        while let Some(id) = unused.pop() {
            if f.n_regions(id) > 0 {
                return true;
            }
            for &operand in f.operands(id) {
                let n_uses = &mut now[operand.index()];
                *n_uses = n_uses.saturating_sub(1);
                if *n_uses > 0 && operand.index() >= self.uses.len() {
                    return true;
                }
                if is_computed(operand) && is_there(operand) {
                    if *n_uses == 0 { &mut unused } else { &mut changed }.push(operand);
                }
            }
        }
        changed.into_iter().any(|id| {
            let (before, now) = (self.uses[id.index()], now[id.index()]);
            now > 0 && (before == 0 || now < before)
        })
    }
}
