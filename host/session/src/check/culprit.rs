//! Finding the pass to which a difference is due.

use super::{
    OutputCheck, RanPasses, Run, Subject, Verdict,
    runner::{Loaded, NotRun},
};
use crate::error::Error;
use relais::{
    ir::Function,
    manager::{Execution, Fate},
};
use serde_json::{Value, json};

/// The pass to which a difference is due.
struct Culprit {
    execution: u64,
    pass: String,
    plugin: String,
}

impl OutputCheck<'_> {
    /// Adds to an error the pass to which a difference is due. Returns that as JSON, too.
    pub(super) fn blamed(
        &self,
        error: Error,
        passes: &RanPasses<'_>,
        subject: &Subject<'_>,
        differs: (&Function, &Loaded<'_>, &Run),
    ) -> (Error, Value) {
        subject.listener.begins("looking for the pass that did it");
        match self.culprit(passes, subject, differs) {
            Ok(Culprit { execution, pass, plugin }) => {
                let of = if plugin.is_empty() { String::new() } else { format!(" of plugin `{plugin}`") };
                let line =
                    format!("it is due to pass `{pass}`{of}, execution {execution}: before it, there is no difference");
                let help = format!("leave the pass out: `--disable {pass}`; see what it did: `--print-changed=diff`");
                let json = json!({ "pass": pass, "plugin": plugin, "execution": execution });
                (error.with_line(line).with_help(help), json)
            }
            Err(why) => (error.with_line(format_args!("the pass that did it is not known: {why}")), Value::Null),
        }
    }

    /// The first pass after which the module differs: by bisection over what the passes left, one by one.
    fn culprit(
        &self,
        RanPasses { left, executions, rerun, complete }: &RanPasses<'_>,
        subject: &Subject<'_>,
        (main, before, run): (&Function, &Loaded<'_>, &Run),
    ) -> Result<Culprit, String> {
        let why = |error: NotRun| error.why().to_owned();
        if matches!(self.compare(subject, main, run, before).map_err(why)?, Verdict::Differ(_)) {
            return Err("the model itself gives other results each time".to_owned());
        }
        let ran = executions.iter().filter(|execution| !matches!(execution.fate, Fate::Skipped(_)));
        let changed: Vec<(u64, &Execution)> =
            (1..).zip(ran).filter(|(_, execution)| execution.fate == Fate::Changed).collect();
        let Some(&(last, _)) = changed.last() else { return Err("no pass changed the model".to_owned()) };
        if relais::ir::equal(&rerun(last)?, left).is_err() {
            return Err("the passes do something else when they run again".to_owned());
        }
        let told = |error: Error| error.to_string();
        let whole = complete(left).map_err(told)?;
        let loaded = self.runner.load(&whole, subject.registry, subject.listener).map_err(told)?;
        if let Verdict::Close(_) = self.compare(subject, main, run, &loaded).map_err(why)? {
            return Err("what the passes left computes the same, and what was written of it does not".to_owned());
        }
        // The first `good` changes are harmless, and one of the first `bad` is not.
        let (mut good, mut bad) = (0, changed.len());
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            let (execution, changer) = changed[middle - 1];
            subject.listener.begins(&format!("looking for the pass that did it: `{}`", changer.name));
            let module = complete(&rerun(execution)?).map_err(told)?;
            let loaded = self.runner.load(&module, subject.registry, subject.listener).map_err(told)?;
            match self.compare(subject, main, run, &loaded).map_err(why)? {
                Verdict::Close(_) => good = middle,
                Verdict::Differ(_) => bad = middle,
            }
        }
        let (execution, changer) = changed[bad - 1];
        Ok(Culprit { execution, pass: changer.name.clone(), plugin: changer.plugin.trim().to_owned() })
    }
}
