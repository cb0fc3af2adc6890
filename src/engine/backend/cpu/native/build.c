/* Builds: printing, the disk cache, and compiling in the background. */
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

struct native_build {
    atomic_int users; /* the kernel, and the thread that compiles */
    atomic_bool begun, looked,
        compiling; /* looked: printed, and not found in the cache or loaded */
    const lane_code *lanes;
    _Atomic(const native_image *) ready;
    uint32_t block[3];
    char name[96]; /* of the kernel and the shape */
    native_text text;
    char *key;
    native_image code;
    native_loop *loops;
    void *library;
    const char *refusal;
};

static const cache disk = {"native", 256 << 20};

native_policy native_policy_now(void)
{
    const char *wish = getenv("IG_NATIVE");
    return wish && strcmp(wish, "wait") == 0  ? NATIVE_WAIT
           : wish && strcmp(wish, "off") == 0 ? NATIVE_OFF
                                              : NATIVE_BACKGROUND;
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

/* A file of the folder IG_KEEP_KERNELS, if it is set. */
static void keep(const native_build *b, const char *ending, const void *data, size_t bytes)
{
    const char *folder = getenv("IG_KEEP_KERNELS");
    char name[600];
    if (!folder || !*folder)
        return;
    snprintf(name, sizeof name, "%s/%s.%s", folder, b->name, ending);
    FILE *f = fopen(name, "wb");
    if (f) {
        fwrite(data, 1, bytes, f);
        fclose(f);
    }
}

static void compile(native_build *b)
{
    void *data;
    size_t bytes;
    if (!native_compile(b->text.text, &data, &bytes))
        return;
    cache_put(&disk, b->key, strlen(b->key), data, bytes);
    if (load(b, data, bytes))
        keep(b, "so", data, bytes);
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
        keep(b, "so", data, bytes);
    else
        cache_remove(&disk, b->key, strlen(b->key));
    memory_free(data);
}

static const char *print(native_build *b)
{
    int width;
    const char *compiler = native_compiler(&width), *why = NULL;
    text key = {0};
    if (!compiler)
        return "there is no C compiler";
    if (native_print(b->lanes, b->block, width, &b->text, &why) != IG_OK)
        return why ? why : "out of memory";
    if (!find_loops(b))
        return "a row has no loop";
    keep(b, "c", b->text.text, strlen(b->text.text));
    text_add(&key, "%s\n%s", compiler, b->text.text);
    b->key = text_take(&key);
    return b->key ? NULL : "out of memory";
}

native_build *native_build_new(const lane_code *c, const uint32_t block[3])
{
    native_build *b = memory_new(sizeof *b);
    if (!b)
        return NULL;
    b->users = 1;
    b->lanes = c;
    memcpy(b->block, block, sizeof b->block);
    snprintf(b->name, sizeof b->name, "%.60s-%ux%ux%u", c->name, block[0], block[1], block[2]);
    return b;
}

void native_build_look(native_build *b)
{
    if (atomic_exchange(&b->begun, true))
        return;
    b->refusal = print(b);
    if (!b->refusal)
        look_in_cache(b);
    atomic_store(&b->looked, true);
}

bool native_build_is_for(const native_build *b, const uint32_t block[3])
{
    return memcmp(b->block, block, sizeof b->block) == 0;
}

/* True if the caller has to compile. */
static bool must_compile(native_build *b)
{
    native_build_look(b);
    return atomic_load(&b->looked) && !b->refusal && !atomic_load(&b->ready) &&
           !atomic_exchange(&b->compiling, true);
}

void native_build_start(native_build *b)
{
    pthread_t thread;
    if (!must_compile(b))
        return;
    atomic_fetch_add(&b->users, 1);
    if (pthread_create(&thread, NULL, compile_in_background, b) == 0)
        pthread_detach(thread);
    else
        release(b);
}

void native_build_finish(native_build *b)
{
    if (must_compile(b))
        compile(b);
}

const native_image *native_build_ready(native_build *b) { return atomic_load(&b->ready); }
