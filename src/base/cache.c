/* The disk cache: see cache.h.
 *
 * An entry is a file whose name is the hash of its key:
 *
 *   "ingot cache 1\n", u64 bytes of the key, u64 bytes of the data, key, data, SHA-256 of all of this
 *
 * Its modification time is the time of its last use. Entries are opened relative to the folder that was
 * checked, so the folder cannot be exchanged between the check and the use. */
#include "base/cache.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/whole_io.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* For the folders along a path, which need not be readable. */
#ifdef O_PATH
#define FOLDER_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)
#else
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#endif

#define MAGIC "ingot cache 1\n"

enum {
    MAGIC_BYTES = sizeof MAGIC - 1,
    HEAD_BYTES = MAGIC_BYTES + 16,
    NAME_BYTES = 2 * HASH_BYTES,
    TEMP_SECONDS = 3600 /* older temporary files are stale */
};

/* ---- the folder ---- */

/* True if only the effective user could have written the file or folder. */
static bool is_trusted(int fd, mode_t kind)
{
    struct stat st;
    return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == kind && st.st_uid == geteuid() &&
           !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* True if the file or folder belongs to the effective user or to root. */
static bool is_ours(const struct stat *st) { return st->st_uid == geteuid() || st->st_uid == 0; }

/* True if no other user can exchange the entries of this folder: it is ours, and others cannot write it, or can change
 * only their own entries, as in /tmp. */
static bool is_safe(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && is_ours(&st) &&
           (!(st.st_mode & (S_IWGRP | S_IWOTH)) || st.st_mode & S_ISVTX);
}

/* Replaces the link `name` by its target, in front of the rest of a path; false if it is not a link of ours. */
static bool link_follow(int folder, const char *name, char rest[static PATH_MAX])
{
    char target[PATH_MAX], whole[PATH_MAX];
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISLNK(st.st_mode) ||
        !is_ours(&st))
        return false;
    const ssize_t n = readlinkat(folder, name, target, sizeof target - 1);
    if (n <= 0)
        return false;
    target[n] = 0;
    if (snprintf(whole, sizeof whole, "%s/%s", target, rest) >= (int)sizeof whole)
        return false;
    memcpy(rest, whole, sizeof whole);
    return true;
}

/* Cuts the first name off a path. */
static void name_take(char rest[static PATH_MAX], char name[static PATH_MAX])
{
    const size_t skip = strspn(rest, "/"), n = strcspn(rest + skip, "/");
    memcpy(name, rest + skip, n);
    name[n] = 0;
    memmove(rest, rest + skip + n, strlen(rest + skip + n) + 1);
}

/* Opens a folder by its absolute path; creates it if `create`. Each folder and each link along the path must be safe:
 * a user who can exchange one of them can choose the content of the cache. -1 if it is missing or not safe. */
static int path_open(const char *path, bool create)
{
    enum { LINKS_MOST = 32 };
    char rest[PATH_MAX], name[PATH_MAX];
    int folder = open("/", FOLDER_FLAGS), links = 0;
    snprintf(rest, sizeof rest, "%s", path);
    for (name_take(rest, name); *name && folder >= 0; name_take(rest, name)) {
        if (create)
            mkdirat(folder, name, 0700);
        int next = openat(folder, name, FOLDER_FLAGS | O_NOFOLLOW);
        if (next < 0 && ++links <= LINKS_MOST && link_follow(folder, name, rest))
            next = rest[0] == '/' ? open("/", FOLDER_FLAGS) : openat(folder, ".", FOLDER_FLAGS);
        close(folder);
        folder = next;
        if (folder >= 0 && !is_safe(folder)) {
            close(folder);
            folder = -1;
        }
    }
    return folder;
}

/* Opens a folder in another; creates it if `create`. -1 if it is missing or not trusted. */
static int folder_in(int parent, const char *name, bool create)
{
    if (create)
        mkdirat(parent, name, 0700);
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || is_trusted(fd, S_IFDIR))
        return fd;
    close(fd);
    return -1;
}

/* Opens the folder of this kind of entry; -1 if there is no cache. By the XDG rule a relative path is
 * ignored. Links are followed up to XDG_CACHE_HOME, but not below it. */
