//! The operators, as `onnxruntime` 1.31 describes them.

use relais_plugin_api::{
    ir::{Dims, attr_kind::*},
    op::{AttrSchema, Effects, Formal, FusionKind, Layout, Precision, Required, TypeVar, shapes::*},
    prelude::*,
};

const T: &[TypeVar] = &[TypeVar::new("T", &[ElemType::FLOAT16, ElemType::FLOAT, ElemType::DOUBLE, ElemType::BFLOAT16])];
/// Without doubles, and with masks and counts, or with the element type of statistics.
const SHORT: TypeVar = TypeVar::new("T", &[ElemType::FLOAT, ElemType::FLOAT16, ElemType::BFLOAT16]);
const MASKED: &[TypeVar] = &[SHORT, SHORT.named("QK"), TypeVar::new("M", &[ElemType::INT32])];
const SUMMED: &[TypeVar] = &[SHORT, TypeVar::new("U", &[ElemType::FLOAT])];
const INDEXED: &[TypeVar] =
    &[TypeVar::new("T", &[ElemType::FLOAT, ElemType::FLOAT16]), TypeVar::new("T1", &[ElemType::INT32])];

const BYTE: TypeVar = TypeVar::new("T", &[ElemType::INT8, ElemType::UINT8]);
const BYTES: &[TypeVar] = &[BYTE];
const SCALE: TypeVar = TypeVar::new("tensor(float)", &[ElemType::FLOAT]);
const CHANNELS_LAST: &[AttrSchema] = &[default(INT, "channels_last", "1")];
const CHANNELS_FIRST: &[AttrSchema] = &[default(INT, "channels_last", "0")];

operators! { OPERATORS }

