/* ig_load on any bytes: from a file and from a pipe, which must agree; and what was loaded must
 * survive ig_save and ig_load. Longer: make fuzz.
 */
#include <unistd.h>

#include "support/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static ig_array *load_piped(const uint8_t *data, size_t size)
{
    const struct scratch piped = scratch_pipe(data, size);
    ig_array *x = ig_load(piped.path);
    close(piped.fd);
    return x;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct scratch in, out;
    if (!in.path[0]) {
        in = scratch_open();
        out = scratch_open();
    }
    ig_scope_begin();
    scratch_fill(&in, data, size);
    ig_array *x = ig_load(in.path);
    const ig_status code = x ? IG_OK : scratch_error();
    if (size <= SCRATCH_PIPE_BYTES) {
        ig_array *piped = load_piped(data, size);
        const ig_status piped_code = piped ? IG_OK : scratch_error();
        /* A file that is cut short is known to be so before the limit is asked; a pipe is not. */
        scratch_check(piped_code == code || (code == IG_ERR_FORMAT && piped_code == IG_ERR_MEMORY),
                      "file and pipe differ");
        if (x && piped)
            scratch_check_same(x, piped);
    }
    if (x) {
        scratch_check(ig_save(out.path, x) == IG_OK, "not saved");
        scratch_check_same(x, ig_load(out.path));
    }
    ig_scope_end();
    return 0;
}
