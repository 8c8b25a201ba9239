//! Tokens of the text form.

use super::error::{Fault, TextCode};
use std::{borrow::Cow, fmt, ops::Range};

/// A token. Names and strings are bytes, with their escapes resolved.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token<'s> {
    /// `Conv`, `let`, `float32`, `-inf`
    Word(&'s str),
    /// `"…"`
    Str(Cow<'s, [u8]>),
    /// `hex"…"`
    Hex(&'s str),
    /// `%7`
    Number(u32),
    /// `%x`, `%"…"`
    Name(Cow<'s, [u8]>),
    /// `@main`, `@"…"`
    Global(Cow<'s, [u8]>),
    /// `@11`
    Version(u32),
    /// `$alpha`, `$"…"`
    Ref(Cow<'s, [u8]>),
    /// `1`, `-1.5e-3`, `0x1f`, `2.0f32`
    Literal(&'s str),
    /// `(`, `;`, …
    Punct(u8),
    /// `..`, `<<`, `==`, …: only in loop programs.
    Infix(&'static str),
    /// `->`
    Arrow,
    /// `::`
    Path,
    /// `#[`
    Meta,
    /// The end of the text.
    Eof,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(64)]).into_owned();
        match self {
            Self::Word(word) => write!(f, "`{word}`"),
            Self::Str(_) => f.write_str("a string"),
            Self::Hex(_) => f.write_str("a hex string"),
            Self::Number(number) => write!(f, "`%{number}`"),
            Self::Name(name) => write!(f, "`%{}`", shown(name)),
            Self::Global(name) => write!(f, "`@{}`", shown(name)),
            Self::Version(version) => write!(f, "`@{version}`"),
            Self::Ref(name) => write!(f, "`${}`", shown(name)),
            Self::Literal(number) => write!(f, "`{number}`"),
            Self::Punct(byte) => write!(f, "`{}`", char::from(*byte)),
            Self::Infix(text) => write!(f, "`{text}`"),
            Self::Arrow => f.write_str("`->`"),
            Self::Path => f.write_str("`::`"),
            Self::Meta => f.write_str("`#[`"),
            Self::Eof => f.write_str("the end of the text"),
        }
    }
}

pub(super) struct Lexer<'s> {
    text: &'s str,
    at: usize,
    /// Whether there are infix operators.
    pub has_infix: bool,
}

/// The marks of loop programs that have two characters.
const LONG_MARKS: [&str; 7] = ["..", "<<", ">>", "<=", ">=", "==", "!="];
/// The marks of one character that only loop programs have.
const SHORT_MARKS: &[u8] = b"+-/|^<>";

/// Whether a name is printed without quotes.
pub(super) fn is_bare_name(name: &[u8]) -> bool {
    name.first().is_some_and(|&first| is_word_start(first)) && bare_len(name, true) == name.len()
}

/// Whether a word (an operator, an attribute name) is printed without quotes.
pub(super) fn is_bare_word(word: &[u8]) -> bool {
    word.first().is_some_and(|&first| is_word_start(first)) && bare_len(word, false) == word.len()
}

const fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// How much of `bytes` is one bare name: `.`, `-` and `/` are allowed in it between word characters, and in names of
/// values `:` before a digit.
fn bare_len(bytes: &[u8], is_value: bool) -> usize {
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied().unwrap_or(0);
        let belongs = match byte {
            b'.' | b'-' | b'/' => is_word(next),
            b':' => is_value && next.is_ascii_digit(),
            _ => is_word(byte),
        };
        if !belongs {
            break;
        }
        at += 1;
    }
    at
}

type Lexed<'s> = Result<(Token<'s>, Range<usize>), Box<Fault>>;

impl<'s> Lexer<'s> {
    pub fn new(text: &'s str) -> Self {
        Self { text, at: 0, has_infix: false }
    }

    fn rest(&self) -> &'s [u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// Returns the next token. After a fault, lexing continues after the text at fault.
    pub fn next(&mut self) -> Lexed<'s> {
        self.skip_blank()?;
        let start = self.at;
        let token = self.token();
        Ok((token?, start..self.at))
    }

    fn skip_blank(&mut self) -> Result<(), Box<Fault>> {
        loop {
            let rest = self.rest();
            let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            self.at += blank;
            let rest = &rest[blank..];
            if rest.starts_with(b"//") {
                self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
            } else if rest.starts_with(b"/*") {
                let Some(len) = self.text[self.at + 2..].find("*/") else {
                    let start = self.at;
                    self.at = self.text.len();
                    let fault = Fault::new(TextCode::Syntax, start..start + 2, "this comment has no end");
                    return Err(fault.help("close it with `*/`"));
                };
                self.at += len + 4;
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token<'s>, Box<Fault>> {
        let rest = self.rest();
        let Some(&first) = rest.first() else {
            return Ok(Token::Eof);
        };
        let second = rest.get(1).copied().unwrap_or(0);
        if self.has_infix
            && let Some(&mark) = LONG_MARKS.iter().find(|mark| rest.starts_with(mark.as_bytes()))
        {
            return self.take(2, Token::Infix(mark));
        }
        match (first, second) {
            (b'-', b'>') => self.take(2, Token::Arrow),
            (b':', b':') => self.take(2, Token::Path),
            (b'#', b'[') => self.take(2, Token::Meta),
            (b'%', b'0'..=b'9') => self.digits().map(Token::Number),
            (b'@', b'0'..=b'9') => self.digits().map(Token::Version),
            (b'%', _) => self.name().map(Token::Name),
            (b'@', _) => self.name().map(Token::Global),
            (b'$', _) => self.name().map(Token::Ref),
            (b'"', _) => self.string().map(Token::Str),
            (b'0'..=b'9', _) | (b'-', b'0'..=b'9') => Ok(Token::Literal(self.literal())),
            (b'h', _) if rest.starts_with(b"hex\"") => self.hex(),
            _ if is_word_start(first) => {
                let len = bare_len(rest, false);
                self.take(len, Token::Word(&self.text[self.at..self.at + len]))
            }
            (b'-', _) if rest.starts_with(b"-inf") && !rest.get(4).is_some_and(|&byte| is_word(byte)) => {
                self.take(4, Token::Word("-inf"))
            }
            (b'-', _) if self.has_infix && rest.starts_with(b"-inf_") => {
                let len = 1 + bare_len(&rest[1..], false);
                self.take(len, Token::Word(&self.text[self.at..self.at + len]))
            }
            _ if self.has_infix && SHORT_MARKS.contains(&first) => self.take(1, Token::Punct(first)),
            (b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' | b';' | b':' | b'=' | b'?' | b'*' | b'&' | b'!', _) => {
                self.take(1, Token::Punct(first))
            }
            _ if self.text[self.at..].starts_with('…') => {
                let span = self.at..self.at + '…'.len_utf8();
                self.at = span.end;
                let fault = Fault::new(TextCode::Syntax, span, "something was left out here when the text was printed");
                Err(fault.help("print the whole module, without eliding constants or bodies"))
            }
            _ => {
                let len = self.text[self.at..].chars().next().map_or(1, char::len_utf8);
                let span = self.at..self.at + len;
                self.at = span.end;
                let shown = self.text[span.clone()].escape_debug();
                Err(Fault::new(TextCode::Syntax, span, format!("`{shown}` means nothing here")))
            }
        }
    }

    fn take(&mut self, len: usize, token: Token<'s>) -> Result<Token<'s>, Box<Fault>> {
        self.at += len;
        Ok(token)
    }

    fn digits(&mut self) -> Result<u32, Box<Fault>> {
        let start = self.at;
        let len = self.rest()[1..].iter().take_while(|&&byte| is_word(byte)).count();
        self.at += 1 + len;
        let digits = &self.text[start + 1..self.at];
        digits.parse().map_err(|_| {
            let fault = Fault::new(TextCode::Syntax, start..self.at, format!("`{digits}` is not a number below 2^32"));
            fault.help("a name that begins with a digit is quoted: `%\"1x\"`")
        })
    }

    fn name(&mut self) -> Result<Cow<'s, [u8]>, Box<Fault>> {
        let start = self.at;
        self.at += 1;
        let rest = self.rest();
        match rest.first() {
            Some(b'"') => self.string(),
            Some(&first) if is_word_start(first) => {
                let len = bare_len(rest, true);
                self.at += len;
                Ok(Cow::Borrowed(&rest[..len]))
            }
            _ => Err(Fault::new(TextCode::Syntax, start..self.at, "a name is missing here")
                .help("names begin with a letter or `_`; any other name is quoted: `%\"…\"`")),
        }
    }

    fn literal(&mut self) -> &'s str {
        let rest = self.rest();
        let is_hex = rest.strip_prefix(b"-").unwrap_or(rest).starts_with(b"0x");
        let mut at = 1;
        while let Some(&byte) = rest.get(at) {
            let next = rest.get(at + 1).copied().unwrap_or(0);
            let belongs = match byte {
                b'.' => next.is_ascii_digit(),
                b'+' | b'-' => !is_hex && matches!(rest[at - 1], b'e' | b'E') && next.is_ascii_digit(),
                _ => is_word(byte),
            };
            if !belongs {
                break;
            }
            at += 1;
        }
        self.at += at;
        &self.text[self.at - at..self.at]
    }

    fn hex(&mut self) -> Result<Token<'s>, Box<Fault>> {
        let start = self.at + 4;
        match self.text[start..].find('"') {
            Some(len) => {
                self.at = start + len + 1;
                Ok(Token::Hex(&self.text[start..start + len]))
            }
            None => self.endless(),
        }
    }

    fn endless<T>(&mut self) -> Result<T, Box<Fault>> {
        let start = self.at;
        self.at = self.text.len();
        let fault = Fault::new(TextCode::Syntax, start..start + 1, "this string has no end");
        Err(fault.help("close it with `\"`; a quote inside is written `\\\"`"))
    }

    fn string(&mut self) -> Result<Cow<'s, [u8]>, Box<Fault>> {
        let bytes = self.rest();
        let Some(plain) = bytes[1..].iter().position(|&byte| matches!(byte, b'"' | b'\\')) else {
            return self.endless();
        };
        let mut at = 1 + plain;
        if bytes[at] == b'"' {
            self.at += at + 1;
            return Ok(Cow::Borrowed(&bytes[1..at]));
        }
        let mut value = bytes[1..at].to_vec();
        let mut bad_escape = None;
        loop {
            let Some(&byte) = bytes.get(at) else {
                return self.endless();
            };
            at += 1;
            match byte {
                b'"' => break,
                b'\\' => {
                    let Some(&escape) = bytes.get(at) else {
                        return self.endless();
                    };
                    at += 1;
                    match escape {
                        b'n' => value.push(b'\n'),
                        b't' => value.push(b'\t'),
                        b'r' => value.push(b'\r'),
                        b'0' => value.push(0),
                        b'\\' | b'"' => value.push(escape),
                        b'x' => match bytes.get(at..at + 2).and_then(hex_byte) {
                            Some(byte) => {
                                value.push(byte);
                                at += 2;
                            }
                            None => bad_escape = bad_escape.or(Some(at - 2)),
                        },
                        _ => bad_escape = bad_escape.or(Some(at - 2)),
                    }
                }
                _ => value.push(byte),
            }
        }
        let start = self.at;
        self.at += at;
        match bad_escape {
            None => Ok(Cow::Owned(value)),
            Some(at) => {
                let fault = Fault::new(TextCode::Syntax, start + at..start + at + 1, "this escape is unknown");
                Err(fault
                    .help("known escapes are `\\n`, `\\t`, `\\r`, `\\0`, `\\\\`, `\\\"` and `\\x` with two hex digits"))
            }
        }
    }
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    let [high, low] = digits else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(*high)? * 16 + digit(*low)?) as u8)
}

