//! A program that runs the model on npy files.

use crate::{
    body::{sizes, unsupported},
    names::{c_type, identifier},
};
use relais_plugin_api::{prelude::*, prim::n_outputs};

/// The reading and writing of npy files of version 1, in C order and little-endian, as numpy writes them.
const NPY: &str = r#"
static int read_npy(const char *path, const char *descr, const char *shape, void *data, size_t bytes) {
    unsigned char head[10];
    char text[65536];
    FILE *file = fopen(path, "rb");
    if (!file) { fprintf(stderr, "%s cannot be opened\n", path); return 1; }
    int is_right = fread(head, 1, 10, file) == 10 && memcmp(head, "\x93NUMPY\x01", 7) == 0;
    const size_t length = is_right ? head[8] + 256u * head[9] : 0;
    is_right = is_right && length < sizeof text && fread(text, 1, length, file) == length;
    text[is_right ? length : 0] = 0;
    if (!is_right || !strstr(text, descr) || !strstr(text, shape) || strstr(text, "'fortran_order': True")) {
        fprintf(stderr, "%s is not an npy file with %s and %s\n", path, descr, shape);
        fclose(file);
        return 1;
    }
    is_right = fread(data, 1, bytes, file) == bytes;
    fclose(file);
    if (!is_right) fprintf(stderr, "%s ends early\n", path);
    return !is_right;
}

static int write_npy(const char *path, const char *descr, const char *shape, const void *data, size_t bytes) {
    char text[65536];
    FILE *file = fopen(path, "wb");
    if (!file) { fprintf(stderr, "%s cannot be made\n", path); return 1; }
    const int used = snprintf(text, sizeof text, "{%s, 'fortran_order': False, %s, }", descr, shape);
    const int length = (used + 11 + 63) / 64 * 64 - 10;
    const unsigned char head[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(length % 256), (unsigned char)(length / 256)};
    int is_right = fwrite(head, 1, 10, file) == 10 && fprintf(file, "%-*s\n", length - 1, text) == length;
    is_right = is_right && fwrite(data, 1, bytes, file) == bytes;
    is_right = fclose(file) == 0 && is_right;
    if (!is_right) fprintf(stderr, "%s cannot be written\n", path);
    return !is_right;
}
"#;

/// The source of the program.
pub fn program(main: &Function, name: &str, has_weights: bool) -> Result<String, PassError> {
    let upper = name.to_ascii_uppercase();
    let first_output = main.params().len() - n_outputs(main);
    let mut out = format!(
        "/* Runs `{name}`, written by Relais: do not edit. Usage: {name} INPUT.npy... OUTPUT.npy..., as the model has them. */\n\
         #include \"{name}.h\"\n\n#include <stdio.h>\n#include <string.h>\n{NPY}\n"
    );
    let (mut reads, mut writes, mut args) = (String::new(), String::new(), String::new());
    for (at, &param) in main.params().iter().enumerate() {
        let sizes = sizes(main, param)?;
        let elem = main.type_of(param).elem().unwrap_or(ElemType::UNKNOWN);
        let ty = c_type(elem).ok_or_else(|| unsupported(param, format_args!("C has no numbers of the type {elem}")))?;
        let count = sizes.iter().product::<u64>();
        let var = format!("{}_{at}", identifier(main.name(param)));
        out += &format!("static {ty} {var}[{}];\n", count.max(1));
        let list: Vec<String> = sizes.iter().map(u64::to_string).collect();
        let shape = if list.len() == 1 { format!("{},", list[0]) } else { list.join(", ") };
        let (descr, shape) = (format!("'descr': '{}'", descr(elem)), format!("'shape': ({shape})"));
        let call =
            format!("_npy(argv[{}], \"{descr}\", \"{shape}\", {var}, {count} * sizeof({ty}))) return 1;\n", at + 1);
        match at < first_output {
            true => reads += &format!("    if (read{call}"),
            false => writes += &format!("    if (write{call}"),
        }
        args += &format!("{var}, ");
    }
    let (weights, load) = match has_weights {
        false => ("", String::new()),
        true => (
            ", weights.bytes",
            format!(
                "    FILE *file = fopen(\"{name}.bin\", \"rb\");\n    \
                 if (!file || fread(weights.bytes, 1, sizeof weights.bytes, file) != sizeof weights.bytes) {{\n        \
                 fprintf(stderr, \"{name}.bin cannot be read\\n\");\n        return 1;\n    }}\n    fclose(file);\n"
            ),
        ),
    };
    if has_weights {
        out += &format!("static union {{ unsigned char bytes[{upper}_WEIGHTS_BYTES]; double align; }} weights;\n");
    }
    let n = main.params().len();
    out += &format!(
        "static union {{ unsigned char bytes[{upper}_ARENA_BYTES + {upper}_ARENA_ALIGNMENT]; double align; }} arena;\n\n\
         int main(int argc, char **argv) {{\n    if (argc != {}) {{\n        \
         fprintf(stderr, \"usage: %s INPUT.npy... OUTPUT.npy...: {first_output} and {}\\n\", argv[0]);\n        return 2;\n    }}\n\
         {reads}{load}    unsigned char *const start = arena.bytes + ({upper}_ARENA_ALIGNMENT - (uintptr_t)arena.bytes % {upper}_ARENA_ALIGNMENT);\n    \
         const int status = {name}_run({args}start{weights});\n    \
         if (status != 0) {{\n        fprintf(stderr, \"the model stopped: %d\\n\", status);\n        return 1;\n    }}\n\
         {writes}    return 0;\n}}\n",
        n + 1,
        n - first_output,
    );
    Ok(out)
}

/// How npy files name an element type.
fn descr(elem: ElemType) -> String {
    if elem == ElemType::BOOL {
        return "|b1".to_owned();
    }
    let bytes = elem.bits() / 8;
    let letter = match elem {
        _ if elem.is_float() => 'f',
        ElemType::UINT8 | ElemType::UINT16 | ElemType::UINT32 | ElemType::UINT64 => 'u',
        _ => 'i',
    };
    format!("{}{letter}{bytes}", if bytes == 1 { '|' } else { '<' })
}
