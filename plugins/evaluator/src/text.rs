//! Strings.

use crate::shared::{
    cx::{
        Eval, bounded_work, flag, int_values, named, opt_floats, opt_int, opt_ints, opt_string, opt_strings, readable,
        same_elem, table, tensor_error, unsupported_elem,
    },
    doubt::refuse,
    elems::{Elems, encode_strings},
    shape::{broadcast, broadcast_strides, checked_len, sizes},
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError},
};
use std::collections::HashMap;

table! {
    "StringConcat" @ 20 => string_concat,
    "StringNormalizer" @ 10 => string_normalizer,
    "StringSplit" @ 20 => string_split,
    "TfIdfVectorizer" @ 9 => tf_idf_vectorizer,
}

/// The strings of a tensor, broadcast to a shape.
pub fn broadcast_strings<'a>(cx: &EvalCx<'_>, tensor: &'a Tensor, dims: &[u64]) -> Eval<Vec<&'a [u8]>> {
    checked_len(cx, ElemType::STRING, dims)?;
    let strides = broadcast_strides(tensor.dims(), dims)?;
    match Elems::of(cx, tensor)?.strided(&sizes(dims)?, &strides, 0)? {
        Elems::Strings(strings) => Ok(strings),
        Elems::Fixed { .. } => Err(unsupported_elem(tensor.elem())),
    }
}

fn string_concat(cx: &EvalCx<'_>) -> Eval {
    let (a, b) = (cx.require(0)?, cx.require(1)?);
    same_elem(a, b)?;
    let dims = broadcast(&[a.dims(), b.dims()])?;
    let (a, b) = (broadcast_strings(cx, a, &dims)?, broadcast_strings(cx, b, &dims)?);
    let bytes = a.iter().zip(&b).fold(0u64, |sum, (a, b)| sum.saturating_add((a.len() + b.len() + 4) as u64));
    if bytes > cx.max_bytes() {
        return Err(OpError::unsupported("a result is too large"));
    }
    let strings: Vec<Vec<u8>> = a.iter().zip(b).map(|(a, b)| [a, b].concat()).collect();
    Tensor::dense(ElemType::STRING, &dims, encode_strings(cx, &strings)?).map_err(tensor_error)
}

/// The strings of an argument as text.
fn texts<'a>(cx: &EvalCx<'_>, tensor: &'a Tensor) -> Eval<Vec<&'a str>> {
    readable(cx, tensor)?;
    if tensor.elem() != ElemType::STRING {
        return Err(unsupported_elem(tensor.elem()));
    }
    let texts: Result<_, _> = tensor.strings().map(str::from_utf8).collect();
    texts.map_err(|_| OpError::unsupported("a string is not UTF-8"))
}

fn strings(cx: &EvalCx<'_>, dims: &[u64], strings: &[impl AsRef<[u8]>]) -> Eval {
    Tensor::dense(ElemType::STRING, dims, encode_strings(cx, strings)?).map_err(tensor_error)
}

fn string_normalizer(cx: &EvalCx<'_>) -> Eval {
    let x = cx.require(0)?;
    let change: fn(&str) -> String = named(cx, "case_change_action", |name| match name {
        "LOWER" => Some(str::to_lowercase as fn(&str) -> String),
        "UPPER" => Some(str::to_uppercase),
        "NONE" => Some(str::to_owned),
        _ => None,
    })?;
    let (is_case_sensitive, words) =
        (flag(cx, "is_case_sensitive")?, opt_strings(cx, "stopwords")?.unwrap_or_default());
    let stops: Vec<String> = words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let is_stop = |text: &&str| match is_case_sensitive {
        true => stops.iter().any(|stop| stop == text),
        false => stops.iter().any(|stop| stop.to_lowercase() == text.to_lowercase()),
    };
    let texts = texts(cx, x)?;
    let is_open = |text: &&str| !text.is_ascii() || text.is_empty() || !stops.is_empty() && text.contains(' ');
    refuse(cx, texts.iter().any(is_open), "runtimes take empty strings, accents and words in strings differently")?;
    let kept: Vec<String> = texts.into_iter().filter(|text| !is_stop(text)).map(change).collect();
    let kept = if kept.is_empty() { vec![String::new()] } else { kept };
    match x.dims() {
        [_] => strings(cx, &[kept.len() as u64], &kept),
        [1, _] => strings(cx, &[1, kept.len() as u64], &kept),
        dims => Err(OpError::invalid(format_args!("the strings must be a list or one row of them, not {dims:?}"))),
    }
}

