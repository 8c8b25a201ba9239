//! The versions of each operator in the ONNX standard: inputs, results, attributes and types.
//!
//! Made by `plugins/operators/schemas.py` from the `onnx` package.

use super::terms::*;
use relais_plugin_api::{
    ir::ElemType,
    op::{Operator, TypeVar},
};

#[rustfmt::skip]
const T0: TypeVar = TypeVar::new("", E0);
#[rustfmt::skip]
const T1: TypeVar = TypeVar::new("", E1);
#[rustfmt::skip]
const T2: TypeVar = TypeVar::new("", E2);
#[rustfmt::skip]
const T3: TypeVar = TypeVar::new("", E3);
#[rustfmt::skip]
const T4: TypeVar = TypeVar::new("", E4);
#[rustfmt::skip]
const T5: TypeVar = TypeVar::new("", E5);
#[rustfmt::skip]
const T6: TypeVar = TypeVar::new("", E6);
#[rustfmt::skip]
const T7: TypeVar = TypeVar::new("", E7);
#[rustfmt::skip]
const T8: TypeVar = TypeVar::new("", E8);
#[rustfmt::skip]
const T9: TypeVar = TypeVar::new("", E9);
#[rustfmt::skip]
const T10: TypeVar = TypeVar::new("", E10);
#[rustfmt::skip]
const T11: TypeVar = TypeVar::new("", E11);
#[rustfmt::skip]
const T12: TypeVar = TypeVar::new("", E12);
#[rustfmt::skip]
const T13: TypeVar = TypeVar::new("", E13);
#[rustfmt::skip]
const T14: TypeVar = TypeVar::new("", E14);
#[rustfmt::skip]
const T15: TypeVar = TypeVar::new("", E15);
#[rustfmt::skip]
const T16: TypeVar = TypeVar::new("", E16);
#[rustfmt::skip]
const T17: TypeVar = TypeVar::new("", E17);
#[rustfmt::skip]
const T18: TypeVar = TypeVar::new("", E18);
#[rustfmt::skip]
const T19: TypeVar = TypeVar::new("", E19);
#[rustfmt::skip]
const T20: TypeVar = TypeVar::new("", E20);
#[rustfmt::skip]
const T21: TypeVar = TypeVar::new("", E21);
#[rustfmt::skip]
const T22: TypeVar = TypeVar::new("", E22);
#[rustfmt::skip]
const T23: TypeVar = TypeVar::new("", E23);
#[rustfmt::skip]
const T24: TypeVar = TypeVar::new("", E24);
#[rustfmt::skip]
const T25: TypeVar = TypeVar::new("", E25);
#[rustfmt::skip]
const T26: TypeVar = TypeVar::new("", E26).sequences(E25);
#[rustfmt::skip]
const T27: TypeVar = TypeVar::new("", E27);
#[rustfmt::skip]
const T28: TypeVar = TypeVar::new("", E28);
#[rustfmt::skip]
const T29: TypeVar = TypeVar::new("", E29);
#[rustfmt::skip]
const T30: TypeVar = TypeVar::new("", E30);
#[rustfmt::skip]
const T31: TypeVar = TypeVar::new("", E31);
#[rustfmt::skip]
const T32: TypeVar = TypeVar::new("", E32);
#[rustfmt::skip]
const T33: TypeVar = TypeVar::new("", E33);
#[rustfmt::skip]
const T34: TypeVar = TypeVar::new("", E34);
#[rustfmt::skip]
const T35: TypeVar = TypeVar::new("", E35);
#[rustfmt::skip]
const T36: TypeVar = TypeVar::new("", E36);
#[rustfmt::skip]
const T37: TypeVar = TypeVar::new("", E37);
#[rustfmt::skip]
const T38: TypeVar = TypeVar::new("", E38);
#[rustfmt::skip]
const T39: TypeVar = TypeVar::new("", E39);
#[rustfmt::skip]
const T40: TypeVar = TypeVar::new("", E40);
#[rustfmt::skip]
const T41: TypeVar = TypeVar::new("", E41);
#[rustfmt::skip]
const T42: TypeVar = TypeVar::new("", E42);
#[rustfmt::skip]
const T43: TypeVar = TypeVar::new("", E43);
#[rustfmt::skip]
const T44: TypeVar = TypeVar::new("", E44);
#[rustfmt::skip]
const T45: TypeVar = TypeVar::new("", E45);
#[rustfmt::skip]
const T46: TypeVar = TypeVar::new("", E46);
#[rustfmt::skip]
const T47: TypeVar = TypeVar::new("", E47);
#[rustfmt::skip]
const T48: TypeVar = TypeVar::new("", E48);
#[rustfmt::skip]
const T49: TypeVar = TypeVar::new("", E49);
#[rustfmt::skip]
const T50: TypeVar = TypeVar::new("", E24).sequences(E25);
#[rustfmt::skip]
const T51: TypeVar = TypeVar::new("", E24).sequences(E25).optionals(E25).optional_sequences(E25);
#[rustfmt::skip]
const T52: TypeVar = TypeVar::new("", E27).sequences(E25).optionals(E25).optional_sequences(E25);
#[rustfmt::skip]
const T53: TypeVar = TypeVar::new("", E28).sequences(E25).optionals(E25).optional_sequences(E25);
#[rustfmt::skip]
const T54: TypeVar = TypeVar::new("", E29).sequences(E25).optionals(E25).optional_sequences(E25);
#[rustfmt::skip]
const T55: TypeVar = TypeVar::new("", E30).sequences(E25).optionals(E25).optional_sequences(E25);
#[rustfmt::skip]
const T56: TypeVar = TypeVar::new("", E31).sequences(E25).optionals(E25).optional_sequences(E25);
#[rustfmt::skip]
const T57: TypeVar = TypeVar::new("", E25).sequences(E25);
#[rustfmt::skip]
const T58: TypeVar = TypeVar::new("", E24).sequences(E24).optionals(E24).optional_sequences(E24);
#[rustfmt::skip]
const T59: TypeVar = TypeVar::new("", E27).sequences(E27).optionals(E27).optional_sequences(E24);
#[rustfmt::skip]
const T60: TypeVar = TypeVar::new("", E28).sequences(E28).optionals(E28).optional_sequences(E24);
#[rustfmt::skip]
const T61: TypeVar = TypeVar::new("", E29).sequences(E29).optionals(E29).optional_sequences(E24);
#[rustfmt::skip]
const T62: TypeVar = TypeVar::new("", E30).sequences(E30).optionals(E30).optional_sequences(E24);
#[rustfmt::skip]
const T63: TypeVar = TypeVar::new("", E31).sequences(E31).optionals(E31).optional_sequences(E24);
#[rustfmt::skip]
const T64: TypeVar = TypeVar::new("", E50);
#[rustfmt::skip]
const T65: TypeVar = TypeVar::new("", E51);
#[rustfmt::skip]
const T66: TypeVar = TypeVar::new("", E52);
#[rustfmt::skip]
const T67: TypeVar = TypeVar::new("", E53);
#[rustfmt::skip]
const T68: TypeVar = TypeVar::new("", E54);
#[rustfmt::skip]
const T69: TypeVar = TypeVar::new("", E55);
#[rustfmt::skip]
const T70: TypeVar = TypeVar::new("", E26).optionals(E25).optional_sequences(E25);
#[rustfmt::skip]
const T71: TypeVar = TypeVar::new("", E56).sequences(E56);
#[rustfmt::skip]
const T72: TypeVar = TypeVar::new("", E26).optionals(E56).optional_sequences(E56);
#[rustfmt::skip]
const T73: TypeVar = TypeVar::new("", E25).sequences(E25).optionals(E25).optional_sequences(E25);
#[rustfmt::skip]
const T74: TypeVar = TypeVar::new("", E56).sequences(E56).optionals(E56).optional_sequences(E56);
#[rustfmt::skip]
const T75: TypeVar = TypeVar::new("", E57);
#[rustfmt::skip]
const T76: TypeVar = TypeVar::new("", E58);
#[rustfmt::skip]
const T77: TypeVar = TypeVar::new("", E59);
#[rustfmt::skip]
const T78: TypeVar = TypeVar::new("", E60);
#[rustfmt::skip]
const T79: TypeVar = TypeVar::new("", E61);
#[rustfmt::skip]
const T80: TypeVar = TypeVar::new("", E62);
#[rustfmt::skip]
const T81: TypeVar = TypeVar::new("", E63);
#[rustfmt::skip]
const T82: TypeVar = TypeVar::new("", E64);
#[rustfmt::skip]
const T83: TypeVar = TypeVar::new("", E65);
#[rustfmt::skip]
const T84: TypeVar = TypeVar::new("", E66);
#[rustfmt::skip]
const T85: TypeVar = TypeVar::new("", E67);
#[rustfmt::skip]
const T86: TypeVar = TypeVar::new("", E68);
#[rustfmt::skip]
const T87: TypeVar = TypeVar::new("", E69);
#[rustfmt::skip]
const T88: TypeVar = TypeVar::new("", E70);
#[rustfmt::skip]
const T89: TypeVar = TypeVar::new("", E71);
#[rustfmt::skip]
const T90: TypeVar = TypeVar::new("", E72);
#[rustfmt::skip]
const T91: TypeVar = TypeVar::new("", E26).sequences(E24);
#[rustfmt::skip]
const T92: TypeVar = TypeVar::new("", E73);
#[rustfmt::skip]
const T93: TypeVar = TypeVar::new("", E74);
#[rustfmt::skip]
const T94: TypeVar = TypeVar::new("", E75);
#[rustfmt::skip]
const T95: TypeVar = TypeVar::new("", E76);
#[rustfmt::skip]
const T96: TypeVar = TypeVar::new("", E26).others(&["map(int64, float)", "map(int64, string)"]);
#[rustfmt::skip]
const T97: TypeVar = TypeVar::new("", E77);
#[rustfmt::skip]
const T98: TypeVar = TypeVar::new("", E78);
#[rustfmt::skip]
const T99: TypeVar = TypeVar::new("", E26).others(&["map(int64, double)", "map(int64, float)", "map(int64, string)", "map(string, double)", "map(string, float)", "map(string, int64)"]);
#[rustfmt::skip]
const T100: TypeVar = TypeVar::new("", E79);
#[rustfmt::skip]
const T101: TypeVar = TypeVar::new("", E80);
#[rustfmt::skip]
const T102: TypeVar = TypeVar::new("", E26).others(&["seq(map(int64, float))", "seq(map(string, float))"]);

#[rustfmt::skip]
const E0: &[ElemType] = &[ElemType(1), ElemType(10), ElemType(11)];
#[rustfmt::skip]
const E1: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(10), ElemType(11), ElemType(12), ElemType(13)];
#[rustfmt::skip]
const E2: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16)];
#[rustfmt::skip]
const E3: &[ElemType] = &[ElemType(1), ElemType(10), ElemType(11), ElemType(16)];
#[rustfmt::skip]
const E4: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(7), ElemType(10), ElemType(11), ElemType(12), ElemType(13)];
#[rustfmt::skip]
const E5: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(7), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16)];
#[rustfmt::skip]
const E6: &[ElemType] = &[ElemType(7)];
#[rustfmt::skip]
const E7: &[ElemType] = &[ElemType(9)];
#[rustfmt::skip]
const E8: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16)];
#[rustfmt::skip]
const E9: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(14), ElemType(15), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(24), ElemType(25), ElemType(26)];
#[rustfmt::skip]
const E10: &[ElemType] = &[ElemType(2), ElemType(4), ElemType(12), ElemType(13)];
#[rustfmt::skip]
const E11: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(12), ElemType(13)];
#[rustfmt::skip]
const E12: &[ElemType] = &[ElemType(6), ElemType(7)];
#[rustfmt::skip]
const E13: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13)];
#[rustfmt::skip]
const E14: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13)];
#[rustfmt::skip]
const E15: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16)];
#[rustfmt::skip]
const E16: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20)];
#[rustfmt::skip]
const E17: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22)];
#[rustfmt::skip]
const E18: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23)];
#[rustfmt::skip]
const E19: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(24)];
#[rustfmt::skip]
const E20: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(24), ElemType(25), ElemType(26)];
#[rustfmt::skip]
const E21: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(24), ElemType(25), ElemType(26), ElemType(27), ElemType(28)];
#[rustfmt::skip]
const E22: &[ElemType] = &[ElemType(1), ElemType(10), ElemType(16)];
#[rustfmt::skip]
const E23: &[ElemType] = &[ElemType(1)];
#[rustfmt::skip]
const E24: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(14), ElemType(15), ElemType(16)];
#[rustfmt::skip]
const E25: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(14), ElemType(15)];
#[rustfmt::skip]
const E26: &[ElemType] = &[];
#[rustfmt::skip]
const E27: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(14), ElemType(15), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20)];
#[rustfmt::skip]
const E28: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(14), ElemType(15), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22)];
#[rustfmt::skip]
const E29: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(14), ElemType(15), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23)];
#[rustfmt::skip]
const E30: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(14), ElemType(15), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(24)];
#[rustfmt::skip]
const E31: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(14), ElemType(15), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(24), ElemType(25), ElemType(26)];
#[rustfmt::skip]
const E32: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20)];
#[rustfmt::skip]
const E33: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22)];
#[rustfmt::skip]
const E34: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23)];
#[rustfmt::skip]
const E35: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(24)];
#[rustfmt::skip]
const E36: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(24), ElemType(25), ElemType(26)];
#[rustfmt::skip]
const E37: &[ElemType] = &[ElemType(2), ElemType(3)];
#[rustfmt::skip]
const E38: &[ElemType] = &[ElemType(6)];
#[rustfmt::skip]
const E39: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(7), ElemType(11), ElemType(12), ElemType(13)];
#[rustfmt::skip]
const E40: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(6)];
#[rustfmt::skip]
const E41: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(6), ElemType(17), ElemType(18), ElemType(19), ElemType(20)];
#[rustfmt::skip]
const E42: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22)];
#[rustfmt::skip]
const E43: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23)];
#[rustfmt::skip]
const E44: &[ElemType] = &[ElemType(1), ElemType(10), ElemType(16), ElemType(24)];
#[rustfmt::skip]
const E45: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(25), ElemType(26)];
#[rustfmt::skip]
const E46: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(25), ElemType(26), ElemType(27), ElemType(28)];
#[rustfmt::skip]
const E47: &[ElemType] = &[ElemType(1), ElemType(10), ElemType(11), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20)];
#[rustfmt::skip]
const E48: &[ElemType] = &[ElemType(2)];
#[rustfmt::skip]
const E49: &[ElemType] = &[ElemType(6), ElemType(7), ElemType(9)];
#[rustfmt::skip]
const E50: &[ElemType] = &[ElemType(1), ElemType(11)];
#[rustfmt::skip]
const E51: &[ElemType] = &[ElemType(1), ElemType(16)];
#[rustfmt::skip]
const E52: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(10), ElemType(11)];
#[rustfmt::skip]
const E53: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(10), ElemType(11), ElemType(16)];
#[rustfmt::skip]
const E54: &[ElemType] = &[ElemType(1), ElemType(3), ElemType(5), ElemType(6), ElemType(7), ElemType(10), ElemType(11)];
#[rustfmt::skip]
const E55: &[ElemType] = &[ElemType(1), ElemType(3), ElemType(5), ElemType(6), ElemType(7), ElemType(10), ElemType(11), ElemType(16)];
#[rustfmt::skip]
const E56: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(14), ElemType(15), ElemType(16), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(24), ElemType(25), ElemType(26), ElemType(27), ElemType(28)];
#[rustfmt::skip]
const E57: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(7), ElemType(10), ElemType(11)];
#[rustfmt::skip]
const E58: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(7), ElemType(10), ElemType(11), ElemType(16)];
#[rustfmt::skip]
const E59: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(17), ElemType(18), ElemType(19), ElemType(20)];
#[rustfmt::skip]
const E60: &[ElemType] = &[ElemType(1), ElemType(6)];
#[rustfmt::skip]
const E61: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(10), ElemType(16)];
#[rustfmt::skip]
const E62: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22)];
#[rustfmt::skip]
const E63: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23)];
#[rustfmt::skip]
const E64: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(10), ElemType(16), ElemType(24)];
#[rustfmt::skip]
const E65: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(25), ElemType(26)];
#[rustfmt::skip]
const E66: &[ElemType] = &[ElemType(2), ElemType(3), ElemType(4), ElemType(5), ElemType(17), ElemType(18), ElemType(19), ElemType(20), ElemType(21), ElemType(22), ElemType(23), ElemType(25), ElemType(26), ElemType(27), ElemType(28)];
#[rustfmt::skip]
const E67: &[ElemType] = &[ElemType(1), ElemType(5), ElemType(6), ElemType(7), ElemType(11)];
#[rustfmt::skip]
const E68: &[ElemType] = &[ElemType(1), ElemType(5), ElemType(6), ElemType(7), ElemType(10), ElemType(11), ElemType(16)];
#[rustfmt::skip]
const E69: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(6), ElemType(7), ElemType(10), ElemType(11), ElemType(12), ElemType(13)];
#[rustfmt::skip]
const E70: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(6), ElemType(7), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16)];
#[rustfmt::skip]
const E71: &[ElemType] = &[ElemType(1), ElemType(2), ElemType(3), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11), ElemType(12), ElemType(13), ElemType(16)];
#[rustfmt::skip]
const E72: &[ElemType] = &[ElemType(8)];
#[rustfmt::skip]
const E73: &[ElemType] = &[ElemType(6), ElemType(7), ElemType(8)];
#[rustfmt::skip]
const E74: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(7), ElemType(9), ElemType(10), ElemType(11)];
#[rustfmt::skip]
const E75: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(7), ElemType(8), ElemType(11)];
#[rustfmt::skip]
const E76: &[ElemType] = &[ElemType(1), ElemType(6), ElemType(7), ElemType(11)];
#[rustfmt::skip]
const E77: &[ElemType] = &[ElemType(1), ElemType(7), ElemType(8)];
#[rustfmt::skip]
const E78: &[ElemType] = &[ElemType(7), ElemType(8)];
#[rustfmt::skip]
const E79: &[ElemType] = &[ElemType(1), ElemType(7), ElemType(8), ElemType(11)];
#[rustfmt::skip]
const E80: &[ElemType] = &[ElemType(1), ElemType(5), ElemType(6), ElemType(7), ElemType(8), ElemType(11)];

