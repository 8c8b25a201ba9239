/* A plugin for Relais in C, or in any language that can call C: functions and modules come and go as bytes in the ship
 * format, and no type of Relais is shared. `docs/abi.md` describes the format and the rules; this header has its numbers,
 * its structures, and a few functions that read and write it. It needs C11, a little-endian machine, and nothing else.
 *
 * Licence: MIT OR Apache-2.0
 */
#ifndef RELAIS_H
#define RELAIS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the boundary ------------------------------------------------------------------------------------------------- */

/* The format in which modules are shipped. */
#define RELAIS_SHIP_FORMAT 1u

/* Bytes, which belong to who passes them and are there until the call ends. Text is UTF-8, without a zero at its end. */
typedef struct relais_bytes {
    const void *at;
    uint64_t len;
} relais_bytes;

/* The kinds of failure. */
enum {
    RELAIS_FAILED = 0,      /* it failed; of an operator, the call is wrong */
    RELAIS_UNSUPPORTED = 1, /* an operator's function does not cover the call: nothing is inferred or folded */
    RELAIS_CANCELLED = 2,   /* it ended because it was told to */
    RELAIS_OPTIONS = 3      /* the pass does not accept its options */
};

/* How grave a diagnostic is. Remarks are shown on request: one says why something was not done, the last kind what was. An
 * error makes the pass fail. */
enum { RELAIS_REMARK = 0, RELAIS_NOTE = 1, RELAIS_WARNING = 2, RELAIS_ERROR = 3, RELAIS_REMARK_DONE = 256 };

/* The levels of the log. */
enum { RELAIS_LOG_ERROR = 1, RELAIS_LOG_WARN = 2, RELAIS_LOG_INFO = 3, RELAIS_LOG_DEBUG = 4, RELAIS_LOG_TRACE = 5 };

/* The functions of an operator. The first two are given a function with nothing but a call, which is its result, and answer
 * with a function: the same one with the type of the call (a tuple, if it has several results), or one whose results are
 * constants. The others answer with a text. */
enum {
    RELAIS_PART_RELATION = 0,
    RELAIS_PART_EVALUATOR = 1,
    RELAIS_PART_BODY = 2,
    RELAIS_PART_VERIFIER = 3,
    RELAIS_PART_GRADIENT = 4,
    RELAIS_PART_COMPUTE = 5
};

/* What the host does during a call, from any thread, and not after it. A later host has more, at the end: `size` says how
 * many bytes of this table there are. */
typedef struct relais_host relais_host;
struct relais_host {
    uint32_t size;
    uint32_t format;            /* RELAIS_SHIP_FORMAT */
    const void *call;           /* the host's */
    const relais_bytes *shared; /* what tensors refer to, by number */
    uint64_t n_shared;
    /* Takes the answer of the call: a copy is made, and the last one counts. A pass that changes nothing gives none. */
    void (*answer)(const relais_host *host, relais_bytes answer);
    /* Says why the call fails. */
    void (*fail)(const relais_host *host, uint32_t kind, relais_bytes message);
    /* Says something about a node; node 0 is none. */
    void (*diagnostic)(const relais_host *host, uint32_t severity, uint32_t node, relais_bytes message);
    void (*log)(const relais_host *host, uint32_t level, relais_bytes message);
    /* Adds to a statistic that the record of the pass declares. */
    void (*count)(const relais_host *host, relais_bytes statistic, uint64_t n);
    /* Gives a file that the pass made, such as source code, by a plain name. */
    void (*file)(const relais_host *host, relais_bytes name, relais_bytes contents);
    /* An option of the context, encoded like the options of a pass; nothing if it is not registered. */
    relais_bytes (*config)(const relais_host *host, relais_bytes key);
    /* Whether the call should end: a time budget ran out, or the user pressed a key. */
    uint32_t (*is_cancelled)(const relais_host *host);
};

/* The functions of a plugin: a constant of this type is the symbol that the record names. What a plugin does not have is
 * null. Each function returns 0, or something else if it fails. They may be called from several threads at once; `run`
 * is not for a pass whose record says `serial`. */
