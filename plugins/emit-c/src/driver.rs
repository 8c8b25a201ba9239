//! Programs that run the model: on npy files, and to measure the time.

use crate::{
    names::{c_type, identifier},
    program::{sizes, unsupported},
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

/// Comparing numbers, as much as C99 has of it.
const COMPARE: &str = r#"
static void compare(double got, double want, double *difference, double *largest) {
    const double d = got == want || (isnan(got) && isnan(want)) ? 0 : fabs(got - want);
    if (!(d <= *difference)) *difference = isnan(d) ? INFINITY : d;
    if (isfinite(want) && fabs(want) > *largest) *largest = fabs(want);
}

static int report(const char *name, double difference, double largest, double tolerance) {
    const int is_same = difference <= tolerance * largest;
    printf("%s: the largest difference is %g, of values up to %g: %s\n", name, difference, largest, is_same ? "the same" : "NOT the same");
    return !is_same;
}
"#;

/// The largest difference of floats that are taken for the same, as a part of the largest value.
const TOLERANCE: &str = "1e-4";

/// The arguments of the entry function, for programs that call it.
struct Arguments<'m> {
    name: &'m str,
    upper: String,
    has_weights: bool,
    /// Inputs first, then outputs.
    params: Vec<Argument>,
    n_inputs: usize,
}

struct Argument {
    /// The name in the model.
    shown: String,
    /// The name of the array.
    array: String,
    elem: ElemType,
    c_type: &'static str,
    sizes: Vec<u64>,
}

impl Argument {
    fn count(&self) -> u64 {
        self.sizes.iter().product()
    }
}

impl<'m> Arguments<'m> {
    fn of(main: &Function, name: &'m str, has_weights: bool) -> Result<Self, PassError> {
        let argument = |(at, &param): (usize, &NodeId)| {
            let elem = main.type_of(param).elem().unwrap_or(ElemType::UNKNOWN);
            let c_type =
                c_type(elem).ok_or_else(|| unsupported(param, format_args!("C has no numbers of the type {elem}")))?;
            let shown = identifier(main.name(param));
            Ok(Argument { array: format!("{shown}_{at}"), shown, elem, c_type, sizes: sizes(main, param)? })
        };
        let params: Vec<Argument> = main.params().iter().enumerate().map(argument).collect::<Result<_, PassError>>()?;
        let n_inputs = params.len() - n_outputs(main);
        Ok(Self { name, upper: name.to_ascii_uppercase(), has_weights, params, n_inputs })
    }

    fn outputs(&self) -> &[Argument] {
        &self.params[self.n_inputs..]
    }

    /// The arrays, and the memory.
    fn definitions(&self) -> String {
        let Self { upper, .. } = self;
        let array = |it: &Argument| format!("static {} {}[{}];\n", it.c_type, it.array, it.count().max(1));
        let mut out: String = self.params.iter().map(array).collect();
        if self.has_weights {
            out += &format!(
                "static union {{ unsigned char bytes[{upper}_WEIGHTS_BYTES + 1u]; double align; }} weights;\n"
            );
        }
        out + &format!(
            "static union {{ unsigned char bytes[{upper}_ARENA_BYTES + {upper}_ARENA_ALIGNMENT]; double align; }} arena;\n"
        )
    }

    /// Statements that read the weights and find the arena.
    fn preparation(&self) -> String {
        let Self { name, upper, .. } = self;
        let load = match self.has_weights {
            false => String::new(),
            true => format!(
                "    FILE *file = fopen(\"{name}.bin\", \"rb\");\n    \
                 if (!file || fread(weights.bytes, 1, {upper}_WEIGHTS_BYTES, file) != {upper}_WEIGHTS_BYTES) {{\n        \
                 fprintf(stderr, \"{name}.bin cannot be read\\n\");\n        return 1;\n    }}\n    fclose(file);\n"
            ),
        };
        format!(
            "{load}    unsigned char *const start = arena.bytes + ({upper}_ARENA_ALIGNMENT - (uintptr_t)arena.bytes % {upper}_ARENA_ALIGNMENT);\n"
        )
    }

    /// The call of the entry function.
    fn call(&self) -> String {
        let arrays: String = self.params.iter().map(|it| format!("{}, ", it.array)).collect();
        let weights = if self.has_weights { ", weights.bytes" } else { "" };
        format!("{}_run({arrays}start{weights})", self.name)
    }

    /// A statement that ends the program if the model stopped.
    fn stop(&self, indent: &str) -> String {
        format!(
            "{indent}if (status != 0) {{\n{indent}    fprintf(stderr, \"the model stopped: %d\\n\", status);\n{indent}    return 1;\n{indent}}}\n"
        )
    }
}

