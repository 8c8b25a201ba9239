//! Attention and what stands around it.

use super::shared::{Made, body, cast, number, scalar};
use crate::calls::{self, elem, flag, float, int, opt_float, opt_int, rank, string, unknown};
use relais_plugin_api::{
    ir::ElemType,
    op::{OpCall, OpError},
};

/// A number of heads, which must be given.
fn heads(call: &OpCall<'_>, name: &str) -> Result<i64, OpError> {
    let heads = opt_int(call, name)?.filter(|heads| *heads > 0);
    heads.ok_or_else(|| unknown(format_args!("`{name}`")))
}

/// The lines that take heads out of the last axis: `[batch, sequence, heads * size]` to `[batch, heads, sequence, size]`.
fn unpacked(result: &str, value: &str, heads: i64) -> String {
    format!(
        "  %{result}_apart = Reshape(%{value}, [0, 0, {heads}, -1]);\n  \
         %{result} = Transpose(%{result}_apart, perm = [0, 2, 1, 3]);\n"
    )
}

/// The lines that repeat each head of keys or values for the heads of queries that share it.
fn shared(value: &str) -> String {
    format!(
        "  %{value}_heads = Shape(%{value}, start = 1, end = 2);\n  %{value}_tail = Shape(%{value}, start = 2);\n  \
         %{value}_n = Div(%q_heads, %{value}_heads);\n  %{value}_apart = Unsqueeze(%{value}, [2]);\n  \
         %{value}_times = Concat([1, 1], %{value}_n, [1, 1], axis = 0);\n  \
         %{value}_many = Expand(%{value}_apart, %{value}_times);\n  \
         %{value}_joined = Concat([0], %q_heads, %{value}_tail, axis = 0);\n  \
         %{value}_all = Reshape(%{value}_many, %{value}_joined);\n"
    )
}

