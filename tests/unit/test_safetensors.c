/* ig_tensors without another reader: the set, round trips, golden bytes, violations of every rule
 * of the format, failing writes. tests/test_safetensors.py compares it with the format's own
 * package, and tests/test_kill_save.py kills a process while it saves.
 * */
#include "support/folder.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ---- helpers ------------------------------------------------------------------------------- */

/* A file with this header and these bytes of data; returns its size. */
static size_t build(unsigned char *out, const char *header, size_t length, const void *data,
                    size_t bytes)
{
    for (int i = 0; i < 8; i++)
        out[i] = (unsigned char)((uint64_t)length >> 8 * i);
    memcpy(out + 8, header, length);
    if (bytes)
        memcpy(out + 8 + length, data, bytes);
    return 8 + length + bytes;
}

/* Loads a file with this header and this many bytes of data: 0, 1, 0, 1, ... */
static ig_tensors *load_text(const char *header, size_t bytes)
{
    unsigned char data[256];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = i & 1;
    const char *path = folder_path("x.safetensors");
    const size_t size = build(folder_content, header, strlen(header), data, bytes);
    folder_put(path, folder_content, size);
    return ig_tensors_load(path);
}

/* Bytes that are all different within an element; 0 and 1 for bool. */
static void fill(unsigned char *out, size_t bytes, ig_dtype dtype)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = dtype == IG_BOOL ? i % 3 == 1 : (unsigned char)(7 * i + 1);
}

static ig_tensors *must(ig_tensors *t)
{
    if (!t)
        fail_msg("%s", ig_error(NULL));
    return t;
}

/* ---- the set ------------------------------------------------------------------------------- */

