/* Chat templates: from the source to a tree (scan.c, parse.c), and from the tree to text (run.c, evaluate.c).
 *
 * The language is the part of Jinja that published templates use, with the settings of the Python package
 * transformers: blocks are trimmed and stripped, and values cannot be changed.
 */
#ifndef CHAT_RUN_H
#define CHAT_RUN_H

#include "lib/chat/value.h"
#include "lib/text/vocabulary.h"

/* ---- tokens --------------------------------------------------------------------------------- */

typedef enum token_kind {
    TOKEN_END,
    TOKEN_DATA,
    TOKEN_PRINT_BEGIN,
    TOKEN_PRINT_END,
    TOKEN_BLOCK_BEGIN,
    TOKEN_BLOCK_END,
    TOKEN_NAME,
    TOKEN_STRING,
    TOKEN_NUMBER,
    TOKEN_OPERATOR
} token_kind;

/* An operator of one or two characters, as a number. */
#define OPERATOR(a, b) ((a) | (b) << 8)

typedef struct token {
    token_kind kind;
    int line;
    int op;
    string s; /* data, names, strings */
    value number;
} token;

typedef struct token_list {
    token *at;
    int n, room;
} token_list;

/* Cuts a template, whose text is in memory that stays, into tokens; the last is TOKEN_END. The caller frees tokens->at. */
ig_status chat_scan(string source, arena *memory, token_list *tokens);

/* ---- the tree ------------------------------------------------------------------------------- */

typedef enum node_kind {
    NODE_CONSTANT,
    NODE_NAME,
    NODE_LIST,
    NODE_TUPLE,
    NODE_DICT, /* args: keys and values in turn */
    NODE_ATTRIBUTE,
    NODE_ITEM,
    NODE_SLICE, /* as the index of an item; a, b, c: start, stop, step */
    NODE_CALL,
    NODE_FILTER,
    NODE_TEST,
    NODE_NOT,
    NODE_NEGATE,
    NODE_PLUS,
    NODE_AND,
    NODE_OR,
    NODE_IF_ELSE, /* a if b else c */
    NODE_COMPARE, /* a op b, or with b a further comparison: see more */
    NODE_BINARY,
    NODE_CONCAT,
    NODE_CAPTURED,       /* the text of the block that a filter gets */
    NODE_NAMESPACE_ITEM, /* a target: name.attribute */
    STATEMENT_DATA,
    STATEMENT_PRINT,
    STATEMENT_SET,
    STATEMENT_SET_BLOCK,
    STATEMENT_IF,
    STATEMENT_FOR,
    STATEMENT_MACRO,
    STATEMENT_CALL,
    STATEMENT_FILTER,
    STATEMENT_WITH,
    STATEMENT_GENERATION,
    STATEMENT_BREAK,
    STATEMENT_CONTINUE
} node_kind;

typedef struct node node;

typedef struct node_list {
    node **at;
    int n, room;
} node_list;

/* A named argument, or a parameter with its default. */
typedef struct named_node {
    int symbol;
    string name;
    node *value; /* NULL: none */
} named_node;

typedef struct named_list {
    named_node *at;
    int n, room;
} named_list;

struct node {
    node_kind kind;
    int line;
    int op;     /* of NODE_BINARY and NODE_COMPARE */
    int symbol; /* of names */
    value constant;
    string name;
    node *a, *b, *c, *d;
    node_list args, body, other;
    named_list named;
    const struct chat_filter *filter; /* NULL: it is not supported */
    const struct chat_test *test;
    node *more;     /* the next comparison of a chain, or the next branch of an if */
    bool recursive; /* of for */
    bool uses_varargs, uses_kwargs;
};

struct chat_template {
    arena memory;
    vocabulary symbols;
    node_list body;
    int symbol_loop, symbol_caller, symbol_varargs, symbol_kwargs;
};

enum { TEMPLATE_DEPTH_MOST = 120, TEMPLATE_BYTES_MOST = 1 << 20 };

/* The parser. After a failure, an error is set, and the rest reads as the end. */
typedef struct parser {
    struct chat_template *t;
    const token *at;
    token end;
    int depth, loops;
    bool failed;
    bool uses_varargs, uses_kwargs;
} parser;

node *parse_fail(parser *p, const char *format, ...) IG_PRINTF(2, 3);
node *chat_node_new(parser *p, node_kind kind);
void node_add(parser *p, node_list *l, node *n);
void named_add(parser *p, named_list *l, named_node n);
int parse_symbol(parser *p, string name);
/* Is it next? Takes it if it is; fails unless it is. */
bool next_is(const parser *p, int op);
bool next_name_is(const parser *p, const char *name);
bool take(parser *p, int op);
bool take_name(parser *p, const char *name);
void chat_expect(parser *p, int op);
string chat_expect_name(parser *p);

