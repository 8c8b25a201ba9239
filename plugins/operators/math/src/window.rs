//! Windows that slide over spatial axes, of convolutions and pooling.

/// The value of attribute `auto_pad`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AutoPad {
    /// The padding is given.
    Given,
    /// As much as keeps the size, divided by the stride; if it is odd, there is more at the end.
    SameUpper,
    /// The same, with more at the beginning.
    SameLower,
    /// None.
    Valid,
}

impl AutoPad {
    /// The one of a name.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "" | "NOTSET" => Some(Self::Given),
            "SAME_UPPER" => Some(Self::SameUpper),
            "SAME_LOWER" => Some(Self::SameLower),
            "VALID" => Some(Self::Valid),
            _ => None,
        }
    }

    /// Whether the padding is as much as keeps the size.
    pub fn keeps_size(self) -> bool {
        matches!(self, Self::SameUpper | Self::SameLower)
    }

    /// Splits padding into that before and that after the axis.
    pub fn split(self, total: i64) -> (i64, i64) {
        let (less, more) = (total / 2, total - total / 2);
        if self == Self::SameLower { (more, less) } else { (less, more) }
    }

    /// The padding of a transposed convolution whose result, `whole` long without padding, is to have a size. If it is to be
    /// longer, zeros fill the end. Unless `SAME_UPPER` is requested, odd padding has more at the beginning.
    pub fn transposed(self, whole: i64, size: i64) -> (i64, i64) {
        match whole - size {
            missing @ ..0 => (0, missing),
            total if self == Self::SameUpper => self.split(total),
            total => Self::SameLower.split(total),
        }
    }
}

/// A window that slides along one axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowAxis {
    /// Elements of the axis.
    pub size: i64,
    /// Elements of a window.
    pub kernel: i64,
    /// Distance between windows.
    pub stride: i64,
    /// Distance between elements of a window.
    pub dilation: i64,
    /// Padding before the axis.
    pub before: i64,
    /// Padding after it.
    pub after: i64,
    /// Windows.
    pub count: i64,
}

/// How many windows there are along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fit {
    /// Those that are filled.
    pub filled: i64,
    /// Those and a last one that is not, unless that would begin in the padding at the end.
    pub all: i64,
}

impl WindowAxis {
    /// The distance from a window's first element to the one after its last; `None` if it is too large to be counted.
    pub fn extent(&self) -> Option<i64> {
        self.kernel.checked_sub(1)?.checked_mul(self.dilation)?.checked_add(1)
    }

    /// The distance from the first element of the first window to the one after the last of the last window.
    pub fn reach(&self) -> Option<i64> {
        self.count.checked_sub(1)?.checked_mul(self.stride)?.checked_add(self.extent()?)
    }

    /// How many windows the axis and its padding have; `None` if there is not even one, or they are too large to be
    /// counted.
    pub fn fit(&self) -> Option<Fit> {
        let end = self.size.checked_add(self.before)?;
        let free = end.checked_add(self.after)?.checked_sub(self.extent()?).filter(|&free| free >= 0)?;
        let filled = free / self.stride + 1;
        let has_another = free % self.stride != 0 && filled.checked_mul(self.stride)? < end;
        Some(Fit { filled, all: filled + i64::from(has_another) })
    }

    /// The number of windows where the padding keeps the size.
    pub fn kept_count(&self) -> i64 {
        self.size / self.stride + i64::from(self.size % self.stride != 0)
    }

    /// The padding that keeps the size for as many windows as there are.
    pub fn kept_padding(&self, auto_pad: AutoPad) -> Option<(i64, i64)> {
        Some(auto_pad.split(self.reach()?.checked_sub(self.size)?.max(0)))
    }

    /// The size of the axis from which windows of this number came, and a transposed convolution leads back, by `extra`
    /// elements more and without padding.
    pub fn whole(&self, extra: i64) -> Option<i64> {
        self.reach()?.checked_add(extra)
    }

    /// The windows whose element `tap` is in the axis: the first one, and the one after the last.
    pub fn inside(&self, tap: i64) -> (i64, i64) {
        let start = tap * self.dilation - self.before;
        let first = if start < 0 { (-start + self.stride - 1) / self.stride } else { 0 };
        let last = self.size - 1 - start;
        let end = if last < 0 { 0 } else { (last / self.stride + 1).min(self.count) };
        (first, end.max(first))
    }

    /// The number of a window's elements that are in the axis.
    pub fn n_inside(&self, window: i64) -> i64 {
        let start = window * self.stride - self.before;
        self.n_taps_up_to(self.size - start) - self.n_taps_up_to(-start)
    }

