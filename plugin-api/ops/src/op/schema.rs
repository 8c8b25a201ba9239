//! An operator's record, as used to check calls of it.

use super::{
    FusionKind, LayoutFacts,
    attr::AttrFacts,
    properties::{Axes, Exactness, Precision, property},
};
use crate::op::tags::{formal_kind, formal_tag, op_flag, op_tag, property_tag, type_var_tag};
use crate::request::{ArgRec, CallValue};
use relais_ir::diagnostics::PassError;
use relais_ir::{wire::Fields, *};
use smallvec::SmallVec;
use std::fmt;

/// How many arguments, results and which attributes an operator takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpSchema {
    /// Fewest and most arguments; `u16::MAX` is any number.
    pub inputs: (u16, u16),
    /// Fewest and most results.
    pub outputs: (u16, u16),
    /// The attributes.
    pub attrs: Vec<AttrFacts>,
    /// The formal inputs; none when the record says nothing of them.
    pub formal_inputs: Vec<FormalFacts>,
    /// The formal results; none when the record says nothing of them.
    pub formal_outputs: Vec<FormalFacts>,
    /// The type variables of formal inputs and results.
    pub types: Vec<TypeVarFacts>,
    /// Whether the first two arguments can change places.
    pub is_commutative: bool,
    /// A function in the text form that computes the same with other operators; empty when there is none.
    pub body: String,
    /// Whether it makes the kernels of its calls.
    pub has_kernel: bool,
    /// The forms of calls in different layouts, the best one first.
    pub layouts: Vec<LayoutFacts>,
    /// How many multiply-accumulates a call takes, for [`Macs::of_call`](super::Macs::of_call); empty when nothing is said.
    pub macs: String,
    /// The fusion kind.
    pub fusion: FusionKind,
    /// Its properties, for passes that ask: name and value, each name once.
    pub properties: Vec<(String, String)>,
}

/// A formal input or result of an operator's record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FormalFacts {
    /// Name.
    pub name: String,
    /// One of [`formal_kind`].
    pub kind: u8,
    /// The name of its type variable.
    pub var: String,
}

/// A type variable of an operator's record. One that allows nothing allows everything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TypeVarFacts {
    /// Name.
    pub name: String,
    /// Element types of tensors.
    pub tensors: Vec<ElemType>,
    /// Element types of tensors in sequences.
    pub sequences: Vec<ElemType>,
    /// Element types of optional tensors.
    pub optionals: Vec<ElemType>,
    /// Element types of tensors in optional sequences.
    pub optional_sequences: Vec<ElemType>,
    /// Other types, as ONNX writes them.
    pub others: Vec<String>,
}

/// A way in which a call does not fit its operator's record. The number is that of the diagnostic code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum CallRule {
    /// It has too few arguments, or one that must be present is absent.
    TooFewInputs,
    /// It has too many arguments.
    TooManyInputs,
    /// It has more results than the operator.
    Outputs,
    /// An attribute that the operator does not have.
    UnknownAttr,
    /// An attribute of another kind.
    AttrKind,
    /// An attribute that must be given is not.
    MissingAttr,
    /// Two attributes have one name.
    DuplicateAttr,
    /// The type relation refuses the arguments.
    Types,
    /// The operator does not exist, in a domain that is described completely.
    UnknownOperator,
    /// A function of the module is called with arguments that it does not accept, or for results that it does not have.
    Callee,
    /// An argument's elements are of a type that its type variable does not allow.
    ElemType,
    /// Two arguments of one type variable have elements of different types.
    TypeVar,
    /// The operator's verifier refuses it.
    Verifier,
    /// An attribute refers to one that the function does not have.
    Reference,
}

impl CallRule {
    /// The code of diagnostics about it.
    pub const fn code(self) -> &'static str {
        match self {
            Self::TooFewInputs => "M001",
            Self::TooManyInputs => "M002",
            Self::Outputs => "M003",
            Self::UnknownAttr => "M004",
            Self::AttrKind => "M005",
            Self::MissingAttr => "M006",
            Self::DuplicateAttr => "M007",
            Self::Types => "M008",
            Self::UnknownOperator => "M009",
            Self::Callee => "M010",
            Self::ElemType => "M011",
            Self::TypeVar => "M012",
            Self::Verifier => "M013",
            Self::Reference => "M014",
        }
    }
}

