//! Classical machine learning, `ai.onnx.ml`.

use super::shared::util::*;
use relais_plugin_api::{ir::*, op::*};

/// `Scaler`, `Normalizer`: floats of the shape of the argument.
pub fn floats(cx: &mut InferCx<'_>) -> Outcome {
    elements(cx, ElemType::FLOAT)
}

/// `ArrayFeatureExtractor`: the columns that the second argument lists.
pub fn columns(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let n_columns = cx.dims(1).map_or(Dim::Unknown, |dims| product(&dims));
    match cx.dims(0).as_deref() {
        // The standard does not say of which rank the columns of a vector are.
        None | Some([] | [_]) => cx.set_any_rank(0, elem),
        Some([rows @ .., _]) => {
            let dims: Dims = rows.iter().copied().chain([n_columns]).collect();
            cx.set_tensor(0, elem, &dims);
        }
    }
    Ok(())
}

/// `CastMap`: a tensor of the element type that an attribute names.
pub fn cast_map(cx: &mut InferCx<'_>) -> Outcome {
    let elem = match string(cx, "cast_to")? {
        "TO_FLOAT" => ElemType::FLOAT,
        "TO_INT64" => ElemType::INT64,
        "TO_STRING" => ElemType::STRING,
        other => return Err(OpError::invalid(format_args!("attribute `cast_to` cannot be `{other}`"))),
    };
    cx.set_any_rank(0, elem);
    Ok(())
}

/// `CategoryMapper`, and `LabelEncoder` in version 1: integers for strings, or strings for integers.
pub fn category(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = match cx.elem(0) {
        ElemType::STRING => ElemType::INT64,
        ElemType::INT64 => ElemType::STRING,
        _ => ElemType::UNKNOWN,
    };
    elements(cx, elem)
}

/// `LabelEncoder`: the element type is that of the attribute with the values.
pub fn label(cx: &mut InferCx<'_>) -> Outcome {
    if cx.version() < 2 {
        return category(cx);
    }
    let lists =
        [("values_strings", ElemType::STRING), ("values_int64s", ElemType::INT64), ("values_floats", ElemType::FLOAT)];
    let given = lists.into_iter().find(|(name, _)| cx.attrs().get(name).is_some()).map(|(_, elem)| elem);
    let tensor = opt_tensor(cx, "values_tensor")?.map(|(elem, _)| elem);
    let elem = tensor.or(given).ok_or_else(|| OpError::invalid("no attribute has the values"))?;
    elements(cx, elem)
}

/// `DictVectorizer`: a row with a column for each word of the vocabulary.
pub fn dict_vectorizer(cx: &mut InferCx<'_>) -> Outcome {
    let Type::Map { value, .. } = cx.ty(cx.input_id(0)) else { return Ok(()) };
    let elem = cx.ty(value).elem().unwrap_or(ElemType::UNKNOWN);
    let words = opt_strs(cx, "string_vocabulary")?
        .map(|all| all.len())
        .or(opt_ints(cx, "int64_vocabulary")?.map(|words| words.len()));
    let n_words = words.map_or(Dim::Unknown, |n| Dim::Static(n as u64));
    cx.set_tensor(0, elem, &[Dim::Static(1), n_words]);
    Ok(())
}

/// `OneHotEncoder`: another axis with the categories.
pub fn one_hot(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let categories = match opt_strs(cx, "cats_strings")?.map(|all| all.len()).filter(|&n| n > 0) {
        Some(n) => Some(n),
        None => opt_ints(cx, "cats_int64s")?.map(|categories| categories.len()),
    };
    let n_categories = categories.map_or(Dim::Unknown, |n| Dim::Static(n as u64));
    match cx.dims(0) {
        Some(mut dims) => {
            dims.push(n_categories);
            cx.set_tensor(0, ElemType::FLOAT, &dims);
        }
        None => cx.set_any_rank(0, ElemType::FLOAT),
    }
    Ok(())
}

/// `FeatureVectorizer`: floats, of the columns of all arguments.
pub fn feature_vectorizer(cx: &mut InferCx<'_>) -> Outcome {
    cx.set_tensor(0, ElemType::FLOAT, &[Dim::Unknown, Dim::Unknown]);
    Ok(())
}

/// `TreeEnsembleClassifier`; see [`classifier`].
pub fn tree_classifier(cx: &mut InferCx<'_>) -> Outcome {
    before_version_5(cx)?;
    classifier(cx)
}

/// `LinearClassifier`: its input is a row or several.
pub fn linear_classifier(cx: &mut InferCx<'_>) -> Outcome {
    match cx.dims(0).map(|dims| dims.len()) {
        None | Some(1 | 2) => classifier(cx),
        Some(rank) => Err(OpError::invalid(format_args!("input 0 must have rank 1 or 2, not {rank}"))),
    }
}