typedef struct relais_plugin {
    uint32_t size;   /* sizeof(relais_plugin) */
    uint32_t format; /* RELAIS_SHIP_FORMAT */
    /* Makes a pass: its full name, its options as fields (`relais_option`). */
    int32_t (*create)(const relais_host *host, relais_bytes name, relais_bytes options, void **pass);
    void (*drop)(void *pass);
    /* Runs a pass on a function or a loop program of that name, or on a module, which has none. */
    int32_t (*run)(const relais_host *host, void *pass, relais_bytes name, relais_bytes ship);
    /* Answers for a part of an operator: domain, name, first version, and the call. */
    int32_t (*operator_part)(const relais_host *host, uint32_t part, relais_bytes domain, relais_bytes name,
                             uint32_t since, relais_bytes ship);
} relais_plugin;

#if defined(_WIN32)
#define RELAIS_EXPORT __declspec(dllexport)
#else
#define RELAIS_EXPORT __attribute__((visibility("default")))
#endif

/* Where the records go: `relais plugin record` writes them as an array of that attribute. */
#if defined(__APPLE__)
#define RELAIS_RECORDS __attribute__((used, section("__DATA,__passrec")))
#else
#define RELAIS_RECORDS __attribute__((used, section(".passrec")))
#endif

/* ---- the ship format ---------------------------------------------------------------------------------------------- */

/* The kinds of what is shipped. */
enum { RELAIS_FUNCTION = 0, RELAIS_MODULE = 1 };

/* The lists. */
enum {
    RELAIS_NODES = 1,
    RELAIS_POOL = 2,
    RELAIS_ATTRS = 3,
    RELAIS_WORDS = 4,
    RELAIS_BLOCKS = 5,
    RELAIS_OPS = 6,
    RELAIS_TYPES = 7,
    RELAIS_TYPE_WORDS = 8,
    RELAIS_TYPE_DIMS = 9,
    RELAIS_STRINGS = 10,
    RELAIS_TENSORS = 11,
    RELAIS_SIZES = 12,
    RELAIS_DATA = 13,
    RELAIS_TABLE = 14,
    RELAIS_LIST = 15,
    RELAIS_KEYS = 16,
    RELAIS_RESERVED = 17,
    RELAIS_GLOBAL = 18,
    RELAIS_ATTRIBUTE = 19,
    RELAIS_SOURCE = 20
};

typedef struct relais_header {
    uint8_t magic[8];
    uint32_t format, kind;
    uint64_t len;
    uint32_t n_lists, root;
    uint8_t zero[32];
} relais_header;

typedef struct relais_entry {
    uint32_t list, size;
    uint64_t offset, len;
    uint32_t key, key_len, kind, zero;
} relais_entry;

typedef struct relais_node {
    uint8_t kind, flags;
    uint16_t aux;
    uint32_t a, b, c;
} relais_node;

typedef struct relais_attr {
    uint32_t name;
    uint8_t kind, flags;
    uint16_t aux;
    uint32_t a, b;
} relais_attr;

typedef struct relais_block {
    uint32_t start, len, room, result, owner;
} relais_block;

typedef struct relais_op {
    uint32_t domain, name, overload, version, node;
} relais_op;

typedef struct relais_type {
    uint8_t kind, elem;
    uint16_t aux;
    uint32_t a, b;
} relais_type;

typedef struct relais_place {
    uint32_t of, zero; /* `of` is a number of the shared bytes, or RELAIS_HERE */
    uint64_t start, len;
} relais_place;

#define RELAIS_HERE 0xffffffffu

typedef struct relais_tensor {
    uint8_t elem, storage;
    uint16_t zero;
    uint32_t rank, dims;
    uint32_t pad;
    relais_place data, encoded;
} relais_tensor;

/* The kinds of nodes. */
enum {
    RELAIS_ABSENT = 0,
    RELAIS_VAR = 1,
    RELAIS_GLOBAL_VAR = 2,
    RELAIS_OP = 3,
    RELAIS_CONSTANT = 4,
    RELAIS_TUPLE = 5,
    RELAIS_TUPLE_GET_ITEM = 6,
    RELAIS_CALL = 7,
    RELAIS_IF = 8,
    RELAIS_FUNCTION_NODE = 9
};

/* The flags of nodes. */
enum { RELAIS_LET = 1, RELAIS_EXTRA = 2, RELAIS_LISTED_INPUT = 4, RELAIS_PRISTINE = 8 };

/* The kinds of attributes whose values C reads most. */
enum { RELAIS_ATTR_FLOAT = 1, RELAIS_ATTR_INT = 2, RELAIS_ATTR_STRING = 3, RELAIS_ATTR_FLOATS = 6, RELAIS_ATTR_INTS = 7 };

