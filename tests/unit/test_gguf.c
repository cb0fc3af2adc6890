/* GGUF files: tests/support/gguf_types.gguf, which the Python package gguf wrote, with blocks of each type as x.TYPE and the
 * elements that it unpacked as y.TYPE; files that our writer wrote; and violations of every rule of the format. */
#include "support/folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "lib/io/gguf.h"

static const char *const fixture = "tests/support/gguf_types.gguf";

static void assert_text(ig_text t, const char *plain)
{
    assert_int_equal(t.bytes, strlen(plain));
    assert_memory_equal(t.at, plain, t.bytes);
}

static void test_values(void **state)
{
    (void)state;
    gguf *g = gguf_open(fixture);
    assert_non_null(g);
    static const struct {
        const char *key;
        int64_t value;
    } ints[] = {
        {"a.u8", 200},  {"a.i8", -3},          {"a.u16", 60000},     {"a.i16", -300},
        {"a.i32", -5},  {"a.u32", 4000000000}, {"a.u64", 1LL << 40}, {"a.i64", -(1LL << 40)},
        {"a.text", 77}, {"a.f32", 77},         {"a.bool", 77},       {"none", 77}};
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++)
        assert_int_equal(gguf_int(g, ints[i].key, 77), ints[i].value);
    assert_true(gguf_number(g, "a.f32", 0) == 1.5 && gguf_number(g, "a.f64", 0) == -0.1);
    assert_true(gguf_number(g, "a.i32", 0) == -5 && gguf_number(g, "a.text", 3) == 3);
    assert_true(gguf_bool(g, "a.bool", false) && !gguf_bool(g, "a.u8", false));
    assert_text(gguf_text(g, "a.text"), "h\xc3\xb6he");
    assert_true(gguf_text_is(g, "general.architecture", "test"));
    assert_null(gguf_text(g, "a.u8").at);
    const gguf_value *list = gguf_find(g, "a.list");
    assert_true(list && list->kind == GGUF_LIST && list->n == 3);
    for (int i = 0; i < 3; i++)
        assert_true(gguf_item_int(list, (uint64_t)i) == (i == 1 ? -2 : i + 1));
    assert_true(gguf_item_number(gguf_find(g, "a.floats"), 1) == 2);
    uint64_t n = 0;
    ig_text *texts = gguf_texts(g, "a.texts", &n);
    assert_int_equal(n, 3);
    assert_text(texts[0], "ab");
    assert_text(texts[1], "");
    assert_text(texts[2], "c");
    memory_free(texts);
    assert_null(gguf_texts(g, "a.list", &n));
    assert_error(IG_ERR_FORMAT, "key 'a.list' is not a list of texts");
    int64_t v = 0;
    assert_int_equal(gguf_need_int(g, "a.u8", 0, 10, &v), IG_ERR_FORMAT);
    assert_error(IG_ERR_FORMAT, "key 'a.u8' is 200, not between 0 and 10");
    assert_int_equal(gguf_need_int(g, "none", 0, 10, &v), IG_ERR_FORMAT);
    assert_error(IG_ERR_FORMAT, "key 'none' is missing");
    gguf_close(g);
}

/* Unpacked elements equal those of the reference within 1 unit in the last place. */
static void test_types(void **state)
{
    (void)state;
    ig_tensors *set = ig_tensors_load(fixture);
    assert_non_null(set);
    int pairs = 0;
    for (int i = 0; i < ig_tensors_count(set); i++) {
        char other[64];
        const char *name = ig_tensors_name(set, i);
        if (*name != 'x')
            continue;
        snprintf(other, sizeof other, "y%s", name + 1);
        ig_array *x = ig_astype(ig_add(ig_tensors_get(set, name), ig_float(0)), IG_F32);
        ig_array *y = ig_tensors_get(set, other);
        const float *got = ig_data(x), *want = ig_data(y);
        assert_true(got && want && ig_size(x) == ig_size(y) && ig_size(x) >= 512);
        for (int64_t j = 0; j < ig_size(x); j++)
            if (!(fabsf(got[j] - want[j]) <= nextafterf(fabsf(want[j]), INFINITY) - fabsf(want[j])))
                fail_msg("%s: element %lld is %g, not %g", name, (long long)j, (double)got[j],
                         (double)want[j]);
        pairs++;
    }
    assert_int_equal(pairs, 15);
    ig_tensors_free(set);
}

