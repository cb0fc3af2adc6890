/* A folder around each test. */
#include "support/folder.h"

#include <dirent.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned char folder_content[FOLDER_FILE_MAX];
static char folder[64];

int folder_begin(void **state)
{
    snprintf(folder, sizeof folder, "/tmp/ingot-test-XXXXXX");
    return mkdtemp(folder) ? begin(state) : -1;
}

static bool is_entry(const char *name) { return strcmp(name, ".") != 0 && strcmp(name, "..") != 0; }

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

int folder_end(void **state)
{
    const int failed = end(state);
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) || failed;
}

const char *folder_itself(void) { return folder; }

const char *folder_path(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

int folder_entries(void)
{
    int count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        count += is_entry(entry->d_name);
    closedir(dir);
    return count;
}

void folder_put(const char *path, const void *data, size_t bytes)
{
    remove(path); /* truncating and refilling a file may wait for the disk */
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

size_t folder_get(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t bytes = fread(folder_content, 1, FOLDER_FILE_MAX, file);
    fclose(file);
    return bytes;
}

static struct {
    int ends[2];
    const unsigned char *data;
    size_t bytes;
    pthread_t thread;
} feed;

static void *feed_run(void *unused)
{
    (void)unused;
    for (size_t done = 0; done < feed.bytes;) {
        const size_t piece = feed.bytes - done < 4099 ? feed.bytes - done : 4099;
        const ssize_t n = write(feed.ends[1], feed.data + done, piece);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    close(feed.ends[1]);
    return NULL;
}

const char *folder_feed(const unsigned char *data, size_t bytes)
{
    static char path[64];
    assert_int_equal(pipe(feed.ends), 0);
    feed.data = data;
    feed.bytes = bytes;
    assert_int_equal(pthread_create(&feed.thread, NULL, feed_run, NULL), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", feed.ends[0]);
    return path;
}

void folder_feed_end(void)
{
    close(feed.ends[0]);
    pthread_join(feed.thread, NULL);
}

void assert_array(ig_array *x, ig_dtype dtype, ig_ints shape, const void *data)
{
    if (!x)
        fail_msg("no array: %s", ig_error(NULL));
    assert_int_equal(ig_dtype_of(x), dtype);
    assert_int_equal(ig_ndim(x), shape.n);
    int64_t size = 1;
    for (int i = 0; i < shape.n; i++) {
        assert_int_equal(ig_dim(x, i), shape.v[i]);
        size *= shape.v[i];
    }
    assert_int_equal(ig_size(x), size);
    if (size)
        assert_memory_equal(ig_data(x), data, (size_t)size * ig_dtype_bytes(dtype));
}