    /// The number of a window's elements that are in the axis or its padding.
    pub fn n_padded(&self, window: i64) -> i64 {
        self.n_taps_up_to(self.size + self.before + self.after - window * self.stride)
    }

    /// The number of a window's elements within a distance of its first.
    fn n_taps_up_to(&self, distance: i64) -> i64 {
        ((distance.max(0) + self.dilation - 1) / self.dilation).min(self.kernel)
    }

    /// Whether the last window reaches beyond the padding.
    pub fn overhangs(&self) -> bool {
        self.reach().is_none_or(|reach| reach > self.size + self.before + self.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(size: i64, kernel: i64, stride: i64, dilation: i64, (before, after): (i64, i64)) -> WindowAxis {
        let axis = WindowAxis { size, kernel, stride, dilation, before, after, count: 0 };
        WindowAxis { count: axis.fit().unwrap().filled, ..axis }
    }

    #[test]
    fn padding_is_split_by_the_attribute() {
        assert_eq!([AutoPad::SameUpper, AutoPad::SameLower].map(|pad| pad.split(3)), [(1, 2), (2, 1)]);
        assert_eq!(AutoPad::of(""), Some(AutoPad::Given));
        assert_eq!(AutoPad::of("SAME"), None);
        let padded = |auto_pad: AutoPad| auto_pad.transposed(8, 5);
        assert_eq!([AutoPad::Given, AutoPad::SameUpper, AutoPad::SameLower].map(padded), [(2, 1), (1, 2), (2, 1)]);
        assert_eq!(AutoPad::Given.transposed(5, 8), (0, -3));
    }

    #[test]
    fn a_last_window_counts_unless_it_begins_in_the_padding() {
        let fit = |size, kernel, stride, pads| axis(size, kernel, stride, 1, pads).fit().unwrap();
        assert_eq!(fit(5, 2, 2, (0, 0)), Fit { filled: 2, all: 3 });
        assert_eq!(fit(4, 2, 2, (0, 0)), Fit { filled: 2, all: 2 });
        assert_eq!(fit(4, 2, 2, (0, 1)), Fit { filled: 2, all: 2 });
        let none = WindowAxis { size: 1, kernel: 2, stride: 1, dilation: 1, before: 0, after: 0, count: 0 };
        assert_eq!(none.fit(), None);
        assert_eq!(WindowAxis { kernel: i64::MAX, dilation: 2, ..none }.fit(), None);
    }

    #[test]
    fn padding_that_keeps_the_size() {
        let windows = |size, kernel, stride| {
            let axis = WindowAxis { size, kernel, stride, dilation: 1, before: 0, after: 0, count: 0 };
            let axis = WindowAxis { count: axis.kept_count(), ..axis };
            (axis.count, axis.kept_padding(AutoPad::SameUpper).unwrap())
        };
        assert_eq!(windows(5, 3, 1), (5, (1, 1)));
        assert_eq!(windows(5, 2, 2), (3, (0, 1)));
        assert_eq!(windows(5, 1, 3), (2, (0, 0)));
    }

    /// Against the definition: each element of each window.
    #[test]
    fn elements_of_windows_are_counted() {
        for (size, kernel, stride, dilation, pads) in [
            (5, 3, 1, 1, (1, 1)),
            (7, 3, 2, 2, (2, 0)),
            (4, 2, 3, 1, (0, 2)),
            (3, 5, 1, 1, (4, 4)),
            (9, 2, 2, 3, (1, 3)),
        ] {
            let axis = axis(size, kernel, stride, dilation, pads);
            let place = |window: i64, tap: i64| window * stride + tap * dilation - axis.before;
            let count = |window, range: std::ops::Range<i64>| {
                (0..kernel).filter(|&tap| range.contains(&place(window, tap))).count() as i64
            };
            for window in 0..axis.count {
                assert_eq!(axis.n_inside(window), count(window, 0..size), "{axis:?} {window}");
                assert_eq!(axis.n_padded(window), count(window, -axis.before..size + axis.after), "{axis:?} {window}");
            }
            for tap in 0..kernel {
                let inside: Vec<i64> =
                    (0..axis.count).filter(|&window| (0..size).contains(&place(window, tap))).collect();
                let (first, end) = axis.inside(tap);
                assert!(inside.into_iter().eq(first..end), "{axis:?} {tap}");
            }
            assert!(!axis.overhangs() && WindowAxis { count: axis.count + 1, ..axis }.overhangs());
        }
    }
}