static int folder_open(const cache *c, bool create)
{
    const char *wish = getenv("IG_CACHE"), *base = getenv("XDG_CACHE_HOME");
    const char *user = getenv("HOME"), *under = "";
    char path[PATH_MAX];
    if (wish && strcmp(wish, "off") == 0)
        return -1;
    if (!base || base[0] != '/') {
        base = user;
        under = "/.cache";
    }
    if (!base || base[0] != '/' ||
        snprintf(path, sizeof path, "%s%s", base, under) >= (int)sizeof path)
        return -1;
    const int top = path_open(path, create);
    const int ours = top < 0 ? -1 : folder_in(top, "ingot", create);
    const int folder = ours < 0 ? -1 : folder_in(ours, c->kind, create);
    if (top >= 0)
        close(top);
    if (ours >= 0)
        close(ours);
    return folder;
}

/* The file name of an entry. */
static void entry_name(const void *key, size_t key_bytes, char name[static NAME_BYTES + 1])
{
    uint8_t sum[HASH_BYTES];
    hash h;
    hash_begin(&h);
    hash_add(&h, key, key_bytes);
    hash_end(&h, sum);
    for (int i = 0; i < HASH_BYTES; i++)
        snprintf(name + 2 * i, 3, "%02x", sum[i]);
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

/* Memory, or NULL without an error: the cache then does nothing. */
static void *get_quietly(size_t bytes)
{
    const bool failed = ig_failed();
    void *block = memory_get(bytes);
    if (!block && !failed)
        ig_error(NULL);
    return block;
}

/* Reads the file into new memory; NULL if that fails. *found: the file exists, even if it could not be read. */
static uint8_t *file_read(const cache *c, int folder, const char *name, size_t *bytes, bool *found)
{
    uint8_t *file = NULL;
    struct stat st;
    const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *found = fd >= 0;
    if (fd < 0)
        return NULL;
    if (is_trusted(fd, S_IFREG) && fstat(fd, &st) == 0 && st.st_size >= HEAD_BYTES + HASH_BYTES &&
        (uint64_t)st.st_size <= c->max_bytes) {
        *bytes = (size_t)st.st_size;
        file = get_quietly(*bytes);
        if (file && !whole_read(fd, file, *bytes)) {
            memory_free(file);
            file = NULL;
        }
    }
    if (file)
        futimens(fd, NULL); /* used now */
    close(fd);
    return file;
}

/* The data of the entry in the file; NULL if it is damaged or has another key. */
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
    char name[NAME_BYTES + 1];
    bool found;
    size_t file_bytes = 0;
    const int folder = folder_open(c, false);
    if (folder < 0)
        return false;
    entry_name(key, key_bytes, name);
    uint8_t *file = file_read(c, folder, name, &file_bytes, &found);
    const uint8_t *at = file ? entry_data(file, file_bytes, key, key_bytes, bytes) : NULL;
    if (at) {
        memmove(file, at, *bytes);
        *data = file;
    } else {
        if (found)
            unlinkat(folder, name, 0);
        memory_free(file);
    }
    close(folder);
    return at != NULL;
}

void cache_remove(const cache *c, const void *key, size_t key_bytes)
{
    char name[NAME_BYTES + 1];
    const int folder = folder_open(c, false);
    if (folder < 0)
        return;
    entry_name(key, key_bytes, name);
    unlinkat(folder, name, 0);
    close(folder);
}

/* ---- room ---- */

/* An entry in the folder. */
typedef struct seen {
    char name[NAME_BYTES + 1];
    time_t used;
    uint64_t bytes;
} seen;

typedef struct listing {
    seen *entry;
    size_t n, room;
    uint64_t total; /* bytes of all entries */
} listing;

static bool listing_add(listing *l, const char *name, const struct stat *st)
{
    if (l->n == l->room) {
        const size_t room = l->room ? 2 * l->room : 256;
        seen *more = get_quietly(room * sizeof *more);
        if (!more)
            return false;
        if (l->n)
            memcpy(more, l->entry, l->n * sizeof *more);
        memory_free(l->entry);
        l->entry = more;
        l->room = room;
    }
    seen *e = &l->entry[l->n++];
    memcpy(e->name, name, sizeof e->name);
    e->used = st->st_mtime;
    e->bytes = (uint64_t)st->st_size;
    l->total += e->bytes;
    return true;
}

