/* A plugin whose passes and operators misbehave as they are told. */
#include "relais.h"

#include "record.h"

static int is(const char *what, const char *name) {
    return strcmp(what, name) == 0;
}

static void answer(const relais_host *host, const void *at, uint64_t len) {
    relais_bytes bytes = {at, len};
    host->answer(host, bytes);
}

static int32_t create(const relais_host *host, relais_bytes name, relais_bytes options, void **pass) {
    (void)name;
    relais_bytes value;
    relais_option(options, "what", &value);
    char *what = calloc((size_t)value.len + 1, 1);
    if (what == NULL) return 1;
    memcpy(what, value.at, (size_t)value.len);
    *pass = what;
    if (is(what, "options")) {
        free(what);
        host->fail(host, RELAIS_OPTIONS, relais_text("`options` is not something to do"));
        return 1;
    }
    if (is(what, "not-made")) {
        free(what);
        return 7;
    }
    return 0;
}

static void drop(void *pass) {
    free(pass);
}

/* Answers with what was shipped, one word of it changed. */
static void damaged(const relais_host *host, relais_bytes ship, uint64_t at, uint32_t word) {
    uint8_t *copy = malloc((size_t)ship.len);
    if (copy == NULL) return;
    memcpy(copy, ship.at, (size_t)ship.len);
    memcpy(copy + at, &word, sizeof word);
    answer(host, copy, ship.len);
    free(copy);
}

/* Edits in place that are right: of a constant, of the values of an attribute, of an operator, of a string and of a callee. */
static void edited(relais_editor *editor, const char *what) {
    for (uint32_t node = 0, n = relais_n_nodes(editor); node < n && editor->kind == RELAIS_FUNCTION; node++) {
        if (is(what, "edit-constant") && relais_is_call(editor, node, "", "Add")) {
            relais_tensor *tensor = RELAIS_AT(editor, RELAIS_TENSORS, relais_tensor, relais_node_at(editor, relais_operands(editor, node)[2])->a);
            float numbers[2] = {8.0f, 9.0f};
            tensor->data.of = RELAIS_HERE;
            tensor->data.start = relais_push(editor, RELAIS_DATA, numbers, 8, 1);
        }
        if (is(what, "edit-ints") && relais_is_call(editor, node, "", "Transpose")) {
            int64_t perm[2] = {0, 1};
            memcpy(RELAIS_AT(editor, RELAIS_WORDS, uint32_t, relais_attribute(editor, node, "perm")->a), perm, sizeof perm);
        }
        if (is(what, "edit-operator") && relais_is_call(editor, node, "", "Neg")) {
            uint32_t name = relais_add_string(editor, "Abs");
            RELAIS_AT(editor, RELAIS_OPS, relais_op, relais_node_at(editor, relais_operands(editor, node)[0])->a)->name = name;
        }
        if (is(what, "edit-callee") && relais_node_at(editor, node)->kind == RELAIS_GLOBAL_VAR)
            relais_node_at(editor, node)->a = relais_add_string(editor, "local::g");
        if (is(what, "insert") && relais_is_call(editor, node, "", "Neg")) {
            uint32_t made = relais_add_call(editor, relais_op_node(editor, "", "Abs"), relais_operands(editor, node) + 1, 1);
            *relais_node_at(editor, made) = (relais_node){RELAIS_CALL, RELAIS_EXTRA | RELAIS_PRISTINE, 0,
                                                          relais_node_at(editor, made)->a, 2, 0};
            relais_set_name(editor, made, "made");
            relais_set_type(editor, made, 1);
            relais_insert_before(editor, node, made);
            relais_operands(editor, node)[1] = made;
        }
    }
}

/* Answers with a function that was changed. */
static void changed(const relais_host *host, relais_bytes ship, const char *what) {
    relais_editor editor;
    if (relais_open(&editor, ship) != 0) return;
    relais_block *body = editor.kind == RELAIS_FUNCTION ? relais_body(&editor) : NULL;
    uint32_t last = relais_n_nodes(&editor) - 1;
    if (is(what, "operand")) relais_operands(&editor, body->result)[1] = 4000000000u;
    if (is(what, "absent")) relais_operands(&editor, body->result)[1] = 0;
    if (is(what, "cycle")) relais_operands(&editor, body->result)[1] = body->result;
    if (is(what, "result")) body->result = last + 9;
    if (is(what, "type")) relais_set_type(&editor, last, 77);
    if (is(what, "interface")) body->result = RELAIS_AT(&editor, RELAIS_POOL, uint32_t, relais_node_at(&editor, editor.root)->a)[0];
    if (is(what, "twice")) {
        relais_type type = *RELAIS_AT(&editor, RELAIS_TYPES, relais_type, 0);
        relais_push(&editor, RELAIS_TYPES, &type, 1, sizeof type);
    }
    if (is(what, "tensor") || is(what, "shared")) {
        float one = 1.0f;
        uint64_t dims[1] = {5};
        relais_add_constant(&editor, RELAIS_FLOAT32, dims, 1, &one, sizeof one);
        uint32_t n = RELAIS_COUNT(&editor, RELAIS_TENSORS, relais_tensor);
        if (is(what, "shared")) RELAIS_AT(&editor, RELAIS_TENSORS, relais_tensor, n - 1)->data.of = 12345;
    }
    edited(&editor, what);
    if (is(what, "key")) relais_list_of(&editor, RELAIS_TABLE, 4, "\xff")->entry.kind = 0;
    if (is(what, "unknown")) relais_push(&editor, 0x80000063u, "?", 1, 1);
    if (is(what, "wide")) relais_list_of(&editor, RELAIS_TABLE, 0, "wide");
    relais_answer(&editor, host);
    relais_close(&editor);
}

