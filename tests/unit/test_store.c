/* Stores without Python: round trips, misaligned boxes, damaged chunks, failing writes, mistakes in metadata.
 * tests/test_store.py compares them with zarr-python. */
#include "support/folder.h"

#include "base/memory.h"
#include "base/box.h"
#include "lib/store/codec.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

enum { ROWS = 11, COLUMNS = 9, CELLS = ROWS * COLUMNS };

/* Codecs whose libraries are not installed are left out. */
static bool there(const char *codecs)
{
    return (!strstr(codecs, "zstd") || codec_zstd.find()) &&
           (!strstr(codecs, "blosc") || codec_blosc.find());
}

static ig_store *create(const char *path, ig_ints shape, ig_dtype dtype, ig_ints chunk,
                        ig_ints shard, const char *codecs)
{
    const ig_store_options o = {.size = sizeof o,
                                .chunk = chunk,
                                .shard = shard,
                                .codecs = codecs,
                                .existing = IG_STORE_REPLACE};
    return ig_store_create(path, shape, dtype, &o);
}

static void number(int64_t *out, int n, int64_t first)
{
    for (int i = 0; i < n; i++)
        out[i] = first + i * 0x0102030405;
}

/* ---- copies ---------------------------------------------------------------------------------------- */

static void test_box_copy(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 4, 8, 16};
    static unsigned char from[40 * 40 * 16], to[40 * 40 * 16];
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)rand();
    for (int round = 0; round < 400; round++) {
        const size_t bytes = sizes[rand() % COUNT(sizes)];
        const int64_t size[3] = {1 + rand() % 6, 1 + rand() % 9, 1 + rand() % 9};
        int64_t a[3], b[3];
        box_strides(3, size, bytes, a);
        b[0] = a[0], b[1] = (int64_t)bytes,
        b[2] = (int64_t)bytes * size[1]; /* the last axes are exchanged */
        memset(to, 0, sizeof to);
        box_copy(3, size, to, round % 2 ? a : b, from, round % 3 ? a : b, bytes);
        for (int64_t i = 0; i < size[0]; i++)
            for (int64_t j = 0; j < size[1]; j++)
                for (int64_t k = 0; k < size[2]; k++) {
                    const int64_t *x = round % 2 ? a : b, *y = round % 3 ? a : b;
                    assert_memory_equal(to + i * x[0] + j * x[1] + k * x[2],
                                        from + i * y[0] + j * y[1] + k * y[2], bytes);
                }
    }
}

static void test_crc32c(void **state)
{
    (void)state;
    unsigned char data[1024];
    assert_int_equal(crc32c("123456789", 9), 0xe3069283u);
    assert_int_equal(crc32c("", 0), 0);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)rand();
    for (size_t n = 0; n < 300; n++)
        assert_int_equal(crc32c(data + n % 9, n), crc32c_plain(data + n % 9, n));
}

/* ---- round trips ------------------------------------------------------------------------------------- */

static void test_dtypes_and_codecs(void **state)
{
    (void)state;
    static const char *const codecs[] = {
        "none",       "big",         "transpose",          "crc32c",
        "gzip:1",     "zstd",        "zstd:-3,crc32c",     "blosc:lz4:1",
        "blosc:zstd", "crc32c,gzip", "transpose,big,zstd", "gzip,zstd,crc32c"};
    static unsigned char data[5 * 7 * 3 * 16], got[sizeof data];
    for (int c = 0; c < COUNT(codecs); c++)
        for (int d = IG_BOOL; d <= IG_C128; d++)
            for (int sharded = 0; sharded < 2 && there(codecs[c]); sharded++) {
                const size_t bytes = 5 * 7 * 3 * ig_dtype_bytes((ig_dtype)d);
                for (size_t i = 0; i < bytes; i++)
                    data[i] = d == IG_BOOL ? i % 3 == 0 : (unsigned char)(i * 37 >> 2);
                ig_store *s =
                    create(folder_path("x"), IG_SHAPE(5, 7, 3), (ig_dtype)d, IG_SHAPE(2, 3, 2),
                           sharded ? IG_SHAPE(4, 3, 4) : IG_NONE, codecs[c]);
                assert_non_null(s);
                assert_int_equal(ig_store_write(s, IG_SHAPE(0, 0, 0), IG_SHAPE(5, 7, 3), data),
                                 IG_OK);
                ig_store_close(s);
                s = ig_store_open(folder_path("x"));
                assert_non_null(s);
                assert_int_equal(ig_store_dtype(s), d);
                assert_true(ig_store_writable(s));
                assert_int_equal(ig_store_read(s, IG_SHAPE(0, 0, 0), IG_SHAPE(5, 7, 3), got),
                                 IG_OK);
                assert_memory_equal(got, data, bytes);
                ig_store_close(s);
            }
}