static void test_set(void **state)
{
    (void)state;
    ig_tensors *t = must(ig_tensors_new());
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
    ig_tensors *t = must(ig_tensors_new());
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
    ig_tensors *t = must(ig_tensors_new());
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
        ig_tensors *t = must(ig_tensors_new());
        for (int i = 0; i < MANY; i++) {
            const int key = turn == 0 ? i : turn == 1 ? MANY - 1 - i : i * 7919 % MANY;
            snprintf(name, sizeof name, "layers.%06d", key);
            assert_int_equal(ig_tensors_put(t, name, x), IG_OK);
        }
        assert_int_equal(ig_tensors_count(t), MANY);
        assert_int_equal(ig_tensors_save(t, folder_path("x.safetensors")), IG_OK);
        ig_tensors *back = must(ig_tensors_load(folder_path("x.safetensors")));
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
    ig_tensors *t = must(ig_tensors_new());
    for (ig_dtype dtype = IG_BOOL; dtype <= IG_F64; dtype++)
        for (size_t i = 0; i < COUNT(shapes); i++) {
            fill(data, sizeof data, dtype);
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

    ig_tensors *back = must(ig_tensors_load(folder_path("x.safetensors")));
    int at = 0;
    for (ig_dtype dtype = IG_BOOL; dtype <= IG_F64; dtype++)
        for (size_t i = 0; i < COUNT(shapes); i++, at++) {
            fill(data, sizeof data, dtype);
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
    ig_tensors *t = must(ig_tensors_new());
    ig_tensors_put(t, "b", ig_from_data("\1\2\3", IG_SHAPE(3), IG_U8));
    ig_tensors_put(t, "w", ig_from_data((float[]){1.5f, -2}, IG_SHAPE(1, 2), IG_F32));
    ig_tensors_put_text(t, "step", "7");
    assert_int_equal(ig_tensors_save(t, folder_path("x.safetensors")), IG_OK);
    assert_int_equal(folder_get(folder_path("x.safetensors")), sizeof golden - 1);
    assert_memory_equal(folder_content, golden, sizeof golden - 1);
    ig_tensors_free(t);

    /* The empty set is a file too. */
    t = must(ig_tensors_new());
    assert_int_equal(ig_tensors_save(t, folder_path("x.safetensors")), IG_OK);
    assert_int_equal(folder_get(folder_path("x.safetensors")), 16);
    assert_memory_equal(folder_content, "\10\0\0\0\0\0\0\0{}      ", 16);
    ig_tensors_free(t);
    t = must(ig_tensors_load(folder_path("x.safetensors")));
    assert_int_equal(ig_tensors_count(t), 0);
    ig_tensors_free(t);
}

/* Views, and arrays that are not evaluated yet. */
static void test_save_views(void **state)
{
    (void)state;
    const int32_t data[] = {1, 2, 3, 4, 5, 6}, turned[] = {1, 4, 2, 5, 3, 6}, ends[] = {3, 1, 6, 4};
    ig_array *x = ig_from_data(data, IG_SHAPE(2, 3), IG_I32);
    ig_tensors *t = must(ig_tensors_new());
    ig_tensors_put(t, "turned", ig_permute_dims(x, IG_AXES(1, 0)));
    ig_tensors_put(t, "ends", ig_slice(x, IG_SHAPE(0, 2), IG_SHAPE(2, INT64_MIN), IG_SHAPE(1, -2)));
    ig_tensors_put(t, "spread", ig_broadcast_to(ig_scalar(7, IG_I32), IG_SHAPE(2, 2)));
    ig_tensors_put(t, "lazy", ig_add(x, x));
    ig_tensors_put(t, "none", ig_slice(x, IG_SHAPE(2), IG_SHAPE(2), IG_NONE));
    assert_int_equal(ig_tensors_save(t, folder_path("x.safetensors")), IG_OK);
    ig_tensors_free(t);
    t = must(ig_tensors_load(folder_path("x.safetensors")));
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
        ig_tensors *t = must(load_text(rows[i].header, rows[i].bytes));
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
               build(folder_content, header, strlen(header), data, sizeof data));
    for (int i = 0; i < 2; i++) {
        ig_tensors *t = must(i ? ig_tensors_map(path) : ig_tensors_load(path));
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
        ig_tensors *again = must(ig_tensors_load(saved));
        assert_memory_equal(ig_data(ig_tensors_get(again, "a")), a, sizeof a);
        ig_tensors_free(again);
        ig_tensors_free(t);
    }
}

/* ---- invalid files -------------------------------------------------------------------------- */

#define ENTRY(dtype, shape, offsets) \
    "{\"a\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define AFTER(shape, offsets) \
    "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}," \
    "\"b\":{\"dtype\":\"U8\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static const struct damage {
    const char *header;
    size_t bytes;
    ig_status code;
    const char *message;
} damages[] = {
    /* the JSON */
    {"", 0, IG_ERR_FORMAT, "does not begin with '{'"},
    {" {}", 0, IG_ERR_FORMAT, "does not begin with '{'"},
    {"[]", 0, IG_ERR_FORMAT, "does not begin with '{'"},
    {"{", 0, IG_ERR_FORMAT,
     "its header is not valid at byte 1: expected a key in quotes, found the end"},
    {"{}}", 0, IG_ERR_FORMAT, "goes on at byte 2, where only spaces may follow"},
    {"{}\n", 0, IG_ERR_FORMAT, "goes on at byte 2"},
    {"{} x", 0, IG_ERR_FORMAT, "goes on at byte 3"},
    {"{}{}", 0, IG_ERR_FORMAT, "goes on at byte 2"},
    {"{\"a\":1}", 0, IG_ERR_FORMAT, "at byte 5: expected an object, found '1}'"},
    {"{\"a\":[]}", 0, IG_ERR_FORMAT, "expected an object"},
    {"{\"a\":null}", 0, IG_ERR_FORMAT, "expected an object"},
    {"{\"\xff\":{}}", 0, IG_ERR_FORMAT, "expected valid UTF-8"},
    {"{\"a\\u0000\":{}}", 0, IG_ERR_UNSUPPORTED, "at byte 2 of its header contains a zero byte"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
     "\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
     0, IG_ERR_FORMAT, "expected each key once"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
     "\"\\u0061\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
     0, IG_ERR_FORMAT, "expected each key once"},
    /* metadata */
    {"{\"__metadata__\":null}", 0, IG_ERR_FORMAT, "at byte 16: expected an object"},
    {"{\"__metadata__\":[]}", 0, IG_ERR_FORMAT, "expected an object"},
    {"{\"__metadata__\":{\"a\":1}}", 0, IG_ERR_FORMAT,
     "at byte 21: expected a string, found '1}}'"},
    {"{\"__metadata__\":{\"a\":null}}", 0, IG_ERR_FORMAT, "expected a string"},
    {"{\"__metadata__\":{\"a\":{}}}", 0, IG_ERR_FORMAT, "expected a string"},
    {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, IG_ERR_FORMAT, "expected each key once"},
    {"{\"__metadata__\":{\"a\":\"\\u0000\"}}", 0, IG_ERR_UNSUPPORTED, "contains a zero byte"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, IG_ERR_FORMAT, "expected each key once"},
    /* the fields */
    {"{\"a\":{}}", 0, IG_ERR_FORMAT, "tensor 'a' has no 'dtype'"},
    {"{\"a\":{\"shape\":[0],\"data_offsets\":[0,0]}}", 0, IG_ERR_FORMAT, "has no 'dtype'"},
    {"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,0]}}", 0, IG_ERR_FORMAT, "has no 'shape'"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0]}}", 0, IG_ERR_FORMAT, "has no 'data_offsets'"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"x\":1}}", 0, IG_ERR_FORMAT,
     "has a field other than dtype, shape and data_offsets (at byte 53"},
    {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0,
     IG_ERR_FORMAT, "expected each key once"},
    {"{\"a\":{\"Dtype\":\"U8\"}}", 0, IG_ERR_FORMAT, "has a field other than"},
    {"{\"line\\nbreak\":{}}", 0, IG_ERR_FORMAT, "tensor 'line?break' has no"},
    /* dtype */
    {ENTRY("F8_E4M3FN", "[1]", "[0,1]"), 1, IG_ERR_UNSUPPORTED,
     "tensor 'a' has dtype 'F8_E4M3FN', which"},
    {ENTRY("F4", "[1]", "[0,1]"), 1, IG_ERR_UNSUPPORTED, "convert it to one of BOOL"},
    {ENTRY("F8_E4M3", "[2]", "[0,8]"), 8, IG_ERR_FORMAT, "needs 2 bytes by its shape"},
    {ENTRY("C32", "[1]", "[0,8]"), 8, IG_ERR_UNSUPPORTED, "has dtype 'C32'"},
    {ENTRY("f32", "[1]", "[0,4]"), 4, IG_ERR_UNSUPPORTED, "has dtype 'f32'"},
    {ENTRY("F32 ", "[1]", "[0,4]"), 4, IG_ERR_UNSUPPORTED, "has dtype 'F32 '"},
    {ENTRY("", "[1]", "[0,4]"), 4, IG_ERR_UNSUPPORTED, "has dtype ''"},
    {"{\"a\":{\"dtype\":8}}", 0, IG_ERR_FORMAT, "at byte 14: expected a string, found '8}}'"},
    {"{\"a\":{\"dtype\":null}}", 0, IG_ERR_FORMAT, "expected a string"},
    /* shape */
    {ENTRY("U8", "4", "[0,4]"), 4, IG_ERR_FORMAT, "expected an array, found '4"},
    {ENTRY("U8", "\"4\"", "[0,4]"), 4, IG_ERR_FORMAT, "expected an array"},
    {ENTRY("U8", "[-1]", "[0,4]"), 4, IG_ERR_FORMAT,
     "expected an integer from 0 to 2**64 - 1, found '-1]"},
    {ENTRY("U8", "[4.0]", "[0,4]"), 4, IG_ERR_FORMAT, "expected an integer"},
    {ENTRY("U8", "[\"4\"]", "[0,4]"), 4, IG_ERR_FORMAT, "expected a number"},
    {ENTRY("U8", "[[4]]", "[0,4]"), 4, IG_ERR_FORMAT, "expected a number"},
    {ENTRY("U8", "[4,]", "[0,4]"), 4, IG_ERR_FORMAT, "expected a number"},
    {ENTRY("U8", "[9223372036854775808]", "[0,4]"), 4, IG_ERR_FORMAT,
     "an axis of length 9223372036854775808"},
    {ENTRY("U8", "[99999999999999999999999]", "[0,4]"), 4, IG_ERR_FORMAT, "expected an integer"},
    {ENTRY("U8", "[9223372036854775807,4]", "[0,4]"), 4, IG_ERR_FORMAT,
     "more elements than can be addressed"},
    {ENTRY("F32", "[4611686018427387904]", "[0,4]"), 4, IG_ERR_FORMAT,
     "more elements than can be addressed"},
    {ENTRY("F32", "[4294967296,4294967296]", "[0,0]"), 0, IG_ERR_FORMAT,
     "more elements than can be addressed"},
    {ENTRY("U8", "[0,4294967296,4294967296]", "[0,0]"), 0, IG_ERR_FORMAT,
     "more elements than can be addressed"},
    {ENTRY("U8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,1]"), 1, IG_ERR_UNSUPPORTED,
     "tensor 'a' has 17 axes, and Ingot allows 16"},
    /* data_offsets */
    {ENTRY("U8", "[4]", "4"), 4, IG_ERR_FORMAT, "expected an array"},
    {ENTRY("U8", "[4]", "[]"), 4, IG_ERR_FORMAT, "data_offsets that are not [begin, end]"},
    {ENTRY("U8", "[4]", "[4]"), 4, IG_ERR_FORMAT, "data_offsets that are not [begin, end]"},
    {ENTRY("U8", "[4]", "[0,4,4]"), 4, IG_ERR_FORMAT, "data_offsets that are not [begin, end]"},
    {ENTRY("U8", "[4]", "[4,0]"), 4, IG_ERR_FORMAT, "data_offsets that are not [begin, end]"},
    {ENTRY("U8", "[4]", "[-4,0]"), 4, IG_ERR_FORMAT, "expected an integer"},
    {ENTRY("U8", "[4]", "[0,4.0]"), 4, IG_ERR_FORMAT, "expected an integer"},
    {ENTRY("U8", "[4]", "[18446744073709551612,18446744073709551616]"), 4, IG_ERR_FORMAT,
     "expected an integer"},
    {ENTRY("U8", "[3]", "[0,4]"), 4, IG_ERR_FORMAT,
     "tensor 'a' needs 3 bytes by its shape and has 4 by its data_offsets"},
    {ENTRY("F32", "[2]", "[0,4]"), 4, IG_ERR_FORMAT, "needs 8 bytes by its shape and has 4"},
    {ENTRY("U8", "[]", "[0,0]"), 0, IG_ERR_FORMAT, "needs 1 bytes by its shape and has 0"},
    {ENTRY("U8", "[0]", "[0,1]"), 1, IG_ERR_FORMAT, "needs 0 bytes by its shape and has 1"},
    /* the layout */
    {ENTRY("U8", "[4]", "[1,5]"), 5, IG_ERR_FORMAT,
     "tensor 'a' begins at byte 1 of the data, and the one before it ends at 0"},
    {AFTER("[4]", "[5,9]"), 9, IG_ERR_FORMAT,
     "tensor 'b' begins at byte 5 of the data, and the one before it ends at 4"},
    {AFTER("[4]", "[3,7]"), 7, IG_ERR_FORMAT, "tensor 'b' begins at byte 3"},
    {AFTER("[4]", "[0,4]"), 4, IG_ERR_FORMAT,
     "begins at byte 0 of the data, and the one before it ends at 4"},
    {AFTER("[2]", "[1,3]"), 4, IG_ERR_FORMAT, "tensor 'b' begins at byte 1"},
    {AFTER("[0]", "[2,2]"), 4, IG_ERR_FORMAT, "tensor 'b' begins at byte 2"},
    {AFTER("[0]", "[5,5]"), 5, IG_ERR_FORMAT, "tensor 'b' begins at byte 5"},
    {ENTRY("U8", "[4]", "[18446744073709551611,18446744073709551615]"), 4, IG_ERR_FORMAT,
     "begins at byte 18446744073709551611"},
    /* the file's size */
    {ENTRY("U8", "[4]", "[0,4]"), 3, IG_ERR_FORMAT,
     "cut short: 4 bytes of data are expected, 3 found"},
    {ENTRY("U8", "[4]", "[0,4]"), 0, IG_ERR_FORMAT,
     "cut short: 4 bytes of data are expected, 0 found"},
    {ENTRY("U8", "[4]", "[0,4]"), 5, IG_ERR_FORMAT, "1 unexpected bytes follow its tensors"},
    {"{}", 2, IG_ERR_FORMAT, "2 unexpected bytes follow its tensors"},
    {ENTRY("U8", "[1000000000000]", "[0,1000000000000]"), 4, IG_ERR_FORMAT,
     "1000000000000 bytes of data are expected, 4 found"},
};

