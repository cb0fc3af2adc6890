/* Files for the format readers and writers: see file.h.
 *
 * Every result is checked, interrupted calls are repeated, and each message has the system's text and advice.
 * A file cannot be renamed to a device, pipe or stream, so these are written directly.
 */
#include "lib/io/file.h"

#include "base/size.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TRANSFER_BYTES = 1 << 30, /* macOS refuses more than INT_MAX in one call */
    STEM_BYTES = 200,         /* of a file's name in its temporary name: names have at most 255 */
    TEMP_TRIES = 1000,
    TEMP_BYTES = 48,            /* of a temporary name after its stem */
    FIRST_PIECE_BYTES = 1 << 20 /* allocated at first for a pipe, whatever its header says */
};

static const struct advice {
    int error;
    const char *text;
} advices[] = {
    {ENOENT, "check the path"},
    {ENOTDIR, "a part of the path is a file: check the path"},
    {EISDIR, "name a file in the folder"},
    {ELOOP, "its links run in a circle: name the file itself"},
    {ENAMETOOLONG, "choose a shorter name"},
    {EACCES, "check the permissions of the file and of its folder"},
    {EPERM, "check the permissions of the file and of its folder"},
    {EROFS, "choose a place that can be written"},
    {ENOSPC, "free some space or choose another place"},
    {EDQUOT, "free some space or choose another place"},
    {EFBIG, "raise the file size limit (ulimit -f)"},
    {EMFILE, "close files or raise their limit (ulimit -n)"},
    {EPIPE, "start its reader again"},
    {EIO, "check the disk"},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

void io_show(const char *name, char out[IO_SHOWN_BYTES])
{
    size_t length = strlen(name);
    if (length >= IO_SHOWN_BYTES) {
        name += length - (IO_SHOWN_BYTES - 4);
        while ((*name & 0xc0) == 0x80) /* not in the middle of a UTF-8 character */
            name++;
        length = strlen(name);
        memcpy(out, "...", 3);
        out += 3;
    }
    for (size_t i = 0; i < length; i++)
        out[i] = (unsigned char)name[i] < ' ' || name[i] == 0x7f ? '?' : name[i];
    out[length] = '\0';
}

ig_status io_fail(const struct io_file *file, ig_status code, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ig_fail(code, "%s '%s': %s", file->verb, file->shown, text);
}

ig_status io_waiting(void)
{
    ig_status code = IG_ERR_INTERNAL;
    const char *text = ig_error(&code);
    return ig_fail(code ? code : IG_ERR_INTERNAL, "%s",
                   text ? text : "no data and no error; please report it");
}

ig_status io_fail_system(const struct io_file *file, int error, const char *what)
{
    const char *advice = "try again, or choose another place";
    for (size_t i = 0; i < COUNT(advices); i++)
        if (advices[i].error == error)
            advice = advices[i].text;
    return io_fail(file, error == ENOMEM ? IG_ERR_MEMORY : IG_ERR_FILE, "%s: %s; %s", what,
                   strerror(error), advice);
}

/* Sets the name of a file that is not open yet. */
static ig_status file_name(struct io_file *file, const char *verb, const char *path)
{
    *file = (struct io_file){.verb = verb, .fd = -1, .left = -1};
    if (!path || !*path)
        return ig_fail(IG_ERR_ARGUMENT, "%s: no path is given; name a file", verb);
    io_show(path, file->shown);
    return IG_OK;
}

/* ---- reading ------------------------------------------------------------------------------- */

ig_status io_open(struct io_file *file, const char *path)
{
    struct stat info;
    const ig_status status = file_name(file, "load", path);
    if (status != IG_OK)
        return status;
    file->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0 || fstat(file->fd, &info) != 0)
        return io_fail_system(file, errno, "it cannot be opened");
    if (S_ISDIR(info.st_mode))
        return io_fail(file, IG_ERR_FILE, "it is a folder; name a file in it");
    /* Files of /proc claim to be regular and empty: they are read like pipes. */
    if (S_ISREG(info.st_mode) && info.st_size > 0)
        file->left = info.st_size;
    return IG_OK;
}