/* Lists the entries; removes stale temporary files. */
static void look(int folder, listing *l)
{
    struct stat st;
    const int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    *l = (listing){0};
    if (!dir) {
        if (again >= 0)
            close(again);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir));) {
        const bool temporary = strncmp(entry->d_name, "new-", 4) == 0;
        if ((!temporary && strlen(entry->d_name) != NAME_BYTES) ||
            fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (!temporary && !listing_add(l, entry->d_name, &st))
            break;
        if (temporary && time(NULL) - st.st_mtime > TEMP_SECONDS)
            unlinkat(folder, entry->d_name, 0);
    }
    closedir(dir);
}

static int by_use(const void *a, const void *b)
{
    const time_t x = ((const seen *)a)->used, y = ((const seen *)b)->used;
    return (x > y) - (x < y);
}

/* Listing the entries takes milliseconds if there are thousands. So it is done once, and again whenever this process
 * has written a sixteenth of the free space. Other processes may write too. */
static struct {
    pthread_mutex_t lock;
    dev_t device; /* of the folder that was listed last */
    ino_t inode;
    uint64_t max_bytes, credit; /* bytes that may be written before the next listing */
} space = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* If `bytes` more would leave less than 1/64 of the space free, removes the oldest entries until 1/8 is free. */
static void make_room(const cache *c, int folder, uint64_t bytes)
{
    struct stat st;
    if (fstat(folder, &st) != 0)
        return;
    pthread_mutex_lock(&space.lock);
    if (space.device != st.st_dev || space.inode != st.st_ino || space.max_bytes != c->max_bytes ||
        space.credit < bytes) {
        listing l;
        look(folder, &l);
        if (l.total + bytes > c->max_bytes - c->max_bytes / 64) {
            if (l.n)
                qsort(l.entry, l.n, sizeof *l.entry, by_use);
            for (size_t i = 0; i < l.n && l.total + bytes > c->max_bytes - c->max_bytes / 8; i++)
                if (unlinkat(folder, l.entry[i].name, 0) == 0)
                    l.total -= l.entry[i].bytes;
        }
        memory_free(l.entry);
        space.device = st.st_dev;
        space.inode = st.st_ino;
        space.max_bytes = c->max_bytes;
        space.credit = l.total + bytes < c->max_bytes ? (c->max_bytes - l.total - bytes) / 16 : 0;
    } else {
        space.credit -= bytes;
    }
    pthread_mutex_unlock(&space.lock);
}

/* Writes a file atomically: under a temporary name, then by a rename. */
static void file_write(int folder, const char *name, const uint8_t *file, size_t bytes)
{
    static atomic_uint count;
    char temporary[64];
    snprintf(temporary, sizeof temporary, "new-%ld-%u", (long)getpid(),
             atomic_fetch_add(&count, 1));
    const int fd =
        openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    const bool written = whole_write(fd, file, bytes);
    if (close(fd) != 0 || !written || renameat(folder, temporary, folder, name) != 0)
        unlinkat(folder, temporary, 0);
}

void cache_put(const cache *c, const void *key, size_t key_bytes, const void *data, size_t bytes)
{
    char name[NAME_BYTES + 1];
    const size_t total = HEAD_BYTES + key_bytes + bytes + HASH_BYTES;
    uint8_t *file = total <= c->max_bytes ? get_quietly(total) : NULL;
    const int folder = file ? folder_open(c, true) : -1;
    if (folder >= 0) {
        memcpy(file, MAGIC, MAGIC_BYTES);
        put_u64(file + MAGIC_BYTES, key_bytes);
        put_u64(file + MAGIC_BYTES + 8, bytes);
        memcpy(file + HEAD_BYTES, key, key_bytes);
        memcpy(file + HEAD_BYTES + key_bytes, data, bytes);
        sum_of(file, total - HASH_BYTES, file + total - HASH_BYTES);
        entry_name(key, key_bytes, name);
        make_room(c, folder, total);
        file_write(folder, name, file, total);
        close(folder);
    }
    memory_free(file);
}