fn string_split(cx: &EvalCx<'_>) -> Eval<Vec<Tensor>> {
    let x = cx.require(0)?;
    let delimiter = opt_string(cx, "delimiter")?.filter(|delimiter| !delimiter.is_empty());
    let delimiter = delimiter.map(str::from_utf8).transpose();
    let delimiter = delimiter.map_err(|_| OpError::unsupported("the delimiter is not UTF-8"))?;
    let most = opt_int(cx, "maxsplit")?
        .and_then(|most| usize::try_from(most).ok())
        .map_or(usize::MAX, |n| n.saturating_add(1));
    let texts = texts(cx, x)?;
    let is_open = |text: &&str| match delimiter {
        Some(_) => text.is_empty(),
        // onnxruntime splits at spaces only.
        None => {
            text.contains(|c: char| !c.is_ascii() || c != ' ' && c.is_whitespace())
                || most != usize::MAX && text.trim() != *text
        }
    };
    refuse(cx, texts.iter().any(is_open), "runtimes take empty strings and blanks differently")?;
    let split = |text: &&'_ str| -> Vec<String> {
        match delimiter {
            Some(delimiter) => text.splitn(most, delimiter).map(str::to_owned).collect(),
            None => blank_split(text, most).into_iter().map(str::to_owned).collect(),
        }
    };
    let parts: Vec<Vec<String>> = texts.iter().map(split).collect();
    let width = parts.iter().map(Vec::len).max().unwrap_or(0);
    let dims = [x.dims(), &[width as u64]].concat();
    checked_len(cx, ElemType::STRING, &dims)?;
    let padded = |parts: &Vec<String>| {
        let mut parts = parts.clone();
        parts.resize(width, String::new());
        parts
    };
    let counts: Vec<i64> = parts.iter().map(|parts| parts.len() as i64).collect();
    let all: Vec<String> = parts.iter().flat_map(padded).collect();
    Ok(vec![strings(cx, &dims, &all)?, Tensor::from_i64(x.dims(), &counts)])
}

/// The parts of a text between blanks, `most` of them at most.
fn blank_split(text: &str, most: usize) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), text.trim_start());
    while !rest.is_empty() {
        let end = if parts.len() + 1 < most { rest.find(char::is_whitespace) } else { None };
        let (part, others) = rest.split_at(end.unwrap_or(rest.len()));
        parts.push(part);
        rest = others.trim_start();
    }
    parts
}

/// An item of an n-gram.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Gram {
    Int(i64),
    String(Vec<u8>),
}

