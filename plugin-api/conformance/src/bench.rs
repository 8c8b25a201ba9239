//! The items under test, and where they run: linked into this program, or loaded by a host.

use super::interpret::Compute;
use relais_plugin_api::{
    boundary::{
        abi::wanted,
        entry::{Item, registrations},
        instrument::PassInfoRec,
        local,
        record::{Level, PassSpec},
    },
    build::CallChecker,
    diagnostics::PassError,
    infer::Operators,
    instrument::SkipKind,
    ir::*,
    op::Operator,
    options::{DefaultSpec, OptionKind, OptionSpec, Value},
    pass::Requirement,
};
use std::collections::BTreeSet;

/// A pass, as its record describes it.
#[derive(Clone, Debug)]
pub struct PassShape {
    /// Its full name.
    pub name: String,
    /// The kind of global that it works on.
    pub level: Level,
    /// The passes that run before it, in order.
    pub before: Vec<Requirement>,
    /// The operators that a rewrite looks at.
    pub ops: Vec<String>,
    /// Its options.
    pub options: Vec<Knob>,
    /// The rules that it consists of, as text; empty if it does not.
    pub rules: String,
    /// Examples for the rules: the rule's name, and a module as text.
    pub samples: Vec<(String, String)>,
}

/// An operator, as its record describes it.
#[derive(Clone, Debug)]
pub struct OpShape {
    /// Its domain; empty is ONNX's own.
    pub domain: String,
    /// Its name.
    pub name: String,
    /// The first version that the record describes.
    pub since: u32,
    /// Fewest and most arguments.
    pub inputs: (u16, u16),
    /// Fewest and most results.
    pub outputs: (u16, u16),
    /// Its attributes.
    pub attrs: Vec<AttrShape>,
    /// Whether its type relation is tested.
    pub judges_infer: bool,
    /// Whether its evaluator is tested, or the bodies that it makes in the place of one.
    pub judges_eval: bool,
    /// Whether its kernels are tested, and compared with its evaluator and its body.
    pub judges_kernel: bool,
    /// Whether its verifier is tested.
    pub judges_verify: bool,
    /// Whether its forms in different layouts are compared.
    pub judges_layouts: bool,
}

impl OpShape {
    /// Whether anything of it is tested.
    pub fn is_judged(&self) -> bool {
        self.judges_infer || self.judges_eval || self.judges_kernel || self.judges_verify || self.judges_layouts
    }

    /// The name with its domain and version.
    pub fn full_name(&self) -> String {
        match self.domain.as_str() {
            "" => format!("{}@{}", self.name, self.since),
            domain => format!("{domain}::{}@{}", self.name, self.since),
        }
    }
}

/// An attribute of an operator.
#[derive(Clone, Debug)]
pub struct AttrShape {
    /// Its name.
    pub name: String,
    /// One of [`attr_kind`].
    pub kind: u8,
    /// Whether a call without it is invalid.
    pub is_required: bool,
}

/// An option that can be varied.
#[derive(Clone, Debug)]
pub struct Knob {
    /// Its name.
    pub name: String,
    /// The values that it accepts.
    pub kind: KnobKind,
    /// The default.
    pub default: Option<Value>,
    /// Whether it may be left out although it has no default.
    pub is_optional: bool,
}

/// The values that an option accepts.
#[derive(Clone, Debug)]
pub enum KnobKind {
    /// `true` or `false`.
    Bool,
    /// An integer between two.
    Int(i64, i64),
    /// A number between two.
    Float(f64, f64),
    /// Text.
    Str,
    /// A path, which is never made up.
    Path,
    /// One of some names.
    Choice(Vec<String>),
    /// A list.
    List(Box<KnobKind>),
    /// A table.
    Struct(Vec<Knob>),
    /// Something that this version does not know.
    Other,
}

/// Passes by full or short name, and the operators that modules are computed with: linked into this program, or loaded
/// by a host.
pub trait Passes: Compute + Sync {
    /// Returns the passes that must run before a pass, each after its own requirements.
    ///
    /// # Errors
    /// Returns an error if the name means no pass, or several.
    fn required(&self, pass: &str) -> Result<Vec<Requirement>, PassError>;