/* The flag of an attribute that only describes the node, such as its documentation. */
enum { RELAIS_META = 1 };

/* The kinds of types. */
enum { RELAIS_TYPE_UNKNOWN = 0, RELAIS_TYPE_TENSOR = 1, RELAIS_TYPE_TENSOR_ANY_RANK = 2, RELAIS_TYPE_TUPLE = 3 };

/* Element types: those of ONNX, of which these are a few. */
enum { RELAIS_FLOAT32 = 1, RELAIS_INT32 = 6, RELAIS_INT64 = 7, RELAIS_BOOL = 9, RELAIS_FLOAT16 = 10, RELAIS_FLOAT64 = 11 };

/* ---- reading and writing ------------------------------------------------------------------------------------------ */

static inline relais_bytes relais_text(const char *text) {
    relais_bytes bytes = {text, strlen(text)};
    return bytes;
}

/* Whether bytes are this text. */
static inline int relais_is(relais_bytes bytes, const char *text) {
    return bytes.len == strlen(text) && (bytes.len == 0 || memcmp(bytes.at, text, (size_t)bytes.len) == 0);
}

/* A function that is read and changed: a copy of each list, with room at its end. Lists are reached by `relais_list`, and
 * what `relais_push` returns is an index. */
typedef struct relais_list {
    relais_entry entry;
    uint8_t *at;
    uint64_t len, room; /* in bytes */
    char *key;
} relais_list;

typedef struct relais_editor {
    uint32_t kind, root;
    uint32_t n_lists;
    relais_list **lists;
    int is_out_of_memory;
} relais_editor;

static inline void relais_close(relais_editor *editor) {
    for (uint32_t i = 0; i < editor->n_lists; i++) {
        free(editor->lists[i]->at);
        free(editor->lists[i]->key);
        free(editor->lists[i]);
    }
    free(editor->lists);
    memset(editor, 0, sizeof *editor);
}

/* Adds an empty list; null if there is no memory for it. */
static inline relais_list *relais_add_list(relais_editor *editor, uint32_t list, uint32_t size, const char *key,
                                           uint32_t key_len) {
    relais_list **lists = (relais_list **)realloc(editor->lists, (editor->n_lists + 1u) * sizeof(relais_list *));
    if (lists == NULL) return NULL;
    editor->lists = lists;
    relais_list *made = (relais_list *)calloc(1, sizeof(relais_list));
    if (made == NULL) return NULL;
    made->key = (char *)calloc(key_len + 1u, 1);
    made->at = (uint8_t *)malloc(1);
    if (made->key == NULL || made->at == NULL) {
        free(made->key);
        free(made->at);
        free(made);
        return NULL;
    }
    made->entry.list = list;
    made->entry.size = size;
    made->entry.key_len = key_len;
    if (key_len > 0) memcpy(made->key, key, key_len);
    lists[editor->n_lists++] = made;
    return made;
}

/* Reads what is shipped; returns 0, or 1 if there is no memory for it. */
static inline int relais_open(relais_editor *editor, relais_bytes ship) {
    memset(editor, 0, sizeof *editor);
    const uint8_t *bytes = (const uint8_t *)ship.at;
    relais_header header;
    memcpy(&header, bytes, sizeof header);
    editor->kind = header.kind;
    editor->root = header.root;
    const uint8_t *keys = NULL;
    for (uint32_t i = 0; i < header.n_lists; i++) {
        relais_entry entry;
        memcpy(&entry, bytes + sizeof header + i * sizeof entry, sizeof entry);
        if (entry.list == RELAIS_KEYS) keys = bytes + entry.offset;
    }
    for (uint32_t i = 0; i < header.n_lists; i++) {
        relais_entry entry;
        memcpy(&entry, bytes + sizeof header + i * sizeof entry, sizeof entry);
        if (entry.list == RELAIS_KEYS) continue; /* written again */
        const char *key = keys == NULL ? "" : (const char *)keys + entry.key;
        relais_list *list = relais_add_list(editor, entry.list, entry.size, key, keys == NULL ? 0 : entry.key_len);
        uint8_t *copy = list == NULL ? NULL : (uint8_t *)malloc((size_t)entry.len + 1);
        if (copy == NULL) {
            relais_close(editor);
            return 1;
        }
        free(list->at);
        list->entry.kind = entry.kind;
        list->at = copy;
        list->len = list->room = entry.len;
        memcpy(copy, bytes + entry.offset, (size_t)entry.len);
    }
    return 0;
}

