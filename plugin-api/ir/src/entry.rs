//! The entry function, whichever level it is of.

use super::{AttrValue, Function, IRModule, MAIN, NodeId, OUTPUT_NAMES};
use crate::prim::n_outputs;
use abi_stable::std_types::RArc;

/// The entry function of a module: a graph function or a loop program.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    /// The function.
    pub function: &'a RArc<Function>,
    /// Its inputs, in order.
    pub inputs: &'a [NodeId],
    /// Its outputs: the results of a graph function, the last parameters of a loop program.
    pub outputs: &'a [NodeId],
}

impl<'a> Entry<'a> {
    /// The names of the inputs.
    pub fn input_names(self) -> Vec<&'a str> {
        self.inputs.iter().map(|&input| self.function.name(input)).collect()
    }

    /// The names of the outputs, where the module came from a file that names them.
    pub fn output_names(self) -> Option<Vec<String>> {
        match self.function.attrs(self.function.root()).meta(OUTPUT_NAMES)? {
            AttrValue::Strings(names) => {
                Some(names.strings().map(|name| String::from_utf8_lossy(name).into_owned()).collect())
            }
            _ => None,
        }
    }
}

impl IRModule {
    /// The entry function, `@main`, if there is one.
    pub fn entry(&self) -> Option<Entry<'_>> {
        let function = self.body(MAIN)?;
        let (inputs, outputs) = match self.main() {
            Some(graph) => (graph.params(), graph.results(graph.body())),
            None => function.params().split_at(function.params().len() - n_outputs(function)),
        };
        Some(Entry { function, inputs, outputs })
    }
}