    /// Makes a pass with options, and does nothing with it.
    ///
    /// # Errors
    /// Returns an error if it does not take them, or its constructor fails.
    fn make(&self, pass: &str, options: &Value) -> Result<(), PassError>;

    /// Runs a pass, without its requirements; `None` if it reports that it changed nothing.
    ///
    /// # Errors
    /// Returns an error if it fails.
    fn run(&self, pass: &str, options: &Value, module: &IRModule) -> Result<Option<IRModule>, PassError>;

    /// The same with options of the context.
    ///
    /// # Errors
    /// Returns an error if it fails, or options cannot be set.
    fn run_in(
        &self,
        pass: &str,
        options: &Value,
        config: &[(String, Value)],
        module: &IRModule,
    ) -> Result<Option<IRModule>, PassError> {
        match config {
            [] => self.run(pass, options, module),
            _ => Err(PassError::new("options of the context cannot be set here")),
        }
    }

    /// Whether a pass may change the interface of the program: it says so, and these options ask for it.
    fn changes_interface(&self, _pass: &str, _options: &Value) -> bool {
        false
    }
}

/// Whether options ask for another interface of the program by the one that a pass names, if it names one.
pub fn asks_for_interface(option: Option<&str>, options: &Value) -> bool {
    if option == Some("") {
        return true;
    }
    match option.and_then(|option| options.get(option)) {
        None | Some(Value::Bool(false)) => false,
        Some(Value::List(list)) => !list.is_empty(),
        Some(Value::Str(text)) => !text.is_empty(),
        Some(_) => true,
    }
}

/// Where passes and operators are tested.
pub trait Bench: Passes {
    /// The passes under test.
    fn passes(&self) -> Vec<PassShape>;

    /// The operators that modules consist of, including those under test.
    fn operators(&self) -> Vec<OpShape>;

    /// The instruments under test, with their options.
    fn instruments(&self) -> Vec<(String, Vec<Knob>)> {
        Vec::new()
    }

    /// Whether options are checked, so that values out of range can be tried.
    fn checks_options(&self) -> Checks;

    /// Runs a pass on modules while an instrument watches.
    ///
    /// # Errors
    /// Returns an error if the instrument fails.
    fn watch(&self, _instrument: &str, _options: &Value, _modules: &[IRModule]) -> Result<(), PassError> {
        Ok(())
    }
}

/// Whether something checks the options before a pass sees them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checks {
    /// A host does.
    Host,
    /// No provider.
    Nobody,
}

/// The items that are linked into this program.
#[derive(Debug, Default)]
pub struct LinkedItems;

impl Compute for LinkedItems {
    fn with_ops(&self, function: &Function, body: &mut dyn FnMut(&mut dyn Operators)) {
        local::with_ops(function, |ops| body(ops));
    }
}

impl Passes for LinkedItems {
    fn required(&self, pass: &str) -> Result<Vec<Requirement>, PassError> {
        let spec = local::info(pass).ok_or_else(|| PassError::new(format_args!("no pass `{pass}` is linked")))?;
        Ok(pass_shape(spec).before)
    }

    fn make(&self, pass: &str, options: &Value) -> Result<(), PassError> {
        local::make(pass, options)
    }

    fn run(&self, pass: &str, options: &Value, module: &IRModule) -> Result<Option<IRModule>, PassError> {
        let ran = local::run(pass, options, module)?;
        Ok(ran.changed.then_some(ran.module))
    }

    fn run_in(
        &self,
        pass: &str,
        options: &Value,
        config: &[(String, Value)],
        module: &IRModule,
    ) -> Result<Option<IRModule>, PassError> {
        let is_known = |key: &str| {
            registrations().any(|entry| match entry.item {
                Item::Option(spec) => spec.option.name == key || spec.aliases.contains(&key),
                _ => false,
            })
        };
        if let Some((key, _)) = config.iter().find(|(key, _)| !is_known(key)) {
            return Err(PassError::new(format_args!("no option `{key}` is registered")));
        }
        let ran = local::run_in(pass, options, config, wanted::REMARKS, module)?;
        Ok(ran.changed.then_some(ran.module))
    }

