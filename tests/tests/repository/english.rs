//! Phrases that must not come back into the pages and comments, each with what to write instead.
//!
//! Pages are the Markdown files of the repository, without their code blocks and headings; comments are the `///`, `//!`
//! and `//` comments of all Rust sources. The messages of the crates, which are their string literals, are looked at for
//! the first phrase alone. Text between backticks is not looked at.

use relais_tests::page::find;
use std::{fmt::Write, fs, path::Path};

/// A phrase, and an example of each side of its border.
struct Row {
    /// Words with a space between them: `a|b` is either of two, `!a|b` any other word, `^a` a word at the start of a
    /// sentence, `a$` a word before punctuation or at the end. Case and punctuation around words do not matter.
    phrase: &'static str,
    /// A phrase is allowed if one of these is among the four words before it.
    unless_after: &'static [&'static str],
    /// The idiom.
    instead: &'static str,
    caught: &'static str,
    passes: &'static str,
}

const fn row(phrase: &'static str, instead: &'static str, caught: &'static str, passes: &'static str) -> Row {
    Row { phrase, unless_after: &[], instead, caught, passes }
}

/// The phrase that messages must not have either.
const IS_NO: Row = Row {
    phrase: "is|are|was|were|be|been no !longer|more|less|fewer|later|larger|better|worse",
    unless_after: &["there"],
    instead: "is not a …",
    caught: "An operand that is no\nconstant stays.",
    passes: "There is no constant, and it is no longer a call.",
};

const ROWS: &[Row] = &[
    IS_NO,
    row("^what", "a noun: “The value that …”, “Returns …”", "Ends. What does not fit is refused.", "What is it?"),
    row("^who|whoever", "“An author who …”, “Callers that …”", "Who calls it waits.", "Those who call it wait."),
    row("^tells", "“Returns …” or “Reports …”", "Tells what is known.", "It tells the host."),
    row(
        "does|do|did not read$",
        "cannot be read, cannot be parsed",
        "A record that does not read.",
        "It does not read `C`.",
    ),
    row(
        "nobody says|said|asks",
        "by default, unspecified, unless requested",
        "2 when nobody says.",
        "Nobody may write it.",
    ),
    row("let be", "is left alone, is allowed", "The call is let be.", "Let it be."),
    row("be had", "be available, be computed", "None is to be had.", "It has to be there."),
    row("of which each", "each of which", "Two, of which each counts.", "Two, each of which counts."),
    row("of whose", "whose", "A type of whose values there are none.", "A type whose values are unknown."),
    row("such a|an", "a … like this, this kind of …", "How such a call is made.", "Calls such as this one."),
    row("held against", "compared with, checked against", "It is held against the record.", "It held the record."),
    row("mend|mends|mended|mending", "fix", "Once it is mended.", "Once it is fixed."),
    row("else than", "other than", "Nothing else than this.", "More than this, or else it fails."),
    row("gives|given|give back", "returns", "It gives back a type.", "It gives a type, back to front."),
    row("anew", "again, newly", "It is written anew.", "It is written again."),
    row("left off", "omitted", "An argument that is left off.", "It continues where it left the block."),
    row("is|are|be passed over", "skipped, ignored", "Such fields are passed over.", "Passes over functions."),
    row("for ever", "forever", "It would run for ever.", "It is there for every call."),
    row("hears|heard|hear", "is told of, receives", "Instruments hear of it.", "It is told of the fault."),
    row("somebody|whoever", "another user, a caller, the reader", "Whoever asks gets it.", "Every caller gets it."),
    row("nobody", "nothing, no user, or the passive", "Nobody may write it.", "It may not be written."),
    row("one after the other", "one after another", "They run one after the other.", "They run one after another."),
    row("all the same", "anyway", "It runs all the same.", "All of the same kind."),
    row("becomes|became of", "happens to, the outcome of", "What became of it.", "It becomes a call of it."),
    row("but for", "except for", "All but for the last.", "It is not a call but a tuple."),
    row(
        "stands|stand in|at|behind|between|before|above|there|where",
        "is in, is stored in",
        "It stands in a block.",
        "It stands for a size.",
    ),
    row("so many", "that many, the number of", "After so many rounds it ends.", "There are many."),
    row("goes|go by", "is printed with, is called", "It goes by its number.", "It goes on."),
    row("as it|they stands|stand", "as it is, in its current form", "The text as it stands.", "It is as it was."),
    row("shared out", "distributed over", "Shared out among threads.", "Threads share the pool."),
    row("is|are asked for", "is requested", "What is asked for.", "It asks for a type."),
];