/// All of them.
pub const OPERATORS: &[Operator] = &[
    op("Attention")
        .macs("?")
        .inputs(2, 7)
        .outputs(1, 2)
        .takes(&[
            Formal::single("input", "T"),
            Formal::single("weights", "T"),
            Formal::optional("bias", "T"),
            Formal::optional("mask_index", "M"),
            Formal::optional("past", "T"),
            Formal::optional("attention_bias", "T"),
            Formal::optional("past_sequence_length", "M"),
        ])
        .gives(&[Formal::single("output", "T"), Formal::optional("present", "T")])
        .types(MASKED)
        .attrs(&[
            optional(INT, "do_rotary"),
            optional(FLOAT, "mask_filter_value"),
            AttrSchema { name: "num_heads", kind: INT, required: Required::Yes, default: "" },
            optional(INT, "past_present_share_buffer"),
            optional(INTS, "qkv_hidden_sizes"),
            optional(INT, "rotary_embedding_dim"),
            optional(FLOAT, "scale"),
            default(INT, "unidirectional", "0"),
        ])
        .infer(attention)
        .doc("Attention of a value to itself, with the weights of queries, keys and values beside each other."),
    op("BiasGelu")
        .inputs(2, 2)
        .takes(&[Formal::single("A", "T"), Formal::single("B", "T")])
        .gives(&[Formal::single("C", "T")])
        .types(T)
        .fusion(FusionKind::BROADCAST)
        .infer(biased)
        .doc("The Gaussian error linear unit of a sum."),
    op("EmbedLayerNormalization")
        .inputs(7, 9)
        .outputs(1, 3)
        .takes(&[
            Formal::single("input_ids", "T1"),
            Formal::optional("segment_ids", "T1"),
            Formal::single("word_embedding", "T"),
            Formal::single("position_embedding", "T"),
            Formal::optional("segment_embedding", "T"),
            Formal::single("gamma", "T"),
            Formal::single("beta", "T"),
            Formal::optional("mask", "T1"),
            Formal::optional("position_ids", "T1"),
        ])
        .gives(&[
            Formal::single("output", "T"),
            Formal::optional("mask_index", "T1"),
            Formal::optional("embedding_sum", "T"),
        ])
        .types(INDEXED)
        .attrs(&[default(FLOAT, "epsilon", "1e-12"), optional(INT, "mask_index_type")])
        .infer(embedding)
        .effects(Effects::TRAPS)
        .doc("Rows of two or three tables, added up and normalised."),
    op("FastGelu")
        .inputs(1, 2)
        .takes(&[Formal::single("X", "T"), Formal::optional("bias", "T")])
        .gives(&[Formal::single("Y", "T")])
        .types(T)
        .fusion(FusionKind::BROADCAST)
        .infer(biased)
        .doc("The Gaussian error linear unit, by the hyperbolic tangent."),
    op("FusedConv")
        .macs("y0 * x1 / x1[0]")
        .inputs(2, 4)
        .takes(&[
            Formal::single("X", "T"),
            Formal::single("W", "T"),
            Formal::optional("B", "T"),
            Formal::optional("Z", "T"),
        ])
        .gives(&[Formal::single("Y", "T")])
        .types(&[TypeVar::new("T", &[ElemType::FLOAT16, ElemType::FLOAT, ElemType::DOUBLE])])
        .attrs(&[
            optional(STRING, "activation"),
            optional(FLOATS, "activation_params"),
            default(STRING, "auto_pad", "\"NOTSET\""),
            optional(INTS, "dilations"),
            default(INT, "group", "1"),
            optional(INTS, "kernel_shape"),
            optional(INTS, "pads"),
            optional(INTS, "strides"),
        ])
        .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
        .infer(conv)
        .precision(Precision::Lower)
        .doc("A convolution and what is computed of its result."),
    op("FusedGemm")
        .macs("y0 * x0 / y0[0]")
        .inputs(2, 3)
        .takes(&[Formal::single("A", "T"), Formal::single("B", "T"), Formal::optional("C", "T")])
        .gives(&[Formal::single("Y", "T")])
        .types(&[TypeVar::new(
            "T",
            &[
                ElemType::FLOAT16,
                ElemType::FLOAT,
                ElemType::DOUBLE,
                ElemType::UINT32,
                ElemType::UINT64,
                ElemType::INT32,
                ElemType::INT64,
            ],
        )])
        .attrs(&[
            optional(STRING, "activation"),
            optional(FLOAT, "activation_alpha"),
            optional(FLOAT, "activation_beta"),
            optional(FLOAT, "activation_gamma"),
            default(FLOAT, "alpha", "1.0"),
            default(FLOAT, "beta", "1.0"),
            default(INT, "transA", "0"),
            default(INT, "transB", "0"),
        ])
        .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
        .infer(gemm)
        .precision(Precision::Lower)
        .doc("A product of matrices with a summand, and what is computed of it."),
    op("FusedMatMul")
        .macs("?")
        .inputs(2, 2)
        .takes(&[Formal::single("A", "T"), Formal::single("B", "T")])
        .gives(&[Formal::single("Y", "T")])
        .types(T)
        .attrs(&[
            default(FLOAT, "alpha", "1.0"),
            default(INT, "transA", "0"),
            default(INT, "transB", "0"),
            default(INT, "transBatchA", "0"),
            default(INT, "transBatchB", "0"),
        ])
        .infer(mat_mul)
        .precision(Precision::Lower)
        .doc("A product of matrices, which may be transposed, times a number."),
    op("Gelu")
        .takes(&[Formal::single("X", "T")])
        .gives(&[Formal::single("Y", "T")])
        .types(T)
        .fusion(FusionKind::ELEMWISE)
        .infer(same)
        .doc("The Gaussian error linear unit."),
    op("MultiHeadAttention")
        .macs("?")
        .inputs(1, 10)
        .outputs(1, 4)
        .takes(&[
            Formal::single("query", "T"),
            Formal::optional("key", "T"),
            Formal::optional("value", "T"),
            Formal::optional("bias", "T"),
            Formal::optional("key_padding_mask", "M"),
            Formal::optional("attention_bias", "T"),
            Formal::optional("past_key", "T"),
            Formal::optional("past_value", "T"),
            Formal::optional("past_sequence_length", "M"),
            Formal::optional("cache_indirection", "M"),
        ])
        .gives(&[
            Formal::single("output", "T"),
            Formal::optional("present_key", "T"),
            Formal::optional("present_value", "T"),
            Formal::optional("qk", "QK"),
        ])
        .types(MASKED)
        .attrs(&[
            optional(FLOAT, "mask_filter_value"),
            AttrSchema { name: "num_heads", kind: INT, required: Required::Yes, default: "" },
            optional(FLOAT, "scale"),
            default(INT, "unidirectional", "0"),
        ])
        .infer(multi_head_attention)
        .doc("Attention with heads beside each other in the last axis."),
    op("NhwcMaxPool")
        .takes(&[Formal::single("x", "T")])
        .gives(&[Formal::single("y", "T")])
        .types(BYTES)
        .attrs(&[
            default(STRING, "auto_pad", "\"NOTSET\""),
            default(INT, "ceil_mode", "0"),
            optional(INTS, "dilations"),
            AttrSchema { name: "kernel_shape", kind: INTS, required: Required::Yes, default: "" },
            optional(INTS, "pads"),
            optional(INTS, "strides"),
        ])
        .layouts(&[Layout::new("NHWC->NHWC"), Layout::new("NCHW->NCHW").of("MaxPool")])
        .infer(nhwc_max_pool)
        .doc("`MaxPool` of integers, the channels being the last axis."),
    op("QLinearConv")
        .macs("y0 * x3 / x3[0]")
        .inputs(8, 9)
        .takes(&[
            Formal::single("x", "T1"),
            Formal::single("x_scale", "tensor(float)"),
            Formal::single("x_zero_point", "T1"),
            Formal::single("w", "T2"),
            Formal::single("w_scale", "tensor(float)"),
            Formal::single("w_zero_point", "T2"),
            Formal::single("y_scale", "tensor(float)"),
            Formal::single("y_zero_point", "T3"),
            Formal::optional("B", "T4"),
        ])
        .gives(&[Formal::single("y", "T3")])
        .types(&[BYTE.named("T1"), BYTE.named("T2"), BYTE.named("T3"), TypeVar::new("T4", &[ElemType::INT32]), SCALE])
        .attrs(&[
            default(STRING, "auto_pad", "\"NOTSET\""),
            default(INT, "channels_last", "0"),
            optional(INTS, "dilations"),
            default(INT, "group", "1"),
            optional(INTS, "kernel_shape"),
            optional(INTS, "pads"),
            optional(INTS, "strides"),
        ])
        .layouts(&[
            Layout::new("NHWC->NHWC").attrs(CHANNELS_LAST),
            Layout::new("NCHW->NCHW").attrs(CHANNELS_FIRST),
            Layout::new("NCHW->NCHW").of("QLinearConv"),
        ])
        .infer(q_linear_conv)
        .doc("`QLinearConv`; with `channels_last`, the channels of the values are the last axis."),
    op("QLinearGlobalAveragePool")
        .inputs(5, 5)
        .takes(&[
            Formal::single("X", "T"),
            Formal::single("x_scale", "tensor(float)"),
            Formal::single("x_zero_point", "T"),
            Formal::single("y_scale", "tensor(float)"),
            Formal::single("y_zero_point", "T"),
        ])
        .gives(&[Formal::single("Y", "T")])
        .types(&[BYTE, SCALE])
        .attrs(&[default(INT, "channels_last", "0")])
        .layouts(&[Layout::new("NHWC->NHWC").attrs(CHANNELS_LAST), Layout::new("NCHW->NCHW").attrs(CHANNELS_FIRST)])
        .infer(q_linear_global_average_pool)
        .doc("The mean of each channel; with `channels_last`, the channels are the last axis."),
    op("QuickGelu")
        .takes(&[Formal::single("X", "T")])
        .gives(&[Formal::single("Y", "T")])
        .types(T)
        .attrs(&[default(FLOAT, "alpha", "1.702")])
        .fusion(FusionKind::ELEMWISE)
        .infer(same)
        .doc("The input times the sigmoid of a multiple of it."),
    op("SkipLayerNormalization")
        .inputs(3, 5)
        .outputs(1, 4)
        .takes(&[
            Formal::single("input", "T"),
            Formal::single("skip", "T"),
            Formal::single("gamma", "T"),
            Formal::optional("beta", "T"),
            Formal::optional("bias", "T"),
        ])
        .gives(SUMS)
        .types(SUMMED)
        .attrs(&[default(FLOAT, "epsilon", "1e-12")])
        .infer(skip)
        .precision(NORMALIZES)
        .doc("A sum, normalised, scaled and shifted."),
    op("SkipSimplifiedLayerNormalization")
        .inputs(3, 4)
        .outputs(1, 4)
        .takes(&[
            Formal::single("input", "T"),
            Formal::single("skip", "T"),
            Formal::single("gamma", "T"),
            Formal::optional("bias", "T"),
        ])
        .gives(SUMS)
        .types(SUMMED)
        .attrs(&[default(FLOAT, "epsilon", "1e-12")])
        .infer(skip)
        .precision(NORMALIZES)
        .doc("A sum, divided by its root mean square and scaled."),
];

