/* The cache on the disk: see cache.h.
 *
 * An entry is a file, named by the hash of its key:
 *
 *   "ingot cache 1\n", u64 bytes of the key, u64 bytes of the data, key, data, SHA-256 of all that
 *
 * Its time of modification is when it was last used. */
#include "base/cache.h"

#include "base/hash.h"
#include "base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC "ingot cache 1\n"

enum {
    MAGIC_BYTES = sizeof MAGIC - 1,
    HEAD_BYTES = MAGIC_BYTES + 16,
    NAME_BYTES = 2 * HASH_BYTES,
    TEMP_SECONDS = 3600 /* a temporary file as old as that was left behind */
};

typedef char cache_path[PATH_MAX];

/* ---- places ---- */

static bool path_join(cache_path out, const char *folder, const char *name)
{
    const int n = snprintf(out, sizeof(cache_path), "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof(cache_path);
}

/* The folder of this kind; false: there is no cache. XDG's rule: a path that is not absolute does not
 * count. */
static bool folder_path(const cache *c, cache_path out)
{
    const char *wish = getenv("IG_CACHE"), *base = getenv("XDG_CACHE_HOME");
    cache_path home, ours;
    if (wish && strcmp(wish, "off") == 0)
        return false;
    if (!base || base[0] != '/') {
        const char *user = getenv("HOME");
        if (!user || user[0] != '/' || !path_join(home, user, ".cache"))
            return false;
        base = home;
    }
    return path_join(ours, base, "ingot") && path_join(out, ours, c->kind);
}

static void folder_make(const cache_path path)
{
    cache_path part;
    for (size_t i = 1; path[i]; i++)
        if (path[i] == '/') {
            memcpy(part, path, i);
            part[i] = '\0';
            mkdir(part, 0700);
        }
    mkdir(path, 0700);
}

static bool entry_path(const char *folder, const void *key, size_t key_bytes, cache_path out)
{
    char name[NAME_BYTES + 1];
    uint8_t sum[HASH_BYTES];
    hash h;
    hash_begin(&h);
    hash_add(&h, key, key_bytes);
    hash_end(&h, sum);
    for (int i = 0; i < HASH_BYTES; i++)
        snprintf(name + 2 * i, 3, "%02x", sum[i]);
    return path_join(out, folder, name);
}

/* ---- bytes ---- */

static void put_u64(uint8_t *at, uint64_t x)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(x >> 8 * i);
}

static uint64_t get_u64(const uint8_t *at)
{
    uint64_t x = 0;
    for (int i = 0; i < 8; i++)
        x |= (uint64_t)at[i] << 8 * i;
    return x;
}

static void sum_of(const uint8_t *file, size_t bytes, uint8_t sum[static HASH_BYTES])
{
    hash h;
    hash_begin(&h);
    hash_add(&h, file, bytes);
    hash_end(&h, sum);
}

/* Memory that a cache does without must not become the caller's error. */
static void *get_quietly(size_t bytes)
{
    const bool failed = ig_failed();
    void *block = memory_get(bytes);
    if (!block && !failed)
        ig_error(NULL);
    return block;
}