/// A word of a text.
struct Word<'a> {
    line: usize,
    /// With its punctuation.
    raw: &'a str,
    /// Without, in lower case.
    plain: String,
}

impl Word<'_> {
    fn ends_sentence(&self) -> bool {
        self.raw.trim_end_matches(['"', ')', '*', '_', '”']).ends_with(['.', '!', '?'])
    }

    fn is_last_of_clause(&self) -> bool {
        self.raw.ends_with(|c: char| !c.is_alphanumeric() && c != '`')
    }
}

/// The words of a paragraph whose lines have these numbers. Code between backticks becomes one word.
fn words<'a>(blanked: &'a str, lines: &[usize]) -> Vec<Word<'a>> {
    let words =
        blanked.lines().zip(lines).flat_map(|(text, line)| text.split_whitespace().map(move |raw| (*line, raw)));
    words
        .map(|(line, raw)| {
            let plain = raw.trim_matches(|c: char| !c.is_alphanumeric() && c != '`').to_lowercase();
            Word { line, raw, plain }
        })
        .collect()
}

/// A text with `x` in place of everything between backticks except ends of lines.
fn blank_code(text: &str) -> String {
    let mut is_code = false;
    let blank = |c: char| {
        is_code ^= c == '`';
        if is_code && c != '`' && c != '\n' { 'x' } else { c }
    };
    text.chars().map(blank).collect()
}

impl Row {
    /// Whether the words at `at` are the phrase.
    fn matches(&self, words: &[Word<'_>], at: usize) -> bool {
        let n_parts = self.phrase.split(' ').count();
        let Some(found) = words.get(at..at + n_parts) else { return false };
        let fits = self.phrase.split(' ').zip(found).enumerate().all(|(i, (part, word))| {
            let is_inner = i + 1 < n_parts;
            let starts_sentence = at + i == 0 || words[at + i - 1].ends_sentence();
            let (part, must_start) = part.strip_prefix('^').map_or((part, false), |part| (part, true));
            let (part, must_end) = part.strip_suffix('$').map_or((part, false), |part| (part, true));
            let (part, is_other) = part.strip_prefix('!').map_or((part, false), |part| (part, true));
            let is_one = part.split('|').any(|one| one == word.plain);
            let is_end = word.is_last_of_clause() || at + i + 1 == words.len();
            is_one != is_other
                && (!must_start || starts_sentence)
                && (!must_end || is_end)
                && !(is_inner && word.is_last_of_clause())
        });
        if !fits {
            return false;
        }
        let before = &words[at.saturating_sub(4)..at];
        let is_allowed = before.iter().any(|word| self.unless_after.contains(&word.plain.as_str()));
        // A question may begin with “What” and “Who”.
        let end = words[at..].iter().find(|word| word.ends_sentence());
        let is_question = self.phrase.starts_with('^') && end.is_some_and(|word| word.raw.contains('?'));
        !is_allowed && !is_question
    }
}

/// The lines of a paragraph that have a phrase, with its row.
fn hits(text: &str, lines: &[usize]) -> Vec<(usize, &'static Row)> {
    let blanked = blank_code(text);
    let words = words(&blanked, lines);
    let places = (0..words.len()).flat_map(|at| ROWS.iter().map(move |row| (at, row)));
    places.filter(|(at, row)| row.matches(&words, *at)).map(|(at, row)| (words[at].line, row)).collect()
}

/// Lines of prose put together to paragraphs.
#[derive(Default)]
struct Paragraphs {
    done: Vec<(String, Vec<usize>)>,
    /// The number of paragraphs before the table row that was read last.
    before_row: usize,
    text: String,
    lines: Vec<usize>,
    in_fence: bool,
}

impl Paragraphs {
    fn line(&mut self, number: usize, line: &str) {
        let line = line.trim();
        if line.starts_with("```") {
            self.in_fence = !self.in_fence;
            return self.end();
        }
        if self.in_fence || line.is_empty() || line.starts_with('#') || line.starts_with("<!--") {
            return self.end();
        }
        if line.starts_with('|') {
            self.end();
            // The row above this line is a heading.
            if line.trim_matches(['|', '-', ':', ' ']).is_empty() {
                return self.done.truncate(self.before_row);
            }
            self.before_row = self.done.len();
            for cell in line.split('|').map(str::trim).filter(|cell| !cell.is_empty()) {
                self.done.push((cell.to_owned(), vec![number]));
            }
            return;
        }
        let numbered = line.split_once(". ").filter(|(n, _)| n.chars().all(|c| c.is_ascii_digit()));
        let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).or(numbered.map(|(_, text)| text));
        if item.is_some() {
            self.end();
        }
        self.text.push_str(item.unwrap_or(line));
        self.text.push('\n');
        self.lines.push(number);
    }