/* Returns a list of which there is one; an empty one is made if there is none. Of side tables, `key` is the name. It stays
 * where it is; its elements move when some are added. If there is no memory, it is an empty list that nothing is added to,
 * and `relais_answer` says so. */
static inline relais_list *relais_list_of(relais_editor *editor, uint32_t list, uint32_t size, const char *key) {
    static relais_list none;
    for (uint32_t i = 0; i < editor->n_lists; i++) {
        relais_list *it = editor->lists[i];
        if (it->entry.list == list && strcmp(it->key, key) == 0) return it;
    }
    relais_list *made = relais_add_list(editor, list, size, key, (uint32_t)strlen(key));
    if (made == NULL) editor->is_out_of_memory = 1;
    return made == NULL ? &none : made;
}

/* Makes room for `len` bytes, zero where they are new; returns where they start. */
static inline void *relais_grow(relais_editor *editor, relais_list *list, uint64_t len) {
    if (editor->is_out_of_memory) return NULL;
    if (len > list->room) {
        uint64_t room = len + len / 2 + 64;
        uint8_t *grown = (uint8_t *)realloc(list->at, (size_t)room);
        if (grown == NULL) {
            editor->is_out_of_memory = 1;
            return NULL;
        }
        list->at = grown;
        list->room = room;
    }
    if (len > list->len) {
        memset(list->at + list->len, 0, (size_t)(len - list->len));
        list->len = len;
    }
    return list->at;
}

/* Adds `n` elements at the end of a list, which may be elements of that list; returns the index of the first. */
static inline uint32_t relais_push(relais_editor *editor, uint32_t list, const void *elements, uint32_t n, uint32_t size) {
    relais_list *to = relais_list_of(editor, list, size, "");
    uint64_t start = to->len, len = (uint64_t)n * size;
    uint64_t inside = (uint64_t)((uintptr_t)elements - (uintptr_t)to->at);
    int is_inside = elements != NULL && inside < to->len;
    if (len == 0) return (uint32_t)(start / size);
    if (relais_grow(editor, to, start + len) == NULL) return 0;
    memcpy(to->at + start, is_inside ? to->at + inside : (const uint8_t *)elements, (size_t)len);
    return (uint32_t)(start / size);
}

#define RELAIS_COUNT(editor, list, type) \
    ((uint32_t)(relais_list_of((editor), (list), (uint32_t)sizeof(type), "")->len / sizeof(type)))
#define RELAIS_AT(editor, list, type, index) \
    (&((type *)(void *)relais_list_of((editor), (list), (uint32_t)sizeof(type), "")->at)[index])

static inline uint32_t relais_n_nodes(relais_editor *editor) {
    return RELAIS_COUNT(editor, RELAIS_NODES, relais_node);
}

/* A node; it stays where it is until one is added. */
static inline relais_node *relais_node_at(relais_editor *editor, uint32_t node) {
    return RELAIS_AT(editor, RELAIS_NODES, relais_node, node);
}

/* The operands of a node: of a call, the callee and the arguments. */
static inline uint32_t *relais_operands(relais_editor *editor, uint32_t node) {
    return RELAIS_AT(editor, RELAIS_POOL, uint32_t, relais_node_at(editor, node)->a);
}

static inline relais_bytes relais_string(relais_editor *editor, uint32_t string) {
    const uint8_t *at = RELAIS_AT(editor, RELAIS_STRINGS, uint8_t, string);
    uint32_t len;
    memcpy(&len, at, 4);
    relais_bytes bytes = {at + 4, len};
    return bytes;
}

static inline uint32_t relais_add_bytes(relais_editor *editor, relais_bytes bytes) {
    uint32_t len = (uint32_t)bytes.len;
    if (len == 0) return 0;
    /* The bytes may be those of a string, which moves when the list grows. */
    const relais_list *strings = relais_list_of(editor, RELAIS_STRINGS, 1, "");
    uint64_t inside = (uint64_t)((uintptr_t)bytes.at - (uintptr_t)strings->at);
    int is_inside = inside < strings->len;
    uint32_t id = relais_push(editor, RELAIS_STRINGS, &len, 4, 1);
    relais_push(editor, RELAIS_STRINGS, is_inside ? strings->at + inside : (const uint8_t *)bytes.at, len, 1);
    return id;
}

