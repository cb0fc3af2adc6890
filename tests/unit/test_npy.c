/* ig_load and ig_save without NumPy: round trips, golden bytes, damaged files, failing writes.
 *
 * Each test has its own folder, which must contain only files that the test created: a remaining
 * temporary file fails it. tests/test_npy.py compares both functions with NumPy.
 * */
#include "support/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ---- helpers ------------------------------------------------------------------------------- */

/* An npy file of version 1.0 with this header text and these elements; returns its bytes. */
static size_t build(unsigned char *out, const char *text, const void *data, size_t bytes)
{
    const size_t length = strlen(text);
    memcpy(out, "\x93NUMPY\1\0", 8);
    out[8] = (unsigned char)(length & 0xff);
    out[9] = (unsigned char)(length >> 8);
    memcpy(out + 10, text, length);
    if (bytes)
        memcpy(out + 10 + length, data, bytes);
    return 10 + length + bytes;
}

static ig_array *load_text(const char *text, const void *data, size_t bytes)
{
    const size_t size = build(folder_content, text, data, bytes);
    folder_put(folder_path("x.npy"), folder_content, size);
    return ig_load(folder_path("x.npy"));
}

/* Bytes that are all different within an element; 0 and 1 for bool. */
static void fill(unsigned char *out, size_t bytes, ig_dtype dtype)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = dtype == IG_BOOL ? i % 3 == 1 : (unsigned char)(7 * i + 1);
}

static const char *const descrs[] = {
    [IG_BOOL] = "|b1", [IG_I8] = "|i1",  [IG_I16] = "<i2", [IG_I32] = "<i4", [IG_I64] = "<i8",
    [IG_U8] = "|u1",   [IG_U16] = "<u2", [IG_U32] = "<u4", [IG_U64] = "<u8", [IG_F16] = "<f2",
    [IG_BF16] = "<V2", [IG_F32] = "<f4", [IG_F64] = "<f8",
};

static const struct shape {
    int n;
    int64_t v[IG_MAX_NDIM];
    const char *text;
} shapes[] = {
    {0, {0}, "()"},
    {1, {1}, "(1,)"},
    {1, {0}, "(0,)"},
    {1, {13}, "(13,)"},
    {2, {3, 5}, "(3, 5)"},
    {2, {0, 7}, "(0, 7)"},
    {2, {7, 0}, "(7, 0)"},
    {3, {2, 3, 4}, "(2, 3, 4)"},
    {8, {1, 2, 1, 3, 1, 2, 1, 2}, "(1, 2, 1, 3, 1, 2, 1, 2)"},
    {16,
     {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2},
     "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2)"},
};

static size_t shape_bytes(const struct shape *shape, ig_dtype dtype)
{
    size_t bytes = ig_dtype_bytes(dtype);
    for (int i = 0; i < shape->n; i++)
        bytes *= (size_t)shape->v[i];
    return bytes;
}

/* ---- valid files ---------------------------------------------------------------------------- */

static void test_round_trip(void **state)
{
    (void)state;
    unsigned char data[256];
    for (ig_dtype dtype = IG_BOOL; dtype <= IG_F64; dtype++)
        for (size_t i = 0; i < COUNT(shapes); i++) {
            const ig_ints shape = {shapes[i].v, shapes[i].n};
            const size_t bytes = shape_bytes(&shapes[i], dtype);
            char text[256];
            fill(data, bytes, dtype);
            ig_array *x = ig_from_data(data, shape, dtype);
            assert_int_equal(ig_save(folder_path("x.npy"), x), IG_OK);
            assert_array(ig_load(folder_path("x.npy")), dtype, shape, data);

            /* The file in the format's layout: aligned, padded, then the bytes. */
            const size_t size = folder_get(folder_path("x.npy"));
            snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                     descrs[dtype], shapes[i].text);
            const size_t start = size - bytes;
            assert_int_equal(start, shapes[i].n == 16 ? 192 : 128); /* as NumPy 2.4 writes them */
            assert_memory_equal(folder_content, "\x93NUMPY\1\0", 8);
            assert_int_equal(folder_content[8] + 256 * folder_content[9], start - 10);
            assert_memory_equal(folder_content + 10, text, strlen(text));
            for (size_t k = 10 + strlen(text); k < start - 1; k++)
                assert_int_equal(folder_content[k], ' ');
            assert_int_equal(folder_content[start - 1], '\n');
            if (bytes)
                assert_memory_equal(folder_content + start, data, bytes);
        }
    assert_int_equal(folder_entries(), 1);
}

