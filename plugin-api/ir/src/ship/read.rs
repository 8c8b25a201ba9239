//! Reading shipped content. Its writer is not believed.

use super::layout::*;
use crate::{
    Blob, ConstId, ElemType, Function, Global, IRModule, ModuleAttr, NodeId, NodeRec, RArc, SideList, SideTable,
    Source, Tensor, TypeId,
    agree::merge,
    function::{FunctionLists, Stated},
    global_kind,
    verify::verify_structure,
};
use std::{cell::OnceCell, collections::HashMap, ops::Range};

/// The entries and lists of what was shipped: every one is within the bytes, and each of those that there is one of is
/// there once.
pub struct Reader<'a> {
    bytes: &'a [u8],
    root: NodeId,
    entries: Vec<Entry>,
    keys: &'a [u8],
}

/// The size of the elements of a list that has one entry at most; `None` for the others.
fn single(list: u32) -> Option<usize> {
    Some(match list {
        ship_list::NODES | ship_list::ATTRS => 16,
        ship_list::BLOCKS | ship_list::OPS => 20,
        ship_list::TYPES => 12,
        ship_list::POOL | ship_list::WORDS | ship_list::TYPE_WORDS => 4,
        ship_list::TYPE_DIMS | ship_list::SIZES | ship_list::RESERVED => 8,
        ship_list::TENSORS => TensorRec::SIZE,
        ship_list::STRINGS | ship_list::DATA | ship_list::KEYS => 1,
        _ => return None,
    })
}

impl<'a> Reader<'a> {
    /// Reads header and directory.
    pub fn new(bytes: &'a [u8], kind: u32) -> Result<Self, String> {
        let header = bytes.get(..Header::SIZE).ok_or("it is shorter than a header")?;
        let header = Header::get(header);
        if header.magic != u64::from_le_bytes(MAGIC) {
            return Err("it does not begin with `\\x89RelShip`".into());
        }
        if header.format != FORMAT {
            return Err(format!("it is of format {}, and format {FORMAT} is read here", header.format));
        }
        if header.kind != kind {
            return Err(format!("it is of kind {} where {kind} is asked for", header.kind));
        }
        if header.len != bytes.len() as u64 {
            return Err(format!("its header says {} bytes, and it has {}", header.len, bytes.len()));
        }
        let len = (header.n_lists as usize).checked_mul(Entry::SIZE);
        let directory = len.and_then(|len| bytes[Header::SIZE..].get(..len));
        let directory = directory.ok_or_else(|| format!("it has no room for {} lists", header.n_lists))?;
        let mut this = Self { bytes, root: header.root, entries: get_all(directory), keys: &[] };
        this.check()?;
        this.keys = this.list(ship_list::KEYS);
        // Keys have places of their own, too.
        let n_key_bytes: u64 = this.entries.iter().map(|entry| u64::from(entry.key_len)).sum();
        if n_key_bytes > this.keys.len() as u64 {
            return Err(format!("its keys have {n_key_bytes} bytes in a list of {}", this.keys.len()));
        }
        for entry in &this.entries {
            this.key(entry)?;
        }
        Ok(this)
    }

    fn check(&self) -> Result<(), String> {
        let mut seen = 0u64;
        // Lists have places of their own, so together they are no longer than the whole.
        let mut room = self.bytes.len() as u64;
        for &Entry { list, size, offset, len, .. } in &self.entries {
            let end = offset.checked_add(len);
            let is_inside = end.is_some_and(|end| end <= self.bytes.len() as u64) && offset % ALIGNMENT as u64 == 0;
            room = room
                .checked_sub(len)
                .filter(|_| is_inside)
                .ok_or_else(|| format!("list {list} is {len} bytes from byte {offset} on, of {}", self.bytes.len()))?;
            match single(list) {
                Some(expected) if size as usize != expected || len % expected as u64 != 0 => {
                    return Err(format!("list {list} has {len} bytes, {size} each, where each has {expected}"));
                }
                Some(_) if seen & 1 << list != 0 => return Err(format!("list {list} is there twice")),
                Some(_) => seen |= 1 << list,
                None if list & ship_list::CRITICAL != 0 => {
                    return Err(format!(
                        "its list {list:#x} is of a later version, and nothing can be read without it"
                    ));
                }
                None => {}
            }
        }
        Ok(())
    }