    /// Ends a paragraph.
    fn end(&mut self) {
        let text = std::mem::take(&mut self.text);
        let lines = std::mem::take(&mut self.lines);
        if !lines.is_empty() {
            self.done.push((text, lines));
        }
    }
}

fn of_page(page: &str) -> Paragraphs {
    let mut paragraphs = Paragraphs::default();
    page.lines().enumerate().for_each(|(i, line)| paragraphs.line(i + 1, line));
    paragraphs.end();
    paragraphs
}

/// The comment of a line: its kind and its text.
fn comment(line: &str) -> Option<(&str, &str)> {
    let start = line.trim_start();
    for kind in ["///", "//!", "//"] {
        if let Some(text) = start.strip_prefix(kind) {
            return Some((kind, text));
        }
    }
    let (code, text) = line.split_once(" // ")?;
    (code.matches('"').count() % 2 == 0).then_some(("after code", text))
}

/// The comments of a source.
fn of_source(source: &str) -> Paragraphs {
    let mut paragraphs = Paragraphs::default();
    let mut kind = "";
    for (i, line) in source.lines().enumerate() {
        let (now, text) = comment(line).unwrap_or_default();
        if now != kind {
            paragraphs.end();
            paragraphs.in_fence = false;
        }
        kind = now;
        paragraphs.line(i + 1, text);
    }
    paragraphs.end();
    paragraphs
}

/// The string literals of a source without the tests at its end, each with the line where it begins.
fn literals(source: &str) -> Vec<(usize, String)> {
    let end = source.find("#[cfg(test)]\nmod tests {").unwrap_or(source.len());
    let mut found = Vec::new();
    let mut begun: Option<(usize, String)> = None;
    for (i, line) in source[..end].lines().enumerate() {
        if begun.is_none() && line.trim_start().starts_with("//") {
            continue;
        }
        // These quotation marks neither begin nor end a literal.
        let line = line.replace("'\"'", "").replace("\\\\", "").replace("\\\"", "");
        for (at, part) in line.split('"').enumerate() {
            if at > 0 {
                match begun.take() {
                    Some(literal) => found.push(literal),
                    None => begun = Some((i + 1, String::new())),
                }
            }
            match &mut begun {
                Some((_, text)) => text.push_str(part.trim_end_matches('\\')),
                // A comment after code.
                None if part.contains("//") => break,
                None => {}
            }
        }
        if let Some((_, text)) = &mut begun {
            text.push('\n');
        }
    }
    assert!(begun.is_none(), "this literal does not end: {begun:?}");
    found
}

