/* Memory of arrays: a freed block is reused for the next array of its size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/size.h"

/* Also for sizes that are rounded up to whole huge pages, which may be much more than requested. */
static void test_freed_block_is_taken_again(void **state)
{
    (void)state;
    enum { FROM = 64 << 10, TO = 40 << 20 };
    for (size_t bytes = FROM; bytes <= TO; bytes += bytes / 7) {
        void *first = memory_data_get(bytes);
        assert_non_null(first);
        memory_data_free(first, bytes);
        void *again = memory_data_get(bytes);
        if (again != first)
            fail_msg("%zu bytes came from the system again", bytes);
        memory_data_free(again, bytes);
    }
    memory_trim();
}

/* A kept block is not given to an array that would waste most of it. */
static void test_large_block_is_not_taken_for_a_small_array(void **state)
{
    (void)state;
    enum { LARGE = 8 << 20, SMALL = 1 << 20 };
    void *large = memory_data_get(LARGE);
    assert_non_null(large);
    memory_data_free(large, LARGE);
    void *small = memory_data_get(SMALL);
    assert_non_null(small);
    assert_ptr_not_equal(small, large);
    memory_data_free(small, SMALL);
    memory_trim();
}

static void test_sizes_for_readers(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {{0, "0 bytes"},
                {1, "1 byte"},
                {1023, "1023 bytes"},
                {1024, "1 KiB"},
                {1536, "1.5 KiB"},
                {200000, "195 KiB"},
                {4000000, "3.8 MiB"},
                {(uint64_t)25233 << 20, "24.6 GiB"},
                {3958241859994, "3.6 TiB"},
                {UINT64_MAX, "16 EiB"}};
    char out[SIZE_ROOM];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(size_text(rows[i].bytes, out), rows[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_freed_block_is_taken_again),
        cmocka_unit_test(test_large_block_is_not_taken_for_a_small_array),
        cmocka_unit_test(test_sizes_for_readers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