static bool read_all(int fd, uint8_t *to, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = read(fd, to + done, bytes - done);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static bool write_all(int fd, const uint8_t *from, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = write(fd, from + done, bytes - done);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* The file in new memory, or NULL: not there. *found: it is there, whether or not it could be read. */
static uint8_t *file_read(const cache *c, const char *path, size_t *bytes, bool *found)
{
    uint8_t *file = NULL;
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *found = fd >= 0;
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= HEAD_BYTES + HASH_BYTES &&
        (uint64_t)st.st_size <= c->max_bytes && (file = get_quietly((size_t)st.st_size))) {
        *bytes = (size_t)st.st_size;
        if (!read_all(fd, file, *bytes)) {
            memory_free(file);
            file = NULL;
        }
    }
    if (file)
        futimens(fd, NULL); /* used now */
    close(fd);
    return file;
}

/* Where the data of a sound entry of this key begins; NULL: it is none. */
static const uint8_t *entry_data(const uint8_t *file, size_t bytes, const void *key,
                                 size_t key_bytes, size_t *data_bytes)
{
    uint8_t sum[HASH_BYTES];
    const size_t rest = bytes - HEAD_BYTES - HASH_BYTES;
    if (memcmp(file, MAGIC, MAGIC_BYTES) != 0 || key_bytes > rest ||
        get_u64(file + MAGIC_BYTES) != key_bytes ||
        get_u64(file + MAGIC_BYTES + 8) != rest - key_bytes ||
        memcmp(file + HEAD_BYTES, key, key_bytes) != 0)
        return NULL;
    sum_of(file, bytes - HASH_BYTES, sum);
    if (memcmp(sum, file + bytes - HASH_BYTES, HASH_BYTES) != 0)
        return NULL;
    *data_bytes = rest - key_bytes;
    return file + HEAD_BYTES + key_bytes;
}

bool cache_get(const cache *c, const void *key, size_t key_bytes, void **data, size_t *bytes)
{
    cache_path folder, path;
    bool found;
    size_t file_bytes = 0;
    if (!folder_path(c, folder) || !entry_path(folder, key, key_bytes, path))
        return false;
    uint8_t *file = file_read(c, path, &file_bytes, &found);
    const uint8_t *at = file ? entry_data(file, file_bytes, key, key_bytes, bytes) : NULL;
    if (!at) {
        if (found)
            unlink(path);
        memory_free(file);
        return false;
    }
    memmove(file, at, *bytes);
    *data = file;
    return true;
}

void cache_remove(const cache *c, const void *key, size_t key_bytes)
{
    cache_path folder, path;
    if (folder_path(c, folder) && entry_path(folder, key, key_bytes, path))
        unlink(path);
}

/* ---- room ---- */

typedef struct oldest {
    cache_path path;
    time_t used;
    uint64_t total; /* bytes of all entries */
    bool found;
} oldest;

/* Finds the entry that was used longest ago, and how much they all take. */
static void look(const char *folder, oldest *o)
{
    cache_path path;
    struct stat st;
    DIR *dir = opendir(folder);
    *o = (oldest){0};
    if (!dir)
        return;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        const bool temporary = strncmp(entry->d_name, "new-", 4) == 0;
        if ((!temporary && strlen(entry->d_name) != NAME_BYTES) ||
            !path_join(path, folder, entry->d_name) || lstat(path, &st) != 0)
            continue;
        if (temporary) {
            if (time(NULL) - st.st_mtime > TEMP_SECONDS)
                unlink(path);
            continue;
        }
        o->total += (uint64_t)st.st_size;
        if (!o->found || st.st_mtime < o->used) {
            o->found = true;
            o->used = st.st_mtime;
            memcpy(o->path, path, sizeof path);
        }
    }
    closedir(dir);
}

/* Removes until there is room for so many bytes more. */
static void make_room(const cache *c, const char *folder, uint64_t bytes)
{
    oldest o;
    for (look(folder, &o); o.found && o.total + bytes > c->max_bytes; look(folder, &o))
        if (unlink(o.path) != 0)
            return;
}

static bool temp_open(const char *folder, cache_path path, int *fd)
{
    static atomic_uint count;
    char name[64];
    snprintf(name, sizeof name, "new-%ld-%u", (long)getpid(), atomic_fetch_add(&count, 1));
    if (!path_join(path, folder, name))
        return false;
    *fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    return *fd >= 0;
}

void cache_put(const cache *c, const void *key, size_t key_bytes, const void *data, size_t bytes)
{
    cache_path folder, path, temporary;
    const size_t total = HEAD_BYTES + key_bytes + bytes + HASH_BYTES;
    int fd;
    if (total > c->max_bytes || !folder_path(c, folder) ||
        !entry_path(folder, key, key_bytes, path))
        return;
    uint8_t *file = get_quietly(total);
    if (!file)
        return;
    memcpy(file, MAGIC, MAGIC_BYTES);
    put_u64(file + MAGIC_BYTES, key_bytes);
    put_u64(file + MAGIC_BYTES + 8, bytes);
    memcpy(file + HEAD_BYTES, key, key_bytes);
    memcpy(file + HEAD_BYTES + key_bytes, data, bytes);
    sum_of(file, total - HASH_BYTES, file + total - HASH_BYTES);
    folder_make(folder);
    make_room(c, folder, total);
    if (temp_open(folder, temporary, &fd)) {
        const bool written = write_all(fd, file, total);
        if (close(fd) != 0 || !written || rename(temporary, path) != 0)
            unlink(temporary);
    }
    memory_free(file);
}
