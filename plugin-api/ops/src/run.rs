//! The exact interpreter of loop programs.
//!
//! A prim func is compiled to register code for the sizes of its memory, which then runs: every access is checked, and what
//! the operators compute is [`fold`](crate::scalar::fold)'s arithmetic. A program that is not right does not run, and whatever
//! stops one that does says where and why.

mod buffer;
mod code;
mod compile;
mod fit;
mod machine;
mod order;
#[cfg(test)]
mod tests;

pub use order::Order;

use buffer::{Buffer, unwritten};
use compile::Compiler;
use fit::{Symbols, named};
use machine::Machine;
use relais_ir::{prim::n_outputs, *};
use std::fmt;

/// How a program runs, and how much it may take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunOptions {
    /// The order of the turns of parallel loops.
    pub order: Order,
    /// Whether `alloc`s and outputs are filled with NaNs and odd integers at first rather than with zeros, so that the
    /// results of a program that reads what it did not write differ.
    pub poison: bool,
    /// How many steps the program may take: an operator takes one for each lane, and loops, conditionals and `alloc`s take
    /// some.
    pub fuel: u64,
    /// How many bytes memory, registers and code may take together.
    pub max_bytes: u64,
    /// How many calls may be open at a time.
    pub max_depth: usize,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { order: Order::Forward, poison: false, fuel: 1 << 34, max_bytes: 1 << 30, max_depth: 1 << 10 }
    }
}

/// Why a program stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    /// The cause.
    pub cause: Cause,
    /// Where, unless it is about the program as a whole.
    pub place: Option<ProgramPlace>,
}

/// The binding at which a program stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramPlace {
    /// The prim func.
    pub function: String,
    /// The binding; a prim func as a whole if it is its root.
    pub node: NodeId,
    /// The binding as text, truncated if it is long.
    pub text: String,
}

/// The cause that stops a program.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// An index is outside the memory, or that of a lane outside the vector.
    OutOfBounds {
        /// The memory or vector, by name or number.
        memory: String,
        /// The axis of the index.
        axis: usize,
        /// The index.
        index: i64,
        /// The size of that axis.
        size: u64,
    },
    /// A division of integers by zero.
    DivisionByZero,
    /// An `assert` does not hold; its message.
    Assert(String),
    /// A float is cast to an integer type that does not hold it.
    Undefined,
    /// The program takes more steps than it may.
    Fuel(u64),
    /// The program takes more memory than it may.
    Memory {
        /// The bytes that were asked for at last.
        bytes: u64,
        /// The bytes that there may be altogether.
        most: u64,
    },
    /// More calls are open than there may be.
    Depth(usize),
    /// The program is wrong, or the inputs do not fit it.
    Wrong(String),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfBounds { memory, axis, index, size } => {
                write!(f, "index {index} is out of bounds: the size of axis {axis} of `{memory}` is {size}")
            }
            Self::DivisionByZero => f.write_str("division by zero"),
            Self::Assert(message) if message.is_empty() => f.write_str("an assertion does not hold"),
            Self::Assert(message) => write!(f, "an assertion does not hold: {message}"),
            Self::Undefined => f.write_str("a float is cast to an integer type that does not hold it"),
            Self::Fuel(fuel) => write!(f, "the program takes more than {fuel} steps"),
            Self::Memory { bytes, most } => {
                write!(f, "{bytes} more bytes are asked for where the program may take {most} altogether")
            }
            Self::Depth(depth) => write!(f, "more than {depth} calls are open"),
            Self::Wrong(message) => f.write_str(message),
        }
    }
}

impl Cause {
    /// Advice, where there is any.
    fn help(&self) -> Option<&'static str> {
        Some(match self {
            Self::OutOfBounds { .. } => "put the access under a condition, or use a smaller extent",
            Self::DivisionByZero => "put the division under a condition that excludes zero",
            Self::Undefined => "limit the value with `min` and `max` first, and exclude NaN",
            Self::Fuel(_) => "look for a loop that does not end, or raise `fuel`",
            Self::Memory { .. } => "use smaller memory, or raise `max_bytes`",
            Self::Depth(_) => "raise `max_depth`",
            Self::Assert(_) | Self::Wrong(_) => return None,
        })
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cause)?;
        if let Some(ProgramPlace { function, text, .. }) = &self.place {
            write!(f, ", in `@{function}`")?;
            if !text.is_empty() {
                write!(f, ", at `{text}`")?;
            }
        }
        self.cause.help().map_or(Ok(()), |help| write!(f, "; help: {help}"))
    }
}

impl std::error::Error for Stop {}

impl Stop {
    fn wrong(message: impl fmt::Display) -> Self {
        Self { cause: Cause::Wrong(message.to_string()), place: None }
    }

    fn at(cause: Cause, function: &str, f: &Function, node: NodeId) -> Self {
        const LONGEST: usize = 160;
        let mut text = if node == f.root() { String::new() } else { relais_ir::text::display(f, node).to_string() };
        if text.len() > LONGEST {
            let end = (0..=LONGEST).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            text.truncate(end);
            text.push('…');
        }
        Self { cause, place: Some(ProgramPlace { function: function.to_owned(), node, text }) }
    }
}

