//! Windows that slide over spatial axes, of pooling and convolution.

use super::util::*;
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

/// The value of attribute `auto_pad`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AutoPad {
    /// The padding is given.
    Given,
    /// As much as keeps the size, divided by the stride.
    Same,
    /// None.
    Valid,
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
        let list = |name: &str, len: usize, default: i64| -> Result<IntList, OpError> {
            match opt_ints(cx, name)?.filter(|values| !values.is_empty()) {
                None => Ok(smallvec![default; len]),
                Some(values) if values.len() == len => Ok(values),
                Some(values) => {
                    invalid(format_args!("attribute `{name}` has {} values where {len} are asked for", values.len()))
                }
            }
        };
        let (strides, dilations) = (list("strides", n_axes, 1)?, list("dilations", n_axes, 1)?);
        if strides.iter().chain(&dilations).any(|&step| step <= 0) {
            return invalid("strides and dilations must be positive");
        }
        let auto_pad = match opt_str(cx, "auto_pad")?.as_deref() {
            None | Some("" | "NOTSET") => AutoPad::Given,
            Some("SAME_UPPER" | "SAME_LOWER") => AutoPad::Same,
            Some("VALID") => AutoPad::Valid,
            Some(other) => return invalid(format_args!("`auto_pad` is `{other}`")),
        };
        let pads = match auto_pad {
            AutoPad::Given => list("pads", 2 * n_axes, 0)?,
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
        let rounding = if flag(cx, "ceil_mode", false)? { Rounding::Ceil } else { Rounding::Floor };
        Ok(Self { kernel, strides, dilations, pads, auto_pad, rounding })
    }

    /// The total padding of an axis.
    pub fn padding(&self, axis: usize) -> Option<i64> {
        self.pads[axis].checked_add(self.pads[axis + self.strides.len()])
    }

    /// The distance from a window's first element to the one after its last.
    pub fn extent(&self, axis: usize) -> Option<i64> {
        let kernel = self.kernel.as_ref()?[axis].known()?;
        i64::try_from(kernel).ok()?.checked_sub(1)?.checked_mul(self.dilations[axis])?.checked_add(1)
    }

    /// The number of windows on a spatial axis of size `dim`.
    pub fn n_windows(&self, axis: usize, dim: Dim) -> Dim {
        if self.auto_pad == AutoPad::Same {
            let stride = self.strides[axis];
            return if stride == 1 { dim } else { map_dim(dim, |size| Some(size.div_ceil(stride as u64))) };
        }
        let keeps_size =
            self.extent(axis).zip(self.padding(axis)).is_some_and(|(e, p)| self.strides[axis] == 1 && e - 1 == p);
        if keeps_size && dim.known().is_none() {
            return dim;
        }
        map_dim(dim, |size| self.n_known_windows(axis, size))
    }

    fn n_known_windows(&self, axis: usize, size: u64) -> Option<u64> {
        let stride = self.strides[axis];
        let size = i64::try_from(size).ok()?;
        let free = size.checked_add(self.padding(axis)?)?.checked_sub(self.extent(axis)?)?;
        // Less than one window: an error or nothing, as the runtime likes.
        if free < 0 {
            return None;
        }
        let floor = free / stride + 1;
        if self.rounding == Rounding::Floor || free % stride == 0 {
            return u64::try_from(floor).ok();
        }
        let starts_inside = floor.checked_mul(stride)? < size.checked_add(self.pads[axis])?;
        match self.auto_pad {
            AutoPad::Given => u64::try_from(floor + i64::from(starts_inside)).ok(),
            // The standard's formula for `VALID` rounds down, its reference up.
            _ => (!starts_inside).then(|| u64::try_from(floor).ok())?,
        }
    }
}
