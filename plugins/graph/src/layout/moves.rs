//! Calls whose arguments have their axes in another order.

use crate::{
    axes::normalized,
    numbers::{is_of_onnx, is_quantization},
};
use relais_plugin_api::{
    facts::OpFactsTable,
    ir::{AttrData, DimRec, Users},
    op::{Axes, AxisFrom, OpSchema},
    prelude::*,
};

/// An order of axes: for each axis of the value in this order, its place in the other one.
pub type Order = Vec<usize>;

/// A call that computes the same of arguments whose axes are in another order.
#[derive(Clone, Debug, Default)]
pub struct Move {
    /// The arguments whose axes do, by position.
    pub args: Vec<usize>,
    /// Whether the axes of the results are in that order, too. Otherwise the results are as they were.
    pub has_results: bool,
    /// The attributes that change.
    pub attrs: Vec<Attr>,
    /// The arguments that change, by position.
    pub edits: Vec<(usize, Edit)>,
    /// The entries of the result that make up what it was.
    pub gathered: Option<Order>,
}

/// Another argument.
#[derive(Clone, Debug)]
pub enum Edit {
    /// This constant.
    Constant(Tensor),
    /// This constant, which has the rank of the value, its axes in the other order.
    Reordered(Tensor),
}

/// Whether sums may be added up in another order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sums {
    /// They may: results differ by rounding.
    Reorder,
    /// They may not.
    Keep,
}

/// The side of a call on which a value is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// It is an argument.
    Argument,
    /// It is a result.
    Result,
}

/// Why a call stays where it is.
pub type Reason = &'static str;

/// The reason for operators whose arguments have the order that the standard says.
pub const FIXED: Reason = "the operator determines the order of the axes";

/// The facts that decide how calls move.
pub struct Asked<'a, 'cx> {
    pub f: &'a Function,
    pub ops: &'a OpFactsTable<'cx>,
    pub users: &'a Users,
    pub sums: Sums,
}

/// A constant of at most that many bytes may be there twice.
const SMALL: u64 = 4096;

impl Asked<'_, '_> {
    /// Returns the call that takes the place of one if the axes of a value on one side of it, and of others like it, are in
    /// another order.
    ///
    /// # Errors
    /// Returns the reason why it cannot be.
    pub fn move_of(&self, call: CallView<'_>, order: &[usize], side: Side) -> Result<Move, Reason> {
        let Some(facts) = self.ops.of(call).filter(|_| call.regions().is_empty()) else { return Err(FIXED) };
        if call.op().is_some_and(|op| is_quantization(self.f, op)) {
            return Err("nothing is moved past a quantisation");
        }
        let axes = facts.schema().and_then(OpSchema::axes);
        if call.n_results().is_some() && !matches!(axes, Some(Axes::Along { .. })) {
            return Err("the call has several results");
        }
        let one = Move { args: vec![0], has_results: true, ..Move::default() };
        match axes {
            Some(Axes::Elementwise) => Ok(one),
            Some(Axes::Broadcast) => self.broadcast(call, order),
            Some(Axes::Along { axis, sums }) => self.along(call, axis, sums, order),
            Some(Axes::Each { argument }) => {
                let edit = self.reordered_list(call, argument, order)?;
                Ok(Move { edits: vec![(argument, edit)], ..one })
            }
            Some(Axes::Reduce { attribute, sums }) => self.reduce(call, attribute, sums, order),
            _ if is_of_onnx(self.f, call) => self.move_by_name(call, order, side),
            _ => Err(FIXED),
        }
    }

