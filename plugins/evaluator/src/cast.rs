//! Casts between all element types.
//!
//! Every number passes through a 64-bit integer or a double, which hold it exactly, and is rounded once. Conversions
//! that ONNX leaves undefined (a float out of an integer type's range, a string that is not a number) are not
//! evaluated.

use crate::shared::{
    cx::{Eval, flag, string, table, tensor_error, unsupported_elem},
    doubt::{Doubt, refuse},
    elems::{Elems, encode_strings},
    minifloat,
    minifloat::{Format, Overflow},
    scalar::{Number, Scalar, dispatch, to_odd_f32, to_odd_f64},
    shape::{checked_len, uniform, with_room},
};
use half::{bf16, f16};
use relais_plugin_api::{
    ir::{AttrValue, ElemType, Tensor, packed},
    op::{EvalCx, OpError},
};

table! {
    "Cast" @ 1 => |cx| cast_as(cx, cx.require(0)?, target(cx)?, Options::of(cx)?),
    "CastLike" @ 15 => |cx| cast_as(cx, cx.require(0)?, cx.require(1)?.elem(), Options::of(cx)?),
    "BitCast" @ 26 => bit_cast,
}

/// How values between those of a type without a mantissa are rounded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    Up,
    Down,
    Nearest,
}

#[derive(Clone, Copy)]
struct Options {
    overflow: Overflow,
    round: Round,
}

impl Options {
    fn of(cx: &EvalCx<'_>) -> Eval<Self> {
        let overflow = if flag(cx, "saturate")? { Overflow::Saturate } else { Overflow::Special };
        let round = match string(cx, "round_mode")? {
            "up" => Round::Up,
            "down" => Round::Down,
            "nearest" => Round::Nearest,
            _ => return Err(OpError::invalid("attribute `round_mode` must be `up`, `down` or `nearest`")),
        };
        Ok(Self { overflow, round })
    }
}

/// A block of numbers, exactly.
enum Wide {
    Int(Vec<i64>),
    Unsigned(Vec<u64>),
    Real(Vec<f64>),
}

/// The element type of a number in an attribute.
pub fn elem_type(number: i64) -> Eval<ElemType> {
    let known = ElemType::ALL.iter().find(|elem| i64::from(elem.0) == number);
    known.copied().ok_or_else(|| OpError::unsupported(format_args!("element type {number} is not known")))
}

/// Before version 6 the target is the name of a type.
fn target(cx: &EvalCx<'_>) -> Eval<ElemType> {
    match cx.attrs().get("to") {
        Some(AttrValue::Int(number)) => elem_type(number),
        Some(AttrValue::String(name)) if cx.version() < 6 => {
            let name = String::from_utf8_lossy(name).to_ascii_lowercase();
            let name = match &*name {
                "float" => "float32",
                "double" => "float64",
                other => other,
            };
            ElemType::from_name(name).ok_or_else(|| OpError::invalid(format_args!("there is no type `{name}`")))
        }
        Some(_) => Err(OpError::invalid("attribute `to` must be an element type")),
        None => Err(OpError::invalid("attribute `to` is missing")),
    }
}

/// Casts with the options' defaults.
pub fn cast(cx: &EvalCx<'_>, data: &Tensor, to: ElemType) -> Eval {
    cast_as(cx, data, to, Options { overflow: Overflow::Saturate, round: Round::Up })
}

fn cast_as(cx: &EvalCx<'_>, data: &Tensor, to: ElemType, options: Options) -> Eval {
    if data.elem() == to {
        return Ok(data.clone());
    }
    if data.elem() == ElemType::STRING {
        return parse(cx, data, to, options);
    }
    if let Some(element) = data.as_splat()
        && to != ElemType::STRING
        && !data.is_empty()
    {
        let mut out = Vec::new();
        encode(cx, &decode(data.elem(), element)?, to, options, &mut out)?;
        return uniform(to, data.dims(), &out);
    }
    let len = checked_len(cx, to, data.dims())?;
    let Elems::Fixed { width, bytes } = Elems::of(cx, data)? else {
        return Err(unsupported_elem(data.elem()));
    };
    if to == ElemType::STRING {
        return print(cx, data, &bytes);
    }
    let mut out = with_room((len * to.bits() as usize).div_ceil(8).max(len))?;
    // Blocks that stay in the cache.
    for block in bytes.chunks(width * 4096) {
        encode(cx, &decode(data.elem(), block)?, to, options, &mut out)?;
    }
    if len == 0 {
        // Checks whether the cast exists at all.
        encode(cx, &Wide::Int(Vec::new()), to, options, &mut out)?;
    }
    let out = if to.bits() < 8 { packed::pack(&out, to.bits()) } else { out };
    Tensor::dense(to, data.dims(), out).map_err(tensor_error)
}

