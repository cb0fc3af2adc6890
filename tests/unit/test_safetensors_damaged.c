/* Files of ig_tensors that are refused: violations of every rule of the format, and files that are too large for memory. */
#include "support/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

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
        assert_null(tensors_of(damages[i].header, damages[i].bytes));
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
        folder_put(path, folder_content,
                   tensors_file(folder_content, header, strlen(header), data, 3));
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
    const size_t size = tensors_file(good, small, strlen(small), "\0\0\x80\x3f\0\1", 6);
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
    ig_tensors *t = tensors_need(ig_tensors_new());
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, folder_begin, folder_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_damaged_headers), TEST(test_bool_bytes),   TEST(test_every_byte_damaged),
        TEST(test_header_length),   TEST(test_memory_limit), TEST(test_no_memory),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
