//! Tables of findings.

/// Rows below a header: `n_names` columns to the left, the others, which are figures, to the right.
pub(super) fn table<const N: usize>(n_names: usize, header: [&str; N], rows: &[[String; N]]) -> String {
    let header = header.map(str::to_owned);
    let all = || std::iter::once(&header).chain(rows);
    let width = |at: usize| all().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut out = String::new();
    for row in all() {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| match at < n_names {
            true => format!("{cell:<width$}"),
            false => format!("{cell:>width$}"),
        });
        out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    out
}

/// A name indented by its nesting depth, up to forty levels, beyond which columns are useless.
pub(super) fn indented(name: &str, depth: usize) -> String {
    format!("{}{name}", "  ".repeat(depth.min(40)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [[indented("ä", 1), "10".into()], ["long name".into(), "2".into()]];
        assert_eq!(table(1, ["pass", "runs"], &rows), "pass       runs\n  ä          10\nlong name     2\n");
    }
}
