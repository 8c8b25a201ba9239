//! Which files of a crate use which others, by their imports and paths.

use crate::architecture::code;
use std::collections::{BTreeMap, BTreeSet};

/// A path of modules, within a crate.
pub(super) type Module = Vec<String>;

/// The sources of a crate by the modules that they hold, without those of tests.
pub(super) struct Imports {
    /// By module: its file, and its code without comments and texts.
    files: BTreeMap<Module, (String, String)>,
    /// By module: the names that it defines.
    defined: BTreeMap<Module, BTreeSet<String>>,
    /// By module: what it imports, by the last name of each path.
    imported: BTreeMap<Module, BTreeMap<String, Vec<Module>>>,
}

/// The kinds of item that have names.
const ITEMS: [&str; 9] = ["struct", "enum", "fn", "trait", "type", "const", "static", "union", "macro_rules!"];

/// Those that are types.
const TYPES: [&str; 5] = ["struct", "enum", "union", "trait", "type"];

/// The most re-exports on the way to an item.
const MAX_STEPS: usize = 12;

impl Imports {
    /// Reads the sources of a crate, each with its path from the root; `folder` is that of its `src`.
    pub(super) fn of(folder: &str, sources: &BTreeMap<String, String>) -> Self {
        let mut imports = Self { files: BTreeMap::new(), defined: BTreeMap::new(), imported: BTreeMap::new() };
        let read =
            |(file, source): (&String, &String)| (module_of(file, folder), file.clone(), without_texts(&code(source)));
        // A program beside a library is a crate of its own.
        let (library, program) = (format!("{folder}/lib.rs"), format!("{folder}/main.rs"));
        let sources = sources.iter().filter(|(file, _)| **file != program || !sources.contains_key(&library));
        let files: Vec<(Module, String, String)> = sources.map(read).collect();
        let of_tests: Vec<Module> = files.iter().flat_map(|(module, _, code)| of_tests(module, code)).collect();
        let is_test = |module: &Module| of_tests.iter().any(|tests| module.starts_with(tests));
        for (module, file, code) in files.into_iter().filter(|(module, ..)| !is_test(module)) {
            imports.defined.insert(module.clone(), defined(&code));
            imports.imported.insert(module.clone(), imported(&code));
            imports.files.insert(module, (file, code));
        }
        imports
    }

    /// The file of a module.
    pub(super) fn file(&self, module: &Module) -> &str {
        &self.files[module].0
    }

    /// The types that users of the crate can name, each with its file.
    pub(super) fn public_types(&self) -> BTreeSet<(String, String)> {
        let mut types = BTreeSet::new();
        let (mut open, mut seen) = (vec![Module::new()], BTreeSet::new());
        while let Some(module) = open.pop() {
            let Some((file, code)) = self.files.get(&module).filter(|_| seen.insert(module.clone())) else { continue };
            types.extend(public(code, &TYPES).map(|name| (name, file.clone())));
            open.extend(public(code, &["mod"]).map(|name| [&module[..], &[name]].concat()));
            for (target, name) in exported(code).iter().filter_map(|path| self.resolve(&module, path, 0)) {
                let (file, code) = &self.files[&target];
                match name.as_str() {
                    "" | "*" => open.push(target),
                    _ => {
                        types.extend(public(code, &TYPES).filter(|item| *item == name).map(|name| (name, file.clone())))
                    }
                }
            }
        }
        types
    }

    /// The modules that each module uses: those that define what it names, by a path, an import or a glob. Names of an
    /// enclosing module do not count.
    pub(super) fn uses(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let uses = self.files.iter().map(|(module, (_, code))| {
            let mut used = BTreeSet::new();
            for path in paths(code) {
                self.add(module, &path, code, &mut used);
            }
            used.retain(|target| !module.starts_with(target));
            (module.clone(), used)
        });
        uses.collect()
    }

