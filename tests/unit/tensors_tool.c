/* A tool for the Python tests of ig_tensors; not a test by itself.
 *
 *   tensors_tool copy IN OUT    loads and saves; as npz if OUT ends so, else as safetensors
 *   tensors_tool check FILE...  says for each file, on a line, "ok" or why it does not load
 *   tensors_tool loop FILE      loads what is at FILE, checks that it is one of its own versions,
 *                               whole, and says which; then saves the versions that follow until it
 *                               is killed
 *
 * Version v has a text "version", and tensors whose sizes and elements all follow from v.
 * */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ingot.h"

enum { TENSORS = 5, LONGEST = 40000 };

static int say_error(void)
{
    printf("%s\n", ig_error(NULL));
    return 1;
}

static int copy(const char *from, const char *to)
{
    const char *dot = strrchr(to, '.');
    ig_status (*save)(const ig_tensors *, const char *) =
        dot && strcmp(dot, ".npz") == 0 ? ig_tensors_save_npz : ig_tensors_save;
    ig_tensors *t = ig_tensors_load(from);
    const int code = t && save(t, to) == IG_OK ? 0 : say_error();
    ig_tensors_free(t);
    return code;
}

static int check(char **paths)
{
    for (; *paths; paths++) {
        ig_tensors *t = ig_tensors_load(*paths);
        printf("%s\n", t ? "ok" : ig_error(NULL));
        ig_tensors_free(t);
    }
    return 0;
}

/* Element k of tensor i of version v, and the number of elements. */
static uint32_t element(uint64_t v, int i, int64_t k)
{
    return (uint32_t)(v * 2654435761u + (uint64_t)i * 40503u + (uint64_t)k);
}

static int64_t length(uint64_t v, int i)
{
    return (int64_t)((v * 7919 + (uint64_t)i * 977) % LONGEST);
}

static ig_tensors *version_make(uint64_t v)
{
    static uint32_t data[LONGEST];
    char name[32];
    ig_tensors *t = ig_tensors_new();
    for (int i = 0; t && i < TENSORS; i++) {
        for (int64_t k = 0; k < length(v, i); k++)
            data[k] = element(v, i, k);
        snprintf(name, sizeof name, "layer.%d", i);
        ig_tensors_put(t, name, ig_from_data(data, IG_SHAPE(length(v, i)), IG_U32));
    }
    snprintf(name, sizeof name, "%" PRIu64, v);
    ig_tensors_put_text(t, "version", name);
    return t;
}

static bool version_is_whole(const ig_tensors *t, uint64_t v)
{
    char name[32];
    for (int i = 0; i < TENSORS; i++) {
        snprintf(name, sizeof name, "layer.%d", i);
        ig_array *x = ig_tensors_get(t, name);
        if (!x || ig_dtype_of(x) != IG_U32 || ig_ndim(x) != 1 || ig_dim(x, 0) != length(v, i))
            return false;
        const uint32_t *data = ig_data(x);
        for (int64_t k = 0; k < length(v, i); k++)
            if (data[k] != element(v, i, k))
                return false;
    }
    return ig_tensors_count(t) == TENSORS;
}

static int loop(const char *path)
{
    uint64_t version = 0;
    if (access(path, F_OK) == 0) {
        ig_tensors *t = ig_tensors_load(path);
        const char *text = ig_tensors_text(t, "version");
        if (!t)
            return say_error();
        version = text ? strtoull(text, NULL, 10) : 0;
        if (!version_is_whole(t, version)) {
            printf("version %" PRIu64 " is not whole\n", version);
            return 1;
        }
        ig_tensors_free(t);
    }
    printf("version %" PRIu64 "\n", version);
    fflush(stdout);
    for (;;) {
        ig_scope_begin();
        ig_tensors *t = version_make(++version);
        if (!t || ig_tensors_save(t, path) != IG_OK)
            return say_error();
        ig_tensors_free(t);
        ig_scope_end();
    }
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "copy") == 0)
        return copy(argv[2], argv[3]);
    if (argc > 2 && strcmp(argv[1], "check") == 0)
        return check(argv + 2);
    if (argc == 3 && strcmp(argv[1], "loop") == 0)
        return loop(argv[2]);
    fprintf(stderr, "usage: tensors_tool copy IN OUT | check FILE... | loop FILE\n");
    return 2;
}
