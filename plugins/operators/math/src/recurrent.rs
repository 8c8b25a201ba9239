//! Recurrent networks: the equations of a step, and the functions in them.

use crate::{
    activation::{elu, hard_sigmoid, sigmoid, softplus, softsign},
    defaults,
};

/// The equations of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cell {
    /// `RNN`.
    Simple,
    /// `GRU`, whose reset gate is applied before the recurrence weights.
    Gated,
    /// `GRU`, whose reset gate is applied after them.
    GatedLinear,
    /// `LSTM`.
    LongShortTerm,
}

impl Cell {
    /// The number of gates, for each of which the weights have rows.
    pub const fn n_gates(self) -> usize {
        match self {
            Self::Simple => 1,
            Self::Gated | Self::GatedLinear => 3,
            Self::LongShortTerm => 4,
        }
    }

    /// The functions of a direction where none are given.
    pub const fn default_activations(self) -> &'static [Activation] {
        match self {
            Self::Simple => &[Activation::Tanh],
            Self::Gated | Self::GatedLinear => &[Activation::Sigmoid, Activation::Tanh],
            Self::LongShortTerm => &[Activation::Sigmoid, Activation::Tanh, Activation::Tanh],
        }
    }

    /// The functions of all directions: those of the given names, or by default.
    ///
    /// # Errors
    /// Returns an error if they are too few or too many, or there is no function of a name.
    pub fn activations(self, names: &[&[u8]], n_directions: usize) -> Result<Vec<Activation>, ActivationError> {
        let of_one = self.default_activations();
        let n = of_one.len() * n_directions;
        match names.len() {
            0 => Ok(of_one.iter().copied().cycle().take(n).collect()),
            // The default of `RNN` is a function for each of two directions.
            len if len == n || len > n && self == Self::Simple => {
                names[..n].iter().map(|name| Activation::of(name)).collect()
            }
            n_given => Err(ActivationError::Number { n_given, n }),
        }
    }
}

/// Why a network has no functions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ActivationError {
    /// They are too few or too many.
    Number {
        /// How many are given.
        n_given: usize,
        /// How many there are to be.
        n: usize,
    },
    /// There is none of that name.
    Unknown(String),
}

impl std::fmt::Display for ActivationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number { n_given, n } => write!(f, "{n_given} activations are given, not {n}"),
            Self::Unknown(name) => write!(f, "there is no activation `{name}`"),
        }
    }
}

impl std::error::Error for ActivationError {}

/// A function of one number, with up to two parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activation {
    /// `alpha * x + beta`
    Affine,
    /// As the operator of that name.
    Elu,
    /// As the operator of that name.
    HardSigmoid,
    /// As the operator of that name.
    LeakyRelu,
    /// As the operator of that name.
    Relu,
    /// `alpha * tanh(beta * x)`
    ScaledTanh,
    /// As the operator of that name.
    Sigmoid,
    /// As the operator of that name.
    Softplus,
    /// As the operator of that name.
    Softsign,
    /// As the operator of that name.
    Tanh,
    /// As the operator of that name.
    ThresholdedRelu,
}

