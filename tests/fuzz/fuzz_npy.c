/* ig_load on any bytes: from a file and from a pipe, which must agree; and what was loaded must
 * survive ig_save and ig_load. Longer: make fuzz.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/mman.h>
#endif
#include <unistd.h>

#include "ingot.h"

enum { PIPE_MAX_BYTES = 16 * 1024 }; /* what every pipe holds without a reader */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz_npy: %s\n", what);
        abort();
    }
}

struct scratch {
    int fd;
    char path[64];
};

/* A file without a name where the system has that, made once. */
static struct scratch scratch_open(void)
{
    struct scratch scratch;
#ifdef __linux__
    scratch.fd = memfd_create("fuzz_npy", MFD_CLOEXEC);
    snprintf(scratch.path, sizeof scratch.path, "/proc/self/fd/%d", scratch.fd);
#else
    snprintf(scratch.path, sizeof scratch.path, "/tmp/fuzz_npy-XXXXXX");
    scratch.fd = mkstemp(scratch.path);
#endif
    check(scratch.fd >= 0, "no scratch file");
    return scratch;
}

static bool write_all(int fd, const uint8_t *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n = write(fd, data + done, size - done);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static ig_array *load_piped(const uint8_t *data, size_t size)
{
    int ends[2];
    char path[64];
    check(pipe(ends) == 0 && write_all(ends[1], data, size), "no pipe");
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    ig_array *x = ig_load(path);
    close(ends[0]);
    return x;
}

static void check_same(ig_array *x, ig_array *y)
{
    check(ig_dtype_of(x) == ig_dtype_of(y) && ig_ndim(x) == ig_ndim(y), "dtype or axes differ");
    for (int i = 0; i < ig_ndim(x); i++)
        check(ig_dim(x, i) == ig_dim(y, i), "lengths differ");
    const size_t bytes = (size_t)ig_size(x) * ig_dtype_bytes(ig_dtype_of(x));
    if (bytes)
        check(memcmp(ig_data(x), ig_data(y), bytes) == 0, "elements differ");
}

/* The code of the error that waits; its text is one line. */
static ig_status error_take(void)
{
    ig_status code = IG_OK;
    const char *text = ig_error(&code);
    check(text && !strchr(text, '\n') && strstr(text, "; "), "no error, or not one line of it");
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct scratch in, out;
    if (!in.path[0]) {
        in = scratch_open();
        out = scratch_open();
    }
    ig_scope_begin();
    check(ftruncate(in.fd, 0) == 0 && lseek(in.fd, 0, SEEK_SET) == 0, "no empty file");
    check(write_all(in.fd, data, size), "no room");
    ig_array *x = ig_load(in.path);
    const ig_status code = x ? IG_OK : error_take();
    if (size <= PIPE_MAX_BYTES) {
        ig_array *piped = load_piped(data, size);
        const ig_status piped_code = piped ? IG_OK : error_take();
        /* A file that is cut short is known to be so before the limit is asked; a pipe is not. */
        check(piped_code == code || (code == IG_ERR_FORMAT && piped_code == IG_ERR_MEMORY),
              "file and pipe differ");
        if (x && piped)
            check_same(x, piped);
    }
    if (x) {
        check(ig_save(out.path, x) == IG_OK, "not saved");
        ig_array *again = ig_load(out.path);
        check(again != NULL, "not loaded again");
        check_same(x, again);
    }
    ig_scope_end();
    return 0;
}
