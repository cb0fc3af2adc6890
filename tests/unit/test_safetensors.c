/* ig_tensors without another reader: the set, round trips, golden bytes, pipes, failing writes. test_safetensors_damaged.c
 * has files that are refused, tests/test_safetensors.py compares with the format's own package, and
 * tests/test_kill_save.py kills a process while it saves. */
#include "support/safetensors.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"

/* ---- the set ------------------------------------------------------------------------------- */

static void test_set(void **state)
{
    (void)state;
    ig_tensors *t = tensors_need(ig_tensors_new());
    assert_int_equal(ig_tensors_count(t), 0);
    assert_null(ig_tensors_name(t, 0));
    assert_null(ig_tensors_get(t, "a"));
    assert_null(ig_tensors_text(t, "a"));
    ig_array *x = ig_scalar(1, IG_F32), *y = ig_scalar(2, IG_F64);
    assert_int_equal(ig_tensors_put(t, "b", x), IG_OK);
    assert_int_equal(ig_tensors_put(t, "a", x), IG_OK);
    assert_int_equal(ig_tensors_put(t, "", x), IG_OK);
    assert_int_equal(ig_tensors_put(t, "b", y), IG_OK);
    assert_int_equal(ig_tensors_put(t, "b", y), IG_OK);
    assert_int_equal(ig_tensors_count(t), 3);
    assert_string_equal(ig_tensors_name(t, 0), "b");
    assert_string_equal(ig_tensors_name(t, 1), "a");
    assert_string_equal(ig_tensors_name(t, 2), "");
    assert_null(ig_tensors_name(t, 3));
    assert_null(ig_tensors_name(t, -1));
    assert_ptr_equal(ig_tensors_get(t, "b"), y);
    assert_ptr_equal(ig_tensors_get(t, "a"), x);
    assert_int_equal(ig_tensors_put_text(t, "k", "one"), IG_OK);
    assert_int_equal(ig_tensors_put_text(t, "k", "two"), IG_OK);
    assert_int_equal(ig_tensors_put_text(t, "b", ""), IG_OK);
    assert_string_equal(ig_tensors_text(t, "k"), "two");
    assert_string_equal(ig_tensors_text(t, "b"), "");
    assert_null(ig_tensors_text(t, "a"));
    ig_tensors_free(t);
    ig_tensors_free(NULL);
    assert_int_equal(ig_tensors_count(NULL), 0);
    assert_null(ig_tensors_name(NULL, 0));
    assert_null(ig_tensors_get(NULL, "a"));
    assert_null(ig_tensors_text(NULL, "a"));
}

/* The set keeps arrays that their scope has released. */
static void test_set_owns(void **state)
{
    (void)state;
    ig_tensors *t = tensors_need(ig_tensors_new());
    ig_scope_begin();
    ig_array *x = ig_from_data((float[]){1, 2}, IG_SHAPE(2), IG_F32);
    assert_int_equal(ig_tensors_put(t, "lazy", ig_add(x, x)), IG_OK);
    ig_scope_end();
    assert_array(ig_tensors_get(t, "lazy"), IG_F32, IG_SHAPE(2), (float[]){2, 4});
    ig_tensors_free(t);
}

static void test_set_mistakes(void **state)
{
    (void)state;
    ig_tensors *t = tensors_need(ig_tensors_new());
    ig_array *x = ig_scalar(1, IG_F32);
    assert_int_equal(ig_tensors_put(t, NULL, x), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "the name is NULL");
    assert_int_equal(ig_tensors_put(t, "x", NULL), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "the array is NULL");
    assert_int_equal(ig_tensors_put(NULL, "x", x), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "the set is NULL");
    assert_int_equal(ig_tensors_put(t, "__metadata__", x), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "is reserved by the format; choose another");
    assert_int_equal(ig_tensors_put(t, "a\xff", x), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "is not UTF-8");
    assert_int_equal(ig_tensors_put_text(t, "\xc0\x80", "x"), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "is not UTF-8");
    assert_int_equal(ig_tensors_put_text(t, "x", "\xed\xa0\x80"), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "the text '");
    assert_int_equal(ig_tensors_put_text(t, "x", NULL), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "the text is NULL");
    assert_int_equal(ig_tensors_put_text(NULL, "x", "x"), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "is NULL");
    assert_int_equal(ig_tensors_save(NULL, "x"), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "is NULL");
    assert_int_equal(ig_tensors_count(t), 0);
    assert_null(ig_tensors_text(t, "x"));
    ig_tensors_free(t);
}

