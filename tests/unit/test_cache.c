/* The disk cache: stored data is found again, damaged and foreign entries count as missing, its size is bounded, and
 * problems with the disk do not become errors. SHA-256 is tested with the standard's examples. */
#include "support/folder.h"

#include "base/cache.h"
#include "base/hash.h"
#include "base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const cache things = {.kind = "things", .max_bytes = 1 << 16};

static int cache_begin(void **state)
{
    const int failed = folder_begin(state);
    setenv("XDG_CACHE_HOME", folder_itself(), 1);
    unsetenv("IG_CACHE");
    umask(022);
    return failed;
}

static void hash_is_sha256(void **unused)
{
    (void)unused;
    static const struct {
        const char *piece;
        int times;
        const char *sum;
    } rows[] = {
        {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t sum[HASH_BYTES];
        char text[2 * HASH_BYTES + 1];
        hash h;
        hash_begin(&h);
        for (int k = 0; k < rows[i].times; k++)
            hash_add(&h, rows[i].piece, strlen(rows[i].piece));
        hash_end(&h, sum);
        for (int k = 0; k < HASH_BYTES; k++)
            snprintf(text + 2 * k, 3, "%02x", sum[k]);
        assert_string_equal(text, rows[i].sum);
    }
}

/* True if the cache has exactly this data for the key. */
static bool has(const cache *c, const char *key, const void *want, size_t want_bytes)
{
    void *data;
    size_t bytes;
    if (!cache_get(c, key, strlen(key), &data, &bytes))
        return false;
    const bool same = bytes == want_bytes && memcmp(data, want, bytes) == 0;
    memory_free(data);
    assert_true(same); /* wrong data is worse than no data */
    return true;
}

static void put(const cache *c, const char *key, const void *data, size_t bytes)
{
    cache_put(c, key, strlen(key), data, bytes);
}

/* The path of the i-th entry, in no particular order; NULL: there are fewer. */
static const char *entry(int i)
{
    static char path[700];
    DIR *dir = opendir(folder_path("ingot/things"));
    bool found = false;
    for (const struct dirent *e; dir && !found && (e = readdir(dir));)
        if (e->d_name[0] != '.' && i-- == 0) {
            snprintf(path, sizeof path, "%s/%s", folder_path("ingot/things"), e->d_name);
            found = true;
        }
    if (dir)
        closedir(dir);
    return found ? path : NULL;
}

static void what_is_put_comes_back(void **unused)
{
    (void)unused;
    assert_false(has(&things, "one", "1", 1));
    put(&things, "one", "1", 1);
    put(&things, "two", "22", 2);
    put(&things, "none", "", 0);
    assert_true(has(&things, "one", "1", 1));
    assert_true(has(&things, "two", "22", 2));
    assert_true(has(&things, "none", "", 0));
    put(&things, "one", "another", 7);
    assert_true(has(&things, "one", "another", 7));
    cache_remove(&things, "one", 3);
    assert_false(has(&things, "one", "", 0));
    assert_null(entry(2));
    struct stat st;
    assert_int_equal(stat(entry(0), &st), 0);
    assert_int_equal(st.st_mode & 077, 0);
}

/* Every byte of an entry is checked, and so is its length. */
static void damage_is_found(void **unused)
{
    (void)unused;
    static unsigned char sound[512];
    put(&things, "key", "some data", 9);
    char path[700];
    snprintf(path, sizeof path, "%s", entry(0));
    const size_t bytes = folder_get(path);
    assert_in_range(bytes, 20, sizeof sound);
    memcpy(sound, folder_content, bytes);
    for (size_t i = 0; i < bytes; i++) {
        sound[i] ^= 0x20;
        folder_put(path, sound, bytes);
        sound[i] ^= 0x20;
        assert_false(has(&things, "key", "", 0));
        assert_int_not_equal(access(path, F_OK), 0); /* it is deleted */
        folder_put(path, sound, i);
        assert_false(has(&things, "key", "", 0));
    }
    sound[bytes] = 0;
    folder_put(path, sound, bytes + 1);
    assert_false(has(&things, "key", "", 0));
    folder_put(path, sound, bytes);
    assert_true(has(&things, "key", "some data", 9));
}

/* An intact entry under the name of another key. */
static void foreign_entries_are_none(void **unused)
{
    (void)unused;
    char mine[700], other[700];
    put(&things, "mine", "1", 1);
    snprintf(mine, sizeof mine, "%s", entry(0));
    cache_remove(&things, "mine", 4);
    put(&things, "other", "2", 1);
    snprintf(other, sizeof other, "%s", entry(0));
    assert_int_equal(rename(other, mine), 0);
    assert_false(has(&things, "mine", "", 0));
    assert_null(entry(0));
}

static void the_oldest_give_way(void **unused)
{
    (void)unused;
    static const char block[1000];
    const cache small = {.kind = "things", .max_bytes = 5000};
    char key[8];
    for (int i = 0; i < 4; i++) {
        snprintf(key, sizeof key, "%d", i);
        put(&small, key, block, sizeof block);
    }
    for (int i = 0; entry(i); i++) { /* long ago, all of them */
        const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
        assert_int_equal(utimensat(AT_FDCWD, entry(i), old, 0), 0);
    }
    assert_true(has(&small, "2", block, sizeof block)); /* used now */
    put(&small, "4", block, sizeof block);
    put(&small, "5", block, sizeof block);
    put(&small, "6", block, sizeof block);
    assert_true(has(&small, "2", block, sizeof block));
    assert_true(has(&small, "6", block, sizeof block));
    int left = 0;
    while (entry(left))
        left++;
    assert_int_equal(left, 4);
    put(&small, "large", folder_content, 6000); /* more than the whole limit */
    assert_false(has(&small, "large", "", 0));
    assert_true(has(&small, "6", block, sizeof block));
}

/* The limit holds although the folder is not listed for each new entry. */
static void the_limit_holds(void **unused)
{
    (void)unused;
    static const char block[1000];
    const cache large = {.kind = "things", .max_bytes = 200 * 1100};
    char key[8];
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "%d", i);
        put(&large, key, block, sizeof block);
        assert_true(has(&large, key, block, sizeof block));
    }
    int left = 0;
    uint64_t bytes = 0;
    DIR *dir = opendir(folder_path("ingot/things"));
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir));) {
        struct stat st;
        if (e->d_name[0] == '.' || fstatat(dirfd(dir), e->d_name, &st, 0) != 0)
            continue;
        left++;
        bytes += (uint64_t)st.st_size;
    }
    closedir(dir);
    assert_true(bytes <= large.max_bytes);
    assert_in_range(left, 150, 200);
}