const SUMS: &[Formal] = &[
    Formal::single("output", "T"),
    Formal::optional("mean", "U"),
    Formal::optional("inv_std_var", "U"),
    Formal::optional("input_skip_bias_sum", "T"),
];

/// As ONNX's normalisations.
const NORMALIZES: Precision<'static> = Precision::Keep("it divides by a sum of many terms");

const fn op(name: &'static str) -> Operator {
    Operator::new("com.microsoft", name, 1)
}

const fn optional(kind: u8, name: &'static str) -> AttrSchema {
    AttrSchema { name, kind, required: Required::No, default: "" }
}

const fn default(kind: u8, name: &'static str, default: &'static str) -> AttrSchema {
    AttrSchema { name, kind, required: Required::No, default }
}

/// The first result has the type of the first argument.
fn same(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    cx.set_output(0, cx.input_id(0));
    Ok(())
}

/// As [`same`], with a vector for the last axis in all other arguments.
fn with_vectors(cx: &mut InferCx<'_>, first: usize, last: usize) -> Result<(), OpError> {
    let mut size = cx.dims(0).and_then(|dims| dims.last().copied()).unwrap_or(Dim::Unknown);
    for index in first..=last {
        if let Some(dims) = dims_of_rank(cx, index, 1)? {
            size = merge_dim(size, dims[0])
                .map_err(|error| OpError::invalid(format_args!("the last axis and input {index}: {error}")))?;
        }
    }
    same(cx)
}