static void test_damaged_headers(void **state)
{
    (void)state;
    const int64_t live = memory_live();
    for (size_t i = 0; i < COUNT(damages); i++) {
        print_message("  %s\n", damages[i].message);
        assert_null(load_text(damages[i].header, damages[i].bytes));
        assert_error(damages[i].code, damages[i].message);
    }
    assert_int_equal(memory_live(), live);
    assert_int_equal(folder_entries(), 1);
}

/* Bools are 0 or 1: ops would disagree about 2. */
static void test_bool_bytes(void **state)
{
    (void)state;
    static const char header[] =
        "{\"a\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,3]}}";
    const char *path = folder_path("x.safetensors");
    for (int value = 2; value < 256; value += value < 4 ? 1 : 63) {
        const unsigned char data[] = {0, 1, (unsigned char)value};
        char message[64];
        folder_put(path, folder_content, build(folder_content, header, strlen(header), data, 3));
        assert_null(ig_tensors_load(path));
        snprintf(message, sizeof message, "is BOOL, and its element 2 is %d, neither 0 nor 1",
                 value);
        assert_error(IG_ERR_FORMAT, message);
    }
}

static const char small[] = "{\"__metadata__\":{\"k\":\"v\"},\"a\":{\"dtype\":\"BOOL\",\"shape\":["
                            "2],\"data_offsets\":[4,6]},"
                            "\"b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}  ";