void io_open_memory(struct io_file *file, const void *bytes, size_t n, const char *shown)
{
    *file = (struct io_file){.verb = "load", .fd = -1, .memory = bytes, .left = (int64_t)n};
    io_show(shown, file->shown);
}

void io_close(struct io_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

static size_t memory_read(struct io_file *file, void *out, size_t bytes)
{
    const size_t n = bytes < (size_t)file->left ? bytes : (size_t)file->left;
    if (n)
        memcpy(out, file->memory, n);
    file->memory += n;
    file->left -= (int64_t)n;
    return n;
}

ig_status io_peek(struct io_file *file, void *out, size_t bytes, size_t *got)
{
    const int64_t left = file->left;
    const ig_status status = io_read(file, file->peeked, bytes, &file->n_peeked);
    file->left = left;
    *got = file->n_peeked;
    memcpy(out, file->peeked, *got);
    return status;
}

/* Copies bytes that io_peek has read; returns how many. */
static size_t peeked_read(struct io_file *file, void *out, size_t bytes)
{
    const size_t n = bytes < file->n_peeked ? bytes : file->n_peeked;
    if (n)
        memcpy(out, file->peeked, n);
    file->n_peeked -= n;
    memmove(file->peeked, file->peeked + n, file->n_peeked);
    return n;
}

ig_status io_read(struct io_file *file, void *out, size_t bytes, size_t *got)
{
    if (file->memory) {
        *got = memory_read(file, out, bytes);
        return IG_OK;
    }
    for (*got = peeked_read(file, out, bytes); *got < bytes;) {
        const size_t rest = bytes - *got;
        const ssize_t n = read(file->fd, (char *)out + *got,
                               rest < TRANSFER_BYTES ? rest : (size_t)TRANSFER_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return io_fail_system(file, errno, "it cannot be read");
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    if (file->left >= 0)
        file->left -= (int64_t)*got;
    return IG_OK;
}

ig_status io_read_new(struct io_file *file, size_t bytes, void **data, size_t *got)
{
    size_t room = file->left < 0 && bytes > FIRST_PIECE_BYTES ? FIRST_PIECE_BYTES : bytes;
    *got = 0;
    *data = NULL;
    for (;;) {
        size_t more = 0;
        void *larger = realloc(*data, room ? room : 1);
        if (!larger)
            return io_fail(file, IG_ERR_MEMORY, "no memory for its %zu bytes; free some", bytes);
        *data = larger;
        const ig_status status = io_read(file, (char *)larger + *got, room - *got, &more);
        *got += more;
        if (status != IG_OK || *got < room || room == bytes)
            return status;
        room = bytes - room < room ? bytes : 2 * room;
    }
}

bool io_measure(const int64_t *shape, int ndim, ig_dtype dtype, size_t *bytes)
{
    size_t product = ig_dtype_bytes(dtype);
    bool empty = false;
    for (int i = 0; i < ndim; i++) {
        empty |= shape[i] == 0;
        if ((shape[i] && __builtin_mul_overflow(product, shape[i], &product)) ||
            product > PTRDIFF_MAX / 2)
            return false;
    }
    *bytes = empty ? 0 : product;
    return true;
}

ig_status io_admit(const struct io_file *file, uint64_t bytes)
{
    const uint64_t limit = ig_memory_limit(), used = ig_memory_used();
    const uint64_t free_bytes = used < limit ? limit - used : 0;
    if (!limit || bytes <= free_bytes)
        return IG_OK;
    char needed[SIZE_ROOM], most[SIZE_ROOM], left[SIZE_ROOM];
    return io_fail(file, IG_ERR_MEMORY,
                   "it needs %s, and the memory limit of %s leaves %s; raise the limit "
                   "(ig_set_memory_limit, --memory-limit) or release arrays",
                   size_text(bytes, needed), size_text(limit, most), size_text(free_bytes, left));
}

ig_status io_read_elements(struct io_file *file, size_t bytes, ig_dtype dtype, void **data)
{
    size_t got = 0;
    const bool short_file = file->left >= 0 && bytes > (uint64_t)file->left;
    ig_status status = short_file ? IG_OK : io_admit(file, bytes);
    if (status == IG_OK && !short_file)
        status = io_read_new(file, bytes, data, &got);
    if (status != IG_OK || got == bytes)
        return status;
    return io_fail(file, IG_ERR_FORMAT,
                   "the file is cut short: %zu bytes of %s data are expected, %" PRIu64
                   " found; copy or save it again",
                   bytes, ig_dtype_name(dtype), short_file ? (uint64_t)file->left : got);
}

ig_status io_expect_end(struct io_file *file, const char *after)
{
    char byte;
    size_t got = 0;
    const int64_t left = file->left;
    const ig_status status = io_read(file, &byte, 1, &got);
    if (status != IG_OK || got == 0)
        return status;
    if (left > 0)
        return io_fail(file, IG_ERR_FORMAT,
                       "%" PRId64 " unexpected bytes follow %s; copy or save it again", left,
                       after);
    return io_fail(file, IG_ERR_FORMAT, "unexpected bytes follow %s; copy or save it again", after);
}

void io_swap(void *data, size_t bytes, size_t element_bytes)
{
    unsigned char *const end = (unsigned char *)data + bytes;
    for (unsigned char *element = data; element < end; element += element_bytes)
        for (size_t i = 0; i < element_bytes / 2; i++) {
            const unsigned char byte = element[i];
            element[i] = element[element_bytes - 1 - i];
            element[element_bytes - 1 - i] = byte;
        }
}

size_t io_swap_bytes(ig_dtype dtype)
{
    return ig_dtype_bytes(dtype) / (ig_isdtype(dtype, "complex floating") ? 2 : 1);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* The name of the open file in /proc, by which linkat can name a file that has no name. */
static void descriptor_path(const struct io_file *file, char *out, size_t size)
{
    snprintf(out, size, "/proc/self/fd/%d", file->fd);
}

/* True for names of an open stream of this process, whatever it is connected to. */
static bool path_is_stream(const char *path)
{
    static const char *const begins[] = {"/dev/std", "/dev/fd/", "/proc/"};
    for (size_t i = 0; i < COUNT(begins); i++)
        if (strncmp(path, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* Opens a file without a name in the folder of file->temp; false if the system has no such files. */
static bool unnamed_open(struct io_file *file)
{
    (void)file;
#ifdef O_TMPFILE
    char *slash = strrchr(file->temp, '/'), link[64], kept;
    char *const end = !slash ? NULL : slash == file->temp ? slash + 1 : slash;
    kept = end ? *end : 0;
    if (end)
        *end = 0;
    file->fd = open(end ? file->temp : ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (end)
        *end = kept;
    descriptor_path(file, link, sizeof link);
    if (file->fd >= 0 && access(link, F_OK) == 0)
        return file->unnamed = true;
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
#endif
    return false;
}

/* The length of the part of file->real that the temporary name begins with. */
static size_t temp_stem(const struct io_file *file)
{
    const char *slash = strrchr(file->real, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - file->real) : 0;
    const size_t name = strlen(file->real + folder);
    return folder + (name < STEM_BYTES ? name : STEM_BYTES);
}

/* Writes a new name to file->temp: the stem, ".tmp-", process and number. */
static void temp_name(struct io_file *file)
{
    static atomic_uint counter;
    const size_t stem = temp_stem(file);
    snprintf(file->temp, stem + TEMP_BYTES, "%.*s.tmp-%ld-%u", (int)stem, file->real,
             (long)getpid(), atomic_fetch_add(&counter, 1));
}

/* Opens a new file next to file->real. */
static ig_status temp_open(struct io_file *file)
{
    file->temp = malloc(temp_stem(file) + TEMP_BYTES);
    if (!file->temp)
        return io_fail_system(file, ENOMEM, "the file cannot be created");
    for (int tries = 0; tries < TEMP_TRIES; tries++) {
        temp_name(file);
        if (unnamed_open(file))
            return IG_OK;
        file->fd = open(file->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->fd >= 0 || errno != EEXIST)
            break;
    }
    if (file->fd >= 0)
        return IG_OK;
    const int error = errno;
    free(file->temp); /* the file of that name is not ours: io_finish must not remove it */
    file->temp = NULL;
    return io_fail_system(file, error, "the file cannot be created");
}

ig_status io_create(struct io_file *file, const char *path)
{
    struct stat old;
    ig_status status = file_name(file, "save", path);
    if (status != IG_OK)
        return status;
    const bool exists = stat(path, &old) == 0;
    if (!exists && errno != ENOENT)
        return io_fail_system(file, errno, "it cannot be written");
    if (!exists && lstat(path, &old) == 0)
        return io_fail(file, IG_ERR_FILE,
                       "it is a link to a file that is not there; remove the link or name another "
                       "file");
    if (exists && S_ISDIR(old.st_mode))
        return io_fail(file, IG_ERR_FILE, "it is a folder; name a file in it");
    if (exists && access(path, W_OK) != 0)
        return io_fail_system(file, errno, "it cannot be written");
    if (exists && (!S_ISREG(old.st_mode) || path_is_stream(path))) {
        file->fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        return file->fd < 0 ? io_fail_system(file, errno, "it cannot be opened") : IG_OK;
    }

    /* A link stays a link: the file that it points to is replaced. */
    file->real = exists ? realpath(path, NULL) : strdup(path);
    if (!file->real)
        return io_fail_system(file, errno, "it cannot be written");
    status = temp_open(file);
    if (status == IG_OK && exists && fchmod(file->fd, old.st_mode & 0777) != 0)
        return io_fail_system(file, errno, "its permissions cannot be kept");
    return status;
}

ig_status io_write(struct io_file *file, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const size_t rest = bytes - done;
        const ssize_t n = write(file->fd, (const char *)data + done,
                                rest < TRANSFER_BYTES ? rest : (size_t)TRANSFER_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return io_fail_system(file, n < 0 ? errno : ENOSPC, "it cannot be written");
        done += (size_t)n;
    }
    return IG_OK;
}

/* Waits until the file is on the disk. If it were renamed before, a power cut could leave an empty file in
 * place of the old one. */
static ig_status disk_reach(const struct io_file *file)
{
    int result;
#ifdef F_FULLFSYNC
    if (fcntl(file->fd, F_FULLFSYNC) == 0) /* macOS: fsync stops at the disk's own memory */
        return IG_OK;
#endif
    do
        result = fsync(file->fd);
    while (result != 0 && errno == EINTR);
    /* Some file systems do not support fsync, because they have nothing to wait for. */
    if (result == 0 || errno == EINVAL || errno == ENOTSUP)
        return IG_OK;
    return io_fail_system(file, errno, "it cannot be written");
}

/* The same for the new name. The file at the path is complete either way, so failures are ignored.
 */
static void name_reach_disk(struct io_file *file)
{
    char *slash = strrchr(file->real, '/');
    if (slash)
        slash[slash == file->real] = '\0';
    const int folder = open(slash ? file->real : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return;
    (void)fsync(folder);
    close(folder);
}

/* Gives the complete file its temporary name. */
static ig_status unnamed_link(struct io_file *file)
{
    char link[64];
    descriptor_path(file, link, sizeof link);
    for (int tries = 0; tries < TEMP_TRIES; tries++) {
        if (linkat(AT_FDCWD, link, AT_FDCWD, file->temp, AT_SYMLINK_FOLLOW) == 0) {
            file->unnamed = false;
            return IG_OK;
        }
        if (errno != EEXIST)
            break;
        temp_name(file);
    }
    return io_fail_system(file, errno, "it cannot be put in its place");
}

ig_status io_finish(struct io_file *file, ig_status status)
{
    if (file->temp && status == IG_OK)
        status = disk_reach(file);
    if (file->unnamed && status == IG_OK)
        status = unnamed_link(file);
    if (file->fd >= 0 && close(file->fd) != 0 && errno != EINTR && status == IG_OK)
        status = io_fail_system(file, errno, "it cannot be written");
    file->fd = -1;
    if (file->temp) {
        if (status == IG_OK && rename(file->temp, file->real) != 0)
            status = io_fail_system(file, errno, "it cannot be put in its place");
        if (status == IG_OK)
            name_reach_disk(file);
        else if (!file->unnamed)
            unlink(file->temp);
    }
    free(file->temp);
    free(file->real);
    file->temp = file->real = NULL;
    return status;
}