/// The lines of a source with a message that has the phrase.
fn of_messages(source: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for (first, text) in literals(source) {
        let lines: Vec<usize> = (first..).take(text.lines().count()).collect();
        let hits = hits(&text, &lines).into_iter().filter(|(_, row)| row.phrase == IS_NO.phrase);
        found.extend(hits.map(|(line, _)| line));
    }
    found
}

#[test]
fn the_pages_and_comments_have_none_of_the_phrases() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (mut pages, mut sources) = (Vec::new(), Vec::new());
    find(root, "md", &mut pages);
    for folder in ["host", "plugin-api", "plugins", "tests"] {
        find(&root.join(folder), "rs", &mut sources);
    }
    assert!(pages.len() > 10 && sources.len() > 300, "{} pages, {} sources", pages.len(), sources.len());
    let mut report = String::new();
    for path in pages.iter().chain(&sources) {
        let file = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
        let text = fs::read_to_string(path).unwrap();
        let paragraphs = if file.ends_with(".md") { of_page(&text) } else { of_source(&text) };
        for (text, lines) in paragraphs.done {
            for (line, row) in hits(&text, &lines) {
                writeln!(report, "{file}:{line}: `{}`, write {}", row.phrase, row.instead).unwrap();
            }
        }
    }
    assert!(report.is_empty(), "{} phrases:\n{report}", report.lines().count());
}

#[test]
fn no_message_has_the_phrase() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut sources = Vec::new();
    for folder in ["host", "plugin-api", "plugins", "python/src"] {
        find(&root.join(folder), "rs", &mut sources);
    }
    let mut report = String::new();
    for path in &sources {
        let file = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
        if file.contains("/tests/") || file.ends_with("/tests.rs") {
            continue;
        }
        for line in of_messages(&fs::read_to_string(path).unwrap()) {
            writeln!(report, "{file}:{line}: `{}`, write {}", IS_NO.phrase, IS_NO.instead).unwrap();
        }
    }
    assert!(report.is_empty(), "{} phrases:\n{report}", report.lines().count());
}

#[test]
fn each_row_catches_what_it_should_and_nothing_else() {
    for row in ROWS {
        let caught = |text: &str| {
            let lines: Vec<usize> = (1..=text.lines().count()).collect();
            hits(text, &lines).iter().any(|(_, hit)| hit.phrase == row.phrase)
        };
        assert!(caught(row.caught), "`{}` passes: {}", row.phrase, row.caught);
        assert!(!caught(row.passes), "`{}` is caught: {}", row.phrase, row.passes);
    }
}

#[test]
fn only_prose_is_looked_at() {
    let n_hits = |paragraphs: Paragraphs| -> Vec<usize> {
        let done = paragraphs.done.iter();
        done.flat_map(|(text, lines)| hits(text, lines)).map(|(line, _)| line).collect()
    };
    let page = "# What is checked\n\nIt\nis no call.\n```text\nit is no call\n```\n| what | it |\n|---|--:|\n\
                | is no call | `is no call` |\n";
    assert_eq!(n_hits(of_page(page)), [4, 10]);
    let source = "/// It is\n/// no call.\nlet a = \"it is no call\"; // It is no call.\n// It is\n\n// no call.\n";
    assert_eq!(n_hits(of_source(source)), [1, 3]);
}

#[test]
fn only_messages_are_looked_at() {
    let source = "// \"It is no call.\"\nlet a = \"`{a}` is no call\"; // \"It is no call.\"\n\
                  let b = '\"'; // It is no call.\n\
                  let c = \"what is \\\"b\\\" is \\\n    no call\";\n\
                  let d = (\"there is no call\", \"\", \"it is no longer a call\", \"`it is no call`\");\n\
                  #[cfg(test)]\nmod tests {\n    const E: &str = \"it is no call\";\n}\n";
    assert_eq!(of_messages(source), [2, 4]);
}