    fn add(&self, module: &Module, path: &[String], code: &str, used: &mut BTreeSet<Module>) {
        let Some((target, name)) = self.resolve(module, path, 0) else { return };
        if name != "*" {
            used.insert(target);
            return;
        }
        let words: BTreeSet<&str> = code.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
        let own = (&self.defined[module], &self.imported[module]);
        let names = self.defined[&target].iter().chain(self.imported[&target].keys());
        for name in names.filter(|name| words.contains(name.as_str())) {
            if !own.0.contains(name) && !own.1.contains_key(name) {
                used.extend(self.resolve(&target, std::slice::from_ref(name), 0).map(|(target, _)| target));
            }
        }
    }

    /// The module that defines what a path names in a module, and the name there; empty for a module itself.
    fn resolve(&self, module: &Module, path: &[String], depth: usize) -> Option<(Module, String)> {
        if depth > MAX_STEPS {
            return None;
        }
        let mut path = path;
        let mut base = match path.first()?.as_str() {
            "crate" => Module::new(),
            _ => module.clone(),
        };
        while let [first, rest @ ..] = path {
            match first.as_str() {
                "crate" | "self" => {}
                "super" => _ = base.pop(),
                _ => break,
            }
            path = rest;
        }
        while let [first, rest @ ..] = path {
            let inner = [&base[..], std::slice::from_ref(first)].concat();
            if !self.files.contains_key(&inner) {
                break;
            }
            (base, path) = (inner, rest);
        }
        let Some(name) = path.first().filter(|name| *name != "self") else { return Some((base, String::new())) };
        if name == "*" || self.defined.get(&base)?.contains(name) {
            return Some((base, name.clone()));
        }
        let is_own = |path: &Module| {
            let first = path[0].as_str();
            matches!(first, "crate" | "self" | "super")
                || self.files.contains_key(&[&base[..], std::slice::from_ref(&path[0])].concat())
        };
        let imported = &self.imported[&base];
        let named = imported.get(name).into_iter().flatten().filter(|path| is_own(path));
        if let Some(found) = named.filter_map(|path| self.resolve(&base, path, depth + 1)).next() {
            return Some(found);
        }
        for glob in imported.get("*").into_iter().flatten().filter(|path| is_own(path)) {
            let mut path = glob.clone();
            *path.last_mut()? = name.clone();
            match self.resolve(&base, &path, depth + 1) {
                Some((target, found)) if self.defined[&target].contains(&found) => return Some((target, found)),
                _ => {}
            }
        }
        Some((base, name.clone()))
    }
}

/// The modules that a module declares for tests only.
fn of_tests(module: &Module, code: &str) -> Vec<Module> {
    let attributes =
        code.split("#[cfg(").skip(1).filter(|rest| rest.starts_with("test)]") || rest.starts_with("all(test,"));
    let declared = attributes.filter_map(|rest| {
        let line = rest.lines().skip(1).map(str::trim).find(|line| !line.starts_with("#["))?;
        let (visibility, name) = line.strip_suffix(';')?.split_once("mod ")?;
        (visibility.is_empty() || visibility.starts_with("pub")).then(|| [&module[..], &[name.to_owned()]].concat())
    });
    declared.collect()
}

/// The module that a file of a crate holds: the parts of its path within the crate.
fn module_of(file: &str, folder: &str) -> Module {
    let path = file.strip_prefix(folder).unwrap_or(file).trim_start_matches('/').trim_end_matches(".rs");
    let mut parts: Module = path.split('/').map(str::to_owned).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

/// A code without the contents of its texts, which may look like code.
fn without_texts(code: &str) -> String {
    let mut out = String::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'']) {
        out.push_str(&rest[..at]);
        let hashes = rest[..at].bytes().rev().take_while(|&byte| byte == b'#').count();
        let is_raw = rest[..at - hashes].ends_with('r');
        let body = &rest[at + 1..];
        let len = match rest.as_bytes()[at] {
            b'"' if is_raw => body.find(&format!("\"{}", "#".repeat(hashes))).unwrap_or(body.len()),
            b'"' => end_of(body, b'"'),
            // A lifetime has no end.
            _ => match body.as_bytes() {
                [b'\\', ..] => end_of(body, b'\''),
                _ => body.char_indices().nth(1).filter(|&(at, c)| at > 0 && c == '\'').map_or(0, |(at, _)| at),
            },
        };
        rest = &body[len..];
        rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
        out.push(' ');
    }
    out + rest
}

