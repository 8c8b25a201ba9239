//! Laying fields out as in the source: those that still exist keep their place, byte for byte, removed ones leave no
//! trace, and new ones are placed among their kind in order.

use super::{
    node::header,
    steps::{Step, Writer},
};
use crate::{
    error::Result,
    names::FastMap,
    wire::{Field, Part, Scan, wire_type},
};
use relais_plugin_api::ir::{Hash64, NodeId};
use std::{collections::BTreeMap, ops::Range};

/// The content of a field.
pub(super) enum Content {
    /// The whole field, encoded; the source's if their values are equal.
    Field(Vec<u8>),
    /// Nodes, by their positions in [`Sections::nodes`]. Several are in a row in the source too, and have no graphs.
    Nodes(Range<usize>),
    /// Any other message.
    Message(Vec<Step>),
}

/// One field to write.
pub(super) struct Item {
    pub content: Content,
    /// Where the source has the content, if it does.
    pub at: Option<Part>,
}

impl Item {
    pub fn field(bytes: Vec<u8>) -> Self {
        Self { content: Content::Field(bytes), at: None }
    }
}

/// How often a field may occur.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Arity {
    /// The last one counts.
    One,
    #[default]
    Many,
}

/// All fields of one number, in order.
#[derive(Default)]
pub(super) struct Section {
    pub arity: Arity,
    pub items: Vec<Item>,
}

/// The fields of a message: by number, and encoded ones that have no other place.
#[derive(Default)]
pub(super) struct Sections {
    pub by_number: BTreeMap<u32, Section>,
    nodes: Vec<NodeId>,
    /// Where the source's field of the last node ends, if the node after it can be in the same item.
    row_end: Option<u64>,
    pub extra: Vec<u8>,
}

impl Sections {
    /// Adds a field that may occur often.
    pub fn add(&mut self, number: u32, item: Item) {
        self.by_number.entry(number).or_default().items.push(item);
    }

    /// Adds a node. Together with its neighbours it can be a row within `rows`, the start of the source.
    pub fn add_node(&mut self, number: u32, node: NodeId, at: Option<Part>, rows: &[u8]) {
        let position = self.nodes.len();
        self.nodes.push(node);
        let items = &mut self.by_number.entry(number).or_default().items;
        match (at, self.row_end, items.last_mut()) {
            (Some(part), Some(row_end), Some(Item { content: Content::Nodes(row), .. }))
                if row.end == position && is_next(rows, row_end, number, part) =>
            {
                row.end += 1;
            }
            _ => items.push(Item { content: Content::Nodes(position..position + 1), at }),
        }
        self.row_end = at.map(|part| part.at + part.len).filter(|&end| end <= rows.len() as u64);
    }

    /// Adds a field that occurs once.
    pub fn add_one(&mut self, number: u32, bytes: Vec<u8>) {
        let section = Section { arity: Arity::One, items: vec![Item::field(bytes)] };
        self.by_number.insert(number, section);
    }
}

/// Whether the field that starts at `start` has this number and this content.
fn is_next(rows: &[u8], start: u64, number: u32, content: Part) -> bool {
    /// No tag with a length takes more bytes.
    const MAX_HEADER: u64 = 20;
    let end = content.at + content.len;
    let has_header = (start + 1..=start + MAX_HEADER).contains(&content.at);
    if !has_header || end > rows.len() as u64 {
        return false;
    }
    let field = Scan::part(rows, Part { at: start, len: end - start }).field();
    matches!(field, Ok(Some(field)) if field.number == number && field.part().is_ok_and(|part| part == content))
}

/// The part of the source's extra fields that is kept.
pub(super) struct ExtraFields<'a> {
    /// All of them, in a row.
    pub bytes: &'a [u8],
    /// A number whose fields are among them all.
    pub also: Option<u32>,
    /// The numbers whose fields are not.
    pub known: &'a [u32],
}

fn is_same_value(a: &Field<'_>, b: &Field<'_>) -> Result<bool> {
    Ok(a.wire == b.wire
        && match a.wire {
            wire_type::LEN => a.bytes()? == b.bytes()?,
            wire_type::VARINT => a.int()? == b.int()?,
            _ => a.raw == b.raw,
        })
}

impl Item {
    /// Whether the source certainly does not have it.
    fn is_new(&self) -> bool {
        !matches!(self.content, Content::Field(_)) && self.at.is_none()
    }