static void test_few_dimensions(void **state)
{
    (void)state;
    double x = 2.5, y = 0;
    ig_store *s = create(folder_path("0d"), IG_SCALAR, IG_F64, IG_NONE, IG_NONE, "crc32c");
    assert_non_null(s);
    assert_int_equal(ig_store_write(s, IG_SCALAR, IG_SCALAR, &x), IG_OK);
    assert_int_equal(ig_store_read(s, IG_SCALAR, IG_SCALAR, &y), IG_OK);
    assert_true(x == y);
    ig_store_close(s);
    s = create(folder_path("empty"), IG_SHAPE(0, 4), IG_F32, IG_NONE, IG_NONE, NULL);
    assert_non_null(s);
    assert_int_equal(ig_store_read(s, IG_SHAPE(0, 0), IG_SHAPE(0, 4), NULL), IG_OK);
    ig_store_close(s);
}

/* Writes the whole array in boxes of one shape, and reads it in boxes of another one. */
static void boxes_check(ig_store *s, const int64_t w[2], const int64_t r[2], int64_t first)
{
    int64_t data[CELLS], piece[CELLS], got[CELLS];
    number(data, CELLS, first);
    memset(got, 0, sizeof got);
    for (int reading = 0; reading < 2; reading++) {
        const int64_t *b = reading ? r : w;
        for (int64_t i = 0; i < ROWS; i += b[0])
            for (int64_t j = 0; j < COLUMNS; j += b[1]) {
                const int64_t n = ROWS - i < b[0] ? ROWS - i : b[0],
                              m = COLUMNS - j < b[1] ? COLUMNS - j : b[1];
                for (int64_t k = 0; k < n && !reading; k++)
                    memcpy(piece + k * m, data + (i + k) * COLUMNS + j, (size_t)m * sizeof *piece);
                if (reading)
                    assert_int_equal(ig_store_read(s, IG_SHAPE(i, j), IG_SHAPE(n, m), piece),
                                     IG_OK);
                else
                    assert_int_equal(ig_store_write(s, IG_SHAPE(i, j), IG_SHAPE(n, m), piece),
                                     IG_OK);
                for (int64_t k = 0; k < n && reading; k++)
                    memcpy(got + (i + k) * COLUMNS + j, piece + k * m, (size_t)m * sizeof *piece);
            }
    }
    assert_memory_equal(got, data, sizeof data);
}

/* A folder in memory, if the system has one: replacing a file on a disk may take milliseconds. */
static const char *fast_path(void)
{
    static char path[64];
    snprintf(path, sizeof path, "/dev/shm/ingot-test-XXXXXX");
    return mkdtemp(path) ? path : folder_path("x");
}

static void fast_end(const char *path)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

/* All chunks up to 8 x 8, written and read in all boxes up to 8 x 8. Quick runs take every third pair. */
static void test_misaligned_boxes(void **state)
{
    (void)state;
    const int step = getenv("IG_TEST_QUICK") ? 3 : 1;
    int64_t first = 1;
    const char *path = fast_path();
    for (int chunk = 0; chunk < 64; chunk++) {
        ig_store *s = create(path, IG_SHAPE(ROWS, COLUMNS), IG_I64,
                             IG_SHAPE(1 + chunk / 8, 1 + chunk % 8), IG_NONE, "none");
        assert_non_null(s);
        for (int lengths = chunk % step; lengths < 64; lengths += step) {
            const int other = (lengths * 29 + 17) % 64;
            boxes_check(s, (int64_t[]){1 + lengths / 8, 1 + lengths % 8},
                        (int64_t[]){1 + other / 8, 1 + other % 8}, first++);
        }
        ig_store_close(s);
    }
    fast_end(path);
}

/* All shards up to 8 x 8 with all chunks that divide them. */
static void test_misaligned_shards(void **state)
{
    (void)state;
    int64_t first = 1;
    int pairs = 0;
    const char *path = fast_path();
    for (int shard = 0; shard < 64; shard++)
        for (int chunk = 0; chunk < 64; chunk++) {
            const int64_t s0 = 1 + shard / 8, s1 = 1 + shard % 8, c0 = 1 + chunk / 8,
                          c1 = 1 + chunk % 8;
            if (s0 % c0 || s1 % c1)
                continue;
            ig_store *s = create(path, IG_SHAPE(ROWS, COLUMNS), IG_I64, IG_SHAPE(c0, c1),
                                 IG_SHAPE(s0, s1), pairs % 2 ? "crc32c" : "none");
            assert_non_null(s);
            boxes_check(s, (int64_t[]){s0, s1}, (int64_t[]){c0, c1}, first++);
            boxes_check(s, (int64_t[]){1 + pairs % 7, 1 + pairs % 5},
                        (int64_t[]){1 + pairs % 4, 1 + pairs % 8}, first++);
            ig_store_close(s);
            pairs++;
        }
    assert_int_equal(pairs, 400);
    fast_end(path);
}