static void a_cache_that_cannot_be_is_empty(void **unused)
{
    (void)unused;
    setenv("IG_CACHE", "off", 1);
    put(&things, "key", "1", 1);
    assert_false(has(&things, "key", "1", 1));
    assert_int_equal(folder_entries(), 0);
    unsetenv("IG_CACHE");
    folder_put(folder_path("ingot"), "a file", 6); /* where the folder should be */
    put(&things, "key", "1", 1);
    assert_false(has(&things, "key", "1", 1));
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "relative", 1);
    put(&things, "key", "1", 1);
    assert_false(has(&things, "key", "1", 1));
    assert_int_not_equal(access("relative", F_OK), 0);
    setenv("HOME", folder_itself(), 1); /* then HOME is used */
    put(&things, "key", "1", 1);
    assert_true(has(&things, "key", "1", 1));
    assert_int_equal(access(folder_path(".cache/ingot/things"), F_OK), 0);
    assert_false(ig_failed());
}

/* Folders and entries that another user could have written are not used. */
static void only_our_own_files_are_trusted(void **unused)
{
    (void)unused;
    static const char *const folders[] = {"ingot", "ingot/things"};
    put(&things, "key", "1", 1);
    assert_true(has(&things, "key", "1", 1));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        static const mode_t open_to[] = {0770, 0702};
        for (int k = 0; k < 2; k++) {
            assert_int_equal(chmod(folder_path(folders[i]), open_to[k]), 0);
            assert_false(has(&things, "key", "1", 1));
            put(&things, "other", "2", 1); /* nothing is written there either */
            assert_int_equal(chmod(folder_path(folders[i]), 0700), 0);
            assert_false(has(&things, "other", "2", 1));
        }
        assert_true(has(&things, "key", "1", 1));
    }
    assert_int_equal(chmod(entry(0), 0622), 0);
    assert_false(has(&things, "key", "1", 1));
    assert_null(entry(0));
    put(&things, "key", "1", 1);
    assert_true(has(&things, "key", "1", 1));
    /* A link in place of a folder may lead anywhere. */
    assert_int_equal(rename(folder_path("ingot/things"), folder_path("elsewhere")), 0);
    char target[700];
    snprintf(target, sizeof target, "%s", folder_path("elsewhere"));
    assert_int_equal(symlink(target, folder_path("ingot/things")), 0);
    assert_false(has(&things, "key", "1", 1));
    if (geteuid() != 0) /* only root can change the owner of a file */
        return;
    assert_int_equal(unlink(folder_path("ingot/things")), 0);
    assert_int_equal(rename(target, folder_path("ingot/things")), 0);
    assert_true(has(&things, "key", "1", 1));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        assert_int_equal(chown(folder_path(folders[i]), 12345, 12345), 0);
        assert_false(has(&things, "key", "1", 1));
        assert_int_equal(chown(folder_path(folders[i]), 0, 0), 0);
    }
    assert_true(has(&things, "key", "1", 1));
    assert_int_equal(chown(entry(0), 12345, 12345), 0);
    assert_false(has(&things, "key", "1", 1));
}