static int32_t misbehave(const relais_host *host, const char *what, relais_bytes ship) {
    static const uint8_t junk[96] = {0xff};
    if (is(what, "nothing")) return 0;
    else if (is(what, "same")) answer(host, ship.at, ship.len);
    else if (is(what, "silent")) return 5;
    else if (is(what, "failed")) host->fail(host, RELAIS_FAILED, relais_text("no luck\x1b[31m today"));
    else if (is(what, "not-utf8")) host->fail(host, RELAIS_FAILED, relais_text("no \xff luck"));
    else if (is(what, "junk")) answer(host, junk, sizeof junk);
    else if (is(what, "short")) answer(host, ship.at, 10);
    else if (is(what, "cut")) answer(host, ship.at, ship.len / 2);
    else if (is(what, "null")) answer(host, NULL, 16);
    else if (is(what, "huge")) answer(host, ship.at, UINT64_MAX);
    else if (is(what, "null-message")) host->fail(host, RELAIS_FAILED, (relais_bytes){NULL, 3});
    else if (is(what, "format")) damaged(host, ship, 8, 9);
    else if (is(what, "kind")) damaged(host, ship, 12, 7);
    else if (is(what, "lists")) damaged(host, ship, 24, 0xffffffffu);
    else if (is(what, "root")) damaged(host, ship, 28, 1u << 30);
    else if (is(what, "offset")) damaged(host, ship, 64 + 8, 0xfffffff8u);
    else if (is(what, "size")) damaged(host, ship, 64 + 4, 3);
    else if (is(what, "error")) host->diagnostic(host, RELAIS_ERROR, 99999, relais_text("this is wrong"));
    else if (is(what, "count")) host->count(host, relais_text("undeclared"), 3);
    else if (is(what, "file")) host->file(host, relais_text("../up.c"), relais_text("no"));
    else if (is(what, "log")) host->log(host, RELAIS_LOG_INFO, relais_text("a word of C"));
    else if (is(what, "config")) {
        relais_bytes value = host->config(host, relais_text("relais.nobody"));
        if (value.len != 0) return 1;
    } else if (is(what, "crash")) *(volatile int *)(uintptr_t)64 = 1;
    else changed(host, ship, what);
    return 0;
}

static int32_t run(const relais_host *host, void *pass, relais_bytes name, relais_bytes ship) {
    (void)name;
    return misbehave(host, pass, ship);
}

static int32_t operator_part(const relais_host *host, uint32_t part, relais_bytes domain, relais_bytes name,
                             uint32_t since, relais_bytes ship) {
    (void)domain, (void)name, (void)since;
    relais_editor editor;
    if (relais_open(&editor, ship) != 0) return 1;
    char what[32] = "";
    const relais_attr *attr = relais_attribute(&editor, relais_body(&editor)->result, "what");
    if (attr != NULL) {
        relais_bytes text = relais_string(&editor, attr->a);
        memcpy(what, text.at, text.len < sizeof what ? (size_t)text.len : sizeof what - 1);
    }
    int32_t status = 0;
    if (is(what, "none") || (is(what, "no-value") && part == RELAIS_PART_EVALUATOR)) status = 0;
    else if (is(what, "call") && part == RELAIS_PART_EVALUATOR) status = relais_answer(&editor, host);
    else if (part == RELAIS_PART_RELATION && (is(what, "no-value") || is(what, "call"))) {
        uint32_t call = relais_body(&editor)->result;
        relais_set_type(&editor, call, relais_type_of(&editor, relais_operands(&editor, call)[1]));
        status = relais_answer(&editor, host);
    } else status = misbehave(host, what, ship);
    relais_close(&editor);
    return status;
}

#ifndef FORMAT
#define FORMAT RELAIS_SHIP_FORMAT
#endif
#ifndef SIZE
#define SIZE sizeof(relais_plugin)
#endif

#if defined(NO_SYMBOL)
const relais_plugin relais_other = {SIZE, FORMAT, create, drop, run, operator_part};
#elif defined(NO_FUNCTIONS)
RELAIS_EXPORT const relais_plugin relais_plugin_hostile = {SIZE, FORMAT, NULL, NULL, NULL, NULL};
#else
RELAIS_EXPORT const relais_plugin relais_plugin_hostile = {SIZE, FORMAT, create, drop, run, operator_part};
#endif
#if defined(NO_SYMBOL) || defined(NO_FUNCTIONS)
int32_t (*const relais_used[])(const relais_host *, void *, relais_bytes, relais_bytes) = {run};
const relais_plugin *relais_functions(void) {
    static const relais_plugin table = {SIZE, FORMAT, create, drop, run, operator_part};
    return &table;
}
#endif