fn loads<T: Scalar, W>(bytes: &[u8], widen: impl Fn(T) -> W) -> Vec<W> {
    T::chunks(bytes).iter().map(|&chunk| widen(T::load(chunk))).collect()
}

/// The numbers in a block of elements; those under a byte have one each.
fn decode(elem: ElemType, bytes: &[u8]) -> Eval<Wide> {
    // Sign extension of the bits up to the sign's.
    let small = |sign: u8| {
        let extend = |&code: &u8| i64::from((code & (2 * sign - 1)) ^ sign) - i64::from(sign);
        Wide::Int(bytes.iter().map(extend).collect())
    };
    Ok(match elem {
        ElemType::FLOAT => Wide::Real(loads(bytes, |x: f32| x.into())),
        ElemType::DOUBLE => Wide::Real(loads(bytes, |x: f64| x)),
        ElemType::FLOAT16 => Wide::Real(loads(bytes, f16::to_f64)),
        ElemType::BFLOAT16 => Wide::Real(loads(bytes, bf16::to_f64)),
        ElemType::UINT64 => Wide::Unsigned(loads(bytes, |x: u64| x)),
        ElemType::INT64 => Wide::Int(loads(bytes, |x: i64| x)),
        ElemType::UINT32 => Wide::Int(loads(bytes, |x: u32| x.into())),
        ElemType::INT32 => Wide::Int(loads(bytes, |x: i32| x.into())),
        ElemType::UINT16 => Wide::Int(loads(bytes, |x: u16| x.into())),
        ElemType::INT16 => Wide::Int(loads(bytes, |x: i16| x.into())),
        ElemType::UINT8 => Wide::Int(loads(bytes, |x: u8| x.into())),
        ElemType::INT8 => Wide::Int(loads(bytes, |x: i8| x.into())),
        ElemType::BOOL => Wide::Int(loads(bytes, |x: bool| x.into())),
        ElemType::UINT4 => Wide::Int(bytes.iter().map(|&code| (code & 15).into()).collect()),
        ElemType::UINT2 => Wide::Int(bytes.iter().map(|&code| (code & 3).into()).collect()),
        ElemType::INT4 => small(8),
        ElemType::INT2 => small(2),
        ElemType::FLOAT8E8M0 => Wide::Real(loads(bytes, |code: u8| match code {
            255 => f64::NAN,
            code => f64::from_bits((u64::from(code) + 1023 - 127) << 52),
        })),
        other => match minifloat::format(other) {
            Some(format) => Wide::Real(bytes.iter().map(|&code| format.decode(code).into()).collect()),
            None => return Err(unsupported_elem(other)),
        },
    })
}

/// Adds numbers as elements of a type; those under a byte have one each.
fn encode(cx: &EvalCx<'_>, wide: &Wide, to: ElemType, options: Options, out: &mut Vec<u8>) -> Eval<()> {
    match to {
        ElemType::FLOAT => put(wide, out, |x| x as f32, |x| x as f32, |x| x as f32),
        ElemType::DOUBLE => put(wide, out, |x| x, |x| x as f64, |x| x as f64),
        ElemType::FLOAT16 => {
            rounded_once(cx, wide, |x| half_of_real(x).to_bits(), |x| f16::from_f32(x).to_bits())?;
            put(wide, out, half_of_real, |x| half_of(x.into()), |x| half_of(x.into()));
        }
        ElemType::BFLOAT16 => {
            let round = |x: f64| bf16::from_f32(to_odd_f32(x));
            rounded_once(cx, wide, |x| round(x).to_bits(), |x| bf16::from_f32(x).to_bits())?;
            put(wide, out, round, |x| round(to_odd_f64(x.into())), |x| round(to_odd_f64(x.into())));
        }
        ElemType::BOOL => match wide {
            Wide::Int(values) => out.extend(values.iter().map(|&x| u8::from(x != 0))),
            Wide::Unsigned(values) => out.extend(values.iter().map(|&x| u8::from(x != 0))),
            Wide::Real(values) => out.extend(values.iter().map(|&x| u8::from(x != 0.0))),
        },
        ElemType::UINT4 | ElemType::INT4 | ElemType::UINT2 | ElemType::INT2 => {
            let signed = matches!(to, ElemType::INT4 | ElemType::INT2);
            let (low, high) = match signed {
                true => (-(1i64 << (to.bits() - 1)), (1i64 << (to.bits() - 1)) - 1),
                false => (0, (1i64 << to.bits()) - 1),
            };
            check_range(cx, wide, low as f64, high as f64)?;
            if let Wide::Real(values) = wide {
                let has_fraction = values.iter().any(|x| x.fract() != 0.0);
                refuse(cx, has_fraction, "onnxruntime rounds to integers of fewer than 8 bits, and does not truncate")?;
            }
            let mask = (1u8 << to.bits()) - 1;
            put(wide, out, |x| x as i64 as u8 & mask, |x| x as u8 & mask, |x| x as u8 & mask);
        }
        ElemType::FLOAT8E8M0 => return scales(wide, options, out),
        _ => match minifloat::format(to) {
            Some(format) => return minifloats(wide, format, options, out),
            None => {
                return dispatch!(to, T in integers => {
                    check_range(cx, wide, T::LEAST.to_f64(), T::GREATEST.to_f64())?;
                    put(wide, out, |x| x as T, |x| x as T, |x| x as T);
                    Ok(())
                });
            }
        },
    }
    Ok(())
}