    fn bytes_of(&self, entry: &Entry) -> &'a [u8] {
        &self.bytes[entry.offset as usize..][..entry.len as usize]
    }

    /// The bytes of a list of which there is one.
    fn list(&self, list: u32) -> &'a [u8] {
        self.entries.iter().find(|entry| entry.list == list).map_or(&[], |entry| self.bytes_of(entry))
    }

    fn records<R: Record>(&self, list: u32) -> Vec<R> {
        get_all(self.list(list))
    }

    fn all(&self, list: u32) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.list == list)
    }

    fn key(&self, entry: &Entry) -> Result<&'a str, String> {
        let key = self.keys.get(entry.key as usize..).and_then(|rest| rest.get(..entry.key_len as usize));
        let key = key.and_then(|key| std::str::from_utf8(key).ok());
        key.ok_or_else(|| format!("the key of a list {} is out of range or not UTF-8", entry.list))
    }

    fn kind(entry: &Entry) -> Result<u8, String> {
        u8::try_from(entry.kind).map_err(|_| format!("a list {} is of kind {}", entry.list, entry.kind))
    }

    fn reserved<const N: usize>(&self) -> Result<[u64; N], String> {
        match self.records::<u64>(ship_list::RESERVED) {
            words if words.is_empty() => Ok([0; N]),
            words => words.try_into().map_err(|_| format!("there are not {N} reserved words")),
        }
    }

    fn side_lists(&self) -> Result<Vec<SideList>, String> {
        let list = |entry: &Entry| {
            let list = SideList::new(self.key(entry)?, entry.size, Self::kind(entry)?);
            Ok(SideList { bytes: self.bytes_of(entry).into(), ..list })
        };
        self.all(ship_list::LIST).map(list).collect()
    }
}

/// The most side tables that are read.
const MOST_TABLES: usize = 256;

/// The function that was sent, so that parts of it that come back unchanged are not read again.
#[derive(Clone, Copy)]
pub struct Sent<'a> {
    /// The bytes of a function; empty if none was sent.
    pub bytes: &'a [u8],
    /// The function that these are.
    pub function: Option<&'a Function>,
    /// The shared bytes, by number.
    pub shared: &'a [Blob],
    /// Whether the writer is believed about the bytes that tensors were read from.
    pub is_believed: bool,
    /// Whether types that are stated add to inferred ones, which they do not contradict.
    pub adds_types: bool,
    /// The tensors of the other functions that were sent with it.
    others: Option<&'a Find<'a>>,
}

/// Finds a tensor among others that were sent.
type Find<'a> = dyn Fn(&Lying<'_>) -> Option<Tensor> + 'a;

/// The tensors of all functions of a module that was sent: one may come back in another function.
struct Others<'a> {
    bodies: Vec<(&'a [u8], &'a Function)>,
    known: OnceCell<HashMap<Lying<'a>, Tensor>>,
}

impl<'a> Others<'a> {
    fn get(&self, lying: &Lying<'_>) -> Option<Tensor> {
        let known: &HashMap<Lying<'_>, Tensor> = self.known.get_or_init(|| self.all());
        known.get(lying).cloned()
    }

    fn all(&self) -> HashMap<Lying<'a>, Tensor> {
        let mut all = HashMap::new();
        for &(bytes, f) in &self.bodies {
            let Ok(reader) = Reader::new(bytes, shipped::FUNCTION) else { continue };
            let lists = TensorLists::of(&reader);
            for at in 0..f.n_constants() {
                if let Some(lying) = lists.rec(at).and_then(|rec| lists.lying(&rec)) {
                    all.entry(lying).or_insert_with(|| f.tensor(ConstId::from_index(at)).clone());
                }
            }
        }
        all
    }
}

impl<'a> Sent<'a> {
    /// The function that was sent to a writer that is not believed.
    pub fn new(bytes: &'a [u8], function: Option<&'a Function>, shared: &'a [Blob]) -> Self {
        Self { bytes, function, shared, is_believed: false, adds_types: false, others: None }
    }
}

/// The lists that tensors are in.
#[derive(Clone, Copy, Default)]
struct TensorLists<'a> {
    recs: &'a [u8],
    sizes: &'a [u8],
    data: &'a [u8],
}

/// A tensor as it lies in its lists: equal ones are equal tensors, read from equal bytes.
#[derive(PartialEq, Eq, Hash)]
struct Lying<'a> {
    elem: u8,
    storage: u8,
    dims: &'a [u8],
    data: LyingBytes<'a>,
    encoded: LyingBytes<'a>,
}

/// Shared bytes by their place, others by what they are.
#[derive(PartialEq, Eq, Hash)]
enum LyingBytes<'a> {
    Shared(u32, u64, u64),
    Here(&'a [u8]),
}

impl<'a> TensorLists<'a> {
    fn of(reader: &Reader<'a>) -> Self {
        let list = |list| reader.list(list);
        Self { recs: list(ship_list::TENSORS), sizes: list(ship_list::SIZES), data: list(ship_list::DATA) }
    }

