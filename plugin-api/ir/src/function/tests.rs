//! Arenas that no method makes, and the verifier's verdict on each: one fault, one code.

use super::*;
use crate::{FaultCode, verify_function};

/// A function that has one of everything.
fn sample() -> Function {
    let mut f = Function::new();
    let dims = [Dim::Symbol(f.intern("N")), Dim::Static(2)];
    let ty = f.tensor_type(ElemType::FLOAT, &dims);
    let list = f.add_type(Type::Sequence(ty));
    f.add_type(Type::Tuple(&[ty, list]));
    let x = f.add_var("x", ty);
    f.set_params(f.root(), &[x]);
    let op = f.add_op("acme", "Gelu", "", 2);
    let constant = f.add_constant(Tensor::from_i64(&[1], &[1]), ConstForm::ANY);
    let (global, inner) = (f.add_global_var("f"), f.add_call(op, &[x]));
    let region = f.add_function(&[]);
    let block = f.block_of(region);
    f.append(block, inner);
    f.set_results(block, &[inner]);
    let callee = f.op(op).node;
    let y = f.add_call_with(callee, &[x, constant], &[region], None);
    f.set_attrs(
        y,
        &[Attr::new("axes", AttrData::Ints(vec![1, 2])), Attr::new("mode", AttrData::String(b"m".to_vec()))],
    );
    let z = f.add_call_with(global, &[y], &[], None);
    let body = f.body();
    [constant, y, z].into_iter().for_each(|id| f.append(body, id));
    f.set_results(body, &[z]);
    assert_eq!(verify_function(&f, None), []);
    f
}

/// The first node of a kind.
fn node(f: &mut Function, wanted: u8) -> &mut NodeRec {
    f.nodes.iter_mut().find(|rec| rec.kind == wanted).expect("the sample has one of everything")
}

#[track_caller]
fn faults(change: impl FnOnce(&mut Function)) -> Vec<FaultCode> {
    let mut f = sample();
    change(&mut f);
    let faults = verify_function(&f, None);
    assert!(faults.iter().all(|fault| !fault.to_string().is_empty()));
    let mut codes: Vec<FaultCode> = faults.iter().map(|fault| fault.code).collect();
    codes.dedup();
    codes
}

#[test]
fn nodes_are_where_they_must_be() {
    use FaultCode::{ExtraWord, NodeRange};
    assert_eq!(faults(|f| f.nodes[0].kind = kind::VAR), [NodeRange]);
    assert!(faults(|f| f.nodes = RVec::new()).contains(&NodeRange));
    assert_eq!(faults(|f| f.root = NodeId(u32::MAX)), [NodeRange]);
    assert_eq!(faults(|f| f.root = NodeId::ABSENT), [NodeRange]);
    assert_eq!(faults(|f| node(f, kind::VAR).a = u32::MAX), [NodeRange]);
    assert_eq!(faults(|f| node(f, kind::CONSTANT).a = 1), [NodeRange]);
    assert!(faults(|f| node(f, kind::OP).a = 1).contains(&NodeRange));
    assert_eq!(faults(|f| node(f, kind::GLOBAL_VAR).a = u32::MAX), [NodeRange]);
    assert_eq!(faults(|f| node(f, kind::CALL).a = u32::MAX), [NodeRange]);
    assert_eq!(faults(|f| node(f, kind::VAR).flags |= flag::EXTRA), [ExtraWord]);
    assert_eq!(faults(|f| node(f, kind::CALL).flags &= !flag::EXTRA), [ExtraWord]);
    assert_eq!(faults(|f| node(f, kind::CALL).a = 0), [ExtraWord]);
}

