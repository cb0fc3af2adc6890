/* ig_tensors_load on any bytes: from a file and from a pipe, which must agree; and what was loaded
 * must survive ig_tensors_save and ig_tensors_load. The bytes are given once as they are, and once
 * as a header and some data, with the length before it that makes it one: no fuzzer should have to
 * guess that.
 */
#include <string.h>
#include <unistd.h>

#include "support/scratch.h"

enum { MOST = 8 * 1024, SPLIT = 0 /* the byte that parts a header from its data */ };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static ig_tensors *load_piped(const uint8_t *data, size_t size)
{
    const struct scratch piped = scratch_pipe(data, size);
    ig_tensors *t = ig_tensors_load(piped.path);
    close(piped.fd);
    return t;
}

static void check_same(const ig_tensors *a, const ig_tensors *b)
{
    scratch_check(a && b && ig_tensors_count(a) == ig_tensors_count(b),
                  "numbers of tensors differ");
    for (int i = 0; i < ig_tensors_count(a); i++) {
        const char *name = ig_tensors_name(a, i);
        scratch_check(strcmp(name, ig_tensors_name(b, i)) == 0, "names or their order differ");
        scratch_check_same(ig_tensors_get(a, name), ig_tensors_get(b, name));
    }
}

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
        ig_tensors *piped = load_piped(data, size);
        const ig_status piped_code = piped ? IG_OK : scratch_error();
        /* A file that is cut short is known to be so before the limit is asked; a pipe is not. */
        scratch_check(piped_code == code || (code == IG_ERR_FORMAT && piped_code == IG_ERR_MEMORY),
                      "file and pipe differ");
        if (t && piped)
            check_same(t, piped);
        ig_tensors_free(piped);
    }
    if (t) {
        scratch_check(ig_tensors_save(t, out.path) == IG_OK, "not saved");
        ig_tensors *again = ig_tensors_load(out.path);
        check_same(t, again);
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