/* numpy.save(path, numpy.array([[1.5, -2], [inf, 0]], numpy.float32)), NumPy 2.4 */
static void test_golden_bytes(void **state)
{
    (void)state;
    static const char golden[] =
        "\x93NUMPY\1\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"
        "                                                          \n"
        "\x00\x00\xc0\x3f\x00\x00\x00\xc0\x00\x00\x80\x7f\x00\x00\x00\x00";
    const float data[] = {1.5f, -2.0f, (float)(1e300 * 1e300), 0.0f};
    folder_put(folder_path("golden.npy"), golden, sizeof golden - 1);
    assert_array(ig_load(folder_path("golden.npy")), IG_F32, IG_SHAPE(2, 2), data);
    assert_int_equal(ig_save(folder_path("x.npy"), ig_from_data(data, IG_SHAPE(2, 2), IG_F32)),
                     IG_OK);
    assert_int_equal(folder_get(folder_path("x.npy")), sizeof golden - 1);
    assert_memory_equal(folder_content, golden, sizeof golden - 1);
}

/* A view is written in the row-major order of the view. */
static void test_save_view(void **state)
{
    (void)state;
    const int32_t data[] = {1, 2, 3, 4, 5, 6}, turned[] = {1, 4, 2, 5, 3, 6};
    ig_array *x = ig_from_data(data, IG_SHAPE(2, 3), IG_I32);
    assert_int_equal(ig_save(folder_path("x.npy"), ig_permute_dims(x, IG_AXES(1, 0))), IG_OK);
    assert_array(ig_load(folder_path("x.npy")), IG_I32, IG_SHAPE(3, 2), turned);
}

static void test_fortran_order(void **state)
{
    (void)state;
    const int16_t file2[] = {1, 4, 2, 5, 3, 6}, rows2[] = {1, 2, 3, 4, 5, 6};
    assert_array(load_text("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }", file2,
                           sizeof file2),
                 IG_I16, IG_SHAPE(2, 3), rows2);

    unsigned char file3[24], rows3[24];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++)
                file3[i + 2 * j + 6 * k] = rows3[12 * i + 4 * j + k] =
                    (unsigned char)(100 * i + 10 * j + k);
    assert_array(load_text("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }", file3,
                           sizeof file3),
                 IG_U8, IG_SHAPE(2, 3, 4), rows3);
    assert_array(load_text("{'descr': '|u1', 'fortran_order': True, 'shape': (3,), }", rows3, 3),
                 IG_U8, IG_SHAPE(3), rows3);
    assert_array(load_text("{'descr': '|u1', 'fortran_order': True, 'shape': (), }", rows3, 1),
                 IG_U8, IG_SCALAR, rows3);
    assert_array(load_text("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 0), }", NULL, 0),
                 IG_U8, IG_SHAPE(2, 0), NULL);
}

/* The same elements, in little and big endian and without a byte order. */
static void test_byte_order(void **state)
{
    (void)state;
    unsigned char little[64], big[64];
    for (ig_dtype dtype = IG_BOOL; dtype <= IG_F64; dtype++) {
        const size_t width = ig_dtype_bytes(dtype), bytes = 5 * width;
        char text[128];
        fill(little, bytes, dtype);
        for (size_t i = 0; i < bytes; i++)
            big[i / width * width + width - 1 - i % width] = little[i];
        for (const char *order = "<>"; *order; order++) {
            const char *file = (const char *)(*order == '<' ? little : big);
            snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (5,)}",
                     *order, descrs[dtype] + 1);
            const uint16_t one = 1;
            const bool we_are_little = *(const unsigned char *)&one == 1;
            assert_array(load_text(text, file, bytes), dtype, IG_SHAPE(5),
                         we_are_little ? little : big);
        }
        for (const char *order = "=| "; *order; order++) {
            char own[2] = {*order == ' ' ? '\0' : *order, '\0'};
            snprintf(text, sizeof text, "{'descr': '%s%s', 'fortran_order': False, 'shape': (5,)}",
                     own, descrs[dtype] + 1);
            assert_array(load_text(text, little, bytes), dtype, IG_SHAPE(5), little);
        }
    }
}

/* NumPy treats each nonzero byte as true. */
static void test_bool_bytes(void **state)
{
    (void)state;
    const unsigned char file[] = {0, 1, 2, 255}, ours[] = {0, 1, 1, 1};
    assert_array(load_text("{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }", file, 4),
                 IG_BOOL, IG_SHAPE(4), ours);
}