/* Anyone who can replace a folder or a link on the path to the cache controls its content. */
static void the_way_to_the_cache_is_safe(void **unused)
{
    (void)unused;
    char target[700], relative[700];
    assert_int_equal(mkdir(folder_path("home"), 0700), 0);
    snprintf(target, sizeof target, "%s", folder_path("home"));
    snprintf(relative, sizeof relative, "%s", folder_path("link/../link/."));
    assert_int_equal(symlink(target, folder_path("link")), 0);
    setenv("XDG_CACHE_HOME", relative, 1);
    put(&things, "key", "1", 1);
    assert_true(has(&things, "key", "1", 1)); /* through a link of ours */
    assert_int_equal(access(folder_path("home/ingot/things"), F_OK), 0);
    assert_int_equal(chmod(target, 0777), 0);
    assert_false(has(&things, "key", "1", 1));
    assert_int_equal(chmod(target, 01777), 0); /* others cannot replace our folder in it */
    assert_true(has(&things, "key", "1", 1));
    assert_int_equal(chmod(target, 0700), 0);
    assert_int_equal(unlink(folder_path("link")), 0);
    assert_int_equal(symlink("link", folder_path("link")), 0); /* a cycle of links */
    assert_false(has(&things, "key", "1", 1));
    assert_int_equal(unlink(folder_path("link")), 0);
    assert_int_equal(symlink("home", folder_path("link")), 0);
    assert_true(has(&things, "key", "1", 1));
    if (geteuid() != 0) /* only root can change the owner of a file */
        return;
    assert_int_equal(lchown(folder_path("link"), 12345, 12345), 0);
    assert_false(has(&things, "key", "1", 1));
    assert_int_equal(lchown(folder_path("link"), 0, 0), 0);
    assert_true(has(&things, "key", "1", 1));
    assert_int_equal(chown(target, 12345, 12345), 0); /* ingot/ in it is still ours */
    assert_false(has(&things, "key", "1", 1));
    put(&things, "other", "2", 1);
    assert_int_equal(chown(target, 0, 0), 0);
    assert_false(has(&things, "other", "2", 1));
}

static void memory_that_is_not_there_is_no_error(void **unused)
{
    (void)unused;
    void *data;
    size_t bytes;
    memory_fail_at(1);
    put(&things, "key", "1", 1);
    memory_fail_at(0);
    assert_null(entry(0));
    put(&things, "key", "1", 1);
    memory_fail_at(1);
    assert_false(cache_get(&things, "key", 3, &data, &bytes));
    memory_fail_at(0);
    assert_false(ig_failed());
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, cache_begin, folder_end)
    const struct CMUnitTest tests[] = {
        TEST(hash_is_sha256),
        TEST(what_is_put_comes_back),
        TEST(damage_is_found),
        TEST(foreign_entries_are_none),
        TEST(the_oldest_give_way),
        TEST(the_limit_holds),
        TEST(a_cache_that_cannot_be_is_empty),
        TEST(only_our_own_files_are_trusted),
        TEST(the_way_to_the_cache_is_safe),
        TEST(memory_that_is_not_there_is_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