/* A small file of our writer. */
static size_t sample_write(const char *path)
{
    gguf_writer *w = gguf_write_new();
    assert_non_null(w);
    gguf_write_text(w, "general.name", (ig_text){"n", 1});
    gguf_write_int(w, "a.int", GGUF_I16, -7);
    gguf_write_number(w, "a.number", GGUF_F32, 0.5);
    gguf_write_texts(w, "a.texts", (ig_text[]){{"x", 1}, {"yz", 2}}, 2);
    gguf_write_list(w, "a.list", GGUF_U8, "\1\2\3", 3);
    gguf_write_int(w, "a.bool", GGUF_BOOL, 1);
    gguf_write_tensor(w, "first", GGUF_TYPE_F32, (int64_t[]){2, 3}, 2);
    gguf_write_tensor(w, "second", GGUF_TYPE_Q8_0, (int64_t[]){2, 32}, 2);
    gguf_write_tensor(w, "scalar", GGUF_TYPE_F32, NULL, 0);
    assert_int_equal(gguf_write_begin(w, path), IG_OK);
    const float six[6] = {1, 2, 3, 4, 5, 6};
    unsigned char blocks[68] = {0, 0x3c, 1, 2, 3};
    gguf_write_data(w, six, 8);
    gguf_write_data(w, six + 2, 16);
    gguf_write_data(w, blocks, sizeof blocks);
    gguf_write_data(w, six, 4);
    assert_int_equal(gguf_write_end(w, IG_OK), IG_OK);
    return folder_get(path);
}

static void test_write(void **state)
{
    (void)state;
    const char *path = folder_path("a.gguf"), *again = folder_path("b.gguf");
    const size_t bytes = sample_write(path);
    gguf *g = gguf_open(path);
    assert_non_null(g);
    assert_int_equal(gguf_int(g, "a.int", 0), -7);
    assert_true(gguf_number(g, "a.number", 0) == 0.5);
    assert_true(gguf_bool(g, "a.bool", false));
    const gguf_tensor *t = gguf_tensor_find(g, "first");
    assert_true(t && t->ndim == 2 && t->shape[0] == 2 && t->shape[1] == 3);
    assert_null(gguf_tensor_find(g, "third"));
    assert_array(gguf_array(g, t), IG_F32, IG_SHAPE(2, 3), (float[]){1, 2, 3, 4, 5, 6});
    assert_true(((const float *)ig_data(
                    ig_add(gguf_array(g, gguf_tensor_find(g, "second")), ig_float(1))))[1] == 3);

    /* A copy of all keys and tensors has the same bytes. */
    gguf_writer *w = gguf_write_new();
    const gguf_value *values;
    const gguf_tensor *tensors;
    const int n_values = gguf_values(g, &values), n = gguf_tensors(g, &tensors);
    for (int i = 0; i < n_values; i++)
        gguf_write_value(w, &values[i]);
    for (int i = 0; i < n; i++)
        gguf_write_tensor(w, tensors[i].name.at, tensors[i].type, tensors[i].shape,
                          tensors[i].ndim);
    assert_int_equal(gguf_write_begin(w, again), IG_OK);
    for (int i = 0; i < n; i++)
        gguf_write_data(w, tensors[i].data, tensors[i].bytes);
    assert_int_equal(gguf_write_end(w, IG_OK), IG_OK);
    gguf_close(g);
    unsigned char *first = malloc(bytes);
    memcpy(first, folder_content, bytes);
    assert_int_equal(folder_get(again), bytes);
    assert_memory_equal(folder_content, first, bytes);
    free(first);
}