/* Versions 2.0 and 3.0 have four bytes of header length. */
static void test_versions(void **state)
{
    (void)state;
    static const char text[] = "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }\n";
    const int32_t value = 42;
    for (unsigned char version = 2; version <= 3; version++) {
        unsigned char file[128] = "\x93NUMPY";
        file[6] = version;
        file[8] = (unsigned char)strlen(text);
        memcpy(file + 12, text, strlen(text));
        memcpy(file + 12 + strlen(text), &value, 4);
        folder_put(folder_path("x.npy"), file, 12 + strlen(text) + 4);
        assert_array(ig_load(folder_path("x.npy")), IG_I32, IG_SHAPE(1), &value);
    }
}

/* Headers of other writers, with the same meaning as ours. */
static void test_lenient_headers(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3)}",
        "{'shape': (2, 3), 'fortran_order': False, 'descr': '<i2'}",
        "{\"descr\": \"<i2\", \"fortran_order\": False, \"shape\": (2, 3)}",
        "{'descr':'<i2','fortran_order':False,'shape':(2,3)}",
        "  { 'descr' :\t'<i2' ,\n'fortran_order'\r\n: False , 'shape' : ( 2 , 3 , ) , }  \n\n",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (2L, 3L), }",
    };
    const int16_t data[] = {1, 2, 3, 4, 5, 6};
    for (size_t i = 0; i < COUNT(texts); i++)
        assert_array(load_text(texts[i], data, sizeof data), IG_I16, IG_SHAPE(2, 3), data);
}

/* Data after the elements is ignored: several arrays may be in one file. */
static void test_trailing_bytes(void **state)
{
    (void)state;
    const unsigned char data[] = {1, 2, 3, 4, 5};
    assert_array(load_text("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", data, 5),
                 IG_U8, IG_SHAPE(3), data);
}

/* ---- invalid files -------------------------------------------------------------------------- */

#define WITH_SHAPE(s) "{'descr': '<f4', 'fortran_order': False, 'shape': " s ", }"
#define WITH_DESCR(d) "{'descr': " d ", 'fortran_order': False, 'shape': (1,), }"

