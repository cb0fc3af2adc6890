/* A tool for the Python tests of stores; not a test by itself. Lists of numbers are "3,4"; "-" is an empty one.
 *
 *   store_tool create PATH DTYPE SHAPE CHUNK SHARD CODECS FILL   creates an array, and writes the bytes of standard input
 *   store_tool name PATH DTYPE SHAPE DIMENSIONS ATTRIBUTES GROUP creates an array with names of its axes (JSON), and a group
 *                                                                unless GROUP is empty
 *   store_tool write PATH START SIZE                             writes a box from standard input
 *   store_tool read PATH START SIZE                              reads a box to standard output
 *   store_tool info PATH                                         says dtype, shape, chunk, shard and attributes
 *   store_tool group PATH                                        says the members of a group
 *   store_tool consolidate PATH
 *   store_tool time PATH                                         reads the whole array for each line of standard input,
 *                                                                and says the milliseconds
 *   store_tool loop PATH                                         checks what is at PATH, then writes versions of it until
 *                                                                it is killed
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ingot.h"

typedef struct list {
    int64_t v[IG_MAX_NDIM];
    int n;
} list;

static int say_error(void)
{
    fprintf(stderr, "%s\n", ig_error(NULL));
    return 1;
}

static list list_read(const char *text)
{
    list l = {.n = 0};
    for (char *end; *text && *text != '-' && l.n < IG_MAX_NDIM; text = *end ? end + 1 : end)
        l.v[l.n++] = strtoll(text, &end, 10);
    return l;
}

static ig_ints ints(const list *l) { return (ig_ints){l->v, l->n}; }

static size_t size_of(const ig_store *s, const list *size)
{
    size_t bytes = ig_dtype_bytes(ig_store_dtype(s));
    for (int i = 0; i < size->n; i++)
        bytes *= (size_t)size->v[i];
    return bytes;
}

static int write_box(ig_store *s, const list *start, const list *size)
{
    const size_t bytes = size_of(s, size);
    void *data = malloc(bytes + 1);
    const size_t got = data ? fread(data, 1, bytes, stdin) : 0;
    const int code =
        got == bytes && ig_store_write(s, ints(start), ints(size), data) == IG_OK ? 0 : say_error();
    free(data);
    return code;
}

static int create(char **a)
{
    const list shape = list_read(a[2]), chunk = list_read(a[3]), shard = list_read(a[4]);
    const list zero = {.n = shape.n};
    const double fill = strtod(a[6], NULL);
    const ig_store_options o = {.size = sizeof o,
                                .chunk = chunk.n ? ints(&chunk) : IG_NONE,
                                .shard = shard.n ? ints(&shard) : IG_NONE,
                                .codecs = a[5],
                                .fill = &fill,
                                .existing = IG_STORE_REPLACE};
    ig_store *s = ig_store_create(a[0], ints(&shape), ig_dtype_parse(a[1]), &o);
    if (!s)
        return say_error();
    const int code = write_box(s, &zero, &shape);
    ig_store_close(s);
    return code;
}

/* Creates an array with names of its axes and attributes, in a group that is made before it. */
static int name_axes(char **a)
{
    const list shape = list_read(a[2]), zero = {.n = shape.n};
    const ig_store_options o = {.size = sizeof o, .dimensions = a[3], .attributes = a[4]};
    if (*a[5] && ig_group_create(a[5], NULL) != IG_OK)
        return say_error();
    ig_store *s = ig_store_create(a[0], ints(&shape), ig_dtype_parse(a[1]), &o);
    const int code = s ? write_box(s, &zero, &shape) : say_error();
    ig_store_close(s);
    return code;
}

static int write_at(char **a)
{
    const list start = list_read(a[1]), size = list_read(a[2]);
    ig_store *s = ig_store_open(a[0]);
    const int code = s ? write_box(s, &start, &size) : say_error();
    ig_store_close(s);
    return code;
}

static int read_at(char **a)
{
    const list start = list_read(a[1]), size = list_read(a[2]);
    ig_store *s = ig_store_open(a[0]);
    void *data = s ? malloc(size_of(s, &size) + 1) : NULL;
    const bool read = data && ig_store_read(s, ints(&start), ints(&size), data) == IG_OK;
    const int code =
        read ? fwrite(data, 1, size_of(s, &size), stdout) != size_of(s, &size) : say_error();
    free(data);
    ig_store_close(s);
    return code;
}