/// Runs the prim func of that name, and those that it calls, on a tensor for each input. Gives a tensor for each output.
/// The sizes of outputs are static, or symbols of the inputs' types.
///
/// ```
/// use relais_plugin_api::{ir::*, prim::*};
///
/// // y[i] = x[i] * x[i]
/// let mut f = prim_func(&[("x", ElemType::FLOAT, &[3])], &[("y", ElemType::FLOAT, &[3])]);
/// let [x, y] = *f.params() else { unreachable!() };
/// let mut b = PrimBuilder::new(&mut f);
/// let three = b.index(3);
/// b.each(three, |b, i| {
///     let value = b.load(x, &[i]);
///     let square = b.op(CoreOp::Mul, &[value, value]);
///     b.store(y, square, &[i]);
/// });
/// b.finish().unwrap();
/// let mut module = IRModule::new();
/// module.set_prim_func("square", f);
///
/// let x = Tensor::from_f32(&[3], &[1.0, 2.0, 3.0]);
/// let outputs = run(&module, "square", &[x], &RunOptions::default()).unwrap();
/// assert_eq!(outputs, [Tensor::from_f32(&[3], &[1.0, 4.0, 9.0])]);
/// ```
///
/// # Errors
/// Returns an error if the program does not come to its end, is wrong, or does not take these inputs.
pub fn run(module: &IRModule, name: &str, inputs: &[Tensor], options: &RunOptions) -> Result<Vec<Tensor>, Stop> {
    run_counted(module, name, inputs, options).0
}

/// The same, with the steps that are left of those that the program may take: none if it took too many.
pub fn run_counted(
    module: &IRModule,
    name: &str,
    inputs: &[Tensor],
    options: &RunOptions,
) -> (Result<Vec<Tensor>, Stop>, u64) {
    let mut left = options.fuel;
    (run_program(module, name, inputs, options, &mut left), left)
}

fn run_program(
    module: &IRModule,
    name: &str,
    inputs: &[Tensor],
    options: &RunOptions,
    left: &mut u64,
) -> Result<Vec<Tensor>, Stop> {
    let mut compiler = Compiler::new(module, options);
    let (function, f) = compiler.function(name)?;
    let wrong = |message: String| Stop::at(Cause::Wrong(message), name, f, f.root());
    let n_inputs = f.params().len() - n_outputs(f);
    let (input_params, output_params) = f.params().split_at(n_inputs);
    if inputs.len() != n_inputs {
        return Err(wrong(format!("there are {n_inputs} inputs, and {} tensors are given", inputs.len())));
    }

    let mut symbols = Symbols::default();
    let mut shapes = Vec::with_capacity(f.params().len());
    for (&param, tensor) in input_params.iter().zip(inputs) {
        let elem = f.type_of(param).elem().unwrap_or_default();
        if tensor.elem() != elem || tensor.opaque_form().is_some() {
            let given = if tensor.elem() == elem {
                "in a form of a later version".into()
            } else {
                format!("of {}", tensor.elem())
            };
            return Err(wrong(format!(
                "the input `{}` has elements of {elem}, the tensor is {given}",
                named(f, param)
            )));
        }
        symbols.bind(f, param, tensor.dims()).map_err(&wrong)?;
        shapes.push(tensor.dims().into());
    }
    for &param in output_params {
        shapes.push(symbols.shape(f, param).map_err(&wrong)?);
    }

    let program = compiler.program(function, shapes.clone())?;
    let mut buffers = Vec::with_capacity(shapes.len());
    let mut budget = compiler.budget.left;
    let mut take = |bytes: Option<u64>| match bytes.and_then(|bytes| budget.checked_sub(bytes)) {
        Some(left) => {
            budget = left;
            Ok(())
        }
        None => {
            let cause = Cause::Memory { bytes: bytes.unwrap_or(u64::MAX), most: options.max_bytes };
            Err(Stop::at(cause, name, f, f.root()))
        }
    };
    for tensor in inputs {
        take(Some(tensor.byte_len()))?;
        buffers.push(Buffer::of(tensor));
    }
    for (&param, shape) in output_params.iter().zip(&shapes[n_inputs..]) {
        let elem = f.type_of(param).elem().unwrap_or_default();
        let count = element_count(shape);
        take(count.and_then(|count| elem.bytes_for(count)))?;
        buffers.push(Buffer::new(elem, count.unwrap_or(0) as usize, unwritten(elem, options.poison)));
    }
    let budget = code::Budget { left: budget };
    let code::Program { routines, constants } = program;
    buffers.splice(0..0, constants);
    let first_output = buffers.len() - output_params.len();

    let buffers = Machine::new(&routines, options, buffers, budget).run(left).map_err(|((routine, step), halt)| {
        let routine = &routines[routine];
        compiler.stop(halt, routine.function, routine.nodes.get(step).copied().unwrap_or(f.root()))
    })?;
    let outputs = output_params.iter().zip(&shapes[n_inputs..]).zip(&buffers[first_output..]);
    outputs
        .map(|((&param, shape), buffer)| {
            let elem = f.type_of(param).elem().unwrap_or_default();
            Tensor::dense(elem, shape, buffer.to_bytes()).map_err(|error| wrong(error.to_string()))
        })
        .collect()
}