/// Where a text ends that may contain escapes.
fn end_of(body: &str, quote: u8) -> usize {
    let mut is_escaped = false;
    let end = body.bytes().position(|byte| {
        let ends = byte == quote && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.unwrap_or(body.len())
}

/// The names of the items of a code.
fn defined(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut words = code.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if ITEMS.contains(&word)
            && let Some(next) = words.peek()
        {
            let name: String = next.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            names.insert(name);
        }
    }
    names
}

/// The names of the public items of these kinds in a code, but not those in modules that it writes out.
fn public<'a>(code: &'a str, kinds: &'a [&str]) -> impl Iterator<Item = String> + 'a {
    code.lines().filter_map(move |line| {
        let item = line.strip_prefix("pub ")?;
        let (kind, name) = item.strip_prefix("unsafe ").unwrap_or(item).split_once(' ')?;
        let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        kinds.contains(&kind).then(|| name.to_owned())
    })
}

/// The paths that a code imports for its users.
fn exported(code: &str) -> Vec<Module> {
    let mut paths = Vec::new();
    for (at, start) in code.match_indices("pub use ").filter(|(at, _)| *at == 0 || code[..*at].ends_with('\n')) {
        tree(&code[at + start.len()..], Vec::new(), &mut paths);
    }
    paths
}

/// The imports of a code, by the last name of each path.
fn imported(code: &str) -> BTreeMap<String, Vec<Module>> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("use ") {
        if code[..at].ends_with(|c: char| c.is_whitespace() || c == ';' || c == '}') || at == 0 {
            tree(&code[at + 4..], Vec::new(), &mut found);
        }
    }
    let mut imported: BTreeMap<String, Vec<Module>> = BTreeMap::new();
    for path in found {
        let last = path.last().cloned().unwrap_or_default();
        imported.entry(last).or_default().push(path);
    }
    imported
}

/// The paths that begin with `crate`, `self` or `super`.
fn paths(code: &str) -> Vec<Module> {
    let mut found = Vec::new();
    for start in ["crate::", "self::", "super::"] {
        for (at, _) in code.match_indices(start) {
            if !code[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '$')) {
                tree(&code[at..], Vec::new(), &mut found);
            }
        }
    }
    found
}

/// Adds the paths of a tree such as `a::{b::C, d}`, each behind `prefix`, and returns what follows the tree.
fn tree<'a>(mut code: &'a str, mut prefix: Module, paths: &mut Vec<Module>) -> &'a str {
    loop {
        code = code.trim_start();
        if let Some(list) = code.strip_prefix('{') {
            code = list;
            loop {
                code = code.trim_start();
                if let Some(rest) = code.strip_prefix('}') {
                    return rest;
                }
                let rest = tree(code, prefix.clone(), paths).trim_start();
                let rest = rest.strip_prefix("as ").map_or(rest, |renamed| {
                    let end = renamed.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(renamed.len());
                    renamed[end..].trim_start()
                });
                // Anything else is not a tree: code that is not understood.
                match rest.strip_prefix(',').or_else(|| rest.starts_with('}').then_some(rest)) {
                    Some(rest) => code = rest,
                    None => return rest,
                }
            }
        }
        let end = code.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(code.len());
        let end = end.max(usize::from(code.starts_with('*')));
        if end == 0 {
            paths.push(prefix);
            return code;
        }
        prefix.push(code[..end].to_owned());
        match code[end..].strip_prefix("::") {
            Some(rest) if !rest.starts_with('<') => code = rest,
            _ => {
                paths.push(prefix);
                return &code[end..];
            }
        }
    }
}