/// Sorted by domain, name and version.
#[rustfmt::skip]
pub const ALL: &[Operator] = &[
    op("", "Abs", 1).attrs(&[optional(INTS, "consumed_inputs")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Abs", 6).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T1.named("T")]),
    op("", "Abs", 13).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T2.named("T")]),
    op("", "Acos", 7).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Acos", 22).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "Acosh", 9).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Acosh", 22).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "Add", 1).inputs(2, 2).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0"), optional(INTS, "consumed_inputs")]).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T0.named("T")]),
    op("", "Add", 6).inputs(2, 2).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T4.named("T")]),
    op("", "Add", 7).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T4.named("T")]),
    op("", "Add", 13).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T5.named("T")]),
    op("", "Add", 14).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T2.named("T")]),
    op("", "AffineGrid", 20).inputs(2, 2).attrs(&[default(INT, "align_corners", "0")]).takes(&[one("theta", "T1"), one("size", "T2")]).gives(&[one("grid", "T1")]).types(&[T3.named("T1"), T6.named("T2")]),
    op("", "And", 1).inputs(2, 2).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T7.named("T"), T7.named("T1")]),
    op("", "And", 7).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T7.named("T"), T7.named("T1")]),
    op("", "ArgMax", 1).attrs(&[default(INT, "axis", "0"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "tensor(int64)")]).types(&[T1.named("T"), T6.named("tensor(int64)")]),
    op("", "ArgMax", 11).attrs(&[default(INT, "axis", "0"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "tensor(int64)")]).types(&[T1.named("T"), T6.named("tensor(int64)")]),
    op("", "ArgMax", 12).attrs(&[default(INT, "axis", "0"), default(INT, "keepdims", "1"), default(INT, "select_last_index", "0")]).takes(&[one("data", "T")]).gives(&[one("reduced", "tensor(int64)")]).types(&[T1.named("T"), T6.named("tensor(int64)")]),
    op("", "ArgMax", 13).attrs(&[default(INT, "axis", "0"), default(INT, "keepdims", "1"), default(INT, "select_last_index", "0")]).takes(&[one("data", "T")]).gives(&[one("reduced", "tensor(int64)")]).types(&[T2.named("T"), T6.named("tensor(int64)")]),
    op("", "ArgMin", 1).attrs(&[default(INT, "axis", "0"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "tensor(int64)")]).types(&[T1.named("T"), T6.named("tensor(int64)")]),
    op("", "ArgMin", 11).attrs(&[default(INT, "axis", "0"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "tensor(int64)")]).types(&[T1.named("T"), T6.named("tensor(int64)")]),
    op("", "ArgMin", 12).attrs(&[default(INT, "axis", "0"), default(INT, "keepdims", "1"), default(INT, "select_last_index", "0")]).takes(&[one("data", "T")]).gives(&[one("reduced", "tensor(int64)")]).types(&[T1.named("T"), T6.named("tensor(int64)")]),
    op("", "ArgMin", 13).attrs(&[default(INT, "axis", "0"), default(INT, "keepdims", "1"), default(INT, "select_last_index", "0")]).takes(&[one("data", "T")]).gives(&[one("reduced", "tensor(int64)")]).types(&[T2.named("T"), T6.named("tensor(int64)")]),
    op("", "Asin", 7).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Asin", 22).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "Asinh", 9).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Asinh", 22).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "Atan", 7).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Atan", 22).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "Atanh", 9).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Atanh", 22).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "Attention", 23).inputs(3, 6).outputs(1, 4).attrs(&[default(INT, "is_causal", "0"), optional(INT, "kv_num_heads"), optional(INT, "q_num_heads"), default(INT, "qk_matmul_output_mode", "0"), optional(FLOAT, "scale"), default(FLOAT, "softcap", "0.0"), optional(INT, "softmax_precision")]).takes(&[one("Q", "T1"), one("K", "T1"), one("V", "T2"), may("attn_mask", "U"), may("past_key", "T1"), may("past_value", "T2")]).gives(&[one("Y", "T1"), may("present_key", "T1"), may("present_value", "T2"), may("qk_matmul_output", "T1")]).types(&[T3.named("T1"), T3.named("T2"), T8.named("U")]),
    op("", "Attention", 24).inputs(3, 7).outputs(1, 4).attrs(&[default(INT, "is_causal", "0"), optional(INT, "kv_num_heads"), optional(INT, "q_num_heads"), default(INT, "qk_matmul_output_mode", "0"), optional(FLOAT, "scale"), default(FLOAT, "softcap", "0.0"), optional(INT, "softmax_precision")]).takes(&[one("Q", "T1"), one("K", "T1"), one("V", "T2"), may("attn_mask", "U"), may("past_key", "T1"), may("past_value", "T2"), may("nonpad_kv_seqlen", "tensor(int64)")]).gives(&[one("Y", "T1"), may("present_key", "T1"), may("present_value", "T2"), may("qk_matmul_output", "T1")]).types(&[T3.named("T1"), T3.named("T2"), T8.named("U"), T6.named("tensor(int64)")]),
    op("", "Attention", 25).inputs(3, 7).outputs(1, 4).attrs(&[default(INT, "is_causal", "0"), optional(INT, "kv_num_heads"), default(INT, "left_window_size", "-1"), optional(INT, "q_num_heads"), default(INT, "qk_matmul_output_mode", "0"), default(INT, "right_window_size", "-1"), optional(FLOAT, "scale"), default(FLOAT, "softcap", "0.0"), optional(INT, "softmax_precision")]).takes(&[one("Q", "T1"), one("K", "T1"), one("V", "T2"), may("attn_mask", "U"), may("past_key", "T1"), may("past_value", "T2"), may("nonpad_kv_seqlen", "tensor(int64)")]).gives(&[one("Y", "T1"), may("present_key", "T1"), may("present_value", "T2"), may("qk_matmul_output", "T1")]).types(&[T3.named("T1"), T3.named("T2"), T8.named("U"), T6.named("tensor(int64)")]),
    op("", "AveragePool", 1).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), required(INTS, "kernel_shape"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "AveragePool", 7).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), default(INT, "count_include_pad", "0"), required(INTS, "kernel_shape"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "AveragePool", 10).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), default(INT, "ceil_mode", "0"), default(INT, "count_include_pad", "0"), required(INTS, "kernel_shape"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "AveragePool", 11).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), default(INT, "ceil_mode", "0"), default(INT, "count_include_pad", "0"), required(INTS, "kernel_shape"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "AveragePool", 19).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), default(INT, "ceil_mode", "0"), default(INT, "count_include_pad", "0"), optional(INTS, "dilations"), required(INTS, "kernel_shape"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "AveragePool", 22).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), default(INT, "ceil_mode", "0"), default(INT, "count_include_pad", "0"), optional(INTS, "dilations"), required(INTS, "kernel_shape"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "BatchNormalization", 1).inputs(5, 5).outputs(1, 5).attrs(&[required(INTS, "consumed_inputs"), default(FLOAT, "epsilon", "1e-5"), default(INT, "is_test", "0"), default(FLOAT, "momentum", "0.9"), default(INT, "spatial", "1")]).takes(&[one("X", "T"), one("scale", "T"), one("B", "T"), one("mean", "T"), one("var", "T")]).gives(&[one("Y", "T"), may("mean", "T"), may("var", "T"), may("saved_mean", "T"), may("saved_var", "T")]).types(&[T0.named("T")]),
    op("", "BatchNormalization", 6).inputs(5, 5).outputs(1, 5).attrs(&[default(FLOAT, "epsilon", "1e-5"), default(INT, "is_test", "0"), default(FLOAT, "momentum", "0.9"), default(INT, "spatial", "1")]).takes(&[one("X", "T"), one("scale", "T"), one("B", "T"), one("mean", "T"), one("var", "T")]).gives(&[one("Y", "T"), may("mean", "T"), may("var", "T"), may("saved_mean", "T"), may("saved_var", "T")]).types(&[T0.named("T")]),
    op("", "BatchNormalization", 7).inputs(5, 5).outputs(1, 5).attrs(&[default(FLOAT, "epsilon", "1e-5"), default(FLOAT, "momentum", "0.9"), default(INT, "spatial", "1")]).takes(&[one("X", "T"), one("scale", "T"), one("B", "T"), one("mean", "T"), one("var", "T")]).gives(&[one("Y", "T"), may("mean", "T"), may("var", "T"), may("saved_mean", "T"), may("saved_var", "T")]).types(&[T0.named("T")]),
    op("", "BatchNormalization", 9).inputs(5, 5).outputs(1, 5).attrs(&[default(FLOAT, "epsilon", "1e-5"), default(FLOAT, "momentum", "0.9")]).takes(&[one("X", "T"), one("scale", "T"), one("B", "T"), one("mean", "T"), one("var", "T")]).gives(&[one("Y", "T"), may("mean", "T"), may("var", "T"), may("saved_mean", "T"), may("saved_var", "T")]).types(&[T0.named("T")]),
    op("", "BatchNormalization", 14).inputs(5, 5).outputs(1, 3).attrs(&[default(FLOAT, "epsilon", "1e-5"), default(FLOAT, "momentum", "0.9"), default(INT, "training_mode", "0")]).takes(&[one("X", "T"), one("scale", "T"), one("B", "T"), one("input_mean", "U"), one("input_var", "U")]).gives(&[one("Y", "T"), may("running_mean", "U"), may("running_var", "U")]).types(&[T3.named("T"), T3.named("U")]),
    op("", "BatchNormalization", 15).inputs(5, 5).outputs(1, 3).attrs(&[default(FLOAT, "epsilon", "1e-5"), default(FLOAT, "momentum", "0.9"), default(INT, "training_mode", "0")]).takes(&[one("X", "T"), one("scale", "T1"), one("B", "T1"), one("input_mean", "T2"), one("input_var", "T2")]).gives(&[one("Y", "T"), may("running_mean", "T2"), may("running_var", "T2")]).types(&[T3.named("T"), T3.named("T1"), T3.named("T2")]),
    op("", "Bernoulli", 15).attrs(&[optional(INT, "dtype"), optional(FLOAT, "seed")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T0.named("T1"), T8.named("T2")]),
    op("", "Bernoulli", 22).attrs(&[optional(INT, "dtype"), optional(FLOAT, "seed")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T3.named("T1"), T8.named("T2")]),
    op("", "BitCast", 26).attrs(&[required(INT, "to")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T9.named("T1"), T9.named("T2")]),
    op("", "BitShift", 11).inputs(2, 2).attrs(&[required(STRING, "direction")]).takes(&[one("X", "T"), one("Y", "T")]).gives(&[one("Z", "T")]).types(&[T10.named("T")]),
    op("", "BitShift", 28).inputs(2, 2).attrs(&[required(STRING, "direction")]).takes(&[one("X", "T"), one("Y", "T")]).gives(&[one("Z", "T")]).types(&[T11.named("T")]),
    op("", "BitwiseAnd", 18).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T11.named("T")]),
    op("", "BitwiseNot", 18).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T11.named("T")]),
    op("", "BitwiseOr", 18).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T11.named("T")]),
    op("", "BitwiseXor", 18).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T11.named("T")]),
    op("", "BlackmanWindow", 17).attrs(&[default(INT, "output_datatype", "1"), default(INT, "periodic", "1")]).takes(&[one("size", "T1")]).gives(&[one("output", "T2")]).types(&[T12.named("T1"), T2.named("T2")]),
    op("", "Cast", 1).attrs(&[required(STRING, "to")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T13.named("T1"), T13.named("T2")]),
    op("", "Cast", 6).attrs(&[required(INT, "to")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T13.named("T1"), T13.named("T2")]),
    op("", "Cast", 9).attrs(&[required(INT, "to")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T14.named("T1"), T14.named("T2")]),
    op("", "Cast", 13).attrs(&[required(INT, "to")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T15.named("T1"), T15.named("T2")]),
    op("", "Cast", 19).attrs(&[default(INT, "saturate", "1"), required(INT, "to")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T16.named("T1"), T16.named("T2")]),
    op("", "Cast", 21).attrs(&[default(INT, "saturate", "1"), required(INT, "to")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T17.named("T1"), T17.named("T2")]),
    op("", "Cast", 23).attrs(&[default(INT, "saturate", "1"), required(INT, "to")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T18.named("T1"), T18.named("T2")]),
    op("", "Cast", 24).attrs(&[default(STRING, "round_mode", "\"up\""), default(INT, "saturate", "1"), required(INT, "to")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T19.named("T1"), T19.named("T2")]),
    op("", "Cast", 25).attrs(&[default(STRING, "round_mode", "\"up\""), default(INT, "saturate", "1"), required(INT, "to")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T20.named("T1"), T20.named("T2")]),
    op("", "Cast", 28).attrs(&[default(STRING, "round_mode", "\"up\""), default(INT, "saturate", "1"), required(INT, "to")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T21.named("T1"), T21.named("T2")]),
    op("", "CastLike", 15).inputs(2, 2).takes(&[one("input", "T1"), one("target_type", "T2")]).gives(&[one("output", "T2")]).types(&[T15.named("T1"), T15.named("T2")]),
    op("", "CastLike", 19).inputs(2, 2).attrs(&[default(INT, "saturate", "1")]).takes(&[one("input", "T1"), one("target_type", "T2")]).gives(&[one("output", "T2")]).types(&[T16.named("T1"), T16.named("T2")]),
    op("", "CastLike", 21).inputs(2, 2).attrs(&[default(INT, "saturate", "1")]).takes(&[one("input", "T1"), one("target_type", "T2")]).gives(&[one("output", "T2")]).types(&[T17.named("T1"), T17.named("T2")]),
    op("", "CastLike", 23).inputs(2, 2).attrs(&[default(INT, "saturate", "1")]).takes(&[one("input", "T1"), one("target_type", "T2")]).gives(&[one("output", "T2")]).types(&[T18.named("T1"), T18.named("T2")]),
    op("", "CastLike", 24).inputs(2, 2).attrs(&[default(STRING, "round_mode", "\"up\""), default(INT, "saturate", "1")]).takes(&[one("input", "T1"), one("target_type", "T2")]).gives(&[one("output", "T2")]).types(&[T19.named("T1"), T19.named("T2")]),
    op("", "CastLike", 25).inputs(2, 2).attrs(&[default(STRING, "round_mode", "\"up\""), default(INT, "saturate", "1")]).takes(&[one("input", "T1"), one("target_type", "T2")]).gives(&[one("output", "T2")]).types(&[T20.named("T1"), T20.named("T2")]),
    op("", "CausalConvWithState", 27).inputs(2, 4).outputs(2, 2).attrs(&[default(STRING, "activation", "\"none\"")]).takes(&[one("input", "T"), one("weight", "T"), may("bias", "T"), may("past_state", "T")]).gives(&[one("output", "T"), one("present_state", "T")]).types(&[T22.named("T")]),
    op("", "Ceil", 1).attrs(&[optional(INTS, "consumed_inputs")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Ceil", 6).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Ceil", 13).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "Celu", 12).attrs(&[default(FLOAT, "alpha", "1.0")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T23.named("T")]),
    op("", "Celu", 28).attrs(&[default(FLOAT, "alpha", "1.0")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "CenterCropPad", 18).inputs(2, 2).attrs(&[optional(INTS, "axes")]).takes(&[one("input_data", "T"), one("shape", "Tind")]).gives(&[one("output_data", "T")]).types(&[T24.named("T"), T12.named("Tind")]),
    op("", "Clip", 1).attrs(&[optional(INTS, "consumed_inputs"), optional(FLOAT, "max"), optional(FLOAT, "min")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Clip", 6).attrs(&[default(FLOAT, "max", "3.4028235e38"), default(FLOAT, "min", "-3.4028235e38")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Clip", 11).inputs(1, 3).takes(&[one("input", "T"), may("min", "T"), may("max", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Clip", 12).inputs(1, 3).takes(&[one("input", "T"), may("min", "T"), may("max", "T")]).gives(&[one("output", "T")]).types(&[T1.named("T")]),
    op("", "Clip", 13).inputs(1, 3).takes(&[one("input", "T"), may("min", "T"), may("max", "T")]).gives(&[one("output", "T")]).types(&[T2.named("T")]),
    op("", "Col2Im", 18).inputs(3, 3).attrs(&[optional(INTS, "dilations"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("input", "T"), one("image_shape", "tensor(int64)"), one("block_shape", "tensor(int64)")]).gives(&[one("output", "T")]).types(&[T24.named("T"), T6.named("tensor(int64)")]),
    op("", "Compress", 9).inputs(2, 2).attrs(&[optional(INT, "axis")]).takes(&[one("input", "T"), one("condition", "T1")]).gives(&[one("output", "T")]).types(&[T25.named("T"), T7.named("T1")]),
    op("", "Compress", 11).inputs(2, 2).attrs(&[optional(INT, "axis")]).takes(&[one("input", "T"), one("condition", "T1")]).gives(&[one("output", "T")]).types(&[T25.named("T"), T7.named("T1")]),
    op("", "Compress", 28).inputs(2, 2).attrs(&[optional(INT, "axis")]).takes(&[one("input", "T"), one("condition", "T1")]).gives(&[one("output", "T")]).types(&[T24.named("T"), T7.named("T1")]),
    op("", "Concat", 1).inputs(1, ANY).attrs(&[optional(INT, "axis")]).takes(&[all("inputs", "T")]).gives(&[one("concat_result", "T")]).types(&[T0.named("T")]),
    op("", "Concat", 4).inputs(1, ANY).attrs(&[required(INT, "axis")]).takes(&[all("inputs", "T")]).gives(&[one("concat_result", "T")]).types(&[T25.named("T")]),
    op("", "Concat", 11).inputs(1, ANY).attrs(&[required(INT, "axis")]).takes(&[all("inputs", "T")]).gives(&[one("concat_result", "T")]).types(&[T25.named("T")]),
    op("", "Concat", 13).inputs(1, ANY).attrs(&[required(INT, "axis")]).takes(&[all("inputs", "T")]).gives(&[one("concat_result", "T")]).types(&[T24.named("T")]),
    op("", "ConcatFromSequence", 11).attrs(&[required(INT, "axis"), default(INT, "new_axis", "0")]).takes(&[one("input_sequence", "S")]).gives(&[one("concat_result", "T")]).types(&[T26.named("S"), T25.named("T")]),
    op("", "Constant", 1).inputs(0, 0).attrs(&[required(TENSOR, "value")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Constant", 9).inputs(0, 0).attrs(&[required(TENSOR, "value")]).gives(&[one("output", "T")]).types(&[T25.named("T")]),
    op("", "Constant", 11).inputs(0, 0).attrs(&[optional(SPARSE_TENSOR, "sparse_value"), optional(TENSOR, "value")]).gives(&[one("output", "T")]).types(&[T25.named("T")]),
    op("", "Constant", 12).inputs(0, 0).attrs(&[optional(SPARSE_TENSOR, "sparse_value"), optional(TENSOR, "value"), optional(FLOAT, "value_float"), optional(FLOATS, "value_floats"), optional(INT, "value_int"), optional(INTS, "value_ints"), optional(STRING, "value_string"), optional(STRINGS, "value_strings")]).gives(&[one("output", "T")]).types(&[T25.named("T")]),
    op("", "Constant", 13).inputs(0, 0).attrs(&[optional(SPARSE_TENSOR, "sparse_value"), optional(TENSOR, "value"), optional(FLOAT, "value_float"), optional(FLOATS, "value_floats"), optional(INT, "value_int"), optional(INTS, "value_ints"), optional(STRING, "value_string"), optional(STRINGS, "value_strings")]).gives(&[one("output", "T")]).types(&[T24.named("T")]),
    op("", "Constant", 19).inputs(0, 0).attrs(&[optional(SPARSE_TENSOR, "sparse_value"), optional(TENSOR, "value"), optional(FLOAT, "value_float"), optional(FLOATS, "value_floats"), optional(INT, "value_int"), optional(INTS, "value_ints"), optional(STRING, "value_string"), optional(STRINGS, "value_strings")]).gives(&[one("output", "T")]).types(&[T27.named("T")]),
    op("", "Constant", 21).inputs(0, 0).attrs(&[optional(SPARSE_TENSOR, "sparse_value"), optional(TENSOR, "value"), optional(FLOAT, "value_float"), optional(FLOATS, "value_floats"), optional(INT, "value_int"), optional(INTS, "value_ints"), optional(STRING, "value_string"), optional(STRINGS, "value_strings")]).gives(&[one("output", "T")]).types(&[T28.named("T")]),
    op("", "Constant", 23).inputs(0, 0).attrs(&[optional(SPARSE_TENSOR, "sparse_value"), optional(TENSOR, "value"), optional(FLOAT, "value_float"), optional(FLOATS, "value_floats"), optional(INT, "value_int"), optional(INTS, "value_ints"), optional(STRING, "value_string"), optional(STRINGS, "value_strings")]).gives(&[one("output", "T")]).types(&[T29.named("T")]),
    op("", "Constant", 24).inputs(0, 0).attrs(&[optional(SPARSE_TENSOR, "sparse_value"), optional(TENSOR, "value"), optional(FLOAT, "value_float"), optional(FLOATS, "value_floats"), optional(INT, "value_int"), optional(INTS, "value_ints"), optional(STRING, "value_string"), optional(STRINGS, "value_strings")]).gives(&[one("output", "T")]).types(&[T30.named("T")]),
    op("", "Constant", 25).inputs(0, 0).attrs(&[optional(SPARSE_TENSOR, "sparse_value"), optional(TENSOR, "value"), optional(FLOAT, "value_float"), optional(FLOATS, "value_floats"), optional(INT, "value_int"), optional(INTS, "value_ints"), optional(STRING, "value_string"), optional(STRINGS, "value_strings")]).gives(&[one("output", "T")]).types(&[T31.named("T")]),
    op("", "ConstantOfShape", 9).attrs(&[optional(TENSOR, "value")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T6.named("T1"), T13.named("T2")]),
    op("", "ConstantOfShape", 20).attrs(&[optional(TENSOR, "value")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T6.named("T1"), T32.named("T2")]),
    op("", "ConstantOfShape", 21).attrs(&[optional(TENSOR, "value")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T6.named("T1"), T33.named("T2")]),
    op("", "ConstantOfShape", 23).attrs(&[optional(TENSOR, "value")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T6.named("T1"), T34.named("T2")]),
    op("", "ConstantOfShape", 24).attrs(&[optional(TENSOR, "value")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T6.named("T1"), T35.named("T2")]),
    op("", "ConstantOfShape", 25).attrs(&[optional(TENSOR, "value")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T6.named("T1"), T36.named("T2")]),
    op("", "Conv", 1).inputs(2, 3).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), optional(INTS, "dilations"), default(INT, "group", "1"), optional(INTS, "kernel_shape"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T"), one("W", "T"), may("B", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Conv", 11).inputs(2, 3).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), optional(INTS, "dilations"), default(INT, "group", "1"), optional(INTS, "kernel_shape"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T"), one("W", "T"), may("B", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Conv", 22).inputs(2, 3).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), optional(INTS, "dilations"), default(INT, "group", "1"), optional(INTS, "kernel_shape"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T"), one("W", "T"), may("B", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "ConvInteger", 10).inputs(2, 4).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), optional(INTS, "dilations"), default(INT, "group", "1"), optional(INTS, "kernel_shape"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("x", "T1"), one("w", "T2"), may("x_zero_point", "T1"), may("w_zero_point", "T2")]).gives(&[one("y", "T3")]).types(&[T37.named("T1"), T37.named("T2"), T38.named("T3")]),
    op("", "ConvTranspose", 1).inputs(2, 3).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), optional(INTS, "dilations"), default(INT, "group", "1"), optional(INTS, "kernel_shape"), optional(INTS, "output_padding"), optional(INTS, "output_shape"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T"), one("W", "T"), may("B", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "ConvTranspose", 11).inputs(2, 3).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), optional(INTS, "dilations"), default(INT, "group", "1"), optional(INTS, "kernel_shape"), optional(INTS, "output_padding"), optional(INTS, "output_shape"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T"), one("W", "T"), may("B", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "ConvTranspose", 22).inputs(2, 3).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), optional(INTS, "dilations"), default(INT, "group", "1"), optional(INTS, "kernel_shape"), optional(INTS, "output_padding"), optional(INTS, "output_shape"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T"), one("W", "T"), may("B", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "Cos", 7).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Cos", 22).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "Cosh", 9).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Cosh", 22).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "CumProd", 26).inputs(2, 2).attrs(&[default(INT, "exclusive", "0"), default(INT, "reverse", "0")]).takes(&[one("x", "T"), one("axis", "T2")]).gives(&[one("y", "T")]).types(&[T5.named("T"), T12.named("T2")]),
    op("", "CumSum", 11).inputs(2, 2).attrs(&[default(INT, "exclusive", "0"), default(INT, "reverse", "0")]).takes(&[one("x", "T"), one("axis", "T2")]).gives(&[one("y", "T")]).types(&[T39.named("T"), T12.named("T2")]),
    op("", "CumSum", 14).inputs(2, 2).attrs(&[default(INT, "exclusive", "0"), default(INT, "reverse", "0")]).takes(&[one("x", "T"), one("axis", "T2")]).gives(&[one("y", "T")]).types(&[T5.named("T"), T12.named("T2")]),
    op("", "DFT", 17).inputs(1, 2).attrs(&[default(INT, "axis", "1"), default(INT, "inverse", "0"), default(INT, "onesided", "0")]).takes(&[one("input", "T1"), may("dft_length", "T2")]).gives(&[one("output", "T1")]).types(&[T3.named("T1"), T12.named("T2")]),
    op("", "DFT", 20).inputs(1, 3).attrs(&[default(INT, "inverse", "0"), default(INT, "onesided", "0")]).takes(&[one("input", "T1"), may("dft_length", "T2"), may("axis", "tensor(int64)")]).gives(&[one("output", "T1")]).types(&[T3.named("T1"), T12.named("T2"), T6.named("tensor(int64)")]),
    op("", "DeformConv", 19).inputs(3, 5).attrs(&[optional(INTS, "dilations"), default(INT, "group", "1"), optional(INTS, "kernel_shape"), default(INT, "offset_group", "1"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T"), one("W", "T"), one("offset", "T"), may("B", "T"), may("mask", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "DeformConv", 22).inputs(3, 5).attrs(&[optional(INTS, "dilations"), default(INT, "group", "1"), optional(INTS, "kernel_shape"), default(INT, "offset_group", "1"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T"), one("W", "T"), one("offset", "T"), may("B", "T"), may("mask", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "DepthToSpace", 1).attrs(&[required(INT, "blocksize")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T25.named("T")]),
    op("", "DepthToSpace", 11).attrs(&[required(INT, "blocksize"), default(STRING, "mode", "\"DCR\"")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T25.named("T")]),
    op("", "DepthToSpace", 13).attrs(&[required(INT, "blocksize"), default(STRING, "mode", "\"DCR\"")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T24.named("T")]),
    op("", "DepthToSpace", 28).attrs(&[required(INT, "blocksize"), default(STRING, "mode", "\"DCR\"")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T24.named("T")]),
    op("", "DequantizeLinear", 10).inputs(2, 3).takes(&[one("x", "T"), one("x_scale", "tensor(float)"), may("x_zero_point", "T")]).gives(&[one("y", "tensor(float)")]).types(&[T40.named("T"), T23.named("tensor(float)")]),
    op("", "DequantizeLinear", 13).inputs(2, 3).attrs(&[default(INT, "axis", "1")]).takes(&[one("x", "T"), one("x_scale", "tensor(float)"), may("x_zero_point", "T")]).gives(&[one("y", "tensor(float)")]).types(&[T40.named("T"), T23.named("tensor(float)")]),
    op("", "DequantizeLinear", 19).inputs(2, 3).attrs(&[default(INT, "axis", "1")]).takes(&[one("x", "T1"), one("x_scale", "T2"), may("x_zero_point", "T1")]).gives(&[one("y", "T2")]).types(&[T41.named("T1"), T22.named("T2")]),
    op("", "DequantizeLinear", 21).inputs(2, 3).attrs(&[default(INT, "axis", "1"), default(INT, "block_size", "0")]).takes(&[one("x", "T1"), one("x_scale", "T2"), may("x_zero_point", "T1")]).gives(&[one("y", "T2")]).types(&[T42.named("T1"), T22.named("T2")]),
    op("", "DequantizeLinear", 23).inputs(2, 3).attrs(&[default(INT, "axis", "1"), default(INT, "block_size", "0"), default(INT, "output_dtype", "0")]).takes(&[one("x", "T1"), one("x_scale", "T2"), may("x_zero_point", "T1")]).gives(&[one("y", "T3")]).types(&[T43.named("T1"), T22.named("T2"), T22.named("T3")]),
    op("", "DequantizeLinear", 24).inputs(2, 3).attrs(&[default(INT, "axis", "1"), default(INT, "block_size", "0"), default(INT, "output_dtype", "0")]).takes(&[one("x", "T1"), one("x_scale", "T2"), may("x_zero_point", "T1")]).gives(&[one("y", "T3")]).types(&[T43.named("T1"), T44.named("T2"), T22.named("T3")]),
    op("", "DequantizeLinear", 25).inputs(2, 3).attrs(&[default(INT, "axis", "1"), default(INT, "block_size", "0"), default(INT, "output_dtype", "0")]).takes(&[one("x", "T1"), one("x_scale", "T2"), may("x_zero_point", "T1")]).gives(&[one("y", "T3")]).types(&[T45.named("T1"), T44.named("T2"), T22.named("T3")]),
    op("", "DequantizeLinear", 28).inputs(2, 3).attrs(&[default(INT, "axis", "1"), default(INT, "block_size", "0"), default(INT, "output_dtype", "0")]).takes(&[one("x", "T1"), one("x_scale", "T2"), may("x_zero_point", "T1")]).gives(&[one("y", "T3")]).types(&[T46.named("T1"), T44.named("T2"), T22.named("T3")]),
    op("", "Det", 11).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Det", 22).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "Div", 1).inputs(2, 2).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0"), optional(INTS, "consumed_inputs")]).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T0.named("T")]),
    op("", "Div", 6).inputs(2, 2).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T4.named("T")]),
    op("", "Div", 7).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T4.named("T")]),
    op("", "Div", 13).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T5.named("T")]),
    op("", "Div", 14).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T2.named("T")]),
    op("", "Dropout", 1).outputs(1, 2).attrs(&[optional(INTS, "consumed_inputs"), default(INT, "is_test", "0"), default(FLOAT, "ratio", "0.5")]).takes(&[one("data", "T")]).gives(&[one("output", "T"), may("mask", "T")]).types(&[T0.named("T")]),
    op("", "Dropout", 6).outputs(1, 2).attrs(&[default(INT, "is_test", "0"), default(FLOAT, "ratio", "0.5")]).takes(&[one("data", "T")]).gives(&[one("output", "T"), may("mask", "T")]).types(&[T0.named("T")]),
    op("", "Dropout", 7).outputs(1, 2).attrs(&[default(FLOAT, "ratio", "0.5")]).takes(&[one("data", "T")]).gives(&[one("output", "T"), may("mask", "T")]).types(&[T0.named("T")]),
    op("", "Dropout", 10).outputs(1, 2).attrs(&[default(FLOAT, "ratio", "0.5")]).takes(&[one("data", "T")]).gives(&[one("output", "T"), may("mask", "T1")]).types(&[T0.named("T"), T7.named("T1")]),
    op("", "Dropout", 12).inputs(1, 3).outputs(1, 2).attrs(&[optional(INT, "seed")]).takes(&[one("data", "T"), may("ratio", "T1"), may("training_mode", "T2")]).gives(&[one("output", "T"), may("mask", "T2")]).types(&[T0.named("T"), T0.named("T1"), T7.named("T2")]),
    op("", "Dropout", 13).inputs(1, 3).outputs(1, 2).attrs(&[optional(INT, "seed")]).takes(&[one("data", "T"), may("ratio", "T1"), may("training_mode", "T2")]).gives(&[one("output", "T"), may("mask", "T2")]).types(&[T3.named("T"), T0.named("T1"), T7.named("T2")]),
    op("", "Dropout", 22).inputs(1, 3).outputs(1, 2).attrs(&[optional(INT, "seed")]).takes(&[one("data", "T"), may("ratio", "T1"), may("training_mode", "T2")]).gives(&[one("output", "T"), may("mask", "T2")]).types(&[T47.named("T"), T47.named("T1"), T7.named("T2")]),
    op("", "DynamicQuantizeLinear", 11).outputs(3, 3).takes(&[one("x", "T1")]).gives(&[one("y", "T2"), one("y_scale", "tensor(float)"), one("y_zero_point", "T2")]).types(&[T23.named("T1"), T48.named("T2"), T23.named("tensor(float)")]),
    op("", "Einsum", 12).inputs(1, ANY).attrs(&[required(STRING, "equation")]).takes(&[all("Inputs", "T")]).gives(&[one("Output", "T")]).types(&[T1.named("T")]),
    op("", "Einsum", 28).inputs(1, ANY).attrs(&[required(STRING, "equation")]).takes(&[all("Inputs", "T")]).gives(&[one("Output", "T")]).types(&[T2.named("T")]),
    op("", "Elu", 1).attrs(&[default(FLOAT, "alpha", "1.0"), optional(INTS, "consumed_inputs")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Elu", 6).attrs(&[default(FLOAT, "alpha", "1.0")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Elu", 22).attrs(&[default(FLOAT, "alpha", "1.0")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "Equal", 1).inputs(2, 2).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T49.named("T"), T7.named("T1")]),
    op("", "Equal", 7).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T49.named("T"), T7.named("T1")]),
    op("", "Equal", 11).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T13.named("T"), T7.named("T1")]),
    op("", "Equal", 13).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T8.named("T"), T7.named("T1")]),
    op("", "Equal", 19).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T15.named("T"), T7.named("T1")]),
    op("", "Erf", 9).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T1.named("T")]),
    op("", "Erf", 13).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "Exp", 1).attrs(&[optional(INTS, "consumed_inputs")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Exp", 6).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Exp", 13).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "Expand", 8).inputs(2, 2).takes(&[one("input", "T"), one("shape", "tensor(int64)")]).gives(&[one("output", "T")]).types(&[T25.named("T"), T6.named("tensor(int64)")]),
    op("", "Expand", 13).inputs(2, 2).takes(&[one("input", "T"), one("shape", "tensor(int64)")]).gives(&[one("output", "T")]).types(&[T24.named("T"), T6.named("tensor(int64)")]),
    op("", "EyeLike", 9).attrs(&[optional(INT, "dtype"), default(INT, "k", "0")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T13.named("T1"), T13.named("T2")]),
    op("", "EyeLike", 22).attrs(&[optional(INT, "dtype"), default(INT, "k", "0")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T8.named("T1"), T8.named("T2")]),
    op("", "Flatten", 1).attrs(&[default(INT, "axis", "1")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Flatten", 9).attrs(&[default(INT, "axis", "1")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T25.named("T")]),
    op("", "Flatten", 11).attrs(&[default(INT, "axis", "1")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T25.named("T")]),
    op("", "Flatten", 13).attrs(&[default(INT, "axis", "1")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T24.named("T")]),
    op("", "Flatten", 21).attrs(&[default(INT, "axis", "1")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T28.named("T")]),
    op("", "Flatten", 23).attrs(&[default(INT, "axis", "1")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T29.named("T")]),
    op("", "Flatten", 24).attrs(&[default(INT, "axis", "1")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T30.named("T")]),
    op("", "Flatten", 25).attrs(&[default(INT, "axis", "1")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T31.named("T")]),
    op("", "Floor", 1).attrs(&[optional(INTS, "consumed_inputs")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Floor", 6).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Floor", 13).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "GRU", 1).inputs(3, 6).outputs(2, 2).attrs(&[optional(FLOATS, "activation_alpha"), optional(FLOATS, "activation_beta"), optional(STRINGS, "activations"), optional(FLOAT, "clip"), default(STRING, "direction", "\"foward\""), optional(INT, "hidden_size"), default(INT, "output_sequence", "0")]).takes(&[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T")]).gives(&[may("Y", "T"), one("Y_h", "T")]).types(&[T0.named("T"), T38.named("T1")]),
    op("", "GRU", 3).inputs(3, 6).outputs(0, 2).attrs(&[optional(FLOATS, "activation_alpha"), optional(FLOATS, "activation_beta"), optional(STRINGS, "activations"), optional(FLOAT, "clip"), default(STRING, "direction", "\"forward\""), optional(INT, "hidden_size"), default(INT, "linear_before_reset", "0"), default(INT, "output_sequence", "0")]).takes(&[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T")]).gives(&[may("Y", "T"), may("Y_h", "T")]).types(&[T0.named("T"), T38.named("T1")]),
    op("", "GRU", 7).inputs(3, 6).outputs(0, 2).attrs(&[optional(FLOATS, "activation_alpha"), optional(FLOATS, "activation_beta"), optional(STRINGS, "activations"), optional(FLOAT, "clip"), default(STRING, "direction", "\"forward\""), optional(INT, "hidden_size"), default(INT, "linear_before_reset", "0")]).takes(&[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T")]).gives(&[may("Y", "T"), may("Y_h", "T")]).types(&[T0.named("T"), T38.named("T1")]),
    op("", "GRU", 14).inputs(3, 6).outputs(0, 2).attrs(&[optional(FLOATS, "activation_alpha"), optional(FLOATS, "activation_beta"), optional(STRINGS, "activations"), optional(FLOAT, "clip"), default(STRING, "direction", "\"forward\""), optional(INT, "hidden_size"), default(INT, "layout", "0"), default(INT, "linear_before_reset", "0")]).takes(&[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T")]).gives(&[may("Y", "T"), may("Y_h", "T")]).types(&[T0.named("T"), T38.named("T1")]),
    op("", "GRU", 22).inputs(3, 6).outputs(0, 2).attrs(&[optional(FLOATS, "activation_alpha"), optional(FLOATS, "activation_beta"), optional(STRINGS, "activations"), optional(FLOAT, "clip"), default(STRING, "direction", "\"forward\""), optional(INT, "hidden_size"), default(INT, "layout", "0"), default(INT, "linear_before_reset", "0")]).takes(&[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T")]).gives(&[may("Y", "T"), may("Y_h", "T")]).types(&[T3.named("T"), T38.named("T1")]),
    op("", "Gather", 1).inputs(2, 2).attrs(&[default(INT, "axis", "0")]).takes(&[one("data", "T"), one("indices", "Tind")]).gives(&[one("output", "T")]).types(&[T25.named("T"), T12.named("Tind")]),
    op("", "Gather", 11).inputs(2, 2).attrs(&[default(INT, "axis", "0")]).takes(&[one("data", "T"), one("indices", "Tind")]).gives(&[one("output", "T")]).types(&[T25.named("T"), T12.named("Tind")]),
    op("", "Gather", 13).inputs(2, 2).attrs(&[default(INT, "axis", "0")]).takes(&[one("data", "T"), one("indices", "Tind")]).gives(&[one("output", "T")]).types(&[T24.named("T"), T12.named("Tind")]),
    op("", "GatherElements", 11).inputs(2, 2).attrs(&[default(INT, "axis", "0")]).takes(&[one("data", "T"), one("indices", "Tind")]).gives(&[one("output", "T")]).types(&[T25.named("T"), T12.named("Tind")]),
    op("", "GatherElements", 13).inputs(2, 2).attrs(&[default(INT, "axis", "0")]).takes(&[one("data", "T"), one("indices", "Tind")]).gives(&[one("output", "T")]).types(&[T24.named("T"), T12.named("Tind")]),
    op("", "GatherND", 11).inputs(2, 2).takes(&[one("data", "T"), one("indices", "tensor(int64)")]).gives(&[one("output", "T")]).types(&[T25.named("T"), T6.named("tensor(int64)")]),
    op("", "GatherND", 12).inputs(2, 2).attrs(&[default(INT, "batch_dims", "0")]).takes(&[one("data", "T"), one("indices", "tensor(int64)")]).gives(&[one("output", "T")]).types(&[T25.named("T"), T6.named("tensor(int64)")]),
    op("", "GatherND", 13).inputs(2, 2).attrs(&[default(INT, "batch_dims", "0")]).takes(&[one("data", "T"), one("indices", "tensor(int64)")]).gives(&[one("output", "T")]).types(&[T24.named("T"), T6.named("tensor(int64)")]),
    op("", "Gelu", 20).attrs(&[default(STRING, "approximate", "\"none\"")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "Gemm", 1).inputs(3, 3).attrs(&[default(FLOAT, "alpha", "1.0"), default(FLOAT, "beta", "1.0"), default(INT, "broadcast", "0"), default(INT, "transA", "0"), default(INT, "transB", "0")]).takes(&[one("A", "T"), one("B", "T"), one("C", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Gemm", 6).inputs(3, 3).attrs(&[default(FLOAT, "alpha", "1.0"), default(FLOAT, "beta", "1.0"), default(INT, "broadcast", "0"), default(INT, "transA", "0"), default(INT, "transB", "0")]).takes(&[one("A", "T"), one("B", "T"), one("C", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Gemm", 7).inputs(3, 3).attrs(&[default(FLOAT, "alpha", "1.0"), default(FLOAT, "beta", "1.0"), default(INT, "transA", "0"), default(INT, "transB", "0")]).takes(&[one("A", "T"), one("B", "T"), one("C", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Gemm", 9).inputs(3, 3).attrs(&[default(FLOAT, "alpha", "1.0"), default(FLOAT, "beta", "1.0"), default(INT, "transA", "0"), default(INT, "transB", "0")]).takes(&[one("A", "T"), one("B", "T"), one("C", "T")]).gives(&[one("Y", "T")]).types(&[T4.named("T")]),
    op("", "Gemm", 11).inputs(2, 3).attrs(&[default(FLOAT, "alpha", "1.0"), default(FLOAT, "beta", "1.0"), default(INT, "transA", "0"), default(INT, "transB", "0")]).takes(&[one("A", "T"), one("B", "T"), may("C", "T")]).gives(&[one("Y", "T")]).types(&[T4.named("T")]),
    op("", "Gemm", 13).inputs(2, 3).attrs(&[default(FLOAT, "alpha", "1.0"), default(FLOAT, "beta", "1.0"), default(INT, "transA", "0"), default(INT, "transB", "0")]).takes(&[one("A", "T"), one("B", "T"), may("C", "T")]).gives(&[one("Y", "T")]).types(&[T5.named("T")]),
    op("", "GlobalAveragePool", 1).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "GlobalAveragePool", 22).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "GlobalLpPool", 1).attrs(&[default(FLOAT, "p", "2.0")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "GlobalLpPool", 2).attrs(&[default(INT, "p", "2")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "GlobalLpPool", 22).attrs(&[default(INT, "p", "2")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "GlobalMaxPool", 1).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "GlobalMaxPool", 22).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "Greater", 1).inputs(2, 2).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T0.named("T"), T7.named("T1")]),
    op("", "Greater", 7).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T0.named("T"), T7.named("T1")]),
    op("", "Greater", 9).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T1.named("T"), T7.named("T1")]),
    op("", "Greater", 13).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T2.named("T"), T7.named("T1")]),
    op("", "GreaterOrEqual", 12).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T1.named("T"), T7.named("T1")]),
    op("", "GreaterOrEqual", 16).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T2.named("T"), T7.named("T1")]),
    op("", "GridSample", 16).inputs(2, 2).attrs(&[default(INT, "align_corners", "0"), default(STRING, "mode", "\"bilinear\""), default(STRING, "padding_mode", "\"zeros\"")]).takes(&[one("X", "T1"), one("grid", "T2")]).gives(&[one("Y", "T1")]).types(&[T25.named("T1"), T0.named("T2")]),
    op("", "GridSample", 20).inputs(2, 2).attrs(&[default(INT, "align_corners", "0"), default(STRING, "mode", "\"linear\""), default(STRING, "padding_mode", "\"zeros\"")]).takes(&[one("X", "T1"), one("grid", "T2")]).gives(&[one("Y", "T1")]).types(&[T25.named("T1"), T0.named("T2")]),
    op("", "GridSample", 22).inputs(2, 2).attrs(&[default(INT, "align_corners", "0"), default(STRING, "mode", "\"linear\""), default(STRING, "padding_mode", "\"zeros\"")]).takes(&[one("X", "T1"), one("grid", "T2")]).gives(&[one("Y", "T1")]).types(&[T24.named("T1"), T3.named("T2")]),
    op("", "GroupNormalization", 18).inputs(3, 3).attrs(&[default(FLOAT, "epsilon", "1e-5"), required(INT, "num_groups")]).takes(&[one("X", "T"), one("scale", "T"), one("bias", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "GroupNormalization", 21).inputs(3, 3).attrs(&[default(FLOAT, "epsilon", "1e-5"), required(INT, "num_groups"), default(INT, "stash_type", "1")]).takes(&[one("X", "T"), one("scale", "T"), one("bias", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "HammingWindow", 17).attrs(&[default(INT, "output_datatype", "1"), default(INT, "periodic", "1")]).takes(&[one("size", "T1")]).gives(&[one("output", "T2")]).types(&[T12.named("T1"), T2.named("T2")]),
    op("", "HannWindow", 17).attrs(&[default(INT, "output_datatype", "1"), default(INT, "periodic", "1")]).takes(&[one("size", "T1")]).gives(&[one("output", "T2")]).types(&[T12.named("T1"), T2.named("T2")]),
    op("", "HardSigmoid", 1).attrs(&[default(FLOAT, "alpha", "0.2"), default(FLOAT, "beta", "0.5"), optional(INTS, "consumed_inputs")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "HardSigmoid", 6).attrs(&[default(FLOAT, "alpha", "0.2"), default(FLOAT, "beta", "0.5")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "HardSigmoid", 22).attrs(&[default(FLOAT, "alpha", "0.2"), default(FLOAT, "beta", "0.5")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "HardSwish", 14).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "HardSwish", 22).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "Hardmax", 1).attrs(&[default(INT, "axis", "1")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Hardmax", 11).attrs(&[default(INT, "axis", "1")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Hardmax", 13).attrs(&[default(INT, "axis", "-1")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "Identity", 1).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T25.named("T")]),
    op("", "Identity", 13).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T24.named("T")]),
    op("", "Identity", 14).takes(&[one("input", "V")]).gives(&[one("output", "V")]).types(&[T50.named("V")]),
    op("", "Identity", 16).takes(&[one("input", "V")]).gives(&[one("output", "V")]).types(&[T51.named("V")]),
    op("", "Identity", 19).takes(&[one("input", "V")]).gives(&[one("output", "V")]).types(&[T52.named("V")]),
    op("", "Identity", 21).takes(&[one("input", "V")]).gives(&[one("output", "V")]).types(&[T53.named("V")]),
    op("", "Identity", 23).takes(&[one("input", "V")]).gives(&[one("output", "V")]).types(&[T54.named("V")]),
    op("", "Identity", 24).takes(&[one("input", "V")]).gives(&[one("output", "V")]).types(&[T55.named("V")]),
    op("", "Identity", 25).takes(&[one("input", "V")]).gives(&[one("output", "V")]).types(&[T56.named("V")]),
    op("", "If", 1).outputs(1, ANY).attrs(&[required(GRAPH, "else_branch"), required(GRAPH, "then_branch")]).takes(&[one("cond", "B")]).gives(&[mix("outputs", "V")]).types(&[T25.named("V"), T7.named("B")]),
    op("", "If", 11).outputs(1, ANY).attrs(&[required(GRAPH, "else_branch"), required(GRAPH, "then_branch")]).takes(&[one("cond", "B")]).gives(&[mix("outputs", "V")]).types(&[T25.named("V"), T7.named("B")]),
    op("", "If", 13).outputs(1, ANY).attrs(&[required(GRAPH, "else_branch"), required(GRAPH, "then_branch")]).takes(&[one("cond", "B")]).gives(&[mix("outputs", "V")]).types(&[T57.named("V"), T7.named("B")]),
    op("", "If", 16).outputs(1, ANY).attrs(&[required(GRAPH, "else_branch"), required(GRAPH, "then_branch")]).takes(&[one("cond", "B")]).gives(&[mix("outputs", "V")]).types(&[T58.named("V"), T7.named("B")]),
    op("", "If", 19).outputs(1, ANY).attrs(&[required(GRAPH, "else_branch"), required(GRAPH, "then_branch")]).takes(&[one("cond", "B")]).gives(&[mix("outputs", "V")]).types(&[T59.named("V"), T7.named("B")]),
    op("", "If", 21).outputs(1, ANY).attrs(&[required(GRAPH, "else_branch"), required(GRAPH, "then_branch")]).takes(&[one("cond", "B")]).gives(&[mix("outputs", "V")]).types(&[T60.named("V"), T7.named("B")]),
    op("", "If", 23).outputs(1, ANY).attrs(&[required(GRAPH, "else_branch"), required(GRAPH, "then_branch")]).takes(&[one("cond", "B")]).gives(&[mix("outputs", "V")]).types(&[T61.named("V"), T7.named("B")]),
    op("", "If", 24).outputs(1, ANY).attrs(&[required(GRAPH, "else_branch"), required(GRAPH, "then_branch")]).takes(&[one("cond", "B")]).gives(&[mix("outputs", "V")]).types(&[T62.named("V"), T7.named("B")]),
    op("", "If", 25).outputs(1, ANY).attrs(&[required(GRAPH, "else_branch"), required(GRAPH, "then_branch")]).takes(&[one("cond", "B")]).gives(&[mix("outputs", "V")]).types(&[T63.named("V"), T7.named("B")]),
    op("", "ImageDecoder", 20).attrs(&[default(STRING, "pixel_format", "\"RGB\"")]).takes(&[one("encoded_stream", "T1")]).gives(&[one("image", "T2")]).types(&[T48.named("T1"), T48.named("T2")]),
    op("", "InstanceNormalization", 1).inputs(3, 3).attrs(&[optional(INTS, "consumed_inputs"), default(FLOAT, "epsilon", "1e-5")]).takes(&[one("input", "T"), one("scale", "T"), one("B", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "InstanceNormalization", 6).inputs(3, 3).attrs(&[default(FLOAT, "epsilon", "1e-5")]).takes(&[one("input", "T"), one("scale", "T"), one("B", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "InstanceNormalization", 22).inputs(3, 3).attrs(&[default(FLOAT, "epsilon", "1e-5")]).takes(&[one("input", "T"), one("scale", "T"), one("B", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "IsInf", 10).attrs(&[default(INT, "detect_negative", "1"), default(INT, "detect_positive", "1")]).takes(&[one("X", "T1")]).gives(&[one("Y", "T2")]).types(&[T64.named("T1"), T7.named("T2")]),
    op("", "IsInf", 20).attrs(&[default(INT, "detect_negative", "1"), default(INT, "detect_positive", "1")]).takes(&[one("X", "T1")]).gives(&[one("Y", "T2")]).types(&[T47.named("T1"), T7.named("T2")]),
    op("", "IsNaN", 9).takes(&[one("X", "T1")]).gives(&[one("Y", "T2")]).types(&[T0.named("T1"), T7.named("T2")]),
    op("", "IsNaN", 13).takes(&[one("X", "T1")]).gives(&[one("Y", "T2")]).types(&[T3.named("T1"), T7.named("T2")]),
    op("", "IsNaN", 20).takes(&[one("X", "T1")]).gives(&[one("Y", "T2")]).types(&[T47.named("T1"), T7.named("T2")]),
    op("", "LRN", 1).attrs(&[default(FLOAT, "alpha", "1e-4"), default(FLOAT, "beta", "0.75"), default(FLOAT, "bias", "1.0"), required(INT, "size")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "LRN", 13).attrs(&[default(FLOAT, "alpha", "1e-4"), default(FLOAT, "beta", "0.75"), default(FLOAT, "bias", "1.0"), required(INT, "size")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "LSTM", 1).inputs(3, 8).outputs(0, 3).attrs(&[optional(FLOATS, "activation_alpha"), optional(FLOATS, "activation_beta"), optional(STRINGS, "activations"), optional(FLOAT, "clip"), default(STRING, "direction", "\"forward\""), optional(INT, "hidden_size"), default(INT, "input_forget", "0"), default(INT, "output_sequence", "0")]).takes(&[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T"), may("initial_c", "T"), may("P", "T")]).gives(&[may("Y", "T"), may("Y_h", "T"), may("Y_c", "T")]).types(&[T0.named("T"), T38.named("T1")]),
    op("", "LSTM", 7).inputs(3, 8).outputs(0, 3).attrs(&[optional(FLOATS, "activation_alpha"), optional(FLOATS, "activation_beta"), optional(STRINGS, "activations"), optional(FLOAT, "clip"), default(STRING, "direction", "\"forward\""), optional(INT, "hidden_size"), default(INT, "input_forget", "0")]).takes(&[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T"), may("initial_c", "T"), may("P", "T")]).gives(&[may("Y", "T"), may("Y_h", "T"), may("Y_c", "T")]).types(&[T0.named("T"), T38.named("T1")]),
    op("", "LSTM", 14).inputs(3, 8).outputs(0, 3).attrs(&[optional(FLOATS, "activation_alpha"), optional(FLOATS, "activation_beta"), optional(STRINGS, "activations"), optional(FLOAT, "clip"), default(STRING, "direction", "\"forward\""), optional(INT, "hidden_size"), default(INT, "input_forget", "0"), default(INT, "layout", "0")]).takes(&[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T"), may("initial_c", "T"), may("P", "T")]).gives(&[may("Y", "T"), may("Y_h", "T"), may("Y_c", "T")]).types(&[T0.named("T"), T38.named("T1")]),
    op("", "LSTM", 22).inputs(3, 8).outputs(0, 3).attrs(&[optional(FLOATS, "activation_alpha"), optional(FLOATS, "activation_beta"), optional(STRINGS, "activations"), optional(FLOAT, "clip"), default(STRING, "direction", "\"forward\""), optional(INT, "hidden_size"), default(INT, "input_forget", "0"), default(INT, "layout", "0")]).takes(&[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T"), may("initial_c", "T"), may("P", "T")]).gives(&[may("Y", "T"), may("Y_h", "T"), may("Y_c", "T")]).types(&[T3.named("T"), T38.named("T1")]),
    op("", "LayerNormalization", 17).inputs(2, 3).outputs(1, 3).attrs(&[default(INT, "axis", "-1"), default(FLOAT, "epsilon", "1e-5"), default(INT, "stash_type", "1")]).takes(&[one("X", "T"), one("Scale", "T"), may("B", "T")]).gives(&[one("Y", "T"), may("Mean", "U"), may("InvStdDev", "U")]).types(&[T3.named("T"), T65.named("U")]),
    op("", "LeakyRelu", 1).attrs(&[default(FLOAT, "alpha", "0.01"), optional(INTS, "consumed_inputs")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "LeakyRelu", 6).attrs(&[default(FLOAT, "alpha", "0.01")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "LeakyRelu", 16).attrs(&[default(FLOAT, "alpha", "0.01")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "Less", 1).inputs(2, 2).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T0.named("T"), T7.named("T1")]),
    op("", "Less", 7).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T0.named("T"), T7.named("T1")]),
    op("", "Less", 9).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T1.named("T"), T7.named("T1")]),
    op("", "Less", 13).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T2.named("T"), T7.named("T1")]),
    op("", "LessOrEqual", 12).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T1.named("T"), T7.named("T1")]),
    op("", "LessOrEqual", 16).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T2.named("T"), T7.named("T1")]),
    op("", "LinearAttention", 27).inputs(3, 6).outputs(2, 2).attrs(&[default(INT, "chunk_size", "64"), required(INT, "kv_num_heads"), required(INT, "q_num_heads"), default(FLOAT, "scale", "0.0"), default(STRING, "update_rule", "\"gated_delta\"")]).takes(&[one("query", "T"), one("key", "T"), one("value", "T"), may("past_state", "S"), may("decay", "T"), may("beta", "T")]).gives(&[one("output", "T"), one("present_state", "S")]).types(&[T22.named("T"), T22.named("S")]),
    op("", "Log", 1).attrs(&[optional(INTS, "consumed_inputs")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Log", 6).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Log", 13).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "LogSoftmax", 1).attrs(&[default(INT, "axis", "1")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "LogSoftmax", 11).attrs(&[default(INT, "axis", "1")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "LogSoftmax", 13).attrs(&[default(INT, "axis", "-1")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "Loop", 1).inputs(3, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body")]).takes(&[may("M", "I"), may("cond", "B"), mix("v_initial", "V")]).gives(&[mix("v_final_and_scan_outputs", "V")]).types(&[T25.named("V"), T6.named("I"), T7.named("B")]),
    op("", "Loop", 11).inputs(2, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body")]).takes(&[may("M", "I"), may("cond", "B"), mix("v_initial", "V")]).gives(&[mix("v_final_and_scan_outputs", "V")]).types(&[T25.named("V"), T6.named("I"), T7.named("B")]),
    op("", "Loop", 13).inputs(2, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body")]).takes(&[may("M", "I"), may("cond", "B"), mix("v_initial", "V")]).gives(&[mix("v_final_and_scan_outputs", "V")]).types(&[T57.named("V"), T6.named("I"), T7.named("B")]),
    op("", "Loop", 16).inputs(2, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body")]).takes(&[may("M", "I"), may("cond", "B"), mix("v_initial", "V")]).gives(&[mix("v_final_and_scan_outputs", "V")]).types(&[T58.named("V"), T6.named("I"), T7.named("B")]),
    op("", "Loop", 19).inputs(2, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body")]).takes(&[may("M", "I"), may("cond", "B"), mix("v_initial", "V")]).gives(&[mix("v_final_and_scan_outputs", "V")]).types(&[T59.named("V"), T6.named("I"), T7.named("B")]),
    op("", "Loop", 21).inputs(2, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body")]).takes(&[may("M", "I"), may("cond", "B"), mix("v_initial", "V")]).gives(&[mix("v_final_and_scan_outputs", "V")]).types(&[T60.named("V"), T6.named("I"), T7.named("B")]),
    op("", "Loop", 23).inputs(2, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body")]).takes(&[may("M", "I"), may("cond", "B"), mix("v_initial", "V")]).gives(&[mix("v_final_and_scan_outputs", "V")]).types(&[T61.named("V"), T6.named("I"), T7.named("B")]),
    op("", "Loop", 24).inputs(2, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body")]).takes(&[may("M", "I"), may("cond", "B"), mix("v_initial", "V")]).gives(&[mix("v_final_and_scan_outputs", "V")]).types(&[T62.named("V"), T6.named("I"), T7.named("B")]),
    op("", "Loop", 25).inputs(2, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body")]).takes(&[may("M", "I"), may("cond", "B"), mix("v_initial", "V")]).gives(&[mix("v_final_and_scan_outputs", "V")]).types(&[T63.named("V"), T6.named("I"), T7.named("B")]),
    op("", "LpNormalization", 1).attrs(&[default(INT, "axis", "-1"), default(INT, "p", "2")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "LpNormalization", 22).attrs(&[default(INT, "axis", "-1"), default(INT, "p", "2")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "LpPool", 1).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), optional(INTS, "kernel_shape"), default(FLOAT, "p", "2.0"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "LpPool", 2).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), required(INTS, "kernel_shape"), default(INT, "p", "2"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "LpPool", 11).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), required(INTS, "kernel_shape"), default(INT, "p", "2"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "LpPool", 18).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), default(INT, "ceil_mode", "0"), optional(INTS, "dilations"), required(INTS, "kernel_shape"), default(INT, "p", "2"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "LpPool", 22).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), default(INT, "ceil_mode", "0"), optional(INTS, "dilations"), required(INTS, "kernel_shape"), default(INT, "p", "2"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "MatMul", 1).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "MatMul", 9).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("Y", "T")]).types(&[T4.named("T")]),
    op("", "MatMul", 13).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("Y", "T")]).types(&[T5.named("T")]),
    op("", "MatMulInteger", 10).inputs(2, 4).takes(&[one("A", "T1"), one("B", "T2"), may("a_zero_point", "T1"), may("b_zero_point", "T2")]).gives(&[one("Y", "T3")]).types(&[T37.named("T1"), T37.named("T2"), T38.named("T3")]),
    op("", "Max", 1).inputs(1, ANY).attrs(&[optional(INTS, "consumed_inputs")]).takes(&[all("data_0", "T")]).gives(&[one("max", "T")]).types(&[T0.named("T")]),
    op("", "Max", 6).inputs(1, ANY).takes(&[all("data_0", "T")]).gives(&[one("max", "T")]).types(&[T0.named("T")]),
    op("", "Max", 8).inputs(1, ANY).takes(&[all("data_0", "T")]).gives(&[one("max", "T")]).types(&[T0.named("T")]),
    op("", "Max", 12).inputs(1, ANY).takes(&[all("data_0", "T")]).gives(&[one("max", "T")]).types(&[T1.named("T")]),
    op("", "Max", 13).inputs(1, ANY).takes(&[all("data_0", "T")]).gives(&[one("max", "T")]).types(&[T2.named("T")]),
    op("", "MaxPool", 1).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), required(INTS, "kernel_shape"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "MaxPool", 8).outputs(1, 2).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), required(INTS, "kernel_shape"), optional(INTS, "pads"), default(INT, "storage_order", "0"), optional(INTS, "strides")]).takes(&[one("X", "T")]).gives(&[one("Y", "T"), may("Indices", "I")]).types(&[T0.named("T"), T6.named("I")]),
    op("", "MaxPool", 10).outputs(1, 2).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), default(INT, "ceil_mode", "0"), optional(INTS, "dilations"), required(INTS, "kernel_shape"), optional(INTS, "pads"), default(INT, "storage_order", "0"), optional(INTS, "strides")]).takes(&[one("X", "T")]).gives(&[one("Y", "T"), may("Indices", "I")]).types(&[T0.named("T"), T6.named("I")]),
    op("", "MaxPool", 11).outputs(1, 2).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), default(INT, "ceil_mode", "0"), optional(INTS, "dilations"), required(INTS, "kernel_shape"), optional(INTS, "pads"), default(INT, "storage_order", "0"), optional(INTS, "strides")]).takes(&[one("X", "T")]).gives(&[one("Y", "T"), may("Indices", "I")]).types(&[T0.named("T"), T6.named("I")]),
    op("", "MaxPool", 12).outputs(1, 2).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), default(INT, "ceil_mode", "0"), optional(INTS, "dilations"), required(INTS, "kernel_shape"), optional(INTS, "pads"), default(INT, "storage_order", "0"), optional(INTS, "strides")]).takes(&[one("X", "T")]).gives(&[one("Y", "T"), may("Indices", "I")]).types(&[T66.named("T"), T6.named("I")]),
    op("", "MaxPool", 22).outputs(1, 2).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), default(INT, "ceil_mode", "0"), optional(INTS, "dilations"), required(INTS, "kernel_shape"), optional(INTS, "pads"), default(INT, "storage_order", "0"), optional(INTS, "strides")]).takes(&[one("X", "T")]).gives(&[one("Y", "T"), may("Indices", "I")]).types(&[T67.named("T"), T6.named("I")]),
    op("", "MaxRoiPool", 1).inputs(2, 2).attrs(&[required(INTS, "pooled_shape"), default(FLOAT, "spatial_scale", "1.0")]).takes(&[one("X", "T"), one("rois", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "MaxRoiPool", 22).inputs(2, 2).attrs(&[required(INTS, "pooled_shape"), default(FLOAT, "spatial_scale", "1.0")]).takes(&[one("X", "T"), one("rois", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "MaxUnpool", 9).inputs(2, 3).attrs(&[required(INTS, "kernel_shape"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T1"), one("I", "T2"), may("output_shape", "T2")]).gives(&[one("output", "T1")]).types(&[T0.named("T1"), T6.named("T2")]),
    op("", "MaxUnpool", 11).inputs(2, 3).attrs(&[required(INTS, "kernel_shape"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T1"), one("I", "T2"), may("output_shape", "T2")]).gives(&[one("output", "T1")]).types(&[T0.named("T1"), T6.named("T2")]),
    op("", "MaxUnpool", 22).inputs(2, 3).attrs(&[required(INTS, "kernel_shape"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("X", "T1"), one("I", "T2"), may("output_shape", "T2")]).gives(&[one("output", "T1")]).types(&[T3.named("T1"), T6.named("T2")]),
    op("", "Mean", 1).inputs(1, ANY).attrs(&[optional(INTS, "consumed_inputs")]).takes(&[all("data_0", "T")]).gives(&[one("mean", "T")]).types(&[T0.named("T")]),
    op("", "Mean", 6).inputs(1, ANY).takes(&[all("data_0", "T")]).gives(&[one("mean", "T")]).types(&[T0.named("T")]),
    op("", "Mean", 8).inputs(1, ANY).takes(&[all("data_0", "T")]).gives(&[one("mean", "T")]).types(&[T0.named("T")]),
    op("", "Mean", 13).inputs(1, ANY).takes(&[all("data_0", "T")]).gives(&[one("mean", "T")]).types(&[T3.named("T")]),
    op("", "MeanVarianceNormalization", 9).attrs(&[default(INTS, "axes", "[0, 2, 3]")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "MeanVarianceNormalization", 13).attrs(&[default(INTS, "axes", "[0, 2, 3]")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "MelWeightMatrix", 17).inputs(5, 5).attrs(&[default(INT, "output_datatype", "1")]).takes(&[one("num_mel_bins", "T1"), one("dft_length", "T1"), one("sample_rate", "T1"), one("lower_edge_hertz", "T2"), one("upper_edge_hertz", "T2")]).gives(&[one("output", "T3")]).types(&[T12.named("T1"), T3.named("T2"), T2.named("T3")]),
    op("", "Min", 1).inputs(1, ANY).attrs(&[optional(INTS, "consumed_inputs")]).takes(&[all("data_0", "T")]).gives(&[one("min", "T")]).types(&[T0.named("T")]),
    op("", "Min", 6).inputs(1, ANY).takes(&[all("data_0", "T")]).gives(&[one("min", "T")]).types(&[T0.named("T")]),
    op("", "Min", 8).inputs(1, ANY).takes(&[all("data_0", "T")]).gives(&[one("min", "T")]).types(&[T0.named("T")]),
    op("", "Min", 12).inputs(1, ANY).takes(&[all("data_0", "T")]).gives(&[one("min", "T")]).types(&[T1.named("T")]),
    op("", "Min", 13).inputs(1, ANY).takes(&[all("data_0", "T")]).gives(&[one("min", "T")]).types(&[T2.named("T")]),
    op("", "Mish", 18).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Mish", 22).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "Mod", 10).inputs(2, 2).attrs(&[default(INT, "fmod", "0")]).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T1.named("T")]),
    op("", "Mod", 13).inputs(2, 2).attrs(&[default(INT, "fmod", "0")]).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T2.named("T")]),
    op("", "Mod", 28).inputs(2, 2).attrs(&[default(INT, "fmod", "0")]).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T2.named("T")]),
    op("", "Mul", 1).inputs(2, 2).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0"), optional(INTS, "consumed_inputs")]).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T0.named("T")]),
    op("", "Mul", 6).inputs(2, 2).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T4.named("T")]),
    op("", "Mul", 7).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T4.named("T")]),
    op("", "Mul", 13).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T5.named("T")]),
    op("", "Mul", 14).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T2.named("T")]),
    op("", "Multinomial", 7).attrs(&[default(INT, "dtype", "6"), default(INT, "sample_size", "1"), optional(FLOAT, "seed")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T0.named("T1"), T12.named("T2")]),
    op("", "Multinomial", 22).attrs(&[default(INT, "dtype", "6"), default(INT, "sample_size", "1"), optional(FLOAT, "seed")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T3.named("T1"), T12.named("T2")]),
    op("", "Neg", 1).attrs(&[optional(INTS, "consumed_inputs")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Neg", 6).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T68.named("T")]),
    op("", "Neg", 13).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T69.named("T")]),
    op("", "NegativeLogLikelihoodLoss", 12).inputs(2, 3).attrs(&[optional(INT, "ignore_index"), default(STRING, "reduction", "\"mean\"")]).takes(&[one("input", "T"), one("target", "Tind"), may("weight", "T")]).gives(&[one("loss", "T")]).types(&[T0.named("T"), T12.named("Tind")]),
    op("", "NegativeLogLikelihoodLoss", 13).inputs(2, 3).attrs(&[optional(INT, "ignore_index"), default(STRING, "reduction", "\"mean\"")]).takes(&[one("input", "T"), one("target", "Tind"), may("weight", "T")]).gives(&[one("loss", "T")]).types(&[T0.named("T"), T12.named("Tind")]),
    op("", "NegativeLogLikelihoodLoss", 22).inputs(2, 3).attrs(&[optional(INT, "ignore_index"), default(STRING, "reduction", "\"mean\"")]).takes(&[one("input", "T"), one("target", "Tind"), may("weight", "T")]).gives(&[one("loss", "T")]).types(&[T3.named("T"), T12.named("Tind")]),
    op("", "NonMaxSuppression", 10).inputs(2, 5).attrs(&[default(INT, "center_point_box", "0")]).takes(&[one("boxes", "tensor(float)"), one("scores", "tensor(float)"), may("max_output_boxes_per_class", "tensor(int64)"), may("iou_threshold", "tensor(float)"), may("score_threshold", "tensor(float)")]).gives(&[one("selected_indices", "tensor(int64)")]).types(&[T23.named("tensor(float)"), T6.named("tensor(int64)")]),
    op("", "NonMaxSuppression", 11).inputs(2, 5).attrs(&[default(INT, "center_point_box", "0")]).takes(&[one("boxes", "tensor(float)"), one("scores", "tensor(float)"), may("max_output_boxes_per_class", "tensor(int64)"), may("iou_threshold", "tensor(float)"), may("score_threshold", "tensor(float)")]).gives(&[one("selected_indices", "tensor(int64)")]).types(&[T23.named("tensor(float)"), T6.named("tensor(int64)")]),
    op("", "NonZero", 9).takes(&[one("X", "T")]).gives(&[one("Y", "tensor(int64)")]).types(&[T25.named("T"), T6.named("tensor(int64)")]),
    op("", "NonZero", 13).takes(&[one("X", "T")]).gives(&[one("Y", "tensor(int64)")]).types(&[T24.named("T"), T6.named("tensor(int64)")]),
    op("", "Not", 1).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T7.named("T")]),
    op("", "OneHot", 9).inputs(3, 3).attrs(&[default(INT, "axis", "-1")]).takes(&[one("indices", "T1"), one("depth", "T2"), one("values", "T3")]).gives(&[one("output", "T3")]).types(&[T1.named("T1"), T1.named("T2"), T25.named("T3")]),
    op("", "OneHot", 11).inputs(3, 3).attrs(&[default(INT, "axis", "-1")]).takes(&[one("indices", "T1"), one("depth", "T2"), one("values", "T3")]).gives(&[one("output", "T3")]).types(&[T1.named("T1"), T1.named("T2"), T25.named("T3")]),
    op("", "OneHot", 28).inputs(3, 3).attrs(&[default(INT, "axis", "-1")]).takes(&[one("indices", "T1"), one("depth", "T2"), one("values", "T3")]).gives(&[one("output", "T3")]).types(&[T1.named("T1"), T1.named("T2"), T24.named("T3")]),
    op("", "Optional", 15).inputs(0, 1).attrs(&[optional(TYPE, "type")]).takes(&[may("input", "V")]).gives(&[one("output", "O")]).types(&[T57.named("V"), T70.named("O")]),
    op("", "Optional", 28).inputs(0, 1).attrs(&[optional(TYPE, "type")]).takes(&[may("input", "V")]).gives(&[one("output", "O")]).types(&[T71.named("V"), T72.named("O")]),
    op("", "OptionalGetElement", 15).takes(&[one("input", "O")]).gives(&[one("output", "V")]).types(&[T70.named("O"), T57.named("V")]),
    op("", "OptionalGetElement", 18).takes(&[one("input", "O")]).gives(&[one("output", "V")]).types(&[T73.named("O"), T57.named("V")]),
    op("", "OptionalGetElement", 28).takes(&[one("input", "O")]).gives(&[one("output", "V")]).types(&[T74.named("O"), T71.named("V")]),
    op("", "OptionalHasElement", 15).takes(&[one("input", "O")]).gives(&[one("output", "B")]).types(&[T70.named("O"), T7.named("B")]),
    op("", "OptionalHasElement", 18).inputs(0, 1).takes(&[may("input", "O")]).gives(&[one("output", "B")]).types(&[T73.named("O"), T7.named("B")]),
    op("", "OptionalHasElement", 28).inputs(0, 1).takes(&[may("input", "O")]).gives(&[one("output", "B")]).types(&[T74.named("O"), T7.named("B")]),
    op("", "Or", 1).inputs(2, 2).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T7.named("T"), T7.named("T1")]),
    op("", "Or", 7).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T7.named("T"), T7.named("T1")]),
    op("", "PRelu", 1).inputs(2, 2).attrs(&[optional(INTS, "consumed_inputs")]).takes(&[one("X", "T"), one("slope", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "PRelu", 6).inputs(2, 2).takes(&[one("X", "T"), one("slope", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "PRelu", 7).inputs(2, 2).takes(&[one("X", "T"), one("slope", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "PRelu", 9).inputs(2, 2).takes(&[one("X", "T"), one("slope", "T")]).gives(&[one("Y", "T")]).types(&[T4.named("T")]),
    op("", "PRelu", 16).inputs(2, 2).takes(&[one("X", "T"), one("slope", "T")]).gives(&[one("Y", "T")]).types(&[T5.named("T")]),
    op("", "Pad", 1).attrs(&[default(STRING, "mode", "\"constant\""), required(INTS, "paddings"), default(FLOAT, "value", "0.0")]).takes(&[one("data", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Pad", 2).attrs(&[default(STRING, "mode", "\"constant\""), required(INTS, "pads"), default(FLOAT, "value", "0.0")]).takes(&[one("data", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Pad", 11).inputs(2, 3).attrs(&[default(STRING, "mode", "\"constant\"")]).takes(&[one("data", "T"), one("pads", "tensor(int64)"), may("constant_value", "T")]).gives(&[one("output", "T")]).types(&[T1.named("T"), T6.named("tensor(int64)")]),
    op("", "Pad", 13).inputs(2, 3).attrs(&[default(STRING, "mode", "\"constant\"")]).takes(&[one("data", "T"), one("pads", "tensor(int64)"), may("constant_value", "T")]).gives(&[one("output", "T")]).types(&[T24.named("T"), T6.named("tensor(int64)")]),
    op("", "Pad", 18).inputs(2, 4).attrs(&[default(STRING, "mode", "\"constant\"")]).takes(&[one("data", "T"), one("pads", "tensor(int64)"), may("constant_value", "T"), may("axes", "Tind")]).gives(&[one("output", "T")]).types(&[T24.named("T"), T12.named("Tind"), T6.named("tensor(int64)")]),
    op("", "Pad", 19).inputs(2, 4).attrs(&[default(STRING, "mode", "\"constant\"")]).takes(&[one("data", "T"), one("pads", "tensor(int64)"), may("constant_value", "T"), may("axes", "Tind")]).gives(&[one("output", "T")]).types(&[T24.named("T"), T12.named("Tind"), T6.named("tensor(int64)")]),
    op("", "Pad", 21).inputs(2, 4).attrs(&[default(STRING, "mode", "\"constant\"")]).takes(&[one("data", "T"), one("pads", "tensor(int64)"), may("constant_value", "T"), may("axes", "Tind")]).gives(&[one("output", "T")]).types(&[T28.named("T"), T12.named("Tind"), T6.named("tensor(int64)")]),
    op("", "Pad", 23).inputs(2, 4).attrs(&[default(STRING, "mode", "\"constant\"")]).takes(&[one("data", "T"), one("pads", "tensor(int64)"), may("constant_value", "T"), may("axes", "Tind")]).gives(&[one("output", "T")]).types(&[T29.named("T"), T12.named("Tind"), T6.named("tensor(int64)")]),
    op("", "Pad", 24).inputs(2, 4).attrs(&[default(STRING, "mode", "\"constant\"")]).takes(&[one("data", "T"), one("pads", "tensor(int64)"), may("constant_value", "T"), may("axes", "Tind")]).gives(&[one("output", "T")]).types(&[T30.named("T"), T12.named("Tind"), T6.named("tensor(int64)")]),
    op("", "Pad", 25).inputs(2, 4).attrs(&[default(STRING, "mode", "\"constant\"")]).takes(&[one("data", "T"), one("pads", "tensor(int64)"), may("constant_value", "T"), may("axes", "Tind")]).gives(&[one("output", "T")]).types(&[T31.named("T"), T12.named("Tind"), T6.named("tensor(int64)")]),
    op("", "Pow", 1).inputs(2, 2).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]).takes(&[one("X", "T"), one("Y", "T")]).gives(&[one("Z", "T")]).types(&[T0.named("T")]),
    op("", "Pow", 7).inputs(2, 2).takes(&[one("X", "T"), one("Y", "T")]).gives(&[one("Z", "T")]).types(&[T0.named("T")]),
    op("", "Pow", 12).inputs(2, 2).takes(&[one("X", "T"), one("Y", "T1")]).gives(&[one("Z", "T")]).types(&[T75.named("T"), T1.named("T1")]),
    op("", "Pow", 13).inputs(2, 2).takes(&[one("X", "T"), one("Y", "T1")]).gives(&[one("Z", "T")]).types(&[T76.named("T"), T1.named("T1")]),
    op("", "Pow", 15).inputs(2, 2).takes(&[one("X", "T"), one("Y", "T1")]).gives(&[one("Z", "T")]).types(&[T76.named("T"), T2.named("T1")]),
    op("", "QLinearConv", 10).inputs(8, 9).attrs(&[default(STRING, "auto_pad", "\"NOTSET\""), optional(INTS, "dilations"), default(INT, "group", "1"), optional(INTS, "kernel_shape"), optional(INTS, "pads"), optional(INTS, "strides")]).takes(&[one("x", "T1"), one("x_scale", "tensor(float)"), one("x_zero_point", "T1"), one("w", "T2"), one("w_scale", "tensor(float)"), one("w_zero_point", "T2"), one("y_scale", "tensor(float)"), one("y_zero_point", "T3"), may("B", "T4")]).gives(&[one("y", "T3")]).types(&[T37.named("T1"), T37.named("T2"), T37.named("T3"), T38.named("T4"), T23.named("tensor(float)")]),
    op("", "QLinearMatMul", 10).inputs(8, 8).takes(&[one("a", "T1"), one("a_scale", "tensor(float)"), one("a_zero_point", "T1"), one("b", "T2"), one("b_scale", "tensor(float)"), one("b_zero_point", "T2"), one("y_scale", "tensor(float)"), one("y_zero_point", "T3")]).gives(&[one("y", "T3")]).types(&[T37.named("T1"), T37.named("T2"), T37.named("T3"), T23.named("tensor(float)")]),
    op("", "QLinearMatMul", 21).inputs(8, 8).takes(&[one("a", "T1"), one("a_scale", "TS"), one("a_zero_point", "T1"), one("b", "T2"), one("b_scale", "TS"), one("b_zero_point", "T2"), one("y_scale", "TS"), one("y_zero_point", "T3")]).gives(&[one("y", "T3")]).types(&[T22.named("TS"), T77.named("T1"), T77.named("T2"), T77.named("T3")]),
    op("", "QuantizeLinear", 10).inputs(2, 3).takes(&[one("x", "T1"), one("y_scale", "tensor(float)"), may("y_zero_point", "T2")]).gives(&[one("y", "T2")]).types(&[T78.named("T1"), T37.named("T2"), T23.named("tensor(float)")]),
    op("", "QuantizeLinear", 13).inputs(2, 3).attrs(&[default(INT, "axis", "1")]).takes(&[one("x", "T1"), one("y_scale", "tensor(float)"), may("y_zero_point", "T2")]).gives(&[one("y", "T2")]).types(&[T78.named("T1"), T37.named("T2"), T23.named("tensor(float)")]),
    op("", "QuantizeLinear", 19).inputs(2, 3).attrs(&[default(INT, "axis", "1"), default(INT, "saturate", "1")]).takes(&[one("x", "T1"), one("y_scale", "T1"), may("y_zero_point", "T2")]).gives(&[one("y", "T2")]).types(&[T79.named("T1"), T77.named("T2")]),
    op("", "QuantizeLinear", 21).inputs(2, 3).attrs(&[default(INT, "axis", "1"), default(INT, "block_size", "0"), default(INT, "output_dtype", "0"), default(INT, "saturate", "1")]).takes(&[one("x", "T1"), one("y_scale", "T1"), may("y_zero_point", "T2")]).gives(&[one("y", "T2")]).types(&[T79.named("T1"), T80.named("T2")]),
    op("", "QuantizeLinear", 23).inputs(2, 3).attrs(&[default(INT, "axis", "1"), default(INT, "block_size", "0"), default(INT, "output_dtype", "0"), default(INT, "precision", "0"), default(INT, "saturate", "1")]).takes(&[one("x", "T1"), one("y_scale", "T2"), may("y_zero_point", "T3")]).gives(&[one("y", "T3")]).types(&[T79.named("T1"), T79.named("T2"), T81.named("T3")]),
    op("", "QuantizeLinear", 24).inputs(2, 3).attrs(&[default(INT, "axis", "1"), default(INT, "block_size", "0"), default(INT, "output_dtype", "0"), default(INT, "precision", "0"), default(INT, "saturate", "1")]).takes(&[one("x", "T1"), one("y_scale", "T2"), may("y_zero_point", "T3")]).gives(&[one("y", "T3")]).types(&[T79.named("T1"), T82.named("T2"), T81.named("T3")]),
    op("", "QuantizeLinear", 25).inputs(2, 3).attrs(&[default(INT, "axis", "1"), default(INT, "block_size", "0"), default(INT, "output_dtype", "0"), default(INT, "precision", "0"), default(INT, "saturate", "1")]).takes(&[one("x", "T1"), one("y_scale", "T2"), may("y_zero_point", "T3")]).gives(&[one("y", "T3")]).types(&[T79.named("T1"), T82.named("T2"), T83.named("T3")]),
    op("", "QuantizeLinear", 28).inputs(2, 3).attrs(&[default(INT, "axis", "1"), default(INT, "block_size", "0"), default(INT, "output_dtype", "0"), default(INT, "precision", "0"), default(INT, "saturate", "1")]).takes(&[one("x", "T1"), one("y_scale", "T2"), may("y_zero_point", "T3")]).gives(&[one("y", "T3")]).types(&[T79.named("T1"), T82.named("T2"), T84.named("T3")]),
    op("", "RMSNormalization", 23).inputs(2, 2).attrs(&[default(INT, "axis", "-1"), default(FLOAT, "epsilon", "1e-5"), default(INT, "stash_type", "1")]).takes(&[one("X", "T"), one("scale", "V")]).gives(&[one("Y", "V")]).types(&[T3.named("T"), T3.named("V")]),
    op("", "RNN", 1).inputs(3, 6).outputs(0, 2).attrs(&[optional(FLOATS, "activation_alpha"), optional(FLOATS, "activation_beta"), default(STRINGS, "activations", "[\"Tanh\", \"Tanh\"]"), optional(FLOAT, "clip"), default(STRING, "direction", "\"forward\""), optional(INT, "hidden_size"), default(INT, "output_sequence", "0")]).takes(&[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T")]).gives(&[may("Y", "T"), may("Y_h", "T")]).types(&[T0.named("T"), T38.named("T1")]),
    op("", "RNN", 7).inputs(3, 6).outputs(0, 2).attrs(&[optional(FLOATS, "activation_alpha"), optional(FLOATS, "activation_beta"), default(STRINGS, "activations", "[\"Tanh\", \"Tanh\"]"), optional(FLOAT, "clip"), default(STRING, "direction", "\"forward\""), optional(INT, "hidden_size")]).takes(&[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T")]).gives(&[may("Y", "T"), may("Y_h", "T")]).types(&[T0.named("T"), T38.named("T1")]),
    op("", "RNN", 14).inputs(3, 6).outputs(0, 2).attrs(&[optional(FLOATS, "activation_alpha"), optional(FLOATS, "activation_beta"), default(STRINGS, "activations", "[\"Tanh\", \"Tanh\"]"), optional(FLOAT, "clip"), default(STRING, "direction", "\"forward\""), optional(INT, "hidden_size"), default(INT, "layout", "0")]).takes(&[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T")]).gives(&[may("Y", "T"), may("Y_h", "T")]).types(&[T0.named("T"), T38.named("T1")]),
    op("", "RNN", 22).inputs(3, 6).outputs(0, 2).attrs(&[optional(FLOATS, "activation_alpha"), optional(FLOATS, "activation_beta"), default(STRINGS, "activations", "[\"Tanh\", \"Tanh\"]"), optional(FLOAT, "clip"), default(STRING, "direction", "\"forward\""), optional(INT, "hidden_size"), default(INT, "layout", "0")]).takes(&[one("X", "T"), one("W", "T"), one("R", "T"), may("B", "T"), may("sequence_lens", "T1"), may("initial_h", "T")]).gives(&[may("Y", "T"), may("Y_h", "T")]).types(&[T3.named("T"), T38.named("T1")]),
    op("", "RandomNormal", 1).inputs(0, 0).attrs(&[default(INT, "dtype", "1"), default(FLOAT, "mean", "0.0"), default(FLOAT, "scale", "1.0"), optional(FLOAT, "seed"), required(INTS, "shape")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "RandomNormal", 22).inputs(0, 0).attrs(&[default(INT, "dtype", "1"), default(FLOAT, "mean", "0.0"), default(FLOAT, "scale", "1.0"), optional(FLOAT, "seed"), required(INTS, "shape")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "RandomNormalLike", 1).attrs(&[optional(INT, "dtype"), default(FLOAT, "mean", "0.0"), default(FLOAT, "scale", "1.0"), optional(FLOAT, "seed")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T25.named("T1"), T0.named("T2")]),
    op("", "RandomNormalLike", 22).attrs(&[optional(INT, "dtype"), default(FLOAT, "mean", "0.0"), default(FLOAT, "scale", "1.0"), optional(FLOAT, "seed")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T24.named("T1"), T3.named("T2")]),
    op("", "RandomUniform", 1).inputs(0, 0).attrs(&[default(INT, "dtype", "1"), default(FLOAT, "high", "1.0"), default(FLOAT, "low", "0.0"), optional(FLOAT, "seed"), required(INTS, "shape")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "RandomUniform", 22).inputs(0, 0).attrs(&[default(INT, "dtype", "1"), default(FLOAT, "high", "1.0"), default(FLOAT, "low", "0.0"), optional(FLOAT, "seed"), required(INTS, "shape")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "RandomUniformLike", 1).attrs(&[optional(INT, "dtype"), default(FLOAT, "high", "1.0"), default(FLOAT, "low", "0.0"), optional(FLOAT, "seed")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T25.named("T1"), T0.named("T2")]),
    op("", "RandomUniformLike", 22).attrs(&[optional(INT, "dtype"), default(FLOAT, "high", "1.0"), default(FLOAT, "low", "0.0"), optional(FLOAT, "seed")]).takes(&[one("input", "T1")]).gives(&[one("output", "T2")]).types(&[T24.named("T1"), T3.named("T2")]),
    op("", "Range", 11).inputs(3, 3).takes(&[one("start", "T"), one("limit", "T"), one("delta", "T")]).gives(&[one("output", "T")]).types(&[T85.named("T")]),
    op("", "Range", 27).inputs(3, 3).attrs(&[default(INT, "stash_type", "1")]).takes(&[one("start", "T"), one("limit", "T"), one("delta", "T")]).gives(&[one("output", "T")]).types(&[T86.named("T")]),
    op("", "Reciprocal", 1).attrs(&[optional(INTS, "consumed_inputs")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Reciprocal", 6).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Reciprocal", 13).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "ReduceL1", 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceL1", 11).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceL1", 13).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T5.named("T")]),
    op("", "ReduceL1", 18).inputs(1, 2).attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")]).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("reduced", "T")]).types(&[T5.named("T"), T6.named("tensor(int64)")]),
    op("", "ReduceL2", 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceL2", 11).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceL2", 13).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T5.named("T")]),
    op("", "ReduceL2", 18).inputs(1, 2).attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")]).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("reduced", "T")]).types(&[T5.named("T"), T6.named("tensor(int64)")]),
    op("", "ReduceLogSum", 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceLogSum", 11).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceLogSum", 13).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T5.named("T")]),
    op("", "ReduceLogSum", 18).inputs(1, 2).attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")]).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("reduced", "T")]).types(&[T5.named("T"), T6.named("tensor(int64)")]),
    op("", "ReduceLogSum", 28).inputs(1, 2).attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")]).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("reduced", "T")]).types(&[T3.named("T"), T6.named("tensor(int64)")]),
    op("", "ReduceLogSumExp", 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceLogSumExp", 11).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceLogSumExp", 13).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T5.named("T")]),
    op("", "ReduceLogSumExp", 18).inputs(1, 2).attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")]).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("reduced", "T")]).types(&[T5.named("T"), T6.named("tensor(int64)")]),
    op("", "ReduceLogSumExp", 28).inputs(1, 2).attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")]).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("reduced", "T")]).types(&[T3.named("T"), T6.named("tensor(int64)")]),
    op("", "ReduceMax", 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceMax", 11).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceMax", 12).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T87.named("T")]),
    op("", "ReduceMax", 13).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T88.named("T")]),
    op("", "ReduceMax", 18).inputs(1, 2).attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")]).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("reduced", "T")]).types(&[T88.named("T"), T6.named("tensor(int64)")]),
    op("", "ReduceMax", 20).inputs(1, 2).attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")]).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("reduced", "T")]).types(&[T89.named("T"), T6.named("tensor(int64)")]),
    op("", "ReduceMean", 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceMean", 11).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceMean", 13).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T5.named("T")]),
    op("", "ReduceMean", 18).inputs(1, 2).attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")]).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("reduced", "T")]).types(&[T5.named("T"), T6.named("tensor(int64)")]),
    op("", "ReduceMin", 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceMin", 11).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceMin", 12).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T87.named("T")]),
    op("", "ReduceMin", 13).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T88.named("T")]),
    op("", "ReduceMin", 18).inputs(1, 2).attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")]).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("reduced", "T")]).types(&[T88.named("T"), T6.named("tensor(int64)")]),
    op("", "ReduceMin", 20).inputs(1, 2).attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")]).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("reduced", "T")]).types(&[T89.named("T"), T6.named("tensor(int64)")]),
    op("", "ReduceProd", 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceProd", 11).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceProd", 13).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T5.named("T")]),
    op("", "ReduceProd", 18).inputs(1, 2).attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")]).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("reduced", "T")]).types(&[T5.named("T"), T6.named("tensor(int64)")]),
    op("", "ReduceSum", 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceSum", 11).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceSum", 13).inputs(1, 2).attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")]).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("reduced", "T")]).types(&[T5.named("T"), T6.named("tensor(int64)")]),
    op("", "ReduceSumSquare", 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceSumSquare", 11).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T4.named("T")]),
    op("", "ReduceSumSquare", 13).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).takes(&[one("data", "T")]).gives(&[one("reduced", "T")]).types(&[T5.named("T")]),
    op("", "ReduceSumSquare", 18).inputs(1, 2).attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")]).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("reduced", "T")]).types(&[T5.named("T"), T6.named("tensor(int64)")]),
    op("", "RegexFullMatch", 20).attrs(&[optional(STRING, "pattern")]).takes(&[one("X", "T1")]).gives(&[one("Y", "T2")]).types(&[T90.named("T1"), T7.named("T2")]),
    op("", "Relu", 1).attrs(&[optional(INTS, "consumed_inputs")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Relu", 6).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Relu", 13).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "Relu", 14).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T69.named("T")]),
    op("", "Reshape", 1).attrs(&[optional(INTS, "consumed_inputs"), optional(INTS, "shape")]).takes(&[one("data", "T")]).gives(&[one("reshaped", "T")]).types(&[T0.named("T")]),
    op("", "Reshape", 5).inputs(2, 2).takes(&[one("data", "T"), one("shape", "tensor(int64)")]).gives(&[one("reshaped", "T")]).types(&[T25.named("T"), T6.named("tensor(int64)")]),
    op("", "Reshape", 13).inputs(2, 2).takes(&[one("data", "T"), one("shape", "tensor(int64)")]).gives(&[one("reshaped", "T")]).types(&[T24.named("T"), T6.named("tensor(int64)")]),
    op("", "Reshape", 14).inputs(2, 2).attrs(&[default(INT, "allowzero", "0")]).takes(&[one("data", "T"), one("shape", "tensor(int64)")]).gives(&[one("reshaped", "T")]).types(&[T24.named("T"), T6.named("tensor(int64)")]),
    op("", "Reshape", 19).inputs(2, 2).attrs(&[default(INT, "allowzero", "0")]).takes(&[one("data", "T"), one("shape", "tensor(int64)")]).gives(&[one("reshaped", "T")]).types(&[T27.named("T"), T6.named("tensor(int64)")]),
    op("", "Reshape", 21).inputs(2, 2).attrs(&[default(INT, "allowzero", "0")]).takes(&[one("data", "T"), one("shape", "tensor(int64)")]).gives(&[one("reshaped", "T")]).types(&[T28.named("T"), T6.named("tensor(int64)")]),
    op("", "Reshape", 23).inputs(2, 2).attrs(&[default(INT, "allowzero", "0")]).takes(&[one("data", "T"), one("shape", "tensor(int64)")]).gives(&[one("reshaped", "T")]).types(&[T29.named("T"), T6.named("tensor(int64)")]),
    op("", "Reshape", 24).inputs(2, 2).attrs(&[default(INT, "allowzero", "0")]).takes(&[one("data", "T"), one("shape", "tensor(int64)")]).gives(&[one("reshaped", "T")]).types(&[T30.named("T"), T6.named("tensor(int64)")]),
    op("", "Reshape", 25).inputs(2, 2).attrs(&[default(INT, "allowzero", "0")]).takes(&[one("data", "T"), one("shape", "tensor(int64)")]).gives(&[one("reshaped", "T")]).types(&[T31.named("T"), T6.named("tensor(int64)")]),
    op("", "Resize", 10).inputs(2, 2).attrs(&[default(STRING, "mode", "\"nearest\"")]).takes(&[one("X", "T"), one("scales", "tensor(float)")]).gives(&[one("Y", "T")]).types(&[T25.named("T"), T23.named("tensor(float)")]),
    op("", "Resize", 11).inputs(3, 4).attrs(&[default(STRING, "coordinate_transformation_mode", "\"half_pixel\""), default(FLOAT, "cubic_coeff_a", "-0.75"), default(INT, "exclude_outside", "0"), default(FLOAT, "extrapolation_value", "0.0"), default(STRING, "mode", "\"nearest\""), default(STRING, "nearest_mode", "\"round_prefer_floor\"")]).takes(&[one("X", "T1"), one("roi", "T2"), one("scales", "tensor(float)"), may("sizes", "tensor(int64)")]).gives(&[one("Y", "T1")]).types(&[T25.named("T1"), T0.named("T2"), T23.named("tensor(float)"), T6.named("tensor(int64)")]),
    op("", "Resize", 13).inputs(1, 4).attrs(&[default(STRING, "coordinate_transformation_mode", "\"half_pixel\""), default(FLOAT, "cubic_coeff_a", "-0.75"), default(INT, "exclude_outside", "0"), default(FLOAT, "extrapolation_value", "0.0"), default(STRING, "mode", "\"nearest\""), default(STRING, "nearest_mode", "\"round_prefer_floor\"")]).takes(&[one("X", "T1"), may("roi", "T2"), may("scales", "tensor(float)"), may("sizes", "tensor(int64)")]).gives(&[one("Y", "T1")]).types(&[T24.named("T1"), T0.named("T2"), T23.named("tensor(float)"), T6.named("tensor(int64)")]),
    op("", "Resize", 18).inputs(1, 4).attrs(&[default(INT, "antialias", "0"), optional(INTS, "axes"), default(STRING, "coordinate_transformation_mode", "\"half_pixel\""), default(FLOAT, "cubic_coeff_a", "-0.75"), default(INT, "exclude_outside", "0"), default(FLOAT, "extrapolation_value", "0.0"), default(STRING, "keep_aspect_ratio_policy", "\"stretch\""), default(STRING, "mode", "\"nearest\""), default(STRING, "nearest_mode", "\"round_prefer_floor\"")]).takes(&[one("X", "T1"), may("roi", "T2"), may("scales", "tensor(float)"), may("sizes", "tensor(int64)")]).gives(&[one("Y", "T1")]).types(&[T24.named("T1"), T0.named("T2"), T23.named("tensor(float)"), T6.named("tensor(int64)")]),
    op("", "Resize", 19).inputs(1, 4).attrs(&[default(INT, "antialias", "0"), optional(INTS, "axes"), default(STRING, "coordinate_transformation_mode", "\"half_pixel\""), default(FLOAT, "cubic_coeff_a", "-0.75"), default(INT, "exclude_outside", "0"), default(FLOAT, "extrapolation_value", "0.0"), default(STRING, "keep_aspect_ratio_policy", "\"stretch\""), default(STRING, "mode", "\"nearest\""), default(STRING, "nearest_mode", "\"round_prefer_floor\"")]).takes(&[one("X", "T1"), may("roi", "T2"), may("scales", "tensor(float)"), may("sizes", "tensor(int64)")]).gives(&[one("Y", "T1")]).types(&[T24.named("T1"), T0.named("T2"), T23.named("tensor(float)"), T6.named("tensor(int64)")]),
    op("", "ReverseSequence", 10).inputs(2, 2).attrs(&[default(INT, "batch_axis", "1"), default(INT, "time_axis", "0")]).takes(&[one("input", "T"), one("sequence_lens", "tensor(int64)")]).gives(&[one("Y", "T")]).types(&[T25.named("T"), T6.named("tensor(int64)")]),
    op("", "ReverseSequence", 28).inputs(2, 2).attrs(&[default(INT, "batch_axis", "1"), default(INT, "time_axis", "0")]).takes(&[one("input", "T"), one("sequence_lens", "tensor(int64)")]).gives(&[one("Y", "T")]).types(&[T24.named("T"), T6.named("tensor(int64)")]),
    op("", "RoiAlign", 10).inputs(3, 3).attrs(&[default(STRING, "mode", "\"avg\""), default(INT, "output_height", "1"), default(INT, "output_width", "1"), default(INT, "sampling_ratio", "0"), default(FLOAT, "spatial_scale", "1.0")]).takes(&[one("X", "T1"), one("rois", "T1"), one("batch_indices", "T2")]).gives(&[one("Y", "T1")]).types(&[T0.named("T1"), T6.named("T2")]),
    op("", "RoiAlign", 16).inputs(3, 3).attrs(&[default(STRING, "coordinate_transformation_mode", "\"half_pixel\""), default(STRING, "mode", "\"avg\""), default(INT, "output_height", "1"), default(INT, "output_width", "1"), default(INT, "sampling_ratio", "0"), default(FLOAT, "spatial_scale", "1.0")]).takes(&[one("X", "T1"), one("rois", "T1"), one("batch_indices", "T2")]).gives(&[one("Y", "T1")]).types(&[T0.named("T1"), T6.named("T2")]),
    op("", "RoiAlign", 22).inputs(3, 3).attrs(&[default(STRING, "coordinate_transformation_mode", "\"half_pixel\""), default(STRING, "mode", "\"avg\""), default(INT, "output_height", "1"), default(INT, "output_width", "1"), default(INT, "sampling_ratio", "0"), default(FLOAT, "spatial_scale", "1.0")]).takes(&[one("X", "T1"), one("rois", "T1"), one("batch_indices", "T2")]).gives(&[one("Y", "T1")]).types(&[T3.named("T1"), T6.named("T2")]),
    op("", "RotaryEmbedding", 23).inputs(3, 4).attrs(&[default(INT, "interleaved", "0"), optional(INT, "num_heads"), default(INT, "rotary_embedding_dim", "0")]).takes(&[one("X", "T"), one("cos_cache", "T"), one("sin_cache", "T"), may("position_ids", "M")]).gives(&[one("Y", "T")]).types(&[T22.named("T"), T6.named("M")]),
    op("", "Round", 11).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Round", 22).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "STFT", 17).inputs(2, 4).attrs(&[default(INT, "onesided", "1")]).takes(&[one("signal", "T1"), one("frame_step", "T2"), may("window", "T1"), may("frame_length", "T2")]).gives(&[one("output", "T1")]).types(&[T3.named("T1"), T12.named("T2")]),
    op("", "Scan", 8).inputs(2, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body"), optional(INTS, "directions"), required(INT, "num_scan_inputs")]).takes(&[may("sequence_lens", "I"), mix("initial_state_and_scan_inputs", "V")]).gives(&[mix("final_state_and_scan_outputs", "V")]).types(&[T6.named("I"), T25.named("V")]),
    op("", "Scan", 9).inputs(1, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body"), required(INT, "num_scan_inputs"), optional(INTS, "scan_input_axes"), optional(INTS, "scan_input_directions"), optional(INTS, "scan_output_axes"), optional(INTS, "scan_output_directions")]).takes(&[mix("initial_state_and_scan_inputs", "V")]).gives(&[mix("final_state_and_scan_outputs", "V")]).types(&[T25.named("V")]),
    op("", "Scan", 11).inputs(1, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body"), required(INT, "num_scan_inputs"), optional(INTS, "scan_input_axes"), optional(INTS, "scan_input_directions"), optional(INTS, "scan_output_axes"), optional(INTS, "scan_output_directions")]).takes(&[mix("initial_state_and_scan_inputs", "V")]).gives(&[mix("final_state_and_scan_outputs", "V")]).types(&[T25.named("V")]),
    op("", "Scan", 16).inputs(1, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body"), required(INT, "num_scan_inputs"), optional(INTS, "scan_input_axes"), optional(INTS, "scan_input_directions"), optional(INTS, "scan_output_axes"), optional(INTS, "scan_output_directions")]).takes(&[mix("initial_state_and_scan_inputs", "V")]).gives(&[mix("final_state_and_scan_outputs", "V")]).types(&[T24.named("V")]),
    op("", "Scan", 19).inputs(1, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body"), required(INT, "num_scan_inputs"), optional(INTS, "scan_input_axes"), optional(INTS, "scan_input_directions"), optional(INTS, "scan_output_axes"), optional(INTS, "scan_output_directions")]).takes(&[mix("initial_state_and_scan_inputs", "V")]).gives(&[mix("final_state_and_scan_outputs", "V")]).types(&[T27.named("V")]),
    op("", "Scan", 21).inputs(1, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body"), required(INT, "num_scan_inputs"), optional(INTS, "scan_input_axes"), optional(INTS, "scan_input_directions"), optional(INTS, "scan_output_axes"), optional(INTS, "scan_output_directions")]).takes(&[mix("initial_state_and_scan_inputs", "V")]).gives(&[mix("final_state_and_scan_outputs", "V")]).types(&[T28.named("V")]),
    op("", "Scan", 23).inputs(1, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body"), required(INT, "num_scan_inputs"), optional(INTS, "scan_input_axes"), optional(INTS, "scan_input_directions"), optional(INTS, "scan_output_axes"), optional(INTS, "scan_output_directions")]).takes(&[mix("initial_state_and_scan_inputs", "V")]).gives(&[mix("final_state_and_scan_outputs", "V")]).types(&[T29.named("V")]),
    op("", "Scan", 24).inputs(1, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body"), required(INT, "num_scan_inputs"), optional(INTS, "scan_input_axes"), optional(INTS, "scan_input_directions"), optional(INTS, "scan_output_axes"), optional(INTS, "scan_output_directions")]).takes(&[mix("initial_state_and_scan_inputs", "V")]).gives(&[mix("final_state_and_scan_outputs", "V")]).types(&[T30.named("V")]),
    op("", "Scan", 25).inputs(1, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body"), required(INT, "num_scan_inputs"), optional(INTS, "scan_input_axes"), optional(INTS, "scan_input_directions"), optional(INTS, "scan_output_axes"), optional(INTS, "scan_output_directions")]).takes(&[mix("initial_state_and_scan_inputs", "V")]).gives(&[mix("final_state_and_scan_outputs", "V")]).types(&[T31.named("V")]),
    op("", "Scatter", 9).inputs(3, 3).attrs(&[default(INT, "axis", "0")]).takes(&[one("data", "T"), one("indices", "Tind"), one("updates", "T")]).gives(&[one("output", "T")]).types(&[T25.named("T"), T12.named("Tind")]),
    op("", "Scatter", 11).inputs(3, 3).attrs(&[default(INT, "axis", "0")]).takes(&[one("data", "T"), one("indices", "Tind"), one("updates", "T")]).gives(&[one("output", "T")]).types(&[T25.named("T"), T12.named("Tind")]),
    op("", "ScatterElements", 11).inputs(3, 3).attrs(&[default(INT, "axis", "0")]).takes(&[one("data", "T"), one("indices", "Tind"), one("updates", "T")]).gives(&[one("output", "T")]).types(&[T25.named("T"), T12.named("Tind")]),
    op("", "ScatterElements", 13).inputs(3, 3).attrs(&[default(INT, "axis", "0")]).takes(&[one("data", "T"), one("indices", "Tind"), one("updates", "T")]).gives(&[one("output", "T")]).types(&[T24.named("T"), T12.named("Tind")]),
    op("", "ScatterElements", 16).inputs(3, 3).attrs(&[default(INT, "axis", "0"), default(STRING, "reduction", "\"none\"")]).takes(&[one("data", "T"), one("indices", "Tind"), one("updates", "T")]).gives(&[one("output", "T")]).types(&[T24.named("T"), T12.named("Tind")]),
    op("", "ScatterElements", 18).inputs(3, 3).attrs(&[default(INT, "axis", "0"), default(STRING, "reduction", "\"none\"")]).takes(&[one("data", "T"), one("indices", "Tind"), one("updates", "T")]).gives(&[one("output", "T")]).types(&[T24.named("T"), T12.named("Tind")]),
    op("", "ScatterND", 11).inputs(3, 3).takes(&[one("data", "T"), one("indices", "tensor(int64)"), one("updates", "T")]).gives(&[one("output", "T")]).types(&[T25.named("T"), T6.named("tensor(int64)")]),
    op("", "ScatterND", 13).inputs(3, 3).takes(&[one("data", "T"), one("indices", "tensor(int64)"), one("updates", "T")]).gives(&[one("output", "T")]).types(&[T24.named("T"), T6.named("tensor(int64)")]),
    op("", "ScatterND", 16).inputs(3, 3).attrs(&[default(STRING, "reduction", "\"none\"")]).takes(&[one("data", "T"), one("indices", "tensor(int64)"), one("updates", "T")]).gives(&[one("output", "T")]).types(&[T24.named("T"), T6.named("tensor(int64)")]),
    op("", "ScatterND", 18).inputs(3, 3).attrs(&[default(STRING, "reduction", "\"none\"")]).takes(&[one("data", "T"), one("indices", "tensor(int64)"), one("updates", "T")]).gives(&[one("output", "T")]).types(&[T24.named("T"), T6.named("tensor(int64)")]),
    op("", "Selu", 1).attrs(&[default(FLOAT, "alpha", "1.6732"), optional(INTS, "consumed_inputs"), default(FLOAT, "gamma", "1.0507")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Selu", 6).attrs(&[default(FLOAT, "alpha", "1.6732632"), default(FLOAT, "gamma", "1.050701")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Selu", 22).attrs(&[default(FLOAT, "alpha", "1.6732632"), default(FLOAT, "gamma", "1.050701")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "SequenceAt", 11).inputs(2, 2).takes(&[one("input_sequence", "S"), one("position", "I")]).gives(&[one("tensor", "T")]).types(&[T26.named("S"), T25.named("T"), T12.named("I")]),
    op("", "SequenceConstruct", 11).inputs(1, ANY).takes(&[all("inputs", "T")]).gives(&[one("output_sequence", "S")]).types(&[T25.named("T"), T26.named("S")]),
    op("", "SequenceEmpty", 11).inputs(0, 0).attrs(&[optional(INT, "dtype")]).gives(&[one("output", "S")]).types(&[T26.named("S")]),
    op("", "SequenceErase", 11).inputs(1, 2).takes(&[one("input_sequence", "S"), may("position", "I")]).gives(&[one("output_sequence", "S")]).types(&[T26.named("S"), T12.named("I")]),
    op("", "SequenceInsert", 11).inputs(2, 3).takes(&[one("input_sequence", "S"), one("tensor", "T"), may("position", "I")]).gives(&[one("output_sequence", "S")]).types(&[T25.named("T"), T26.named("S"), T12.named("I")]),
    op("", "SequenceLength", 11).takes(&[one("input_sequence", "S")]).gives(&[one("length", "I")]).types(&[T26.named("S"), T6.named("I")]),
    op("", "SequenceMap", 17).inputs(1, ANY).outputs(1, ANY).attrs(&[required(GRAPH, "body")]).takes(&[one("input_sequence", "S"), mix("additional_inputs", "V")]).gives(&[mix("out_sequence", "S")]).types(&[T26.named("S"), T57.named("V")]),
    op("", "Shape", 1).takes(&[one("data", "T")]).gives(&[one("shape", "T1")]).types(&[T25.named("T"), T6.named("T1")]),
    op("", "Shape", 13).takes(&[one("data", "T")]).gives(&[one("shape", "T1")]).types(&[T24.named("T"), T6.named("T1")]),
    op("", "Shape", 15).attrs(&[optional(INT, "end"), default(INT, "start", "0")]).takes(&[one("data", "T")]).gives(&[one("shape", "T1")]).types(&[T24.named("T"), T6.named("T1")]),
    op("", "Shape", 19).attrs(&[optional(INT, "end"), default(INT, "start", "0")]).takes(&[one("data", "T")]).gives(&[one("shape", "T1")]).types(&[T27.named("T"), T6.named("T1")]),
    op("", "Shape", 21).attrs(&[optional(INT, "end"), default(INT, "start", "0")]).takes(&[one("data", "T")]).gives(&[one("shape", "T1")]).types(&[T28.named("T"), T6.named("T1")]),
    op("", "Shape", 23).attrs(&[optional(INT, "end"), default(INT, "start", "0")]).takes(&[one("data", "T")]).gives(&[one("shape", "T1")]).types(&[T29.named("T"), T6.named("T1")]),
    op("", "Shape", 24).attrs(&[optional(INT, "end"), default(INT, "start", "0")]).takes(&[one("data", "T")]).gives(&[one("shape", "T1")]).types(&[T30.named("T"), T6.named("T1")]),
    op("", "Shape", 25).attrs(&[optional(INT, "end"), default(INT, "start", "0")]).takes(&[one("data", "T")]).gives(&[one("shape", "T1")]).types(&[T31.named("T"), T6.named("T1")]),
    op("", "Shrink", 9).attrs(&[default(FLOAT, "bias", "0.0"), default(FLOAT, "lambd", "0.5")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T1.named("T")]),
    op("", "Sigmoid", 1).attrs(&[optional(INTS, "consumed_inputs")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Sigmoid", 6).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Sigmoid", 13).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "Sign", 9).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T1.named("T")]),
    op("", "Sign", 13).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T2.named("T")]),
    op("", "Sin", 7).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Sin", 22).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "Sinh", 9).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Sinh", 22).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "Size", 1).takes(&[one("data", "T")]).gives(&[one("size", "T1")]).types(&[T25.named("T"), T6.named("T1")]),
    op("", "Size", 13).takes(&[one("data", "T")]).gives(&[one("size", "T1")]).types(&[T24.named("T"), T6.named("T1")]),
    op("", "Size", 19).takes(&[one("data", "T")]).gives(&[one("size", "T1")]).types(&[T27.named("T"), T6.named("T1")]),
    op("", "Size", 21).takes(&[one("data", "T")]).gives(&[one("size", "T1")]).types(&[T28.named("T"), T6.named("T1")]),
    op("", "Size", 23).takes(&[one("data", "T")]).gives(&[one("size", "T1")]).types(&[T29.named("T"), T6.named("T1")]),
    op("", "Size", 24).takes(&[one("data", "T")]).gives(&[one("size", "T1")]).types(&[T30.named("T"), T6.named("T1")]),
    op("", "Size", 25).takes(&[one("data", "T")]).gives(&[one("size", "T1")]).types(&[T31.named("T"), T6.named("T1")]),
    op("", "Slice", 1).attrs(&[optional(INTS, "axes"), required(INTS, "ends"), required(INTS, "starts")]).takes(&[one("data", "T")]).gives(&[one("output", "T")]).types(&[T25.named("T")]),
    op("", "Slice", 10).inputs(3, 5).takes(&[one("data", "T"), one("starts", "Tind"), one("ends", "Tind"), may("axes", "Tind"), may("steps", "Tind")]).gives(&[one("output", "T")]).types(&[T25.named("T"), T12.named("Tind")]),
    op("", "Slice", 11).inputs(3, 5).takes(&[one("data", "T"), one("starts", "Tind"), one("ends", "Tind"), may("axes", "Tind"), may("steps", "Tind")]).gives(&[one("output", "T")]).types(&[T25.named("T"), T12.named("Tind")]),
    op("", "Slice", 13).inputs(3, 5).takes(&[one("data", "T"), one("starts", "Tind"), one("ends", "Tind"), may("axes", "Tind"), may("steps", "Tind")]).gives(&[one("output", "T")]).types(&[T24.named("T"), T12.named("Tind")]),
    op("", "Softmax", 1).attrs(&[default(INT, "axis", "1")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Softmax", 11).attrs(&[default(INT, "axis", "1")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Softmax", 13).attrs(&[default(INT, "axis", "-1")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "SoftmaxCrossEntropyLoss", 12).inputs(2, 3).outputs(1, 2).attrs(&[optional(INT, "ignore_index"), default(STRING, "reduction", "\"mean\"")]).takes(&[one("scores", "T"), one("labels", "Tind"), may("weights", "T")]).gives(&[one("output", "T"), may("log_prob", "T")]).types(&[T0.named("T"), T12.named("Tind")]),
    op("", "SoftmaxCrossEntropyLoss", 13).inputs(2, 3).outputs(1, 2).attrs(&[optional(INT, "ignore_index"), default(STRING, "reduction", "\"mean\"")]).takes(&[one("scores", "T"), one("labels", "Tind"), may("weights", "T")]).gives(&[one("output", "T"), may("log_prob", "T")]).types(&[T3.named("T"), T12.named("Tind")]),
    op("", "Softplus", 1).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Softplus", 22).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "Softsign", 1).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Softsign", 22).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "SpaceToDepth", 1).attrs(&[required(INT, "blocksize")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T25.named("T")]),
    op("", "SpaceToDepth", 13).attrs(&[required(INT, "blocksize")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T24.named("T")]),
    op("", "SpaceToDepth", 28).attrs(&[required(INT, "blocksize"), default(STRING, "mode", "\"DCR\"")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T24.named("T")]),
    op("", "Split", 1).inputs(1, 2).outputs(1, ANY).attrs(&[optional(INT, "axis"), optional(INTS, "split")]).takes(&[one("input", "T"), may("split", "T")]).gives(&[all("outputs...", "T")]).types(&[T0.named("T")]),
    op("", "Split", 2).outputs(1, ANY).attrs(&[default(INT, "axis", "0"), optional(INTS, "split")]).takes(&[one("input", "T")]).gives(&[all("outputs", "T")]).types(&[T25.named("T")]),
    op("", "Split", 11).outputs(1, ANY).attrs(&[default(INT, "axis", "0"), optional(INTS, "split")]).takes(&[one("input", "T")]).gives(&[all("outputs", "T")]).types(&[T25.named("T")]),
    op("", "Split", 13).inputs(1, 2).outputs(1, ANY).attrs(&[default(INT, "axis", "0")]).takes(&[one("input", "T"), may("split", "tensor(int64)")]).gives(&[all("outputs", "T")]).types(&[T24.named("T"), T6.named("tensor(int64)")]),
    op("", "Split", 18).inputs(1, 2).outputs(1, ANY).attrs(&[default(INT, "axis", "0"), optional(INT, "num_outputs")]).takes(&[one("input", "T"), may("split", "tensor(int64)")]).gives(&[all("outputs", "T")]).types(&[T24.named("T"), T6.named("tensor(int64)")]),
    op("", "SplitToSequence", 11).inputs(1, 2).attrs(&[default(INT, "axis", "0"), default(INT, "keepdims", "1")]).takes(&[one("input", "T"), may("split", "I")]).gives(&[one("output_sequence", "S")]).types(&[T25.named("T"), T12.named("I"), T26.named("S")]),
    op("", "SplitToSequence", 24).inputs(1, 2).attrs(&[default(INT, "axis", "0"), default(INT, "keepdims", "1")]).takes(&[one("input", "T"), may("split", "I")]).gives(&[one("output_sequence", "S")]).types(&[T24.named("T"), T12.named("I"), T91.named("S")]),
    op("", "Sqrt", 1).attrs(&[optional(INTS, "consumed_inputs")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Sqrt", 6).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "Sqrt", 13).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "Squeeze", 1).attrs(&[optional(INTS, "axes")]).takes(&[one("data", "T")]).gives(&[one("squeezed", "T")]).types(&[T25.named("T")]),
    op("", "Squeeze", 11).attrs(&[optional(INTS, "axes")]).takes(&[one("data", "T")]).gives(&[one("squeezed", "T")]).types(&[T25.named("T")]),
    op("", "Squeeze", 13).inputs(1, 2).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("squeezed", "T")]).types(&[T24.named("T"), T6.named("tensor(int64)")]),
    op("", "Squeeze", 21).inputs(1, 2).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("squeezed", "T")]).types(&[T28.named("T"), T6.named("tensor(int64)")]),
    op("", "Squeeze", 23).inputs(1, 2).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("squeezed", "T")]).types(&[T29.named("T"), T6.named("tensor(int64)")]),
    op("", "Squeeze", 24).inputs(1, 2).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("squeezed", "T")]).types(&[T30.named("T"), T6.named("tensor(int64)")]),
    op("", "Squeeze", 25).inputs(1, 2).takes(&[one("data", "T"), may("axes", "tensor(int64)")]).gives(&[one("squeezed", "T")]).types(&[T31.named("T"), T6.named("tensor(int64)")]),
    op("", "StringConcat", 20).inputs(2, 2).takes(&[one("X", "T"), one("Y", "T")]).gives(&[one("Z", "T")]).types(&[T90.named("T")]),
    op("", "StringNormalizer", 10).attrs(&[default(STRING, "case_change_action", "\"NONE\""), default(INT, "is_case_sensitive", "0"), optional(STRING, "locale"), optional(STRINGS, "stopwords")]).takes(&[one("X", "tensor(string)")]).gives(&[one("Y", "tensor(string)")]).types(&[T90.named("tensor(string)")]),
    op("", "StringSplit", 20).outputs(2, 2).attrs(&[optional(STRING, "delimiter"), optional(INT, "maxsplit")]).takes(&[one("X", "T1")]).gives(&[one("Y", "T2"), one("Z", "T3")]).types(&[T90.named("T1"), T90.named("T2"), T6.named("T3")]),
    op("", "Sub", 1).inputs(2, 2).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0"), optional(INTS, "consumed_inputs")]).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T0.named("T")]),
    op("", "Sub", 6).inputs(2, 2).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T4.named("T")]),
    op("", "Sub", 7).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T4.named("T")]),
    op("", "Sub", 13).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T5.named("T")]),
    op("", "Sub", 14).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T")]).types(&[T2.named("T")]),
    op("", "Sum", 1).inputs(1, ANY).attrs(&[optional(INTS, "consumed_inputs")]).takes(&[all("data_0", "T")]).gives(&[one("sum", "T")]).types(&[T0.named("T")]),
    op("", "Sum", 6).inputs(1, ANY).takes(&[all("data_0", "T")]).gives(&[one("sum", "T")]).types(&[T0.named("T")]),
    op("", "Sum", 8).inputs(1, ANY).takes(&[all("data_0", "T")]).gives(&[one("sum", "T")]).types(&[T0.named("T")]),
    op("", "Sum", 13).inputs(1, ANY).takes(&[all("data_0", "T")]).gives(&[one("sum", "T")]).types(&[T3.named("T")]),
    op("", "SwiGLU", 28).inputs(2, 2).attrs(&[default(FLOAT, "alpha", "1.0")]).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "Swish", 24).attrs(&[default(FLOAT, "alpha", "1.0")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "Tan", 7).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Tan", 22).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "Tanh", 1).attrs(&[optional(INTS, "consumed_inputs")]).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Tanh", 6).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Tanh", 13).takes(&[one("input", "T")]).gives(&[one("output", "T")]).types(&[T3.named("T")]),
    op("", "TensorScatter", 24).inputs(2, 3).attrs(&[default(INT, "axis", "-2"), default(STRING, "mode", "\"linear\"")]).takes(&[one("past_cache", "T"), one("update", "T"), may("write_indices", "tensor(int64)")]).gives(&[one("present_cache", "T")]).types(&[T30.named("T"), T6.named("tensor(int64)")]),
    op("", "TfIdfVectorizer", 9).attrs(&[required(INT, "max_gram_length"), required(INT, "max_skip_count"), required(INT, "min_gram_length"), required(STRING, "mode"), required(INTS, "ngram_counts"), required(INTS, "ngram_indexes"), optional(INTS, "pool_int64s"), optional(STRINGS, "pool_strings"), optional(FLOATS, "weights")]).takes(&[one("X", "T")]).gives(&[one("Y", "T1")]).types(&[T92.named("T"), T23.named("T1")]),
    op("", "ThresholdedRelu", 10).attrs(&[default(FLOAT, "alpha", "1.0")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("", "ThresholdedRelu", 22).attrs(&[default(FLOAT, "alpha", "1.0")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T3.named("T")]),
    op("", "Tile", 1).inputs(3, 3).takes(&[one("input", "T"), one("tiles", "T"), one("axis", "T")]).gives(&[one("output", "T")]).types(&[T0.named("T")]),
    op("", "Tile", 6).inputs(2, 2).takes(&[one("input", "T"), one("repeats", "T1")]).gives(&[one("output", "T")]).types(&[T25.named("T"), T6.named("T1")]),
    op("", "Tile", 13).inputs(2, 2).takes(&[one("input", "T"), one("repeats", "T1")]).gives(&[one("output", "T")]).types(&[T24.named("T"), T6.named("T1")]),
    op("", "TopK", 1).outputs(2, 2).attrs(&[default(INT, "axis", "-1"), required(INT, "k")]).takes(&[one("X", "T")]).gives(&[one("Values", "T"), one("Indices", "I")]).types(&[T0.named("T"), T6.named("I")]),
    op("", "TopK", 10).inputs(2, 2).outputs(2, 2).attrs(&[default(INT, "axis", "-1")]).takes(&[one("X", "T"), one("K", "tensor(int64)")]).gives(&[one("Values", "T"), one("Indices", "I")]).types(&[T0.named("T"), T6.named("I"), T6.named("tensor(int64)")]),
    op("", "TopK", 11).inputs(2, 2).outputs(2, 2).attrs(&[default(INT, "axis", "-1"), default(INT, "largest", "1"), default(INT, "sorted", "1")]).takes(&[one("X", "T"), one("K", "tensor(int64)")]).gives(&[one("Values", "T"), one("Indices", "I")]).types(&[T1.named("T"), T6.named("I"), T6.named("tensor(int64)")]),
    op("", "TopK", 24).inputs(2, 2).outputs(2, 2).attrs(&[default(INT, "axis", "-1"), default(INT, "largest", "1"), default(INT, "sorted", "1")]).takes(&[one("X", "T"), one("K", "tensor(int64)")]).gives(&[one("Values", "T"), one("Indices", "I")]).types(&[T2.named("T"), T6.named("I"), T6.named("tensor(int64)")]),
    op("", "Transpose", 1).attrs(&[optional(INTS, "perm")]).takes(&[one("data", "T")]).gives(&[one("transposed", "T")]).types(&[T25.named("T")]),
    op("", "Transpose", 13).attrs(&[optional(INTS, "perm")]).takes(&[one("data", "T")]).gives(&[one("transposed", "T")]).types(&[T24.named("T")]),
    op("", "Transpose", 21).attrs(&[optional(INTS, "perm")]).takes(&[one("data", "T")]).gives(&[one("transposed", "T")]).types(&[T28.named("T")]),
    op("", "Transpose", 23).attrs(&[optional(INTS, "perm")]).takes(&[one("data", "T")]).gives(&[one("transposed", "T")]).types(&[T29.named("T")]),
    op("", "Transpose", 24).attrs(&[optional(INTS, "perm")]).takes(&[one("data", "T")]).gives(&[one("transposed", "T")]).types(&[T30.named("T")]),
    op("", "Transpose", 25).attrs(&[optional(INTS, "perm")]).takes(&[one("data", "T")]).gives(&[one("transposed", "T")]).types(&[T31.named("T")]),
    op("", "Trilu", 14).inputs(1, 2).attrs(&[default(INT, "upper", "1")]).takes(&[one("input", "T"), may("k", "tensor(int64)")]).gives(&[one("output", "T")]).types(&[T24.named("T"), T6.named("tensor(int64)")]),
    op("", "Unique", 11).outputs(1, 4).attrs(&[optional(INT, "axis"), default(INT, "sorted", "1")]).takes(&[one("X", "T")]).gives(&[one("Y", "T"), may("indices", "tensor(int64)"), may("inverse_indices", "tensor(int64)"), may("counts", "tensor(int64)")]).types(&[T25.named("T"), T6.named("tensor(int64)")]),
    op("", "Unique", 28).outputs(1, 4).attrs(&[optional(INT, "axis"), default(INT, "sorted", "1")]).takes(&[one("X", "T")]).gives(&[one("Y", "T"), may("indices", "tensor(int64)"), may("inverse_indices", "tensor(int64)"), may("counts", "tensor(int64)")]).types(&[T24.named("T"), T6.named("tensor(int64)")]),
    op("", "Unsqueeze", 1).attrs(&[required(INTS, "axes")]).takes(&[one("data", "T")]).gives(&[one("expanded", "T")]).types(&[T25.named("T")]),
    op("", "Unsqueeze", 11).attrs(&[required(INTS, "axes")]).takes(&[one("data", "T")]).gives(&[one("expanded", "T")]).types(&[T25.named("T")]),
    op("", "Unsqueeze", 13).inputs(2, 2).takes(&[one("data", "T"), one("axes", "tensor(int64)")]).gives(&[one("expanded", "T")]).types(&[T24.named("T"), T6.named("tensor(int64)")]),
    op("", "Unsqueeze", 21).inputs(2, 2).takes(&[one("data", "T"), one("axes", "tensor(int64)")]).gives(&[one("expanded", "T")]).types(&[T28.named("T"), T6.named("tensor(int64)")]),
    op("", "Unsqueeze", 23).inputs(2, 2).takes(&[one("data", "T"), one("axes", "tensor(int64)")]).gives(&[one("expanded", "T")]).types(&[T29.named("T"), T6.named("tensor(int64)")]),
    op("", "Unsqueeze", 24).inputs(2, 2).takes(&[one("data", "T"), one("axes", "tensor(int64)")]).gives(&[one("expanded", "T")]).types(&[T30.named("T"), T6.named("tensor(int64)")]),
    op("", "Unsqueeze", 25).inputs(2, 2).takes(&[one("data", "T"), one("axes", "tensor(int64)")]).gives(&[one("expanded", "T")]).types(&[T31.named("T"), T6.named("tensor(int64)")]),
    op("", "Upsample", 1).attrs(&[required(FLOAT, "height_scale"), default(STRING, "mode", "\"nearest\""), required(FLOAT, "width_scale")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T93.named("T")]),
    op("", "Upsample", 7).attrs(&[default(STRING, "mode", "\"nearest\""), required(FLOATS, "scales")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T25.named("T")]),
    op("", "Upsample", 9).inputs(2, 2).attrs(&[default(STRING, "mode", "\"nearest\"")]).takes(&[one("X", "T"), one("scales", "tensor(float)")]).gives(&[one("Y", "T")]).types(&[T25.named("T"), T23.named("tensor(float)")]),
    op("", "Upsample", 10).inputs(2, 2).attrs(&[default(STRING, "mode", "\"nearest\"")]).takes(&[one("X", "T"), one("scales", "tensor(float)")]).gives(&[one("Y", "T")]).types(&[T25.named("T"), T23.named("tensor(float)")]),
    op("", "Where", 9).inputs(3, 3).takes(&[one("condition", "B"), one("X", "T"), one("Y", "T")]).gives(&[one("output", "T")]).types(&[T7.named("B"), T25.named("T")]),
    op("", "Where", 16).inputs(3, 3).takes(&[one("condition", "B"), one("X", "T"), one("Y", "T")]).gives(&[one("output", "T")]).types(&[T7.named("B"), T24.named("T")]),
    op("", "Xor", 1).inputs(2, 2).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T7.named("T"), T7.named("T1")]),
    op("", "Xor", 7).inputs(2, 2).takes(&[one("A", "T"), one("B", "T")]).gives(&[one("C", "T1")]).types(&[T7.named("T"), T7.named("T1")]),
    op("ai.onnx.ml", "ArrayFeatureExtractor", 1).inputs(2, 2).takes(&[one("X", "T"), one("Y", "tensor(int64)")]).gives(&[one("Z", "T")]).types(&[T94.named("T"), T6.named("tensor(int64)")]),
    op("ai.onnx.ml", "Binarizer", 1).attrs(&[default(FLOAT, "threshold", "0.0")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T95.named("T")]),
    op("ai.onnx.ml", "CastMap", 1).attrs(&[default(STRING, "cast_to", "\"TO_FLOAT\""), default(STRING, "map_form", "\"DENSE\""), default(INT, "max_map", "1")]).takes(&[one("X", "T1")]).gives(&[one("Y", "T2")]).types(&[T96.named("T1"), T97.named("T2")]),
    op("ai.onnx.ml", "CategoryMapper", 1).attrs(&[optional(INTS, "cats_int64s"), optional(STRINGS, "cats_strings"), default(INT, "default_int64", "-1"), default(STRING, "default_string", "\"_Unused\"")]).takes(&[one("X", "T1")]).gives(&[one("Y", "T2")]).types(&[T98.named("T1"), T98.named("T2")]),
    op("ai.onnx.ml", "DictVectorizer", 1).attrs(&[optional(INTS, "int64_vocabulary"), optional(STRINGS, "string_vocabulary")]).takes(&[one("X", "T1")]).gives(&[one("Y", "T2")]).types(&[T99.named("T1"), T100.named("T2")]),
    op("ai.onnx.ml", "FeatureVectorizer", 1).inputs(1, ANY).attrs(&[optional(INTS, "inputdimensions")]).takes(&[all("X", "T1")]).gives(&[one("Y", "tensor(float)")]).types(&[T95.named("T1"), T23.named("tensor(float)")]),
    op("ai.onnx.ml", "Imputer", 1).attrs(&[optional(FLOATS, "imputed_value_floats"), optional(INTS, "imputed_value_int64s"), default(FLOAT, "replaced_value_float", "0.0"), default(INT, "replaced_value_int64", "0")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T95.named("T")]),
    op("ai.onnx.ml", "LabelEncoder", 1).attrs(&[optional(STRINGS, "classes_strings"), default(INT, "default_int64", "-1"), default(STRING, "default_string", "\"_Unused\"")]).takes(&[one("X", "T1")]).gives(&[one("Y", "T2")]).types(&[T98.named("T1"), T98.named("T2")]),
    op("ai.onnx.ml", "LabelEncoder", 2).attrs(&[default(FLOAT, "default_float", "-0.0"), default(INT, "default_int64", "-1"), default(STRING, "default_string", "\"_Unused\""), optional(FLOATS, "keys_floats"), optional(INTS, "keys_int64s"), optional(STRINGS, "keys_strings"), optional(FLOATS, "values_floats"), optional(INTS, "values_int64s"), optional(STRINGS, "values_strings")]).takes(&[one("X", "T1")]).gives(&[one("Y", "T2")]).types(&[T97.named("T1"), T97.named("T2")]),
    op("ai.onnx.ml", "LabelEncoder", 4).attrs(&[default(FLOAT, "default_float", "-0.0"), default(INT, "default_int64", "-1"), default(STRING, "default_string", "\"_Unused\""), optional(TENSOR, "default_tensor"), optional(FLOATS, "keys_floats"), optional(INTS, "keys_int64s"), optional(STRINGS, "keys_strings"), optional(TENSOR, "keys_tensor"), optional(FLOATS, "values_floats"), optional(INTS, "values_int64s"), optional(STRINGS, "values_strings"), optional(TENSOR, "values_tensor")]).takes(&[one("X", "T1")]).gives(&[one("Y", "T2")]).types(&[T101.named("T1"), T101.named("T2")]),
    op("ai.onnx.ml", "LinearClassifier", 1).outputs(2, 2).attrs(&[optional(INTS, "classlabels_ints"), optional(STRINGS, "classlabels_strings"), required(FLOATS, "coefficients"), optional(FLOATS, "intercepts"), default(INT, "multi_class", "0"), default(STRING, "post_transform", "\"NONE\"")]).takes(&[one("X", "T1")]).gives(&[one("Y", "T2"), one("Z", "tensor(float)")]).types(&[T95.named("T1"), T98.named("T2"), T23.named("tensor(float)")]),
    op("ai.onnx.ml", "LinearRegressor", 1).attrs(&[optional(FLOATS, "coefficients"), optional(FLOATS, "intercepts"), default(STRING, "post_transform", "\"NONE\""), default(INT, "targets", "1")]).takes(&[one("X", "T")]).gives(&[one("Y", "tensor(float)")]).types(&[T95.named("T"), T23.named("tensor(float)")]),
    op("ai.onnx.ml", "Normalizer", 1).attrs(&[default(STRING, "norm", "\"MAX\"")]).takes(&[one("X", "T")]).gives(&[one("Y", "tensor(float)")]).types(&[T95.named("T"), T23.named("tensor(float)")]),
    op("ai.onnx.ml", "OneHotEncoder", 1).attrs(&[optional(INTS, "cats_int64s"), optional(STRINGS, "cats_strings"), default(INT, "zeros", "1")]).takes(&[one("X", "T")]).gives(&[one("Y", "tensor(float)")]).types(&[T94.named("T"), T23.named("tensor(float)")]),
    op("ai.onnx.ml", "SVMClassifier", 1).outputs(2, 2).attrs(&[optional(INTS, "classlabels_ints"), optional(STRINGS, "classlabels_strings"), optional(FLOATS, "coefficients"), optional(FLOATS, "kernel_params"), default(STRING, "kernel_type", "\"LINEAR\""), default(STRING, "post_transform", "\"NONE\""), optional(FLOATS, "prob_a"), optional(FLOATS, "prob_b"), optional(FLOATS, "rho"), optional(FLOATS, "support_vectors"), optional(INTS, "vectors_per_class")]).takes(&[one("X", "T1")]).gives(&[one("Y", "T2"), one("Z", "tensor(float)")]).types(&[T95.named("T1"), T98.named("T2"), T23.named("tensor(float)")]),
    op("ai.onnx.ml", "SVMRegressor", 1).attrs(&[optional(FLOATS, "coefficients"), optional(FLOATS, "kernel_params"), default(STRING, "kernel_type", "\"LINEAR\""), default(INT, "n_supports", "0"), default(INT, "one_class", "0"), default(STRING, "post_transform", "\"NONE\""), optional(FLOATS, "rho"), optional(FLOATS, "support_vectors")]).takes(&[one("X", "T")]).gives(&[one("Y", "tensor(float)")]).types(&[T95.named("T"), T23.named("tensor(float)")]),
    op("ai.onnx.ml", "Scaler", 1).attrs(&[optional(FLOATS, "offset"), optional(FLOATS, "scale")]).takes(&[one("X", "T")]).gives(&[one("Y", "tensor(float)")]).types(&[T95.named("T"), T23.named("tensor(float)")]),
    op("ai.onnx.ml", "TreeEnsemble", 5).attrs(&[default(INT, "aggregate_function", "1"), required(INTS, "leaf_targetids"), required(TENSOR, "leaf_weights"), optional(TENSOR, "membership_values"), optional(INT, "n_targets"), required(INTS, "nodes_falseleafs"), required(INTS, "nodes_falsenodeids"), required(INTS, "nodes_featureids"), optional(TENSOR, "nodes_hitrates"), optional(INTS, "nodes_missing_value_tracks_true"), required(TENSOR, "nodes_modes"), required(TENSOR, "nodes_splits"), required(INTS, "nodes_trueleafs"), required(INTS, "nodes_truenodeids"), default(INT, "post_transform", "0"), required(INTS, "tree_roots")]).takes(&[one("X", "T")]).gives(&[one("Y", "T")]).types(&[T0.named("T")]),
    op("ai.onnx.ml", "TreeEnsembleClassifier", 1).outputs(2, 2).attrs(&[optional(FLOATS, "base_values"), optional(INTS, "class_ids"), optional(INTS, "class_nodeids"), optional(INTS, "class_treeids"), optional(FLOATS, "class_weights"), optional(INTS, "classlabels_int64s"), optional(STRINGS, "classlabels_strings"), optional(INTS, "nodes_falsenodeids"), optional(INTS, "nodes_featureids"), optional(FLOATS, "nodes_hitrates"), optional(INTS, "nodes_missing_value_tracks_true"), optional(STRINGS, "nodes_modes"), optional(INTS, "nodes_nodeids"), optional(INTS, "nodes_treeids"), optional(INTS, "nodes_truenodeids"), optional(FLOATS, "nodes_values"), default(STRING, "post_transform", "\"NONE\"")]).takes(&[one("X", "T1")]).gives(&[one("Y", "T2"), one("Z", "tensor(float)")]).types(&[T95.named("T1"), T98.named("T2"), T23.named("tensor(float)")]),
    op("ai.onnx.ml", "TreeEnsembleClassifier", 3).outputs(2, 2).attrs(&[optional(FLOATS, "base_values"), optional(TENSOR, "base_values_as_tensor"), optional(INTS, "class_ids"), optional(INTS, "class_nodeids"), optional(INTS, "class_treeids"), optional(FLOATS, "class_weights"), optional(TENSOR, "class_weights_as_tensor"), optional(INTS, "classlabels_int64s"), optional(STRINGS, "classlabels_strings"), optional(INTS, "nodes_falsenodeids"), optional(INTS, "nodes_featureids"), optional(FLOATS, "nodes_hitrates"), optional(TENSOR, "nodes_hitrates_as_tensor"), optional(INTS, "nodes_missing_value_tracks_true"), optional(STRINGS, "nodes_modes"), optional(INTS, "nodes_nodeids"), optional(INTS, "nodes_treeids"), optional(INTS, "nodes_truenodeids"), optional(FLOATS, "nodes_values"), optional(TENSOR, "nodes_values_as_tensor"), default(STRING, "post_transform", "\"NONE\"")]).takes(&[one("X", "T1")]).gives(&[one("Y", "T2"), one("Z", "tensor(float)")]).types(&[T95.named("T1"), T98.named("T2"), T23.named("tensor(float)")]),
    op("ai.onnx.ml", "TreeEnsembleClassifier", 5).outputs(2, 2).attrs(&[optional(FLOATS, "base_values"), optional(TENSOR, "base_values_as_tensor"), optional(INTS, "class_ids"), optional(INTS, "class_nodeids"), optional(INTS, "class_treeids"), optional(FLOATS, "class_weights"), optional(TENSOR, "class_weights_as_tensor"), optional(INTS, "classlabels_int64s"), optional(STRINGS, "classlabels_strings"), optional(INTS, "nodes_falsenodeids"), optional(INTS, "nodes_featureids"), optional(FLOATS, "nodes_hitrates"), optional(TENSOR, "nodes_hitrates_as_tensor"), optional(INTS, "nodes_missing_value_tracks_true"), optional(STRINGS, "nodes_modes"), optional(INTS, "nodes_nodeids"), optional(INTS, "nodes_treeids"), optional(INTS, "nodes_truenodeids"), optional(FLOATS, "nodes_values"), optional(TENSOR, "nodes_values_as_tensor"), default(STRING, "post_transform", "\"NONE\"")]).takes(&[one("X", "T1")]).gives(&[one("Y", "T2"), one("Z", "tensor(float)")]).types(&[T95.named("T1"), T98.named("T2"), T23.named("tensor(float)")]),
    op("ai.onnx.ml", "TreeEnsembleRegressor", 1).attrs(&[default(STRING, "aggregate_function", "\"SUM\""), optional(FLOATS, "base_values"), optional(INT, "n_targets"), optional(INTS, "nodes_falsenodeids"), optional(INTS, "nodes_featureids"), optional(FLOATS, "nodes_hitrates"), optional(INTS, "nodes_missing_value_tracks_true"), optional(STRINGS, "nodes_modes"), optional(INTS, "nodes_nodeids"), optional(INTS, "nodes_treeids"), optional(INTS, "nodes_truenodeids"), optional(FLOATS, "nodes_values"), default(STRING, "post_transform", "\"NONE\""), optional(INTS, "target_ids"), optional(INTS, "target_nodeids"), optional(INTS, "target_treeids"), optional(FLOATS, "target_weights")]).takes(&[one("X", "T")]).gives(&[one("Y", "tensor(float)")]).types(&[T95.named("T"), T23.named("tensor(float)")]),
    op("ai.onnx.ml", "TreeEnsembleRegressor", 3).attrs(&[default(STRING, "aggregate_function", "\"SUM\""), optional(FLOATS, "base_values"), optional(TENSOR, "base_values_as_tensor"), optional(INT, "n_targets"), optional(INTS, "nodes_falsenodeids"), optional(INTS, "nodes_featureids"), optional(FLOATS, "nodes_hitrates"), optional(TENSOR, "nodes_hitrates_as_tensor"), optional(INTS, "nodes_missing_value_tracks_true"), optional(STRINGS, "nodes_modes"), optional(INTS, "nodes_nodeids"), optional(INTS, "nodes_treeids"), optional(INTS, "nodes_truenodeids"), optional(FLOATS, "nodes_values"), optional(TENSOR, "nodes_values_as_tensor"), default(STRING, "post_transform", "\"NONE\""), optional(INTS, "target_ids"), optional(INTS, "target_nodeids"), optional(INTS, "target_treeids"), optional(FLOATS, "target_weights"), optional(TENSOR, "target_weights_as_tensor")]).takes(&[one("X", "T")]).gives(&[one("Y", "tensor(float)")]).types(&[T95.named("T"), T23.named("tensor(float)")]),
    op("ai.onnx.ml", "TreeEnsembleRegressor", 5).attrs(&[default(STRING, "aggregate_function", "\"SUM\""), optional(FLOATS, "base_values"), optional(TENSOR, "base_values_as_tensor"), optional(INT, "n_targets"), optional(INTS, "nodes_falsenodeids"), optional(INTS, "nodes_featureids"), optional(FLOATS, "nodes_hitrates"), optional(TENSOR, "nodes_hitrates_as_tensor"), optional(INTS, "nodes_missing_value_tracks_true"), optional(STRINGS, "nodes_modes"), optional(INTS, "nodes_nodeids"), optional(INTS, "nodes_treeids"), optional(INTS, "nodes_truenodeids"), optional(FLOATS, "nodes_values"), optional(TENSOR, "nodes_values_as_tensor"), default(STRING, "post_transform", "\"NONE\""), optional(INTS, "target_ids"), optional(INTS, "target_nodeids"), optional(INTS, "target_treeids"), optional(FLOATS, "target_weights"), optional(TENSOR, "target_weights_as_tensor")]).takes(&[one("X", "T")]).gives(&[one("Y", "tensor(float)")]).types(&[T95.named("T"), T23.named("tensor(float)")]),
    op("ai.onnx.ml", "ZipMap", 1).attrs(&[optional(INTS, "classlabels_int64s"), optional(STRINGS, "classlabels_strings")]).takes(&[one("X", "tensor(float)")]).gives(&[one("Z", "T")]).types(&[T102.named("T"), T23.named("tensor(float)")]),
    op("ai.onnx.preview", "FlexAttention", 1).inputs(3, 3).attrs(&[optional(GRAPH, "prob_mod"), optional(FLOAT, "scale"), optional(GRAPH, "score_mod"), optional(INT, "softmax_precision")]).takes(&[one("Q", "T1"), one("K", "T1"), one("V", "T1")]).gives(&[one("Y", "T1")]).types(&[T3.named("T1")]),
    op("ai.onnx.preview.training", "Adagrad", 1).inputs(3, ANY).outputs(1, ANY).attrs(&[default(FLOAT, "decay_factor", "0.0"), default(FLOAT, "epsilon", "1e-6"), default(FLOAT, "norm_coefficient", "0.0")]).takes(&[one("R", "T1"), one("T", "T2"), mix("inputs", "T3")]).gives(&[mix("outputs", "T3")]).types(&[T64.named("T1"), T6.named("T2"), T64.named("T3")]),
    op("ai.onnx.preview.training", "Adam", 1).inputs(3, ANY).outputs(1, ANY).attrs(&[default(FLOAT, "alpha", "0.9"), default(FLOAT, "beta", "0.999"), default(FLOAT, "epsilon", "1e-6"), default(FLOAT, "norm_coefficient", "0.0"), default(FLOAT, "norm_coefficient_post", "0.0")]).takes(&[one("R", "T1"), one("T", "T2"), mix("inputs", "T3")]).gives(&[mix("outputs", "T3")]).types(&[T64.named("T1"), T6.named("T2"), T64.named("T3")]),
    op("ai.onnx.preview.training", "Gradient", 1).inputs(1, ANY).outputs(1, ANY).attrs(&[required(STRINGS, "xs"), required(STRING, "y"), optional(STRINGS, "zs")]).takes(&[mix("Inputs", "T1")]).gives(&[mix("Outputs", "T2")]).types(&[T25.named("T1"), T0.named("T2")]),
    op("ai.onnx.preview.training", "Momentum", 1).inputs(3, ANY).outputs(1, ANY).attrs(&[required(FLOAT, "alpha"), required(FLOAT, "beta"), required(STRING, "mode"), required(FLOAT, "norm_coefficient")]).takes(&[one("R", "T1"), one("T", "T2"), mix("inputs", "T3")]).gives(&[mix("outputs", "T3")]).types(&[T64.named("T1"), T6.named("T2"), T64.named("T3")]),
];