/// An error in a call.
#[derive(Clone, Debug)]
pub struct CallFault {
    /// The rule that it breaks.
    pub rule: CallRule,
    /// The error, to be printed after "`Conv`: …".
    pub message: String,
    /// The failure of the operator's plugin, if it is at fault and not the call.
    pub broken: Option<PassError>,
}

impl CallFault {
    /// A fault of the call.
    pub fn new(rule: CallRule, message: impl fmt::Display) -> Self {
        Self { rule, message: message.to_string(), broken: None }
    }
}

impl AttrDefaults for OpSchema {
    fn value(&self, name: &str) -> Option<AttrDefault> {
        self.attr(name)?.default_value()
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.attr(name)?.default_str()
    }
}

impl OpSchema {
    /// Reads the fields of a record; a malformed field keeps the cautious value.
    pub fn read(fields: &[u8]) -> Self {
        let mut schema = Self {
            inputs: (0, u16::MAX),
            outputs: (0, u16::MAX),
            attrs: Vec::new(),
            formal_inputs: Vec::new(),
            formal_outputs: Vec::new(),
            types: Vec::new(),
            is_commutative: false,
            body: String::new(),
            has_kernel: false,
            layouts: Vec::new(),
            macs: String::new(),
            fusion: FusionKind::OPAQUE,
            properties: Vec::new(),
        };
        let pair = |pair: u32| (pair as u16, (pair >> 16) as u16);
        for field in Fields::new(fields).map_while(Result::ok) {
            match field.tag {
                op_tag::INPUTS => schema.inputs = field.u32().map_or(schema.inputs, pair),
                op_tag::OUTPUTS => schema.outputs = field.u32().map_or(schema.outputs, pair),
                op_tag::ATTR => schema.attrs.push(AttrFacts::read(field.bytes)),
                op_tag::INPUT => schema.formal_inputs.push(FormalFacts::read(field.bytes)),
                op_tag::OUTPUT => schema.formal_outputs.push(FormalFacts::read(field.bytes)),
                op_tag::TYPE_VAR => schema.types.push(TypeVarFacts::read(field.bytes)),
                op_tag::BODY => schema.body = field.text().unwrap_or_default().to_owned(),
                op_tag::MACS => schema.macs = field.text().unwrap_or_default().to_owned(),
                op_tag::FUSION => schema.fusion = field.u8().map_or(FusionKind::OPAQUE, FusionKind),
                op_tag::PROPERTY => schema.read_property(field.bytes),
                op_tag::LAYOUT => schema.layouts.push(LayoutFacts::read(field.bytes)),
                op_tag::FLAGS => {
                    let has = |flag| field.u32().is_ok_and(|flags| flags & flag != 0);
                    (schema.is_commutative, schema.has_kernel) = (has(op_flag::COMMUTATIVE), has(op_flag::COMPUTE));
                }
                _ => {}
            }
        }
        schema
    }

    /// Whether two versions of an operator take the same arguments and attributes, of whatever element types.
    pub fn is_same_but_for_types(&self, other: &Self) -> bool {
        let formals = |all: &[FormalFacts]| all.iter().map(|it| (it.kind, it.var.clone())).collect::<Vec<_>>();
        (self.inputs, self.outputs) == (other.inputs, other.outputs)
            && self.attrs == other.attrs
            && formals(&self.formal_inputs) == formals(&other.formal_inputs)
            && formals(&self.formal_outputs) == formals(&other.formal_outputs)
    }

    fn read_property(&mut self, fields: &[u8]) {
        let (mut name, mut value) = ("", "");
        for field in Fields::new(fields).map_while(Result::ok) {
            match field.tag {
                property_tag::NAME => name = field.text().unwrap_or_default(),
                property_tag::VALUE => value = field.text().unwrap_or_default(),
                _ => {}
            }
        }
        self.properties.retain(|(known, _)| known != name);
        if !name.is_empty() && !value.is_empty() {
            self.properties.push((name.to_owned(), value.to_owned()));
        }
    }