static inline uint32_t relais_add_string(relais_editor *editor, const char *text) {
    return relais_add_bytes(editor, relais_text(text));
}

/* Whether a node is a call of an operator of that domain and name; ONNX's own domain is empty. */
static inline int relais_is_call(relais_editor *editor, uint32_t node, const char *domain, const char *name) {
    const relais_node *rec = relais_node_at(editor, node);
    if (rec->kind != RELAIS_CALL || rec->b == 0) return 0;
    const relais_node *callee = relais_node_at(editor, relais_operands(editor, node)[0]);
    if (callee->kind != RELAIS_OP) return 0;
    const relais_op *op = RELAIS_AT(editor, RELAIS_OPS, relais_op, callee->a);
    relais_bytes own = relais_string(editor, op->domain);
    int is_domain = relais_is(own, domain) || (domain[0] == 0 && relais_is(own, "ai.onnx"));
    return is_domain && relais_is(relais_string(editor, op->name), name);
}

/* An attribute of a call, without those that only describe it; null if there is none of that name. */
static inline const relais_attr *relais_attribute(relais_editor *editor, uint32_t node, const char *name) {
    uint32_t first = relais_node_at(editor, node)->c;
    uint32_t n = first == 0 ? 0 : RELAIS_AT(editor, RELAIS_ATTRS, relais_attr, first - 1)->a;
    for (uint32_t i = 0; i < n; i++) {
        const relais_attr *attr = RELAIS_AT(editor, RELAIS_ATTRS, relais_attr, first + i);
        if ((attr->flags & RELAIS_META) == 0 && relais_is(relais_string(editor, attr->name), name)) return attr;
    }
    return NULL;
}

/* Number `at` of an attribute of integers or floats. */
static inline int64_t relais_int_at(relais_editor *editor, const relais_attr *attr, uint32_t at) {
    int64_t number;
    memcpy(&number, RELAIS_AT(editor, RELAIS_WORDS, uint32_t, attr->a + 2 * at), 8);
    return number;
}

static inline float relais_float_at(relais_editor *editor, const relais_attr *attr, uint32_t at) {
    float number;
    memcpy(&number, RELAIS_AT(editor, RELAIS_WORDS, uint32_t, attr->a + at), 4);
    return number;
}

/* An attribute, to be given to a node. `b` of a list counts its words: two for each integer. */
static inline relais_attr relais_make_attr(relais_editor *editor, const char *name, uint8_t kind, uint32_t a, uint32_t b) {
    relais_attr attr = {0, kind, 0, 0, a, b};
    attr.name = relais_add_string(editor, name);
    return attr;
}

static inline relais_attr relais_int_attr(relais_editor *editor, const char *name, int64_t number) {
    uint64_t bits = (uint64_t)number;
    return relais_make_attr(editor, name, RELAIS_ATTR_INT, (uint32_t)bits, (uint32_t)(bits >> 32));
}

static inline relais_attr relais_float_attr(relais_editor *editor, const char *name, float number) {
    uint32_t bits;
    memcpy(&bits, &number, 4);
    return relais_make_attr(editor, name, RELAIS_ATTR_FLOAT, bits, 0);
}

static inline relais_attr relais_string_attr(relais_editor *editor, const char *name, const char *text) {
    return relais_make_attr(editor, name, RELAIS_ATTR_STRING, relais_add_string(editor, text), 0);
}

static inline relais_attr relais_ints_attr(relais_editor *editor, const char *name, const int64_t *numbers, uint32_t n) {
    uint32_t first = relais_push(editor, RELAIS_WORDS, numbers, 2 * n, 4);
    return relais_make_attr(editor, name, RELAIS_ATTR_INTS, first, 2 * n);
}

/* Gives a node these attributes, in place of those that it had. */
static inline void relais_set_attrs(relais_editor *editor, uint32_t node, const relais_attr *attrs, uint32_t n) {
    relais_attr head = {0, 0, 0, 0, n, 0};
    uint32_t first = relais_push(editor, RELAIS_ATTRS, &head, 1, sizeof head);
    relais_push(editor, RELAIS_ATTRS, attrs, n, sizeof *attrs);
    relais_node_at(editor, node)->c = n == 0 ? 0 : first + 1;
}

