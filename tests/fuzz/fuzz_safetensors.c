/* ig_tensors_load on any bytes: from a file and from a pipe, which must agree; and what was loaded
 * must survive ig_tensors_save and ig_tensors_load. The bytes are given once as they are, and once
 * as a header and some data, with the length before it that makes it one: no fuzzer should have to
 * guess that.
 */
#include <string.h>

#include "support/scratch.h"

enum { MOST = 8 * 1024, SPLIT = 0 /* the byte that parts a header from its data */ };

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
    const ig_status code = t ? IG_OK : scratch_error();
    if (size <= SCRATCH_PIPE_BYTES) {
        ig_tensors *piped = scratch_load_piped(data, size);
        const ig_status piped_code = piped ? IG_OK : scratch_error();
        /* A file that is cut short is known to be so before the limit is asked; a pipe is not. */
        scratch_check(piped_code == code || (code == IG_ERR_FORMAT && piped_code == IG_ERR_MEMORY),
                      "file and pipe differ");
        if (t && piped)
            scratch_check_tensors(t, piped);
        ig_tensors_free(piped);
    }
    if (t) {
        scratch_check(ig_tensors_save(t, out.path) == IG_OK, "not saved");
        ig_tensors *again = ig_tensors_load(out.path);
        scratch_check_tensors(t, again);
        ig_tensors_free(again);
    }
    ig_tensors_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t file[8 + MOST];
    ig_scope_begin();
    try_file(data, size);
    if (size && size <= MOST) {
        const uint8_t *split = memchr(data, SPLIT, size);
        const size_t header = split ? (size_t)(split - data) : size;
        const size_t rest = split ? size - header - 1 : 0;
        for (int i = 0; i < 8; i++)
            file[i] = (uint8_t)((uint64_t)header >> 8 * i);
        memcpy(file + 8, data, header);
        if (rest)
            memcpy(file + 8 + header, split + 1, rest);
        try_file(file, 8 + header + rest);
    }
    ig_scope_end();
    return 0;
}
