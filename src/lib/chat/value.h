/* Values of chat templates, as Python has them, and the memory that holds them.
 *
 * Values do not change once they are made, except namespaces, loops and iterators. All memory of a rendering comes from
 * one arena, which has a limit and is released at the end. So values need no reference counts.
 *
 * Each byte of a string has an origin: the template, or the data of a conversation. Operations keep the origin, so
 * that the result tells which of its bytes were written by users.
 */
#ifndef CHAT_VALUE_H
#define CHAT_VALUE_H

#include "ingot.h"

/* ---- memory --------------------------------------------------------------------------------- */

typedef struct arena {
    struct arena_chunk *chunks; /* the newest first */
    size_t used, room;          /* of the newest chunk */
    size_t total, most;         /* bytes of all chunks, and their limit */
} arena;

/* Zeroed memory; NULL with an error set if there is none, or above the limit. */
void *chat_arena_get(arena *a, size_t bytes);
void chat_arena_free(arena *a);

/* ---- values --------------------------------------------------------------------------------- */

typedef enum value_kind {
    VALUE_MISSING, /* not a value: an argument that was not given */
    VALUE_UNDEFINED,
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_STRING,
    VALUE_LIST,
    VALUE_DICT,
    VALUE_NAMESPACE,
    VALUE_MACRO,
    VALUE_FUNCTION,
    VALUE_METHOD,
    VALUE_LOOP
} value_kind;

/* Bytes of UTF-8. from[i] is 1 if byte i comes from data; NULL: all bytes come from the template. */
typedef struct string {
    const char *at;
    const unsigned char *from;
    size_t n;
} string;

typedef struct value value;

typedef enum list_kind {
    LIST_PLAIN,
    LIST_TUPLE,
    LIST_KEYS,
    LIST_VALUES,
    LIST_ITEMS,
    LIST_RANGE,
    LIST_ITERATOR /* can be read once: the items from `next` on are left */
} list_kind;

typedef struct list {
    value *at;
    size_t n, next;
    list_kind kind;
    int64_t start, stop, step; /* of a range */
} list;

typedef struct dict {
    struct dict_entry *at;
    size_t n, room;
} dict;

struct value {
    value_kind kind;
    bool safe;      /* a string that the filter `safe` has marked */
    bool forbidden; /* undefined because templates may not use it */
    union {
        bool truth;
        int64_t i;
        double f;
        string s; /* also the message of an undefined value */
        list *list;
        dict *dict; /* also of a namespace */
        struct macro *macro;
        const struct function *function;
        struct method *method;
        struct loop *loop;
    } as;
};

struct dict_entry {
    value key, item;
    uint32_t hash;
};

/* ---- one rendering -------------------------------------------------------------------------- */

/* A growing string. */
typedef struct builder {
    char *at;
    unsigned char *from; /* NULL while all bytes come from the template */
    size_t n, room, room_from;
} builder;

/* Variables of a block of the template. */
typedef struct frame {
    struct frame *parent;
    struct variable {
        int symbol;
        value v;
    } * at;
    int n, room;
} frame;

/* The state of a rendering. After a failure, an error is set, and evaluation only returns. */
typedef struct render {
    const struct chat_template *t;
    arena memory;
    dict *variables;
    builder *out;
    value captured; /* the text of a block that a filter gets */
    int64_t now;    /* seconds since 1970 */
    int64_t steps;  /* that are left */
    int line, depth;
    bool failed;
    enum { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE } flow;
} render;

enum { RENDER_DEPTH_MOST = 1000 };

/* Fails with a message that names the line; returns the undefined value. */
value render_fail(render *r, const char *format, ...) IG_PRINTF(2, 3);
/* Counts steps; false if there are none left, or something failed. */
bool render_step(render *r, int64_t steps);
/* The same for a nested call, which ends with render_leave. */
bool render_enter(render *r);
void render_leave(render *r);
void *render_get(render *r, size_t count, size_t size);

/* ---- making values -------------------------------------------------------------------------- */

static inline value value_none(void) { return (value){.kind = VALUE_NONE}; }
static inline value value_bool(bool b) { return (value){.kind = VALUE_BOOL, .as.truth = b}; }
static inline value value_int(int64_t i) { return (value){.kind = VALUE_INT, .as.i = i}; }
static inline value value_float(double f) { return (value){.kind = VALUE_FLOAT, .as.f = f}; }
static inline value value_string(string s) { return (value){.kind = VALUE_STRING, .as.s = s}; }

/* A terminated constant. */
string string_of(const char *plain);
value chat_plain(const char *plain);
/* An undefined value. Its message is made by printf's rules. */
value value_undefined(render *r, const char *format, ...) IG_PRINTF(2, 3);
/* A list with room for n values, and no values yet; NULL on failure. */
list *list_new(render *r, size_t n, list_kind kind);
value value_of_list(list *l);
dict *dict_new(render *r, size_t room);
value value_dict(dict *d);
/* Sets a key, which must be hashable; otherwise fails. */
void dict_set(render *r, dict *d, value key, value item);
/* Adds a key that is not in the dict yet. */
void dict_add(render *r, dict *d, value key, value item);
const value *dict_find(render *r, const dict *d, value key);
const value *dict_find_name(render *r, const dict *d, const char *name);

/* ---- asking --------------------------------------------------------------------------------- */

bool value_truth(value v);
/* True for an argument that is there and not none. */
static inline bool value_given(value v) { return v.kind != VALUE_MISSING && v.kind != VALUE_NONE; }
bool value_hashable(value v);
bool value_is_number(value v); /* of the kinds int, float and bool */
double value_as_float(value v);
bool value_as_int(value v, int64_t *out); /* int or bool */
bool chat_equal(render *r, value a, value b);
/* Python's order of a and b: below 0, 0, above 0. Fails for values without an order. op: for the message. */
int value_compare(render *r, value a, value b, const char *op);
/* "str", "list", as Python names types. */
const char *value_type(value v);
/* The number of items or characters; false if it has none. */
bool value_length(value v, int64_t *out);
/* The items: of lists, keys, characters. An iterator is used up. Fails if the value has no items. */
list *value_items(render *r, value v);
bool string_equal(string a, string b);
bool string_is(string s, const char *plain);
bool value_is_text(value v, const char *plain);

/* ---- strings -------------------------------------------------------------------------------- */

void builder_add(render *r, builder *b, string s);
void builder_text(render *r, builder *b, const char *plain);
/* Adds bytes with one origin. */
void builder_bytes(render *r, builder *b, const char *at, size_t n, bool from_data);
string builder_string(const builder *b);
/* Adds str(v) or repr(v). */
void builder_value(render *r, builder *b, value v);
void builder_repr(render *r, builder *b, value v);
/* str(v) */
string value_show(render *r, value v);
string string_join(render *r, string a, string b);
string string_escape(render *r, string s); /* for HTML */

/* Part of a string, in bytes. */
static inline string string_cut(string s, size_t first, size_t last)
{
    return (string){s.at + first, s.from ? s.from + first : NULL, last - first};
}
bool string_ascii(string s);
/* The number of code points, and the byte at which code point i begins. */
size_t string_count(string s);
size_t string_byte(string s, size_t i);
/* The code point at byte i, whose length is set. */
uint32_t string_rune(string s, size_t i, size_t *length);
bool rune_is_space(uint32_t c); /* as str.isspace */
bool rune_is_line_end(uint32_t c);

/* A float as Python shows it. */
enum { FLOAT_BYTES = 40 };
void float_show(double f, char out[FLOAT_BYTES]);

#endif