/* ---- chunks that are not there, and arrays that are ---------------------------------------------------- */

static void test_missing_chunks(void **state)
{
    (void)state;
    const double fill = -1.5;
    float got[12];
    bool has = true;
    for (int sharded = 0; sharded < 2; sharded++) {
        const ig_store_options o = {.size = sizeof o,
                                    .chunk = IG_SHAPE(2, 2),
                                    .shard = sharded ? IG_SHAPE(4, 4) : IG_NONE,
                                    .fill = &fill,
                                    .codecs = "gzip",
                                    .existing = IG_STORE_REPLACE};
        ig_store *s = ig_store_create(folder_path("x"), IG_SHAPE(3, 4), IG_F32, &o);
        assert_non_null(s);
        assert_int_equal(ig_store_write(s, IG_SHAPE(1, 2), IG_SHAPE(1, 1), &(float){7}), IG_OK);
        assert_int_equal(ig_store_read(s, IG_SHAPE(0, 0), IG_SHAPE(3, 4), got), IG_OK);
        for (int i = 0; i < 12; i++)
            assert_true(got[i] == (i == 6 ? 7 : -1.5f));
        assert_int_equal(ig_store_has(s, IG_SHAPE(0, 3), &has), IG_OK);
        assert_true(has);
        assert_int_equal(ig_store_has(s, IG_SHAPE(0, 0), &has), IG_OK);
        assert_false(has);
        assert_int_equal(ig_store_has(s, IG_SHAPE(2, 0), &has), IG_OK);
        assert_false(has);
        ig_store_close(s);
    }
}

static void test_existing(void **state)
{
    (void)state;
    float x[4] = {1, 2, 3, 4}, y[4] = {0};
    ig_store_options o = {.size = sizeof o, .codecs = "none", .attributes = "{\"k\": [1, 2]}"};
    ig_store *s = ig_store_create(folder_path("a/b/x"), IG_SHAPE(4), IG_F32, &o);
    assert_non_null(s);
    assert_int_equal(ig_store_write(s, IG_SHAPE(0), IG_SHAPE(4), x), IG_OK);
    ig_store_close(s);
    s = ig_store_create(folder_path("a/b/x"), IG_SHAPE(4), IG_F32, &o);
    assert_non_null(s);
    assert_int_equal(ig_store_read(s, IG_SHAPE(0), IG_SHAPE(4), y), IG_OK);
    assert_memory_equal(x, y, sizeof x);
    assert_string_equal(ig_store_attributes(s), "{\"k\": [1, 2]}");
    assert_int_equal(ig_store_set_attributes(s, "{\"done\": true}"), IG_OK);
    assert_int_equal(ig_store_set_attributes(s, "[1]"), IG_ERR_FORMAT);
    assert_error(IG_ERR_FORMAT, "an object is expected");
    ig_store_close(s);
    assert_null(ig_store_create(folder_path("a/b/x"), IG_SHAPE(4), IG_F32, &o));
    assert_error(IG_ERR_FILE, "other metadata");
    o.attributes = "{\"done\": true}";
    s = ig_store_create(folder_path("a/b/x"), IG_SHAPE(4), IG_F32, &o);
    assert_non_null(s);
    ig_store_close(s);
    o.existing = IG_STORE_REFUSE;
    assert_null(ig_store_create(folder_path("a/b/x"), IG_SHAPE(4), IG_F32, &o));
    assert_error(IG_ERR_FILE, "there already");
    o.existing = IG_STORE_REPLACE;
    s = ig_store_create(folder_path("a/b/x"), IG_SHAPE(4), IG_F32, &o);
    assert_non_null(s);
    assert_int_equal(ig_store_read(s, IG_SHAPE(0), IG_SHAPE(4), y), IG_OK);
    assert_true(y[0] == 0 && y[3] == 0);
    ig_store_close(s);
}

/* ---- damage ---------------------------------------------------------------------------------------------- */

/* Writes a store of one chunk or shard with this codec, and returns the path of the object. */
static const char *one_object(const char *codecs, bool sharded)
{
    int64_t data[16];
    number(data, 16, 5);
    ig_store *s = create(folder_path("x"), IG_SHAPE(4, 4), IG_I64, IG_SHAPE(2, 4),
                         sharded ? IG_SHAPE(4, 4) : IG_NONE, codecs);
    assert_non_null(s);
    assert_int_equal(ig_store_write(s, IG_SHAPE(0, 0), IG_SHAPE(4, 4), data), IG_OK);
    ig_store_close(s);
    return folder_path("x/c/0/0");
}

static ig_status read_all(int64_t data[16])
{
    ig_store *s = ig_store_open(folder_path("x"));
    assert_non_null(s);
    const ig_status status = ig_store_read(s, IG_SHAPE(0, 0), IG_SHAPE(4, 4), data);
    ig_store_close(s);
    return status;
}