static void test_write_mistakes(void **state)
{
    (void)state;
    gguf_writer *w = gguf_write_new();
    gguf_write_tensor(w, "a", GGUF_TYPE_Q8_0, (int64_t[]){2, 33}, 2);
    assert_int_equal(gguf_write_begin(w, folder_path("a.gguf")), IG_ERR_UNSUPPORTED);
    assert_int_equal(gguf_write_end(w, IG_OK), IG_ERR_UNSUPPORTED);
    assert_error(IG_ERR_UNSUPPORTED, "tensor 'a' does not fit the type Q8_0");
    w = gguf_write_new();
    gguf_write_tensor(w, "a", GGUF_TYPE_F32, (int64_t[]){2}, 1);
    assert_int_equal(gguf_write_begin(w, folder_path("a.gguf")), IG_OK);
    assert_int_equal(gguf_write_end(w, IG_OK), IG_ERR_INTERNAL);
    assert_error(IG_ERR_INTERNAL, "a tensor has no data");
    assert_int_equal(folder_entries(), 0);
}

/* ---- damaged files ---- */

#define N(v) v "\0\0\0\0\0\0\0" /* a u64 below 256 */
#define HEAD(tensors, keys) "GGUF\3\0\0\0" N(tensors) N(keys)
#define TENSOR(ndim, rest) N("\1") "t" ndim "\0\0\0" rest

static const struct damage {
    const char *bytes;
    size_t n;
    ig_status code;
    const char *message;
} damages[] = {
#define ROW(text, code, message) \
    { \
        text, sizeof(text) - 1, code, message \
    }
    ROW("GGU", IG_ERR_FORMAT, "does not begin with 'GGUF'"),
    ROW("version https://git-lfs", IG_ERR_FORMAT, "pointer of Git LFS"),
    ROW("GGUF\3\0\0", IG_ERR_FORMAT, "cut short at byte 4, in its version"),
    ROW("GGUF\2\0\0\0", IG_ERR_UNSUPPORTED, "has version 2"),
    ROW("GGUF\0\0\0\3", IG_ERR_UNSUPPORTED, "is a big-endian file"),
    ROW("GGUF\3\0\0\0" N("\0"), IG_ERR_FORMAT, "cut short at byte 16, in keys"),
    ROW("GGUF\3\0\0\0" N("\0") "\0\0\0\0\0\0\0\1", IG_ERR_FORMAT, "claims to have"),
    ROW(HEAD("\0", "\1"), IG_ERR_FORMAT, "cut short at byte 24, in a key"),
    ROW(HEAD("\0", "\1") N("\4") "abc", IG_ERR_FORMAT, "cut short at byte 32, in a key"),
    ROW(HEAD("\0", "\1") N("\0"), IG_ERR_FORMAT, "the name at byte 24 (a key) is empty"),
    ROW(HEAD("\0", "\1") N("\3") "a\0c", IG_ERR_FORMAT, "contains a zero byte"),
    ROW(HEAD("\0", "\1") N("\1") "k\15\0\0\0", IG_ERR_FORMAT, "key 'k' has a value of kind 13"),
    ROW(HEAD("\0", "\1") N("\1") "k\7\0\0\0\2", IG_ERR_FORMAT,
        "key 'k' is bool, and has a byte of 2"),
    ROW(HEAD("\0", "\1") N("\1") "k\4\0\0\0\0\0", IG_ERR_FORMAT, "in k"),
    ROW(HEAD("\0", "\1") N("\1") "k\10\0\0\0" N("\5") "abcd", IG_ERR_FORMAT, "in k"),
    ROW(HEAD("\0", "\1") N("\1") "k\11\0\0\0\11\0\0\0" N("\1"), IG_ERR_UNSUPPORTED,
        "list of lists"),
    ROW(HEAD("\0", "\1") N("\1") "k\11\0\0\0\14\0\0\0\0\0\0\0\0\0\0\377", IG_ERR_FORMAT, "in k"),
    ROW(HEAD("\0", "\1") N("\1") "k\11\0\0\0\10\0\0\0" N("\2") N("\0"), IG_ERR_FORMAT, "in k"),
    ROW(HEAD("\0", "\2") N("\1") "k\0\0\0\0\1" N("\1") "k\0\0\0\0\1", IG_ERR_FORMAT,
        "key 'k' is there twice"),
    ROW(HEAD("\0", "\1") N("\21") "general.alignment\4\0\0\0\3\0\0\0", IG_ERR_FORMAT,
        "general.alignment is 3, not a power of 2"),
    ROW(HEAD("\0", "\1") N("\21") "general.alignment\4\0\0\0\0\0\0\0", IG_ERR_FORMAT,
        "key 'general.alignment' is 0, not between"),
    ROW(HEAD("\1", "\0") TENSOR("\5", ""), IG_ERR_FORMAT, "tensor 't' has 5 axes"),
    ROW(HEAD("\1", "\0") TENSOR("\1", N("\0") "\0\0\0\0" N("\0")), IG_ERR_FORMAT,
        "has an axis of length 0"),
    ROW(HEAD("\1", "\0") TENSOR("\1", N("\1") "\144\0\0\0" N("\0")), IG_ERR_UNSUPPORTED,
        "has type 100"),
    ROW(HEAD("\1", "\0") TENSOR("\1", N("\41") "\10\0\0\0" N("\0")), IG_ERR_FORMAT,
        "rows of 33 elements, and blocks of Q8_0 have 32"),
    ROW(HEAD("\1", "\0") TENSOR("\0", "\10\0\0\0" N("\0")), IG_ERR_FORMAT, "has no axes"),
    ROW(HEAD("\1", "\0") TENSOR("\2", "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1"
                                      "\0\0\0\0" N("\0")),
        IG_ERR_FORMAT, "more elements than can be addressed"),
    ROW(HEAD("\1", "\0") TENSOR("\1", N("\200") "\0\0\0\0" N("\0")), IG_ERR_FORMAT,
        "larger than the file"),
    ROW(HEAD("\1", "\0") TENSOR("\1", N("\1") "\0\0\0\0" N("\1")), IG_ERR_FORMAT,
        "at offset 1, not a multiple of 32"),
    ROW(HEAD("\1", "\0") TENSOR("\1", N("\1") "\0\0\0\0" N("\0")), IG_ERR_FORMAT,
        "cut short: tensor 't' ends at byte 68"),
#undef ROW
};

