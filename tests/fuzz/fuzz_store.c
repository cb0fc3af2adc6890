/* Zarr stores of any bytes. The first byte chooses what the rest is: the metadata of an array of v3 or v2, the metadata of
 * a group, or an object of an array: a chunk or a shard with one of several codecs. Metadata of v3 that is accepted is
 * written and read again, and must be the same. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "lib/store/zarr.h"
#include "support/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const codecs[] = {"none", "crc32c", "gzip",
                                     "zstd", "blosc",  "transpose,big,gzip,crc32c"};
enum { CODECS = sizeof codecs / sizeof *codecs, FIRST_OBJECT = 3 };

static char folder[64];

static void folder_remove(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        fprintf(stderr, "fuzz: '%s' remains\n", folder);
}

static void folder_make(void)
{
    if (*folder)
        return;
    snprintf(folder, sizeof folder, "/dev/shm/ingot-fuzz-XXXXXX");
    if (!mkdtemp(folder)) {
        snprintf(folder, sizeof folder, "/tmp/ingot-fuzz-XXXXXX");
        scratch_check(mkdtemp(folder) != NULL, "no folder");
    }
    atexit(folder_remove);
}

/* Arrays of i16 (8, 8) in chunks of (2, 4); every second one in shards of (8, 8). NULL if a library is missing. */
static ig_store *array_open(int which)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%d", folder, which);
    const ig_store_options o = {.size = sizeof o,
                                .chunk = IG_SHAPE(2, 4),
                                .shard = which % 2 ? IG_SHAPE(8, 8) : IG_NONE,
                                .codecs = codecs[which / 2]};
    ig_store *s = ig_store_create(path, IG_SHAPE(8, 8), IG_I16, &o);
    if (!s)
        scratch_check(scratch_error() == IG_ERR_UNSUPPORTED, "an array cannot be created");
    return s;
}

static void file_put(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    scratch_check(file && fwrite(data, 1, size, file) == size, "a file cannot be written");
    fclose(file);
}

static void object_check(int which, const uint8_t *data, size_t size)
{
    char path[160];
    int16_t got[64];
    ig_store *s = array_open(which);
    if (!s)
        return;
    snprintf(path, sizeof path, "%s/%d/c", folder, which);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%d/c/0", folder, which);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%d/c/0/0", folder, which);
    file_put(path, data, size);
    for (int64_t i = 0; i < 2; i++) {
        const ig_status status = ig_store_read(s, IG_SHAPE(i, i), IG_SHAPE(8 - i, 8 - i), got);
        scratch_check(status == IG_OK || scratch_error() == status, "it failed without an error");
    }
    if (ig_store_write(s, IG_SHAPE(1, 1), IG_SHAPE(1, 2), got) != IG_OK)
        scratch_check(scratch_error() != IG_OK, "it failed without an error");
    ig_store_close(s);
}

static ig_status metadata_read(zarr *z, int version, const void *data, size_t size)
{
    struct io_file file = {.verb = "load", .fd = -1};
    memset(z, 0, sizeof *z);
    snprintf(file.shown, sizeof file.shown, "zarr.json");
    const ig_status status = (version == 3 ? zarr_read_v3 : zarr_read_v2)(z, &file, data, size);
    if (status != IG_OK)
        scratch_check(scratch_error() == status, "it failed without an error");
    return status;
}

static void metadata_check(int version, const uint8_t *data, size_t size)
{
    static zarr z, again;
    char *one = NULL, *two = NULL;
    if (metadata_read(&z, version, data, size) == IG_OK && version == 3) {
        one = zarr_write_v3(&z);
        scratch_check(one && metadata_read(&again, 3, one, strlen(one)) == IG_OK,
                      "it cannot be read again");
        two = zarr_write_v3(&again);
        scratch_check(two && strcmp(one, two) == 0, "it differs when it is read again");
        memory_free(again.base.attributes);
    }
    memory_free(one);
    memory_free(two);
    memory_free(z.base.attributes);
}

static void group_check(const uint8_t *data, size_t size)
{
    char path[160];
    snprintf(path, sizeof path, "%s/g", folder);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/g/zarr.json", folder);
    file_put(path, data, size);
    snprintf(path, sizeof path, "%s/g", folder);
    ig_group *g = ig_group_open(path);
    scratch_check(g || scratch_error() != IG_OK, "it failed without an error");
    for (int i = 0; i < ig_group_count(g); i++) {
        ig_store *s = ig_group_array(g, ig_group_name(g, i));
        scratch_check(!s && scratch_error() != IG_OK, "an array that is not there was opened");
    }
    ig_group_close(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    folder_make();
    const int kind = data[0] % (FIRST_OBJECT + 2 * CODECS);
    if (kind < 2)
        metadata_check(kind == 0 ? 3 : 2, data + 1, size - 1);
    else if (kind == 2)
        group_check(data + 1, size - 1);
    else
        object_check(kind - FIRST_OBJECT, data + 1, size - 1);
    return 0;
}