static void test_damaged_chunks(void **state)
{
    (void)state;
    static const char *const codecs[] = {"none", "crc32c", "gzip", "zstd", "zstd,crc32c", "blosc"};
    int64_t expected[16], data[16];
    number(expected, 16, 5);
    for (int c = 0; c < 2 * COUNT(codecs); c++) {
        const char *codec = codecs[c / 2];
        if (!there(codec))
            continue;
        char path[512];
        snprintf(path, sizeof path, "%s", one_object(codec, c % 2));
        const size_t n = folder_get(path);
        unsigned char good[2048], bad[2049];
        assert_true(n < sizeof good);
        memcpy(good, folder_content, n);
        for (size_t cut = 0; cut < n; cut++) { /* cut short */
            folder_put(path, good, cut);
            assert_int_equal(read_all(data), IG_ERR_FORMAT);
            assert_error(IG_ERR_FORMAT, "damaged");
        }
        const bool checked = strstr(codec, "crc32c") != NULL;
        for (size_t i = 0; i < n; i++) { /* altered: never more than an error or other values */
            memcpy(bad, good, n);
            bad[i] ^= (unsigned char)(1 + i % 255);
            folder_put(path, bad, n);
            const ig_status status = read_all(data);
            assert_true(status == IG_OK || status == IG_ERR_FORMAT);
            if (checked && status == IG_OK)
                assert_memory_equal(data, expected, sizeof data);
            if (status != IG_OK)
                assert_error(IG_ERR_FORMAT, "");
        }
        folder_put(path, good, n);
        assert_int_equal(read_all(data), IG_OK);
        assert_memory_equal(data, expected, sizeof data);
    }
}

/* A chunk that is larger than any chunk can be is refused before it is read. */
static void test_large_object(void **state)
{
    (void)state;
    int64_t data[16];
    const char *path = one_object("gzip", false);
    assert_int_equal(truncate(path, (off_t)1 << 40), 0);
    assert_int_equal(read_all(data), IG_ERR_FORMAT);
    assert_error(IG_ERR_FORMAT, "at most");
}

static void test_links(void **state)
{
    (void)state;
    int64_t data[16];
    const char *path = one_object("none", false);
    folder_put(folder_path("secret"), data, 64);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(folder_path("secret"), path), 0);
    assert_int_equal(read_all(data), IG_ERR_FILE);
    assert_error(IG_ERR_FILE, "link");
    /* Writing replaces the link, not the file that it points to. */
    ig_store *s = ig_store_open(folder_path("x"));
    number(data, 16, 9);
    assert_int_equal(ig_store_write(s, IG_SHAPE(0, 0), IG_SHAPE(4, 4), data), IG_OK);
    ig_store_close(s);
    assert_int_equal(read_all(data), IG_OK);
    assert_int_equal(folder_get(folder_path("secret")), 64);
    /* A pipe in place of a chunk is refused, and does not block. */
    char chunk[512];
    snprintf(chunk, sizeof chunk, "%s", folder_path("x/c/0/0"));
    assert_int_equal(unlink(chunk), 0);
    assert_int_equal(mkfifo(chunk, 0666), 0);
    assert_int_equal(read_all(data), IG_ERR_FILE);
    assert_error(IG_ERR_FILE, "not a file");
}

/* A write that fails leaves the old chunk. */
static void test_full_disk(void **state)
{
    (void)state;
    int64_t data[1024], got[1024];
    struct rlimit old;
    ig_store *s = create(folder_path("x"), IG_SHAPE(1024), IG_I64, IG_SHAPE(1024), IG_NONE, "none");
    assert_non_null(s);
    number(data, 1024, 1);
    assert_int_equal(ig_store_write(s, IG_SHAPE(0), IG_SHAPE(1024), data), IG_OK);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){5000, old.rlim_max}), 0);
    number(got, 1024, 77);
    const ig_status status = ig_store_write(s, IG_SHAPE(0), IG_SHAPE(1024), got);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, IG_ERR_FILE);
    assert_error(IG_ERR_FILE, "cannot be written");
    assert_int_equal(ig_store_read(s, IG_SHAPE(0), IG_SHAPE(1024), got), IG_OK);
    assert_memory_equal(got, data, sizeof data);
    ig_store_close(s);
}

/* ---- threads and memory ------------------------------------------------------------------------------------ */