fn half_of_real(x: f64) -> f16 {
    f16::from_f32(to_odd_f32(x))
}

/// Refuses numbers whose result differs if a runtime rounds to 32 bits first, as many do.
fn rounded_once(cx: &EvalCx<'_>, wide: &Wide, at_once: impl Fn(f64) -> u16, from_f32: impl Fn(f32) -> u16) -> Eval<()> {
    let doubt = Doubt::default();
    let note = |x: f64, near: f32| doubt.note(!x.is_nan() && at_once(x) != from_f32(near));
    match wide {
        Wide::Real(values) => values.iter().for_each(|&x| note(x, x as f32)),
        Wide::Int(values) => values.iter().for_each(|&x| note(to_odd_f64(x.into()), x as f32)),
        Wide::Unsigned(values) => values.iter().for_each(|&x| note(to_odd_f64(x.into()), x as f32)),
    }
    doubt.settle(cx, Ok(()), "a number comes out otherwise where it is rounded to `float32` first")
}

/// An integer as a half: beyond the greatest half all are infinite, and doubles hold the others.
fn half_of(x: i128) -> f16 {
    f16::from_f32(to_odd_f32(x as f64))
}

/// Adds numbers as elements of `T`, each kind by its own conversion.
fn put<T: Scalar>(
    wide: &Wide,
    out: &mut Vec<u8>,
    real: impl Fn(f64) -> T,
    int: impl Fn(i64) -> T,
    unsigned: impl Fn(u64) -> T,
) {
    let chunks: Vec<T::Bytes> = match wide {
        Wide::Real(values) => values.iter().map(|&x| real(x).store()).collect(),
        Wide::Int(values) => values.iter().map(|&x| int(x).store()).collect(),
        Wide::Unsigned(values) => values.iter().map(|&x| unsigned(x).store()).collect(),
    };
    out.extend_from_slice(&T::flatten(chunks));
}

/// Refuses floats that, truncated, are not integers from `low` to `high`.
fn check_range(cx: &EvalCx<'_>, wide: &Wide, low: f64, high: f64) -> Eval<()> {
    let Wide::Real(values) = wide else { return Ok(()) };
    // The greatest 64-bit integers are rounded up to a power of two, which is out of range.
    let exact = high < 9.0e18;
    let fits = |x: f64| x >= low && if exact { x <= high } else { x < high };
    let fits_all = values.iter().fold(true, |all, x| all & fits(x.trunc()));
    refuse(cx, !fits_all, "a float is out of the integer type's range")
}

fn for_each_real(wide: &Wide, mut f: impl FnMut(f64) -> Eval<()>) -> Eval<()> {
    match wide {
        Wide::Real(values) => values.iter().try_for_each(|&x| f(x)),
        Wide::Int(values) => values.iter().try_for_each(|&x| f(to_odd_f64(x.into()))),
        Wide::Unsigned(values) => values.iter().try_for_each(|&x| f(to_odd_f64(x.into()))),
    }
}

fn minifloats(wide: &Wide, format: Format, options: Options, out: &mut Vec<u8>) -> Eval<()> {
    for_each_real(wide, |x| {
        let code = format.encode(to_odd_f32(x), options.overflow);
        out.push(code.ok_or_else(|| OpError::unsupported("a NaN is cast to a type without"))?);
        Ok(())
    })
}

