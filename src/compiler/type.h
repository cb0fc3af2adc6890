/* Types of CUDA C, with the sizes and offsets that CUDA gives them on 64-bit machines.
 *
 * Types are interned: equal types are one pointer. Types that C distinguishes but a machine does not (char and
 * signed char, long and long long, an enum and its integer) differ in `word` only, so code generators use
 * `kind`. Pointers do not carry address spaces: expressions and variables do (tree.h). */
#ifndef KERNEL_TYPE_H
#define KERNEL_TYPE_H

#include "compiler/pp/token.h"

typedef enum type_kind {
    TYPE_VOID,
    TYPE_BOOL, /* 1 byte, 0 or 1 */
    TYPE_I8,
    TYPE_U8,
    TYPE_I16,
    TYPE_U16,
    TYPE_I32,
    TYPE_U32,
    TYPE_I64,
    TYPE_U64,
    TYPE_F16,
    TYPE_BF16,
    TYPE_F32,
    TYPE_F64,
    TYPE_POINTER, /* 8 bytes; nullptr's own type is void * */
    TYPE_ARRAY,
    TYPE_STRUCT, /* unions, float4, half2, dim3 and wmma fragments, too */
    /* The front end's own: never in a checked tree. */
    TYPE_REFERENCE,
    TYPE_FUNCTION,
    TYPE_AUTO
} type_kind;

/* The source's name of a basic type, in the order of C's ranks. */
typedef enum type_word {
    WORD_NONE, /* not a basic type */
    WORD_VOID,
    WORD_BOOL,
    WORD_CHAR, /* signed, as in CUDA */
    WORD_SCHAR,
    WORD_UCHAR,
    WORD_SHORT,
    WORD_USHORT,
    WORD_INT,
    WORD_UINT,
    WORD_LONG,
    WORD_ULONG,
    WORD_LLONG,
    WORD_ULLONG,
    WORD_HALF,
    WORD_BF16,
    WORD_FLOAT,
    WORD_DOUBLE,
    WORD_NULL,      /* of nullptr */
    WORD_BLOCK,     /* cooperative groups are masks of 32 bits, */
    WORD_TILE,      /* count: threads */
    WORD_COALESCED, /* each a distinct type */
    WORD_GRID,
    WORD_GROUP, /* thread_group: a parameter or variable of it has the type of its initializer */
    WORDS
} type_word;

enum { TYPE_CONST = 1, TYPE_VOLATILE = 2 };

typedef struct kernel_type {
    uint8_t kind;   /* a type_kind */
    uint8_t word;   /* a type_word */
    uint8_t quals;  /* TYPE_CONST | TYPE_VOLATILE */
    uint8_t parent; /* of a tile of a tile: the outer tile's threads; of a tile of a block: 0 */
    uint32_t align;
    uint64_t size;                   /* bytes */
    uint64_t count;                  /* of an array: elements; 0 if the brackets are empty */
    const struct kernel_type *of;    /* the type that a pointer points to, or an array's element */
    const struct kernel_type *plain; /* the same without qualifiers; of a plain type, itself */
    struct kernel_struct *record;    /* of a struct */
    const struct kernel_enum *enumeration; /* of an enum, or NULL */
    const struct kernel_type **parameters; /* of a function: `count` of them; `of` is its result */
    /* For the table of types: */
    const struct kernel_type *qualified[4], *pointer, *reference, *arrays;
    const struct kernel_type *next;
} kernel_type;

typedef struct kernel_member {
    const kernel_name *name; /* NULL: anonymous, and its members are visible through it */
    const kernel_type *type;
    uint64_t offset; /* bytes */
    kernel_place place;
    bool is_reference; /* of the front end: in the tree it is a pointer */
    uint8_t
        bits; /* of a bit-field: how many, from bit `bit` of the `unit` bytes at the offset; else 0. It has no
                        * address, and is in memory with its struct */
    uint8_t bit, unit;
} kernel_member;

typedef enum kernel_fragment_use {
    FRAGMENT_NONE,
    FRAGMENT_A,
    FRAGMENT_B,
    FRAGMENT_ACCUMULATOR
} kernel_fragment_use;