    /// The value of a property, as the record states it.
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// How calls treat the axes of their values, by the property or the fusion kind; `None` if nothing is known of it.
    pub fn axes(&self) -> Option<Axes<'_>> {
        match self.property(property::AXES) {
            Some(axes) => Axes::parse(axes),
            None => Axes::of_fusion(self.fusion, self.inputs.1),
        }
    }

    /// For which element types every runtime computes the same bits.
    pub fn exactness(&self) -> Exactness {
        self.property(property::EXACT).and_then(Exactness::parse).unwrap_or(Exactness::Never)
    }

    /// The precision of calls where a pass lowers it; `None` if they follow their arguments.
    pub fn precision(&self) -> Option<Precision<'_>> {
        self.property(property::PRECISION).and_then(Precision::parse)
    }

    /// The attribute of a name.
    pub fn attr(&self, name: &str) -> Option<&AttrFacts> {
        self.attrs.iter().find(|attr| attr.name == name)
    }

    /// Checks a call with that many results (`None` is one that is not a tuple) against the record.
    ///
    /// # Errors
    /// Returns the first mismatch.
    pub fn check(&self, call: &CallValue<'_>, n_results: Option<usize>) -> Result<(), CallFault> {
        let (fewest, most) = (usize::from(self.inputs.0), usize::from(self.inputs.1));
        let n_args = call.args.len();
        if n_args < fewest {
            return Err(CallFault::new(
                CallRule::TooFewInputs,
                format_args!("it has {n_args} inputs and needs at least {fewest}"),
            ));
        }
        if self.inputs.1 != u16::MAX && n_args > most {
            return Err(CallFault::new(
                CallRule::TooManyInputs,
                format_args!("it has {n_args} inputs and takes at most {most}"),
            ));
        }
        let is_single =
            |index: usize| self.formal_input(index).is_some_and(|formal| formal.kind == formal_kind::SINGLE);
        let absent = call.args.iter().position(|arg| arg.present == 0);
        if let Some(index) = absent.filter(|&index| is_single(index)) {
            let name = self.formal_input(index).map_or("", |formal| &formal.name);
            let message = format_args!("its input {index} (`{name}`) is absent, and must be given");
            return Err(CallFault::new(CallRule::TooFewInputs, message));
        }
        let n_results = n_results.unwrap_or(1);
        if self.outputs.1 != u16::MAX && n_results > usize::from(self.outputs.1) {
            return Err(CallFault::new(
                CallRule::Outputs,
                format_args!("it has {n_results} results where the operator gives at most {}", self.outputs.1),
            ));
        }
        self.check_attrs(call)?;
        let elem = |arg: &ArgRec<'_>| call.types_of.ty(arg.ty).elem().filter(|_| arg.present != 0);
        self.check_elems(call.args.iter().map(elem))
    }

    /// Returns the formal input that argument `index` is for.
    pub fn formal_input(&self, index: usize) -> Option<&FormalFacts> {
        let is_many = |formal: &&FormalFacts| matches!(formal.kind, formal_kind::VARIADIC | formal_kind::MIXED);
        self.formal_inputs.get(index).or_else(|| self.formal_inputs.last().filter(is_many))
    }

    /// Returns the type variable of a name.
    pub fn type_var(&self, name: &str) -> Option<&TypeVarFacts> {
        self.types.iter().find(|var| var.name == name)
    }

    /// Holds the element types of arguments, as far as they are known, against the type variables.
    pub(crate) fn check_elems(&self, elems: impl Iterator<Item = Option<ElemType>>) -> Result<(), CallFault> {
        // A variable, the element type that it stands for, and the argument that said so.
        let mut bound: SmallVec<[(&str, ElemType, usize); 4]> = SmallVec::new();
        for (index, elem) in elems.enumerate() {
            let Some(elem) = elem else { continue };
            let Some(formal) = self.formal_input(index).filter(|_| elem != ElemType::UNKNOWN) else { continue };
            // Of a later version: it may mean anything.
            let Some(var) = self.type_var(&formal.var).filter(|_| formal.kind <= formal_kind::MIXED) else { continue };
            if !var.allows(elem) {
                let wanted: Vec<String> = var.tensors.iter().map(ElemType::to_string).collect();
                let wanted = if wanted.is_empty() { "no tensor".to_owned() } else { wanted.join(", ") };
                let message = format_args!(
                    "its input {index} (`{}`) has elements of type {elem}, and takes {wanted}",
                    formal.name
                );
                return Err(CallFault::new(CallRule::ElemType, message));
            }
            if formal.kind == formal_kind::MIXED {
                continue;
            }
            match bound.iter().find(|(name, ..)| *name == formal.var) {
                Some(&(name, other, at)) if other != elem => {
                    let message = format_args!(
                        "its inputs {at} and {index} are both of type `{name}`, and have elements of type {other} and {elem}"
                    );
                    return Err(CallFault::new(CallRule::TypeVar, message));
                }
                Some(_) => {}
                None => bound.push((&formal.var, elem, index)),
            }
        }
        Ok(())
    }

    fn check_attrs(&self, call: &CallValue<'_>) -> Result<(), CallFault> {
        let f = call.attrs_of;
        let given = || call.attrs.iter().filter(|rec| rec.flags & attr_flag::META == 0);
        let mut n_required = 0;
        for (at, rec) in given().enumerate() {
            let name = f.str(rec.name);
            if given().take(at).any(|other| f.bytes(other.name) == name.as_bytes()) {
                let message = format_args!("attribute `{name}` is given twice");
                return Err(CallFault::new(CallRule::DuplicateAttr, message));
            }
            let Some(attr) = self.attr(name) else {
                let known: Vec<&str> = self.attrs.iter().map(|attr| attr.name.as_str()).collect();
                let help = match relais_words::nearest(name, known.iter().copied()) {
                    Some(nearest) => format!("did you mean `{nearest}`?"),
                    None if known.is_empty() => "it has none".to_owned(),
                    None => format!("it has {}", known.join(", ")),
                };
                let message = format_args!("it has no attribute `{name}`: {help}");
                return Err(CallFault::new(CallRule::UnknownAttr, message));
            };
            n_required += usize::from(attr.is_required);
            let kind = if rec.kind == attr_kind::REF { rec.b as u8 } else { rec.kind };
            // A value that only the reader of a file understands may be of any kind.
            if kind != attr.kind && kind != attr_kind::RAW && attr.kind != 0 {
                let message = format_args!(
                    "attribute `{name}` is of kind `{}` where `{}` is wanted",
                    attr_kind::name(kind),
                    attr_kind::name(attr.kind)
                );
                return Err(CallFault::new(CallRule::AttrKind, message));
            }
        }
        if n_required < self.attrs.iter().filter(|attr| attr.is_required).count() {
            let is_given = |attr: &AttrFacts| given().any(|rec| f.bytes(rec.name) == attr.name.as_bytes());
            let missing = self.attrs.iter().find(|attr| attr.is_required && !is_given(attr));
            let missing = missing.map_or("?", |attr| attr.name.as_str());
            let message = format_args!("attribute `{missing}` must be given");
            return Err(CallFault::new(CallRule::MissingAttr, message));
        }
        Ok(())
    }
}