/* The node of an operator, added if the function does not call it yet. */
static inline uint32_t relais_op_node(relais_editor *editor, const char *domain, const char *name) {
    uint32_t n = RELAIS_COUNT(editor, RELAIS_OPS, relais_op);
    for (uint32_t i = 0; i < n; i++) {
        const relais_op *op = RELAIS_AT(editor, RELAIS_OPS, relais_op, i);
        if (op->version == 0 && op->overload == 0 && relais_is(relais_string(editor, op->domain), domain) &&
            relais_is(relais_string(editor, op->name), name))
            return op->node;
    }
    relais_op made = {0, 0, 0, 0, 0};
    made.domain = relais_add_string(editor, domain);
    made.name = relais_add_string(editor, name);
    relais_node node = {RELAIS_OP, 0, 0, n, 0, 0};
    made.node = relais_push(editor, RELAIS_NODES, &node, 1, sizeof node);
    relais_push(editor, RELAIS_OPS, &made, 1, sizeof made);
    return made.node;
}

/* Adds a call with one result; it is in no block yet. */
static inline uint32_t relais_add_call(relais_editor *editor, uint32_t op, const uint32_t *args, uint32_t n_args) {
    /* The number of its functions, the operator and the arguments, which may be operands of another node. */
    const uint32_t start[2] = {0, op};
    uint32_t first = relais_push(editor, RELAIS_POOL, args, n_args, 4);
    relais_push(editor, RELAIS_POOL, start, 2, 4);
    if (!editor->is_out_of_memory) {
        uint32_t *operands = RELAIS_AT(editor, RELAIS_POOL, uint32_t, first);
        memmove(operands + 2, operands, n_args * sizeof *operands);
        memcpy(operands, start, sizeof start);
    }
    relais_node node = {RELAIS_CALL, RELAIS_EXTRA, 0, first + 1u, n_args + 1u, 0};
    return relais_push(editor, RELAIS_NODES, &node, 1, sizeof node);
}

/* Adds a constant of packed little-endian elements; it is in no block yet. */
static inline uint32_t relais_add_constant(relais_editor *editor, uint8_t elem, const uint64_t *dims, uint32_t rank,
                                           const void *elements, uint64_t len) {
    static const uint8_t zeros[8] = {0};
    relais_tensor tensor;
    memset(&tensor, 0, sizeof tensor);
    tensor.elem = elem;
    tensor.rank = rank;
    tensor.dims = relais_push(editor, RELAIS_SIZES, dims, rank, 8);
    tensor.data.of = tensor.encoded.of = RELAIS_HERE;
    tensor.data.start = relais_list_of(editor, RELAIS_DATA, 1, "")->len;
    tensor.data.len = len;
    relais_push(editor, RELAIS_DATA, elements, (uint32_t)len, 1);
    relais_push(editor, RELAIS_DATA, zeros, (uint32_t)(7 - (len + 7) % 8), 1);
    relais_node node = {RELAIS_CONSTANT, 0, 0, 0, 0, 0};
    node.a = relais_push(editor, RELAIS_TENSORS, &tensor, 1, sizeof tensor);
    return relais_push(editor, RELAIS_NODES, &node, 1, sizeof node);
}

/* The tensor of a constant, and its elements; null if the node is none, or its elements are not packed. */
static inline const relais_tensor *relais_constant(relais_editor *editor, const relais_host *host, uint32_t node,
                                                   relais_bytes *elements) {
    const relais_node *rec = relais_node_at(editor, node);
    if (rec->kind != RELAIS_CONSTANT) return NULL;
    const relais_tensor *tensor = RELAIS_AT(editor, RELAIS_TENSORS, relais_tensor, rec->a);
    if (tensor->storage != 0) return NULL;
    const uint8_t *base = tensor->data.of == RELAIS_HERE ? relais_list_of(editor, RELAIS_DATA, 1, "")->at
                                                         : (const uint8_t *)host->shared[tensor->data.of].at;
    elements->at = base + tensor->data.start;
    elements->len = tensor->data.len;
    return tensor;
}

/* The type of a node, as an index into RELAIS_TYPES; 0 is unknown. */
static inline uint32_t relais_type_of(relais_editor *editor, uint32_t node) {
    const relais_list *table = relais_list_of(editor, RELAIS_TABLE, 4, "types");
    uint32_t type = 0;
    if (((uint64_t)node + 1) * 4 <= table->len) memcpy(&type, table->at + (uint64_t)node * 4, 4);
    return type;
}

