/* Emitted kernels, keyed by their text; see kernel_table.h. */
#include "engine/eval/kernel_table.h"

#include "base/memory.h"
#include "engine/emit/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_SLOTS = 4096, IDLE_MOST = 128 };

struct kernel_row {
    kernel_row *next;          /* next row with the same hash */
    kernel_row *newer, *older; /* the list of kernels without users */
    uint64_t hash;
    int users;
    ig_module *module;
    char source[];
};

static struct {
    kernel_row *row[TABLE_SLOTS];
    kernel_row *newest, *oldest; /* of the kernels without users */
    int idle, used;              /* kernels without users, and with users */
    int count;
} kernels;

static uint64_t hash_of(const char *s)
{
    uint64_t h = 14695981039346656037u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    return h;
}

/* IG_KEEP_KERNELS=DIR: writes the text of each new kernel to DIR/NUMBER.cu. */
static void keep_text(const char *source)
{
    const char *folder = getenv("IG_KEEP_KERNELS");
    char path[600];
    if (!folder || !*folder)
        return;
    snprintf(path, sizeof path, "%s/%04d.cu", folder, kernels.count);
    FILE *f = fopen(path, "w");
    if (f) {
        fputs(source, f);
        fclose(f);
    }
}

static void idle_remove(kernel_row *r)
{
    *(r->newer ? &r->newer->older : &kernels.newest) = r->older;
    *(r->older ? &r->older->newer : &kernels.oldest) = r->newer;
    r->newer = r->older = NULL;
    kernels.idle--;
}

static void kernel_free(kernel_row *r)
{
    kernel_row **at = &kernels.row[r->hash % TABLE_SLOTS];
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    ig_module_free(r->module);
    memory_free(r);
}

static kernel_row *kernel_new(const char *source, uint64_t hash)
{
    const size_t bytes = strlen(source) + 1;
    const kernel_parse_options options = {.preprocess = {.no_disk = true, .find = library_find}};
    char *said = NULL;
    kernel_row *r = memory_new(sizeof *r + bytes);
    if (!r)
        return NULL;
    memcpy(r->source, source, bytes);
    r->hash = hash;
    r->module = module_new("emitted kernel", source, &options, &said);
    memory_free(said);
    if (!r->module) {
        memory_free(r);
        return NULL;
    }
    module_whole_warps(r->module);
    keep_text(source);
    kernels.count++;
    r->next = kernels.row[hash % TABLE_SLOTS];
    kernels.row[hash % TABLE_SLOTS] = r;
    return r;
}

kernel_row *kernel_take(const char *source)
{
    const uint64_t hash = hash_of(source);
    kernel_row *r = kernels.row[hash % TABLE_SLOTS];
    while (r && (r->hash != hash || strcmp(r->source, source) != 0))
        r = r->next;
    if (r && r->users == 0)
        idle_remove(r);
    r = r ? r : kernel_new(source, hash);
    if (r && r->users++ == 0)
        kernels.used++;
    return r;
}

void kernel_give(kernel_row *r)
{
    if (--r->users)
        return;
    kernels.used--;
    r->older = kernels.newest;
    *(kernels.newest ? &kernels.newest->newer : &kernels.oldest) = r;
    kernels.newest = r;
    if (++kernels.idle > IDLE_MOST) {
        kernel_row *last = kernels.oldest;
        idle_remove(last);
        kernel_free(last);
    }
}

int kernels_used(void) { return kernels.used; }

int kernels_count(void) { return kernels.count; }

void kernels_release(void)
{
    while (kernels.oldest) { /* no kernel has users: schedules and plans are freed */
        kernel_row *r = kernels.oldest;
        idle_remove(r);
        kernel_free(r);
    }
}

ig_status kernel_code_of(const kernel_row *r, const backend *dev, const char *entry,
                         const uint32_t block[3], module_batch *batch, kernel_code **out)
{
    return module_code(r->module, dev, entry, block, batch, out);
}

ig_status kernel_run(const kernel_row *r, const backend *dev, const char *entry, lane_launch *l)
{
    return module_launch(r->module, dev, entry, l);
}