/* Thousands of names in the worst orders for a search tree, written and read back. */
static void test_many(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    char name[64];
    ig_array *x = ig_scalar(1, IG_U8);
    for (int turn = 0; turn < 3; turn++) {
        ig_tensors *t = tensors_need(ig_tensors_new());
        for (int i = 0; i < MANY; i++) {
            const int key = turn == 0 ? i : turn == 1 ? MANY - 1 - i : i * 7919 % MANY;
            snprintf(name, sizeof name, "layers.%06d", key);
            assert_int_equal(ig_tensors_put(t, name, x), IG_OK);
        }
        assert_int_equal(ig_tensors_count(t), MANY);
        assert_int_equal(ig_tensors_save(t, folder_path("x.safetensors")), IG_OK);
        ig_tensors *back = tensors_need(ig_tensors_load(folder_path("x.safetensors")));
        assert_int_equal(ig_tensors_count(back), MANY);
        for (int i = 0; i < MANY; i++) {
            snprintf(name, sizeof name, "layers.%06d", i);
            assert_ptr_equal(ig_tensors_get(t, name), x);
            assert_non_null(ig_tensors_get(back, name));
            assert_string_equal(ig_tensors_name(t, i), ig_tensors_name(back, i));
        }
        assert_null(ig_tensors_get(t, "layers.020000"));
        assert_null(ig_tensors_get(t, ""));
        assert_null(ig_tensors_get(t, "z"));
        ig_tensors_free(back);
        ig_tensors_free(t);
    }
}

/* ---- valid files ---------------------------------------------------------------------------- */

static const struct shape {
    int n;
    int64_t v[IG_MAX_NDIM];
} shapes[] = {
    {0, {0}},
    {1, {1}},
    {1, {0}},
    {1, {13}},
    {2, {3, 5}},
    {2, {0, 7}},
    {2, {7, 0}},
    {3, {2, 3, 4}},
    {8, {1, 2, 1, 3, 1, 2, 1, 2}},
    {16, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}},
};

/* All dtypes and shapes in one file, with each element aligned. */
static void test_round_trip(void **state)
{
    (void)state;
    unsigned char data[256];
    char name[64];
    ig_tensors *t = tensors_need(ig_tensors_new());
    for (ig_dtype dtype = IG_BOOL; dtype <= IG_F64; dtype++)
        for (size_t i = 0; i < COUNT(shapes); i++) {
            tensors_fill(data, sizeof data, dtype);
            snprintf(name, sizeof name, "%s/%zu", ig_dtype_name(dtype), i);
            ig_array *x = ig_from_data(data, (ig_ints){shapes[i].v, shapes[i].n}, dtype);
            assert_int_equal(ig_tensors_put(t, name, x), IG_OK);
        }
    assert_int_equal(ig_tensors_put_text(t, "format", "pt"), IG_OK);
    assert_int_equal(
        ig_tensors_put_text(t, "quotes \" \\ \n \xc3\xa9 \xf0\x9d\x84\x9e", "\x01\x1f\x7f"), IG_OK);
    assert_int_equal(ig_tensors_save(t, folder_path("x.safetensors")), IG_OK);
    folder_get(folder_path("x.safetensors"));
    assert_int_equal(folder_content[0] % 8, 0);
    ig_tensors_free(t);

    ig_tensors *back = tensors_need(ig_tensors_load(folder_path("x.safetensors")));
    int at = 0;
    for (ig_dtype dtype = IG_BOOL; dtype <= IG_F64; dtype++)
        for (size_t i = 0; i < COUNT(shapes); i++, at++) {
            tensors_fill(data, sizeof data, dtype);
            snprintf(name, sizeof name, "%s/%zu", ig_dtype_name(dtype), i);
            assert_string_equal(ig_tensors_name(back, at), name);
            assert_array(ig_tensors_get(back, name), dtype, (ig_ints){shapes[i].v, shapes[i].n},
                         data);
        }
    assert_int_equal(ig_tensors_count(back), at);
    assert_string_equal(ig_tensors_text(back, "format"), "pt");
    assert_string_equal(ig_tensors_text(back, "quotes \" \\ \n \xc3\xa9 \xf0\x9d\x84\x9e"),
                        "\x01\x1f\x7f");

    /* Loaded and saved again, the file has the same bytes. */
    assert_int_equal(ig_tensors_save(back, folder_path("y.safetensors")), IG_OK);
    static unsigned char first[FOLDER_FILE_MAX];
    const size_t size = folder_get(folder_path("x.safetensors"));
    memcpy(first, folder_content, size);
    assert_int_equal(folder_get(folder_path("y.safetensors")), size);
    assert_memory_equal(folder_content, first, size);
    ig_tensors_free(back);
    assert_int_equal(folder_entries(), 2);
}

