/* ig_load_idx and ig_idx_from_memory: all types, violations of every rule of the format, and the
 * digits embedded in the command.
 * */
#include "support/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/train/digits.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Reads from memory of exactly this size, so that a sanitizer detects reads past the end, and from
 * a file; both must agree. */
static ig_array *load_bytes(const void *bytes, size_t n)
{
    void *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, n);
    ig_array *x = ig_idx_from_memory(copy, n);
    free(copy);
    char first[256] = "";
    ig_status codes[2] = {IG_OK, IG_OK};
    if (!x)
        snprintf(first, sizeof first, "%s", ig_error(&codes[0]));

    folder_put(folder_path("x.idx"), bytes, n);
    ig_array *y = ig_load_idx(folder_path("x.idx"));
    assert_int_equal(!x, !y);
    if (x) {
        assert_array(y, ig_dtype_of(x), ig_shape(x), ig_data(x));
        return y;
    }
    /* Both messages are the same except for the name; the file's error stays for the caller. */
    const char *second = ig_error(&codes[1]);
    assert_non_null(strstr(first, "load 'idx in memory': "));
    assert_non_null(strstr(second, "x.idx': "));
    assert_string_equal(strstr(first, "': "), strstr(second, "': "));
    assert_int_equal(codes[0], codes[1]);
    ig_fail(codes[1], "%s", second);
    return NULL;
}

