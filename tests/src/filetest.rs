//! Filetests of this repository: the passes are linked, and do the same when they are loaded.

use crate::reference::Judge;
use relais::{
    manager::ContextBuilder,
    pass::{RunCx, Scope},
    plugin::{Policy, WritableFiles, discover},
    registry::{Choices, Linked, Registry},
};
use relais_conformance::{
    bench::Passes,
    filetest::{Case, CaseFile, Cases},
};
use relais_plugin_api::ir::*;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Passes that are loaded from libraries, as the program loads them.
pub struct Libraries(Registry);

impl Libraries {
    /// Finds the plugins in these files.
    ///
    /// # Panics
    /// Panics if one of them is refused.
    pub fn open(files: &[PathBuf]) -> Self {
        let policy = Policy { writable: WritableFiles::Allow };
        let registry = Registry::new(discover(&[], files, policy), Linked::Exclude, &Choices::new());
        assert_eq!(registry.refused(), []);
        Self(registry)
    }

    /// Returns the names of all passes and operators, without the part before the last dot.
    pub fn names(&self) -> BTreeSet<String> {
        let passes = self.0.passes().map(|(pass, _)| pass.name.as_str());
        let operators = self.0.operators().map(|(operator, _)| operator.name.as_str());
        passes.chain(operators).filter_map(|name| name.rsplit('.').next()).map(str::to_owned).collect()
    }

    /// The full names of all passes.
    pub fn passes(&self) -> Vec<String> {
        self.0.passes().map(|(pass, _)| pass.name.clone()).collect()
    }

    /// Runs the pass of a case, linked and loaded.
    ///
    /// # Errors
    /// Returns an error if the results are not the same.
    pub fn same_as_linked(&self, case: &Case) -> Result<(), String> {
        // A case that cannot be run fails for that reason.
        let Ok(before) = case.prepare(&Judge) else { return Ok(()) };
        let Ok(linked) = Judge.run_in(&case.pass, &case.options, &case.config, &before) else { return Ok(()) };
        let loaded = self.run(case, &before)?;
        equal(&linked.unwrap_or(before), &loaded)
            .map_err(|difference| format!("loaded, the pass differs: {difference}"))
    }

    fn run(&self, case: &Case, module: &IRModule) -> Result<IRModule, String> {
        let pass = self.0.create(&case.pass, &case.options).map_err(|error| error.to_string())?;
        // Every member of a sequential pass is on, as where it is linked.
        let mut builder = ContextBuilder::new(&self.0, &Scope::default()).opt_level(u8::MAX);
        for (key, value) in &case.config {
            builder = builder.config(key, value.clone());
        }
        let context = Arc::new(builder.build().map_err(|error| error.to_string())?);
        let ran = context.scope(|_| pass.run(module, &RunCx::new(&self.0))).map_err(|error| error.to_string())?;
        let outcome = ran.map_err(|error| error.to_string())?;
        Ok(outcome.module.unwrap_or_else(|| module.clone()))
    }
}

/// All cases of this repository, by name: `<folder>/<case>`.
///
/// # Panics
/// Panics if a folder cannot be read.
pub fn cases() -> BTreeMap<String, CaseFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests");
    let Cases { files, others } = Cases::find(&[root]).unwrap_or_else(|(path, error)| panic!("{path:?}: {error}"));
    assert!(others.is_empty(), "{others:?}");
    let stem = |file: &CaseFile| file.path.file_stem().unwrap_or_default().display().to_string();
    files.into_iter().map(|file| (format!("{}/{}", file.folder, stem(&file)), file)).collect()
}