/* Names are listed in order; in the data, the widest elements come first. */
static void test_golden_bytes(void **state)
{
    (void)state;
    static const char golden[] =
        "\x90\0\0\0\0\0\0\0"
        "{\"__metadata__\":{\"step\":\"7\"},"
        "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[8,11]},"
        "\"w\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}       "
        "\x00\x00\xc0\x3f\x00\x00\x00\xc0\x01\x02\x03";
    ig_tensors *t = tensors_need(ig_tensors_new());
    ig_tensors_put(t, "b", ig_from_data("\1\2\3", IG_SHAPE(3), IG_U8));
    ig_tensors_put(t, "w", ig_from_data((float[]){1.5f, -2}, IG_SHAPE(1, 2), IG_F32));
    ig_tensors_put_text(t, "step", "7");
    assert_int_equal(ig_tensors_save(t, folder_path("x.safetensors")), IG_OK);
    assert_int_equal(folder_get(folder_path("x.safetensors")), sizeof golden - 1);
    assert_memory_equal(folder_content, golden, sizeof golden - 1);
    ig_tensors_free(t);

    /* The empty set is a file too. */
    t = tensors_need(ig_tensors_new());
    assert_int_equal(ig_tensors_save(t, folder_path("x.safetensors")), IG_OK);
    assert_int_equal(folder_get(folder_path("x.safetensors")), 16);
    assert_memory_equal(folder_content, "\10\0\0\0\0\0\0\0{}      ", 16);
    ig_tensors_free(t);
    t = tensors_need(ig_tensors_load(folder_path("x.safetensors")));
    assert_int_equal(ig_tensors_count(t), 0);
    ig_tensors_free(t);
}

/* Views, and arrays that are not evaluated yet. */
static void test_save_views(void **state)
{
    (void)state;
    const int32_t data[] = {1, 2, 3, 4, 5, 6}, turned[] = {1, 4, 2, 5, 3, 6}, ends[] = {3, 1, 6, 4};
    ig_array *x = ig_from_data(data, IG_SHAPE(2, 3), IG_I32);
    ig_tensors *t = tensors_need(ig_tensors_new());
    ig_tensors_put(t, "turned", ig_permute_dims(x, IG_AXES(1, 0)));
    ig_tensors_put(t, "ends", ig_slice(x, IG_SHAPE(0, 2), IG_SHAPE(2, INT64_MIN), IG_SHAPE(1, -2)));
    ig_tensors_put(t, "spread", ig_broadcast_to(ig_scalar(7, IG_I32), IG_SHAPE(2, 2)));
    ig_tensors_put(t, "lazy", ig_add(x, x));
    ig_tensors_put(t, "none", ig_slice(x, IG_SHAPE(2), IG_SHAPE(2), IG_NONE));
    assert_int_equal(ig_tensors_save(t, folder_path("x.safetensors")), IG_OK);
    ig_tensors_free(t);
    t = tensors_need(ig_tensors_load(folder_path("x.safetensors")));
    assert_array(ig_tensors_get(t, "turned"), IG_I32, IG_SHAPE(3, 2), turned);
    assert_array(ig_tensors_get(t, "ends"), IG_I32, IG_SHAPE(2, 2), ends);
    assert_array(ig_tensors_get(t, "spread"), IG_I32, IG_SHAPE(2, 2), (int32_t[]){7, 7, 7, 7});
    assert_array(ig_tensors_get(t, "lazy"), IG_I32, IG_SHAPE(2, 3),
                 (int32_t[]){2, 4, 6, 8, 10, 12});
    assert_array(ig_tensors_get(t, "none"), IG_I32, IG_SHAPE(0, 3), NULL);
    ig_tensors_free(t);
}

/* Headers of other writers. */
static void test_other_headers(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t bytes;
        int count;
    } rows[] = {
        {"{}", 0, 0},
        {"{\"__metadata__\":{}}", 0, 0},
        {"{\"a\":{\"data_offsets\":[0,2],\"shape\":[2],\"dtype\":\"U8\"}}", 2, 1},
        {"{ \"a\" : {\"dtype\":\"\\u00558\",\"shape\":[ 2 ],\"data_offsets\":[0,2]}\n}    ", 2, 1},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]},"
         "\"b\":{\"dtype\":\"I8\",\"shape\":[],\"data_offsets\":[0,1]}}",
         2, 2},
        {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]},\"__metadata__\":{\"a\":"
         "\"b\"}}",
         2, 1},
        /* empty tensors between two adjacent ones, before the first, after the last */
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[1,1]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]},"
         "\"c\":{\"dtype\":\"F64\",\"shape\":[0,9],\"data_offsets\":[3,3]},"
         "\"d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
         "\"e\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
         3, 5},
        /* elements need not be aligned */
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
         "\"b\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[1,9]}}",
         9, 2},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        ig_tensors *t = tensors_need(tensors_of(rows[i].header, rows[i].bytes));
        assert_int_equal(ig_tensors_count(t), rows[i].count);
        ig_tensors_free(t);
    }
}