static void test_types(void **state)
{
    (void)state;
    const struct {
        unsigned char code;
        ig_dtype dtype;
        const void *values; /* two of them */
        const char *bytes;
    } rows[] = {
        {0x08, IG_U8, (uint8_t[]){1, 255}, "\x01\xff"},
        {0x09, IG_I8, (int8_t[]){1, -2}, "\x01\xfe"},
        {0x0b, IG_I16, (int16_t[]){1, -2}, "\x00\x01\xff\xfe"},
        {0x0c, IG_I32, (int32_t[]){0x01020304, -2}, "\x01\x02\x03\x04\xff\xff\xff\xfe"},
        {0x0d, IG_F32, (float[]){1.5f, -2}, "\x3f\xc0\x00\x00\xc0\x00\x00\x00"},
        {0x0e, IG_F64, (double[]){1.5, -2}, "\x3f\xf8\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        unsigned char file[64] = {0, 0, rows[i].code, 2, 0, 0, 0, 1, 0, 0, 0, 2};
        const size_t bytes = 2 * ig_dtype_bytes(rows[i].dtype);
        memcpy(file + 12, rows[i].bytes, bytes);
        assert_array(load_bytes(file, 12 + bytes), rows[i].dtype, IG_SHAPE(1, 2), rows[i].values);
    }
}

static void test_shapes(void **state)
{
    (void)state;
    assert_array(load_bytes("\0\0\x08\0\7", 5), IG_U8, IG_SCALAR, "\7");
    assert_array(load_bytes("\0\0\x08\1\0\0\0\0", 8), IG_U8, IG_SHAPE(0), NULL);
    assert_array(load_bytes("\0\0\x0c\2\0\0\0\0\0\0\0\5", 12), IG_I32, IG_SHAPE(0, 5), NULL);
    unsigned char file[4 + 4 * IG_MAX_NDIM + 1] = {0, 0, 8, IG_MAX_NDIM};
    int64_t ones[IG_MAX_NDIM];
    for (int i = 0; i < IG_MAX_NDIM; i++)
        ones[i] = file[7 + 4 * i] = 1;
    file[sizeof file - 1] = 9;
    assert_array(load_bytes(file, sizeof file), IG_U8, (ig_ints){ones, IG_MAX_NDIM}, "\x09");
    unsigned char long_file[8 + 258] = {0, 0, 8, 1, 0, 0, 1, 2};
    for (size_t i = 8; i < sizeof long_file; i++)
        long_file[i] = (unsigned char)i;
    assert_array(load_bytes(long_file, sizeof long_file), IG_U8, IG_SHAPE(258), long_file + 8);
}

static void test_damages(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        ig_status code;
        const char *message;
    } files[] = {
        {"", 0, IG_ERR_FORMAT, "it is empty"},
        {"\0", 1, IG_ERR_FORMAT, "4 bytes of header are expected, 1 are there"},
        {"\0\0\x08", 3, IG_ERR_FORMAT, "4 bytes of header are expected, 3 are there"},
        {"\1\0\x08\1", 4, IG_ERR_FORMAT, "it is not an idx file"},
        {"\0\1\x08\1", 4, IG_ERR_FORMAT, "it is not an idx file"},
        {"x", 1, IG_ERR_FORMAT, "it is not an idx file"},
        {"\0x", 2, IG_ERR_FORMAT, "it is not an idx file"},
        {"\x1f\x8b\x08\x08", 4, IG_ERR_UNSUPPORTED,
         "it is compressed with gzip; decompress it first (gunzip)"},
        {"\x1f\x8b", 2, IG_ERR_UNSUPPORTED, "gunzip"},
        {"\0\0\x00\1", 4, IG_ERR_FORMAT, "type 0x00, which the idx format does not have"},
        {"\0\0\x0a\1", 4, IG_ERR_FORMAT, "type 0x0a"},
        {"\0\0\x0f\1", 4, IG_ERR_FORMAT, "type 0x0f"},
        {"\0\0\xff\1", 4, IG_ERR_FORMAT, "type 0xff"},
        {"\0\0\x08\x11", 4, IG_ERR_UNSUPPORTED, "it has 17 axes, and Ingot allows 16"},
        {"\0\0\x08\xff", 4, IG_ERR_UNSUPPORTED, "it has 255 axes"},
        {"\0\0\x08\1", 4, IG_ERR_FORMAT, "8 bytes of header are expected, 4 are there"},
        {"\0\0\x08\2\0\0\0\1\0\0\0", 11, IG_ERR_FORMAT,
         "12 bytes of header are expected, 11 are there"},
        {"\0\0\x08\1\0\0\0\3ab", 10, IG_ERR_FORMAT, "3 bytes of u8 data are expected, 2 found"},
        {"\0\0\x08\1\0\0\0\3", 8, IG_ERR_FORMAT, "3 bytes of u8 data are expected, 0 found"},
        {"\0\0\x0e\1\0\0\0\1abcdefg", 15, IG_ERR_FORMAT,
         "8 bytes of f64 data are expected, 7 found"},
        {"\0\0\x08\1\0\0\0\2abc", 11, IG_ERR_FORMAT, "1 unexpected bytes follow its elements"},
        {"\0\0\x08\1\0\0\0\0abc", 11, IG_ERR_FORMAT, "3 unexpected bytes follow its elements"},
        {"\0\0\x08\0abc", 7, IG_ERR_FORMAT, "2 unexpected bytes follow its elements"},
        {"\0\0\x08\1\xff\xff\xff\xff", 8, IG_ERR_FORMAT,
         "4294967295 bytes of u8 data are expected, 0 found"},
        {"\0\0\x08\2\xff\xff\xff\xff\xff\xff\xff\xff", 12, IG_ERR_FORMAT,
         "more elements than can be addressed"},
        {"\0\0\x08\3\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 16, IG_ERR_FORMAT,
         "more elements than can be addressed"},
        {"\0\0\x0e\2\x7f\xff\xff\xff\x7f\xff\xff\xff", 12, IG_ERR_FORMAT,
         "more elements than can be addressed"},
        {"\0\0\x08\3\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 16, IG_ERR_FORMAT,
         "more elements than can be addressed"},
    };
    for (size_t i = 0; i < COUNT(files); i++) {
        assert_null(load_bytes(files[i].bytes, files[i].size));
        assert_error(files[i].code, files[i].message);
    }
    assert_null(ig_load_idx(NULL));
    assert_error(IG_ERR_ARGUMENT, "load: no path");
    assert_null(ig_load_idx(folder_path("no.idx")));
    assert_error(IG_ERR_FILE, "No such file or directory; check");
    assert_null(ig_idx_from_memory(NULL, 5));
    assert_error(IG_ERR_ARGUMENT, "are NULL");
}

