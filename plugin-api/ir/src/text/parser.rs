//! The parser: its state, tokens and names.

use super::{
    error::{Fault, TextCode},
    frame::{Frame, Symbol},
    lex::{Lexer, Token, hex_bytes},
    number::int_value,
    side_file::SideFile,
};
use crate::{prim::LoopOps, *};
use relais_words::nearest;
use std::{borrow::Cow, collections::HashMap, ops::Range};

pub(super) type Parsed<T> = Result<T, Box<Fault>>;

/// Parsing stops after this many faults.
const MOST_FAULTS: usize = 20;
/// The number of node ids that a text may leave unused, beyond one for each of its bytes.
const SPARE_IDS: usize = 1 << 16;

/// A value that has a number.
struct Numbered {
    node: NodeId,
    scope: Scope,
}

/// Whether a value is visible at the place that is being parsed.
#[derive(PartialEq, Eq)]
enum Scope {
    Inside,
    Outside,
}

pub(super) struct Parser<'s> {
    pub lexer: Lexer<'s>,
    pub token: Token<'s>,
    pub span: Range<usize>,
    /// The end of the token before.
    pub end: usize,
    ahead: (Token<'s>, Range<usize>),
    pub faults: Vec<Fault>,
    pub side_file: &'s SideFile,
    /// Node ids that may still be left free.
    spare_ids: usize,

    // The state that belongs to the function being parsed.
    pub function: Function,
    pub frames: Vec<Frame<'s>>,
    /// Visible values by name; `NodeId::ABSENT` are those whose definition is at fault.
    names: HashMap<Cow<'s, [u8]>, NodeId>,
    /// Visible values, in the order of their definition.
    pub defined: Vec<Symbol<'s>>,
    /// All values by number, visible or not.
    numbers: HashMap<u32, Numbered>,
    globals: HashMap<Cow<'s, [u8]>, NodeId>,
    /// In a loop program, its operators; known once its parameters are.
    pub prim: Option<LoopOps>,
    /// How deep the expression is nested that is being parsed.
    pub depth: usize,
}

impl<'s> Parser<'s> {
    /// A parser at the beginning of a text.
    pub fn new(text: &'s str, side_file: &'s SideFile) -> Self {
        let mut parser = Self {
            lexer: Lexer::new(text),
            token: Token::Eof,
            span: 0..0,
            end: 0,
            ahead: (Token::Eof, 0..0),
            faults: Vec::new(),
            side_file,
            spare_ids: text.len() + SPARE_IDS,
            function: Function::new(),
            frames: Vec::new(),
            names: HashMap::new(),
            defined: Vec::new(),
            numbers: HashMap::new(),
            globals: HashMap::new(),
            prim: None,
            depth: 0,
        };
        parser.ahead = parser.lex();
        parser.bump();
        parser
    }

    /// Forgets everything about the function that was parsed before.
    pub fn begin_function(&mut self) {
        self.function = Function::new();
        self.names.clear();
        self.defined.clear();
        self.numbers.clear();
        self.globals.clear();
        self.prim = None;
        self.depth = 0;
    }

    // ---- tokens ---------------------------------------------------------------------------------------------------