static void *write_column(void *ctx)
{
    ig_store *s = ((void **)ctx)[0];
    const int64_t column = (int64_t)(intptr_t)((void **)ctx)[1];
    for (int64_t row = 0; row < 16; row++)
        if (ig_store_write(s, IG_SHAPE(row, column), IG_SHAPE(1, 1),
                           &(int32_t){(int32_t)(row * 8 + column)}) != IG_OK)
            return "failed";
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    for (int sharded = 0; sharded < 2; sharded++) {
        ig_store *s = create(folder_path("x"), IG_SHAPE(16, 8), IG_I32, IG_SHAPE(8, 8),
                             sharded ? IG_SHAPE(16, 8) : IG_NONE, "gzip");
        assert_non_null(s);
        pthread_t threads[8];
        void *arguments[8][2], *result;
        for (int i = 0; i < 8; i++) {
            arguments[i][0] = s;
            arguments[i][1] = (void *)(intptr_t)i;
            assert_int_equal(pthread_create(&threads[i], NULL, write_column, arguments[i]), 0);
        }
        for (int i = 0; i < 8; i++) {
            pthread_join(threads[i], &result);
            assert_null(result);
        }
        int32_t got[128];
        assert_int_equal(ig_store_read(s, IG_SHAPE(0, 0), IG_SHAPE(16, 8), got), IG_OK);
        for (int i = 0; i < 128; i++)
            assert_int_equal(got[i], i);
        ig_store_close(s);
    }
}

static bool whole_use(void)
{
    int64_t data[16], got[16];
    number(data, 16, 3);
    ig_store *s = create(folder_path("x"), IG_SHAPE(4, 4), IG_I64, IG_SHAPE(2, 3), IG_SHAPE(4, 3),
                         "gzip,crc32c");
    bool good = s && ig_store_write(s, IG_SHAPE(0, 0), IG_SHAPE(4, 4), data) == IG_OK &&
                ig_store_write(s, IG_SHAPE(1, 1), IG_SHAPE(2, 2), data) == IG_OK &&
                ig_store_set_attributes(s, "{\"a\": 1}") == IG_OK;
    ig_store_close(s);
    s = good ? ig_store_open(folder_path("x")) : NULL;
    good = s && ig_store_read(s, IG_SHAPE(0, 0), IG_SHAPE(4, 4), got) == IG_OK;
    ig_store_close(s);
    return good;
}

static void test_memory_fails(void **state)
{
    (void)state;
    ig_set_threads(1);
    assert_true(whole_use());
    const int64_t before = memory_live();
    for (int64_t n = 1;; n++) {
        memory_fail_at(n);
        const bool good = whole_use();
        memory_fail_at(0);
        assert_int_equal(memory_live(), before);
        if (good)
            break;
        assert_error(IG_ERR_MEMORY, "");
        assert_true(n < 5000);
    }
    ig_set_threads(0);
}

/* ---- metadata ---------------------------------------------------------------------------------------------- */

static const char good_v3[] =
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [4], \"data_type\": \"int16\", "
    "\"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [2]}}, "
    "\"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 7, "
    "\"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}]}";

/* Opens the metadata with one part of it replaced. */
static ig_store *open_edited(const char *name, const char *good, const char *from, const char *to)
{
    char edited[2048], file[64];
    const char *at = strstr(good, from);
    assert_non_null(at);
    snprintf(edited, sizeof edited, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    mkdir(folder_path("m"), 0777);
    snprintf(file, sizeof file, "m/%s", name);
    folder_put(folder_path(file), edited, strlen(edited));
    return ig_store_open(folder_path("m"));
}

static void test_metadata_mistakes(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"{\"zarr_format\"", "{\"zarr\"", "zarr_format"},
        {": 3", ": 4", "zarr_format"},
        {"\"array\"", "\"group\"", "name an array in it"},
        {"\"array\"", "\"thing\"", "not an array"},
        {"[4]", "[-1]", "shape"},
        {"[4]", "[4.5]", "shape"},
        {"[4]", "[9223372036854775807]", "larger than"},
        {"[4]", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "shape"},
        {"[4]", "4", "list of whole numbers"},
        {"\"int16\"", "\"string\"", "data_type"},
        {"\"int16\"", "17", "data_type"},
        {"[2]", "[0]", "chunk_grid"},
        {"[2]", "[2, 2]", "2 lengths"},
        {"[2]", "[4611686018427387904]", "chunk"},
        {"\"regular\"", "\"odd\"", "regular grids"},
        {"\"default\"", "\"other\"", "neither default nor v2"},
        {"\"default\"", "\"default\", \"configuration\": {\"separator\": \"..\"}", "separator"},
        {": 7", ": 70000", "fits i16"},
        {": 7", ": \"NaN\"", "number"},
        {"\"bytes\"", "\"lzma\"", "lzma"},
        {"\"little\"", "\"middle\"", "endian"},
        {"{\"endian\": \"little\"}", "{}", "endian"},
        {"{\"endian\": \"little\"}", "{\"endian\": \"little\", \"x\": 1}", "not known"},
        {"[{\"name\": \"bytes\"", "[{\"name\": \"crc32c\"}, {\"name\": \"bytes\"", "needs bytes"},
        {"[{\"name\": \"bytes\"",
         "[{\"name\": \"transpose\", \"configuration\": {\"order\": [1]}}, {\"name\": \"bytes\"",
         "order"},
        {"\"little\"}}]", "\"little\"}}, {\"name\": \"bytes\"}]", "needs an array"},
        {"\"little\"}}]", "\"little\"}}], \"codec\": 5", "does not know"},
        {"\"little\"}}]", "\"little\"}}], \"extra\": {\"must_understand\": true}", "does not know"},
        {"\"little\"}}]", "\"little\"}}], \"attributes\": []", "attributes"},
        {"\"little\"}}]", "\"little\"}}], \"storage_transformers\": [{\"name\": \"x\"}]",
         "storage_transformers"},
        {"\"little\"}}]", "\"little\"}}], \"shape\": [4]", "shape"},
        {"\"little\"}}]}", "\"little\"}}]", "JSON"},
        {"\"little\"}}]}", "\"little\"}}]} x", "JSON"},
    };
    for (int i = 0; i < COUNT(rows); i++) {
        ig_store *s = open_edited("zarr.json", good_v3, rows[i][0], rows[i][1]);
        if (s)
            fail_msg("'%s' is accepted", rows[i][1]);
        ig_status code;
        const char *text = ig_error(&code);
        if (!text || !strstr(text, rows[i][2]) || !strstr(text, "zarr.json") || strchr(text, '\n'))
            fail_msg("'%s': %s", rows[i][1], text ? text : "no error");
    }
    ig_store *s = open_edited("zarr.json", good_v3, "\"little\"}}]",
                              "\"little\"}}], \"extra\": {\"must_understand\": false}");
    assert_non_null(s);
    int16_t got[4];
    assert_int_equal(ig_store_read(s, IG_SHAPE(0), IG_SHAPE(4), got), IG_OK);
    assert_int_equal(got[3], 7);
    ig_store_close(s);
}

