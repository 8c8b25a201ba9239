//! Targets, the data about what runtimes take, and the calls of a model for which one has no kernel.

use crate::error::Error;
use relais::{
    ir::{ElemType, Function, IRModule, NodeId, OpId, Type, kind, normal_domain},
    pass::Catalogue,
};
use relais_plugin_api::{infer::TypeRelations, op::OpSchema};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fmt,
    ops::RangeInclusive,
};
use toml::{Table, Value};

/// The operators that a runtime has kernels for.
pub(crate) struct Target {
    /// Its name and version.
    pub name: String,
    /// Element types whose values are cast to others where a kernel for them is lacking.
    casts: Vec<(ElemType, ElemType)>,
    domains: HashMap<String, Operators>,
}

struct Operators {
    /// The newest version of the domain that is taken.
    newest: i64,
    by_name: HashMap<String, Vec<Taken>>,
}

/// A kernel, or a definition by other operators.
struct Taken {
    imports: RangeInclusive<i64>,
    /// The element types that type variables, or formal arguments, stand for: any where there are none.
    types: Vec<(String, Vec<ElemType>)>,
}

/// The operators of a module, with their domains and the imports of these.
pub(crate) fn imported_operators(module: &IRModule) -> BTreeSet<(&str, &str, Option<i64>)> {
    let mut found = BTreeSet::new();
    for (_, f) in module.functions() {
        found.extend(f.ops().iter().map(|op| {
            let domain = normal_domain(f.str(op.domain));
            (domain, f.str(op.name), f.opset_version(domain))
        }));
    }
    found
}

/// A call that a runtime has no kernel for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Lacking {
    /// The operator, with its domain if that is not ONNX's own; empty if it takes no model with this import.
    pub operator: String,
    /// The version of its domain that is imported.
    pub import: i64,
    /// The element types of its arguments; empty where it has no kernel of any.
    pub types: Vec<String>,
}

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.operator.is_empty() {
            return write!(f, "operator set {}", self.import);
        }
        let of = if self.types.is_empty() { String::new() } else { format!(" of {}", self.types.join(", ")) };
        write!(f, "`{}`{of} at operator set {}", self.operator, self.import)
    }
}

impl Target {
    /// The onnxruntime whose tables are part of the program.
    ///
    /// # Errors
    /// Returns an error if they are not a target.
    pub fn onnxruntime() -> Result<Self, Error> {
        Self::parse(relais::pipeline::ONNXRUNTIME_TARGET)
    }

    /// Reads a target.
    fn parse(text: &str) -> Result<Self, Error> {
        let fault = |what: &str| Error::new(format_args!("a target cannot be parsed: {what}"));
        let table: Table = text.parse().map_err(|error| fault(&format!("{error}")))?;
        let string = |key: &str| table.get(key).and_then(Value::as_str).ok_or_else(|| fault(&format!("no `{key}`")));
        let name = format!("{} {}", string("name")?, string("version")?);
        let elem = |name: &str| ElemType::from_name(name).ok_or_else(|| fault(&format!("no element type `{name}`")));
        let mut casts = Vec::new();
        for (from, to) in table.get("casts").and_then(Value::as_table).into_iter().flatten() {
            casts.push((elem(from)?, elem(to.as_str().unwrap_or_default())?));
        }
        let mut domains = HashMap::new();
        for (domain, operators) in table.get("operators").and_then(Value::as_table).into_iter().flatten() {
            let operators = operators.as_table().ok_or_else(|| fault("a domain is a table"))?;
            let newest = operators.get("newest").and_then(Value::as_integer);
            let newest = newest.ok_or_else(|| fault(&format!("domain `{domain}` has no `newest`")))?;
            let mut by_name = HashMap::new();
            for (name, lines) in operators.iter().filter(|(name, _)| *name != "newest") {
                let lines = lines.as_array().into_iter().flatten().filter_map(Value::as_str);
                let kernels = lines.map(|line| Taken::parse(line, elem)).collect::<Result<_, _>>()?;
                by_name.insert(name.clone(), kernels);
            }
            domains.insert(domain.clone(), Operators { newest, by_name });
        }
        Ok(Self { name, casts, domains })
    }

    /// Returns the calls of a module that lack a kernel, as far as types are known: once for each operator and its types.
    pub fn lacks(&self, module: &IRModule, catalogue: &dyn Catalogue) -> Vec<Lacking> {
        let mut found = BTreeSet::new();
        for (_, f) in module.functions() {
            let mut relations = catalogue.relations();
            let mut seen: HashSet<Vec<u32>> = HashSet::new();
            for id in f.all_bindings().filter(|&id| f.kind(id) == kind::CALL) {
                let Some((call, op)) = f.call(id).and_then(|call| Some((call, call.op()?))) else { continue };
                let mut alike = vec![op.0, f.type_id(id).0];
                alike.extend(call.args().iter().map(|&arg| if arg.is_absent() { u32::MAX } else { f.type_id(arg).0 }));
                if seen.insert(alike) {
                    found.extend(self.lacking(f, &mut *relations, (id, op)));
                }
            }
        }
        found.into_iter().collect()
    }