static const struct damage {
    const char *text;
    ig_status code;
    const char *message;
} damages[] = {
    /* the dict */
    {"", IG_ERR_FORMAT, "expected '{', found the end"},
    {"   \n", IG_ERR_FORMAT, "expected '{', found the end"},
    {"hello", IG_ERR_FORMAT, "expected '{', found 'hello'"},
    {"[1, 2]", IG_ERR_FORMAT, "expected '{'"},
    {"{", IG_ERR_FORMAT, "expected a key in quotes"},
    {"{}", IG_ERR_FORMAT, "has no 'descr'"},
    {"{,}", IG_ERR_FORMAT, "expected a key in quotes"},
    {"{1: 2}", IG_ERR_FORMAT, "expected a key in quotes"},
    {"{descr: '<f4'}", IG_ERR_FORMAT, "expected a key in quotes"},
    {"{'descr", IG_ERR_FORMAT, "expected the end of a string"},
    {"{'descr\"", IG_ERR_FORMAT, "expected the end of a string"},
    {"{'de\\x73cr': '<f4'}", IG_ERR_FORMAT, "expected the end of a string"},
    {"{'des\ncr': '<f4'}", IG_ERR_FORMAT, "expected the end of a string"},
    {"{'descr'", IG_ERR_FORMAT, "expected ':'"},
    {"{'descr' '<f4'}", IG_ERR_FORMAT, "expected ':'"},
    {"{'descr':", IG_ERR_FORMAT, "expected a dtype"},
    {"{'descr': '<f4'", IG_ERR_FORMAT, "expected ',' or '}'"},
    {"{'descr': '<f4',", IG_ERR_FORMAT, "expected a key in quotes"},
    {"{'descr': '<f4',, 'shape': (1,)}", IG_ERR_FORMAT, "expected a key in quotes"},
    {"{'descr': '<f4' 'shape': (1,)}", IG_ERR_FORMAT, "expected ',' or '}'"},
    {"{'descr': '<f4', 'fortran_order': False}", IG_ERR_FORMAT, "has no 'shape'"},
    {"{'descr': '<f4', 'shape': (1,)}", IG_ERR_FORMAT, "has no 'fortran_order'"},
    {"{'fortran_order': False, 'shape': (1,)}", IG_ERR_FORMAT, "has no 'descr'"},
    {"{'descr': '<f4', 'descr': '<f4', }", IG_ERR_FORMAT, "expected each key once"},
    {"{'shape': (1,), 'color': 'red'}", IG_ERR_FORMAT, "has a key 'color'"},
    {"{'descr ': '<f4'}", IG_ERR_FORMAT, "has a key 'descr '"},
    {"{'': 1}", IG_ERR_FORMAT, "has a key ''"},
    {"{'a very long key that nobody has': 1}", IG_ERR_FORMAT, "has a key 'a very long key"},
    {"{'\xff\xfe': 1}", IG_ERR_FORMAT, "has a key '\?\?'"},
    {WITH_SHAPE("(1,)") "x", IG_ERR_FORMAT, "expected the end, found 'x'"},
    {WITH_SHAPE("(1,)") "}", IG_ERR_FORMAT, "expected the end, found '}'"},
    {WITH_SHAPE("(1,)") WITH_SHAPE("(1,)"), IG_ERR_FORMAT, "expected the end"},
    /* shape */
    {WITH_SHAPE("3"), IG_ERR_FORMAT, "expected a shape such as (2, 3), found '3"},
    {WITH_SHAPE("(3)"), IG_ERR_FORMAT, "is written (3,)"},
    {WITH_SHAPE("[3, 4]"), IG_ERR_FORMAT, "expected a shape"},
    {WITH_SHAPE("None"), IG_ERR_FORMAT, "expected a shape"},
    {WITH_SHAPE("(,)"), IG_ERR_FORMAT, "expected a length"},
    {WITH_SHAPE("(3,,)"), IG_ERR_FORMAT, "expected a length"},
    {WITH_SHAPE("(3 4)"), IG_ERR_FORMAT, "expected ','"},
    {WITH_SHAPE("(3, 4 5)"), IG_ERR_FORMAT, "expected ',' or ')'"},
    {WITH_SHAPE("(3, 4"), IG_ERR_FORMAT, "expected a length"},
    {WITH_SHAPE("(-1,)"), IG_ERR_FORMAT, "expected a length (0 or more), found '-1"},
    {WITH_SHAPE("(+1,)"), IG_ERR_FORMAT, "expected a length"},
    {WITH_SHAPE("(1.0,)"), IG_ERR_FORMAT, "expected ','"},
    {WITH_SHAPE("(1e3,)"), IG_ERR_FORMAT, "expected ','"},
    {WITH_SHAPE("(0x10,)"), IG_ERR_FORMAT, "expected ','"},
    {WITH_SHAPE("(01,)"), IG_ERR_FORMAT, "leading zeros"},
    {WITH_SHAPE("(1LL,)"), IG_ERR_FORMAT, "expected ','"},
    {WITH_SHAPE("(True,)"), IG_ERR_FORMAT, "expected a length"},
    {WITH_SHAPE("((1,),)"), IG_ERR_FORMAT, "expected a length"},
    {WITH_SHAPE("(9223372036854775808,)"), IG_ERR_FORMAT, "below 2**63"},
    {WITH_SHAPE("(99999999999999999999999999,)"), IG_ERR_FORMAT, "below 2**63"},
    {WITH_SHAPE("(9223372036854775807,)"), IG_ERR_FORMAT, "more elements than can be addressed"},
    {WITH_SHAPE("(2305843009213693952,)"), IG_ERR_FORMAT, "more elements than can be addressed"},
    {WITH_SHAPE("(4611686018427387904,)"), IG_ERR_FORMAT, "more elements than can be addressed"},
    {WITH_SHAPE("(4294967296, 4294967296)"), IG_ERR_FORMAT, "more elements than can be addressed"},
    {WITH_SHAPE("(4294967296, 4294967296, 4294967296, 4294967296)"), IG_ERR_FORMAT,
     "can be addressed"},
    {WITH_SHAPE("(0, 4294967296, 4294967296)"), IG_ERR_FORMAT,
     "more elements than can be addressed"},
    {WITH_SHAPE("(1000000000000,)"), IG_ERR_FORMAT,
     "4000000000000 bytes of f32 data are expected, 0"},
    {WITH_SHAPE("(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)"), IG_ERR_UNSUPPORTED,
     "it has 17 axes, and Ingot allows 16"},
    /* fortran_order */
    {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", IG_ERR_FORMAT,
     "expected True or False"},
    {"{'descr': '<f4', 'fortran_order': 'True'}", IG_ERR_FORMAT, "expected True or False"},
    {"{'descr': '<f4', 'fortran_order': true}", IG_ERR_FORMAT, "expected True or False"},
    {"{'descr': '<f4', 'fortran_order': Tru", IG_ERR_FORMAT, "expected True or False"},
    {"{'descr': '<f4', 'fortran_order': Falsehood}", IG_ERR_FORMAT, "expected ',' or '}'"},
    /* descr */
    {WITH_DESCR("f4"), IG_ERR_FORMAT, "expected a dtype such as '<f4', found 'f4"},
    {WITH_DESCR("None"), IG_ERR_FORMAT, "expected a dtype"},
    {WITH_DESCR("''"), IG_ERR_FORMAT, "its dtype '' is unknown"},
    {WITH_DESCR("'<'"), IG_ERR_FORMAT, "its dtype '<' is unknown"},
    {WITH_DESCR("'<<f4'"), IG_ERR_FORMAT, "its dtype '<<f4' is unknown"},
    {WITH_DESCR("'<f'"), IG_ERR_FORMAT, "its dtype '<f' is unknown"},
    {WITH_DESCR("'<f3'"), IG_ERR_FORMAT, "its dtype '<f3' is unknown"},
    {WITH_DESCR("'<f44'"), IG_ERR_FORMAT, "its dtype '<f44' is unknown"},
    {WITH_DESCR("'<i16'"), IG_ERR_FORMAT, "its dtype '<i16' is unknown"},
    {WITH_DESCR("' <f4'"), IG_ERR_FORMAT, "its dtype ' <f4' is unknown"},
    {WITH_DESCR("'a very very very long dtype'"), IG_ERR_FORMAT, "is unknown"},
    {WITH_DESCR("'<c32'"), IG_ERR_UNSUPPORTED, "complex long doubles (dtype '<c32')"},
    {WITH_DESCR("'|O'"), IG_ERR_UNSUPPORTED, "Python objects"},
    {WITH_DESCR("'|S5'"), IG_ERR_UNSUPPORTED, "byte strings"},
    {WITH_DESCR("'<U5'"), IG_ERR_UNSUPPORTED, "text"},
    {WITH_DESCR("'<M8[ns]'"), IG_ERR_UNSUPPORTED, "dates"},
    {WITH_DESCR("'<m8[us]'"), IG_ERR_UNSUPPORTED, "time spans"},
    {WITH_DESCR("'|V8'"), IG_ERR_UNSUPPORTED, "raw records"},
    {WITH_DESCR("'<f16'"), IG_ERR_UNSUPPORTED, "long doubles"},
    {WITH_DESCR("[('a', '<f4'), ('b', '<i4')]"), IG_ERR_UNSUPPORTED, "structured dtype"},
    {WITH_DESCR("('<f4', (2,))"), IG_ERR_UNSUPPORTED, "structured dtype"},
    {WITH_DESCR("{'names': ['a']}"), IG_ERR_UNSUPPORTED, "structured dtype"},
};

