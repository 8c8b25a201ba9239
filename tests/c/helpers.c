/* Exercises the helpers of `relais.h` on a function that was shipped: `helpers FILE`. */
#include "relais.h"

#include <stdio.h>

#define EXPECT(condition)                                                 \
    do {                                                                  \
        if (!(condition)) {                                               \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);       \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

static uint8_t *answered;
static uint64_t answered_len;

static void answer(const relais_host *host, relais_bytes bytes) {
    (void)host;
    free(answered);
    answered = malloc((size_t)bytes.len + 1);
    memcpy(answered, bytes.at, (size_t)bytes.len);
    answered_len = bytes.len;
}

static void fail(const relais_host *host, uint32_t kind, relais_bytes message) {
    (void)host, (void)kind;
    fprintf(stderr, "%.*s\n", (int)message.len, (const char *)message.at);
    exit(1);
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    EXPECT(file != NULL);
    static uint8_t bytes[1 << 20];
    relais_bytes ship = {bytes, fread(bytes, 1, sizeof bytes, file)};
    fclose(file);
    relais_host host = {sizeof host, RELAIS_SHIP_FORMAT, NULL, NULL, 0, answer, fail, NULL, NULL, NULL, NULL, NULL, NULL};
    relais_editor editor;

    /* A module comes back as it was. */
    EXPECT(relais_open(&editor, ship) == 0 && editor.kind == RELAIS_MODULE);
    EXPECT(relais_answer(&editor, &host) == 0);
    EXPECT(answered_len == ship.len && memcmp(answered, ship.at, ship.len) == 0);

    /* And so does its first function, though lists that it does not have were looked for. */
    relais_list *main_list = NULL;
    for (uint32_t i = 0; i < editor.n_lists; i++)
        if (editor.lists[i]->entry.list == RELAIS_GLOBAL && strcmp(editor.lists[i]->key, "main") == 0)
            main_list = editor.lists[i];
    EXPECT(main_list != NULL);
    static uint8_t copy[1 << 20];
    memcpy(copy, main_list->at, (size_t)main_list->len);
    relais_bytes function = {copy, main_list->len};
    relais_close(&editor);
    EXPECT(relais_open(&editor, function) == 0 && editor.kind == RELAIS_FUNCTION);
    EXPECT(RELAIS_COUNT(&editor, RELAIS_RESERVED, uint64_t) == 0);
    EXPECT(relais_answer(&editor, &host) == 0);
    EXPECT(answered_len == function.len && memcmp(answered, function.at, function.len) == 0);

    /* Calls are found, with their attributes. */
    uint32_t split = 0, other = 0, n = relais_n_nodes(&editor);
    for (uint32_t node = 0; node < n; node++) {
        if (relais_is_call(&editor, node, "", "Split")) split = node;
        if (relais_is_call(&editor, node, "acme", "Other")) other = node;
        EXPECT(!relais_is_call(&editor, node, "acme", "Split"));
    }
    EXPECT(split != 0 && other != 0);
    const relais_attr *pads = relais_attribute(&editor, other, "pads");
    EXPECT(pads != NULL && pads->kind == RELAIS_ATTR_INTS && pads->b == 4);
    EXPECT(relais_int_at(&editor, pads, 0) == 1 && relais_int_at(&editor, pads, 1) == 2);
    EXPECT(relais_attribute(&editor, other, "nothing") == NULL);

    /* Elements of a list may be added to it again. */
    uint32_t n_args = relais_node_at(&editor, split)->b - 1;
    uint32_t callee = relais_operands(&editor, split)[0], before = n;
    for (int i = 0; i < 1000; i++) {
        uint32_t made = relais_add_call(&editor, callee, relais_operands(&editor, split) + 1, n_args);
        EXPECT(made == before++);
        EXPECT(memcmp(relais_operands(&editor, made), relais_operands(&editor, split), (n_args + 1) * 4) == 0);
    }
    relais_bytes name = relais_string(&editor, RELAIS_AT(&editor, RELAIS_OPS, relais_op, 0)->name);
    char first[64] = "";
    memcpy(first, name.at, (size_t)name.len);
    for (int i = 0; i < 1000; i++) {
        uint32_t again = relais_add_bytes(&editor, relais_string(&editor, RELAIS_AT(&editor, RELAIS_OPS, relais_op, 0)->name));
        EXPECT(relais_is(relais_string(&editor, again), first));
    }
    EXPECT(relais_add_call(&editor, callee, NULL, 0) == before++);
    EXPECT(relais_add_constant(&editor, RELAIS_FLOAT32, NULL, 0, &(float){1.5f}, 4) == before++);
    EXPECT(relais_op_node(&editor, "acme", "Other") == relais_operands(&editor, other)[0]);
    EXPECT(relais_op_node(&editor, "acme", "New") == before && relais_op_node(&editor, "acme", "New") == before);

    /* A type is there once. */
    int64_t dims[2] = {4, -1};
    uint32_t rank, type = relais_tensor_type(&editor, RELAIS_INT64, dims, 2);
    EXPECT(relais_tensor_type(&editor, RELAIS_INT64, dims, 2) == type);
    EXPECT(relais_tensor_type(&editor, RELAIS_INT64, dims, 1) == type + 1);
    EXPECT(relais_tensor_type(&editor, RELAIS_INT32, NULL, 0) == type + 2);
    EXPECT(relais_dims(&editor, type, &rank)[1] == -1 && rank == 2);

    /* A call with attributes and a name, in the place before another one. */
    uint32_t made = relais_add_call(&editor, callee, relais_operands(&editor, split) + 1, n_args);
    int64_t pair[2] = {-7, INT64_MAX};
    relais_attr attrs[4];
    attrs[0] = relais_ints_attr(&editor, "ints", pair, 2);
    attrs[1] = relais_int_attr(&editor, "int", -3);
    attrs[2] = relais_float_attr(&editor, "float", 0.25f);
    attrs[3] = relais_string_attr(&editor, "text", "words");
    relais_set_attrs(&editor, made, attrs, 4);
    const relais_attr *ints = relais_attribute(&editor, made, "ints");
    EXPECT(ints != NULL && relais_int_at(&editor, ints, 0) == -7 && relais_int_at(&editor, ints, 1) == INT64_MAX);
    EXPECT(relais_is(relais_string(&editor, relais_attribute(&editor, made, "text")->a), "words"));
    relais_set_type(&editor, made, type);
    EXPECT(relais_type_of(&editor, made) == type);
    relais_set_name(&editor, made, "made");
    uint32_t len = relais_body(&editor)->len;
    EXPECT(relais_insert_before(&editor, split, made) == 0 && relais_insert_before(&editor, callee, made) == 1);
    EXPECT(relais_body(&editor)->len == len + 1 && relais_block_of(&editor, made) == relais_body(&editor));
    EXPECT(relais_answer(&editor, &host) == 0 && !editor.is_out_of_memory);
    relais_close(&editor);
    free(answered);
    return 0;
}
