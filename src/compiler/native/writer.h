/* Writing C for a plan: shared declarations of the printer's files. */
#ifndef NATIVE_WRITER_H
#define NATIVE_WRITER_H

#include "base/text.h"
#include "compiler/native/plan.h"

/* How instructions run where the writer is. */
typedef enum native_mode {
    MODE_BLOCK, /* once for the block */
    MODE_LANE,  /* for one lane, with plain control flow */
    MODE_FULL,  /* for a group whose lanes are all active */
    MODE_MASKED /* for the lanes of a group that m_0, m_1, ... hold; at least one */
} native_mode;

enum { BY_INDEX_KINDS = 4, BY_INDEX_TYPES = 10 };

typedef struct writer {
    const native_plan *p;
    const lane_code *c;
    text t;
    native_text *out;
    int call_room;
    native_mode mode;
    int region;     /* REGION_NONE: none */
    int labels;     /* that were given */
    int32_t *label; /* by opening instruction: the number in its labels */
    int32_t *again; /* of a loop: the number in the label of its next iteration */
    bool unrolled;  /* the tests of the innermost loop are not written */
    bool by_index[BY_INDEX_TYPES][BY_INDEX_KINDS]; /* which BY_INDEX the text uses */
    bool failed;
} writer;

#define SAY(w, ...) text_add(&(w)->t, __VA_ARGS__)

/* ---- value.c ---- */

/* The C type of a value, of its vector, of an element in memory or in arrays, and of a value in a frame. */
const char *write_type(int dtype);
const char *write_vector(int dtype);
const char *write_element(int dtype);
const char *write_kept(int dtype);

/* True if register r is held as a scalar where the writer is; and if that is the value of all lanes. */
bool write_is_scalar(const writer *w, int32_t r);
bool write_is_one(const writer *w, int32_t r);
/* Writes the value of a register, or its first lane's; and unit u of its vector. */
void write_scalar(writer *w, int32_t r);
void write_lanes(writer *w, int32_t r, int unit);
/* Begins and ends the assignment of a vector expression to unit u of a register. */
void write_assign(writer *w, const code_inst *i, int unit);
void write_assigned(writer *w, const code_inst *i, int unit);
/* Writes arithmetic. */
void write_value(writer *w, const code_inst *i);
/* Declares array `name` of all lanes of a group with the lanes of register r, as elements of dtype; and sets a register
 * from such an array. CODE_NONE declares nothing. */
void write_array(writer *w, const char *name, int32_t r, int dtype);
void write_from_array(writer *w, const code_inst *i, const char *name, int dtype);
/* The bits of the active lanes of a unit. */
void write_bits(writer *w, int unit);
/* The number of a loop in native_block.loop. */
int write_call(writer *w, bool is_row, int row, int dtype);

/* ---- memory.c, warp.c ---- */

void write_address(writer *w, const code_inst *i);
void write_load(writer *w, const code_inst *i);
void write_store(writer *w, const code_inst *i);
void write_atomic(writer *w, const code_inst *i);
/* Whether BY_INDEX is used, as text. */
void write_index_functions(const writer *w, text *to);
void write_warp(writer *w, const code_inst *i);

/* ---- control.c ---- */

/* Writes the instructions [from, to), in the writer's mode. */
void write_list(writer *w, int from, int to);
/* Writes an instruction that is not control flow. */
void write_instruction(writer *w, int k);

/* ---- region.c ---- */

void write_region(writer *w, int region);
void write_barrier(writer *w, int k);
/* Declares the registers that the whole block uses. */
void write_block_registers(writer *w);

#endif