static void test_damaged_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(damages); i++) {
        print_message("  %s\n", damages[i].message);
        assert_null(load_text(damages[i].text, NULL, 0));
        assert_error(damages[i].code, damages[i].message);
    }
    /* The next call works. */
    const float value = 7.0f;
    assert_array(load_text(WITH_SHAPE("()"), &value, sizeof value), IG_F32, IG_SCALAR, &value);
}

/* A header that is cut, or has one byte set to each of several values, gives an array or an
 * error. */
static void test_every_byte_damaged(void **state)
{
    (void)state;
    static const unsigned char values[] = {0, ' ', '\'', '(', ',', '0', '9', 'L', '}', 127, 255};
    unsigned char good[256], bad[256];
    const double data[] = {1, 2};
    const size_t size = build(good, "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 1), }\n",
                              data, sizeof data);
    const char *path = folder_path("x.npy");
    for (size_t cut = 0; cut < size; cut++) {
        folder_put(path, good, cut);
        assert_null(ig_load(path));
        assert_error(IG_ERR_FORMAT, cut ? cut < 6 ? "not an npy file" : "cut short" : "empty");
    }
    for (size_t i = 0; i < size; i++)
        for (size_t k = 0; k < COUNT(values); k++) {
            memcpy(bad, good, size);
            bad[i] = values[k];
            folder_put(path, bad, size);
            ig_array *x = ig_load(path);
            assert_int_equal(x == NULL, ig_failed());
            ig_error(NULL);
        }
    assert_int_equal(folder_entries(), 1);
}