static void say_list(ig_ints l)
{
    printf(" ");
    for (int i = 0; i < l.n; i++)
        printf("%s%" PRId64, i ? "," : "", l.v[i]);
    if (!l.n)
        printf("-");
}

static int info(char **a)
{
    ig_store *s = ig_store_open(a[0]);
    if (!s)
        return say_error();
    printf("%s", ig_dtype_std_name(ig_store_dtype(s)));
    say_list(ig_store_shape(s));
    say_list(ig_store_chunk(s));
    say_list(ig_store_shard(s));
    printf(" %s\n", ig_store_attributes(s));
    ig_store_close(s);
    return 0;
}

static int group(char **a)
{
    ig_group *g = ig_group_open(a[0]);
    if (!g)
        return say_error();
    for (int i = 0; i < ig_group_count(g); i++)
        printf("%s %s\n", ig_group_is_array(g, i) ? "array" : "group", ig_group_name(g, i));
    ig_group_close(g);
    return 0;
}

static int consolidate(char **a) { return ig_group_consolidate(a[0]) == IG_OK ? 0 : say_error(); }

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int time_reads(char **a)
{
    ig_store *s = ig_store_open(a[0]);
    if (!s)
        return say_error();
    const ig_ints shape = ig_store_shape(s);
    list size = {.n = shape.n};
    const list zero = {.n = shape.n};
    memcpy(size.v, shape.v, (size_t)shape.n * sizeof *shape.v);
    void *data = malloc(size_of(s, &size) + 1);
    int code = 0;
    while (data && !code && getchar() == '\n') {
        const double begin = now_ms();
        code = ig_store_read(s, ints(&zero), shape, data) == IG_OK ? 0 : say_error();
        printf("%.3f\n", now_ms() - begin);
        fflush(stdout);
    }
    free(data);
    ig_store_close(s);
    return code;
}

/* ---- kills ------------------------------------------------------------------------------------------ */

enum { ROWS = 12, COLUMNS = 10, SHARDS = 4 };

/* Every row of a shard has the number of the version that wrote it: a shard is of one version, whole. */
static int versions_check(ig_store *s, int64_t *newest)
{
    int64_t data[ROWS * COLUMNS];
    *newest = 0;
    if (ig_store_read(s, IG_SHAPE(0, 0), IG_SHAPE(ROWS, COLUMNS), data) != IG_OK)
        return say_error();
    for (int shard = 0; shard < SHARDS; shard++) {
        const int64_t *first = data + shard * (ROWS / SHARDS) * COLUMNS;
        for (int i = 0; i < ROWS / SHARDS * COLUMNS; i++)
            if (first[i] != first[0]) {
                fprintf(stderr, "shard %d has versions %" PRId64 " and %" PRId64 "\n", shard,
                        first[0], first[i]);
                return 1;
            }
        *newest = first[0] > *newest ? first[0] : *newest;
    }
    return 0;
}

static int loop(char **a)
{
    int64_t data[ROWS * COLUMNS], version = 0;
    const ig_store_options o = {.size = sizeof o,
                                .chunk = IG_SHAPE(1, 5),
                                .shard = IG_SHAPE(ROWS / SHARDS, COLUMNS),
                                .codecs = "zstd,crc32c"};
    ig_store *s = ig_store_create(a[0], IG_SHAPE(ROWS, COLUMNS), IG_I64, &o);
    if (!s)
        return say_error();
    if (versions_check(s, &version))
        return 1;
    printf("version %" PRId64 "\n", version);
    fflush(stdout);
    for (;;) {
        version++;
        for (int i = 0; i < ROWS * COLUMNS; i++)
            data[i] = version;
        if (ig_store_write(s, IG_SHAPE(0, 0), IG_SHAPE(ROWS, COLUMNS), data) != IG_OK)
            return say_error();
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int arguments;
        int (*run)(char **arguments);
    } commands[] = {
        {"create", 7, create},  {"write", 3, write_at},  {"read", 3, read_at},
        {"info", 1, info},      {"group", 1, group},     {"loop", 1, loop},
        {"name", 6, name_axes}, {"time", 1, time_reads}, {"consolidate", 1, consolidate}};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (argc > 1 && strcmp(argv[1], commands[i].name) == 0 && argc == 2 + commands[i].arguments)
            return commands[i].run(argv + 2);
    fprintf(stderr, "store_tool: see the top of its source\n");
    return 2;
}