/* Every truncation is rejected; every byte set to each of several values gives a set or an
 * error. */
static void test_every_byte_damaged(void **state)
{
    (void)state;
    static const unsigned char values[] = {0,   1,   2,   ' ', '"', '\\', ',',
                                           '0', '9', '[', '}', 127, 255};
    unsigned char good[256], bad[257];
    const size_t size = build(good, small, strlen(small), "\0\0\x80\x3f\0\1", 6);
    const char *path = folder_path("x.safetensors");
    const int64_t live = memory_live();
    for (size_t cut = 0; cut < size; cut++) {
        folder_put(path, good, cut);
        assert_null(ig_tensors_load(path));
        assert_error(IG_ERR_FORMAT, cut ? "cut short" : "it is empty");
    }
    memcpy(bad, good, size);
    bad[size] = 0;
    folder_put(path, bad, size + 1);
    assert_null(ig_tensors_load(path));
    assert_error(IG_ERR_FORMAT, "1 unexpected bytes follow its tensors");
    for (size_t i = 0; i < size; i++)
        for (size_t k = 0; k < COUNT(values); k++) {
            memcpy(bad, good, size);
            bad[i] = values[k];
            folder_put(path, bad, size);
            ig_tensors *t = ig_tensors_load(path);
            assert_int_equal(t == NULL, ig_failed());
            ig_error(NULL);
            ig_tensors_free(t);
        }
    assert_int_equal(memory_live(), live);
}

