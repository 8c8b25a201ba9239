//! The form of a body, as far as const evaluation checks it when a plugin is compiled: its comments, strings and brackets,
//! and that it is one function that imports operator sets. Names, calls and types are for the parser, in the plugin's
//! tests and in a host.

use relais_ir::const_text::Text;

/// How deep brackets are followed; the parser has no such bound.
const MAX_DEPTH: usize = 64;

/// Bodies that are longer are left to the parser: the compiler bounds how much it evaluates.
const MAX_LEN: usize = 16 << 10;

/// The text of the body of one operator.
struct Body<'a> {
    operator: (&'a str, &'a str),
    text: &'a str,
    bytes: &'a [u8],
}

/// Checks the form of a body.
///
/// # Panics
/// If the parser would refuse it, in const evaluation, so at compile time.
pub(super) const fn check(operator: (&str, &str), text: &str) {
    if text.len() <= MAX_LEN {
        Body { operator, text, bytes: text.as_bytes() }.check();
    }
}

impl Body<'_> {
    const fn check(&self) {
        let start = self.after_metadata(self.after_blank(0));
        let name = self.after_blank(start + 3);
        if !self.has(start, "def") || !self.has(name, "@") {
            self.fault(start, "a function is expected: `def @Name(…)`");
        }
        let (mut at, mut has_opset) = (name, false);
        while !self.has(at, "{") {
            if at == self.bytes.len() {
                self.fault(start, "the function has no block: `{ … }`");
            }
            has_opset = has_opset || self.has(at, "#[") && self.is_of_opset(at);
            at = self.after_blank(self.after(at));
        }
        if !has_opset {
            self.fault(
                start,
                "no operator set is imported: write, for example, `#[opset = {\"\": 21}]` before the block",
            );
        }
        let end = self.after_blank(self.after(at));
        if end < self.bytes.len() {
            self.fault(end, "a body is one function, which has ended");
        }
    }

    /// Whether a text is at a place.
    const fn has(&self, at: usize, wanted: &str) -> bool {
        let wanted = wanted.as_bytes();
        let mut i = 0;
        while i < wanted.len() && at + i < self.bytes.len() && self.bytes[at + i] == wanted[i] {
            i += 1;
        }
        i == wanted.len()
    }

    /// The place after blanks and comments.
    const fn after_blank(&self, mut at: usize) -> usize {
        while at < self.bytes.len() {
            if self.bytes[at].is_ascii_whitespace() {
                at += 1;
            } else if self.has(at, "//") {
                while at < self.bytes.len() && self.bytes[at] != b'\n' {
                    at += 1;
                }
            } else if self.has(at, "/*") {
                let start = at;
                at += 2;
                while !self.has(at, "*/") {
                    if at >= self.bytes.len() {
                        self.fault(start, "this comment has no end");
                    }
                    at += 1;
                }
                at += 2;
            } else {
                break;
            }
        }
        at
    }

    /// The place after the metadata of a module, if there is any.
    const fn after_metadata(&self, at: usize) -> usize {
        if self.has(at, "#[") { self.after_blank(self.after(at)) } else { at }
    }

    /// Whether metadata lists operator sets.
    const fn is_of_opset(&self, start: usize) -> bool {
        let (mut at, end) = (start, self.after(start));
        while at < end {
            if self.has(at, "opset") {
                return true;
            }
            at = if self.bytes[at] == b'"' { self.after_string(at) } else { at + 1 };
        }
        false
    }

    /// The place after what is at one: a string, something in brackets, or a byte.
    const fn after(&self, start: usize) -> usize {
        let (mut open, mut depth, mut at) = ([0; MAX_DEPTH], 0, start);
        loop {
            if at == self.bytes.len() {
                self.fault_of(open[depth - 1], " has no end");
            }
            match self.bytes[at] {
                b'"' => at = self.after_string(at),
                b'(' | b'[' | b'{' => {
                    if depth == MAX_DEPTH {
                        return self.bytes.len();
                    }
                    open[depth] = at;
                    depth += 1;
                    at += 1;
                }
                byte @ (b')' | b']' | b'}') => {
                    if depth == 0 {
                        self.fault_of(at, " closes nothing");
                    }
                    // `(` and `)` are neighbours, of the other brackets there is one letter between.
                    let opened = self.bytes[open[depth - 1]];
                    if byte != opened + 1 && byte != opened + 2 {
                        self.not_closed(at, open[depth - 1]);
                    }
                    depth -= 1;
                    at += 1;
                }
                b'#' if !self.has(at, "#[") => self.fault_of(at, " means nothing here"),
                b'#' => {
                    at += 1;
                    continue;
                }
                _ => at += 1,
            }
            if depth == 0 {
                return at;
            }
            at = self.after_blank(at);
        }
    }

    const fn after_string(&self, start: usize) -> usize {
        let mut at = start + 1;
        while at < self.bytes.len() && self.bytes[at] != b'"' {
            at += if self.bytes[at] == b'\\' { 2 } else { 1 };
        }
        if at >= self.bytes.len() {
            self.fault(start, "this string has no end");
        }
        at + 1
    }

    /// A fault of the byte at a place.
    const fn fault_of(&self, at: usize, message: &str) -> ! {
        self.place(at).push("`").push(self.byte(at)).push("`").push(message).panic()
    }

    const fn not_closed(&self, at: usize, open: usize) -> ! {
        let said = self.place(at).push("`").push(self.byte(at)).push("` does not close the `").push(self.byte(open));
        self.line_and_column(said.push("` in "), open).panic()
    }

    const fn byte(&self, at: usize) -> &str {
        self.text.split_at(at).1.split_at(1).0
    }

    const fn fault(&self, at: usize, message: &str) -> ! {
        self.place(at).push(message).panic()
    }

    const fn place(&self, at: usize) -> Text {
        let (domain, name) = self.operator;
        let colons = if domain.is_empty() { "" } else { "::" };
        let text = Text::new().push("the body of `").push(domain).push(colons).push(name).push("`, ");
        self.line_and_column(text, at).push(": ")
    }

    /// As the parser counts them.
    const fn line_and_column(&self, text: Text, end: usize) -> Text {
        let (mut line, mut column, mut at) = (1, 1, 0);
        while at < end {
            if self.bytes[at] == b'\n' {
                (line, column) = (line + 1, 1);
            } else if self.bytes[at] & 0xc0 != 0x80 {
                column += 1;
            }
            at += 1;
        }
        text.push("line ").push_int(line).push(", column ").push_int(column)
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use relais_ir::text::parse_str;
    use std::panic::catch_unwind;

    fn fault(text: &'static str) -> String {
        let refused = catch_unwind(|| check(("acme", "F"), text)).expect_err(text);
        let message = refused.downcast_ref::<String>().expect("a message").clone();
        message.strip_prefix("the body of `acme::F`, ").unwrap_or(&message).to_owned()
    }

    #[test]
    fn what_the_parser_takes_is_of_this_form() {
        for text in [
            "def @F(%x) #[opset = {\"\": 13}] { Relu(%x) }",
            "#[producer_name = \"a ) b\"] def @\"a{\"(%x: Tensor[(1, N), ?] = const(float32, (1), hex\"00000000\"), %y) -> (%z) \
             #[name = \"}\", opset = {\"\": 13, \"acme\": 1},] { /* ( */ let %z = Clip(%x, _, %y); // )\n %z }\n // end\n",
            "def@F(%x) #[opset_domains = [\"\"], opset_versions = [13]] {\n  %7 = if (%x) { %x } else { %x };\n  %7\n}",
        ] {
            assert!(parse_str(text).is_ok(), "{text}: {:?}", parse_str(text).err());
            check(("acme", "F"), text);
        }
    }

    #[test]
    fn faults_have_places() {
        const HEAD: &str = "def @F(%x) #[opset = {\"\": 13}] ";
        for (text, said) in [
            ("Relu(%x)", "line 1, column 1: a function is expected"),
            ("prim @F(%x) #[opset = {\"\": 13}] { }", "line 1, column 1: a function is expected"),
            ("def @F(%x) { Relu(%x) }", "line 1, column 1: no operator set is imported"),
            ("def @F(%x) #[name = \"opset\"] { Relu(%x) }", "line 1, column 1: no operator set is imported"),
            (HEAD.leak_with("Relu(%x)"), "line 1, column 1: the function has no block"),
            (HEAD.leak_with("{ Relu(%x }"), "line 1, column 42: `}` does not close the `(` in line 1, column 38"),
            (
                HEAD.leak_with("{\n  é = Relu(%x));\n}"),
                "line 2, column 15: `)` does not close the `{` in line 1, column 32",
            ),
            (HEAD.leak_with("{ Relu(%x)"), "line 1, column 32: `{` has no end"),
            (HEAD.leak_with("{ Relu(%x) } }"), "line 1, column 45: a body is one function"),
            (HEAD.leak_with("{ Relu(%x) } def @G() { }"), "line 1, column 45: a body is one function"),
            (HEAD.leak_with("{ Pad(%x, mode = \"edge) }"), "line 1, column 49: this string has no end"),
            (HEAD.leak_with("{ Relu(%x) /* }"), "line 1, column 43: this comment has no end"),
            (HEAD.leak_with("{ # }"), "line 1, column 34: `#` means nothing here"),
            (")", "line 1, column 1: a function is expected"),
        ] {
            assert!(fault(text).starts_with(said), "{text}: {}", fault(text));
            // The parser takes modules, of which bodies are a part.
            let is_module =
                ["operator set", "one function"].iter().any(|it| said.contains(it)) || text.starts_with("prim");
            assert!(is_module || parse_str(text).is_err(), "{text}");
        }
    }

    trait LeakWith {
        fn leak_with(&self, rest: &str) -> &'static str;
    }

    impl LeakWith for str {
        fn leak_with(&self, rest: &str) -> &'static str {
            format!("{self}{rest}").leak()
        }
    }
}