    fn lacking(&self, f: &Function, relations: &mut dyn TypeRelations, (id, op): (NodeId, OpId)) -> Option<Lacking> {
        let rec = f.op(op);
        let (domain, name) = (normal_domain(f.str(rec.domain)), f.str(rec.name));
        let operators = self.domains.get(domain)?;
        let import = relations.version(f, op);
        if import > operators.newest {
            return Some(Lacking { operator: String::new(), import, types: Vec::new() });
        }
        let operator = if domain.is_empty() { name.to_owned() } else { format!("{domain}::{name}") };
        let kernels = operators.by_name.get(name).map_or(&[][..], Vec::as_slice);
        let mut kernels = kernels.iter().filter(|kernel| kernel.imports.contains(&import)).peekable();
        if kernels.peek().is_none() {
            return Some(Lacking { operator, import, types: Vec::new() });
        }
        let schema = relations.schema(op)?;
        let elems = elems_of(f, id, schema);
        let cast = |elem: ElemType| self.casts.iter().find(|(from, _)| *from == elem).map_or(elem, |&(_, to)| to);
        if kernels.any(|kernel| kernel.takes(&elems, |elem| elem) || kernel.takes(&elems, cast)) {
            return None;
        }
        let mut types: Vec<String> = elems.iter().map(|(_, elem)| elem.to_string()).collect();
        types.sort_unstable();
        types.dedup();
        Some(Lacking { operator, import, types })
    }
}

impl Taken {
    /// Reads a line such as `13..27: T=float32,float64 I=int64`.
    fn parse(line: &str, elem: impl Fn(&str) -> Result<ElemType, Error>) -> Result<Self, Error> {
        let fault = || Error::new(format_args!("a target cannot be parsed: `{line}` is not a kernel"));
        let (imports, vars) = line.split_once(':').unwrap_or((line, ""));
        let (first, last) = imports.split_once("..").ok_or_else(fault)?;
        let (first, last) = first.parse().ok().zip(last.parse().ok()).ok_or_else(fault)?;
        let mut types = Vec::new();
        for var in vars.split_whitespace() {
            let (name, elems) = var.split_once('=').ok_or_else(fault)?;
            types.push((name.to_owned(), elems.split(',').map(&elem).collect::<Result<_, _>>()?));
        }
        Ok(Self { imports: first..=last, types })
    }

    /// Whether it takes a call with these element types, by type variable and by formal argument.
    fn takes(&self, elems: &[([&str; 2], ElemType)], cast: impl Fn(ElemType) -> ElemType) -> bool {
        self.types.iter().all(|(var, allowed)| {
            let mut own = elems.iter().filter(|(names, _)| names.contains(&var.as_str()));
            own.all(|&(_, elem)| allowed.contains(&cast(elem)))
        })
    }
}

/// The known element types of a call's arguments and results, with their type variables and formal names.
fn elems_of<'s>(f: &Function, id: NodeId, schema: &'s OpSchema) -> Vec<([&'s str; 2], ElemType)> {
    let args = f.call(id).map(|call| call.args()).unwrap_or_default();
    let given = args.iter().enumerate().filter(|(_, arg)| !arg.is_absent());
    let given = given.filter_map(|(at, &arg)| Some((schema.formal_input(at)?, f.type_of(arg))));
    let results = match f.type_of(id) {
        Type::Tuple(types) if f.n_results(id).is_some() => types.iter().map(|&ty| f.ty(ty)).collect(),
        ty => vec![ty],
    };
    let results = schema.formal_outputs.iter().zip(results);
    let known = given.chain(results).filter_map(|(formal, ty)| match ty {
        Type::Tensor { elem, .. } if elem != ElemType::UNKNOWN => Some(([&*formal.var, &*formal.name], elem)),
        _ => None,
    });
    known.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_of_the_program_is_one() {
        let target = Target::onnxruntime().unwrap();
        assert!(target.name.starts_with("onnxruntime 1."), "{}", target.name);
        let kernels = &target.domains[""].by_name["Clip"];
        let of = |import: i64| kernels.iter().find(|kernel| kernel.imports.contains(&import)).unwrap();
        assert!(!of(11).takes(&[(["T", "input"], ElemType::INT64)], |elem| elem));
        assert!(of(12).takes(&[(["T", "input"], ElemType::INT64)], |elem| elem));
    }

    #[test]
    fn what_is_not_a_target_is_refused() {
        let with = |line: &str| format!("name = 'a'\nversion = '1'\n[operators.'']\nnewest = 9\nRelu = ['{line}']");
        assert!(Target::parse(&with("7..9: T=float32")).is_ok());
        for (text, expected) in [
            ("name = 3".to_owned(), "no `name`"),
            ("name =".to_owned(), "a target cannot be parsed"),
            ("name = 'a'\nversion = '1'\n[operators.'']\nRelu = []".to_owned(), "domain `` has no `newest`"),
            (with("7: T=float32"), "`7: T=float32` is not a kernel"),
            (with("7..9: T"), "is not a kernel"),
            (with("7..9: T=float33"), "no element type `float33`"),
        ] {
            let error = Target::parse(&text).err().unwrap().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