    /// Moves to the next token; faults of the lexer are recorded and skipped.
    pub fn bump(&mut self) -> Token<'s> {
        self.end = self.span.end;
        let ahead = self.lex();
        let (token, span) = std::mem::replace(&mut self.ahead, ahead);
        self.span = span;
        std::mem::replace(&mut self.token, token)
    }

    /// The token after the next.
    pub fn peek(&self) -> &Token<'s> {
        &self.ahead.0
    }

    fn lex(&mut self) -> (Token<'s>, Range<usize>) {
        loop {
            if self.is_over() {
                return (Token::Eof, self.ahead.1.clone());
            }
            match self.lexer.next() {
                Ok(lexed) => return lexed,
                Err(fault) => self.faults.push(*fault),
            }
        }
    }

    pub fn is_over(&self) -> bool {
        self.faults.len() >= MOST_FAULTS
    }

    pub fn is(&self, punct: u8) -> bool {
        self.token == Token::Punct(punct)
    }

    pub fn is_word(&self, word: &str) -> bool {
        self.token == Token::Word(word)
    }

    /// Takes a punctuation mark if it is next.
    pub fn eat(&mut self, punct: u8) -> bool {
        let found = self.is(punct);
        if found {
            self.bump();
        }
        found
    }

    pub fn expect(&mut self, punct: u8) -> Parsed<()> {
        if self.eat(punct) {
            return Ok(());
        }
        Err(self.expected(&format!("`{}`", char::from(punct))))
    }

    /// A fault at the next token: another one is expected.
    pub fn expected(&self, what: &str) -> Box<Fault> {
        Fault::new(TextCode::Syntax, self.span.clone(), format!("expected {what}, found {}", self.token))
    }

    /// A word or a quoted string, as bytes.
    pub fn word(&mut self, what: &str) -> Parsed<Cow<'s, [u8]>> {
        match &self.token {
            Token::Word(_) | Token::Str(_) => match self.bump() {
                Token::Word(word) => Ok(Cow::Borrowed(word.as_bytes())),
                Token::Str(string) => Ok(string),
                _ => Err(self.expected(what)),
            },
            _ => Err(self.expected(what)),
        }
    }

    /// An integer that fits `T`.
    pub fn integer<T: TryFrom<i128>>(&mut self, what: &str) -> Parsed<T> {
        let Token::Literal(text) = self.token else {
            return Err(self.expected(what));
        };
        let Some(value) = int_value(text).and_then(|value| T::try_from(value).ok()) else {
            return Err(Fault::new(TextCode::Value, self.span.clone(), format!("`{text}` is not {what}")));
        };
        self.bump();
        Ok(value)
    }

    pub fn hex(&mut self) -> Parsed<Vec<u8>> {
        let Token::Hex(digits) = self.token else {
            return Err(self.expected("a hex string, `hex\"…\"`"));
        };
        let Some(bytes) = hex_bytes(digits) else {
            let fault = Fault::new(TextCode::Syntax, self.span.clone(), "these are not pairs of hex digits");
            return Err(fault);
        };
        self.bump();
        Ok(bytes)
    }

    pub fn intern(&mut self, bytes: &[u8]) -> StrId {
        match std::str::from_utf8(bytes) {
            Ok(string) => self.function.intern(string),
            Err(_) => self.function.add_string(bytes),
        }
    }

    /// Whether a global function begins here.
    pub fn at_global(&self) -> bool {
        match self.peek() {
            Token::Global(_) => self.is_word("def") || self.is_word("prim"),
            next => self.is_word("global") && *next == Token::Punct(b'('),
        }
    }

    /// Whether the global function is a loop program.
    pub fn is_prim(&self) -> bool {
        self.lexer.has_infix
    }

    // ---- names ----------------------------------------------------------------------------------------------------

    pub fn symbol(&mut self) -> Option<(Symbol<'s>, Range<usize>)> {
        let span = self.span.clone();
        match self.token {
            Token::Name(_) | Token::Number(_) => match self.bump() {
                Token::Name(name) => Some((Symbol::Name(name), span)),
                Token::Number(number) => Some((Symbol::Number(number), span)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Makes a name visible from here to the end of the innermost block.
    pub fn define(&mut self, symbol: Symbol<'s>, node: NodeId, span: Range<usize>) {
        let is_taken = match &symbol {
            Symbol::Name(name) => {
                let id = self.function.add_string(name);
                self.function.set_name_id(node, id);
                self.names.insert(name.clone(), node).is_some()
            }
            Symbol::Number(number) => self.numbers.insert(*number, Numbered { node, scope: Scope::Inside }).is_some(),
        };
        if is_taken {
            let shown = symbol.shown();
            let fault = Fault::new(TextCode::DuplicateName, span, format!("`{shown}` is defined twice"));
            self.faults.push(*fault.help(match symbol {
                Symbol::Name(_) => "values that are visible at one place have different names",
                Symbol::Number(_) => "numbers are used once in a global function; use names where blocks repeat them",
            }));
        }
        self.defined.push(symbol);
    }

    /// Names a value that is printed with its number.
    pub fn hidden_name(&mut self, node: NodeId, name: Option<Cow<'s, [u8]>>) {
        if let Some(name) = name {
            let id = self.function.add_string(&name);
            self.function.set_name_id(node, id);
        }
    }

    /// Defines a name whose definition is at fault, so that its uses are not reported.
    pub fn poison(&mut self, symbol: Option<Symbol<'s>>) {
        let Some(symbol) = symbol.filter(|symbol| self.find(symbol).is_none()) else {
            return;
        };
        match &symbol {
            Symbol::Name(name) => _ = self.names.insert(name.clone(), NodeId::ABSENT),
            Symbol::Number(number) => {
                let poisoned = || Numbered { node: NodeId::ABSENT, scope: Scope::Inside };
                self.numbers.entry(*number).or_insert_with(poisoned).scope = Scope::Inside;
            }
        }
        self.defined.push(symbol);
    }

    /// Ends the visibility of all names but the first `n_defined`.
    pub fn leave(&mut self, n_defined: usize) {
        for symbol in self.defined.drain(n_defined..) {
            match symbol {
                Symbol::Name(name) => _ = self.names.remove(&name),
                Symbol::Number(number) => {
                    self.numbers.entry(number).and_modify(|value| value.scope = Scope::Outside);
                }
            }
        }
    }

    /// The visible value of that name.
    fn find(&self, symbol: &Symbol<'s>) -> Option<NodeId> {
        match symbol {
            Symbol::Name(name) => self.names.get(name).copied(),
            Symbol::Number(number) => {
                self.numbers.get(number).filter(|value| value.scope == Scope::Inside).map(|value| value.node)
            }
        }
    }

    pub fn lookup(&self, symbol: &Symbol<'s>, span: Range<usize>) -> Parsed<NodeId> {
        if let Some(node) = self.find(symbol) {
            return Ok(node);
        }
        let shown = symbol.shown();
        let fault = Fault::new(TextCode::UnknownName, span, format!("`{shown}` is not defined here"));
        if let Some(help) = self.infix_help(symbol) {
            return Err(fault.help(help));
        }
        let names = self.names.keys().filter_map(|name| std::str::from_utf8(name).ok());
        Err(match symbol {
            Symbol::Name(name) => match nearest(&String::from_utf8_lossy(name), names) {
                Some(name) => fault.help(format!("did you mean `%{name}`?")),
                None => fault.help("values are visible behind their binding, in its block and the blocks within"),
            },
            Symbol::Number(_) => {
                fault.help("values are visible behind their binding, in its block and the blocks within")
            }
        })
    }

    /// The text to write instead of `%i-1`, which is one name.
    fn infix_help(&self, symbol: &Symbol<'s>) -> Option<String> {
        let Symbol::Name(name) = symbol else { return None };
        let name = std::str::from_utf8(name).ok().filter(|_| self.is_prim())?;
        let is_known = |name: &str| self.names.contains_key(name.as_bytes());
        let (at, mark) = name.match_indices(['-', '/']).find(|&(at, _)| is_known(&name[..at]))?;
        let (left, right) = (&name[..at], &name[at + 1..]);
        let sigil = if is_known(right) { "%" } else { "" };
        Some(format!("names contain `-` and `/`: write `%{left} {mark} {sigil}{right}`"))
    }

    pub fn global_var(&mut self, name: Cow<'s, [u8]>, span: Range<usize>) -> Parsed<NodeId> {
        if let Some(&node) = self.globals.get(&name) {
            return Ok(node);
        }
        let Ok(string) = std::str::from_utf8(&name) else {
            return Err(Fault::new(TextCode::Value, span, "this name is not UTF-8"));
        };
        let node = self.function.add_global_var(string);
        self.globals.insert(name, node);
        Ok(node)
    }

    /// Assigns the values that were written as numbers those node ids.
    pub fn place_numbers(&mut self) {
        let n_nodes = self.function.n_nodes();
        let most = n_nodes + self.spare_ids;
        self.numbers.retain(|&number, value| number != 0 && (number as usize) < most && !value.node.is_absent());
        let Some(&last) = self.numbers.keys().max() else {
            return;
        };
        let mut ids = vec![NodeId::ABSENT; n_nodes];
        for (&number, value) in &self.numbers {
            ids[value.node.index()] = NodeId(number);
        }
        let mut next = last as usize + 1;
        for id in ids.iter_mut().skip(1).filter(|id| id.is_absent()) {
            *id = NodeId::from_index(next);
            next += 1;
        }
        self.spare_ids -= (next - n_nodes).min(self.spare_ids);
        self.function.renumber(&ids, next);
    }
}
