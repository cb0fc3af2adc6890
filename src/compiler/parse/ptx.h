/* Inline PTX as CUDA C: the state that ptx.c and ptx_special.c share. */
#ifndef KERNEL_PTX_H
#define KERNEL_PTX_H

#include "compiler/parse/parser.h"

enum { PTX_LIST = 16, PTX_OPERANDS = 8, PTX_WORDS = 16 };

/* What a register, an operand of the statement or a constant holds. */
typedef enum ptx_store {
    PTX_B16,
    PTX_B32,
    PTX_B64,
    PTX_F32,
    PTX_F64,
    PTX_PRED,
    PTX_POINTER, /* an operand of 64 bits that is a pointer */
    PTX_NUMBER   /* text of a constant */
} ptx_store;

typedef struct ptx_value {
    ptx_store store;
    const char *text; /* C; NULL: "_" */
    bool negated;     /* !p */
} ptx_value;

/* An operand of an instruction: one value, a list in braces, the pair d|p, or an address in brackets. */
typedef struct ptx_operand {
    ptx_value v[PTX_LIST];
    int n;
    bool is_address;
    long long offset; /* of an address */
} ptx_operand;

/* A type of instructions. letter: u, s, b, f (float), d (double), h, H (half and pair), n, N (bfloat16), p */
typedef struct ptx_type {
    const char *name, *c;
    char letter;
    uint8_t bytes;
} ptx_type;

typedef struct ptx {
    parser *p;
    kernel_place place;
    const char *at;    /* in the text of the statement */
    const char *begin; /* of the current instruction */
    char *out;         /* C so far */
    uint32_t used, room;
    ptx_value *registers;
    const char **names; /* of registers */
    uint32_t n_registers, registers_room, names_room;
    int n_made;       /* names made so far */
    ptx_value *given; /* operands of the statement */
    uint32_t n_given;
    const char *word[PTX_WORDS]; /* of the instruction's name */
    int n_words;
    ptx_operand o[PTX_OPERANDS];
    int n;
} ptx;

_Noreturn void ptx_fail(ptx *x, const char *format, ...) IG_PRINTF(2, 3);
void ptx_add(ptx *x, const char *format, ...) IG_PRINTF(2, 3);
const ptx_type *ptx_type_of(const char *name); /* NULL: not a type */
const ptx_type *ptx_need_type(ptx *x,
                              int word); /* the word of that index; negative: from the end */
/* The i-th operand, a single value, as a C expression of the type. */
const char *ptx_read(ptx *x, int i, const ptx_type *t);
const char *ptx_read_value(ptx *x, const ptx_value *v, const ptx_type *t);
/* Writes a C expression of the type into a value. */
void ptx_write(ptx *x, const ptx_value *to, const ptx_type *t, const char *c);
/* "(const volatile float *)..." for the address in the i-th operand. */
const char *ptx_address(ptx *x, int i, const char *c, bool shared);
bool ptx_has(const ptx *x, const char *word); /* among the words of the name */
void ptx_need(ptx *x, int n);                 /* that many operands */

/* ptx_special.c: true if it knows the instruction. */
bool ptx_special(ptx *x);

#endif
