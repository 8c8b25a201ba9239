//! The operator sets that a function imports.

use super::{node::attr_flag, *};

/// Metadata of a root function node: the names of its outputs, by position.
pub const OUTPUT_NAMES: &str = "output_names";
/// Metadata of a function whose calls are computed together, as `FuseOps` makes them: TVM's name for it.
pub const PRIMITIVE: &str = "Primitive";
/// Metadata of a function node that was read from a model: the declared types of its outputs, by position.
pub const OUTPUT_TYPES: &str = "output_types";

/// Attribute of a module that was read from a model: the version of ONNX's format.
pub const IR_VERSION: &str = "ir_version";

/// Metadata of a root function node: the imported domains.
const DOMAINS: &str = "opset_domains";
/// Metadata of a root function node: their versions.
const VERSIONS: &str = "opset_versions";

/// Whether two domain names are the same domain: the empty name is `ai.onnx`.
pub fn is_same_domain(a: &str, b: &str) -> bool {
    let (a, b) = (normal_domain(a), normal_domain(b));
    // Empty strings point nowhere, and processors take long to compare no bytes there.
    a.len() == b.len() && (a.is_empty() || a == b)
}

/// A hash of the name of an operator: equal for both names of ONNX's own domain.
pub fn operator_hash(domain: &str, name: &str) -> u64 {
    Hash64::new().bytes(normal_domain(domain).as_bytes()).bytes(name.as_bytes()).finish()
}

/// A domain's name, `ai.onnx` being the empty one.
pub fn normal_domain(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

impl Function {
    /// The operator sets the function imports, in order, as domain and version.
    pub fn opset_imports(&self) -> Vec<(&str, i64)> {
        self.imports().collect()
    }

    fn imports(&self) -> impl Iterator<Item = (&str, i64)> {
        let attrs = self.attrs(self.root());
        let imports = match (attrs.meta(DOMAINS), attrs.meta(VERSIONS)) {
            (Some(AttrValue::Strings(domains)), Some(AttrValue::Ints(versions))) => Some((domains, versions)),
            _ => None,
        };
        imports.into_iter().flat_map(|(domains, versions)| {
            let domains = domains.strings().map(|domain| std::str::from_utf8(domain).unwrap_or_default());
            domains.zip(versions.ints())
        })
    }

    /// The version of a domain's operator set that the function imports; the last entry wins.
    pub fn opset_version(&self, domain: &str) -> Option<i64> {
        self.imports().filter(|(name, _)| is_same_domain(name, domain)).last().map(|(_, version)| version)
    }

    /// Sets the operator sets the function imports.
    pub fn set_opset_imports(&mut self, imports: &[(&str, i64)]) {
        let domains = imports.iter().map(|(domain, _)| domain.as_bytes().to_vec()).collect();
        let versions: Vec<i64> = imports.iter().map(|&(_, version)| version).collect();
        let new = [
            self.encode_attr(&Attr::meta(DOMAINS, AttrData::Strings(domains))),
            self.encode_attr(&Attr::meta(VERSIONS, versions)),
        ];
        let is_import = |f: &Self, rec: &AttrRec| {
            rec.flags & attr_flag::META != 0 && [DOMAINS, VERSIONS].contains(&f.str(rec.name))
        };
        let root = self.root();
        let kept = self.attr_recs(root).iter().filter(|rec| !is_import(self, rec)).copied();
        let recs: Vec<AttrRec> = new.into_iter().chain(kept).collect();
        self.set_attr_recs(root, &recs);
    }

    /// The operator-set version that a call of this operator is written for: its own, otherwise the imported one,
    /// otherwise 0.
    pub fn op_version(&self, op: OpId) -> i64 {
        let rec = self.op(op);
        match rec.version {
            0 => self.opset_version(self.str(rec.domain)).unwrap_or(0),
            own => own.into(),
        }
    }
}