impl FormalFacts {
    fn read(fields: &[u8]) -> Self {
        let mut formal = Self::default();
        for field in Fields::new(fields).map_while(Result::ok) {
            let text = |old: String| field.text().map_or(old, str::to_owned);
            match field.tag {
                formal_tag::NAME => formal.name = text(formal.name),
                // One that cannot be parsed is ignored.
                formal_tag::KIND => formal.kind = field.u8().unwrap_or(u8::MAX),
                formal_tag::TYPE_VAR => formal.var = text(formal.var),
                _ => {}
            }
        }
        formal
    }
}

impl TypeVarFacts {
    fn read(fields: &[u8]) -> Self {
        let mut var = Self::default();
        for field in Fields::new(fields).map_while(Result::ok) {
            let elems = || field.bytes.iter().map(|&elem| ElemType(elem)).collect();
            match field.tag {
                type_var_tag::NAME => var.name = field.text().map_or(var.name, str::to_owned),
                type_var_tag::TENSORS => var.tensors = elems(),
                type_var_tag::SEQUENCES => var.sequences = elems(),
                type_var_tag::OPTIONALS => var.optionals = elems(),
                type_var_tag::OPTIONAL_SEQUENCES => var.optional_sequences = elems(),
                type_var_tag::OTHER => var.others.extend(field.text().ok().map(str::to_owned)),
                _ => {}
            }
        }
        var
    }

