//! Random loop programs, right and wrong, and texts with mistakes.

use super::*;

/// Choices from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    fn bits(&mut self) -> u64 {
        const ODD: [u64; 8] = [0, 1, u64::MAX, 1 << 63, 0x7ff8 << 48, 0x7fc0_0001, 0x7f80_0000, 0x7c00];
        match self.below(3) {
            0 => ODD[self.below(8)],
            1 => self.below(100) as u64,
            _ => self.0,
        }
    }
}

/// Fills blocks with right statements.
struct Filler<'d> {
    dice: &'d mut Dice,
    memory: Vec<(NodeId, ElemType, bool)>,
    values: Vec<(NodeId, ElemType)>,
    budget: usize,
}

impl Filler<'_> {
    fn elem(&mut self) -> ElemType {
        let all: Vec<ElemType> = ElemType::ALL.iter().copied().filter(|elem| elem.is_scalar()).collect();
        let at = self.dice.below(all.len() + 4);
        *all.get(at).unwrap_or(&F32)
    }

    fn number(&mut self, b: &mut PrimBuilder<'_>, elem: ElemType) -> NodeId {
        let mask = if elem == ElemType::BOOL { 1 } else { u64::MAX >> (64 - elem.bits()) };
        let imm = Imm::new(elem, self.dice.bits() & mask).unwrap();
        b.imm(imm)
    }

    fn index(&mut self, b: &mut PrimBuilder<'_>) -> NodeId {
        let elem = if self.dice.below(4) == 0 { ElemType::INT32 } else { ElemType::INT64 };
        self.value(b, elem)
    }

    fn value(&mut self, b: &mut PrimBuilder<'_>, elem: ElemType) -> NodeId {
        let known: Vec<NodeId> = self.values.iter().filter(|&&(_, other)| other == elem).map(|&(id, _)| id).collect();
        match self.dice.below(8) {
            0 => self.number(b, elem),
            _ if self.budget == 0 => self.number(b, elem),
            1 | 2 if !known.is_empty() => known[self.dice.below(known.len())],
            choice => {
                self.budget -= 1;
                self.operation(b, elem, choice)
            }
        }
    }

    fn operation(&mut self, b: &mut PrimBuilder<'_>, elem: ElemType, choice: usize) -> NodeId {
        use CoreOp::*;
        let memory: Vec<NodeId> =
            self.memory.iter().filter(|&&(_, other, _)| other == elem).map(|&(id, ..)| id).collect();
        match choice {
            3 if !memory.is_empty() => {
                let indices = [self.index(b), self.index(b)];
                b.load(memory[self.dice.below(memory.len())], &indices)
            }
            4 => {
                let from = self.elem();
                let value = self.value(b, from);
                b.op_with(Cast, &[value], &[Attr::new("elem", elem.name().unwrap())])
            }
            5 => {
                let operands = [self.value(b, ElemType::BOOL), self.value(b, elem), self.value(b, elem)];
                b.op(Select, &operands)
            }
            6 if elem == ElemType::BOOL => {
                let other = self.elem();
                let operands = [self.value(b, other), self.value(b, other)];
                b.op([Eq, Ne, Lt, Le, Gt, Ge][self.dice.below(6)], &operands)
            }
            _ if elem == ElemType::BOOL => {
                let operands = [self.value(b, elem), self.value(b, elem)];
                match self.dice.below(4) {
                    0 => b.op(Not, &operands[..1]),
                    at => b.op([And, Or, Xor][at - 1], &operands),
                }
            }
            6 if elem.is_float() => {
                let operand = self.value(b, elem);
                b.op([Sqrt, Floor, Neg, Abs, Exp][self.dice.below(5)], &[operand])
            }
            6 => {
                let operands = [self.value(b, elem), self.value(b, elem)];
                b.op([Shl, Shr, FloorDiv, FloorMod, And, Or, Xor][self.dice.below(7)], &operands)
            }
            _ => {
                let operands = [self.value(b, elem), self.value(b, elem)];
                b.op([Add, Sub, Mul, Div, Mod, Min, Max, Add, Sub][self.dice.below(9)], &operands)
            }
        }
    }

    /// The values that are visible now are visible again afterwards, and no others.
    fn within<T>(&mut self, then: impl FnOnce(&mut Self) -> T) -> T {
        let (n_values, n_memory) = (self.values.len(), self.memory.len());
        let made = then(self);
        self.values.truncate(n_values);
        self.memory.truncate(n_memory);
        made
    }

    fn named(&mut self, b: &mut PrimBuilder<'_>, id: NodeId) {
        if b.function().kind(id) == kind::IMM {
            return;
        }
        match self.dice.below(6) {
            0 => b.function_mut().set_name(id, &format!("v{id}").replace('%', "")),
            1 => b.function_mut().set_name(id, "again"),
            2 if b.function().kind(id) != kind::VAR => {
                let attrs: Vec<Attr> = vec![Attr::meta("doc", "d")];
                let f = b.function_mut();
                let recs = [f.attr_recs(id).to_vec(), attrs.iter().map(|attr| f.encode_attr(attr)).collect()].concat();
                f.set_attr_recs(id, &recs);
            }
            _ => {}
        }
    }

    fn fill(&mut self, b: &mut PrimBuilder<'_>, depth: usize) {
        for _ in 0..1 + self.dice.below(4) {
            if self.budget > 0 {
                self.budget -= 1;
                self.statement(b, depth);
            }
        }
    }

    fn statement(&mut self, b: &mut PrimBuilder<'_>, depth: usize) {
        let elem = self.elem();
        match self.dice.below(if depth > 3 { 4 } else { 10 }) {
            0 => {
                let value = self.value(b, elem);
                self.named(b, value);
                if b.function().kind(value) != kind::IMM {
                    self.values.push((value, elem));
                }
            }
            1 => {
                let memory = match self.dice.below(3) {
                    0 => b.op_with(
                        CoreOp::Alloc,
                        &[],
                        &[
                            Attr::new("shape", vec![4_i64, 2]),
                            Attr::new("elem", elem.name().unwrap()),
                            Attr::new("scope", "static"),
                        ],
                    ),
                    _ => b.alloc(elem, &[2, 8]),
                };
                self.named(b, memory);
                self.memory.push((memory, elem, true));
            }
            2 | 3 => {
                let writable: Vec<(NodeId, ElemType)> =
                    self.memory.iter().filter(|memory| memory.2).map(|&(id, elem, _)| (id, elem)).collect();
                let (memory, elem) = writable[self.dice.below(writable.len())];
                let (value, indices) = (self.value(b, elem), [self.index(b), self.index(b)]);
                let store = b.store(memory, value, &indices);
                if self.dice.below(6) == 0 {
                    self.named(b, store);
                }
            }
            4 | 5 => {
                let index = if self.dice.below(3) == 0 { ElemType::INT32 } else { ElemType::INT64 };
                let extent = self.value(b, index);
                let kind = LoopKind::ALL[self.dice.below(4)];
                let id = self.within(|filler| {
                    b.each_of(kind, extent, |b, i| {
                        if filler.dice.below(2) == 0 {
                            b.function_mut().set_name(i, "i");
                        }
                        filler.values.push((i, index));
                        filler.fill(b, depth + 1);
                    })
                });
                self.named(b, id);
            }
            6 => {
                let cond = self.value(b, ElemType::BOOL);
                let this = std::cell::RefCell::new(&mut *self);
                let block = |b: &mut PrimBuilder<'_>| this.borrow_mut().within(|filler| filler.fill(b, depth + 1));
                match depth % 2 {
                    0 => b.when(cond, block),
                    _ => b.when_else(cond, block, block),
                };
            }
            7 => {
                let index = ElemType::INT64;
                let (min, extent) = (self.value(b, index), self.value(b, index));
                let other = self.elem();
                let start = [self.value(b, elem), self.value(b, other)];
                let results = self.within(|filler| {
                    b.fold(min, extent, start, |b, i, inner| {
                        filler.named(b, inner[0]);
                        filler.values.extend([(i, index), (inner[0], elem), (inner[1], other)]);
                        filler.fill(b, depth + 1);
                        [filler.value(b, elem), filler.value(b, other)]
                    })
                });
                self.values.extend([(results[0], elem), (results[1], other)]);
                self.named(b, results[1]);
            }
            8 => {
                let start = [self.value(b, elem)];
                let this = std::cell::RefCell::new(&mut *self);
                let [result] = b.while_loop(
                    start,
                    |b, [inner]| {
                        this.borrow_mut().within(|filler| {
                            b.function_mut().set_name(inner, "w");
                            filler.values.push((inner, elem));
                            filler.value(b, ElemType::BOOL)
                        })
                    },
                    |b, [inner]| {
                        this.borrow_mut().within(|filler| {
                            if filler.dice.below(2) == 0 {
                                b.function_mut().set_name(inner, "w");
                            }
                            filler.values.push((inner, elem));
                            filler.fill(b, depth + 1);
                            [filler.value(b, elem)]
                        })
                    },
                );
                self.values.push((result, elem));
                self.named(b, result);
            }
            _ => {
                let cond = self.value(b, ElemType::BOOL);
                let this = std::cell::RefCell::new(&mut *self);
                let branch = |b: &mut PrimBuilder<'_>| {
                    this.borrow_mut().within(|filler| {
                        filler.fill(b, depth + 1);
                        filler.value(b, elem)
                    })
                };
                let value = b.lazy(cond, branch, branch);
                self.values.push((value, elem));
                self.named(b, value);
            }
        }
    }
}