/// Classifiers: a label for each row, and a score for each row and label.
fn classifier(cx: &mut InferCx<'_>) -> Outcome {
    let n_labels = labels(cx)?;
    // With a single label, runtimes differ about the scores.
    scores(cx, n_labels.filter(|&n| n > 1).map_or(Dim::Unknown, Dim::Static))
}

/// `SVMClassifier`: a label for each row, and for each row scores of labels or of pairs of labels.
pub fn svm_classifier(cx: &mut InferCx<'_>) -> Outcome {
    labels(cx)?;
    scores(cx, Dim::Unknown)
}

/// `LinearRegressor`: `targets` results for each row.
pub fn linear_regressor(cx: &mut InferCx<'_>) -> Outcome {
    let targets = int(cx, "targets")?;
    regressor(cx, ElemType::FLOAT, targets)
}

/// `SVMRegressor`: one result for each row.
pub fn svm_regressor(cx: &mut InferCx<'_>) -> Outcome {
    regressor(cx, ElemType::FLOAT, 1)
}

/// `TreeEnsembleRegressor`: `n_targets` results for each row.
pub fn tree_regressor(cx: &mut InferCx<'_>) -> Outcome {
    before_version_5(cx)?;
    let targets = opt_int(cx, "n_targets")?;
    regressor(cx, ElemType::FLOAT, targets.unwrap_or(-1))
}

/// `TreeEnsemble`: `n_targets` results of the argument's element type for each row.
pub fn trees(cx: &mut InferCx<'_>) -> Outcome {
    let targets = opt_int(cx, "n_targets")?;
    regressor(cx, cx.elem(0), targets.unwrap_or(-1))
}

/// # Errors
/// Returns an error if the call is written for version 5 or later, where the operator is deprecated.
fn before_version_5(cx: &InferCx<'_>) -> Result<(), OpError> {
    match cx.version() {
        ..5 => Ok(()),
        _ => Err(OpError::invalid("the operator is deprecated since version 5; `TreeEnsemble` takes its place")),
    }
}

/// `ZipMap`: a map from labels to scores for each row.
pub fn zip_map(cx: &mut InferCx<'_>) -> Outcome {
    let key = label_elem(cx)?;
    let value = cx.add_type(Type::Tensor { elem: ElemType::FLOAT, shape: Some(&[]) });
    let item = cx.add_type(Type::Map { key, value });
    let sequence = cx.add_type(Type::Sequence(item));
    cx.set_output(0, sequence);
    Ok(())
}

/// Elements of a type in the shape of the argument.
fn elements(cx: &mut InferCx<'_>, elem: ElemType) -> Outcome {
    expect_tensor(cx, 0)?;
    match cx.dims(0) {
        Some(dims) => cx.set_tensor(0, elem, &dims),
        None => cx.set_any_rank(0, elem),
    }
    Ok(())
}

/// The number of rows; a vector is one row.
fn n_rows(cx: &InferCx<'_>) -> Result<Dim, OpError> {
    expect_tensor(cx, 0)?;
    Ok(match cx.dims(0).as_deref() {
        Some([_]) => Dim::Static(1),
        Some([rows, _]) => *rows,
        _ => Dim::Unknown,
    })
}

/// The element type of labels: strings, if there are any.
fn label_elem(cx: &InferCx<'_>) -> Result<ElemType, OpError> {
    let has_strings = opt_strs(cx, "classlabels_strings")?.map(|all| all.len()).is_some_and(|n| n > 0);
    Ok(if has_strings { ElemType::STRING } else { ElemType::INT64 })
}

/// Sets the type of the labels of a classifier; returns how many labels there are.
fn labels(cx: &mut InferCx<'_>) -> Result<Option<u64>, OpError> {
    let n_strings = opt_strs(cx, "classlabels_strings")?.map(|all| all.len()).filter(|&n| n > 0);
    // The attribute has another name in trees than elsewhere.
    let ints = opt_ints(cx, "classlabels_ints")?.or(opt_ints(cx, "classlabels_int64s")?).map(|labels| labels.len());
    let (elem, rows) = (label_elem(cx)?, n_rows(cx)?);
    cx.set_tensor(0, elem, &[rows]);
    Ok(n_strings.or(ints).map(|n| n as u64))
}

/// Sets the type of the scores of a classifier.
fn scores(cx: &mut InferCx<'_>, n_scores: Dim) -> Outcome {
    let rows = n_rows(cx)?;
    cx.set_tensor(1, ElemType::FLOAT, &[rows, n_scores]);
    Ok(())
}

fn regressor(cx: &mut InferCx<'_>, elem: ElemType, n_targets: i64) -> Outcome {
    let rows = n_rows(cx)?;
    cx.set_tensor(0, elem, &[rows, u64::try_from(n_targets).map_or(Dim::Unknown, Dim::Static)]);
    Ok(())
}
