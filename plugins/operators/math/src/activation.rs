//! Activation functions and their coefficients.

/// The coefficient of the cube in the approximation of `Gelu` by a hyperbolic tangent.
pub const GELU_CUBE: f64 = 0.044_715;

/// `sqrt(2 / pi)`, by which the argument of that hyperbolic tangent is scaled.
pub const GELU_SCALE: f64 = 0.797_884_560_802_865_4;

/// The slope and the shift of the hard sigmoid in `HardSwish`.
pub const HARD_SWISH: (f64, f64) = (1.0 / 6.0, 0.5);

/// The logistic function.
pub fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// The logarithm of one more than the exponential.
pub fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// The number divided by one more than its magnitude.
pub fn softsign(x: f64) -> f64 {
    x / (1.0 + x.abs())
}

/// A line between two constants.
pub fn hard_sigmoid(x: f64, alpha: f64, beta: f64) -> f64 {
    (alpha * x + beta).clamp(0.0, 1.0)
}

/// The number itself, and below zero a multiple of one less than the exponential.
pub fn elu(x: f64, alpha: f64) -> f64 {
    if x < 0.0 { alpha * x.exp_m1() } else { x }
}

/// The number times the logistic function of a multiple of it.
pub fn swish(x: f64, alpha: f64) -> f64 {
    x * sigmoid(alpha * x)
}

/// The approximation of `Gelu` by a hyperbolic tangent.
pub fn gelu_by_tanh(x: f64) -> f64 {
    let inner = GELU_SCALE * (x + GELU_CUBE * x * x * x);
    0.5 * x * (1.0 + inner.tanh())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_are_what_they_stand_for() {
        assert_eq!(GELU_SCALE, std::f64::consts::FRAC_2_PI.sqrt());
        assert!((0.841_344_746_068_543 - gelu_by_tanh(1.0)).abs() < 1e-3);
    }

    #[test]
    fn large_arguments_do_not_overflow() {
        assert_eq!((sigmoid(1e4), sigmoid(-1e4)), (1.0, 0.0));
        assert_eq!((softplus(1e4), softplus(-1e4)), (1e4, 0.0));
    }

    #[test]
    fn a_nan_stays() {
        let functions: [fn(f64) -> f64; 4] = [sigmoid, softsign, gelu_by_tanh, |x| hard_sigmoid(x, 0.2, 0.5)];
        assert!(functions.iter().all(|f| f(f64::NAN).is_nan()));
        assert!(elu(f64::NAN, 1.0).is_nan() && swish(f64::NAN, 1.0).is_nan());
    }
}