#[test]
fn lists_do_not_overlap() {
    // Two lists that share a place would let a few bytes represent many lists.
    let all = |f: &mut Function| {
        let len = f.pool.len() as u32;
        f.nodes.iter_mut().filter(|rec| rec.kind == kind::CALL).for_each(|rec| rec.b = len - rec.a);
    };
    assert!(faults(all).contains(&FaultCode::Overlap));
    assert!(faults(|f| node(f, kind::CALL).b = u32::MAX).contains(&FaultCode::Overlap));
    let blocks = |f: &mut Function| {
        let len = f.pool.len() as u32;
        f.blocks.iter_mut().for_each(|block| (block.start, block.len) = (0, len));
    };
    assert!(faults(blocks).contains(&FaultCode::Overlap));
    assert!(faults(|f| f.blocks[0].len = u32::MAX).contains(&FaultCode::BlockRange));
    assert!(faults(|f| f.blocks[0].start = u32::MAX).contains(&FaultCode::BlockRange));
    assert!(faults(|f| f.blocks[0].owner = NodeId(u32::MAX)).contains(&FaultCode::BlockRange));
    let tuples = |f: &mut Function| {
        let tuple = *f.types.iter().find(|rec| rec.kind == type_kind::TUPLE).expect("the sample has one");
        f.types.push(tuple);
    };
    assert_eq!(faults(tuples), [FaultCode::Overlap]);
}

#[test]
fn types_and_operators_are_whole() {
    use FaultCode::{OpRange, TypeRange};
    assert!(faults(|f| f.types[0].kind = type_kind::TENSOR).contains(&TypeRange));
    assert!(faults(|f| f.types = RVec::new()).contains(&TypeRange));
    let of = |f: &Function, wanted: u8| f.types.iter().position(|rec| rec.kind == wanted).expect("the sample has one");
    let (tensor, sequence) = (of(&sample(), type_kind::TENSOR), of(&sample(), type_kind::SEQUENCE));
    assert!(faults(|f| f.types[tensor].b = u32::MAX).contains(&TypeRange));
    // A type that has itself as a part would never end.
    assert!(faults(|f| f.types[sequence].a = sequence as u32).contains(&TypeRange));
    for dim in [i64::MIN, -2 - i64::from(u32::MAX), -3 - i64::from(u32::MAX)] {
        assert_eq!(faults(|f| f.type_dims[0] = DimRec(dim)), [TypeRange], "{dim}");
    }
    assert_eq!(faults(|f| f.ops[0].name = StrId(u32::MAX)), [OpRange]);
    assert!(faults(|f| f.ops[0].node = NodeId::ABSENT).contains(&OpRange));
    assert!(faults(|f| f.ops[0].node = NodeId(u32::MAX)).contains(&OpRange));
}

#[test]
fn attributes_tables_and_indices_are_in_range() {
    use FaultCode::{AttrRange, Index, SideTable};
    assert_eq!(faults(|f| node(f, kind::CONSTANT).c = u32::MAX), [AttrRange]);
    assert!(faults(|f| f.attrs[0].a = u32::MAX).contains(&AttrRange));
    assert_eq!(faults(|f| f.attrs[1].name = StrId(u32::MAX)), [AttrRange]);
    assert_eq!(faults(|f| (f.attrs[1].a, f.attrs[1].b) = (u32::MAX, u32::MAX)), [AttrRange]);
    assert_eq!(faults(|f| f.attrs[2].a = u32::MAX), [AttrRange]);
    for at in 0..3 {
        assert_eq!(faults(|f| f.tables[at].stride += 1), [SideTable], "table {at}");
        assert_eq!(faults(|f| f.tables[at].key = "other".into()), [SideTable], "table {at}");
        assert!(faults(|f| f.tables.truncate(at)).contains(&SideTable), "table {at}");
        // Nodes without an entry have none of it.
        let cut = |f: &mut Function| f.tables[at].bytes.truncate(at);
        assert!(!faults(cut).contains(&SideTable), "table {at}");
    }
    assert!(faults(|f| f.strings[0] = 1).contains(&SideTable));
    // A full index would be searched forever, and one with a foreign id would be followed.
    let full = |table: &mut InternTable| (0..64u64).for_each(|id| table.insert(id, 1 << 20, |_| 0));
    assert_eq!(faults(|f| full(&mut f.string_index)), [Index]);
    assert_eq!(faults(|f| full(&mut f.type_index)), [Index]);
    assert_eq!(faults(|f| full(&mut f.op_index)), [Index]);
}