static void test_fill_values(void **state)
{
    (void)state;
    static const struct {
        const char *dtype, *fill;
        unsigned char bytes[16];
    } rows[] = {
        {"\"bool\"", "true", {1}},
        {"\"uint64\"", "18446744073709551615", {255, 255, 255, 255, 255, 255, 255, 255}},
        {"\"int8\"", "-128", {0x80}},
        {"\"float16\"", "\"-Infinity\"", {0x00, 0xfc}},
        {"\"bfloat16\"", "1.5", {0xc0, 0x3f}},
        {"\"float32\"", "\"0x7fc00001\"", {1, 0, 0xc0, 0x7f}},
        {"\"float32\"", "\"NaN\"", {0, 0, 0xc0, 0x7f}},
        {"\"float64\"", "\"Infinity\"", {0, 0, 0, 0, 0, 0, 0xf0, 0x7f}},
        {"\"float64\"", "-2", {0, 0, 0, 0, 0, 0, 0, 0xc0}},
        {"\"complex64\"", "[1.0, \"NaN\"]", {0, 0, 0x80, 0x3f, 0, 0, 0xc0, 0x7f}},
    };
    for (int i = 0; i < COUNT(rows); i++) {
        char edited[1024], *at;
        unsigned char got[64] = {0};
        snprintf(edited, sizeof edited, "%s", good_v3);
        at = strstr(edited, ": 7");
        memmove(at + strlen(rows[i].fill) + 2, at + 3, strlen(at + 3) + 1);
        memcpy(at + 2, rows[i].fill, strlen(rows[i].fill));
        ig_store *s = open_edited("zarr.json", edited, "\"int16\"", rows[i].dtype);
        assert_non_null(s);
        assert_int_equal(ig_store_read(s, IG_SHAPE(3), IG_SHAPE(1), got), IG_OK);
        assert_memory_equal(got, rows[i].bytes, ig_dtype_bytes(ig_store_dtype(s)));
        ig_store_close(s);
    }
}

static void test_v2(void **state)
{
    (void)state;
    static const char text[] =
        "{\"zarr_format\": 2, \"shape\": [3, 2], \"chunks\": [2, 2], \"dtype\": \">i2\", "
        "\"compressor\": null, \"fill_value\": 9, \"order\": \"F\", \"filters\": null}";
    int16_t got[6];
    ig_store *s = open_edited(".zarray", text, "null", "null");
    assert_non_null(s);
    folder_put(folder_path("m/0.0"), "\0\1\0\3\0\2\0\4", 8);
    assert_false(ig_store_writable(s));
    assert_int_equal(ig_store_read(s, IG_SHAPE(0, 0), IG_SHAPE(3, 2), got), IG_OK);
    assert_memory_equal(got, ((int16_t[]){1, 2, 3, 4, 9, 9}), sizeof got);
    assert_int_equal(ig_store_write(s, IG_SHAPE(0, 0), IG_SHAPE(3, 2), got), IG_ERR_UNSUPPORTED);
    assert_error(IG_ERR_UNSUPPORTED, "reading only");
    ig_store_close(s);
    static const char *const rows[][3] = {
        {"\">i2\"", "\"<M8[s]\"", "dtype"},
        {"\"F\"", "\"A\"", "order"},
        {"\"filters\": null", "\"filters\": [{\"id\": \"delta\"}]", "filters"},
        {"null", "{\"id\": \"lzma\"}", "lzma"},
        {"[2, 2]", "[2]", "chunks"}};
    for (int i = 0; i < COUNT(rows); i++) {
        assert_null(open_edited(".zarray", text, rows[i][0], rows[i][1]));
        assert_error(IG_ERR_FORMAT, rows[i][2]);
    }
}