    fn rec(&self, at: usize) -> Option<TensorRec> {
        let start = at.checked_mul(TensorRec::SIZE)?;
        Some(TensorRec::get(self.recs.get(start..)?.get(..TensorRec::SIZE)?))
    }

    fn lying(&self, rec: &TensorRec) -> Option<Lying<'a>> {
        let dims = self.sizes.get((rec.dims as usize).checked_mul(8)?..)?.get(..(rec.rank as usize).checked_mul(8)?)?;
        let bytes = |place: Place| {
            Some(match place.of {
                HERE => {
                    let rest = self.data.get(usize::try_from(place.start).ok()?..)?;
                    LyingBytes::Here(rest.get(..usize::try_from(place.len).ok()?)?)
                }
                of => LyingBytes::Shared(of, place.start, place.len),
            })
        };
        let (data, encoded) = (bytes(rec.data)?, bytes(rec.encoded)?);
        Some(Lying { elem: rec.elem, storage: rec.storage, dims, data, encoded })
    }
}

/// The tensors of a list.
struct TensorReader<'a> {
    sent: &'a Sent<'a>,
    before: TensorLists<'a>,
    lists: TensorLists<'a>,
    sizes: Vec<u64>,
    data: Blob,
    /// Whether no byte of the data belongs to two tensors: then comparing all takes no longer than reading them.
    is_apart: bool,
    /// The tensors that were sent, once one is not in its place.
    known: OnceCell<HashMap<Lying<'a>, usize>>,
}

impl<'a> TensorReader<'a> {
    fn new(reader: &Reader<'a>, sent: &'a Sent<'a>) -> Self {
        let before = Reader::new(sent.bytes, shipped::FUNCTION).ok();
        let places =
            get_all::<TensorRec>(reader.list(ship_list::TENSORS)).into_iter().flat_map(|it| [it.data, it.encoded]);
        let here = places.filter(|place| place.of == HERE).map(|place| place.len).fold(0, u64::saturating_add);
        Self {
            is_apart: here <= reader.list(ship_list::DATA).len() as u64,
            sent,
            before: before.as_ref().map(TensorLists::of).unwrap_or_default(),
            lists: TensorLists::of(reader),
            sizes: reader.records(ship_list::SIZES),
            data: Blob::from(reader.list(ship_list::DATA)),
            known: OnceCell::new(),
        }
    }

    /// The tensor of the function that was sent that this one is.
    fn known(&self, at: usize, rec: &TensorRec) -> Option<Tensor> {
        if !self.is_apart {
            return None;
        }
        let lying = self.lists.lying(rec)?;
        let own = self.sent.function.and_then(|f| self.known_in(f, at, &lying));
        own.or_else(|| self.sent.others?(&lying))
    }

    fn known_in(&self, f: &Function, at: usize, lying: &Lying<'a>) -> Option<Tensor> {
        let in_place = self.before.rec(at).and_then(|before| self.before.lying(&before));
        let at = match in_place.as_ref() == Some(lying) {
            true => at,
            false => *self.known.get_or_init(|| self.all_known()).get(lying)?,
        };
        (at < f.n_constants()).then(|| f.tensor(ConstId::from_index(at)).clone())
    }

    fn all_known(&self) -> HashMap<Lying<'a>, usize> {
        let all = (0..).map_while(|at| Some((at, self.before.rec(at)?)));
        all.filter_map(|(at, rec)| Some((self.before.lying(&rec)?, at))).collect()
    }

    fn place(&self, place: Place) -> Result<Blob, String> {
        let of = match place.of {
            HERE => Some(&self.data),
            of => self.sent.shared.get(of as usize),
        };
        let blob = of.and_then(|blob| blob.slice(place.start, place.len));
        let blob = blob.ok_or_else(|| {
            let Place { of, start, len } = place;
            format!("{len} bytes from byte {start} on of the bytes {of}, which are not there")
        })?;
        // The few bytes that a blob can hold itself do not keep the rest in memory.
        Ok(if place.of == HERE && place.len <= 32 { Blob::from(&*blob) } else { blob })
    }

    fn tensor(&self, at: usize, bytes: &[u8]) -> Result<Tensor, String> {
        let rec = TensorRec::get(bytes);
        let fault = |why: &dyn std::fmt::Display| format!("tensor {at}: {why}");
        let dims = self.sizes.get(rec.dims as usize..).and_then(|rest| rest.get(..rec.rank as usize));
        let dims = dims.ok_or_else(|| fault(&"its dimensions are out of range"))?;
        if let Some(known) = self.known(at, &rec) {
            return Ok(known);
        }
        let data = self.place(rec.data).map_err(|why| fault(&why))?;
        let tensor = Tensor::from_stored(rec.storage, ElemType(rec.elem), dims, data).map_err(|error| fault(&error))?;
        // The bytes that a tensor was read from describe no other one.
        if !self.sent.is_believed || rec.encoded.len == 0 {
            return Ok(tensor);
        }
        Ok(tensor.with_encoded(self.place(rec.encoded).map_err(|why| fault(&why))?))
    }

    fn all(&self, reader: &Reader<'_>) -> Result<Vec<Tensor>, String> {
        let recs = reader.list(ship_list::TENSORS).chunks_exact(TensorRec::SIZE);
        // So have dimensions.
        let n_sizes: u64 = recs.clone().map(|bytes| u64::from(TensorRec::get(bytes).rank)).sum();
        if n_sizes > self.sizes.len() as u64 {
            return Err(format!("its tensors have {n_sizes} dimensions in a list of {}", self.sizes.len()));
        }
        recs.enumerate().map(|(at, bytes)| self.tensor(at, bytes)).collect()
    }
}

