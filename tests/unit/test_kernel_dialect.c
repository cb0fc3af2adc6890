/* The table of the dialect is complete: each feature has three kernels that exist and run, and its wrong use is
 * rejected at the place and with the message that the table states. */
#include "support/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "compiler/tree.h"

/* The names that test_kernel_run runs. */
static const char *const rows[] = {
#define WHOLE(name, ...) #name,
#define REAL(name, ...) #name,
#include "unit/kernel_same.def"
#define ROW(name, ...) #name,
#include "unit/kernel_rows.def"
};

static const struct {
    const char *feature, *kernels[3], *says, *source;
} dialect[] = {
#define DIALECT(feature, a, b, c, says, source) {feature, {a, b, c}, says, source},
#include "unit/kernel_dialect.def"
};

enum { FEATURES_OF_IT = sizeof dialect / sizeof *dialect };

static bool is_there(const char *kernel)
{
    char path[200];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i], kernel))
            return true;
    if (!strstr(kernel, ".cu"))
        return false;
    snprintf(path, sizeof path, "tests/cuda/%s", kernel);
    return access("tests/cuda", F_OK) != 0 || access(path, F_OK) == 0;
}

static void test_three_kernels_each(void **state)
{
    (void)state;
    int failed = 0;
    for (int i = 0; i < FEATURES_OF_IT; i++)
        for (int k = 0; k < 3; k++) {
            const char *kernel = dialect[i].kernels[k];
            const bool twice = !strcmp(kernel, dialect[i].kernels[(k + 1) % 3]);
            if (is_there(kernel) && !twice)
                continue;
            print_error("%s: there is no %skernel '%s'\n", dialect[i].feature,
                        twice ? "other " : "", kernel);
            failed++;
        }
    assert_int_equal(failed, 0);
}

static void test_one_refusal_each(void **state)
{
    (void)state;
    const kernel_parse_options options = {.preprocess = {.no_disk = true}};
    int failed = 0;
    for (int i = 0; i < FEATURES_OF_IT; i++) {
        kernel_tree *tree = NULL;
        char *says = NULL;
        const ig_status status = kernel_parse("k.cu", dialect[i].source, &options, &tree, &says);
        const char *first = says && !strncmp(says, "k.cu:", 5) ? says + 5 : "nothing";
        if (status == IG_OK || strncmp(first, dialect[i].says, strlen(dialect[i].says))) {
            print_error("%s: '%.*s' is said, not '%s'\n", dialect[i].feature,
                        (int)strcspn(first, "\n"), first, dialect[i].says);
            failed++;
        }
        kernel_tree_free(tree);
        memory_free(says);
        ig_error(NULL);
    }
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_kernels_each),
        cmocka_unit_test(test_one_refusal_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