/// `Attention`: a row of which nothing is attended to is zero.
pub fn attention(call: &OpCall<'_>) -> Made {
    let elem = elem(call, 0)?;
    let is_packed = match rank(call, 0)? {
        3 => true,
        4 => false,
        rank => return Err(OpError::unsupported(format_args!("input 0 has {rank} axes"))),
    };
    let (has_mask, has_past, has_lengths) = (call.has_arg(3), call.has_arg(4) && call.has_arg(5), call.has_arg(6));
    let mut lines = String::new();
    if is_packed {
        let (of_queries, of_keys) = (heads(call, "q_num_heads")?, heads(call, "kv_num_heads")?);
        lines += &unpacked("q", "query", of_queries);
        lines += &unpacked("new_k", "key", of_keys);
        lines += &unpacked("new_v", "value", of_keys);
    } else {
        lines += "  %q = Identity(%query);\n  %new_k = Identity(%key);\n  %new_v = Identity(%value);\n";
    }
    lines += match has_past {
        true => "  %k = Concat(%past_key, %new_k, axis = 2);\n  %v = Concat(%past_value, %new_v, axis = 2);\n",
        false => "  %k = Identity(%new_k);\n  %v = Identity(%new_v);\n",
    };
    lines += "  %q_heads = Shape(%q, start = 1, end = 2);\n";
    lines += &(shared("k") + &shared("v"));
    // Both factors are scaled by the root, so that the product does not overflow.
    lines += &match opt_float(call, "scale")? {
        Some(scale) => format!("  %root = Identity({});\n", scalar(elem, scale.sqrt())),
        None => format!(
            "  %width = Shape(%q, start = 3);\n  %wide = Cast(%width, to = 1);\n  %r = Sqrt(%wide);\n  \
             %inverse = Reciprocal(%r);\n  %s = Sqrt(%inverse);\n  %root = Cast(%s, to = {});\n",
            elem.0
        ),
    };
    lines += "  %qs = Mul(%q, %root);\n  %turned = Transpose(%k_all, perm = [0, 1, 3, 2]);\n  \
              %ks = Mul(%turned, %root);\n  %product = MatMul(%qs, %ks);\n";
    let cap = float(call, "softcap")? as f32;
    lines += &match cap > 0.0 {
        true => {
            let cap = scalar(elem, cap);
            format!("  %parts = Div(%product, {cap});\n  %bent = Tanh(%parts);\n  %capped = Mul(%bent, {cap});\n")
        }
        false => "  %capped = Identity(%product);\n".to_owned(),
    };
    let (zero, low) = (scalar(elem, 0.0), format!("const({elem}, -inf)"));
    let mut biased = "capped";
    if has_mask {
        let rank = rank(call, 3)?;
        lines += &match calls::elem(call, 3)? {
            ElemType::BOOL => format!("  %bias = Where(%mask, {zero}, {low});\n"),
            other => cast("bias", "mask", other, elem),
        };
        // A mask may end before the keys do.
        if rank == 0 {
            return Err(OpError::unsupported("the mask has no axes"));
        }
        let front = vec![0; 2 * rank - 1];
        lines += &format!(
            "  %total = Shape(%k, start = 2, end = 3);\n  %has = Shape(%bias, start = {});\n  \
             %lacks = Sub(%total, %has);\n  %pads = Concat({front:?}, %lacks, axis = 0);\n  \
             %full = Pad(%bias, %pads, {low});\n  %masked = Add(%capped, %full);\n",
            rank - 1
        );
        biased = "masked";
    }
    let (left, right) = (int(call, "left_window_size")?, int(call, "right_window_size")?);
    let is_causal = flag(call, "is_causal")?;
    let bounds = [
        is_causal.then_some("LessOrEqual(%j, %at)"),
        (left >= 0).then_some("GreaterOrEqual(%j, %first)"),
        (right >= 0).then_some("LessOrEqual(%j, %last)"),
        has_lengths.then_some("Less(%j, %ends)"),
    ];
    if bounds.iter().any(Option::is_some) {
        lines += "  %n_q = Shape(%q, start = 2, end = 3);\n  %n_k = Shape(%k, start = 2, end = 3);\n  \
                  %n_q0 = Squeeze(%n_q, [0]);\n  %n_k0 = Squeeze(%n_k, [0]);\n  %i0 = Range(0, %n_q0, 1);\n  \
                  %i = Unsqueeze(%i0, [1]);\n  %j = Range(0, %n_k0, 1);\n";
        if has_lengths {
            lines += "  %ends = Reshape(%lengths, [-1, 1, 1, 1]);\n";
        }
        lines += match (has_past, has_lengths) {
            (true, _) => "  %offset = Shape(%past_key, start = 2, end = 3);\n",
            (false, true) => "  %offset = Sub(%ends, %n_q);\n",
            (false, false) => "  %offset = Identity([0]);\n",
        };
        lines += "  %at = Add(%i, %offset);\n";
        if left >= 0 {
            lines += &format!("  %first = Sub(%at, {left});\n");
        }
        if right >= 0 {
            lines += &format!("  %last = Add(%at, {right});\n");
        }
        for (at, bound) in bounds.iter().enumerate() {
            let Some(bound) = bound else { continue };
            lines += &format!(
                "  %allowed{at} = {bound};\n  %closed{at} = Where(%allowed{at}, {zero}, {low});\n  \
                 %biased{at} = Add(%{biased}, %closed{at});\n"
            );
            biased = ["biased0", "biased1", "biased2", "biased3"][at];
        }
    }
    let wide = opt_int(call, "softmax_precision")?.and_then(|wide| u8::try_from(wide).ok()).map_or(elem, ElemType);
    if !wide.is_float() {
        return Err(OpError::invalid("`softmax_precision` is not a type of floats"));
    }
    let (zero, one) = (scalar(wide, 0.0), scalar(wide, 1.0));
    lines += &cast("x", biased, elem, wide);
    lines += &format!(
        "  %most = ReduceMax(%x, [-1], keepdims = 1);\n  %none = IsInf(%most, detect_positive = 0);\n  \
         %safe = Where(%none, {zero}, %most);\n  %d = Sub(%x, %safe);\n  %e = Exp(%d);\n  \
         %sum = ReduceSum(%e, [-1], keepdims = 1);\n  %count = Where(%none, {one}, %sum);\n  %p = Div(%e, %count);\n"
    );
    lines += &cast("weights", "p", wide, elem);
    lines += &cast("values", "v_all", calls::elem(call, 2)?, elem);
    lines += "  %heads = MatMul(%weights, %values);\n";
    lines += match is_packed {
        true => "  %back = Transpose(%heads, perm = [0, 2, 1, 3]);\n  %y = Reshape(%back, [0, 0, -1]);\n",
        false => "  %y = Identity(%heads);\n",
    };
    let seen = match int(call, "qk_matmul_output_mode")? {
        0 => "product",
        1 => "capped",
        2 => biased,
        3 => "weights",
        other => return Err(OpError::unsupported(format_args!("`qk_matmul_output_mode` is {other}"))),
    };
    let params = ["query", "key", "value", "mask", "past_key", "past_value", "lengths"];
    body(call, &params, &lines, &["y", "k", "v", seen])
}