/// Counts n-grams, of which items may be left out in between: `ngram_counts` has for each length where its n-grams begin in
/// the pool, `ngram_indexes` for each n-gram where its count stands, and `weights` its weight.
fn tf_idf_vectorizer(cx: &EvalCx<'_>) -> Eval {
    let x = cx.require(0)?;
    let missing = |name: &str| OpError::invalid(format_args!("attribute `{name}` is missing"));
    let number = |name: &str| {
        let number = opt_int(cx, name)?.ok_or_else(|| missing(name))?;
        usize::try_from(number).map_err(|_| OpError::invalid(format_args!("attribute `{name}` is {number}")))
    };
    let (shortest, longest, most_skipped) =
        (number("min_gram_length")?, number("max_gram_length")?, number("max_skip_count")?);
    let of_ints = |list: Vec<i64>| list.into_iter().map(Gram::Int).collect();
    let of_strings = |list: Vec<&[u8]>| list.into_iter().map(|string| Gram::String(string.to_vec())).collect();
    let (items, pool): (Vec<Gram>, Option<Vec<Gram>>) = match x.elem() {
        ElemType::STRING => {
            readable(cx, x)?;
            (of_strings(x.strings().collect()), opt_strings(cx, "pool_strings")?.map(of_strings))
        }
        _ => (of_ints(int_values(cx, x, "the argument")?), opt_ints(cx, "pool_int64s")?.map(of_ints)),
    };
    let pool = pool.ok_or_else(|| OpError::invalid("there is no pool for the element type"))?;
    let places = |name: &str| {
        let list = opt_ints(cx, name)?.ok_or_else(|| missing(name))?;
        let list: Option<Vec<usize>> = list.into_iter().map(|at| usize::try_from(at).ok()).collect();
        list.ok_or_else(|| OpError::invalid(format_args!("attribute `{name}` has a number below zero")))
    };
    let (begins, indexes) = (places("ngram_counts")?, places("ngram_indexes")?);
    let width = indexes.iter().max().map_or(0, |&index| index + 1);
    let weights = opt_floats(cx, "weights")?;
    if weights.as_ref().is_some_and(|weights| weights.len() != indexes.len()) {
        return Err(OpError::invalid("there is not one weight for each n-gram"));
    }
    let is_in_order = indexes.iter().enumerate().all(|(at, &index)| at == index);
    refuse(cx, weights.is_some() && !is_in_order, "runtimes take weights of n-grams in another order differently")?;
    // By n-gram: its number.
    let mut known: HashMap<&[Gram], usize> = HashMap::new();
    let mut numbers = 0..indexes.len();
    for (length, &begin) in (1..).zip(&begins) {
        let end = begins.get(length).copied().unwrap_or(pool.len());
        let grams = pool.get(begin..end).ok_or_else(|| OpError::invalid("`ngram_counts` leaves the pool"))?;
        for gram in grams.chunks_exact(length) {
            let number = numbers.next().ok_or_else(|| OpError::invalid("`ngram_indexes` has too few numbers"))?;
            if (shortest..=longest).contains(&length) {
                known.insert(gram, number);
            }
        }
    }
    let (n_rows, row, dims) = match x.dims() {
        [] => (1, 1, vec![width as u64]),
        &[row] => (1, row as usize, vec![width as u64]),
        &[rows, row] if rows > 0 => (rows as usize, row as usize, vec![rows, width as u64]),
        dims => return Err(OpError::unsupported(format_args!("arguments of shape {dims:?} are not counted"))),
    };
    checked_len(cx, ElemType::FLOAT, &dims)?;
    bounded_work(cx, [items.len(), longest, longest, most_skipped + 1].map(|n| n as u64))?;
    let n_grams = indexes.len();
    checked_len(cx, ElemType::UINT32, &[n_rows as u64, n_grams as u64])?;
    let mut counts = vec![0u32; n_rows * n_grams];
    for (at, row) in items.chunks_exact(row.max(1)).enumerate() {
        for distance in 1..=most_skipped + 1 {
            for start in 0..row.len() {
                for length in shortest.max(1)..=longest {
                    // A single item has nothing to leave out.
                    if start + (length - 1) * distance >= row.len() || length == 1 && distance > 1 {
                        continue;
                    }
                    let gram: Vec<Gram> = (0..length).map(|n| row[start + n * distance].clone()).collect();
                    if let Some(&number) = known.get(gram.as_slice()) {
                        counts[at * n_grams + number] += 1;
                    }
                }
            }
        }
    }
    let of: fn(u32, f32) -> f32 = named(cx, "mode", |mode| match mode {
        "TF" => Some((|count, _| count as f32) as fn(u32, f32) -> f32),
        "IDF" => Some(|count, weight| if count > 0 { weight } else { 0.0 }),
        "TFIDF" => Some(|count, weight| count as f32 * weight),
        _ => None,
    })?;
    let mut values = vec![0.0f32; n_rows * width];
    for (at, &count) in counts.iter().enumerate() {
        let number = at % n_grams;
        let weight = weights.as_ref().map_or(1.0, |weights| weights[number]);
        values[at / n_grams * width + indexes[number]] += of(count, weight);
    }
    Ok(Tensor::from_f32(&dims, &values))
}