static inline void relais_set_type(relais_editor *editor, uint32_t node, uint32_t type) {
    relais_list *table = relais_list_of(editor, RELAIS_TABLE, 4, "types");
    if (relais_grow(editor, table, table->len > ((uint64_t)node + 1) * 4 ? table->len : ((uint64_t)node + 1) * 4))
        memcpy(table->at + (uint64_t)node * 4, &type, 4);
}

/* The dimensions of a type, if it is a tensor's of known rank; null otherwise. A number from 0 on is a size, -1 an unknown one,
 * and others are names: equal numbers, equal sizes. */
static inline const int64_t *relais_dims(relais_editor *editor, uint32_t type, uint32_t *rank) {
    const relais_type *rec = RELAIS_AT(editor, RELAIS_TYPES, relais_type, type);
    *rank = rec->kind == RELAIS_TYPE_TENSOR ? rec->b : 0;
    return rec->kind == RELAIS_TYPE_TENSOR ? RELAIS_AT(editor, RELAIS_TYPE_DIMS, int64_t, rec->a) : NULL;
}

/* The type of a tensor, added if the function does not have it yet. */
static inline uint32_t relais_tensor_type(relais_editor *editor, uint8_t elem, const int64_t *dims, uint32_t rank) {
    uint32_t n = RELAIS_COUNT(editor, RELAIS_TYPES, relais_type), n_own;
    for (uint32_t type = 0; type < n; type++) {
        const int64_t *own = relais_dims(editor, type, &n_own);
        if (own != NULL && RELAIS_AT(editor, RELAIS_TYPES, relais_type, type)->elem == elem && n_own == rank &&
            (rank == 0 || memcmp(own, dims, rank * 8u) == 0))
            return type;
    }
    relais_type made = {RELAIS_TYPE_TENSOR, elem, 0, 0, rank};
    made.a = relais_push(editor, RELAIS_TYPE_DIMS, dims, rank, 8);
    return relais_push(editor, RELAIS_TYPES, &made, 1, sizeof made);
}

/* Names a node. */
static inline void relais_set_name(relais_editor *editor, uint32_t node, const char *name) {
    uint32_t string = relais_add_string(editor, name);
    relais_list *table = relais_list_of(editor, RELAIS_TABLE, 4, "names");
    uint64_t end = ((uint64_t)node + 1) * 4;
    if (relais_grow(editor, table, table->len > end ? table->len : end)) memcpy(table->at + end - 4, &string, 4);
}

/* The block of the function itself. */
static inline relais_block *relais_body(relais_editor *editor) {
    const relais_node *root = relais_node_at(editor, editor->root);
    uint32_t block = *RELAIS_AT(editor, RELAIS_POOL, uint32_t, root->a - 1);
    return RELAIS_AT(editor, RELAIS_BLOCKS, relais_block, block);
}

/* Gives a block these bindings, in order. */
static inline void relais_set_bindings(relais_editor *editor, relais_block *block, const uint32_t *nodes, uint32_t n) {
    uint32_t start = relais_push(editor, RELAIS_POOL, nodes, n, 4); /* blocks are in another list, and stay */
    block->start = start;
    block->len = block->room = n;
}

/* The block that has a node as a binding; null if none has. */
static inline relais_block *relais_block_of(relais_editor *editor, uint32_t node) {
    uint32_t n = RELAIS_COUNT(editor, RELAIS_BLOCKS, relais_block);
    for (uint32_t i = 0; i < n; i++) {
        relais_block *block = RELAIS_AT(editor, RELAIS_BLOCKS, relais_block, i);
        for (uint32_t at = 0; at < block->len; at++)
            if (*RELAIS_AT(editor, RELAIS_POOL, uint32_t, block->start + at) == node) return block;
    }
    return NULL;
}

/* Puts a new node before a binding, into its block; returns 0, or 1 if no block has that binding. */
static inline int relais_insert_before(relais_editor *editor, uint32_t binding, uint32_t node) {
    relais_block *block = relais_block_of(editor, binding);
    if (block == NULL) return 1;
    uint32_t len = block->len, start = RELAIS_COUNT(editor, RELAIS_POOL, uint32_t);
    for (uint32_t at = 0; at < len; at++) {
        uint32_t own = *RELAIS_AT(editor, RELAIS_POOL, uint32_t, block->start + at);
        if (own == binding) relais_push(editor, RELAIS_POOL, &node, 1, 4);
        relais_push(editor, RELAIS_POOL, &own, 1, 4);
    }
    block->start = start;
    block->len = block->room = len + 1;
    return 0;
}

