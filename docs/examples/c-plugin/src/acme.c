/* A plugin in C: it is built by `cc`, and shares no types with the host. Each function is given a function or a call as bytes,
 * and answers with bytes. */
#include "relais.h"

#include "record.h"

/* ---- the pass ----------------------------------------------------------------------------------------------------- */

typedef struct options {
    uint8_t all_floats;
} options;

static int32_t create(const relais_host *host, relais_bytes name, relais_bytes given, void **pass) {
    (void)name; /* there is one pass only */
    options *made = malloc(sizeof *made);
    relais_bytes value;
    if (made == NULL || relais_option(given, "all_floats", &value) != RELAIS_VALUE_BOOL) {
        free(made);
        host->fail(host, RELAIS_FAILED, relais_text("`all_floats` cannot be read"));
        return 1;
    }
    memcpy(&made->all_floats, value.at, sizeof made->all_floats);
    *pass = made;
    return 0;
}

static void drop(void *pass) {
    free(pass);
}

/* Whether a node is a constant with the single element 2.0. */
static int is_two(relais_editor *editor, const relais_host *host, uint32_t node, const options *options) {
    static const float two = 2.0f;
    static const double wide_two = 2.0;
    static const uint16_t half_two = 0x4000;
    relais_bytes elements;
    const relais_tensor *tensor = relais_constant(editor, host, node, &elements);
    if (tensor == NULL || tensor->rank != 0) return 0;
    if (tensor->elem == RELAIS_FLOAT32) return memcmp(elements.at, &two, sizeof two) == 0;
    if (!options->all_floats) return 0;
    if (tensor->elem == RELAIS_FLOAT64) return memcmp(elements.at, &wide_two, sizeof wide_two) == 0;
    return tensor->elem == RELAIS_FLOAT16 && memcmp(elements.at, &half_two, sizeof half_two) == 0;
}

static int32_t run(const relais_host *host, void *pass, relais_bytes name, relais_bytes ship) {
    (void)name;
    relais_editor editor;
    if (relais_open(&editor, ship) != 0) return 1;
    const options *options = pass;
    uint64_t n_replaced = 0;
    uint32_t n = relais_n_nodes(&editor);
    for (uint32_t node = 0; node < n && !host->is_cancelled(host); node++) {
        if (!relais_is_call(&editor, node, "", "Mul")) continue;
        uint32_t value = relais_operands(&editor, node)[1];
        if (!is_two(&editor, host, relais_operands(&editor, node)[2], options)) continue;
        /* The node stays where it is, with its name and its type. Operands move when nodes are added. */
        uint32_t add = relais_op_node(&editor, "", "Add");
        uint32_t *operands = relais_operands(&editor, node);
        operands[0] = add;
        operands[2] = value;
        host->diagnostic(host, RELAIS_REMARK_DONE, node, relais_text("doubled by an addition"));
        n_replaced++;
    }
    int32_t status = 0;
    if (n_replaced > 0) {
        host->count(host, relais_text("doubled"), n_replaced);
        status = relais_answer(&editor, host);
    }
    relais_close(&editor);
    return status;
}

/* ---- the operator ------------------------------------------------------------------------------------------------- */

/* Reads the factor of the call. A model that was read may have a call without it, whatever the record says. */
static int has_factor(relais_editor *editor, const relais_host *host, uint32_t call, float *factor) {
    const relais_attr *attr = relais_attribute(editor, call, "factor");
    if (attr == NULL || attr->kind != RELAIS_ATTR_FLOAT) {
        host->fail(host, RELAIS_FAILED, relais_text("there is no number `factor`"));
        return 0;
    }
    memcpy(factor, &attr->a, sizeof *factor);
    return 1;
}

/* Its result is of the type of its argument. */
static int32_t infer(const relais_host *host, relais_editor *editor, uint32_t call) {
    float factor;
    if (!has_factor(editor, host, call, &factor)) return 1;
    relais_set_type(editor, call, relais_type_of(editor, relais_operands(editor, call)[1]));
    return relais_answer(editor, host);
}

/* The arguments are constants, and so is the result. */
static int32_t evaluate(const relais_host *host, relais_editor *editor, uint32_t call) {
    float factor;
    if (!has_factor(editor, host, call, &factor)) return 1;
    relais_bytes elements;
    const relais_tensor *tensor = relais_constant(editor, host, relais_operands(editor, call)[1], &elements);
    if (tensor == NULL || tensor->elem != RELAIS_FLOAT32) {
        host->fail(host, RELAIS_UNSUPPORTED, relais_text("only packed elements of type `float32` are scaled"));
        return 1;
    }
    size_t n = (size_t)elements.len / sizeof(float);
    float *scaled = malloc(elements.len + 1);
    uint64_t *dims = malloc((tensor->rank + 1) * sizeof *dims);
    if (scaled == NULL || dims == NULL) {
        free(scaled);
        free(dims);
        return 1;
    }
    memcpy(scaled, elements.at, (size_t)elements.len);
    for (size_t i = 0; i < n; i++) scaled[i] *= factor;
    uint32_t rank = tensor->rank;
    memcpy(dims, RELAIS_AT(editor, RELAIS_SIZES, uint64_t, tensor->dims), rank * sizeof *dims);
    uint32_t result = relais_add_constant(editor, RELAIS_FLOAT32, dims, rank, scaled, n * sizeof *scaled);
    free(scaled);
    free(dims);
    /* Constants are bindings, too. */
    relais_set_bindings(editor, relais_body(editor), &result, 1);
    relais_body(editor)->result = result;
    return relais_answer(editor, host);
}

static int32_t operator_part(const relais_host *host, uint32_t part, relais_bytes domain, relais_bytes name,
                             uint32_t since, relais_bytes ship) {
    (void)domain, (void)name, (void)since; /* there is one operator only */
    relais_editor editor;
    if (relais_open(&editor, ship) != 0) return 1;
    uint32_t call = relais_body(&editor)->result;
    int32_t status = 1;
    if (part == RELAIS_PART_RELATION) status = infer(host, &editor, call);
    if (part == RELAIS_PART_EVALUATOR) status = evaluate(host, &editor, call);
    relais_close(&editor);
    return status;
}

/* ---- the plugin --------------------------------------------------------------------------------------------------- */

RELAIS_EXPORT const relais_plugin relais_plugin_acme_c = {
    sizeof(relais_plugin), RELAIS_SHIP_FORMAT, create, drop, run, operator_part,
};
