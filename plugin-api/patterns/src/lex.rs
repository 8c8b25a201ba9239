//! Tokens.

use crate::{RuleCode, RuleFault, TextSpan};

/// A kind of token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Word,
    Number,
    String,
    Sign(&'static str),
    End,
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub kind: Kind,
    pub span: TextSpan,
}

/// The signs; of two with the same beginning the longer one first.
const SIGNS: &[&str] = &[
    "=>", "==", "!=", "<=", ">=", "::", "..", "=", "<", ">", "!", ":", ";", ",", "(", ")", "{", "}", "[", "]", "|",
    "?", "~", "@", "+", "-", "*", "/",
];

/// Splits a text into tokens. A character at fault is skipped.
pub(crate) fn tokens(text: &str) -> (Vec<Token>, Vec<RuleFault>) {
    let bytes = text.as_bytes();
    let (mut tokens, mut faults) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            b' ' | b'\t' | b'\r' | b'\n' => {
                at += 1;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = text[at..].find('\n').map_or(bytes.len(), |n| at + n);
                continue;
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                at = word_end(bytes, at);
                Kind::Word
            }
            b'0'..=b'9' => {
                at = number_end(bytes, at);
                Kind::Number
            }
            b'"' => match string_end(bytes, at) {
                Some(end) => {
                    at = end;
                    Kind::String
                }
                None => {
                    at = text[start..].find('\n').map_or(bytes.len(), |n| start + n);
                    let span = TextSpan { start, end: start + 1 };
                    faults.push(RuleFault::new(RuleCode::Token, span, "the string does not end").help("add a `\"`"));
                    continue;
                }
            },
            _ => match SIGNS.iter().find(|sign| bytes[at..].starts_with(sign.as_bytes())) {
                Some(sign) => {
                    at += sign.len();
                    Kind::Sign(sign)
                }
                None => {
                    let character = text[at..].chars().next().unwrap_or(' ');
                    at += character.len_utf8();
                    let span = TextSpan { start, end: at };
                    let message = format_args!("`{}` has no meaning here", character.escape_debug());
                    if faults.len() < crate::MAX_FAULTS {
                        faults.push(RuleFault::new(RuleCode::Token, span, message).help("remove it"));
                    }
                    continue;
                }
            },
        };
        tokens.push(Token { kind, span: TextSpan { start, end: at } });
    }
    tokens.push(Token { kind: Kind::End, span: TextSpan { start: bytes.len(), end: bytes.len() } });
    (tokens, faults)
}

fn is_start(byte: Option<&u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
}

fn word_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        match bytes.get(at) {
            Some(byte) if byte.is_ascii_alphanumeric() || *byte == b'_' => at += 1,
            Some(b'.') if is_start(bytes.get(at + 1)) => at += 1,
            _ => return at,
        }
    }
}

fn number_end(bytes: &[u8], mut at: usize) -> usize {
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    at = digits(at);
    if bytes.get(at) == Some(&b'.') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) {
        at = digits(at + 1);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        if bytes.get(at + 1 + sign).is_some_and(u8::is_ascii_digit) {
            at = digits(at + 1 + sign);
        }
    }
    // A letter behind it belongs to it, so that `1x` is not a number and a word.
    word_end(bytes, at)
}

fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\n' => return None,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}
