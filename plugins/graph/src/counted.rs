//! Counting the fates of bindings, in addition to the code that decides them.

use relais_plugin_api::{
    ir::{BlockId, Rebuild},
    prelude::*,
};

/// Counts the bindings that do not stay.
pub(crate) struct Counted<R> {
    inner: R,
    n_gone: usize,
}

impl<R: Rebuild> Counted<R> {
    /// Rebuilds a function as `inner` decides, and returns how many bindings went.
    pub fn rebuild(edit: &mut Editor, inner: R) -> Result<usize, R::Error> {
        let mut counted = Self { inner, n_gone: 0 };
        edit.rebuild(&mut counted)?;
        Ok(counted.n_gone)
    }
}

impl<R: Rebuild> Rebuild for Counted<R> {
    type Error = R::Error;

    #[inline]
    fn binding(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Result<Action, R::Error> {
        let action = self.inner.binding(cx, id)?;
        self.n_gone += usize::from(action != Action::Keep);
        Ok(action)
    }

    fn enter(&mut self, editor: &mut Editor, block: BlockId) -> Result<(), R::Error> {
        self.inner.enter(editor, block)
    }

    fn exit(&mut self, editor: &mut Editor, block: BlockId) -> Result<(), R::Error> {
        self.inner.exit(editor, block)
    }
}
