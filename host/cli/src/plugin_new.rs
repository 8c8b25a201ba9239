//! `relais plugin new`: a crate that builds, is tested and loads as it is. Its files are in `host/cli/templates`.

use super::{
    args_plugin::NewArgs,
    plugin_names::{Item, PassKind, items},
    terminal::{self, CliError},
};
use relais::files::{self, Existing};
use semver::VersionReq;
use std::{
    collections::BTreeMap,
    env::consts::{DLL_PREFIX, DLL_SUFFIX},
    fs, io,
    path::{self, Path, PathBuf},
};

macro_rules! template {
    ($name:expr) => {
        include_str!(concat!("../templates/", $name))
    };
}

/// Makes the crate.
pub(crate) fn new(args: &NewArgs) -> Result<(), CliError> {
    let items = items(args)?;
    let api = api(args)?;
    let folder = args.output.clone().unwrap_or_else(|| PathBuf::from(&args.name));
    if !is_free(&folder).map_err(|error| failed(&folder, &error))? {
        return Err(CliError::new(format!("`{}` is there already", folder.display()))
            .help("take another name, or another folder with `--output`"));
    }
    let mut written = Vec::new();
    for (name, text) in &sources(&args.name, &api, &items) {
        if let Err((path, error)) = write(&folder.join(name), text, &mut written) {
            // Files that cannot be removed stay; none of them existed before.
            written.iter().for_each(|path| drop(fs::remove_file(path)));
            return Err(failed(&path, &error));
        }
    }
    let mut said = format!("made plugin {} in `{}`\n", args.name, folder.display());
    for (module, item) in &items {
        said.push_str(&format!("  {} {} in src/{module}.rs\n", item.word(), item.name()));
    }
    said.push_str("`cargo test` in it tries it; README.md says how to build and run it\n");
    if args.api_path.is_none() && args.api_git.is_none() {
        said.push_str(&format!(
            "it takes version {} of `relais-plugin-api` from crates.io; where cargo does not find that, name a copy of \
             Relais's sources with `--api-path FOLDER` or `--api-git URL`\n",
            api.value
        ));
    }
    terminal::print(&said)
}

/// Every file of the crate, by its path.
fn sources(name: &str, api: &Api, items: &BTreeMap<String, Item>) -> BTreeMap<PathBuf, String> {
    let file = format!("{DLL_PREFIX}{}{DLL_SUFFIX}", name.replace('-', "_"));
    let library = format!("target/debug/{file}");
    let mods: String = items.iter().map(|(module, item)| mod_line(module, item)).collect();
    let values = [
        ("name", name),
        ("api", &*api.dependency("")),
        ("conformance", &*api.dependency(CONFORMANCE)),
        ("released", &*format!("target/release/{file}")),
        ("filetests", &filetests_text(&library, items)),
        ("run", &run_lines(&library, items)),
        ("mods", &mods),
    ];
    let mut files = BTreeMap::from([
        ("Cargo.toml".into(), fill(template!("Cargo.toml.in"), &values)),
        (".gitignore".into(), fill(template!("gitignore.in"), &values)),
        ("README.md".into(), fill(template!("README.md.in"), &values)),
        ("src/lib.rs".into(), fill(template!("lib.rs.in"), &values)),
    ]);
    for (module, item) in items {
        files.insert(format!("src/{module}.rs").into(), source(item));
        for (case, text) in filetests(item) {
            files.insert(format!("filetests/{}/{case}.relay", item.name()).into(), (*text).to_owned());
        }
    }
    files
}

/// The filetests of a pass: one in which it changes something, unless it only looks, and one in which it does not.
fn filetests(item: &Item) -> &'static [(&'static str, &'static str)] {
    macro_rules! cases {
        ($folder:literal, $($case:literal),*) => {
            &[$(($case, template!(concat!("filetests/", $folder, "/", $case, ".relay")))),*]
        };
    }
    match item {
        Item::Pass(PassKind::Rules, _) => cases!("rules", "two_become_one", "one_stays"),
        Item::Pass(PassKind::Rewrite, _) => cases!("rewrite", "two_become_one", "one_stays"),
        Item::Pass(PassKind::Function, _) => cases!("function", "calls_stay"),
        Item::Pass(PassKind::Module, _) => cases!("module", "an_empty_function_goes", "others_stay"),
        Item::Pass(PassKind::Sequential, _) => cases!("sequential", "constants_are_folded", "others_stay"),
        Item::Operator(..) | Item::Instrument(_) => &[],
    }
}

/// The part of the page about filetests, if there are any.
fn filetests_text(library: &str, items: &BTreeMap<String, Item>) -> String {
    if items.values().all(|item| filetests(item).is_empty()) {
        return String::new();
    }
    format!(
        "Each pass has filetests, `filetests/PASS/CASE.relay`: a module, and what the pass makes of it. Run them after \
         a build;\nwith `--bless`, what a pass makes of a module is written as the expectation:\n\n\
         ```sh\nrelais filetest filetests --plugin {library}\n```\n\n"
    )
}