static void test_header_length(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } files[] = {
        {"", 0, "it is empty"},
        {"\2\0\0\0\0\0\0", 7, "8 bytes of header are promised, 7 are there"},
        {"\2\0\0\0\0\0\0\0{", 9, "2 bytes of header are promised, 1 are there"},
        {"\1\xe1\xf5\5\0\0\0\0{}", 10,
         "claims to be 100000001 bytes long, and the format allows 100000000"},
        {"\0\xe1\xf5\5\0\0\0\0{}", 10, "100000000 bytes of header are promised, 2 are there"},
        {"\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, "claims to be 18446744073709551615 bytes long"},
        {"\0\0\0\0\0\0\0\x80{}", 10, "claims to be 9223372036854775808 bytes long"},
        {"\x93NUMPY\1\0", 8, "not a safetensors file, or is damaged"},
        {"\0\0\0\0\0\0\0\0", 8, "does not begin with '{'"},
    };
    for (size_t i = 0; i < COUNT(files); i++) {
        folder_put(folder_path("x.safetensors"), files[i].bytes, files[i].size);
        assert_null(ig_tensors_load(folder_path("x.safetensors")));
        assert_error(IG_ERR_FORMAT, files[i].message);
    }
    assert_null(ig_tensors_load(NULL));
    assert_error(IG_ERR_ARGUMENT, "load: no path");
    assert_null(ig_tensors_load(folder_path("no.safetensors")));
    assert_error(IG_ERR_FILE,
                 "no.safetensors': it cannot be opened: No such file or directory; check");
}