/* ---- groups ------------------------------------------------------------------------------------------------ */

static void test_groups(void **state)
{
    (void)state;
    assert_int_equal(ig_group_create(folder_path("g"), "{\"title\": \"t\"}"), IG_OK);
    assert_int_equal(ig_group_create(folder_path("g/inner"), NULL), IG_OK);
    ig_store_close(create(folder_path("g/x"), IG_SHAPE(3), IG_F32, IG_NONE, IG_NONE, "none"));
    ig_store_close(create(folder_path("g/inner/y"), IG_SHAPE(3), IG_F32, IG_NONE, IG_NONE, "none"));
    for (int consolidated = 0; consolidated < 2; consolidated++) {
        ig_group *g = ig_group_open(folder_path("g"));
        assert_non_null(g);
        assert_int_equal(ig_group_count(g), 2);
        assert_string_equal(ig_group_name(g, 0), "inner");
        assert_string_equal(ig_group_name(g, 1), "x");
        assert_false(ig_group_is_array(g, 0));
        assert_true(ig_group_is_array(g, 1));
        assert_null(ig_group_name(g, 2));
        assert_string_equal(ig_group_attributes(g), "{\"title\": \"t\"}");
        ig_store *s = ig_group_array(g, "inner/y");
        assert_non_null(s);
        ig_store_close(s);
        static const char *const outside[] = {"../g/x",     "/tmp",     "",  ".",
                                              "inner/../x", "inner//y", "x/"};
        for (int i = 0; i < COUNT(outside); i++) {
            assert_null(ig_group_array(g, outside[i]));
            assert_error(IG_ERR_ARGUMENT, "leaves the store");
        }
        assert_null(ig_group_array(g, "none"));
        assert_error(IG_ERR_FILE, "none");
        if (!consolidated) {
            assert_int_equal(symlink(folder_itself(), folder_path("g/out")), 0);
            assert_null(ig_group_array(g, "out"));
            assert_error(IG_ERR_FILE, "links are not followed");
            assert_int_equal(unlink(folder_path("g/out")), 0);
        }
        ig_group_close(g);
        assert_int_equal(ig_group_consolidate(folder_path("g")), IG_OK);
    }
    assert_null(ig_store_open(folder_path("g")));
    assert_error(IG_ERR_FORMAT, "name an array in it");
    assert_null(ig_group_open(folder_path("g/x")));
    assert_error(IG_ERR_FORMAT, "not a group");
    static const char bad[] =
        "{\"zarr_format\": 3, \"node_type\": \"group\", \"consolidated_metadata\": "
        "{\"metadata\": {\"../x\": {\"node_type\": \"array\"}}}}";
    folder_put(folder_path("g/zarr.json"), bad, strlen(bad));
    assert_null(ig_group_open(folder_path("g")));
    assert_error(IG_ERR_FORMAT, "leaves the group");
}

/* ---- .npy files ---------------------------------------------------------------------------------------------- */

static void test_npy(void **state)
{
    (void)state;
    int32_t got[12];
    ig_array *x = ig_reshape(ig_arange(0, 12, 1, IG_I32), IG_SHAPE(4, 3));
    assert_int_equal(ig_save(folder_path("x.npy"), x), IG_OK);
    ig_store *s = ig_store_open(folder_path("x.npy"));
    assert_non_null(s);
    assert_int_equal(ig_store_read(s, IG_SHAPE(1, 1), IG_SHAPE(2, 2), got), IG_OK);
    assert_memory_equal(got, ((int32_t[]){4, 5, 7, 8}), 16);
    assert_non_null(ig_store_data(s));
    assert_int_equal(((const int32_t *)ig_store_data(s))[11], 11);
    assert_false(ig_store_writable(s));
    ig_store_close(s);

    mkdir(folder_path("many"), 0777);
    assert_int_equal(ig_save(folder_path("many/10.npy"), x), IG_OK);
    assert_int_equal(ig_save(folder_path("many/2.npy"),
                             ig_reshape(ig_arange(100, 103, 1, IG_I32), IG_SHAPE(1, 3))),
                     IG_OK);
    s = ig_store_open(folder_path("many"));
    assert_non_null(s);
    assert_int_equal(ig_store_shape(s).v[0], 5);
    assert_int_equal(ig_store_read(s, IG_SHAPE(0, 1), IG_SHAPE(3, 2), got), IG_OK);
    assert_memory_equal(got, ((int32_t[]){101, 102, 1, 2, 4, 5}), 24);
    ig_store_close(s);
    assert_int_equal(ig_save(folder_path("many/3.npy"), ig_zeros(IG_SHAPE(2, 4), IG_I32)), IG_OK);
    assert_null(ig_store_open(folder_path("many")));
    assert_error(IG_ERR_SHAPE, "do not fit each other");
}