fn random(seed: u64) -> Function {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..4 {
        dice.below(2);
    }
    let mut f = prim_func(
        &[("x", F32, &[4, 8]), ("i", ElemType::INT64, &[4, 4]), ("h", ElemType::FLOAT16, &[2, 2])],
        &[("y", F32, &[4, 8]), ("z", ElemType::UINT8, &[4, 8])],
    );
    let [x, i, h, y, z] = *f.params() else { panic!() };
    let memory = vec![
        (x, F32, false),
        (i, ElemType::INT64, false),
        (h, ElemType::FLOAT16, false),
        (y, F32, true),
        (z, ElemType::UINT8, true),
    ];
    let mut b = PrimBuilder::new(&mut f);
    let budget = 10 + dice.below(120);
    let mut filler = Filler { dice: &mut dice, memory, values: Vec::new(), budget };
    while filler.budget > 0 {
        filler.fill(&mut b, 0);
    }
    b.finish().unwrap();
    f
}

#[test]
fn random_programs_are_read_back() {
    for seed in 0..200 {
        let mut module = IRModule::new();
        let f = random(seed);
        let mut typed = f.clone();
        infer(&mut typed);
        module.set_prim_func("k", f);
        let faults = verify(&module);
        let is_shadowing = |fault: &Fault| fault.message.contains("name");
        assert!(faults.iter().all(is_shadowing), "{seed}: {}", faults[0]);
        let text = read_back(&module);
        let mut again = IRModule::new();
        again.set_prim_func("k", typed);
        equal(&module, &again).unwrap();
        assert!(!text.contains("tir::"), "{text}");
    }
}