fn source(item: &Item) -> String {
    let name = item.name();
    match item {
        Item::Pass(kind, _) => {
            let template = match kind {
                PassKind::Rules => template!("rules.rs.in"),
                PassKind::Rewrite => template!("rewrite.rs.in"),
                PassKind::Function => template!("function.rs.in"),
                PassKind::Module => template!("module.rs.in"),
                PassKind::Sequential => template!("sequential.rs.in"),
            };
            fill(template, &[("pass", &name)])
        }
        Item::Operator(domain, op) => {
            fill(template!("operator.rs.in"), &[("operator", &name), ("domain", domain), ("op", op)])
        }
        Item::Instrument(_) => fill(template!("instrument.rs.in"), &[("instrument", &name)]),
    }
}

/// A module in its own group: formatting would reorder adjacent ones.
fn mod_line(module: &str, item: &Item) -> String {
    let word = item.word();
    format!("/// {}{} `{}`.\npub mod {module};\n\n", word[..1].to_uppercase(), &word[1..], item.name())
}

/// The commands that try the items of the crate.
fn run_lines(library: &str, items: &BTreeMap<String, Item>) -> String {
    let mut line = format!("relais run model.onnx -o out.onnx --plugin {library}");
    let passes = items.values().filter(|item| matches!(item, Item::Pass(..)));
    let passes: Vec<String> = passes.map(Item::name).collect();
    if !passes.is_empty() {
        line.push_str(&format!(" --passes {}", passes.join(",")));
    }
    for instrument in items.values().filter(|item| matches!(item, Item::Instrument(_))) {
        line.push_str(&format!(" --instrument {}", instrument.name()));
    }
    // Instruments log at the level `info`.
    if items.values().any(|item| matches!(item, Item::Instrument(_))) {
        line.push_str(" -v");
    }
    line
}

/// A template with values in the place of `{{name}}`.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (key, after) = after.split_once("}}").expect("a template closes what it opens");
        let (_, value) = values.iter().find(|(name, _)| *name == key).expect("a template's values are given");
        out.push_str(before);
        out.push_str(value);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Where `relais-plugin-api` and `relais-conformance` come from: a key of a dependency in `Cargo.toml`, and its value.
struct Api {
    key: &'static str,
    value: String,
}

/// The folder of `relais-conformance` in that of `relais-plugin-api`.
const CONFORMANCE: &str = "conformance";

impl Api {
    /// A dependency on the crate in a folder of that of `relais-plugin-api`.
    fn dependency(&self, folder: &str) -> String {
        let Self { key, value } = self;
        let quoted = |value: String| toml::Value::String(value).to_string();
        match *key {
            "version" => quoted(value.clone()),
            // Both systems take `/`.
            "path" if !folder.is_empty() => format!("{{ path = {} }}", quoted(format!("{value}/{folder}"))),
            key => format!("{{ {key} = {} }}", quoted(value.clone())),
        }
    }
}

fn api(args: &NewArgs) -> Result<Api, CliError> {
    if let Some(folder) = &args.api_path {
        for (folder, name) in [(folder, "relais-plugin-api"), (&folder.join(CONFORMANCE), "relais-conformance")] {
            let help = "`--api-path` takes the folder `plugin-api` of Relais's sources";
            let manifest = folder.join("Cargo.toml");
            let found = fs::read_to_string(&manifest).map_err(|error| {
                CliError::new(format!("`{}` cannot be read: {error}", manifest.display())).help(help)
            })?;
            let package = found.parse::<toml::Table>().ok();
            if package.as_ref().and_then(|table| table.get("package")?.get("name")?.as_str()) != Some(name) {
                return Err(CliError::new(format!("`{}` is not of the crate `{name}`", manifest.display())).help(help));
            }
        }
        // The crate's folder is another than the current one. The verbatim paths of Windows take no `/`.
        let whole =
            folder.canonicalize().ok().filter(|whole| !whole.as_os_str().as_encoded_bytes().starts_with(b"\\\\?"));
        let folder = whole.map_or_else(|| path::absolute(folder), Ok).map_err(|error| failed(folder, &error))?;
        let Some(folder) = folder.to_str() else {
            return Err(CliError::new(format!("`{}` is not UTF-8, as `Cargo.toml` must be", folder.display())));
        };
        return Ok(Api { key: "path", value: folder.to_owned() });
    }
    if let Some(url) = &args.api_git {
        if url.is_empty() || url.chars().any(|letter| letter.is_control() || letter == ' ') {
            return Err(CliError::usage(format!("{url:?} is not the address of a git repository"))
                .help("write it as `https://…/relais`, or `file:///…`"));
        }
        return Ok(Api { key: "git", value: url.clone() });
    }
    let version = args.api_version.as_deref().unwrap_or(env!("CARGO_PKG_VERSION"));
    if let Err(error) = version.parse::<VersionReq>() {
        return Err(
            CliError::usage(format!("{version:?} is not a version: {error}")).help("write it as `0.1` or `=0.1.2`")
        );
    }
    Ok(Api { key: "version", value: version.to_owned() })
}

/// Whether nothing is there that could be overwritten.
fn is_free(folder: &Path) -> io::Result<bool> {
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
        Err(error) => Err(error),
    }
}

fn write(path: &Path, text: &str, written: &mut Vec<PathBuf>) -> Result<(), (PathBuf, io::Error)> {
    let at = |error| (path.to_owned(), error);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(at)?;
    }
    files::write(path, Existing::Keep, text.as_bytes()).map_err(|error| at(io::Error::other(error)))?;
    written.push(path.to_owned());
    Ok(())
}

fn failed(path: &Path, error: &io::Error) -> CliError {
    CliError::new(format!("`{}` cannot be written: {error}", path.display()))
}
