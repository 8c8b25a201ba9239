//! Shrinking of a tape on which a pass fails.

/// Smaller and smaller tapes: without their ends, without parts, with zeros.
pub(super) struct Smaller {
    pub best: Vec<u8>,
    /// The length of the part to remove.
    step: usize,
    at: usize,
    candidate: Vec<u8>,
}

impl Smaller {
    pub fn new(bytes: &[u8]) -> Self {
        Self { best: bytes.to_vec(), step: bytes.len().div_ceil(2), at: 0, candidate: Vec::new() }
    }

    /// The next tape to try; `None` if there is none.
    pub fn candidate(&mut self) -> Option<Vec<u8>> {
        if self.at >= self.best.len() {
            if self.step <= 1 {
                return None;
            }
            self.step = self.step.min(self.best.len()).div_ceil(2);
            self.at = 0;
        }
        // From the end, because the end of a tape is often not needed.
        let end = self.best.len() - self.at;
        let start = end.saturating_sub(self.step.max(1));
        self.candidate = [&self.best[..start], &self.best[end..]].concat();
        Some(self.candidate.clone())
    }

    /// Keeps the candidate if it is better.
    pub fn settle(&mut self, is_better: bool) {
        match is_better {
            true => self.best = std::mem::take(&mut self.candidate),
            false => self.at += self.step.max(1),
        }
    }
}