/// Random bytes for a seed.
fn bytes(seed: u64) -> Vec<u8> {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..dice.below(600)).map(|_| dice.below(256) as u8).collect()
}

/// Whatever a function is, as a loop program it is read back.
#[test]
fn graphs_as_loop_programs_are_read_back() {
    for seed in 0..300 {
        let random = wild::module(&mut Tape::new(&bytes(seed)));
        let mut module = IRModule::new();
        for (name, f) in random.functions() {
            module.set_prim_func(name, Function::clone(f));
        }
        read_back(&module);
    }
}

/// Programs that break the rules are read back, too.
#[test]
fn wrong_programs_are_read_back() {
    for seed in 0..300 {
        let mut f = random(seed % 200);
        let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        let ids: Vec<NodeId> = f.all_bindings().filter(|&id| f.kind(id) != kind::FUNCTION).collect();
        let mut everywhere: Vec<NodeId> = f.params().to_vec();
        everywhere.push(NodeId::ABSENT);
        everywhere.push(f.op(OpId(0)).node);
        everywhere.extend(
            [ElemType::INT64, ElemType::INT32, ElemType::UINT8].map(|elem| f.add_imm(Imm::int(elem, 1).unwrap())),
        );
        everywhere.extend([F32, ElemType::DOUBLE].map(|elem| f.add_imm(Imm::float(elem, 1.5).unwrap())));
        everywhere.push(f.add_imm(Imm::bool(true)));
        everywhere.push(f.add_leaf(kind::IMM, 0, 0, 7, 0));
        for _ in 0..1 + dice.below(3) {
            let id = ids[dice.below(ids.len())];
            let n_values = f.operands(id).len() - f.n_regions(id);
            match dice.below(6) {
                0 => {
                    let ty = TypeId::from_index(dice.below(f.n_types()));
                    f.set_type(id, ty);
                }
                1 => f.set_let(id, LetForm::Let),
                2 => {
                    let attrs = [Attr::new("elem", "int8"), Attr::new("lanes", 4_i64), Attr::meta("doc", "d")];
                    let f = &mut f;
                    let rec = f.encode_attr(&attrs[dice.below(3)]);
                    let recs = [f.attr_recs(id), &[rec]].concat();
                    f.set_attr_recs(id, &recs);
                }
                3 => {
                    let param = f.regions(id).first().and_then(|&region| f.operands(region).last().copied());
                    let ty = TypeId::from_index(dice.below(f.n_types()));
                    param.into_iter().for_each(|param| f.set_type(param, ty));
                }
                _ if n_values > 1 => {
                    f.set_operand(id, 1 + dice.below(n_values - 1), everywhere[dice.below(everywhere.len())]);
                }
                _ => {}
            }
        }
        let mut module = IRModule::new();
        module.set_prim_func("k", f);
        read_back(&module);
    }
}