    /// The same, of an operator whose calls treat axes in a way of its own.
    fn move_by_name(&self, call: CallView<'_>, order: &[usize], side: Side) -> Result<Move, Reason> {
        let one = Move { args: vec![0], has_results: true, ..Move::default() };
        match call.op_name() {
            "Concat" => self.concat(call, order),
            "Pad" => self.pad(call, order),
            "Slice" => self.slice(call, order),
            "Resize" | "Upsample" => self.resize(call, order),
            "Gather" => self.gather(call, order),
            "Squeeze" => {
                let axes = self.axes(call)?;
                self.without_axes(order, &axes)?;
                Ok(Move { has_results: false, ..self.with_axes(call, &axes, order)? })
            }
            // Its argument has another rank, and so no order of the pair.
            "Unsqueeze" if side == Side::Argument => Err(FIXED),
            "Unsqueeze" => {
                let axes = self.axes(call)?;
                self.without_axes(order, &axes)?;
                Ok(Move { args: Vec::new(), ..self.with_axes(call, &axes, order)? })
            }
            "Shape" if call.attrs().get("start").is_none() && call.attrs().get("end").is_none() => {
                // Where each axis of the value is in the other order.
                Ok(Move { has_results: false, gathered: Some(inverse(order)), ..one })
            }
            "Size" => Ok(Move { has_results: false, ..one }),
            "Reshape" => self.reshape(call, order, side),
            "Flatten" => {
                let axis = self.ops.attrs(call).int("axis").unwrap_or(1);
                let keeps_groups = usize::try_from(axis)
                    .is_ok_and(|axis| order.iter().enumerate().all(|(at, &from)| (at < axis) == (from < axis)));
                if !keeps_groups || !self.keeps_elements(self.shape(call, 0)?, order) {
                    return Err("the elements are in another order");
                }
                Ok(Move { has_results: false, ..one })
            }
            _ => Err(FIXED),
        }
    }

    fn shape(&self, call: CallView<'_>, at: usize) -> Result<&[DimRec], Reason> {
        let arg = call.arg(at).ok_or("an argument is absent")?;
        self.f.type_of(arg).shape().ok_or("the rank of an argument is not known")
    }

    fn constant(&self, call: CallView<'_>, at: usize) -> Result<&Tensor, Reason> {
        call.arg(at).and_then(|arg| self.f.constant(arg)).ok_or("an argument is not constant")
    }

    /// The integers that an argument lists.
    fn ints(&self, call: CallView<'_>, at: usize) -> Result<Vec<i64>, Reason> {
        let list = self.constant(call, at)?;
        // No rank is near this.
        (list.len() <= 1 << 10).then(|| list.to_i64s()).flatten().ok_or("an argument is not a list of integers")
    }

    /// A list of integers of the type of an argument.
    fn list_like(&self, call: CallView<'_>, at: usize, values: &[i64]) -> Result<Edit, Reason> {
        let elem = call.arg(at).and_then(|arg| self.f.type_of(arg).elem()).unwrap_or(ElemType::INT64);
        integers(elem, values).map(Edit::Constant)
    }

    /// A sum of floating-point numbers stays where it is if it has to be added up in one order.
    fn sum(&self, call: CallView<'_>) -> Result<(), Reason> {
        let is_float = call.arg(0).and_then(|arg| self.f.type_of(arg).elem()).is_none_or(|elem| elem.is_float());
        match self.sums == Sums::Keep && is_float {
            true => Err("a sum would be added up in another order"),
            false => Ok(()),
        }
    }

    /// Whether a constant may be there in another order, too.
    fn may_copy(&self, constant: NodeId, tensor: &Tensor) -> bool {
        let is_shared = self.users.of(constant).len() > 1 || self.users.is_result(constant);
        tensor.as_splat().is_some() || tensor.byte_len() <= SMALL || !is_shared
    }

    /// A constant beside a value of some rank.
    fn beside(&self, constant: NodeId, tensor: &Tensor, rank: usize) -> Result<Edit, Reason> {
        if !self.may_copy(constant, tensor) {
            return Err("something else uses a constant");
        }
        if tensor.dims().len() > rank {
            return Err("an argument has more axes");
        }
        let dims = [vec![1; rank.saturating_sub(tensor.dims().len())], tensor.dims().to_vec()].concat();
        tensor.reshaped(&dims).map(Edit::Reordered).map_err(|_| "a constant cannot be reshaped")
    }

    fn broadcast(&self, call: CallView<'_>, order: &[usize]) -> Result<Move, Reason> {
        let mut made = Move { has_results: true, ..Move::default() };
        for (at, &arg) in call.args().iter().enumerate().filter(|(_, arg)| !arg.is_absent()) {
            let shape = self.shape(call, at)?;
            if shape.len() > order.len() {
                return Err("an argument has more axes");
            }
            if shape.iter().all(|dim| dim.0 == 1) {
                continue;
            }
            match self.f.constant(arg) {
                Some(tensor) => made.edits.push((at, self.beside(arg, tensor, order.len())?)),
                None if shape.len() == order.len() => made.args.push(at),
                None => return Err("an argument that is not constant has fewer axes"),
            }
        }
        if self.f.type_of(call.id).shape().is_none_or(|shape| shape.len() != order.len()) {
            return Err("the rank of the result is not known");
        }
        Ok(made)
    }