/* Whether a list is not written when it is empty. */
static inline int relais_is_left_out(const relais_list *list) {
    return list->len == 0 && list->entry.list != RELAIS_TABLE && list->entry.list != RELAIS_LIST &&
           list->entry.list != RELAIS_GLOBAL && list->entry.list != RELAIS_ATTRIBUTE && list->entry.list != RELAIS_SOURCE;
}

/* Writes the function or module again, and answers with it; returns 0, or 1 if there is no memory for it. If nothing was
 * changed, the bytes are those that were read. */
static inline int relais_answer(relais_editor *editor, const relais_host *host) {
    uint64_t n_keys = 0, n_lists = 0;
    for (uint32_t i = 0; i < editor->n_lists; i++) {
        n_lists += !relais_is_left_out(editor->lists[i]);
        n_keys += editor->lists[i]->entry.key_len;
    }
    n_lists += n_keys > 0;
    uint64_t at = (sizeof(relais_header) + n_lists * sizeof(relais_entry) + 63) / 64 * 64, total = at;
    for (uint32_t i = 0; i < editor->n_lists; i++) total = (total + 63) / 64 * 64 + editor->lists[i]->len;
    uint64_t keys = (total + 63) / 64 * 64;
    if (n_keys > 0) total = keys + n_keys;
    uint8_t *out = editor->is_out_of_memory ? NULL : (uint8_t *)calloc(1, (size_t)total + 64);
    if (out == NULL) {
        host->fail(host, RELAIS_FAILED, relais_text("there is not enough memory"));
        return 1;
    }
    relais_header header = {{0x89, 'R', 'e', 'l', 'S', 'h', 'i', 'p'}, RELAIS_SHIP_FORMAT, 0, 0, 0, 0, {0}};
    header.kind = editor->kind;
    header.len = total;
    header.n_lists = (uint32_t)n_lists;
    header.root = editor->root;
    memcpy(out, &header, sizeof header);
    uint64_t key = 0;
    uint8_t *directory = out + sizeof header;
    for (uint32_t i = 0; i < editor->n_lists; i++) {
        relais_list *list = editor->lists[i];
        if (relais_is_left_out(list)) continue;
        relais_entry entry = list->entry;
        at = (at + 63) / 64 * 64;
        entry.offset = at;
        entry.len = list->len;
        entry.key = (uint32_t)key;
        memcpy(directory, &entry, sizeof entry);
        directory += sizeof entry;
        if (list->len > 0) memcpy(out + at, list->at, (size_t)list->len);
        if (entry.key_len > 0) memcpy(out + keys + key, list->key, entry.key_len);
        key += entry.key_len;
        at += list->len;
    }
    if (n_keys > 0) {
        relais_entry entry = {RELAIS_KEYS, 1, 0, 0, 0, 0, 0, 0};
        entry.offset = keys;
        entry.len = n_keys;
        memcpy(directory, &entry, sizeof entry);
    }
    relais_bytes answer = {out, total};
    host->answer(host, answer);
    free(out);
    return 0;
}

/* The types of encoded values. */
enum { RELAIS_VALUE_BOOL = 1, RELAIS_VALUE_INT = 2, RELAIS_VALUE_FLOAT = 3, RELAIS_VALUE_TEXT = 4, RELAIS_VALUE_LIST = 5, RELAIS_VALUE_TABLE = 6 };

/* The value of an option among the encoded ones that `create` is given: returns its type, and 0 if there is none of that
 * name. A number has 8 bytes, a bool one. */
static inline uint32_t relais_option(relais_bytes options, const char *name, relais_bytes *value) {
    const uint8_t *at = (const uint8_t *)options.at, *end = at + options.len;
    int is_next = 0;
    at += 6; /* the table itself */
    value->at = NULL;
    value->len = 0;
    while (at + 6 <= end) {
        uint16_t tag;
        uint32_t len;
        memcpy(&tag, at, 2);
        memcpy(&len, at + 2, 4);
        relais_bytes found = {at + 6, len};
        if (is_next) {
            *value = found;
            return tag;
        }
        is_next = tag == 7 && relais_is(found, name); /* 7 is a name */
        at += 6 + (uint64_t)len;
    }
    return 0;
}

#ifdef __cplusplus
}
#endif

#endif
