//! Functions to run passes over.

use relais::ir::*;

/// Calls in a chain.
pub fn chain(n: usize) -> Function {
    of_ops(n, &["Neg", "Relu"])
}

/// Calls in a chain, of each of the operators in turn.
pub fn of_ops(n: usize, ops: &[&str]) -> Function {
    let mut f = Function::new();
    f.set_opset_imports(&[("", 17)]);
    let ty = f.tensor_type(ElemType::FLOAT, &[Dim::Static(2)]);
    let mut last = f.add_var("x", ty);
    f.set_params(f.root(), &[last]);
    let ops: Vec<OpId> = ops.iter().map(|name| f.add_op("", name, "", 0)).collect();
    for i in 0..n {
        last = f.add_call(ops[i % ops.len()], &[last]);
        f.append(f.body(), last);
    }
    f.set_results(f.body(), &[last]);
    f
}

/// Functions that look like convolutional nets: a convolution, a batch-norm, an activation and a residual sum, with
/// reshapes whose shapes are constants, weights that differ, names, and about `n` bindings.
pub fn blocks(n: usize) -> Function {
    const CHANNELS: usize = 4;
    let mut f = Function::new();
    f.set_opset_imports(&[("", 17)]);
    let ty =
        f.tensor_type(ElemType::FLOAT, &[Dim::Static(1), Dim::Static(CHANNELS as u64), Dim::Static(8), Dim::Static(8)]);
    let mut last = f.add_var("x", ty);
    f.set_params(f.root(), &[last]);
    let [conv, norm, relu, add, reshape, transpose] =
        ["Conv", "BatchNormalization", "Relu", "Add", "Reshape", "Transpose"].map(|name| f.add_op("", name, "", 0));
    let mut block = 0;
    while f.bindings(f.body()).len() < n {
        let start = last;
        // No two tensors are equal, however many blocks there are: their share must not grow with the size.
        let values = |len: usize, tensor: usize| -> Vec<u8> {
            let first = (tensor << 17 | block) * CHANNELS * CHANNELS;
            (0..len).flat_map(|i| ((first + i) as f32 / 1024.0).to_le_bytes()).collect()
        };
        let dims = CHANNELS as u64;
        let mut constant = |elem: ElemType, dims: &[u64], bytes: Vec<u8>| {
            let tensor = Tensor::dense(elem, dims, bytes).expect("the bytes fit the shape");
            let id = f.add_constant(tensor, ConstForm::INITIALIZER);
            f.append(f.body(), id);
            id
        };
        let weight = constant(ElemType::FLOAT, &[dims, dims, 1, 1], values(CHANNELS * CHANNELS, 0));
        let params: Vec<NodeId> = (1..5).map(|i| constant(ElemType::FLOAT, &[dims], values(CHANNELS, i))).collect();
        let shape: [i64; 4] = if block % 2 == 0 { [1, 4, 64, 1] } else { [1, 4, 8, 8] };
        let shape = constant(ElemType::INT64, &[4], shape.iter().flat_map(|dim| dim.to_le_bytes()).collect());
        let mut call = |op: OpId, args: &[NodeId]| {
            let id = f.add_call(op, args);
            f.append(f.body(), id);
            id
        };
        let convolved = call(conv, &[last, weight]);
        let normed = call(norm, &[convolved, params[0], params[1], params[2], params[3]]);
        let active = call(relu, &[normed]);
        let sum = call(add, &[active, start]);
        let back = call(transpose, &[sum]);
        let twice = call(transpose, &[back]);
        last = call(reshape, &[twice, shape]);
        f.set_name(convolved, &format!("conv{block}"));
        f.set_name(last, &format!("block{block}"));
        block += 1;
    }
    f.set_results(f.body(), &[last]);
    f
}