static void test_not_npy(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        ig_status code;
        const char *message;
    } files[] = {
        {"", 0, IG_ERR_FORMAT, "it is empty"},
        {"1,2,3\n", 6, IG_ERR_FORMAT, "it is not an npy file"},
        {"\x93NUMPX\1\0", 8, IG_ERR_FORMAT, "it is not an npy file"},
        {"PK\3\4....", 8, IG_ERR_UNSUPPORTED, "it is a zip archive (npz)"},
        {"\x93NUMPY\0\0\0\0", 10, IG_ERR_UNSUPPORTED, "version 0.0"},
        {"\x93NUMPY\4\0\0\0", 10, IG_ERR_UNSUPPORTED, "version 4.0"},
        {"\x93NUMPY\1\1\0\0", 10, IG_ERR_UNSUPPORTED, "version 1.1"},
        {"\x93NUMPY\1\0\xff\xff{", 11, IG_ERR_FORMAT,
         "65535 bytes of header are promised, 1 are there"},
        {"\x93NUMPY\2\0\xff\xff\xff\xff{", 13, IG_ERR_FORMAT, "4294967295 bytes long"},
        {"\x93NUMPY\3\0\1\0\1\0{", 13, IG_ERR_FORMAT, "65537 bytes long, and Ingot allows 65536"},
    };
    for (size_t i = 0; i < COUNT(files); i++) {
        folder_put(folder_path("x.npy"), files[i].bytes, files[i].size);
        assert_null(ig_load(folder_path("x.npy")));
        assert_error(files[i].code, files[i].message);
    }
}

static void test_load_wrong_path(void **state)
{
    (void)state;
    assert_null(ig_load(NULL));
    assert_error(IG_ERR_ARGUMENT, "load: no path");
    assert_null(ig_load(""));
    assert_error(IG_ERR_ARGUMENT, "load: no path");
    assert_null(ig_load(folder_path("no.npy")));
    assert_error(IG_ERR_FILE, "no.npy': it cannot be opened: No such file or directory; check");
    assert_null(ig_load(folder_itself()));
    assert_error(IG_ERR_FILE, "it is a folder");
    assert_null(ig_load(folder_path("two\nlines")));
    assert_error(IG_ERR_FILE, "two?lines");
    char path[600];
    memset(path, 'a', sizeof path);
    memcpy(path, folder_itself(), strlen(folder_itself()));
    path[strlen(folder_itself())] = '/';
    path[sizeof path - 1] = '\0';
    assert_null(ig_load(path));
    assert_error(IG_ERR_FILE,
                 "aaa': it cannot be opened: File name too long; choose a shorter name");
}

/* The header is trusted only after checks against the file and the limit. */
static void test_memory_limit(void **state)
{
    (void)state;
    unsigned char data[4096] = {0};
    static const char text[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (4096,), }";
    const uint64_t limit = ig_memory_limit();
    assert_int_equal(ig_set_memory_limit(ig_memory_used() + 4095), IG_OK);
    ig_array *x = load_text(text, data, sizeof data);
    ig_set_memory_limit(limit);
    assert_null(x);
    assert_error(IG_ERR_MEMORY, "it needs 4 KiB, and the memory limit of");
    assert_non_null(load_text(text, data, sizeof data));
}

/* ---- pipes --------------------------------------------------------------------------------- */

static ig_array *load_piped(const unsigned char *data, size_t bytes)
{
    ig_array *x = ig_load(folder_feed(data, bytes));
    folder_feed_end();
    return x;
}

static void test_pipe(void **state)
{
    (void)state;
    static unsigned char file[3 << 20];
    const int64_t length = 2500001; /* three pieces */
    signal(SIGPIPE, SIG_IGN);
    unsigned char *data = malloc((size_t)length);
    assert_non_null(data);
    fill(data, (size_t)length, IG_U8);
    size_t size = build(file, "{'descr': '|u1', 'fortran_order': False, 'shape': (2500001,), }",
                        data, (size_t)length);
    assert_array(load_piped(file, size), IG_U8, IG_SHAPE(length), data);
    assert_null(load_piped(file, size - 1));
    assert_error(IG_ERR_FORMAT, "2500001 bytes of u8 data are expected, 2500000 found");
    assert_null(load_piped(file, 20));
    assert_error(IG_ERR_FORMAT, "bytes of header are promised, 10 are there");
    assert_null(load_piped(file, 0));
    assert_error(IG_ERR_FORMAT, "it is empty");
    size = build(file, "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 0), }", NULL, 0);
    assert_array(load_piped(file, size), IG_U8, IG_SHAPE(3, 0), NULL);

    /* If a header promises much, only memory for data that has arrived is allocated. */
    const uint64_t limit = ig_memory_limit();
    ig_set_memory_limit(UINT64_C(1) << 50);
    size = build(file, "{'descr': '|u1', 'fortran_order': False, 'shape': (1000000000000,), }",
                 data, 1500000);
    ig_array *x = load_piped(file, size);
    ig_set_memory_limit(limit);
    assert_null(x);
    assert_error(IG_ERR_FORMAT, "1000000000000 bytes of u8 data are expected, 1500000 found");
    free(data);
}

