//! Functions of one number.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

/// The error function: its series near zero, otherwise by its complement.
pub fn erf(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x.abs() > 2.0 {
        return x.signum() * (1.0 - erfc_far(x.abs()));
    }
    // 2/sqrt(pi) * exp(-x^2) * sum of 2^n x^(2n+1) / (2n+1)!!: all terms have one sign.
    let (mut term, mut sum, mut n) = (x, x, 1.0);
    while term.abs() > sum.abs() * 1e-17 {
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
        n += 1.0;
    }
    FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

/// The complementary error function.
pub fn erfc(x: f64) -> f64 {
    if x > 2.0 { erfc_far(x) } else { 1.0 - erf(x) }
}

/// `erfc` beyond 2: Lentz's continued fraction.
fn erfc_far(x: f64) -> f64 {
    if x > 28.0 {
        return 0.0;
    }
    let mut fraction = x;
    for n in (1..=120).rev() {
        fraction = x + f64::from(n) / 2.0 / fraction;
    }
    (-x * x).exp() / (fraction * PI.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_function_and_its_complement() {
        for (x, erf_x, erfc_x) in [
            (0.0, 0.0, 1.0),
            (0.5, 0.520_499_877_813_046_5, 0.479_500_122_186_953_5),
            (1.0, 0.842_700_792_949_714_9, 0.157_299_207_050_285_13),
            (2.0, 0.995_322_265_018_952_7, 0.004_677_734_981_047_266),
            (3.0, 0.999_977_909_503_001_4, 2.209_049_699_858_544e-5),
            (10.0, 1.0, 2.088_487_583_762_545e-45),
        ] {
            assert!((erf(x) - erf_x).abs() <= 1e-15 && erf(-x) == -erf(x), "{x}");
            assert!((erfc(x) - erfc_x).abs() <= 1e-12 * erfc_x, "{x}");
        }
        assert_eq!((erf(f64::INFINITY), erfc(f64::INFINITY), erfc(f64::NEG_INFINITY)), (1.0, 0.0, 2.0));
        assert!(erf(f64::NAN).is_nan());
    }
}
