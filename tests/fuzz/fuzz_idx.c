/* ig_load_idx on any bytes: from a file, from a pipe and from memory, which must agree. */
#include <unistd.h>

#include "support/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Another way to the same bytes came to the same end. */
static void check_agrees(ig_array *x, ig_status code, ig_array *other, const char *what)
{
    const ig_status other_code = other ? IG_OK : scratch_error();
    scratch_check(other_code == code || (code == IG_ERR_FORMAT && other_code == IG_ERR_MEMORY),
                  what);
    if (x && other)
        scratch_check_same(x, other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct scratch in;
    if (!in.path[0])
        in = scratch_open();
    ig_scope_begin();
    scratch_fill(&in, data, size);
    ig_array *x = ig_load_idx(in.path);
    const ig_status code = x ? IG_OK : scratch_error();
    if (data)
        check_agrees(x, code, ig_idx_from_memory(data, size), "file and memory differ");
    if (size <= SCRATCH_PIPE_BYTES) {
        const struct scratch piped = scratch_pipe(data, size);
        check_agrees(x, code, ig_load_idx(piped.path), "file and pipe differ");
        close(piped.fd);
    }
    ig_scope_end();
    return 0;
}