/// `RotaryEmbedding`.
pub fn rotary_embedding(call: &OpCall<'_>) -> Made {
    let is_packed = match rank(call, 0)? {
        3 => true,
        4 => false,
        rank => return Err(OpError::unsupported(format_args!("input 0 has {rank} axes"))),
    };
    let mut lines = match is_packed {
        true => format!("  %t = Reshape(%x, [0, 0, {}, -1]);\n", heads(call, "num_heads")?),
        false => "  %t = Transpose(%x, perm = [0, 2, 1, 3]);\n".to_owned(),
    };
    let width = int(call, "rotary_embedding_dim")?;
    lines += &match width {
        0 => "  %r = Identity(%t);\n".to_owned(),
        width => {
            format!("  %r = Slice(%t, [0], [{width}], [3]);\n  %rest = Slice(%t, [{width}], [{}], [3]);\n", i64::MAX)
        }
    };
    for name in ["cos", "sin"] {
        lines += &match call.has_arg(3) {
            true => format!("  %{name}_at = Gather(%{name}_cache, %position);\n"),
            false => format!("  %{name}_at = Identity(%{name}_cache);\n"),
        };
        lines += &format!("  %{name} = Unsqueeze(%{name}_at, [2]);\n");
    }
    let is_interleaved = flag(call, "interleaved")?;
    lines += &match is_interleaved {
        true => {
            let end = i64::MAX;
            format!("  %a = Slice(%r, [0], [{end}], [3], [2]);\n  %b = Slice(%r, [1], [{end}], [3], [2]);\n")
        }
        false => "  (%a, %b) = Split(%r, axis = 3, num_outputs = 2);\n".to_owned(),
    };
    lines += "  %ac = Mul(%cos, %a);\n  %bs = Mul(%sin, %b);\n  %real = Sub(%ac, %bs);\n  %as = Mul(%sin, %a);\n  \
              %bc = Mul(%cos, %b);\n  %imaginary = Add(%as, %bc);\n";
    lines += match is_interleaved {
        true => {
            "  %real_ = Unsqueeze(%real, [-1]);\n  %imaginary_ = Unsqueeze(%imaginary, [-1]);\n  \
             %pairs = Concat(%real_, %imaginary_, axis = -1);\n  %shape = Shape(%r);\n  %o = Reshape(%pairs, %shape);\n"
        }
        false => "  %o = Concat(%real, %imaginary, axis = 3);\n",
    };
    lines += if width == 0 { "  %all = Identity(%o);\n" } else { "  %all = Concat(%o, %rest, axis = 3);\n" };
    lines += match is_packed {
        true => "  %whole = Shape(%x);\n  %y = Reshape(%all, %whole);\n",
        false => "  %y = Transpose(%all, perm = [0, 2, 1, 3]);\n",
    };
    body(call, &["x", "cos_cache", "sin_cache", "position"], &lines, &["y"])
}

