//! An instrument that looks after the size of a model's weights.

use relais_plugin_api::prelude::*;
use std::{
    fmt::Write as _,
    fs,
    sync::{Mutex, PoisonError},
};

plugin! { description = "keeps passes from making weights larger than they may be" }

/// Options of [`Budget`].
#[derive(PassOptions)]
pub struct Options {
    /// How many times as large as at first the weights may become. With 1.0 they must not grow.
    #[option(default = 1.0, range = 0.0..)]
    max_growth: f64,
    /// The most bytes that weights may take, whatever they took at first; 0 is no limit.
    #[option(default = 0)]
    max_bytes: u64,
    /// A file for a table in CSV: a line for each pass that changed the bytes. Nothing is written when it is empty.
    #[option(default = "")]
    csv: String,
}

pub struct Budget {
    options: Options,
    /// What it saw so far. Hooks may be called from different threads.
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    first: Option<u64>,
    last: u64,
    csv: String,
}

/// Fails a run in which a pass makes the weights larger than they may be, and writes down which passes changed them.
///
/// A constant counts as often as it stands in the program, with all its elements.
#[instrument(name = "weights.Budget")]
impl Instrument for Budget {
    type Options = Options;

    fn new(options: Options) -> Result<Self, PassError> {
        Ok(Self { options, log: Mutex::default() })
    }

    fn before(&self, module: &IRModule, _: &PassInfo<'_>, _: &InstrumentCx<'_>) -> Result<(), PassError> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.first.is_none() {
            let bytes = weight_bytes(module);
            *log = Log { first: Some(bytes), last: bytes, csv: format!("pass,bytes,change\n,{bytes},0\n") };
        }
        Ok(())
    }

    fn after(&self, module: &IRModule, pass: &PassInfo<'_>, _: &InstrumentCx<'_>) -> Result<(), PassError> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let (bytes, before) = (weight_bytes(module), log.last);
        if bytes == before {
            return Ok(());
        }
        log.last = bytes;
        let change = i128::from(bytes) - i128::from(before);
        writeln!(log.csv, "{},{bytes},{change}", pass.name).map_err(|error| error.to_string())?;
        if bytes < before {
            return Ok(());
        }
        let first = log.first.unwrap_or(before);
        let most = first as f64 * self.options.max_growth;
        let fault = if bytes as f64 > most {
            format!("they took {first} at first, and `max_growth` is {:?}", self.options.max_growth)
        } else if self.options.max_bytes != 0 && bytes > self.options.max_bytes {
            format!("`max_bytes` is {}", self.options.max_bytes)
        } else {
            return Ok(());
        };
        let message = format!("the weights take {bytes} bytes after `{}`, {change} more than before", pass.name);
        Err(PassError::new(message).with_note(fault).help("raise the limit, or leave the pass out"))
    }

    fn exit(&self, cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(first) = log.first else { return Ok(()) };
        cx.info(format_args!("weights: {first} bytes at first, {} at the end", log.last));
        match self.options.csv.as_str() {
            "" => Ok(()),
            path => fs::write(path, &log.csv).map_err(|error| format!("`{path}` cannot be written: {error}").into()),
        }
    }
}

/// The bytes of all constants, those in branches and loops too.
fn weight_bytes(module: &IRModule) -> u64 {
    let constants = module.functions().flat_map(|(_, f)| f.all_bindings().filter_map(|id| f.constant(id)));
    constants.map(Tensor::byte_len).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use relais_plugin_api::testing::Watch;
    use std::fs;

    const SMALL: &str = "def @main(%x) { %y = Add(%x, [1.0, 2.0]); %y }";
    const LARGE: &str = "def @main(%x) { %y = Add(%x, [1.0, 2.0, 3.0, 4.0, 5.0]); %y }";

    #[test]
    fn weights_that_shrink_or_stay_are_no_fault() {
        let seen = Watch::of("weights.Budget").pass("acme.Same", LARGE).pass("acme.Shrink", SMALL).run(LARGE).unwrap();
        assert_eq!(seen.ran, ["acme.Same", "acme.Shrink"]);
        assert_eq!(seen.logged, ["info: weights.Budget: weights: 20 bytes at first, 8 at the end"]);
    }

    #[test]
    fn growth_is_a_fault() {
        let error = Watch::of("weights.Budget").pass("acme.Grow", LARGE).run(SMALL).unwrap_err().to_string();
        assert!(error.starts_with("the weights take 20 bytes after `acme.Grow`, 12 more than before"), "{error}");
        assert!(error.contains("they took 8 at first, and `max_growth` is 1.0"), "{error}");
        let grow = Watch::of("weights.Budget").pass("acme.Grow", LARGE);
        assert!(grow.clone().option("max_growth", 2.5).run(SMALL).is_ok());
        let error = grow.option("max_growth", 2.5).option("max_bytes", 19).run(SMALL).unwrap_err();
        assert!(error.to_string().contains("`max_bytes` is 19"), "{error}");
    }

    #[test]
    fn a_table_is_written_also_of_a_run_that_failed() {
        let path = std::env::temp_dir().join(format!("weight-budget-{}.csv", std::process::id()));
        let watch = Watch::of("Budget").option("csv", path.to_str().unwrap());
        watch.pass("acme.Shrink", SMALL).pass("acme.Grow", LARGE).run(LARGE).unwrap();
        let table = "pass,bytes,change\n,20,0\nacme.Shrink,8,-12\nacme.Grow,20,12\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), table);
        let watch = Watch::of("Budget").option("csv", path.to_str().unwrap());
        watch.pass("acme.Grow", LARGE).run(SMALL).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "pass,bytes,change\n,8,0\nacme.Grow,20,12\n");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_table_that_cannot_be_written_is_a_fault() {
        let watch = Watch::of("Budget").option("csv", "/no/such/folder/table.csv").pass("acme.Same", SMALL);
        let error = watch.run(SMALL).unwrap_err().to_string();
        assert!(error.contains("cannot be written"), "{error}");
    }
}