/// The source of a program that runs the model on npy files, or compares what it computes with such files.
pub fn program(main: &Function, name: &str, has_weights: bool) -> Result<String, PassError> {
    let of = Arguments::of(main, name, has_weights)?;
    let (mut reads, mut expects, mut writes) = (String::new(), String::new(), String::new());
    let mut expected = String::new();
    for (at, it) in of.params.iter().enumerate() {
        let (count, list): (u64, Vec<String>) = (it.count(), it.sizes.iter().map(u64::to_string).collect());
        let shape = if list.len() == 1 { format!("{},", list[0]) } else { list.join(", ") };
        let (array, c_type) = (&it.array, it.c_type);
        let file = |array: &str| {
            let (descr, bytes) = (descr(it.elem), format!("{count} * sizeof({c_type})"));
            format!("_npy(files[{at}], \"'descr': '{descr}'\", \"'shape': ({shape})\", {array}, {bytes}))")
        };
        if at < of.n_inputs {
            reads += &format!("    if (read{} return 1;\n", file(array));
            continue;
        }
        writes += &format!("    if (write{} return 1;\n", file(array));
        expected += &format!("static {c_type} {array}_expected[{}];\n", count.max(1));
        expects += &format!("        if (read{} return 1;\n", file(&format!("{array}_expected")));
        expects += "        difference = largest = 0;\n";
        if count > 0 {
            expects += &format!(
                "        for (size_t i = 0; i < {count}; i++)\n            \
                 compare((double){array}[i], (double){array}_expected[i], &difference, &largest);\n"
            );
        }
        let tolerance = if it.elem.is_float() { TOLERANCE } else { "0" };
        expects += &format!("        differs |= report(\"{}\", difference, largest, {tolerance});\n", it.shown);
    }
    if of.outputs().iter().all(|it| it.count() == 0) {
        expects.insert_str(0, "        (void)compare;\n");
    }
    let (n, n_outputs) = (of.params.len(), of.outputs().len());
    Ok(format!(
        "/* Runs `{name}`, written by Relais: do not edit. Usage: {name} [--compare] INPUT.npy... OUTPUT.npy..., as the model\n   \
         has them. With `--compare` the outputs are read, and compared with what is computed. */\n\
         #include \"{name}.h\"\n\n#include <math.h>\n#include <stdio.h>\n#include <string.h>\n{NPY}{COMPARE}\n\
         {definitions}{expected}\n\
         int main(int argc, char **argv) {{\n    \
         const int compares = argc > 1 && strcmp(argv[1], \"--compare\") == 0;\n    \
         char **const files = argv + 1 + compares;\n    \
         if (argc != {n} + 1 + compares) {{\n        \
         fprintf(stderr, \"usage: %s [--compare] INPUT.npy... OUTPUT.npy...: {n_inputs} and {n_outputs}\\n\", argv[0]);\n        return 2;\n    }}\n\
         {reads}{preparation}    const int status = {call};\n{stop}    \
         if (compares) {{\n        double difference, largest;\n        int differs = 0;\n{expects}        return differs;\n    }}\n\
         {writes}    return 0;\n}}\n",
        definitions = of.definitions(),
        n_inputs = of.n_inputs,
        preparation = of.preparation(),
        call = of.call(),
        stop = of.stop("    "),
    ))
}

/// Numbers that are the same in each run, and time.
const BENCH: &str = r#"
/* Numbers from -1 to 1, the same in each run. */
static double number(void) {
    static uint32_t state = 1;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state / 2147483648.0 - 1;
}

static int by_size(const void *a, const void *b) {
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

enum { BATCHES = 31 };
"#;

/// The source of a program that times the model.
pub fn bench(main: &Function, name: &str, has_weights: bool) -> Result<String, PassError> {
    let of = Arguments::of(main, name, has_weights)?;
    let fill = |it: &Argument| {
        let Argument { array, c_type, .. } = it;
        format!("    for (size_t i = 0; i < {}; i++) {array}[i] = ({c_type})number();\n", it.count())
    };
    // Other inputs stay 0, which is an index everywhere.
    let floats = of.params[..of.n_inputs].iter().filter(|it| it.elem.is_float() && it.count() > 0);
    let fills: String = floats.map(fill).collect();
    let number = if fills.is_empty() { "    (void)number;\n" } else { "" };
    Ok(format!(
        "/* Times `{name}`, written by Relais: do not edit. Inputs are random numbers from -1 to 1, and 0 where they are not floats;\n   \
         the time is that of the processor, as `clock` of <time.h> has it. */\n\
         #include \"{name}.h\"\n\n#include <stdio.h>\n#include <stdlib.h>\n#include <time.h>\n{BENCH}\n{definitions}\n\
         int main(void) {{\n    double times[BATCHES];\n    unsigned long n = 1;\n{fills}{number}{preparation}    \
         for (int batch = -1; batch < BATCHES;) {{\n        \
         const clock_t start_time = clock();\n        \
         for (unsigned long run = 0; run < n; run++) {{\n            const int status = {call};\n{stop}        }}\n        \
         const double seconds = (double)(clock() - start_time) / CLOCKS_PER_SEC;\n        \
         /* Batches that take long enough to be measured. */\n        \
         if (batch < 0 && seconds < 0.01 && n < 1000000000) {{\n            n *= 2;\n            continue;\n        }}\n        \
         if (batch >= 0) times[batch] = seconds / n;\n        batch++;\n    }}\n    \
         qsort(times, BATCHES, sizeof times[0], by_size);\n    \
         printf(\"{name}: %.3f us a run, the fastest of %d batches of %lu; the median is %.3f us\\n\", times[0] * 1e6, BATCHES, n, times[BATCHES / 2] * 1e6);\n    \
         return 0;\n}}\n",
        definitions = of.definitions(),
        preparation = of.preparation(),
        call = of.call(),
        stop = of.stop("            "),
    ))
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
