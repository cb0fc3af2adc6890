/* Files for fuzz targets. */
#include "support/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif
#include <unistd.h>

void scratch_check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz: %s\n", what);
        abort();
    }
}

struct scratch scratch_open(void)
{
    struct scratch scratch;
#ifdef __linux__
    scratch.fd = memfd_create("fuzz", MFD_CLOEXEC);
    snprintf(scratch.path, sizeof scratch.path, "/proc/self/fd/%d", scratch.fd);
#else
    snprintf(scratch.path, sizeof scratch.path, "/tmp/fuzz-XXXXXX");
    scratch.fd = mkstemp(scratch.path);
#endif
    scratch_check(scratch.fd >= 0, "no scratch file");
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

void scratch_fill(const struct scratch *scratch, const uint8_t *data, size_t size)
{
    const bool empty = ftruncate(scratch->fd, 0) == 0 && lseek(scratch->fd, 0, SEEK_SET) == 0;
    scratch_check(empty && write_all(scratch->fd, data, size), "no room");
}

struct scratch scratch_pipe(const uint8_t *data, size_t size)
{
    int ends[2];
    struct scratch scratch;
    scratch_check(pipe(ends) == 0 && write_all(ends[1], data, size), "no pipe");
    close(ends[1]);
    scratch.fd = ends[0];
    snprintf(scratch.path, sizeof scratch.path, "/dev/fd/%d", ends[0]);
    return scratch;
}

void scratch_check_same(ig_array *x, ig_array *y)
{
    scratch_check(x && y, "an array is not there");
    scratch_check(ig_dtype_of(x) == ig_dtype_of(y) && ig_ndim(x) == ig_ndim(y),
                  "dtype or axes differ");
    for (int i = 0; i < ig_ndim(x); i++)
        scratch_check(ig_dim(x, i) == ig_dim(y, i), "lengths differ");
    const size_t bytes = (size_t)ig_size(x) * ig_dtype_bytes(ig_dtype_of(x));
    if (bytes)
        scratch_check(memcmp(ig_data(x), ig_data(y), bytes) == 0, "elements differ");
}

ig_status scratch_error(void)
{
    ig_status code = IG_OK;
    const char *text = ig_error(&code);
    scratch_check(text && !strchr(text, '\n') && strstr(text, "; "),
                  "no error, or not one line of it");
    return code;
}

ig_tensors *scratch_load_piped(const uint8_t *data, size_t size)
{
    const struct scratch piped = scratch_pipe(data, size);
    ig_tensors *t = ig_tensors_load(piped.path);
    close(piped.fd);
    return t;
}

void scratch_check_tensors(const ig_tensors *a, const ig_tensors *b)
{
    scratch_check(a && b && ig_tensors_count(a) == ig_tensors_count(b), "numbers of arrays differ");
    for (int i = 0; i < ig_tensors_count(a); i++) {
        const char *name = ig_tensors_name(a, i);
        scratch_check(strcmp(name, ig_tensors_name(b, i)) == 0, "names or their order differ");
        scratch_check_same(ig_tensors_get(a, name), ig_tensors_get(b, name));
    }
}
