/* Text tables from any bytes. The first byte chooses the suffix. What is loaded is saved and loaded again, and must be the
 * same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ingot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz_table: %s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const suffixes[] = {"csv", "tsv", "txt"};
    char path[64];
    if (size == 0)
        return 0;
    snprintf(path, sizeof path, "/tmp/ingot-fuzz-%ld.%s", (long)getpid(), suffixes[data[0] % 3]);
    FILE *file = fopen(path, "wb");
    check(file && fwrite(data + 1, 1, size - 1, file) == size - 1, "a file cannot be written");
    fclose(file);
    ig_scope_begin();
    ig_array *x = ig_load(path);
    check(x || ig_error(NULL), "it failed without an error");
    if (x) {
        check(ig_save(path, x) == IG_OK, "it cannot be saved");
        ig_array *y = ig_load(path);
        check(y && ig_size(y) == ig_size(x), "it cannot be loaded again");
        const size_t bytes = (size_t)ig_size(x) * 8;
        if (ig_dtype_of(y) == ig_dtype_of(x)) {
            const uint64_t *a = ig_data(x), *b = ig_data(y);
            const double *f = ig_data(x);
            for (size_t i = 0; i < bytes / 8; i++)
                check(a[i] == b[i] || (ig_dtype_of(x) == IG_F64 && f[i] != f[i]),
                      "a number has changed");
        }
    }
    ig_scope_end();
    unlink(path);
    return 0;
}
