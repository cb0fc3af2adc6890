/* Lane code as C: one function that runs a block of a given shape.
 *
 * The code between two barriers is a region. A region is a loop over groups of lanes: its registers are vectors of
 * `width` lanes, and masks hold the active lanes where control flow diverges. A register that has one value for
 * a group is a scalar; one that grows by a constant from lane to lane is a scalar, too. A region whose loops and
 * addresses depend on the lane runs lane by lane instead, with plain control flow. Registers that live across
 * barriers are in a frame, as arrays over the lanes of the block. The results have the bits of the lane machine. */
#ifndef COMPILER_NATIVE_H
#define COMPILER_NATIVE_H

#include "compiler/code.h"
#include "compiler/native/block.h"

#include <stddef.h>

/* A row that the text calls as a loop over lanes of dtype: of ops.def, or of code.def. */
typedef struct native_call {
    bool is_row;
    uint16_t row;
    uint8_t dtype;
} native_call;

typedef struct native_text {
    char *text;
    native_call *call; /* in the order of native_block.loop */
    int n_call;
    size_t frame_bytes;
} native_text;

/* Prints the kernel for blocks of this shape. width: lanes of f32 in a vector register of the target. Returns
 * IG_ERR_UNSUPPORTED, with the reason in *why, if only the lane machine can run it. */
ig_status native_print(const lane_code *c, const uint32_t block[3], int width, native_text *out,
                       const char **why);
void native_text_free(native_text *t);

/* The name of the function in the text. */
#define NATIVE_ENTRY "ig_native_block"

#endif
