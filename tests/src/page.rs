//! Pages of documentation whose blocks are run.
//!
//! Above a block, `<!-- file: NAME -->` makes a file of it, and `<!-- not run: WHY -->` says why it is not run. In the
//! output of a command, `…` stands for any lines, and numbers with a unit of time, of memory, or with `%` are not
//! compared.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// A fenced block.
pub struct Block {
    /// The name of its page.
    pub page: &'static str,
    /// The text after its opening fence.
    pub language: &'static str,
    /// Its contents.
    pub text: String,
    /// Its line on the page.
    pub line: usize,
    /// The comment above it: `<!-- KIND: NAME -->`.
    pub mark: Option<(&'static str, &'static str)>,
}

impl Block {
    /// The file that it is.
    pub fn file(&self) -> Option<&'static str> {
        self.mark.and_then(|(kind, name)| (kind == "file").then_some(name))
    }

    /// Its page and line, for messages.
    pub fn place(&self) -> String {
        format!("{}:{}", self.page, self.line)
    }

    /// Whether something is done with it.
    pub fn is_run(&self) -> bool {
        self.mark.is_none_or(|(kind, _)| kind != "not run")
    }
}

/// The fenced blocks of the page `page` with the contents `text`.
///
/// # Panics
/// Panics if the last one does not end.
pub fn blocks(page: &'static str, text: &'static str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    let mut mark = None;
    for (line, text) in text.lines().enumerate() {
        if let Some(language) = text.strip_prefix("```") {
            is_open = !is_open;
            if is_open {
                blocks.push(Block { page, language, text: String::new(), line: line + 1, mark: mark.take() });
            }
        } else if is_open {
            let block = blocks.last_mut().expect("one is open");
            block.text += text;
            block.text.push('\n');
        } else {
            let comment = text.strip_prefix("<!-- ").and_then(|text| text.strip_suffix(" -->"));
            mark = comment.and_then(|comment| comment.split_once(": "));
        }
    }
    assert!(!is_open, "the last block is closed");
    blocks
}

/// The commands of a block of the language `console`, each with its output.
///
/// # Panics
/// Panics if the block does not end with a line.
pub fn commands(block: &Block) -> Vec<(&str, &str)> {
    let mut commands = Vec::new();
    let mut rest = block.text.as_str();
    while !rest.is_empty() {
        let (line, output) = rest.split_once('\n').expect("a block ends with a line");
        let end = output.find("\n$ ").map_or(output.len(), |at| at + 1);
        let end = if output.starts_with("$ ") { 0 } else { end };
        commands.push((line, &output[..end]));
        rest = &output[end..];
    }
    commands
}

/// Whether lines are as expected, where `…` is any number of lines.
pub fn is_as(expected: &str, printed: &str) -> bool {
    let printed: Vec<String> = printed.lines().map(comparable).collect();
    let mut at = 0;
    let parts: Vec<&str> = expected.split("…\n").collect();
    for (i, part) in parts.iter().enumerate() {
        let part: Vec<String> = part.lines().map(comparable).collect();
        let found = match i {
            0 => printed.starts_with(&part).then_some(0),
            _ if i + 1 == parts.len() => {
                printed.len().checked_sub(part.len()).filter(|start| printed[*start..] == part)
            }
            _ => (at..printed.len()).find(|&start| printed[start..].starts_with(&part)),
        };
        match found.filter(|&start| start >= at) {
            Some(start) => at = start + part.len(),
            None => return false,
        }
    }
    parts.len() > 1 || at == printed.len()
}

/// A line without its spacing and its measurements.
fn comparable(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let mut words: Vec<&str> = line.split_whitespace().collect();
    for word in &mut words {
        // As cargo writes it.
        if word.strip_suffix('s').is_some_and(|number| number.parse::<f64>().is_ok()) {
            *word = "#";
        }
    }
    for i in 1..words.len() {
        if ["ns", "us", "ms", "s", "%", "B", "KiB", "MiB"].contains(&words[i]) && words[i - 1].parse::<f64>().is_ok() {
            words[i - 1] = "#";
            words[i] = "#";
        }
    }
    " ".repeat(indent) + &words.join(" ")
}

/// Checks that the links of a page lead to its own headings, and to files that are there and to their headings. Those of
/// the web are not looked at.
///
/// # Panics
/// Panics if one does not.
pub fn check_links(path: &Path) {
    let page = &fs::read_to_string(path).expect("a page is text");
    let links = page.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
    for link in links.filter(|link| !link.starts_with("https://")) {
        let (file, name) = link.split_once('#').unwrap_or((link, ""));
        let there = match file {
            "" => Some(page.to_owned()),
            file => {
                let path = path.with_file_name(file);
                fs::read_to_string(&path).ok().or_else(|| path.exists().then(String::new))
            }
        };
        let there = there.unwrap_or_else(|| panic!("{}: `{link}` leads nowhere", path.display()));
        assert!(name.is_empty() || anchors(&there).contains(name), "{}: `{link}` leads to no heading", path.display());
    }
}

fn anchors(page: &str) -> BTreeSet<String> {
    page.lines().filter(|line| line.starts_with('#')).map(anchor).collect()
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let title = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Adds the files below a folder that have this extension.
///
/// # Panics
/// Panics if a folder cannot be read.
pub fn find(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).and_then(Iterator::collect).expect("the folder can be read");
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        // Pages of passes are made of comments in sources.
        let is_left_out = ["target", "passes"].iter().any(|left_out| name == *left_out)
            || name.to_string_lossy().starts_with('.')
            || entry.file_type().expect("the folder can be read").is_symlink();
        if path.is_dir() && !is_left_out {
            find(&path, extension, found);
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_compared() {
        assert!(is_as("a\n…\nd\n", "a\nb\nc\nd\n") && is_as("…\nb\n…\n", "a\nb\nc\n") && is_as("", ""));
        assert!(is_as("  took   1 ms\n", "  took 20.5 ms\n") && is_as("3 B\n", "3 B\n"));
        assert!(!is_as("a\n", "a\nb\n") && !is_as("a\n…\nc\n", "a\nb\n") && !is_as("…\nb\n…\na\n", "a\nb\n"));
        assert!(!is_as("3 nodes\n", "4 nodes\n") && !is_as("a\n", "  a\n") && !is_as("", "a\n"));
    }
}