/// Infers the types of a function that came back, before those that were stated for it count.
pub type Infer<'a> = dyn Fn(&mut Function) + 'a;

/// Reads a function that takes the place of the one that was sent: nothing that was known of that one is believed of parts
/// that are others now.
pub fn changed_function(bytes: &[u8], sent: &Sent<'_>, infer: &Infer<'_>) -> Result<Function, String> {
    let mut f = function(bytes, sent)?;
    let Some(before) = sent.function else {
        if !sent.is_believed {
            f.forget_origin();
        }
        return Ok(f);
    };
    let stated = f.forget_changed(before);
    if !stated.is_empty() {
        infer(&mut f);
        restore(&mut f, stated, sent.adds_types);
    }
    Ok(f)
}

/// Believes the types that were stated for nodes about which nothing else is known or, if `adds` says so, that what is known does
/// not contradict.
fn restore(f: &mut Function, stated: Stated, adds: bool) {
    for (id, ty) in stated {
        let known = f.type_id(id);
        if adds || known == TypeId::UNKNOWN {
            let both = merge(f, ty, known);
            f.set_type(id, both);
        }
    }
}

/// Reads a function. If nothing is returned but `Ok`, it can be read, walked, typed and printed.
pub fn function(bytes: &[u8], sent: &Sent<'_>) -> Result<Function, String> {
    let reader = Reader::new(bytes, shipped::FUNCTION)?;
    let n_nodes = reader.list(ship_list::NODES).len() / NodeRec::SIZE;
    let table = |entry: &Entry| {
        let table = SideTable::new(reader.key(entry)?, entry.size, Reader::kind(entry)?);
        // Entries of nodes that do not exist would become those of the next nodes.
        let bytes = reader.bytes_of(entry);
        let len = bytes.len().min(n_nodes.saturating_mul(entry.size as usize));
        Ok(SideTable { bytes: bytes[..len].into(), ..table })
    };
    // Each is looked at for each node.
    let mut keys: Vec<&str> = reader.all(ship_list::TABLE).map(|entry| reader.key(entry)).collect::<Result<_, _>>()?;
    keys.sort_unstable();
    if keys.len() > MOST_TABLES || keys.windows(2).any(|two| two[0] == two[1]) {
        return Err(format!("it has {} side tables, or two of one key, where {MOST_TABLES} are read", keys.len()));
    }
    let mut f = Function::from_lists(FunctionLists {
        nodes: reader.records(ship_list::NODES),
        pool: reader.records(ship_list::POOL),
        attrs: reader.records(ship_list::ATTRS),
        words: reader.records(ship_list::WORDS),
        blocks: reader.records(ship_list::BLOCKS),
        ops: reader.records(ship_list::OPS),
        types: reader.records(ship_list::TYPES),
        type_words: reader.records(ship_list::TYPE_WORDS),
        type_dims: reader.records(ship_list::TYPE_DIMS),
        strings: reader.list(ship_list::STRINGS).to_vec(),
        tensors: TensorReader::new(&reader, sent).all(&reader)?,
        tables: reader.all(ship_list::TABLE).map(table).collect::<Result<_, String>>()?,
        lists: reader.side_lists()?,
        reserved: reader.reserved()?,
        root: reader.root,
    });
    if let Some(fault) = verify_structure(&f).first() {
        let node = fault.node.map_or_else(String::new, |node| format!(", at {node}"));
        return Err(format!("{}{node} ({})", fault.message, fault.code.as_str()));
    }
    f.index_again()?;
    Ok(f)
}