static void test_damages(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        const struct damage *d = &damages[i];
        void *copy =
            malloc(d->n); /* of this size, so that a sanitizer detects reads past the end */
        memcpy(copy, d->bytes, d->n);
        assert_null(gguf_open_memory(copy, d->n, "memory"));
        assert_error(d->code, d->message);
        free(copy);
    }
    assert_null(gguf_open(folder_itself()));
    assert_error(IG_ERR_FILE, "");
    folder_put(folder_path("empty.gguf"), "", 0);
    assert_null(gguf_open(folder_path("empty.gguf")));
    assert_error(IG_ERR_FORMAT, "it is empty");
}

/* Two tensors of one name, and two that share bytes. */
static void test_overlap(void **state)
{
    (void)state;
    const size_t n = sample_write(folder_path("a.gguf"));
    unsigned char *copy = malloc(n);
    static const struct {
        const char *find;
        int at, byte;
        const char *message;
    } changes[] = {{"second", 6 + 4 + 16 + 4, 0, "shares bytes with tensor"},
                   {"a.list", 2, 'X', NULL},
                   {"a.list", 5, 't', NULL}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        memcpy(copy, folder_content, n);
        size_t at = 0;
        while (memcmp(copy + at, changes[i].find, 6) != 0)
            at++;
        copy[at + (size_t)changes[i].at] = (unsigned char)changes[i].byte;
        gguf *g = gguf_open_memory(copy, n, "memory");
        assert_int_equal(!g, changes[i].message != NULL);
        if (!g)
            assert_error(IG_ERR_FORMAT, changes[i].message);
        gguf_close(g);
    }
    /* Every prefix of the file fails, with one message. */
    for (size_t cut = 0; cut < n; cut += cut < 600 ? 1 : 16) {
        void *part = malloc(cut + 1);
        memcpy(part, folder_content, cut);
        gguf *g = gguf_open_memory(part, cut, "memory");
        if (!g)
            assert_error(IG_ERR_FORMAT, "");
        else /* only padding is missing */
            assert_true(n - cut <= 32);
        gguf_close(g);
        free(part);
    }
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, folder_begin, folder_end)
        TEST(values), TEST(types), TEST(write), TEST(write_mistakes), TEST(damages), TEST(overlap),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