    fn matches(&self, slot: &Field<'_>) -> Result<bool> {
        match &self.content {
            Content::Field(bytes) => match Scan::new(bytes, 0).field()? {
                Some(field) => is_same_value(&field, slot),
                None => Ok(false),
            },
            _ => Ok(self.at.is_some() && self.at == slot.part().ok()),
        }
    }

    /// A number that is equal for an item and the slots it matches.
    fn key(&self) -> Option<u64> {
        match &self.content {
            Content::Field(bytes) => slot_value_key(&Scan::new(bytes, 0).field().ok()??),
            _ => self.at.map(place_key),
        }
    }
}

fn place_key(part: Part) -> u64 {
    Hash64::new().word(part.at).finish()
}

fn slot_value_key(slot: &Field<'_>) -> Option<u64> {
    let hash = Hash64::new().word(slot.wire.into());
    Some(
        match slot.wire {
            wire_type::LEN => hash.bytes(slot.bytes().ok()?),
            wire_type::VARINT => hash.word(slot.int().ok()? as u64),
            _ => hash.bytes(slot.raw),
        }
        .finish(),
    )
}

/// A section being laid out.
struct Progress {
    items: std::vec::IntoIter<Item>,
    arity: Arity,
    slots_left: usize,
    /// Whether an item is a field; if not, no slot is looked into.
    has_fields: bool,
    /// Keys of the items that are left, and how many were taken; made when it is first needed.
    index: Option<FastMap<u64, Vec<usize>>>,
    taken: usize,
}

impl Progress {
    /// How many items precede the one in the slot.
    fn distance(&mut self, slot: &Field<'_>) -> Result<Option<usize>> {
        match self.items.as_slice().first() {
            None => return Ok(None),
            Some(next) if next.matches(slot)? => return Ok(Some(0)),
            Some(_) => {}
        }
        let (items, taken) = (self.items.as_slice(), self.taken);
        let index = self.index.get_or_insert_with(|| {
            let mut index: FastMap<u64, Vec<usize>> = FastMap::default();
            for (position, item) in items.iter().enumerate().rev() {
                if let Some(key) = item.key() {
                    index.entry(key).or_default().push(taken + position);
                }
            }
            index
        });
        let by_value = self.has_fields.then(|| slot_value_key(slot)).flatten();
        let by_place = slot.part().ok().map(place_key);
        for key in by_value.into_iter().chain(by_place) {
            let Some(positions) = index.get_mut(&key) else { continue };
            while positions.last().is_some_and(|&position| position < taken) {
                positions.pop();
            }
            let Some(&position) = positions.last() else { continue };
            if items[position - taken].matches(slot)? {
                return Ok(Some(position - taken));
            }
        }
        Ok(None)
    }

    fn take(&mut self) -> Option<Item> {
        self.taken += 1;
        self.items.next()
    }
}