/// The places of the bodies of a shipped module's globals, by name.
fn bodies<'a>(reader: &'a Reader<'_>) -> Result<HashMap<&'a str, Range<usize>>, String> {
    let body = |entry: &Entry| Ok((reader.key(entry)?, entry.offset as usize..(entry.offset + entry.len) as usize));
    reader.all(ship_list::GLOBAL).map(body).collect()
}

/// Reads a module. Functions that came back as they were sent are those of `before`.
pub fn module(bytes: &[u8], sent: &Sent<'_>, before: Option<&IRModule>, infer: &Infer<'_>) -> Result<IRModule, String> {
    let reader = Reader::new(bytes, shipped::MODULE)?;
    let sent_reader = before.map(|_| Reader::new(sent.bytes, shipped::MODULE)).transpose()?;
    let sent_bodies = sent_reader.as_ref().map(bodies).transpose()?.unwrap_or_default();
    let globals = before.into_iter().flat_map(IRModule::globals);
    let by_name: HashMap<&str, &Global> = globals.map(|global| (global.name.as_str(), global)).collect();
    let sent_body = |(name, range): (&&str, &Range<usize>)| {
        by_name.get(name).map(|global| (&sent.bytes[range.clone()], &**global.body()))
    };
    let others = Others { bodies: sent_bodies.iter().filter_map(sent_body).collect(), known: OnceCell::new() };
    let find = |lying: &Lying<'_>| others.get(lying);
    let sent = &Sent { others: Some(&find), ..*sent };
    let body = |entry: &Entry| {
        let (name, kind, body) = (reader.key(entry)?, Reader::kind(entry)?, reader.bytes_of(entry));
        let known = by_name.get(name).zip(sent_bodies.get(name));
        let bytes = known.map_or(&[][..], |(_, range)| &sent.bytes[range.clone()]);
        if let Some((same, _)) = known.filter(|(global, _)| global.kind == kind && bytes == body) {
            return Ok((name, kind, same.body().clone()));
        }
        let of = known.map(|(global, _)| &**global.body());
        let sent = Sent { bytes, function: of, ..*sent };
        let infer: &Infer<'_> = if kind == global_kind::FUNCTION { infer } else { &|_| {} };
        let f = changed_function(body, &sent, infer).map_err(|why| format!("function `@{name}`: {why}"))?;
        Ok((name, kind, RArc::new(f)))
    };
    let globals = reader.all(ship_list::GLOBAL).map(body).collect::<Result<Vec<_>, String>>()?;
    let of_module = Sent { bytes: &[], function: None, ..*sent };
    let tensors = TensorReader::new(&reader, &of_module);
    let all = tensors.all(&reader)?;
    let attrs = reader.all(ship_list::ATTRIBUTE).map(|entry| {
        let key = reader.key(entry)?;
        attribute(key, Reader::kind(entry)?, reader.bytes_of(entry), &all)
            .ok_or_else(|| format!("the module attribute `{key}` is too short, or has tensors that are not there"))
    });
    let attrs = attrs.collect::<Result<Vec<_>, String>>()?;
    let source = |entry: &Entry| {
        let name = reader.key(entry)?;
        let place = Some(reader.bytes_of(entry)).filter(|bytes| bytes.len() == Place::SIZE);
        let bytes = tensors.place(Place::get(place.ok_or_else(|| format!("the source `{name}` is not one place"))?))?;
        Ok(Source { name: name.into(), bytes })
    };
    let sources = reader.all(ship_list::SOURCE).map(source).collect::<Result<Vec<_>, String>>()?;
    let mut new = IRModule::from_parts(before.map_or(0, IRModule::version), reader.reserved()?);
    new.attrs = attrs.into();
    new.sources = sources.into();
    new.lists = reader.side_lists()?.into();
    let n_globals = globals.len();
    new.set_globals(globals);
    match new.globals().len() {
        n if n == n_globals => Ok(new),
        _ => Err("two globals have one name".into()),
    }
}

fn attribute(name: &str, kind: u8, bytes: &[u8], tensors: &[Tensor]) -> Option<ModuleAttr> {
    let (int, rest) = bytes.split_at_checked(8)?;
    let (n_tensors, rest) = rest.split_at_checked(4)?;
    let (ids, value) = rest.split_at_checked((u32::get(n_tensors) as usize).checked_mul(4)?)?;
    let tensors = get_all::<u32>(ids).into_iter().map(|id| tensors.get(id as usize).cloned());
    Some(ModuleAttr::from_stored(name, kind, i64::get(int), value, tensors.collect::<Option<Vec<_>>>()?))
}