    fn changes_interface(&self, pass: &str, options: &Value) -> bool {
        let option = local::info(pass).and_then(|spec| spec.changes_interface);
        asks_for_interface(option, options)
    }
}

impl Bench for LinkedItems {
    fn passes(&self) -> Vec<PassShape> {
        let mut passes: Vec<PassShape> = specs().map(pass_shape).collect();
        passes.sort_by(|a, b| a.name.cmp(&b.name));
        passes
    }

    fn operators(&self) -> Vec<OpShape> {
        let evaluators = registrations().filter_map(|entry| match entry.item {
            Item::Evaluators(evaluators) => Some(evaluators),
            _ => None,
        });
        let evaluated: Vec<(&str, &str)> = evaluators.flatten().map(|eval| (eval.domain, eval.name)).collect();
        let operators = registrations().filter_map(|entry| match entry.item {
            Item::Operators(operators) => Some(operators),
            _ => None,
        });
        // Registrations come in the order of the linker, on which random modules must not depend.
        let mut operators: Vec<&Operator> = operators.flatten().collect();
        operators.sort_by_key(|op| (op.domain, op.name, op.since_version));
        operators.into_iter().map(|op| op_shape(op, &evaluated)).collect()
    }

    fn instruments(&self) -> Vec<(String, Vec<Knob>)> {
        let instruments = registrations().filter_map(|entry| match entry.item {
            Item::Instrument(spec, _) => Some(spec),
            _ => None,
        });
        let knobs = |options: &[OptionSpec]| options.iter().map(Knob::from).collect();
        let mut instruments: Vec<_> = instruments.map(|spec| (spec.name.to_owned(), knobs(spec.options))).collect();
        instruments.sort_by(|a, b| a.0.cmp(&b.0));
        instruments
    }

    fn checks_options(&self) -> Checks {
        Checks::Nobody
    }

    fn watch(&self, instrument: &str, options: &Value, modules: &[IRModule]) -> Result<(), PassError> {
        let watching = local::instrument(instrument, options, &[])?;
        let (name, level) = ("relais.conformance".into(), Level::MODULE.0);
        let required = Default::default();
        let pass = PassInfoRec { name, plugin: "".into(), level, opt_level: 0, required };
        watching.hook(|it, call| it.enter(call)).into_result()?;
        for module in modules {
            if watching.hook(|it, call| it.should_run(call, module, &pass)).into_result()? == 0 {
                let reason = "an instrument said no";
                watching.hook(|it, call| it.skipped(call, module, &pass, SkipKind::VETOED, reason)).into_result()?;
                continue;
            }
            watching.hook(|it, call| it.before(call, module, &pass)).into_result()?;
            watching.hook(|it, call| it.after(call, module, &pass)).into_result()?;
        }
        let error = PassError::new("a pass that fails");
        watching.hook(|it, call| it.failed(call, &pass, &error)).into_result()?;
        watching.hook(|it, call| it.exit(call)).into_result()
    }
}

fn specs() -> impl Iterator<Item = &'static PassSpec> {
    registrations().filter_map(|entry| match entry.item {
        Item::Pass(spec, _) => Some(spec),
        _ => None,
    })
}

fn pass_shape(spec: &PassSpec) -> PassShape {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    // Those of other crates do not run here.
    let direct = |name: &str| Some(local::info(name)?.required.iter().map(Requirement::from).collect());
    let before = requirements(spec.name, direct);
    let options = spec.options.iter().map(Knob::from).collect();
    PassShape {
        name: spec.name.to_owned(),
        level: spec.level,
        before,
        ops: names(spec.ops),
        options,
        rules: spec.rules.to_owned(),
        samples: spec.samples.iter().map(|sample| (sample.rule.to_owned(), sample.module.to_owned())).collect(),
    }
}