impl Writer<'_> {
    /// Returns the steps for a message, one list for each of its segments in the source; one list if there is none.
    pub fn merge(
        &mut self,
        sections: Sections,
        segments: &[Part],
        extra: Option<&ExtraFields<'_>>,
    ) -> Result<Vec<Vec<Step>>> {
        let Sections { by_number, nodes, extra: new_extra, .. } = sections;
        let mut progress: BTreeMap<u32, Progress> = BTreeMap::new();
        for (number, Section { arity, items }) in by_number {
            let has_fields = items.iter().any(|item| matches!(item.content, Content::Field(_)));
            let items = items.into_iter();
            progress.insert(number, Progress { items, arity, slots_left: 0, has_fields, index: None, taken: 0 });
        }
        let source = self.source;
        let mut last_of: BTreeMap<u32, Part> = BTreeMap::new();
        for &segment in segments {
            let mut scan = Scan::part(source, segment);
            while let Some(field) = scan.field()? {
                if let Some(progress) = progress.get_mut(&field.number) {
                    progress.slots_left += 1;
                    if progress.arity == Arity::One {
                        last_of.insert(field.number, field.whole());
                    }
                }
            }
        }
        let keeps_extra = extra.is_some_and(|extra| extra.bytes == new_extra && !segments.is_empty());
        let mut lists = Vec::new();
        for &segment in segments {
            let mut steps = Vec::new();
            let mut scan = Scan::part(source, segment);
            while let Some(field) = scan.field()? {
                let is_extra = extra.is_some_and(|e| e.also == Some(field.number) || !e.known.contains(&field.number));
                if is_extra {
                    if keeps_extra {
                        push_source(&mut steps, field.whole());
                    }
                    continue;
                }
                let Some(progress) = progress.get_mut(&field.number) else { continue };
                progress.slots_left -= 1;
                let last = last_of.get(&field.number).copied();
                let mut row_left = self.fill_slot(&mut steps, &nodes, progress, &field, last)?;
                while row_left > 0
                    && let Some(field) = scan.field()?
                {
                    push_source(&mut steps, field.whole());
                    progress.slots_left -= 1;
                    row_left -= 1;
                }
                if progress.slots_left == 0 {
                    while let Some(item) = progress.take() {
                        self.place_item(&mut steps, &nodes, field.number, item, None)?;
                    }
                }
            }
            lists.push(steps);
        }
        if lists.is_empty() {
            lists.push(Vec::new());
        }
        let steps = lists.last_mut().expect("at least one list");
        for (number, mut progress) in progress {
            while let Some(item) = progress.take() {
                self.place_item(steps, &nodes, number, item, None)?;
            }
        }
        if !keeps_extra {
            steps.push(Step::Bytes(new_extra));
        }
        Ok(lists)
    }

    /// Returns how many of the slots after this one have the rest of the item's nodes.
    fn fill_slot(
        &mut self,
        steps: &mut Vec<Step>,
        nodes: &[NodeId],
        progress: &mut Progress,
        slot: &Field<'_>,
        last: Option<Part>,
    ) -> Result<usize> {
        if let Some(last) = last.filter(|last| last.at != slot.at) {
            // One of several occurrences, the last of which counts: all stay while that one does.
            let last = Scan::part(self.source, last).field()?;
            let stays = match (last, progress.items.as_slice().first()) {
                (Some(last), Some(item)) => item.matches(&last)?,
                _ => false,
            };
            if stays {
                push_source(steps, slot.whole());
            }
            return Ok(0);
        }
        let Some(distance) = progress.distance(slot)? else {
            // The previous item was removed or changed: a new one takes its place, also among fields of other numbers.
            if progress.items.as_slice().first().is_some_and(Item::is_new)
                && let Some(item) = progress.take()
            {
                self.place_item(steps, nodes, slot.number, item, None)?;
            }
            return Ok(0);
        };
        for _ in 0..distance {
            if let Some(item) = progress.take() {
                self.place_item(steps, nodes, slot.number, item, None)?;
            }
        }
        let Some(item) = progress.take() else { return Ok(0) };
        let row_left = match &item.content {
            Content::Nodes(row) => row.len() - 1,
            _ => 0,
        };
        self.place_item(steps, nodes, slot.number, item, Some(slot))?;
        Ok(row_left)
    }

    /// Places an item, of which `slot` is the field in the source, or that of the first of its nodes.
    fn place_item(
        &mut self,
        steps: &mut Vec<Step>,
        nodes: &[NodeId],
        number: u32,
        item: Item,
        slot: Option<&Field<'_>>,
    ) -> Result<()> {
        match (item.content, slot) {
            (Content::Field(_), Some(slot)) => push_source(steps, slot.whole()),
            (Content::Field(bytes), None) => steps.push(Step::Bytes(bytes)),
            (Content::Nodes(row), Some(slot)) => {
                self.n_untouched += row.len();
                let node = nodes[row.start];
                if self.has_regions(node) {
                    let begin = Step::Begin(number, Some(header(slot)?));
                    steps.extend([begin, Step::SourceNode(node, slot.part()?), Step::End]);
                } else {
                    push_source(steps, slot.whole());
                }
            }
            (Content::Nodes(row), None) => {
                for &node in &nodes[row] {
                    steps.extend([Step::Begin(number, None), Step::Node(node), Step::End]);
                }
            }
            (Content::Message(content), slot) => {
                steps.push(Step::Begin(number, slot.map(header).transpose()?));
                steps.extend(content);
                steps.push(Step::End);
            }
        }
        Ok(())
    }
}

/// Adds a part of the source; extends the last step if they are adjacent.
fn push_source(steps: &mut Vec<Step>, part: Part) {
    match steps.last_mut() {
        Some(Step::Source(last)) if last.at + last.len == part.at => last.len += part.len,
        _ => steps.push(Step::Source(part)),
    }
}
