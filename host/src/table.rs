//! Tables of text, whose columns line up.

use std::iter;

/// The columns of a table: names, which are to the left, then figures, to the right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Columns {
    n_names: usize,
    widths: Vec<usize>,
}

impl Columns {
    /// Columns that are wide enough for some rows; the first `n_names` have names. A row may have fewer cells than others.
    pub fn of<R: AsRef<[String]>>(n_names: usize, rows: impl IntoIterator<Item = R>) -> Self {
        let mut widths: Vec<usize> = Vec::new();
        for row in rows {
            let cells = row.as_ref();
            widths.resize(widths.len().max(cells.len()), 0);
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        Self { n_names, widths }
    }

    /// The cells of a row, each as wide as its column.
    pub fn cells(&self, row: &[String]) -> Vec<String> {
        let cells = row.iter().zip(&self.widths).enumerate();
        let padded = cells.map(|(at, (cell, &width))| match at < self.n_names {
            true => format!("{cell:<width$}"),
            false => format!("{cell:>width$}"),
        });
        padded.collect()
    }

    /// The line of a row, with a line break.
    pub fn line(&self, row: &[String]) -> String {
        format!("{}\n", self.cells(row).join(GAP).trim_end())
    }

    /// The length of a line that has all cells.
    pub fn width(&self) -> usize {
        self.widths.iter().sum::<usize>() + GAP.len() * self.widths.len().saturating_sub(1)
    }
}

/// The spaces between two cells.
pub const GAP: &str = "  ";

/// Rows below a header, of which the first `n_names` columns have names, the others figures.
pub fn table<R: AsRef<[String]>>(n_names: usize, header: &[&str], rows: &[R]) -> String {
    let header: Vec<String> = header.iter().map(|&cell| cell.to_owned()).collect();
    let all = || iter::once(&header[..]).chain(rows.iter().map(AsRef::as_ref));
    let columns = Columns::of(n_names, all());
    all().map(|row| columns.line(row)).collect()
}

/// A name indented by its nesting depth, up to forty levels, beyond which columns are useless.
pub(crate) fn indented(name: &str, depth: usize) -> String {
    format!("{}{name}", "  ".repeat(depth.min(40)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [[indented("ä", 1), "10".into()], ["long name".into(), "2".into()]];
        assert_eq!(table(1, &["pass", "runs"], &rows), "pass       runs\n  ä          10\nlong name     2\n");
        let columns = Columns::of(2, &rows);
        assert_eq!((columns.line(&rows[1]).as_str(), columns.width()), ("long name  2\n", 13));
    }
}
