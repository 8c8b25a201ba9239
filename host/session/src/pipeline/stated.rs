//! The rules that a pipeline states, which are judged before they are used.

use super::{
    around::{FILES, LEVELS, ORIGINS, RULES, takes_rules},
    named::read_built_in,
};
use crate::error::Error;
use relais::{
    pass::Catalogue,
    pipeline::{PipelineSpec, spec::StepSpec},
    transform::Pass,
};
use relais_plugin_api::{
    options::Value,
    pattern::{self, Rule, RuleLevel},
};
use std::path::PathBuf;

/// A text of rules that a pipeline states as an option of a pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatedRules {
    /// The pass.
    pub pass: String,
    /// Where the text comes from, as errors name it.
    pub origin: String,
    /// The text.
    pub text: String,
    /// The file that the pipeline names, if the text is in one.
    pub file: Option<PathBuf>,
    /// The level of the pass: it refuses rules of another one.
    pub level: RuleLevel,
}

impl StatedRules {
    /// The rules that the steps of a pipeline state, in files too, for the passes to which the built-in pipeline `rules` gives
    /// those of the user.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read.
    pub fn of(spec: &PipelineSpec, catalogue: &dyn Catalogue) -> Result<Vec<Self>, Error> {
        let mut stated = Vec::new();
        for (taker, level) in takers()? {
            let Ok(facts) = catalogue.pass(&taker) else { continue };
            for options in spec.options_of(&facts, catalogue) {
                Self::add(&facts.name, &options, level, &mut stated)?;
            }
        }
        Ok(stated)
    }

    /// The rules that a pass states, if it is one of those passes.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read.
    pub fn of_pass(pass: &Pass) -> Result<Vec<Self>, Error> {
        let mut stated = Vec::new();
        for (taker, level) in takers()? {
            if pass.info().name == taker {
                Self::add(&taker, pass.options(), level, &mut stated)?;
            }
        }
        Ok(stated)
    }

    fn add(pass: &str, options: &Value, level: RuleLevel, stated: &mut Vec<Self>) -> Result<(), Error> {
        let list = |option| strings(options, option);
        let origins = list(ORIGINS);
        for (at, text) in list(RULES).into_iter().enumerate() {
            let origin = origins.get(at).cloned().unwrap_or_else(|| format!("{RULES}[{at}]"));
            stated.push(Self { pass: pass.to_owned(), origin, text, file: None, level });
        }
        for origin in list(FILES) {
            let file = PathBuf::from(&origin);
            let text = pattern::read_file(&file)?;
            stated.push(Self { pass: pass.to_owned(), origin, text, file: Some(file), level });
        }
        Ok(())
    }

    /// The options that state one rule, and no other.
    pub fn options_of(rule: &Rule) -> Value {
        let texts = Value::List(vec![Value::Str(rule.to_string())]);
        Value::Struct(vec![(RULES.to_owned(), texts)])
    }
}

/// The passes that take the rules of the user, each with the level of its rules.
fn takers() -> Result<Vec<(String, RuleLevel)>, Error> {
    let first = read_built_in(RULES).map_err(Error::new)?;
    let name = |step: &usize| match &first.nodes[*step].value {
        StepSpec::Pass { name, .. } if takes_rules(&first.nodes[*step]) => Some(name.value.clone()),
        _ => None,
    };
    Ok(first.steps.iter().filter_map(name).zip(LEVELS).collect())
}

/// The strings of an option that is a list.
fn strings(options: &Value, name: &str) -> Vec<String> {
    let Some(Value::List(items)) = options.get(name) else { return Vec::new() };
    let text = |item: &Value| if let Value::Str(text) = item { Some(text.clone()) } else { None };
    items.iter().filter_map(text).collect()
}