    fn concat(&self, call: CallView<'_>, order: &[usize]) -> Result<Move, Reason> {
        let axis = self.ops.attrs(call).int("axis").ok_or(UNKNOWN_AXES)?;
        let attrs = vec![Attr::new("axis", moved_axis(axis, order)?)];
        let mut made = Move { has_results: true, attrs, ..Move::default() };
        for (at, &arg) in call.args().iter().enumerate() {
            match self.f.constant(arg) {
                Some(tensor) => made.edits.push((at, self.beside(arg, tensor, order.len())?)),
                None => made.args.push(at),
            }
        }
        Ok(made)
    }

    fn along(&self, call: CallView<'_>, axis: AxisFrom<'_>, sums: bool, order: &[usize]) -> Result<Move, Reason> {
        if sums {
            self.sum(call)?;
        }
        let one = Move { args: vec![0], has_results: true, ..Move::default() };
        match axis {
            AxisFrom::Attribute(name) => {
                let axis = self.ops.attrs(call).int(name).ok_or(UNKNOWN_AXES)?;
                Ok(Move { attrs: vec![Attr::new(name.to_owned(), moved_axis(axis, order)?)], ..one })
            }
            AxisFrom::Argument(at) => {
                let axis = self.constant(call, at)?;
                let moved = moved_axis(axis.to_i64().ok_or(UNKNOWN_AXES)?, order)?;
                let axis = integers(axis.elem(), &[moved])?.reshaped(axis.dims()).map_err(|_| UNKNOWN_AXES)?;
                Ok(Move { edits: vec![(at, Edit::Constant(axis))], ..one })
            }
        }
    }

    /// The axes that a call lists as its second argument, or as an attribute.
    fn axes(&self, call: CallView<'_>) -> Result<Vec<i64>, Reason> {
        match call.arg(1) {
            Some(_) => self.ints(call, 1),
            None => call.attrs().ints("axes").ok_or(UNKNOWN_AXES),
        }
    }

    /// The call with these axes, in the other order.
    fn with_axes(&self, call: CallView<'_>, axes: &[i64], order: &[usize]) -> Result<Move, Reason> {
        let mut axes = axes.iter().map(|&axis| moved_axis(axis, order)).collect::<Result<Vec<i64>, _>>()?;
        axes.sort_unstable();
        let mut made = Move { args: vec![0], has_results: true, ..Move::default() };
        match call.arg(1) {
            Some(_) => made.edits.push((1, self.list_like(call, 1, &axes)?)),
            None => made.attrs.push(Attr::new("axes", axes)),
        }
        Ok(made)
    }

    /// Checks that the axes that are left without some are in the same order as before.
    fn without_axes(&self, order: &[usize], axes: &[i64]) -> Result<(), Reason> {
        let gone = normalized(axes, order.len()).ok_or(UNKNOWN_AXES)?;
        match order.iter().filter(|from| !gone.contains(from)).is_sorted() {
            true => Ok(()),
            false => Err("the axes that are left are in another order"),
        }
    }

    fn reduce(&self, call: CallView<'_>, attribute: &str, sums: bool, order: &[usize]) -> Result<Move, Reason> {
        if sums {
            self.sum(call)?;
        }
        let attrs = self.ops.attrs(call);
        let keeps = attrs.int("keepdims").unwrap_or(1) != 0;
        if let Some(axis) = attrs.int(attribute) {
            if !keeps {
                self.without_axes(order, &[axis])?;
            }
            let attrs = vec![Attr::new(attribute.to_owned(), moved_axis(axis, order)?)];
            return Ok(Move { args: vec![0], has_results: keeps, attrs, ..Move::default() });
        }
        let axes = match (call.arg(1), attrs.get(attribute)) {
            (None, None) => Vec::new(),
            _ => self.axes(call)?,
        };
        if axes.is_empty() {
            let is_no_op = attrs.int("noop_with_empty_axes").unwrap_or(0) != 0;
            return Ok(Move { args: vec![0], has_results: keeps || is_no_op, ..Move::default() });
        }
        if !keeps {
            self.without_axes(order, &axes)?;
        }
        Ok(Move { has_results: keeps, ..self.with_axes(call, &axes, order)? })
    }

