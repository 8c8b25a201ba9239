//! The functions in which the code of a plugin was when its process died, by the symbols of its file.

use super::texts::{cut, escaped};
use object::Object;
use std::{fs, path::Path};

/// How a line about a place begins: its distance from where the library begins in memory, and the plugin follow.
pub(crate) const LINE: &str = "frame ";

/// A part of the names of functions by which the host calls a plugin: of those and their callers, nothing is to be learnt.
const SHIMS: &str = "relais_boundary::entry::";

/// The most functions that are named.
const MOST: usize = 16;

/// The names of the functions of a plugin that such lines are about, the innermost first; where its file names none, the
/// places.
pub(crate) fn functions(told: &str, plugin: &str, library: &Path) -> Vec<String> {
    let own = format!("plugin `{plugin} ");
    let place = |line: &str| {
        let (place, of) = line.strip_prefix(LINE)?.split_once(' ')?;
        let place = u64::from_str_radix(place.strip_prefix("0x")?, 16).ok()?;
        of.starts_with(&own).then_some(place)
    };
    let places: Vec<u64> = told.lines().filter_map(place).collect();
    if places.is_empty() {
        return Vec::new();
    }
    let bytes = fs::read(library).unwrap_or_default();
    let file = object::File::parse(&*bytes).ok();
    let symbols = file.as_ref().map(|file| file.symbol_map());
    let name = |place: u64| {
        // A caller is at the instruction after its call.
        let symbol = symbols.as_ref().and_then(|symbols| symbols.get(place.saturating_sub(1)));
        symbol.map_or_else(
            || format!("{}+{place:#x}", library.file_name().unwrap_or_default().to_string_lossy()),
            |symbol| escaped(&cut(&format!("{:#}", rustc_demangle::demangle(symbol.name())))).into_owned(),
        )
    };
    let mut functions: Vec<(String, usize)> = Vec::new();
    for name in places.into_iter().map(name).take_while(|name| !name.contains(SHIMS)) {
        match functions.last_mut() {
            Some((last, n)) if *last == name => *n += 1,
            _ => functions.push((name, 1)),
        }
    }
    let n_more = functions.len().saturating_sub(MOST);
    functions.truncate(MOST);
    let times = |(name, n): (String, usize)| if n == 1 { name } else { format!("{name} ({n} times)") };
    let more = (n_more > 0).then(|| format!("… ({n_more} more)"));
    functions.into_iter().map(times).chain(more).collect()
}