/// Functions that the arena checks accept are printed, sense or not.
#[test]
fn broken_programs_are_printed() {
    for seed in 0..500 {
        let mut f = random(seed % 50);
        let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        for _ in 0..1 + dice.below(4) {
            let (at, value) = (dice.below(1 << 30), if dice.below(2) == 0 { dice.below(300) } else { dice.below(20) });
            f.corrupt_word(at, value as u32);
        }
        if verify_function(&f, None).iter().any(|fault| fault.code.as_str().starts_with("V0")) {
            continue;
        }
        let ids: Vec<NodeId> = (0..f.n_nodes()).map(NodeId::from_index).collect();
        for id in ids {
            assert!(!display(&f, id).to_string().is_empty());
        }
        let mut module = IRModule::new();
        module.set_prim_func("k", f);
        for flat in [true, false] {
            let text = print(&module, &PrintOptions { flat, ..PrintOptions::default() });
            drop(parse_str(&text));
        }
    }
}

/// Texts with mistakes are refused or read, and what is read is printed.
#[test]
fn texts_with_mistakes_do_no_harm() {
    const PIECES: [&str; 30] = [
        " ", "%", "(", ")", "[", "]", "{", "}", ";", ",", "=", "..", "-", "!", "&", "in", "for", "with", "do", "while",
        "when", "else", "1", "1.0f16", "nan(", "_", "0x", "#[", "alloc", "tir::",
    ];
    for seed in 0..500 {
        let mut module = IRModule::new();
        module.set_prim_func("k", random(seed % 50));
        let mut text = print(&module, &PrintOptions::default());
        let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        for _ in 0..1 + dice.below(3) {
            let at = dice.below(text.len());
            let end = (at + dice.below(4)).min(text.len());
            text.replace_range(at..end, PIECES[dice.below(PIECES.len())]);
        }
        match parse_str(&text) {
            Ok(module) => _ = read_back(&module),
            Err(errors) => assert!(!errors.is_empty() && errors.len() <= 21),
        }
    }
}
