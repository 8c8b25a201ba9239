//! Messages of const evaluation, where nothing can be formatted.

/// A text that is put together in const evaluation.
pub struct Text {
    bytes: [u8; 1024],
    len: usize,
}

impl Text {
    /// No text.
    #[expect(clippy::new_without_default, reason = "it is for const evaluation")]
    pub const fn new() -> Self {
        Self { bytes: [0; 1024], len: 0 }
    }

    /// Appends a piece if there is room for it.
    pub const fn push(mut self, piece: &str) -> Self {
        let piece = piece.as_bytes();
        if piece.len() > self.bytes.len() - self.len {
            return self;
        }
        let mut i = 0;
        while i < piece.len() {
            self.bytes[self.len + i] = piece[i];
            i += 1;
        }
        self.len += piece.len();
        self
    }

    /// Appends a number.
    pub const fn push_int(self, value: i64) -> Self {
        const DIGITS: &str = "0123456789";
        let text = if value < 0 { self.push("-") } else { self };
        let rest = value.unsigned_abs();
        let text = if rest < 10 { text } else { text.push_int((rest / 10) as i64) };
        let digit = DIGITS.as_bytes().split_at((rest % 10) as usize).1.split_at(1).0;
        match str::from_utf8(digit) {
            Ok(digit) => text.push(digit),
            Err(_) => text,
        }
    }

    /// Ends const evaluation with the text as the compiler's message.
    pub const fn panic(&self) -> ! {
        match str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => panic!("{}", text),
            Err(_) => panic!("the declaration is at fault"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_written_out() {
        for value in [0, 7, -1, 10, 1_234_567_890, i64::MAX, i64::MIN] {
            let text = Text::new().push_int(value);
            assert_eq!(str::from_utf8(&text.bytes[..text.len]), Ok(&*value.to_string()));
        }
    }

    #[test]
    fn a_text_that_is_full_leaves_pieces_out() {
        let mut text = Text::new();
        for _ in 0..1000 {
            text = text.push("ab€");
        }
        assert_eq!(str::from_utf8(&text.bytes[..text.len]), Ok(&*"ab€".repeat(1024 / 5)));
    }
}
