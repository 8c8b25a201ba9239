//! Windows that slide over spatial axes, of pooling and convolution.

use super::util::*;
use relais_operator_math::window::{AutoPad, WindowAxis};
use relais_plugin_api::{ir::*, op::*};

/// How a window slides over the spatial axes of a tensor.
pub struct Window {
    /// Window sizes; `None` when they are not known.
    pub kernel: Option<Dims>,
    /// Steps.
    pub strides: IntList,
    /// Distances between the elements of a window.
    pub dilations: IntList,
    /// Padding before all axes, then after all axes.
    pub pads: IntList,
    /// Attribute `auto_pad`.
    pub auto_pad: AutoPad,
    /// How a last window that is not filled counts.
    pub rounding: Rounding,
}

/// How a last window that is not filled counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rounding {
    /// It does not.
    Floor,
    /// It does, unless it starts in the padding at the end.
    Ceil,
}

impl Window {
    /// The attributes of a call over `n_axes` spatial axes.
    ///
    /// # Errors
    /// Returns an error if a list does not fit the number of axes, or a stride or dilation is not positive.
    pub fn of(cx: &InferCx<'_>, n_axes: usize) -> Result<Self, OpError> {
        let (strides, dilations) = (list(cx, "strides", n_axes, 1)?, list(cx, "dilations", n_axes, 1)?);
        if strides.iter().chain(&dilations).any(|&step| step <= 0) {
            return invalid("strides and dilations must be positive");
        }
        let auto_pad = match opt_string(cx, "auto_pad")? {
            Some(_) => named(cx, "auto_pad", AutoPad::of)?,
            None => AutoPad::Given,
        };
        let pads = match auto_pad {
            AutoPad::Given => list(cx, "pads", 2 * n_axes, 0)?,
            _ => smallvec![0; 2 * n_axes],
        };
        let kernel = match opt_ints(cx, "kernel_shape")? {
            Some(sizes) if sizes.len() != n_axes => {
                return invalid(format_args!("`kernel_shape` has {} sizes for {n_axes} axes", sizes.len()));
            }
            Some(sizes) if sizes.iter().any(|&size| size <= 0) => {
                return invalid("the sizes in `kernel_shape` must be positive");
            }
            sizes => sizes.map(|sizes| sizes.into_iter().map(|size| Int::Known(size).into()).collect()),
        };
        // Convolutions do not have the choice.
        let rounds_up = opt_int(cx, "ceil_mode")?.is_some() && flag(cx, "ceil_mode")?;
        let rounding = if rounds_up { Rounding::Ceil } else { Rounding::Floor };
        Ok(Self { kernel, strides, dilations, pads, auto_pad, rounding })
    }

    /// The total padding of an axis.
    pub fn padding(&self, axis: usize) -> Option<i64> {
        self.pads[axis].checked_add(self.pads[axis + self.strides.len()])
    }

    /// The windows along an axis of a size; `None` if the size of a window is not known.
    fn along(&self, axis: usize, size: u64) -> Option<WindowAxis> {
        Some(WindowAxis {
            size: i64::try_from(size).ok()?,
            kernel: i64::try_from(self.kernel.as_ref()?[axis].known()?).ok()?,
            stride: self.strides[axis],
            dilation: self.dilations[axis],
            before: self.pads[axis],
            after: self.pads[axis + self.strides.len()],
            count: 0,
        })
    }

    /// The number of windows on a spatial axis of size `dim`.
    pub fn n_windows(&self, axis: usize, dim: Dim) -> Dim {
        if self.auto_pad.keeps_size() {
            let stride = self.strides[axis];
            return if stride == 1 { dim } else { map_dim(dim, |size| Some(size.div_ceil(stride as u64))) };
        }
        let extent = self.along(axis, 0).and_then(|axis| axis.extent());
        let keeps_size = extent.zip(self.padding(axis)).is_some_and(|(e, p)| self.strides[axis] == 1 && e - 1 == p);
        if keeps_size && dim.known().is_none() {
            return dim;
        }
        map_dim(dim, |size| self.n_known_windows(axis, size))
    }

    fn n_known_windows(&self, axis: usize, size: u64) -> Option<u64> {
        // Less than one window: an error or nothing, as the runtime likes.
        let fit = self.along(axis, size)?.fit()?;
        let count = match (self.rounding, self.auto_pad) {
            (Rounding::Floor, _) => fit.filled,
            (Rounding::Ceil, AutoPad::Given) => fit.all,
            // The standard's formula for `VALID` rounds down, its reference up.
            (Rounding::Ceil, _) => Some(fit.all).filter(|&all| all == fit.filled)?,
        };
        u64::try_from(count).ok()
    }

    /// The size of an axis from which `count` windows came, and `extra` elements more.
    pub fn transposed(&self, axis: usize, count: u64, extra: i64) -> Option<u64> {
        let windows = WindowAxis { count: i64::try_from(count).ok()?, ..self.along(axis, 0)? };
        u64::try_from(windows.whole(extra)?.checked_sub(self.padding(axis)?)?).ok()
    }
}