    /// A list with an entry for each axis.
    fn reordered_list(&self, call: CallView<'_>, at: usize, order: &[usize]) -> Result<Edit, Reason> {
        let list = self.constant(call, at)?;
        if list.dims() != [order.len() as u64] {
            return Err("a list does not have an entry for each axis");
        }
        if !list.elem().is_float() {
            let values = self.ints(call, at)?;
            return self.list_like(call, at, &order.iter().map(|&from| values[from]).collect::<Vec<_>>());
        }
        let values = list.to_f64s().ok_or(UNUSUAL)?;
        let values: Vec<f64> = order.iter().map(|&from| values[from]).collect();
        Tensor::from_f64s(list.elem(), list.dims(), &values).map(Edit::Constant).ok_or(UNUSUAL)
    }

    fn pad(&self, call: CallView<'_>, order: &[usize]) -> Result<Move, Reason> {
        let mut made = Move { args: vec![0], has_results: true, ..Move::default() };
        if call.arg(3).is_some() {
            let axes = self.ints(call, 3)?;
            let axes = axes.iter().map(|&axis| moved_axis(axis, order)).collect::<Result<Vec<i64>, _>>()?;
            made.edits.push((3, self.list_like(call, 3, &axes)?));
            return Ok(made);
        }
        let pads = match call.arg(1) {
            Some(_) => self.ints(call, 1)?,
            None => call.attrs().ints("pads").ok_or("what is padded is not known")?,
        };
        let rank = order.len();
        if pads.len() != 2 * rank {
            return Err("a list does not have an entry for each axis");
        }
        let pads: Vec<i64> =
            order.iter().chain(order.iter()).zip(0..).map(|(&from, at)| pads[at / rank * rank + from]).collect();
        match call.arg(1) {
            Some(_) => made.edits.push((1, self.list_like(call, 1, &pads)?)),
            None => made.attrs.push(Attr::new("pads", pads)),
        }
        Ok(made)
    }

    fn slice(&self, call: CallView<'_>, order: &[usize]) -> Result<Move, Reason> {
        let mut made = Move { args: vec![0], has_results: true, ..Move::default() };
        let moved = |axes: Vec<i64>| axes.iter().map(|&axis| moved_axis(axis, order)).collect::<Result<Vec<i64>, _>>();
        if call.version() < 10 {
            let starts = call.attrs().ints("starts").ok_or(UNKNOWN_AXES)?;
            let axes = call.attrs().ints("axes").unwrap_or_else(|| (0..starts.len() as i64).collect());
            made.attrs.push(Attr::new("axes", moved(axes)?));
            return Ok(made);
        }
        let axes = match call.arg(3) {
            Some(_) => self.ints(call, 3)?,
            None => {
                let starts = self.shape(call, 1)?;
                let &[DimRec(n)] = starts else { return Err(UNKNOWN_AXES) };
                if !(0..=order.len() as i64).contains(&n) {
                    return Err(UNKNOWN_AXES);
                }
                (0..n).collect()
            }
        };
        let axes = moved(axes)?;
        // Axes are of the type of the places.
        made.edits.push((3, self.list_like(call, 1, &axes)?));
        Ok(made)
    }

