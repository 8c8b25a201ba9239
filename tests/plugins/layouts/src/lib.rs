//! Operators with forms in different layouts: another operator, an attribute, and one that is not what it says; and with
//! properties that passes ask for.
#![forbid(unsafe_code)]

use relais_plugin_api::{
    ir::attr_kind,
    op::{AttrSchema, Axes, Exactness, Formal, FusionKind, Layout, OpCall, Precision, Required, TypeVar},
    prelude::*,
};

plugin! { description = "operators with layouts" }

const fn layout(value: &'static str) -> AttrSchema {
    AttrSchema { name: "data_layout", kind: attr_kind::STRING, required: Required::No, default: value }
}

/// Channels last only.
const LAST: &str = r#"def @PoolLast(%x) #[opset = {"": 13}] {
    %1 = Transpose(%x, perm = [0, 3, 1, 2]);
    %2 = GlobalAveragePool(%1);
    Transpose(%2, perm = [0, 2, 3, 1])
}"#;

/// A scale for each channel.
fn scaled(call: &OpCall<'_>) -> Result<String, OpError> {
    let text = match call.attrs().str("data_layout").unwrap_or("NCHW") {
        "NHWC" => "Mul(%x, %s)",
        "NCHW" => "%axes = const(int64, [1, 2]); %1 = Unsqueeze(%s, %axes); Mul(%x, %1)",
        _ => return Err(OpError::unsupported("the layout is not known")),
    };
    Ok(format!(r#"def @Scale(%x, %s) #[opset = {{"": 13}}] {{ {text} }}"#))
}

operators! {
    &[
        Operator::new("acme", "PoolLast", 1)
            .layouts(&[Layout::new("NHWC->NHWC"), Layout::new("NCHW->NCHW").of("GlobalAveragePool")])
            .body(LAST),
        Operator::new("acme", "Scale", 1)
            .inputs(2, 2)
            .attrs(&[layout("\"NCHW\"")])
            .layouts(&[
                Layout::new("NHWC,C->NHWC").attrs(&[layout("\"NHWC\"")]),
                Layout::new("NCHW,C->NCHW").attrs(&[layout("\"NCHW\"")]),
            ])
            .body_of(scaled),
        // Its other form is another operator.
        Operator::new("acme", "Untrue", 1)
            .layouts(&[Layout::new("NHWC->NHWC"), Layout::new("NCHW->NCHW").of("GlobalMaxPool")])
            .body(LAST_UNTRUE),
        Operator::new("acme", "Plain", 1).body(r#"def @Plain(%x) #[opset = {"": 13}] { Relu(%x) }"#),
        Operator::new("acme", "Bend", 1)
            .fusion(FusionKind::ELEMWISE)
            .takes(X)
            .gives(Y)
            .types(FLOATS)
            .exact(Exactness::Rounded)
            .properties(&[("acme.color", "red")])
            .body(r#"def @Bend(%x) #[opset = {"": 13}] { Relu(%x) }"#),
        Operator::new("acme", "Blend", 1)
            .inputs(2, 2)
            .axes(Axes::Broadcast)
            .body(r#"def @Blend(%x, %y) #[opset = {"": 13}] { %1 = Relu(%x); Add(%1, %y) }"#),
        Operator::new("acme", "Share", 1)
            .attrs(&[AttrSchema { name: "over", kind: attr_kind::INT, required: Required::No, default: "-1" }])
            .takes(X)
            .gives(Y)
            .types(FLOATS)
            .axes(Axes::along("over"))
            .precision(Precision::Keep("its shares are small"))
            .body(r#"def @Share(%x) #[opset = {"": 13}] { Softmax(%x, axis = $over: int) }"#),
    ]
}

const X: &[Formal] = &[Formal::single("X", "T")];
const Y: &[Formal] = &[Formal::single("Y", "T")];
const FLOATS: &[TypeVar] = &[TypeVar::new("T", &[ElemType::FLOAT, ElemType::FLOAT16])];

const LAST_UNTRUE: &str = r#"def @Untrue(%x) #[opset = {"": 13}] {
    %1 = Transpose(%x, perm = [0, 3, 1, 2]);
    %2 = GlobalAveragePool(%1);
    Transpose(%2, perm = [0, 2, 3, 1])
}"#;