impl Activation {
    const ALL: [(&'static str, Self); 11] = [
        ("Affine", Self::Affine),
        ("Elu", Self::Elu),
        ("HardSigmoid", Self::HardSigmoid),
        ("LeakyRelu", Self::LeakyRelu),
        ("Relu", Self::Relu),
        ("ScaledTanh", Self::ScaledTanh),
        ("Sigmoid", Self::Sigmoid),
        ("Softplus", Self::Softplus),
        ("Softsign", Self::Softsign),
        ("Tanh", Self::Tanh),
        ("ThresholdedRelu", Self::ThresholdedRelu),
    ];

    /// The function of a name, in capital or small letters.
    ///
    /// # Errors
    /// Returns an error if there is none.
    pub fn of(name: &[u8]) -> Result<Self, ActivationError> {
        let found = Self::ALL.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name));
        found
            .map(|&(_, function)| function)
            .ok_or_else(|| ActivationError::Unknown(String::from_utf8_lossy(name).into_owned()))
    }

    /// The default of each parameter: `None` if the function does not have the parameter, and NaN if the standard does not
    /// specify the default, or runtimes have another one.
    pub fn defaults(self) -> [Option<f64>; 2] {
        // Those of the operators in their first versions, which they have had ever since.
        let of = |op, attr| defaults::float(op, attr, 6).map(f64::from);
        let open = Some(f64::NAN);
        match self {
            Self::Affine | Self::ScaledTanh => [open, open],
            Self::ThresholdedRelu => [open, None],
            Self::Elu => [of("Elu", "alpha"), None],
            Self::HardSigmoid => [of("HardSigmoid", "alpha"), of("HardSigmoid", "beta")],
            Self::LeakyRelu => [of("LeakyRelu", "alpha"), None],
            Self::Relu | Self::Sigmoid | Self::Softplus | Self::Softsign | Self::Tanh => [None, None],
        }
    }

    /// The function of a number. Of NaN it is NaN, except where it compares with a threshold, as the operators do.
    pub fn apply(self, x: f64, [alpha, beta]: [f64; 2]) -> f64 {
        match self {
            Self::Affine => alpha * x + beta,
            Self::Elu => elu(x, alpha),
            Self::HardSigmoid => hard_sigmoid(x, alpha, beta),
            Self::LeakyRelu if x < 0.0 => alpha * x,
            Self::Relu if x < 0.0 => 0.0,
            Self::LeakyRelu | Self::Relu => x,
            Self::ScaledTanh => alpha * (beta * x).tanh(),
            Self::Sigmoid => sigmoid(x),
            Self::Softplus => softplus(x),
            Self::Softsign => softsign(x),
            Self::Tanh => x.tanh(),
            Self::ThresholdedRelu if x > alpha => x,
            Self::ThresholdedRelu => 0.0,
        }
    }
}

/// Whether the steps of each direction are taken from the last one on; `None` if there is no such direction.
pub fn are_reverse(direction: &str) -> Option<&'static [bool]> {
    match direction {
        "forward" => Some(&[false]),
        "reverse" => Some(&[true]),
        "bidirectional" => Some(&[false, true]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_given_or_have_defaults() {
        let by_default = Cell::LongShortTerm.activations(&[], 2).unwrap();
        let once = [Activation::Sigmoid, Activation::Tanh, Activation::Tanh];
        assert_eq!(by_default, [once, once].concat());
        assert_eq!(Cell::Simple.activations(&[b"relu", b"Tanh"], 1), Ok(vec![Activation::Relu]));
        let why = |cell: Cell, names: &[&[u8]]| cell.activations(names, 1).unwrap_err().to_string();
        assert_eq!(why(Cell::Gated, &[b"Tanh", b"Tanh", b"Tanh"]), "3 activations are given, not 2");
        assert_eq!(why(Cell::Simple, &[b"Sine"]), "there is no activation `Sine`");
    }

    #[test]
    fn parameters_have_the_defaults_of_the_operators() {
        let defaults = |name: &[u8]| Activation::of(name).unwrap().defaults();
        assert_eq!(defaults(b"HardSigmoid"), [Some(f64::from(0.2_f32)), Some(0.5)]);
        assert_eq!(defaults(b"LeakyRelu"), [Some(f64::from(0.01_f32)), None]);
        assert_eq!(defaults(b"Elu"), [Some(1.0), None]);
        assert!(defaults(b"ThresholdedRelu")[0].is_some_and(f64::is_nan));
    }

    #[test]
    fn a_nan_stays() {
        for (name, function) in Activation::ALL {
            let nan = function.apply(f64::NAN, [1.0, 1.0]);
            assert_eq!(nan.is_nan(), function != Activation::ThresholdedRelu, "{name} makes {nan} of it");
        }
    }
}