/// The bytes of a hex string, which may contain blanks and `_` between bytes.
pub(super) fn hex_bytes(digits: &str) -> Option<Vec<u8>> {
    let mut rest = digits.as_bytes();
    let mut bytes = Vec::with_capacity(rest.len() / 2);
    while let Some(&first) = rest.first() {
        if first.is_ascii_whitespace() || first == b'_' {
            rest = &rest[1..];
            continue;
        }
        let (pair, tail) = rest.split_at_checked(2)?;
        bytes.push(hex_byte(pair)?);
        rest = tail;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        loop {
            match lexer.next().unwrap().0 {
                Token::Eof => return tokens,
                token => tokens.push(token),
            }
        }
    }

    #[test]
    fn only_loop_programs_have_infix_operators() {
        let mut lexer = Lexer { has_infix: true, ..Lexer::new("%a.b..4 - -1 <= -inf_f64 -%i-1 // /") };
        let mut tokens = Vec::new();
        while tokens.last() != Some(&Token::Eof) {
            tokens.push(lexer.next().unwrap().0);
        }
        let minus = Token::Punct(b'-');
        let expected = [
            name("a.b"),
            Token::Infix(".."),
            Token::Literal("4"),
            minus.clone(),
            Token::Literal("-1"),
            Token::Infix("<="),
            Token::Word("-inf_f64"),
            minus,
            name("i-1"),
            Token::Eof,
        ];
        assert_eq!(tokens, expected);
        for mark in ["+", "..", "<", "/ ", "- ", "|", "-inf_f64"] {
            assert!(Lexer::new(mark).next().is_err(), "{mark}");
        }
    }

    fn name(name: &str) -> Token<'_> {
        Token::Name(Cow::Borrowed(name.as_bytes()))
    }

    #[test]
    fn names_end_before_punctuation() {
        assert_eq!(tokens("%x: %a.b/c-d:0 %y// no"), [name("x"), Token::Punct(b':'), name("a.b/c-d:0"), name("y")]);
        assert_eq!(tokens("%x:Tensor")[..2], [name("x"), Token::Punct(b':')]);
        assert_eq!(tokens("%f->"), [name("f"), Token::Arrow]);
        assert!(is_bare_name(b"a.0") && !is_bare_name(b"a.") && !is_bare_name(b"0") && !is_bare_name(b"a::b"));
        assert!(!is_bare_name(b"") && !is_bare_name(b"/a") && !is_bare_name("é".as_bytes()));
    }

    #[test]
    fn numbers() {
        let literals = tokens("1 -2 1.5e-3 0x1f 1.0f32 1e+5");
        assert_eq!(literals, ["1", "-2", "1.5e-3", "0x1f", "1.0f32", "1e+5"].map(Token::Literal));
        assert_eq!(tokens("%7[0] @11 -inf")[0], Token::Number(7));
        assert!(Lexer::new("%99999999999").next().is_err());
        assert!(Lexer::new("%7x").next().is_err());
    }

    #[test]
    fn strings() {
        assert_eq!(tokens(r#""a\n\xff\"é""#), [Token::Str(Cow::Borrowed(b"a\n\xff\"\xc3\xa9"))]);
        for bad in [r#""a"#, r#""a\"#, r#""a\q""#, r#""\x1""#, r#"%""#, r#"hex"12"#, "/* ", "$", "%", "…", "~"] {
            assert!(Lexer::new(bad).next().is_err(), "{bad}");
        }
        assert_eq!(hex_bytes("00 ff\n1_2"), None);
        assert_eq!(hex_bytes("00 ff\n12_"), Some(vec![0, 0xff, 0x12]));
    }
}