/// `LinearAttention`: a step for each position, in single precision.
pub fn linear_attention(call: &OpCall<'_>) -> Made {
    let elem = elem(call, 0)?;
    let (of_queries, of_keys) = (heads(call, "q_num_heads")?, heads(call, "kv_num_heads")?);
    if of_queries % of_keys != 0 {
        return Err(OpError::unsupported("`q_num_heads` is not a multiple of `kv_num_heads`"));
    }
    let (is_gated, is_delta) = match string(call, "update_rule")? {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        other => return Err(OpError::unsupported(format_args!("`update_rule` is `{other}`"))),
    };
    let single = ElemType::FLOAT;
    let kept = if call.has_arg(3) { calls::elem(call, 3)? } else { elem };
    let mut lines = String::new();
    // The sequence comes first: `[sequence, batch, heads, size]`.
    let stepwise = |result: &str, value: &str, from: ElemType, heads: &str| {
        cast(&format!("{result}_single"), value, from, single)
            + &format!(
                "  %{result}_apart = Reshape(%{result}_single, [0, 0, {heads}, -1]);\n  \
                 %{result} = Transpose(%{result}_apart, perm = [1, 0, 2, 3]);\n"
            )
    };
    lines += &stepwise("queries", "query", elem, &of_queries.to_string());
    lines += &stepwise("k", "key", elem, &of_keys.to_string());
    lines += &stepwise("v", "value", elem, &of_keys.to_string());
    // The heads of queries that share a head of keys stand together.
    let group = of_queries / of_keys;
    lines += &format!("  %q = Reshape(%queries, [0, 0, {of_keys}, {group}, -1]);\n");
    let mut scanned = vec![("qt", "q"), ("kt", "k"), ("vt", "v")];
    if is_gated {
        lines += &stepwise("g", "decay", calls::elem(call, 4)?, &of_keys.to_string());
        scanned.push(("gt", "g"));
    }
    if is_delta {
        lines += &cast("beta_single", "beta", calls::elem(call, 5)?, single);
        lines += "  %beta_turned = Transpose(%beta_single, perm = [1, 0, 2]);\n  %b = Unsqueeze(%beta_turned, [3]);\n";
        scanned.push(("bt", "b"));
    }
    lines += "  %size_k = Shape(%k, start = 3);\n  %size_v = Shape(%v, start = 3);\n  \
              %front = Shape(%k, start = 1, end = 3);\n  \
              %state_shape = Concat(%front, %size_k, %size_v, axis = 0);\n";
    lines += &match call.has_arg(3) {
        true => cast("before", "past", kept, single),
        false => "  %before = Expand(0.0, %state_shape);\n".to_owned(),
    };
    lines += &match float(call, "scale")? as f32 {
        scale if scale != 0.0 => format!("  %scale = Identity({});\n", number(scale)),
        _ => "  %width = Cast(%size_k, to = 1);\n  %root = Sqrt(%width);\n  %scale = Reciprocal(%root);\n".to_owned(),
    };
    let mut step = String::new();
    step += match is_gated {
        true => {
            "    %decay_t = Exp(%gt);\n    %decay_w = Unsqueeze(%decay_t, [3]);\n    %held = Mul(%state, %decay_w);\n"
        }
        false => "    %held = Identity(%state);\n",
    };
    step += "    %column = Unsqueeze(%kt, [3]);\n";
    step += match is_delta {
        true => {
            "    %parts = Mul(%held, %column);\n    %found = ReduceSum(%parts, [2], keepdims = 0);\n    \
             %missing = Sub(%vt, %found);\n    %new = Mul(%bt, %missing);\n"
        }
        false => "    %new = Identity(%vt);\n",
    };
    step += "    %row = Unsqueeze(%new, [2]);\n    %outer = Mul(%column, %row);\n    %next = Add(%held, %outer);\n    \
             %read = MatMul(%qt, %next);\n    %o = Mul(%read, %scale);\n    (%next, %o)\n";
    let params: Vec<String> = scanned.iter().map(|(name, _)| format!("%{name}")).collect();
    let values: Vec<String> = scanned.iter().map(|(_, value)| format!("%{value}")).collect();
    lines += &format!(
        "  (%after, %steps) = Scan(%before, {}, body = fn(%state, {}) {{\n{step}  }}, num_scan_inputs = {});\n  \
         %turned = Transpose(%steps, perm = [1, 0, 2, 3, 4]);\n  %o_single = Reshape(%turned, [0, 0, -1]);\n",
        values.join(", "),
        params.join(", "),
        scanned.len(),
    );
    lines += &cast("y", "o_single", single, elem);
    lines += &cast("present", "after", single, kept);
    body(call, &["query", "key", "value", "past", "decay", "beta"], &lines, &["y", "present"])
}