static void test_arguments(void **state)
{
    (void)state;
    double x[4] = {0};
    assert_null(ig_store_open(NULL));
    assert_error(IG_ERR_ARGUMENT, "no path");
    assert_null(ig_store_open(folder_path("none")));
    assert_error(IG_ERR_FILE, "check the path");
    assert_null(ig_store_open(folder_itself()));
    assert_error(IG_ERR_FILE, "no array");
    assert_null(create(folder_path("x"), IG_SHAPE(4), IG_F64, IG_SHAPE(0), IG_NONE, "none"));
    assert_error(IG_ERR_SHAPE, "chunk");
    assert_null(create(folder_path("x"), IG_SHAPE(4), IG_F64, IG_SHAPE(2), IG_SHAPE(3), "none"));
    assert_error(IG_ERR_SHAPE, "multiple");
    assert_null(create(folder_path("x"), IG_SHAPE(4), IG_F64, IG_SHAPE(-2), IG_NONE, "none"));
    assert_error(IG_ERR_SHAPE, "chunks: the length -2");
    assert_null(create(folder_path("x"), IG_SHAPE(4), IG_F64, IG_NONE, IG_NONE, "lzma"));
    assert_error(IG_ERR_ARGUMENT, "lzma");
    assert_null(create(folder_path("x"), IG_SHAPE(4), IG_F64, IG_NONE, IG_NONE, "gzip:17"));
    assert_error(IG_ERR_ARGUMENT, "17");
    assert_null(create(folder_path("x"), IG_SHAPE(4), IG_F64, IG_NONE, IG_NONE, "blosc:lz4:5:x"));
    assert_error(IG_ERR_ARGUMENT, "bitshuffle");
    const double fills[] = {256, -1, 0.5, (double)NAN};
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
        const ig_store_options o = {.size = sizeof o, .fill = &fills[i]};
        assert_null(ig_store_create(folder_path("x"), IG_SHAPE(4), IG_U8, &o));
        assert_error(IG_ERR_ARGUMENT, "fill_value");
    }
    ig_store *s = create(folder_path("whole"), IG_SHAPE(4, 9), IG_F64, IG_SHAPE(-1, 2),
                         IG_SHAPE(4, -1), "none");
    assert_non_null(s);
    assert_int_equal(ig_store_chunk(s).v[0], 4);
    assert_int_equal(ig_store_shard(s).v[1], 10);
    ig_store_close(s);
    /* Attributes are checked before anything is computed or written. */
    const ig_store_options bad = {.size = sizeof bad, .attributes = "[1]"};
    assert_int_equal(ig_save_store(folder_path("y"), ig_zeros(IG_SHAPE(4), IG_F32), &bad, NULL),
                     IG_ERR_FORMAT);
    assert_error(IG_ERR_FORMAT, "attributes");
    assert_int_not_equal(access(folder_path("y"), F_OK), 0);
    s = create(folder_path("x"), IG_SHAPE(4), IG_F64, IG_NONE, IG_NONE, "none");
    assert_non_null(s);
    assert_int_equal(ig_store_read(s, IG_SHAPE(1), IG_SHAPE(4), x), IG_ERR_INDEX);
    assert_error(IG_ERR_INDEX, "axis 0");
    assert_int_equal(ig_store_read(s, IG_SHAPE(1, 0), IG_SHAPE(1, 1), x), IG_ERR_SHAPE);
    assert_error(IG_ERR_SHAPE, "dimensions");
    assert_int_equal(ig_store_write(s, IG_SHAPE(-1), IG_SHAPE(1), x), IG_ERR_INDEX);
    assert_error(IG_ERR_INDEX, "axis 0");
    assert_int_equal(ig_store_read(s, IG_SHAPE(0), IG_SHAPE(4), NULL), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "data");
    ig_store_close(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_begin, folder_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_box_copy),
        TEST(test_crc32c),
        TEST(test_dtypes_and_codecs),
        TEST(test_few_dimensions),
        TEST(test_misaligned_boxes),
        TEST(test_misaligned_shards),
        TEST(test_missing_chunks),
        TEST(test_existing),
        TEST(test_damaged_chunks),
        TEST(test_large_object),
        TEST(test_links),
        TEST(test_full_disk),
        TEST(test_threads),
        TEST(test_memory_fails),
        TEST(test_metadata_mistakes),
        TEST(test_fill_values),
        TEST(test_v2),
        TEST(test_groups),
        TEST(test_npy),
        TEST(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