static void *drain_run(void *arg)
{
    const int fd = *(const int *)arg;
    size_t *total = malloc(sizeof *total);
    *total = 0;
    for (ssize_t n; (n = read(fd, folder_content + *total, FOLDER_FILE_MAX - *total)) > 0;)
        *total += (size_t)n;
    return total;
}

/* A pipe and a FIFO are written directly. */
static void test_save_to_pipe(void **state)
{
    (void)state;
    int ends[2];
    char path[64];
    void *total;
    pthread_t thread;
    const int64_t length = 100000; /* more than a pipe holds */
    unsigned char *data = malloc((size_t)length);
    assert_non_null(data);
    fill(data, (size_t)length, IG_U8);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pthread_create(&thread, NULL, drain_run, &ends[0]), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    const ig_status status = ig_save(path, ig_from_data(data, IG_SHAPE(length), IG_U8));
    close(ends[1]);
    pthread_join(thread, &total);
    close(ends[0]);
    assert_int_equal(status, IG_OK);
    assert_int_equal(*(size_t *)total, 128 + length);
    assert_memory_equal(folder_content + 128, data, (size_t)length);
    free(total);
    free(data);
}

/* ---- writes that fail ---------------------------------------------------------------------- */

static void test_save_wrong_path(void **state)
{
    (void)state;
    const float value = 1.0f;
    ig_array *x = ig_from_data(&value, IG_SCALAR, IG_F32);
    assert_int_equal(ig_save(NULL, x), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "save: no path");
    assert_int_equal(ig_save("", x), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "save: no path");
    assert_int_equal(ig_save(folder_path("x.npy"), NULL), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "save: the array is NULL");
    assert_int_equal(ig_save(folder_itself(), x), IG_ERR_FILE);
    assert_error(IG_ERR_FILE, "it is a folder");
    assert_int_equal(ig_save(folder_path("no/x.npy"), x), IG_ERR_FILE);
    assert_error(IG_ERR_FILE,
                 "no/x.npy': the file cannot be created: No such file or directory; check");
    folder_put(folder_path("file"), "old", 3);
    assert_int_equal(ig_save(folder_path("file/x.npy"), x), IG_ERR_FILE);
    assert_error(IG_ERR_FILE, "a part of the path is a file");
    assert_int_equal(symlink("nowhere", folder_path("link")), 0);
    assert_int_equal(ig_save(folder_path("link"), x), IG_ERR_FILE);
    assert_error(IG_ERR_FILE, "it is a link to a file that is not there");
    assert_int_equal(folder_entries(), 2);
}

/* The first error is kept. */
static void test_first_error_stays(void **state)
{
    (void)state;
    assert_int_equal(ig_save(folder_path("x.npy"), ig_load(folder_path("no.npy"))),
                     IG_ERR_ARGUMENT);
    assert_error(IG_ERR_FILE, "load '");
    assert_int_equal(folder_entries(), 0);
}

static void test_full_device(void **state)
{
    (void)state;
    const float value = 1.0f;
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(ig_save("/dev/full", ig_from_data(&value, IG_SCALAR, IG_F32)), IG_ERR_FILE);
    assert_error(IG_ERR_FILE,
                 "save '/dev/full': it cannot be written: No space left on device; free");
    assert_int_equal(access("/dev/full", F_OK), 0);
}

/* Saves with the file size limited to bytes. */
static ig_status save_limited(const char *path, ig_array *x, rlim_t bytes)
{
    struct rlimit old, low;
    getrlimit(RLIMIT_FSIZE, &old);
    low = (struct rlimit){bytes, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &low);
    const ig_status status = ig_save(path, x);
    setrlimit(RLIMIT_FSIZE, &old);
    return status;
}

/* The write fails after each number of bytes: the old file stays, without other files. */
static void test_write_fails_anywhere(void **state)
{
    (void)state;
    const int64_t data[] = {1, 2, 3};
    ig_array *x = ig_from_data(data, IG_SHAPE(3), IG_I64);
    const char *path = folder_path("x.npy");
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t bytes = 0; bytes < 128 + sizeof data; bytes++) {
        folder_put(path, "old folder_content", 11);
        const ig_status status = save_limited(path, x, bytes);
        assert_int_equal(status, IG_ERR_FILE);
        assert_error(IG_ERR_FILE, "it cannot be written: File too large; raise");
        assert_int_equal(folder_get(path), 11);
        assert_memory_equal(folder_content, "old folder_content", 11);
        assert_int_equal(folder_entries(), 1);
    }
    remove(path);
    assert_int_equal(save_limited(path, x, 100), IG_ERR_FILE);
    assert_error(IG_ERR_FILE, "File too large");
    assert_int_equal(folder_entries(), 0);
    assert_int_equal(save_limited(path, x, 128 + sizeof data), IG_OK);
    assert_array(ig_load(path), IG_I64, IG_SHAPE(3), data);
}