/* Floats of 8 bits stay as they are, and are seen as f32. */
static void test_small_floats(void **state)
{
    (void)state;
    static const char header[] =
        "{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[2,2],\"data_offsets\":[0,4]},"
        "\"b\":{\"dtype\":\"F8_E5M2\",\"shape\":[3],\"data_offsets\":[4,7]}}";
    static const unsigned char data[] = {0x38, 0xc0, 0x7e, 0x01, 0x3c, 0xc2, 0x7c};
    static const float a[] = {1, -2, 448, 0x1p-9f}, b[] = {1, -3, INFINITY};
    const char *path = folder_path("x.safetensors");
    folder_put(path, folder_content,
               tensors_file(folder_content, header, strlen(header), data, sizeof data));
    for (int i = 0; i < 2; i++) {
        ig_tensors *t = tensors_need(i ? ig_tensors_map(path) : ig_tensors_load(path));
        ig_array *x = ig_tensors_get(t, "a"), *y = ig_tensors_get(t, "b");
        ig_storage s;
        assert_int_equal(ig_dtype_of(x), IG_F32);
        assert_memory_equal(ig_data(x), a, sizeof a);
        assert_memory_equal(ig_data(y), b, sizeof b);
        assert_int_equal(ig_storage_of(x, &s), IG_OK);
        assert_string_equal(s.format, "f8_e4m3");
        assert_int_equal(s.bytes, 4);
        assert_int_equal(ig_storage_of(y, &s), IG_OK);
        assert_string_equal(s.format, "f8_e5m2");
        /* a saved file has their values as f32 */
        const char *saved = folder_path("y.safetensors");
        assert_int_equal(ig_tensors_save(t, saved), IG_OK);
        ig_tensors *again = tensors_need(ig_tensors_load(saved));
        assert_memory_equal(ig_data(ig_tensors_get(again, "a")), a, sizeof a);
        ig_tensors_free(again);
        ig_tensors_free(t);
    }
}

/* ---- pipes --------------------------------------------------------------------------------- */

static ig_tensors *load_piped(const unsigned char *data, size_t bytes)
{
    ig_tensors *t = ig_tensors_load(folder_feed(data, bytes));
    folder_feed_end();
    return t;
}

static void test_pipe(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    ig_tensors *t = tensors_need(ig_tensors_new());
    ig_tensors_put(t, "x", ig_arange(0, 50000, 1, IG_F32));
    assert_int_equal(ig_tensors_save(t, folder_path("x.safetensors")), IG_OK);
    ig_tensors_free(t);
    const size_t size = folder_get(folder_path("x.safetensors"));
    t = tensors_need(load_piped(folder_content, size));
    assert_true(ig_item(ig_max(ig_tensors_get(t, "x"), IG_NONE, false)) == 49999);
    ig_tensors_free(t);
    assert_null(load_piped(folder_content, size - 1));
    assert_error(IG_ERR_FORMAT, "tensor 'x' is cut short: 200000 bytes are expected, 199999 found");
    assert_null(load_piped(folder_content, size + 1));
    assert_error(IG_ERR_FORMAT, "unexpected bytes follow its tensors");
    assert_null(load_piped(folder_content, 20));
    assert_error(IG_ERR_FORMAT, "bytes of header are promised, 12 are there");
    assert_null(load_piped(folder_content, 0));
    assert_error(IG_ERR_FORMAT, "it is empty");

    /* A size promised by a pipe allocates nothing. */
    unsigned char file[256];
    static const char header[] =
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1000000000000],\"data_offsets\":[0,1000000000000]}}";
    const uint64_t limit = ig_memory_limit();
    ig_set_memory_limit(UINT64_C(1) << 50);
    t = load_piped(file, tensors_file(file, header, strlen(header), "abc", 3));
    ig_set_memory_limit(limit);
    assert_null(t);
    assert_error(IG_ERR_FORMAT, "1000000000000 bytes are expected, 3 found");
}

/* ---- writes that fail ---------------------------------------------------------------------- */

