/* Builds: printing at once, compiling in the background, and the disk cache. */
#include "engine/backend/cpu/native/native.h"

#include "base/cache.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/backend/cpu/lanes/simt.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOTE_BYTES = 128 };

struct native_build {
    atomic_int users; /* the kernel, and the thread that compiles */
    atomic_bool begun;
    _Atomic(const native_image *) ready;
    uint32_t block[3];
    native_text text;
    char *key;
    native_image code;
    native_loop *loops;
    void *library;
    const char *refusal;
    char note[NOTE_BYTES];
};

static const cache disk = {"native", 256 << 20};

native_policy native_policy_now(void)
{
    const char *wish = getenv("IG_NATIVE");
    return wish && strcmp(wish, "wait") == 0   ? NATIVE_WAIT
           : wish && strcmp(wish, "auto") == 0 ? NATIVE_BACKGROUND
                                               : NATIVE_OFF;
}

static void release(native_build *b)
{
    if (atomic_fetch_sub(&b->users, 1) > 1)
        return;
    if (b->library)
        dlclose(b->library);
    native_text_free(&b->text);
    memory_free(b->key);
    memory_free(b->loops);
    memory_free(b);
}

void native_build_free(native_build *b)
{
    if (b)
        release(b);
}

/* The loops that the text calls, of the level in use. */
static bool find_loops(native_build *b)
{
    const cpu_level *level = cpu_level_now();
    b->loops = memory_new(((size_t)b->text.n_call + 1) * sizeof *b->loops);
    for (int n = 0; b->loops && n < b->text.n_call; n++) {
        const native_call *c = &b->text.call[n];
        const map_loop loop = c->is_row ? level->simt->row(c->row, (ig_dtype)c->dtype)
                                        : level->loop(c->row, (ig_dtype)c->dtype, 0);
        if (!loop)
            return false;
        memcpy(&b->loops[n], &loop, sizeof loop);
    }
    return b->loops != NULL;
}

/* Loads a library and makes it ready. */
static bool load(native_build *b, const void *data, size_t bytes)
{
    b->library = native_load(data, bytes);
    void *run = b->library ? dlsym(b->library, NATIVE_ENTRY) : NULL;
    if (!run)
        return false;
    memcpy(&b->code.run, &run, sizeof run);
    b->code.loop = b->loops;
    b->code.frame_bytes = b->text.frame_bytes;
    atomic_store(&b->ready, &b->code);
    return true;
}

static void compile(native_build *b)
{
    void *data;
    size_t bytes;
    if (!native_compile(b->text.text, &data, &bytes, b->note, sizeof b->note)) {
        b->refusal = b->note;
        return;
    }
    cache_put(&disk, b->key, strlen(b->key), data, bytes);
    if (!load(b, data, bytes))
        b->refusal = "its library could not be loaded";
    memory_free(data);
}

static void *compile_in_background(void *context)
{
    compile(context);
    release(context);
    return NULL;
}

static void look_in_cache(native_build *b)
{
    void *data;
    size_t bytes;
    if (!cache_get(&disk, b->key, strlen(b->key), &data, &bytes))
        return;
    if (load(b, data, bytes))
        b->begun = true;
    else
        cache_remove(&disk, b->key, strlen(b->key));
    memory_free(data);
}

native_build *native_build_new(const lane_code *c, const uint32_t block[3])
{
    native_build *b = memory_new(sizeof *b);
    int width;
    const char *compiler = native_compiler(&width);
    if (!b)
        return NULL;
    b->users = 1;
    memcpy(b->block, block, sizeof b->block);
    if (!compiler) {
        b->refusal = "there is no C compiler";
        return b;
    }
    if (native_print(c, block, width, &b->text, &b->refusal) != IG_OK || !find_loops(b)) {
        if (!b->refusal)
            b->refusal = "a row has no loop";
        return b;
    }
    const char *keep = getenv("IG_KEEP_KERNELS");
    if (keep && *keep) {
        char name[600];
        snprintf(name, sizeof name, "%s/%s-%ux%ux%u.c", keep, c->name, block[0], block[1],
                 block[2]);
        FILE *f = fopen(name, "w");
        if (f) {
            fputs(b->text.text, f);
            fclose(f);
        }
    }
    text key = {0};
    text_add(&key, "%s\n%s", compiler, b->text.text);
    b->key = text_take(&key);
    if (!b->key)
        b->refusal = "out of memory";
    else
        look_in_cache(b);
    return b;
}

bool native_build_is_for(const native_build *b, const uint32_t block[3])
{
    return memcmp(b->block, block, sizeof b->block) == 0;
}

void native_build_start(native_build *b)
{
    pthread_t thread;
    if (b->refusal || atomic_exchange(&b->begun, true))
        return;
    atomic_fetch_add(&b->users, 1);
    if (pthread_create(&thread, NULL, compile_in_background, b) == 0)
        pthread_detach(thread);
    else
        release(b);
}

void native_build_finish(native_build *b)
{
    if (!b->refusal && !atomic_exchange(&b->begun, true))
        compile(b);
}

const native_image *native_build_ready(native_build *b) { return atomic_load(&b->ready); }

const char *native_build_refusal(const native_build *b) { return b->refusal; }
