//! `print-changed`: the functions that passes change.

use super::{
    BuiltIn, Output, Selection, choice, option,
    select::{for_people, pass_title},
};
use crate::{
    options::ValueKind,
    pass::{PassInfo, PassInstrument},
};
use anstyle::{AnsiColor, Style};
use relais_plugin_api::{diagnostics::PassError, ir::IRModule, options::Value, text};
use similar::{Algorithm, ChangeTag, TextDiff};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

inventory::submit! {
    BuiltIn {
        name: "print-changed",
        doc: "Prints the functions that passes change, whole or as a diff, large constants left out.",
        options: || {
            let mut options = Selection::options();
            options.push(choice("form", "how changes are shown", &[
                ("text", "the changed functions as they are afterwards"),
                ("diff", "what is different in them"),
            ]));
            let kind = ValueKind::Int { min: 0, max: 1_000_000 };
            options.push(option("context", "unchanged lines around a difference", kind, Some(Value::Int(3))));
            options
        },
        make: |given, output| {
            let form = match given.text("form") {
                "diff" => ChangeForm::Diff { context: usize::try_from(given.count("context")).unwrap_or(usize::MAX) },
                _ => ChangeForm::Text,
            };
            Ok(Arc::new(PrintChanged::new(form, Selection::given(given), output.clone())))
        },
    }
}

/// After this time a diff is finished in a coarser way: texts of a million lines must not take forever.
const PATIENCE: Duration = Duration::from_secs(2);

/// How changes are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeForm {
    /// The changed functions as they are afterwards.
    Text,
    /// As a unified diff.
    Diff {
        /// Unchanged lines around a difference.
        context: usize,
    },
}

/// Prints the functions that passes change.
pub struct PrintChanged {
    form: ChangeForm,
    selection: Selection,
    output: Arc<dyn Output>,
    /// The inputs of the passes under way.
    before: Mutex<Vec<IRModule>>,
}

impl PrintChanged {
    /// Prints changes of these functions by these passes.
    pub fn new(form: ChangeForm, selection: Selection, output: Arc<dyn Output>) -> Self {
        Self { form, selection, output, before: Mutex::default() }
    }

    fn pop(&self) -> Option<IRModule> {
        self.before.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn show(&self, name: &str, old: &IRModule, new: &IRModule) -> Option<String> {
        let (old, new) = (old.body(name), new.body(name));
        if let (Some(old), Some(new)) = (old, new)
            && std::ptr::eq(&**old, &**new)
        {
            return None;
        }
        let print = |function: &_| text::print_function(name, function, &for_people());
        let (old_text, new_text) =
            (old.map(|f| print(f)).unwrap_or_default(), new.map(|f| print(f)).unwrap_or_default());
        if old_text == new_text {
            return None;
        }
        Some(match self.form {
            ChangeForm::Diff { context } => diff(name, &old_text, &new_text, context),
            ChangeForm::Text if new.is_none() => format!("// `@{name}` is gone\n"),
            ChangeForm::Text => new_text,
        })
    }
}

impl PassInstrument for PrintChanged {
    fn name(&self) -> &str {
        "print-changed"
    }

    fn before(&self, module: &IRModule, _pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.before.lock().unwrap_or_else(PoisonError::into_inner).push(module.clone());
        Ok(())
    }

    fn after(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        let Some(before) = self.pop() else { return Ok(()) };
        if !self.selection.has_pass(pass) {
            return Ok(());
        }
        // In the order of the new module; removed functions come last.
        let mut seen = BTreeSet::new();
        let names = module.bodies().chain(before.bodies()).map(|(name, _)| name);
        let names = names.filter(|name| self.selection.has_function(name) && seen.insert(name.to_owned()));
        let texts: Vec<String> = names.filter_map(|name| self.show(name, &before, module)).collect();
        self.output.print(&match texts.is_empty() {
            true if self.selection.has_every_function() => format!("// {} changed nothing\n", pass_title(pass)),
            true => format!("// {} changed none of the functions that were asked for\n", pass_title(pass)),
            false => format!("// changed by {}\n{}\n", pass_title(pass), texts.join("\n")),
        });
        Ok(())
    }

    fn failed(&self, pass: &PassInfo<'_>, _error: &PassError) {
        self.pop();
        if self.selection.has_pass(pass) {
            self.output.print(&format!("// {} failed, the program is as before it\n", pass_title(pass)));
        }
    }
}

/// A unified diff with colours.
fn diff(name: &str, old: &str, new: &str, context: usize) -> String {
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).timeout(PATIENCE).diff_lines(old, new);
    let (bold, cyan) = (Style::new().bold(), AnsiColor::Cyan.on_default());
    let mut out = format!("{bold}--- @{name} before{bold:#}\n{bold}+++ @{name} after{bold:#}\n");
    for hunk in diff.unified_diff().context_radius(context).iter_hunks() {
        out.push_str(&format!("{cyan}{}{cyan:#}\n", hunk.header()));
        for change in hunk.iter_changes() {
            let (sign, style) = match change.tag() {
                ChangeTag::Delete => ('-', AnsiColor::Red.on_default()),
                ChangeTag::Insert => ('+', AnsiColor::Green.on_default()),
                ChangeTag::Equal => (' ', Style::new()),
            };
            out.push_str(&format!("{style}{sign}{}{style:#}\n", change.value().trim_end_matches('\n')));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffs_of_long_texts_need_no_stack() {
        let lines = |keep: &dyn Fn(u32) -> bool| -> String {
            (0..200_000).filter(|&n| keep(n)).map(|n| format!("  %{n} = Relu(%{});\n", n / 3)).collect()
        };
        let texts = [lines(&|_| true), lines(&|n| n % 2 == 0), lines(&|n| n % 7 == 3), lines(&|_| false)];
        let thread = std::thread::Builder::new().stack_size(2 << 20);
        let diffs = thread.spawn(move || {
            let pairs = [(0, 1), (1, 2), (2, 3), (3, 0)];
            pairs.map(|(old, new)| diff("main", &texts[old], &texts[new], 3).len())
        });
        assert!(diffs.unwrap().join().unwrap().iter().all(|&len| len > 100_000));
    }

    #[test]
    fn equal_texts_have_no_hunks() {
        assert_eq!(
            anstream::adapter::strip_str(&diff("f", "a\n", "a\n", 3)).to_string(),
            "--- @f before\n+++ @f after\n"
        );
    }
}