/// `BiasGelu` and `FastGelu`.
fn biased(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    with_vectors(cx, 1, 1)
}

/// `SkipLayerNormalization` and its kin: the second argument may lack samples.
fn skip(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    for index in [0, 1] {
        if cx.dims(index).is_some_and(|dims| !(2..=3).contains(&dims.len())) {
            return Err(OpError::invalid(format_args!("input {index} must have rank 2 or 3")));
        }
    }
    with_vectors(cx, 2, 4)
}

/// A positive attribute that must be given.
fn heads(cx: &InferCx<'_>) -> Result<(), OpError> {
    match cx.attrs().int("num_heads") {
        Some(1..) => Ok(()),
        _ => Err(OpError::invalid("`num_heads` is not a number of heads")),
    }
}

/// The result has the element type of the first argument.
fn of_any_rank(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    let elem = cx.elem(0);
    cx.set_any_rank(0, elem);
    Ok(())
}

/// `FusedConv`: samples of the first argument, channels of the second, and as many axes as they have.
fn conv(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    let elem = cx.elem(0);
    let Some(mut dims) = cx.dims(0).or_else(|| cx.dims(1)) else { return of_any_rank(cx) };
    if dims.len() < 3 {
        return Err(OpError::invalid("there is no axis but those of samples and channels"));
    }
    dims_of_rank(cx, 1, dims.len())?;
    dims.fill(Dim::Unknown);
    if let Some([samples, ..]) = cx.dims(0).as_deref() {
        dims[0] = *samples;
    }
    if let Some([channels, ..]) = cx.dims(1).as_deref() {
        dims[1] = *channels;
    }
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

/// `NhwcMaxPool`: a value for each window.
fn nhwc_max_pool(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    let elem = cx.elem(0);
    let Some(mut dims) = dims_of_rank(cx, 0, 4)? else { return of_any_rank(cx) };
    let (attrs, kernel) = (cx.attrs(), cx.attrs().ints("kernel_shape").unwrap_or_default());
    let is_plain = attrs.str("auto_pad").is_none_or(|pad| pad == "NOTSET") && attrs.int("ceil_mode").unwrap_or(0) == 0;
    let entry = |name: &str, at: usize, default: i64| -> u64 {
        let list = attrs.ints(name);
        let value = list.map_or(default, |list| list.get(at).copied().unwrap_or(default));
        u64::try_from(value).unwrap_or(0)
    };
    for (at, dim) in dims[1..3].iter_mut().enumerate() {
        let (pads, stride) = (entry("pads", at, 0) + entry("pads", at + 2, 0), entry("strides", at, 1));
        let size = kernel.get(at).and_then(|&size| u64::try_from(size).ok()).filter(|_| is_plain);
        let window = size.and_then(|size| Some(size.checked_sub(1)? * entry("dilations", at, 1) + 1));
        let count = |size: u64| Some((size + pads).checked_sub(window?)?.checked_div(stride)? + 1);
        *dim = map_dim(*dim, count);
    }
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

/// `QLinearConv`: as many axes as there are, with the channels of the weights.
fn q_linear_conv(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    let elem = cx.elem(7);
    let Some(mut dims) = dims_from_rank(cx, 0, 3)? else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    let samples = dims[0];
    dims.fill(Dim::Unknown);
    dims[0] = samples;
    let is_last = cx.attrs().int("channels_last").is_some_and(|value| value != 0);
    let channels = if is_last { dims.len() - 1 } else { 1 };
    if let Some([first, ..]) = cx.dims(3).as_deref() {
        dims[channels] = *first;
    }
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

/// `QLinearGlobalAveragePool`: samples and channels.
fn q_linear_global_average_pool(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    let elem = cx.elem(0);
    let Some(mut dims) = dims_from_rank(cx, 0, 3)? else { return of_any_rank(cx) };
    let is_last = cx.attrs().int("channels_last").is_some_and(|value| value != 0);
    let channels = if is_last { dims.len() - 1 } else { 1 };
    dims.iter_mut().enumerate().filter(|&(at, _)| at != 0 && at != channels).for_each(|(_, dim)| *dim = Dim::Static(1));
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

/// `FusedGemm`: a matrix.
fn gemm(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    let elem = cx.elem(0);
    let sizes = |index: usize, name: &str| -> Result<[Dim; 2], OpError> {
        let is_set = cx.attrs().int(name).is_some_and(|value| value != 0);
        let dims = dims_of_rank(cx, index, 2)?.map_or([Dim::Unknown; 2], |dims| [dims[0], dims[1]]);
        Ok(if is_set { [dims[1], dims[0]] } else { dims })
    };
    let (a, b) = (sizes(0, "transA")?, sizes(1, "transB")?);
    merge_dim(a[1], b[0]).map_err(|error| OpError::invalid(format_args!("the axes to be multiplied: {error}")))?;
    cx.set_tensor(0, elem, &[a[0], b[1]]);
    Ok(())
}

/// `FusedMatMul`, of matrices and stacks of them whose axes stay where they are.
fn mat_mul(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    let is_set = |name: &str| cx.attrs().int(name).is_some_and(|value| value != 0);
    let elem = cx.elem(0);
    let is_moved = is_set("transBatchA") || is_set("transBatchB");
    let sizes = |index: usize, name: &str| -> Option<Dims> {
        let mut dims = cx.dims(index).filter(|dims| dims.len() > 1 && !is_moved)?;
        let last = dims.len() - 1;
        if is_set(name) {
            dims.swap(last - 1, last);
        }
        Some(dims)
    };
    let (Some(a), Some(b)) = (sizes(0, "transA"), sizes(1, "transB")) else { return of_any_rank(cx) };
    let ((a_stack, a), (b_stack, b)) = (a.split_at(a.len() - 2), b.split_at(b.len() - 2));
    merge_dim(a[1], b[0]).map_err(|error| OpError::invalid(format_args!("the axes to be multiplied: {error}")))?;
    let mut dims = broadcast(a_stack, b_stack)?;
    dims.extend([a[0], b[1]]);
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

/// `MultiHeadAttention`, where no argument holds several: the sizes of the query, with the last one of the value.
fn multi_head_attention(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    heads(cx)?;
    let elem = cx.elem(0);
    let ranks = [0, 1, 2].map(|index| cx.dims(index));
    if ranks.iter().flatten().any(|dims| !(3..=5).contains(&dims.len())) {
        return Err(OpError::invalid("the inputs must have rank 3 to 5"));
    }
    match ranks.each_ref().map(Option::as_deref) {
        [Some(&[batch, length, _]), Some(&[_, _, _]), Some(&[_, _, size])] => {
            cx.set_tensor(0, elem, &[batch, length, size]);
        }
        _ => cx.set_any_rank(0, elem),
    }
    Ok(())
}

/// `Attention`: a third of the weights is that of the values, unless there are sizes.
fn attention(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    let elem = cx.elem(0);
    let third = |dim: Dim| match dim {
        Dim::Static(size) if size % 3 == 0 => Dim::Static(size / 3),
        _ => Dim::Unknown,
    };
    heads(cx)?;
    let has_sizes = cx.attrs().get("qkv_hidden_sizes").is_some();
    let (input, weights) = (dims_of_rank(cx, 0, 3)?, dims_of_rank(cx, 1, 2)?);
    dims_of_rank(cx, 2, 1)?;
    if let (Some(input), Some(weights)) = (&input, &weights) {
        merge_dim(input[2], weights[0])
            .map_err(|error| OpError::invalid(format_args!("the axes to be multiplied: {error}")))?;
    }
    match (input.as_deref(), weights.as_deref()) {
        (Some(&[batch, length, _]), Some(&[_, all])) => {
            let size = if has_sizes { Dim::Unknown } else { third(all) };
            cx.set_tensor(0, elem, &[batch, length, size]);
        }
        _ => cx.set_any_rank(0, elem),
    }
    Ok(())
}

/// `EmbedLayerNormalization`: a row for each index.
fn embedding(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    let elem = cx.elem(2);
    for (index, rank) in [(0, 2), (1, 2), (2, 2), (3, 2), (4, 2), (5, 1), (6, 1), (7, 2), (8, 2)] {
        dims_of_rank(cx, index, rank)?;
    }
    match (cx.dims(0).as_deref(), cx.dims(2).as_deref()) {
        (Some(&[batch, length]), Some(&[_, size])) => cx.set_tensor(0, elem, &[batch, length, size]),
        _ => cx.set_any_rank(0, elem),
    }
    Ok(())
}