node *chat_expression(parser *p, bool conditional);
node *parse_tuple(parser *p, bool conditional);
node *parse_primary(parser *p);
/* Filters after a value (or NODE_CAPTURED). inline_: a filter's name is next, without '|'. */
node *parse_filters(parser *p, node *of, bool inline_);
/* Parses the whole template. */
ig_status chat_parse(struct chat_template *t, const token *tokens);

/* ---- calls ---------------------------------------------------------------------------------- */

typedef struct arguments {
    const value *at;
    int n;
    const struct named_value {
        string name;
        value v;
    } * named;
    int n_named;
} arguments;

enum { PARAMETERS_MOST = 5 };

/* Filters, tests, functions and methods are rows of tables. parameters: names with blanks between, and '?' after those
 * that may be missing; NULL: any arguments, in `all`. */
typedef struct chat_filter {
    const char *name, *parameters;
    value (*run)(render *r, value in, const value *p, const arguments *all);
} chat_filter;

typedef struct chat_test {
    const char *name, *parameters;
    bool (*run)(render *r, value in, const value *p);
} chat_test;

typedef struct function {
    const char *name, *parameters;
    value (*run)(render *r, const value *p, const arguments *all);
} function;

typedef struct method_row {
    value_kind of;
    const char *name, *parameters;
    value (*run)(render *r, value self, const value *p, const arguments *all);
} method_row;

struct method {
    const method_row *row;
    value self;
};

struct macro {
    string name;
    const node *n; /* parameters in named, statements in body */
    frame *scope;  /* where it was defined */
};

/* A running loop. */
struct loop {
    list *items;
    int64_t index;
    int depth0;
    value changed; /* the last arguments of loop.changed */
    const node *n;
    frame *scope;
};

const chat_filter *filter_find(string name);
const chat_test *test_find(string name);
const function *function_find(string name);
/* NULL: values of this kind have no such method. Fails for one that Python has and this library does not. */
const method_row *method_find(render *r, value self, string name);

/* Binds arguments to parameters; false after a failure. what: for messages. */
bool arguments_bind(render *r, const char *what, const char *name, const char *parameters,
                    const arguments *all, value out[PARAMETERS_MOST]);
value filter_call(render *r, const chat_filter *f, value in, const arguments *all);
bool test_call(render *r, const chat_test *t, value in, const arguments *all);
value value_call(render *r, value callee, const arguments *all);
value macro_call(render *r, const struct macro *m, const arguments *all);
value loop_call(render *r, struct loop *l, value items);

/* Attributes: x.name and x[key]. */
value value_attribute(render *r, value of, string name);
value value_item(render *r, value of, value key);
/* An attribute by a path such as "a.b.0", or an index. */
value value_path(render *r, value of, value path);
value chat_slice(render *r, value of, const value bounds[3]);
value value_binary(render *r, int op, value a, value b);
value value_format(render *r, string format, const arguments *all); /* the operator % of strings */
bool value_in(render *r, value item, value of);

value evaluate(render *r, frame *f, const node *n);
void statements_run(render *r, frame *f, const node_list *l);
value *frame_find(frame *f, int symbol);
void frame_set(render *r, frame *f, int symbol, value v);
frame *frame_new(render *r, frame *parent);
void target_set(render *r, frame *f, const node *target, value v);

/* Adds a value as JSON, as Python's json.dumps writes it. */
typedef struct json_style {
    string item, key; /* separators */
    string indent;    /* of a level */
    bool indented, ascii, sorted;
} json_style;

void json_write(render *r, builder *b, value v, const json_style *s, int level);

/* Tables of Unicode, for characters beyond ASCII. False, with an error, if they are missing. */
bool render_unicode(render *r);

string string_lower(render *r, string s);
string string_upper(render *r, string s);
string string_capital(render *r, string s); /* str.capitalize and str.title */
string string_title(render *r, string s);
string string_strip(render *r, string s, const value *characters, bool left, bool right);
string string_replace(render *r, string s, string old, string new, int64_t most);
/* The first byte of `part` at or after `from`; SIZE_MAX: it is not there. */
size_t string_find(string s, string part, size_t from);
list *string_lines(render *r, string s, bool keep_ends);
/* Parses a number as Python's int and float do; false if it is not one. */
bool string_int(string s, int base, int64_t *out);
bool string_float(string s, double *out);

#endif
