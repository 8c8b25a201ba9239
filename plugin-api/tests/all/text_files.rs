//! Texts with a side file.

use relais_plugin_api::{
    ir::*,
    text::{self, SideFile},
};

#[test]
fn a_tensor_of_another_size_is_refused() {
    let tensor = Tensor::from_f32(&[2], &[1.0, 2.0]);
    let side = SideFile::from_tensors([("t0".to_owned(), tensor)]);
    let text = "def @main() { const(float32, (3), @\"t0\") }";
    let errors = text::parse("m.relay", text, &side).err().unwrap();
    assert_eq!(
        errors[0].to_string(),
        "m.relay:1:35: error[T005]: tensor `t0` of the side file: the data has 8 bytes where type and shape ask for 12"
    );
    assert!(text::parse("m.relay", &text.replace("(3)", "(2)"), &side).is_ok());
}