static ig_tensors *two_tensors(void)
{
    ig_tensors *t = tensors_need(ig_tensors_new());
    ig_tensors_put(t, "a", ig_from_data((int64_t[]){1, 2}, IG_SHAPE(2), IG_I64));
    ig_tensors_put(t, "b", ig_from_data("\1\2\3", IG_SHAPE(3), IG_U8));
    return t;
}

static void test_full_device(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    ig_tensors *t = two_tensors();
    assert_int_equal(ig_tensors_save(t, "/dev/full"), IG_ERR_FILE);
    assert_error(IG_ERR_FILE,
                 "save '/dev/full': it cannot be written: No space left on device; free");
    assert_int_equal(access("/dev/full", F_OK), 0);
    ig_tensors_free(t);
}

/* Saves with the file size limited to bytes. */
static ig_status save_limited(const ig_tensors *t, const char *path, rlim_t bytes)
{
    struct rlimit old, low;
    getrlimit(RLIMIT_FSIZE, &old);
    low = (struct rlimit){bytes, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &low);
    const ig_status status = ig_tensors_save(t, path);
    setrlimit(RLIMIT_FSIZE, &old);
    return status;
}

/* The write fails after each number of bytes: the old file stays, without other files. */
static void test_write_fails_anywhere(void **state)
{
    (void)state;
    const char *path = folder_path("x.safetensors");
    ig_tensors *t = two_tensors();
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(ig_tensors_save(t, path), IG_OK);
    const rlim_t size = folder_get(path);
    for (rlim_t bytes = 0; bytes < size; bytes++) {
        folder_put(path, "old content", 11);
        assert_int_equal(save_limited(t, path, bytes), IG_ERR_FILE);
        assert_error(IG_ERR_FILE, "it cannot be written: File too large; raise");
        assert_int_equal(folder_get(path), 11);
        assert_memory_equal(folder_content, "old content", 11);
        assert_int_equal(folder_entries(), 1);
    }
    assert_int_equal(save_limited(t, path, size), IG_OK);
    ig_tensors_free(t);
    t = tensors_need(ig_tensors_load(path));
    assert_array(ig_tensors_get(t, "a"), IG_I64, IG_SHAPE(2), (int64_t[]){1, 2});
    assert_array(ig_tensors_get(t, "b"), IG_U8, IG_SHAPE(3), "\1\2\3");
    ig_tensors_free(t);
    t = two_tensors();
    assert_int_equal(ig_tensors_save(t, folder_path("no/x.safetensors")), IG_ERR_FILE);
    assert_error(IG_ERR_FILE, "the file cannot be created: No such file or directory; check");
    assert_int_equal(ig_tensors_save(t, NULL), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "save: no path");
    ig_tensors_free(t);
}

/* An array that cannot be computed leaves the old file too. */
static void test_compute_fails(void **state)
{
    (void)state;
    const char *path = folder_path("x.safetensors");
    folder_put(path, "old content", 11);
    ig_tensors *t = tensors_need(ig_tensors_new());
    ig_tensors_put(t, "x", ig_arange(0, 100000, 1, IG_F64));
    const uint64_t limit = ig_memory_limit();
    ig_set_memory_limit(ig_memory_used() + 1000);
    assert_int_equal(ig_tensors_save(t, path), IG_ERR_MEMORY);
    ig_set_memory_limit(limit);
    assert_error(IG_ERR_MEMORY, "limit");
    ig_tensors_free(t);
    assert_int_equal(folder_get(path), 11);
    assert_int_equal(folder_entries(), 1);
}

/* One more name, or more bytes of text, than the format's header can hold. */
static void test_header_too_long(void **state)
{
    (void)state;
    const size_t length = 100 << 20;
    char *value = malloc(length + 1);
    assert_non_null(value);
    memset(value, 'v', length);
    value[length] = '\0';
    ig_tensors *t = two_tensors();
    assert_int_equal(ig_tensors_put_text(t, "k", value), IG_OK);
    free(value);
    assert_int_equal(ig_tensors_save(t, folder_path("x.safetensors")), IG_ERR_UNSUPPORTED);
    assert_error(IG_ERR_UNSUPPORTED, "bytes, and the format allows 100000000; save fewer");
    ig_tensors_free(t);
    assert_int_equal(folder_entries(), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, folder_begin, folder_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_set),           TEST(test_set_owns),        TEST(test_set_mistakes),
        TEST(test_many),          TEST(test_round_trip),      TEST(test_golden_bytes),
        TEST(test_save_views),    TEST(test_other_headers),   TEST(test_small_floats),
        TEST(test_pipe),          TEST(test_full_device),     TEST(test_write_fails_anywhere),
        TEST(test_compute_fails), TEST(test_header_too_long),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
