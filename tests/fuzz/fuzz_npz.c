/* npz archives: ig_tensors_load on any bytes, from a file and from a pipe, which must agree; what was
 * loaded must survive ig_tensors_save_npz and ig_tensors_load. The decompressor also gets the bytes
 * directly, as no fuzzer guesses a checksum.
 */
#include <stdlib.h>

#include "base/inflate.h"
#include "support/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_file(const uint8_t *data, size_t size)
{
    static struct scratch in, out;
    if (!in.path[0]) {
        in = scratch_open();
        out = scratch_open();
    }
    scratch_fill(&in, data, size);
    ig_tensors *t = ig_tensors_load(in.path);
    if (!t)
        scratch_error();
    if (size <= SCRATCH_PIPE_BYTES) {
        ig_tensors *piped = scratch_load_piped(data, size);
        if (!piped)
            scratch_error();
        scratch_check(!t == !piped, "file and pipe differ");
        if (t)
            scratch_check_tensors(t, piped);
        ig_tensors_free(piped);
    }
    if (t) {
        scratch_check(ig_tensors_save_npz(t, out.path) == IG_OK, "not saved");
        ig_tensors *again = ig_tensors_load(out.path);
        scratch_check_tensors(t, again);
        ig_tensors_free(again);
    }
    ig_tensors_free(t);
}

/* The output has exactly the size that is asked for, so a sanitizer sees a byte too many. */
static void try_inflate(const uint8_t *data, size_t size)
{
    static const size_t sizes[] = {0, 1, 300, 70000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *out = malloc(sizes[i] ? sizes[i] : 1);
        const ig_status status = inflate(data, size, out, sizes[i]);
        scratch_check(status == IG_OK || status == IG_ERR_FORMAT, "inflate");
        free(out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ig_scope_begin();
    if (size > 4 && data[0] == 'P' && data[1] == 'K')
        try_file(data, size);
    try_inflate(data, size);
    ig_scope_end();
    return 0;
}