/* The header is trusted only after checks against the file and the limit. */
static void test_memory_limit(void **state)
{
    (void)state;
    ig_tensors *t = must(ig_tensors_new());
    ig_tensors_put(t, "a", ig_zeros(IG_SHAPE(1000), IG_F32));
    ig_tensors_put(t, "b", ig_zeros(IG_SHAPE(1000), IG_F32));
    assert_int_equal(ig_tensors_save(t, folder_path("x.safetensors")), IG_OK);
    ig_tensors_free(t);
    const uint64_t limit = ig_memory_limit();
    assert_int_equal(ig_set_memory_limit(ig_memory_used() + 7999), IG_OK);
    t = ig_tensors_load(folder_path("x.safetensors"));
    ig_set_memory_limit(limit);
    assert_null(t);
    assert_error(IG_ERR_MEMORY, "it needs 7.8 KiB, and the memory limit of");
}

/* The n-th allocation fails, for every n: nothing leaks, and nothing else changes. */
static void test_no_memory(void **state)
{
    (void)state;
    const char *path = folder_path("x.safetensors");
    const int64_t live = memory_live();
    bool done = false;
    for (int64_t n = 1; !done; n++) {
        assert_true(n < 1000);
        ig_scope_begin();
        memory_fail_at(n);
        ig_tensors *t = ig_tensors_new();
        ig_array *x = ig_from_data((float[]){1, 2}, IG_SHAPE(2), IG_F32);
        ig_status status = t ? ig_tensors_put(t, "x", x) : IG_ERR_MEMORY;
        if (status == IG_OK)
            status = ig_tensors_put_text(t, "k", "v");
        if (status == IG_OK)
            status = ig_tensors_put(t, "y", ig_add(x, x));
        if (status == IG_OK)
            status = ig_tensors_save(t, path);
        ig_tensors_free(t);
        ig_tensors *back = status == IG_OK ? ig_tensors_load(path) : NULL;
        memory_fail_at(0);
        done = back != NULL;
        ig_tensors_free(back);
        ig_scope_end();
        if (!done) {
            ig_status code = IG_OK;
            assert_non_null(ig_error(&code));
            assert_int_equal(code, IG_ERR_MEMORY);
        }
        if (status != IG_OK)
            assert_int_equal(folder_entries(), 0);
        else
            remove(path);
    }
    ig_shutdown(); /* frees the schedules of the sums; nothing else is kept */
    assert_true(memory_live() <= live);
    ig_scope_begin();
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
    ig_tensors *t = must(ig_tensors_new());
    ig_tensors_put(t, "x", ig_arange(0, 50000, 1, IG_F32));
    assert_int_equal(ig_tensors_save(t, folder_path("x.safetensors")), IG_OK);
    ig_tensors_free(t);
    const size_t size = folder_get(folder_path("x.safetensors"));
    t = must(load_piped(folder_content, size));
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
    t = load_piped(file, build(file, header, strlen(header), "abc", 3));
    ig_set_memory_limit(limit);
    assert_null(t);
    assert_error(IG_ERR_FORMAT, "1000000000000 bytes are expected, 3 found");
}

/* ---- writes that fail ---------------------------------------------------------------------- */

static ig_tensors *two_tensors(void)
{
    ig_tensors *t = must(ig_tensors_new());
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
    t = must(ig_tensors_load(path));
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
    ig_tensors *t = must(ig_tensors_new());
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
        TEST(test_set),           TEST(test_set_owns),
        TEST(test_set_mistakes),  TEST(test_many),
        TEST(test_round_trip),    TEST(test_golden_bytes),
        TEST(test_save_views),    TEST(test_other_headers),
        TEST(test_small_floats),  TEST(test_damaged_headers),
        TEST(test_bool_bytes),    TEST(test_every_byte_damaged),
        TEST(test_header_length), TEST(test_memory_limit),
        TEST(test_no_memory),     TEST(test_pipe),
        TEST(test_full_device),   TEST(test_write_fails_anywhere),
        TEST(test_compute_fails), TEST(test_header_too_long),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