/// Returns the passes that must run before a pass, each after its own requirements; `of` returns the requirements of a
/// pass that exists.
pub fn requirements(pass: &str, of: impl Fn(&str) -> Option<Vec<Requirement>>) -> Vec<Requirement> {
    let (mut seen, mut order) = (BTreeSet::from([pass.to_owned()]), Vec::new());
    let mut todo = vec![(Requirement::from(pass), of(pass).unwrap_or_default())];
    while let Some((_, required)) = todo.last_mut() {
        if required.is_empty() {
            order.extend(todo.pop().map(|(done, _)| done));
            continue;
        }
        let next = required.remove(0);
        if let Some(required) = of(&next.pass).filter(|_| seen.insert(next.to_string())) {
            todo.push((next, required));
        }
    }
    order.pop();
    order
}

fn op_shape(op: &Operator, evaluated: &[(&str, &str)]) -> OpShape {
    let attr = |attr: &relais_plugin_api::op::AttrSchema| AttrShape {
        name: attr.name.to_owned(),
        kind: attr.kind,
        is_required: attr.required == relais_plugin_api::op::Required::Yes,
    };
    OpShape {
        domain: op.domain.to_owned(),
        name: op.name.to_owned(),
        since: op.since_version,
        inputs: op.inputs,
        outputs: op.outputs,
        attrs: op.attrs.iter().map(attr).collect(),
        judges_infer: op.infer.is_some(),
        judges_eval: op.eval.is_some() || op.body_of.is_some() || evaluated.contains(&(op.domain, op.name)),
        judges_kernel: op.compute.is_some(),
        judges_verify: op.verify.is_some(),
        judges_layouts: op.layouts.len() > 1,
    }
}

impl From<&OptionSpec> for Knob {
    fn from(spec: &OptionSpec) -> Self {
        Self {
            name: spec.name.to_owned(),
            kind: spec.kind.into(),
            default: spec.default.map(DefaultSpec::to_value),
            is_optional: spec.is_optional,
        }
    }
}

/// As deep as a schema, which has a limit.
impl From<OptionKind> for KnobKind {
    fn from(kind: OptionKind) -> Self {
        match kind {
            OptionKind::Bool => Self::Bool,
            OptionKind::Int { min, max } | OptionKind::Bytes { min, max } => Self::Int(min, max),
            OptionKind::Float { min, max } => Self::Float(min, max),
            OptionKind::Str => Self::Str,
            OptionKind::Path => Self::Path,
            OptionKind::Choice(choices) => Self::Choice(choices.iter().map(|choice| choice.name.to_owned()).collect()),
            OptionKind::List(item) => Self::List(Box::new((*item).into())),
            OptionKind::Struct(fields) => Self::Struct(fields.iter().map(Knob::from).collect()),
            _ => Self::Other,
        }
    }
}

impl Knob {
    /// Whether it must be given.
    pub(crate) fn is_mandatory(&self) -> bool {
        let has_default = self.default.is_some() || self.is_optional;
        !has_default && !matches!(&self.kind, KnobKind::Struct(fields) if !fields.iter().any(Self::is_mandatory))
    }
}

impl KnobKind {
    /// Whether values of it are made up. As deep as a schema, which has a limit.
    pub(crate) fn is_made_up(&self) -> bool {
        match self {
            Self::Path | Self::Other => false,
            Self::List(item) => item.is_made_up(),
            Self::Struct(fields) => fields.iter().all(|field| !field.is_mandatory() || field.kind.is_made_up()),
            _ => true,
        }
    }
}

/// Whether a call of a module is one that its operator does not take.
pub(super) fn has_refused_call(module: &IRModule, compute: &(impl Compute + ?Sized)) -> bool {
    let mut found = false;
    for (_, f) in module.functions() {
        compute.with_ops(f, &mut |ops| {
            let mut checker = CallChecker::default();
            let mut calls = f.all_bindings().filter_map(|id| Some((id, f.call(id)?.op()?)));
            found |= calls.any(|(id, op)| checker.check(f, ops, id, op).is_err());
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_come_in_order_and_once() {
        let of = |name: &str| {
            let required: &[&str] = match name {
                "a" => &["b", "c", "gone"],
                "b" => &["c"],
                "c" => &["a"],
                _ => return None,
            };
            Some(required.iter().map(|&name| Requirement::from(name)).collect())
        };
        assert_eq!(requirements("a", of), ["c", "b"].map(Requirement::from));
        assert_eq!(requirements("gone", of), []);
    }
}