/* A struct. Its members are known when `complete`; types in a checked tree are. */
typedef struct kernel_struct {
    const char *name; /* unique in its tree: "particle", "pair_float_4"; "float4" for CUDA's own */
    const kernel_name *source_name; /* NULL if the source gives no name */
    kernel_place place;
    bool is_union, complete, failed;
    bool has_methods;   /* of the front end: the struct has functions, known or not */
    bool not_pod;       /* as a base, it leaves its tail padding to the derived struct's members */
    uint64_t data_size; /* without that padding */
    uint64_t
        bits; /* of the front end: the end of the bit-field that was placed last, in bits; else 0 */
    uint8_t n_vector; /* 1 to 4: CUDA's own vector of that many `element`s, named x y z w; else 0 */
    uint8_t fragment; /* a kernel_fragment_use: a wmma fragment, whose one member x is this lane's
                           share of the elements, in an order that the back end chooses */
    bool column_major;          /* of a fragment A or B */
    uint16_t m, n, k;           /* of a fragment */
    const kernel_type *element; /* of a vector or a fragment */
    kernel_member *members;
    uint32_t n_members, room;
    const kernel_type *type;
    struct kernel_syntax *syntax; /* of the front end: where its body is */
    struct kernel_struct *next;   /* all of them, in the order in which they were completed */
} kernel_struct;

/* For the front end; a tree has only the integers. */
typedef struct kernel_enum {
    const kernel_name *name;
    bool scoped;
    const kernel_type *type;
} kernel_enum;

/* All types of one tree. */
typedef struct kernel_types {
    kernel_arena *arena;
    kernel_names *names;
    const kernel_type *basic[WORDS];
    const kernel_type *vectors[WORDS][5]; /* [word of the element][count] */
    const kernel_type *tiles[6][7];       /* [log2 of the threads][log2 of the parent's, or 6] */
    const kernel_type *dim3, *automatic;
    const kernel_type *functions, *fragments; /* lists */
    kernel_struct *first, **last; /* complete structs, each after the structs that it contains */
} kernel_types;

void kernel_types_begin(kernel_types *t, kernel_arena *arena, kernel_names *names);

const kernel_type *type_pointer(kernel_types *t, const kernel_type *to);
const kernel_type *type_reference(kernel_types *t, const kernel_type *to);
const kernel_type *type_array(kernel_types *t, const kernel_type *of, uint64_t count);
/* Adds qualifiers; for an array, to its elements. */
const kernel_type *type_qualify(kernel_types *t, const kernel_type *type, unsigned quals);
/* float4 and so on: element is a word, count 1 to 4. */
const kernel_type *type_vector(kernel_types *t, type_word element, unsigned count);
const kernel_type *type_tile(kernel_types *t, unsigned threads, unsigned parent);
const kernel_type *type_function(kernel_types *t, const kernel_type *result,
                                 const kernel_type *const *parameters, uint32_t count);
/* The type of a new struct or enum. */
kernel_struct *type_struct(kernel_types *t, const kernel_name *name, kernel_place place);
const kernel_type *type_enum(kernel_types *t, const kernel_name *name, const kernel_type *integer,
                             bool scoped);

/* Adds a member after the others (NULL name: anonymous), and ends the struct. align_least is the alignment of
 * __align__, or 0. */
void type_member_add(kernel_types *t, kernel_struct *s, const kernel_name *name,
                     const kernel_type *type, kernel_place place);
void type_struct_end(kernel_types *t, kernel_struct *s, uint32_t align_least);
/* Adds a member at an offset. The next member may begin `bytes` after it: fewer than its size if its tail
 * padding is free. */
void type_member_place(kernel_types *t, kernel_struct *s, const kernel_name *name,
                       const kernel_type *type, kernel_place place, uint64_t offset,
                       uint64_t bytes);
/* Makes the struct large enough for an object of the type at an offset. */
void type_struct_cover(kernel_struct *s, const kernel_type *type, uint64_t offset);
/* Finds a member by name, also through anonymous members. Returns how many members lead to it (at most 8,
 * written to path, outermost first), or 0 if there is none. */
int type_member_find(const kernel_struct *s, const kernel_name *name, const kernel_member *path[8]);

static inline bool type_is_integer(const kernel_type *t)
{
    return t->kind >= TYPE_BOOL && t->kind <= TYPE_U64;
}
static inline bool type_is_float(const kernel_type *t)
{
    return t->kind >= TYPE_F16 && t->kind <= TYPE_F64;
}
static inline bool type_is_arithmetic(const kernel_type *t)
{
    return t->kind >= TYPE_BOOL && t->kind <= TYPE_F64;
}
static inline bool type_is_pointer(const kernel_type *t) { return t->kind == TYPE_POINTER; }
static inline bool type_is_scalar(const kernel_type *t)
{
    return t->kind >= TYPE_BOOL && t->kind <= TYPE_POINTER;
}
static inline bool type_is_signed(const kernel_type *t)
{
    return t->kind >= TYPE_I8 && t->kind <= TYPE_I64 && (t->kind - TYPE_I8) % 2 == 0;
}

/* As the source would write it: "const float *", "int[4][8]"; truncated to the room. */
void type_spell(const kernel_type *type, char *into, size_t room);
/* The same in the arena. */
const char *type_text(kernel_types *t, const kernel_type *type);

#endif