/* ---- the target path exists ---------------------------------------------------------------- */

static void test_permissions(void **state)
{
    (void)state;
    struct stat info;
    const float value = 1.0f;
    ig_array *x = ig_from_data(&value, IG_SCALAR, IG_F32);
    const mode_t mask = umask(027);
    const ig_status made = ig_save(folder_path("new.npy"), x);
    umask(mask);
    assert_int_equal(made, IG_OK);
    assert_int_equal(stat(folder_path("new.npy"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);

    folder_put(folder_path("old.npy"), "old", 3);
    assert_int_equal(chmod(folder_path("old.npy"), 0600), 0);
    assert_int_equal(ig_save(folder_path("old.npy"), x), IG_OK);
    assert_int_equal(stat(folder_path("old.npy"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(info.st_size, 132);

    if (geteuid() != 0) {
        assert_int_equal(chmod(folder_path("old.npy"), 0400), 0);
        assert_int_equal(ig_save(folder_path("old.npy"), x), IG_ERR_FILE);
        assert_error(IG_ERR_FILE, "Permission denied; check the permissions");
    }
    assert_int_equal(folder_entries(), 2);
}

static void test_link_stays(void **state)
{
    (void)state;
    struct stat info;
    const float value = 1.0f;
    folder_put(folder_path("file.npy"), "old", 3);
    assert_int_equal(symlink("file.npy", folder_path("link.npy")), 0);
    assert_int_equal(ig_save(folder_path("link.npy"), ig_from_data(&value, IG_SCALAR, IG_F32)),
                     IG_OK);
    assert_int_equal(lstat(folder_path("link.npy"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_array(ig_load(folder_path("file.npy")), IG_F32, IG_SCALAR, &value);
    assert_int_equal(folder_entries(), 2);
}

static void test_names(void **state)
{
    (void)state;
    const float value = 1.0f;
    ig_array *x = ig_from_data(&value, IG_SCALAR, IG_F32);
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    const char *const names[] = {"a b.npy", "no suffix", "\xc3\xa9.npy", ".hidden", name};
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_int_equal(ig_save(folder_path(names[i]), x), IG_OK);
        assert_array(ig_load(folder_path(names[i])), IG_F32, IG_SCALAR, &value);
    }
    assert_int_equal(folder_entries(), COUNT(names));

    /* Names left by a dead process with our process id do not interfere. */
    enum { LEFT = 600 }; /* more than the saves before this one */
    char left[64];
    for (int i = 0; i < LEFT; i++) {
        snprintf(left, sizeof left, "y.npy.tmp-%ld-%d", (long)getpid(), i);
        folder_put(folder_path(left), "", 0);
    }
    assert_int_equal(ig_save(folder_path("y.npy"), x), IG_OK);
    assert_int_equal(folder_entries(), COUNT(names) + LEFT + 1);

    /* A name without a folder is in the current folder. */
    char here[512];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder_itself()), 0);
    const ig_status status = ig_save("plain.npy", x);
    assert_int_equal(chdir(here), 0);
    assert_int_equal(status, IG_OK);
    assert_array(ig_load(folder_path("plain.npy")), IG_F32, IG_SCALAR, &value);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, folder_begin, folder_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip),
        TEST(test_golden_bytes),
        TEST(test_save_view),
        TEST(test_fortran_order),
        TEST(test_byte_order),
        TEST(test_bool_bytes),
        TEST(test_versions),
        TEST(test_lenient_headers),
        TEST(test_trailing_bytes),
        TEST(test_damaged_headers),
        TEST(test_every_byte_damaged),
        TEST(test_not_npy),
        TEST(test_load_wrong_path),
        TEST(test_memory_limit),
        TEST(test_pipe),
        TEST(test_save_to_pipe),
        TEST(test_save_wrong_path),
        TEST(test_first_error_stays),
        TEST(test_full_device),
        TEST(test_write_fails_anywhere),
        TEST(test_permissions),
        TEST(test_link_stays),
        TEST(test_names),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    printf("%d passed, %d failed\n", (int)COUNT(tests) - failed, failed);
    return failed != 0;
}
