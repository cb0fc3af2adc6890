/* Rows of a large table in a mapped file: they are correct, and the table's pages do not become resident. */
#include "support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 22000, WIDTH = 768, TAKEN = 300, STEP = 73 }; /* 64 MiB and more */

/* Row r is r, r + 1, ...; only rows that are taken are written; the rest of the file is sparse. */
static void write_table(int fd)
{
    char header[256];
    const int64_t bytes = (int64_t)ROWS * WIDTH * (int64_t)sizeof(float);
    const int n = snprintf(
        header, sizeof header,
        "{\"table\":{\"dtype\":\"F32\",\"shape\":[%d,%d],\"data_offsets\":[0,%lld]}}        ", ROWS,
        WIDTH, (long long)bytes);
    const int used = n / 8 * 8; /* the blanks at its end may be cut */
    uint64_t length = (uint64_t)used;
    assert_int_equal(pwrite(fd, &length, 8, 0), 8);
    assert_int_equal(pwrite(fd, header, (size_t)used, 8), used);
    assert_int_equal(ftruncate(fd, 8 + used + bytes), 0);
    for (int64_t i = 0; i < TAKEN; i++) {
        float row[WIDTH];
        for (int k = 0; k < WIDTH; k++)
            row[k] = (float)(i * STEP + k);
        const off_t at = 8 + used + (off_t)(i * STEP * WIDTH) * (off_t)sizeof(float);
        assert_int_equal(pwrite(fd, row, sizeof row, at), sizeof row);
    }
}

/* KiB of the file's mapping that are resident; -1 if the system does not tell. */
static int64_t resident(const char *path)
{
    char line[4096];
    int64_t kib = -1;
    bool here = false;
    FILE *f = fopen("/proc/self/smaps", "r");
    while (f && fgets(line, sizeof line, f)) {
        long long now;
        if (strstr(line, path))
            here = true;
        else if (here && sscanf(line, "Rss: %lld", &now) == 1)
            kib = (kib < 0 ? 0 : kib) + now, here = false;
    }
    if (f)
        fclose(f);
    return kib;
}

static void rows_are_read(void **state)
{
    (void)state;
    char path[] = "/tmp/table-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    write_table(fd);
    close(fd);
    ig_tensors *file = ig_tensors_map(path);
    assert_non_null(file);
    ig_array *table = ig_tensors_get(file, "table");
    ig_array *at = ig_eval_one(ig_multiply(ig_arange(0, TAKEN, 1, IG_I64), ig_int(STEP)));
    /* Copied rows, and rows in a fused program. */
    ig_array *taken = ig_eval_one(ig_embedding(at, table));
    ig_array *sums = ig_eval_one(ig_sum(ig_multiply(ig_embedding(at, table), ig_float(2)),
                                        IG_AXES(1), IG_DTYPE_NONE, false));
    const float *rows = ig_data(taken), *sum = ig_data(sums);
    assert_true(rows && sum);
    for (int64_t i = 0; i < TAKEN; i++) {
        for (int k = 0; k < WIDTH; k++)
            assert_true(rows[i * WIDTH + k] == (float)(i * STEP + k));
        const double want = 2.0 * WIDTH * ((double)(i * STEP) + (WIDTH - 1) / 2.0);
        assert_true(sum[i] > want * (1 - 1e-5) && sum[i] < want * (1 + 1e-5));
    }
    assert_true(resident(path) < 1024);
    ig_tensors_free(file);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_read, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
