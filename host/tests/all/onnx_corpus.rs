//! Real models, found through `RELAIS_TEST_MODELS` (folders, searched for `*.onnx`): untouched they are written byte
//! for byte. With `RELAIS_TOUCHED_MODELS` set to a folder, the same models with every node recreated are written there,
//! for a comparison with another reader of ONNX.

use crate::onnx_common::{self, Forget};
use relais::onnx::{self, ReadOptions};
use std::{fs, path::PathBuf};

#[test]
fn untouched_models_come_out_byte_for_byte() {
    let Some(models) = onnx_common::models() else {
        eprintln!("RELAIS_TEST_MODELS is not set: no models to read");
        return;
    };
    assert!(!models.is_empty(), "no models in RELAIS_TEST_MODELS");
    let mut failures = Vec::new();
    for path in &models {
        let expected = fs::read(path).unwrap();
        let mut found = Vec::new();
        let result = onnx::read(path, &ReadOptions::default()).and_then(|module| onnx::write_to(&module, &mut found));
        match result {
            Ok(_) if found == expected => {}
            Ok(_) => failures.push(format!("{}: bytes differ", path.display())),
            Err(error) => failures.push(error.to_string()),
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), models.len(), failures.join("\n"));
}

#[test]
fn recreated_models_read_the_same_again() {
    let Some(models) = onnx_common::models() else {
        eprintln!("RELAIS_TEST_MODELS is not set: no models to read");
        return;
    };
    let folder = std::env::var_os("RELAIS_TOUCHED_MODELS").map(PathBuf::from);
    let mut failures = Vec::new();
    for (index, path) in models.iter().enumerate() {
        let mut check = || -> Result<(), onnx::OnnxError> {
            let mut module = onnx::read(path, &ReadOptions::default())?;
            onnx_common::touch_all(&mut module, Forget::Provenance);
            let mut first = Vec::new();
            let report = onnx::write_to(&module, &mut first)?;
            assert_eq!(report.n_untouched, 0, "{}", path.display());
            if let Some(folder) = &folder {
                fs::write(folder.join(format!("{index}.onnx")), &first).unwrap();
                fs::write(folder.join(format!("{index}.path")), path.to_str().unwrap()).unwrap();
                onnx_common::touch_all(&mut module, Forget::Encodings);
                let mut alone = Vec::new();
                onnx::write_to(&module, &mut alone)?;
                fs::write(folder.join(format!("{index}.alone.onnx")), &alone).unwrap();
            }
            // The written model is as good as the one that was read.
            let module = onnx::read_bytes("again", first.clone().into(), &ReadOptions::default())?.module;
            let mut second = Vec::new();
            onnx::write_to(&module, &mut second)?;
            if first != second {
                failures.push(format!("{}: not the same again", path.display()));
            }
            Ok(())
        };
        if let Err(error) = check() {
            failures.push(error.to_string());
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), models.len(), failures.join("\n"));
}