/* Every truncation, and one byte more. */
static void test_cuts(void **state)
{
    (void)state;
    static const char good[] = "\0\0\x0b\2\0\0\0\1\0\0\0\3\0\1\0\2\0\3";
    const size_t size = sizeof good - 1;
    for (size_t cut = 0; cut < size; cut++) {
        assert_null(load_bytes(good, cut));
        assert_error(IG_ERR_FORMAT, cut ? "cut short" : "empty");
    }
    assert_array(load_bytes(good, size), IG_I16, IG_SHAPE(1, 3), (int16_t[]){1, 2, 3});
    assert_null(load_bytes(good, size + 1));
    assert_error(IG_ERR_FORMAT, "1 unexpected bytes follow");
}

static void test_pipe(void **state)
{
    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        int ends[2];
        char path[64];
        assert_int_equal(pipe(ends), 0);
        const size_t n = 10 + (size_t)extra;
        assert_int_equal(write(ends[1], "\0\0\x08\1\0\0\0\2abc", n), n);
        close(ends[1]);
        snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
        ig_array *x = ig_load_idx(path);
        close(ends[0]);
        if (!extra)
            assert_array(x, IG_U8, IG_SHAPE(2), "ab");
        else
            assert_error(IG_ERR_FORMAT, "unexpected bytes follow its elements");
    }
}

static void test_memory_limit(void **state)
{
    (void)state;
    unsigned char file[8 + 4096] = {0, 0, 8, 1, 0, 0, 16, 0};
    const uint64_t limit = ig_memory_limit();
    assert_int_equal(ig_set_memory_limit(ig_memory_used() + 4095), IG_OK);
    ig_array *x = ig_idx_from_memory(file, sizeof file);
    ig_set_memory_limit(limit);
    assert_null(x);
    assert_error(IG_ERR_MEMORY, "it needs 4 KiB, and the memory limit of");
}

/* The embedded digits equal the file in data/, and are the data set. */
static void test_digits(void **state)
{
    (void)state;
    static const int64_t counts[] = {178, 182, 177, 183, 181, 182, 181, 179, 174, 180};
    const digits_file images = digits_images(), labels = digits_labels();
    ig_array *x = ig_idx_from_memory(images.bytes, images.n);
    ig_array *y = ig_idx_from_memory(labels.bytes, labels.n);
    assert_non_null(x);
    assert_non_null(y);
    assert_int_equal(ig_dtype_of(x), IG_U8);
    assert_int_equal(ig_ndim(x), 3);
    assert_true(ig_dim(x, 0) == 1797 && ig_dim(x, 1) == 8 && ig_dim(x, 2) == 8);
    assert_true(ig_item(ig_max(x, IG_NONE, false)) == 16);
    assert_int_equal(ig_ndim(y), 1);
    assert_int_equal(ig_dim(y, 0), 1797);
    for (int digit = 0; digit < 10; digit++) {
        ig_array *same = ig_equal(y, ig_int(digit));
        assert_true(ig_item(ig_sum(same, IG_NONE, IG_I64, false)) == counts[digit]);
    }
    /* The first image is a 0: its second row. */
    static const unsigned char row[] = {0, 0, 13, 15, 10, 15, 5, 0};
    assert_memory_equal((const unsigned char *)ig_data(x) + 8, row, sizeof row);

    if (access("data/digits/images.idx", R_OK) != 0)
        skip(); /* not run from the root of the sources */
    assert_int_equal(folder_get("data/digits/images.idx"), images.n);
    assert_memory_equal(folder_content, images.bytes, images.n);
    assert_int_equal(folder_get("data/digits/labels.idx"), labels.n);
    assert_memory_equal(folder_content, labels.bytes, labels.n);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, folder_begin, folder_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_types), TEST(test_shapes),       TEST(test_damages), TEST(test_cuts),
        TEST(test_pipe),  TEST(test_memory_limit), TEST(test_digits),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
