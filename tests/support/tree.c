/* A simulated tree of system files. */
#include "support/tree.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64];

const char *tree_root(void) { return root; }

int tree_begin(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/ingot-machine-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int tree_remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

int tree_end(void **state)
{
    (void)state;
    return nftw(root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void tree_put_bytes(const char *path, const char *bytes, size_t size)
{
    char full[1024];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

void tree_put(const char *path, const char *text) { tree_put_bytes(path, text, strlen(text)); }
