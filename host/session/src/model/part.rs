//! Changes to the interface of a model, which are made before passes run.

use super::{
    declared::forget_outdated_sizes,
    extract::{check_ranks, extract},
    shapes::{names_input, set_input_shapes},
};
use crate::{error::Error, listener::Notice};
use relais::{ir::IRModule, pass::Catalogue};

/// The part of a model that is wanted, and the shapes of its inputs. By default, the whole model as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Part {
    /// Other shapes of inputs, as `name:1,3,224,224`: of the model, or of the part if only that has the input.
    pub input_shapes: Vec<String>,
    /// The values that become the inputs, as for [`extract`].
    pub inputs: Vec<String>,
    /// The values that become the outputs, as for [`extract`].
    pub outputs: Vec<String>,
    /// Whether sizes that the model declares for inner values are believed.
    pub declared_sizes: DeclaredSizes,
}

/// Whether sizes that a model declares for inner values are believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DeclaredSizes {
    /// Those that the inputs leave open are forgotten, as by [`forget_outdated_sizes`].
    #[default]
    Checked,
    /// They are believed: passes have left the model as it is.
    Believed,
}

impl Part {
    /// Makes of a model the part that is wanted, without sizes that it declares and its inputs leave open. Returns what
    /// the user should know of this.
    ///
    /// # Errors
    /// Returns an error if a shape is malformed or does not fit, or the part cannot be cut out. The module may have changed
    /// then.
    pub fn cut(&self, module: &mut IRModule, catalogue: &dyn Catalogue) -> Result<Vec<Notice>, Error> {
        let (of_model, of_part) = self.shapes(module);
        let mut changes = set_input_shapes(module, &of_model, catalogue)?;
        let outdated = match self.declared_sizes {
            DeclaredSizes::Checked => forget_outdated_sizes(module, catalogue),
            DeclaredSizes::Believed => Vec::new(),
        };
        changes.extend(extract(module, &self.inputs, &self.outputs, catalogue)?);
        changes.extend(set_input_shapes(module, &of_part, catalogue)?);
        check_ranks(module, &self.inputs, &self.outputs)?;
        Ok(changes.into_iter().map(Notice::note).chain(about_outdated(&outdated)).collect())
    }

    /// The shapes that are set before the part is cut out, because values in it depend on them, and those of inputs that
    /// only the part has.
    fn shapes(&self, module: &IRModule) -> (Vec<String>, Vec<String>) {
        let is_part = !self.inputs.is_empty() || !self.outputs.is_empty();
        self.input_shapes.iter().cloned().partition(|shape| !is_part || names_input(module, shape))
    }
}

fn about_outdated(values: &[String]) -> Option<Notice> {
    let first = values.first()?;
    let more = match values.len() - 1 {
        0 => String::new(),
        1 => " and of one more value".to_owned(),
        n => format!(" and of {n} more values"),
    };
    Some(Notice::warning(format_args!(
        "the model fixes sizes of `{first}`{more} that its inputs leave open; what it declares there is not used"
    )))
}
