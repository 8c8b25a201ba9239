//! Texts from plugins: cut to a readable length, and without characters that a terminal obeys.

use abi_stable::std_types::RString;
use relais_plugin_api::{
    boundary::abi::{DiagnosticRec, PassErrorRec},
    diagnostics::PassError,
};
use std::borrow::Cow;

/// The most bytes of one text.
const MAX_TEXT: usize = 16 << 10;

/// The most notes of one message.
const MAX_NOTES: usize = 64;

/// The beginning of a text, with how much more there was.
pub fn cut(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_TEXT {
        return Cow::Borrowed(text);
    }
    let end = (0..=MAX_TEXT).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    Cow::Owned(format!("{}… ({} bytes more)", &text[..end], text.len() - end))
}

/// A text with escapes for characters that a terminal obeys or that reorder others. Lines and tabs stay.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| if is_obeyed(c) { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(escape).collect())
}

fn is_obeyed(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Marks and overrides of direction, and separators of lines.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        c => c.is_control(),
    }
}

fn cut_in_place(text: &mut abi_stable::std_types::RString) {
    if let Cow::Owned(short) = cut(text) {
        *text = short.into();
    }
}

/// Cuts the texts of a plugin's message.
pub(crate) fn cut_diagnostic(rec: &mut DiagnosticRec) {
    rec.notes.truncate(MAX_NOTES);
    let texts = [&mut rec.code, &mut rec.function, &mut rec.message, &mut rec.help];
    texts.into_iter().chain(rec.notes.iter_mut()).for_each(cut_in_place);
}

/// Cuts the texts of a plugin's error, and removes the plugin that it blames: the host knows which operator failed.
pub(crate) fn cut_error(error: PassError) -> PassError {
    let rec = error.rec();
    let own = [&rec.code, &rec.message, &rec.function, &rec.help, &rec.place, &rec.backtrace];
    let is_short = own.into_iter().chain(&rec.notes).all(|text| text.len() <= MAX_TEXT);
    if is_short && rec.plugin.is_empty() && rec.notes.len() <= MAX_NOTES && rec.more.len() <= MAX_TEXT {
        return error;
    }
    let short = |text: &str| cut(text).into_owned().into();
    PassError::from_rec(PassErrorRec {
        kind: rec.kind,
        node: rec.node,
        code: short(&rec.code),
        message: short(&rec.message),
        function: short(&rec.function),
        help: short(&rec.help),
        notes: rec.notes.iter().take(MAX_NOTES).map(|note| short(note)).collect(),
        place: short(&rec.place),
        backtrace: short(&rec.backtrace),
        plugin: RString::new(),
        more: rec.more.iter().take(MAX_TEXT).copied().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped() {
        assert_eq!(escaped("plain, ä\n\t€"), "plain, ä\n\t€");
        assert_eq!(escaped("a\rb\u{1b}[2J\u{7f}"), "a\\rb\\u{1b}[2J\\u{7f}");
        assert_eq!(escaped("\u{202e}x\u{2066}\u{2028}\u{9b}"), "\\u{202e}x\\u{2066}\\u{2028}\\u{9b}");
    }

    #[test]
    fn long_texts_are_cut_between_letters() {
        let text = "ä".repeat(MAX_TEXT);
        let short = cut(&text);
        assert!(short.len() < MAX_TEXT + 40 && short.ends_with("ä… (16384 bytes more)"), "{}", short.len());
        assert!(matches!(cut("short"), Cow::Borrowed(_)));
        let error = cut_error(PassError::new(&text).with_note(&text).help("short"));
        assert!(error.rec().message.len() < MAX_TEXT + 40 && error.rec().notes[0].len() < MAX_TEXT + 40);
        assert_eq!(error.rec().help, "short");
        assert_eq!(cut_error(PassError::new("short").of_plugin("another")).rec().plugin, "");
        let mut rec = DiagnosticRec { message: text.into(), ..DiagnosticRec::default() };
        rec.notes = (0..100).map(|_| "note".into()).collect();
        cut_diagnostic(&mut rec);
        assert!(rec.message.len() < MAX_TEXT + 40 && rec.notes.len() == MAX_NOTES);
    }
}