    fn resize(&self, call: CallView<'_>, order: &[usize]) -> Result<Move, Reason> {
        let attrs = self.ops.attrs(call);
        // Runtimes compute other modes along the last axes only.
        if attrs.str("mode").unwrap_or("nearest") != "nearest" {
            return Err("values are interpolated along the last axes");
        }
        let mut made = Move { args: vec![0], has_results: true, ..Move::default() };
        let is_upsample = call.is_op("Upsample") || call.version() < 11;
        let lists: &[usize] = if is_upsample { &[1] } else { &[2, 3] };
        let is_empty = |at: usize| self.constant(call, at).is_ok_and(Tensor::is_empty);
        if !is_upsample && call.arg(1).is_some() && !is_empty(1) {
            return Err("a region is resized");
        }
        if let Some(axes) = call.attrs().ints("axes") {
            let axes = axes.iter().map(|&axis| moved_axis(axis, order)).collect::<Result<Vec<i64>, _>>()?;
            made.attrs.push(Attr::new("axes", axes));
            return Ok(made);
        }
        if let Some(scales) = call.attrs().floats("scales") {
            if scales.len() != order.len() {
                return Err("a list does not have an entry for each axis");
            }
            let scales: Vec<f32> = order.iter().map(|&from| scales[from]).collect();
            made.attrs.push(Attr::new("scales", AttrData::Floats(scales)));
            return Ok(made);
        }
        for &at in lists.iter().filter(|&&at| call.arg(at).is_some() && !is_empty(at)) {
            made.edits.push((at, self.reordered_list(call, at, order)?));
        }
        Ok(made)
    }

    fn gather(&self, call: CallView<'_>, order: &[usize]) -> Result<Move, Reason> {
        let axis = self.ops.attrs(call).int("axis").unwrap_or(0);
        let attrs = vec![Attr::new("axis", moved_axis(axis, order)?)];
        let has_results = match self.shape(call, 1)?.len() {
            0 => {
                self.without_axes(order, &[axis])?;
                false
            }
            1 => true,
            _ => return Err("the indices have several axes"),
        };
        Ok(Move { args: vec![0], has_results, attrs, ..Move::default() })
    }

    /// Whether the elements of a value are in the same order if its axes are in the other one: all but one of those that
    /// change places have a size of 1.
    fn keeps_elements(&self, shape: &[DimRec], order: &[usize]) -> bool {
        shape.len() == order.len() && order.iter().filter(|&&from| shape[from].0 != 1).is_sorted()
    }

    fn reshape(&self, call: CallView<'_>, order: &[usize], side: Side) -> Result<Move, Reason> {
        const OTHER: Reason = "the elements are in another order";
        let keeps_zeros = self.ops.attrs(call).int("allowzero").unwrap_or(0) != 0;
        let to = match call.arg(1) {
            Some(_) => self.ints(call, 1)?,
            None => return Err("the shape is not constant"),
        };
        let is_copied = |at: usize| !keeps_zeros && to.get(at) == Some(&0);
        let copies_moved = (0..order.len()).any(|at| is_copied(at) && order[at] != at);
        let shape = match side {
            Side::Argument => self.shape(call, 0)?,
            Side::Result => self.f.type_of(call.id).shape().ok_or(OTHER)?,
        };
        if copies_moved || !self.keeps_elements(shape, order) {
            return Err(OTHER);
        }
        match side {
            Side::Argument => Ok(Move { args: vec![0], ..Move::default() }),
            Side::Result if keeps_zeros && to.contains(&0) => Err(OTHER),
            Side::Result => {
                let edits = vec![(1, self.reordered_list(call, 1, order)?)];
                Ok(Move { has_results: true, edits, ..Move::default() })
            }
        }
    }
}

const UNUSUAL: Reason = "an argument has an unusual type";

/// A list of integers.
fn integers(elem: ElemType, values: &[i64]) -> Result<Tensor, Reason> {
    let dims = [values.len() as u64];
    match elem {
        ElemType::INT64 => Ok(Tensor::from_i64(&dims, values)),
        ElemType::INT32 => {
            let bytes: Vec<u8> = values.iter().flat_map(|&value| (value as i32).to_le_bytes()).collect();
            Tensor::dense(elem, &dims, bytes).map_err(|_| UNUSUAL)
        }
        _ => Err(UNUSUAL),
    }
}

const UNKNOWN_AXES: Reason = "the axes are not known";

/// The place of an axis in the other order.
fn moved_axis(axis: i64, order: &[usize]) -> Result<i64, Reason> {
    let axis = if axis < 0 { axis + order.len() as i64 } else { axis };
    let place = order.iter().position(|&from| from as i64 == axis).ok_or(UNKNOWN_AXES)?;
    Ok(place as i64)
}

/// The order that leads back.
pub fn inverse(order: &[usize]) -> Order {
    let mut inverse = vec![0; order.len()];
    for (at, &from) in order.iter().enumerate() {
        inverse[from] = at;
    }
    inverse
}
