//! `statistics`: the counts of passes.

use super::BuiltIn;
use crate::{
    pass::{InstrumentFindings, PassInfo, PassInstrument},
    table::table,
};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

inventory::submit! {
    BuiltIn {
        name: "statistics",
        doc: "Sums up what passes count, by pass and statistic.",
        options: Vec::new,
        make: |_, _| Ok(Arc::new(Statistics::default())),
    }
}

/// Sums the counts of passes.
#[derive(Debug, Default)]
pub struct Statistics {
    counts: Mutex<BTreeMap<(String, String), u64>>,
}

impl Statistics {
    /// Returns the counts, ordered by pass and statistic.
    pub fn counts(&self) -> BTreeMap<(String, String), u64> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl PassInstrument for Statistics {
    fn name(&self) -> &str {
        "statistics"
    }

    fn counted(&self, pass: &PassInfo<'_>, statistic: &str, n: u64) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry((pass.name.to_owned(), statistic.to_owned())).or_default();
        *count = count.saturating_add(n);
    }

    fn findings(&self) -> Option<InstrumentFindings> {
        let counts = self.counts();
        let rows: Vec<[String; 3]> =
            counts.iter().map(|((pass, name), n)| [pass.clone(), name.clone(), n.to_string()]).collect();
        let text = match rows.is_empty() {
            true => "no pass counted anything\n".to_owned(),
            false => table(2, &["pass", "statistic", "count"], &rows),
        };
        let mut data: Map<String, Value> = Map::new();
        for ((pass, name), n) in counts {
            data.entry(pass).or_insert_with(|| Value::Object(Map::new()))[name] = n.into();
        }
        Some(InstrumentFindings { text, data: data.into() })
    }
}
