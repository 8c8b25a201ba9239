//! The boundary cannot change unnoticed: a file lists everything that crosses it, type by type.
#![cfg(target_pointer_width = "64")]

use abi_stable::{
    StableAbi,
    type_layout::{TLData, TLField, TLFields, TLFunction, TypeLayout},
};
use relais_plugin_api::boundary::{abi::PluginRef, fingerprint::FINGERPRINT, record::BOUNDARY};
use std::{
    collections::{BTreeSet, HashSet, VecDeque},
    env,
    fmt::Write,
    fs,
    path::Path,
};

/// A type's name with its parameters.
fn name(layout: &TypeLayout) -> String {
    let plain = || layout.full_type().to_string().replace("&'a  ", "&").trim().to_owned();
    let of = |fields: TLFields| fields.iter().map(|field| name(field.layout())).collect();
    let mut parameters: Vec<String> = match layout.data() {
        TLData::Enum(variants) => of(variants.fields),
        TLData::Struct { fields } => {
            let marker = fields.iter().find(|field| field.name() == "_marker").map(|field| name(field.layout()));
            let parameter = |marker: String| Some(marker.strip_prefix("PhantomData<")?.strip_suffix('>')?.to_owned());
            marker.and_then(parameter)
        }
        .into_iter()
        .collect(),
        _ if layout.name() == "PrefixRef" => Vec::new(),
        _ => return plain(),
    };
    if parameters.is_empty() || layout.package() != "abi_stable" {
        parameters = layout.generics().type_params().iter().map(|parameter| name(parameter())).collect();
    }
    match &parameters[..] {
        [] => layout.name().to_owned(),
        parameters => format!("{}<{}>", layout.name(), parameters.join(", ")),
    }
}

/// Everything that can be reached from a plugin's table, as text: each type with the offsets of its fields, each table
/// with the arguments and results of its functions.
fn layouts() -> String {
    let mut pending: VecDeque<&'static TypeLayout> = [PluginRef::LAYOUT].into();
    let mut seen = HashSet::new();
    let mut texts = BTreeSet::new();
    while let Some(layout) = pending.pop_front() {
        if !seen.insert(layout.get_utypeid()) {
            continue;
        }
        let mut text = format!("{}: {} bytes, aligned to {}\n", name(layout), layout.size(), layout.alignment());
        let fields: Vec<TLField> = match layout.data() {
            TLData::Struct { fields } | TLData::Union { fields } => fields.iter().collect(),
            TLData::Enum(of) => {
                writeln!(text, "    one of {}", of.variant_names.trim_end_matches(';').replace(';', ", ")).unwrap();
                of.fields.iter().collect()
            }
            TLData::PrefixType(table) => table.fields.iter().collect(),
            TLData::Primitive(_) | TLData::Opaque => Vec::new(),
        };
        let (mut offset, is_enum) = (0, matches!(layout.data(), TLData::Enum(_)));
        for field in &fields {
            let of = field.layout();
            offset = usize::next_multiple_of(offset, of.alignment().max(1));
            let place = if is_enum { String::new() } else { format!("{offset} ") };
            let functions: Vec<TLFunction> = field.function_range().iter().collect();
            let ty = if functions.is_empty() { name(of) } else { String::new() };
            writeln!(text, "{}", format!("    {place}{}: {ty}", field.name()).trim_end()).unwrap();
            offset += of.size();
            pending.push_back(of);
            for function in functions {
                let parameters = function.param_type_layouts.iter().map(|layout| layout());
                let result = function.return_type_layout().map(|layout| layout());
                let taken: Vec<String> = parameters.clone().map(name).collect();
                let given = result.map_or_else(|| "()".to_owned(), name);
                writeln!(text, "        fn({}) -> {given}", taken.join(", ")).unwrap();
                pending.extend(parameters.chain(result));
            }
        }
        pending.extend(layout.generics().type_params().iter().map(|parameter| parameter()));
        pending.extend(layout.phantom_fields().iter().map(|field| field.layout()));
        // The version of the other crate is fixed.
        if !fields.is_empty() && layout.package().starts_with("relais-") {
            texts.insert(text);
        }
    }
    texts.into_iter().collect()
}

#[test]
fn the_boundary_is_the_one_that_was_written_down() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("boundary.txt");
    let now = format!("version {BOUNDARY}\nfingerprint on 64-bit targets {FINGERPRINT:016x}\n\n{}", layouts());
    if env::var_os("RELAIS_BLESS").is_some() {
        fs::write(&path, &now).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap();
    assert!(
        now == written,
        "what crosses the boundary is no longer what `boundary.txt` says: raise `BOUNDARY` as `docs/abi.md` asks for, \
         say it in the changelog, and run this test with RELAIS_BLESS=1"
    );
}