/// Powers of two. The standard's table and its reference differ where a value is zero, infinite or below the normal
/// floats: such calls are not evaluated, except for zero saturated, which is the least power.
fn scales(wide: &Wide, options: Options, out: &mut Vec<u8>) -> Eval<()> {
    let saturate = options.overflow == Overflow::Saturate;
    for_each_real(wide, |x| {
        let x = x as f32;
        let exponent = x.to_bits() >> 23;
        let fraction = x.to_bits() & 0x7f_ffff;
        let up = match options.round {
            Round::Up => fraction != 0,
            Round::Down => false,
            Round::Nearest => fraction >= 0x40_0000,
        };
        out.push(match exponent {
            _ if x.is_nan() => 255,
            0 if x == 0.0 && saturate => 0,
            1..=253 => exponent as u8 + u8::from(up),
            254 if up && !saturate => 255,
            254 => 254,
            _ => return Err(OpError::unsupported("a value that has no defined power of two")),
        });
        Ok(())
    })
}

/// Decimal text: of integers their digits, of floats the fewest digits that read back the same, with a point.
fn print(cx: &EvalCx<'_>, data: &Tensor, bytes: &[u8]) -> Eval {
    let strings: Vec<String> = match (data.elem(), decode(data.elem(), bytes)?) {
        (ElemType::BOOL, _) => return Err(OpError::unsupported("runtimes spell truth values differently")),
        (_, Wide::Int(values)) => values.iter().map(i64::to_string).collect(),
        (_, Wide::Unsigned(values)) => values.iter().map(u64::to_string).collect(),
        (ElemType::FLOAT, Wide::Real(values)) => {
            values.iter().map(|&x| plain(x, format!("{:?}", x as f32))).collect::<Eval<_>>()?
        }
        (ElemType::DOUBLE, Wide::Real(values)) => {
            values.iter().map(|&x| plain(x, format!("{x:?}"))).collect::<Eval<_>>()?
        }
        (other, _) => return Err(unsupported_elem(other)),
    };
    Tensor::dense(ElemType::STRING, data.dims(), encode_strings(cx, &strings)?).map_err(tensor_error)
}

/// Within the range where no runtime takes to exponents.
fn plain(x: f64, text: String) -> Eval<String> {
    match x {
        _ if x.is_nan() => Ok("nan".to_owned()),
        _ if x == 0.0 || x.is_infinite() || (1e-4..1e16).contains(&x.abs()) => Ok(text),
        _ => Err(OpError::unsupported("a float whose text may have an exponent")),
    }
}

fn parse(cx: &EvalCx<'_>, data: &Tensor, to: ElemType, options: Options) -> Eval {
    let len = checked_len(cx, to, data.dims())?;
    let no_number = || OpError::unsupported("a string is not a number of the type");
    let mut out = with_room(len)?;
    for text in data.strings() {
        let text = std::str::from_utf8(text).map_err(|_| no_number())?;
        let wide = match to {
            // At once: rounding to a double first would round twice.
            ElemType::FLOAT => Wide::Real(vec![text.parse::<f32>().map_err(|_| no_number())?.into()]),
            _ if to.is_float() => Wide::Real(vec![text.parse::<f64>().map_err(|_| no_number())?]),
            ElemType::UINT64 => Wide::Unsigned(vec![text.parse().map_err(|_| no_number())?]),
            _ if to.is_integer() => {
                let value: i64 = text.parse().map_err(|_| no_number())?;
                // Checks the range, as for floats.
                encode(cx, &Wide::Real(vec![value as f64]), to, options, &mut Vec::new())?;
                Wide::Int(vec![value])
            }
            other => return Err(unsupported_elem(other)),
        };
        encode(cx, &wide, to, options, &mut out)?;
    }
    let out = if to.bits() < 8 { packed::pack(&out, to.bits()) } else { out };
    Tensor::dense(to, data.dims(), out).map_err(tensor_error)
}

/// The same bytes as another type of the same width.
fn bit_cast(cx: &EvalCx<'_>) -> Eval {
    let (data, to) = (cx.require(0)?, target(cx)?);
    if to.bits() == 0 || data.elem().bits() != to.bits() {
        return Err(OpError::invalid(format_args!("`{}` and `{to}` have different widths", data.elem())));
    }
    match (data.as_splat(), data.as_dense()) {
        (Some(element), _) => Tensor::splat(to, data.dims(), element),
        (_, blob) => Tensor::dense(to, data.dims(), blob.cloned().unwrap_or_default()),
    }
    .map_err(tensor_error)
}