    /// Whether tensors of these elements are among what it allows.
    pub fn allows(&self, elem: ElemType) -> bool {
        let Self { name: _, tensors, sequences, optionals, optional_sequences, others } = self;
        let is_open = [tensors, sequences, optionals, optional_sequences].iter().all(|elems| elems.is_empty());
        is_open && others.is_empty() || tensors.contains(&elem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        op::{AttrSchema, Formal, Operator, Required, TypeVar, record},
        request::CallParts,
    };
    use relais_ir::wire::Writer;

    const FLOATS: &[ElemType] = &[ElemType::FLOAT, ElemType::FLOAT16];
    const fn attr(name: &'static str, kind: u8, default: &'static str) -> AttrSchema {
        AttrSchema { name, kind, required: Required::No, default }
    }
    const OPERATOR: Operator = Operator::new("acme", "Pick", 1)
        .inputs(2, u16::MAX)
        .takes(&[Formal::single("X", "T"), Formal::optional("index", "I"), Formal::variadic("rest", "T")])
        .gives(&[Formal::single("Y", "T")])
        .types(&[TypeVar::new("T", FLOATS).sequences(&[ElemType::STRING]), TypeVar::new("I", &[ElemType::INT64])])
        .commutative(true)
        .attrs(&[
            attr("alpha", attr_kind::FLOAT, "0.5"),
            attr("axis", attr_kind::INT, "-1"),
            attr("mode", attr_kind::STRING, "\"linear\""),
            attr("steps", attr_kind::INTS, "[1, 2]"),
            attr("scales", attr_kind::FLOATS, "[]"),
            attr("names", attr_kind::STRINGS, "[\"a\", \"b\"]"),
            attr("none", attr_kind::INT, ""),
            attr("wrong", attr_kind::INT, "much"),
        ]);
    const MIXED: Operator = Operator::new("acme", "Any", 1)
        .inputs(0, u16::MAX)
        .takes(&[Formal::mixed("all", "V")])
        .types(&[TypeVar::new("V", &[])]);

    const AXIS: AttrSchema = AttrSchema { name: "axis", kind: attr_kind::INT, required: Required::Yes, default: "" };
    const SMALL: Operator = Operator::new("acme", "Small", 1).inputs(1, 2).outputs(1, 2).attrs(&[AXIS]);

    fn schema(operator: Operator) -> OpSchema {
        let mut bytes = [0; 1024];
        let mut fields = Writer::filling(&mut bytes);
        record::operator(&mut fields, &operator);
        let len = fields.len();
        OpSchema::read(&bytes[..len])
    }

    /// Returns the fault of a call with arguments of these element types; `None` is an absent argument.
    fn fault(schema: &OpSchema, elems: &[Option<ElemType>]) -> Option<(CallRule, String)> {
        let mut f = Function::new();
        let mut args = Vec::new();
        for (index, elem) in elems.iter().enumerate() {
            let Some(elem) = *elem else {
                args.push(NodeId::ABSENT);
                continue;
            };
            let ty = if elem == ElemType::UNKNOWN { TypeId::UNKNOWN } else { f.tensor_type(elem, &[]) };
            args.push(f.add_var(&format!("x{index}"), ty));
        }
        let op = f.add_op("acme", "Pick", "", 0);
        let call = f.add_call(op, &args);
        let found = schema.check(&CallParts::new(&f, call).value(op, 1), None);
        found.err().map(|fault| (fault.rule, fault.message))
    }

    /// Returns the fault of a call of `SMALL`, with its code.
    fn small_fault(n_args: usize, n_results: Option<u16>, attrs: &[Attr]) -> Option<String> {
        let mut f = Function::new();
        let args: Vec<NodeId> = (0..n_args).map(|index| f.add_var(&format!("x{index}"), TypeId::UNKNOWN)).collect();
        let op = f.add_op("acme", "Small", "", 0);
        let callee = f.op(op).node;
        let call = f.add_call_with(callee, &args, &[], n_results);
        f.set_attrs(call, attrs);
        let found = schema(SMALL).check(&CallParts::new(&f, call).value(op, 1), f.n_results(call));
        found.err().map(|fault| format!("{}: {}", fault.rule.code(), fault.message))
    }

    #[test]
    fn formal_inputs_and_results_read_back() {
        let schema = schema(OPERATOR);
        let formals: Vec<(&str, u8, &str)> =
            schema.formal_inputs.iter().map(|formal| (&*formal.name, formal.kind, &*formal.var)).collect();
        assert_eq!(
            formals,
            [
                ("X", formal_kind::SINGLE, "T"),
                ("index", formal_kind::OPTIONAL, "I"),
                ("rest", formal_kind::VARIADIC, "T")
            ]
        );
        assert_eq!(schema.formal_outputs.len(), 1);
        let names = |at| schema.formal_input(at).map(|formal| formal.name.as_str());
        assert_eq!([0, 1, 2, 9].map(names), [Some("X"), Some("index"), Some("rest"), Some("rest")]);
        assert_eq!(schema.type_var("T").unwrap().tensors, FLOATS);
        assert_eq!(schema.type_var("T").unwrap().sequences, [ElemType::STRING]);
        assert!(schema.is_commutative && schema.type_var("U").is_none());
        let plain = self::schema(Operator::new("acme", "Plain", 1));
        assert!(!plain.is_commutative && plain.formal_inputs.is_empty() && plain.formal_input(0).is_none());
    }

    #[test]
    fn c05_a_call_has_as_many_arguments_and_results_as_its_operator_takes_and_gives() {
        let axis = [Attr::new("axis", 1)];
        for (n_args, n_results) in [(1, None), (2, Some(1)), (2, Some(2))] {
            assert_eq!(small_fault(n_args, n_results, &axis), None, "{n_args} arguments, {n_results:?} results");
        }
        let says = |n_args, n_results| small_fault(n_args, n_results, &axis).unwrap();
        assert_eq!(says(0, None), "M001: it has 0 inputs and needs at least 1");
        assert_eq!(says(3, None), "M002: it has 3 inputs and takes at most 2");
        assert_eq!(says(1, Some(3)), "M003: it has 3 results where the operator gives at most 2");
    }

    #[test]
    fn c05_attributes_are_those_of_the_operator() {
        let says = |attrs: &[Attr]| small_fault(1, None, attrs).unwrap();
        assert_eq!(says(&[Attr::new("axes", 1)]), "M004: it has no attribute `axes`: did you mean `axis`?");
        let kind = "M005: attribute `axis` is of kind `string` where `int` is wanted";
        assert_eq!(says(&[Attr::new("axis", "1")]), kind);
        assert_eq!(says(&[]), "M006: attribute `axis` must be given");
        let twice = [Attr::new("axis", 1), Attr::new("axis", 1)];
        assert_eq!(says(&twice), "M007: attribute `axis` is given twice");
    }

    #[test]
    fn c05_an_argument_is_of_an_element_type_that_its_variable_allows() {
        let schema = schema(OPERATOR);
        let (float, half, int) = (Some(ElemType::FLOAT), Some(ElemType::FLOAT16), Some(ElemType::INT64));
        for good in [vec![float, int], vec![half, None, half, half], vec![float, Some(ElemType::UNKNOWN)]] {
            assert_eq!(fault(&schema, &good), None, "{good:?}");
        }
        let wrong = fault(&schema, &[float, float]).unwrap();
        let says = "its input 1 (`index`) has elements of type float32, and takes int64";
        assert_eq!((wrong.0.code(), wrong.1.as_str()), ("M011", says));
        let wrong = fault(&schema, &[float, None, float, Some(ElemType::BOOL)]).unwrap();
        let says = "its input 3 (`rest`) has elements of type bool, and takes float32, float16";
        assert_eq!((wrong.0.code(), wrong.1.as_str()), ("M011", says));
    }

    #[test]
    fn c05_arguments_of_one_variable_have_elements_of_one_type() {
        let schema = schema(OPERATOR);
        let (float, half) = (Some(ElemType::FLOAT), Some(ElemType::FLOAT16));
        let wrong = fault(&schema, &[float, None, float, half]).unwrap();
        let says = "its inputs 0 and 3 are both of type `T`, and have elements of type float32 and float16";
        assert_eq!((wrong.0.code(), wrong.1.as_str()), ("M012", says));
        // Where each is of a type of its own, or nothing is said, anything goes.
        assert_eq!(fault(&self::schema(MIXED), &[float, half, Some(ElemType::BOOL)]), None);
        let silent = self::schema(Operator::new("acme", "Plain", 1).inputs(0, 9));
        assert_eq!(fault(&silent, &[float, half]), None);
        // A kind of a later version says nothing.
        let mut later = schema;
        later.formal_inputs[2].kind = formal_kind::MIXED + 1;
        assert_eq!(fault(&later, &[float, None, half]), None);
    }

    #[test]
    fn defaults_are_values() {
        let schema = schema(OPERATOR);
        let value = |name: &str| schema.attr(name).unwrap().default_value();
        assert_eq!(value("alpha"), Some(AttrDefault::Float(0.5)));
        assert_eq!(value("axis"), Some(AttrDefault::Int(-1)));
        assert_eq!(value("mode"), Some(AttrDefault::String("linear".into())));
        assert_eq!(value("steps"), Some(AttrDefault::Ints(vec![1, 2])));
        assert_eq!(value("scales"), Some(AttrDefault::Floats(Vec::new())));
        assert_eq!(value("names"), Some(AttrDefault::Strings(vec!["a".into(), "b".into()])));
        assert_eq!((value("none"), value("wrong")), (None, None));
    }
}
