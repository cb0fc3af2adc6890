/* Matrix products by MPSMatrixMultiplication of Apple's Metal Performance Shaders, if it is faster than the emitted
 * kernel on this machine. This is measured once for each class of products, with IG_MPS=measure (`ingot bench` sets
 * it), and kept in the cache. Without a measurement, and in math mode `same`, the emitted kernel runs. So between two
 * measurements, every run computes a program in the same way.
 *
 * MPS needs row-major matrices. The distance between the matrices of a batch must be constant, a multiple of a row,
 * and at least a whole matrix. */
#include "engine/backend/metal/metal.h"

#include "engine/backend/product.h"
#include "base/cache.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum {
    OUTER_MOST = 64,
    FIRST_CLASS = 21, /* class 0 begins at products of 2^21 multiplications */
    CLASS_STEP = 3    /* class 1 at 2^24, and so on */
};
/* MPS must take at most this fraction of the kernel's time; less if a separate kernel runs the epilogue. */
static const double plain_gain = 0.97, epilogue_gain = 0.85;

static const cache times_cache = {.kind = "mps", .max_bytes = 1 << 20};

typedef struct mps_product {
    native_code base;
    metal_device *dev;
    product c;
    id kernel;
} mps_product;

/* ---- measured times ---- */

/* The key of a cache entry: chip, version of the system, and our version. */
static int key_of(const metal_device *d, char key[256])
{
    struct utsname u;
    if (uname(&u) != 0)
        u.release[0] = 0;
    return snprintf(key, 256, "mps 1 %s %s %s", d->model, u.release, ig_version());
}

static bool mps_wins(const metal_device *d, int kind, int class, double gain)
{
    const mps_times *t = &d->mps_times[kind][class];
    return d->mps == MPS_ON || (t->native_ns && (double)t->native_ns < gain * (double)t->kernel_ns);
}

/* Writes the classes in which MPS is faster, such as " mps-f32-2^24 mps-f32-2^27", at the end of the features. */
static void describe_choice(metal_device *d)
{
    static const char *const names[2] = {"f32", "f16"};
    char *const before = strstr(d->features, " mps-");
    size_t n = before ? (size_t)(before - d->features) : strlen(d->features);
    d->features[n] = 0;
    for (int i = 0; i < 2 * METAL_CLASSES && d->mps != MPS_OFF && n < sizeof d->features; i++)
        if (mps_wins(d, i / METAL_CLASSES, i % METAL_CLASSES, plain_gain))
            n += (size_t)snprintf(d->features + n, sizeof d->features - n, " mps-%s-2^%d",
                                  names[i / METAL_CLASSES],
                                  FIRST_CLASS + CLASS_STEP * (i % METAL_CLASSES));
}

bool mps_look(metal_device *d)
{
    const char *wish = getenv("IG_MPS");
    char key[256];
    void *kept = NULL;
    size_t bytes = 0;
    static const char *const modes[] = {
        [MPS_MEASURED] = "measured", [MPS_OFF] = "off", [MPS_ON] = "on", [MPS_MEASURE] = "measure"};
    d->mps = MPS_MEASURED;
    while (wish && *wish && d->mps < MPS_MODES && strcmp(wish, modes[d->mps]) != 0)
        d->mps++;
    if (d->mps == MPS_MODES)
        return false;
    memset(d->mps_times, 0, sizeof d->mps_times);
    const int n = key_of(d, key);
    if (d->mps != MPS_OFF && cache_get(&times_cache, key, (size_t)n, &kept, &bytes) &&
        bytes == sizeof d->mps_times)
        memcpy(d->mps_times, kept, bytes);
    memory_free(kept);
    describe_choice(d);
    return true;
}

/* The class of a product, or -1. */
static int class_of(const product *c)
{
    const double n =
        (double)c->outer * (double)c->batch * (double)c->m * (double)c->n * (double)c->k;
    int class = -1;
    while (class < METAL_CLASSES - 1 &&
           n >= (double)(1ll << (FIRST_CLASS + CLASS_STEP * (class + 1))))
        class ++;
    return class;
}

static bool decide(native_code *code, int64_t native_ns, int64_t kernel_ns)
{
    const mps_product *p = (const mps_product *)code;
    metal_device *d = p->dev;
    const int kind = p->c.in == IG_F16, class = class_of(&p->c);
    char key[256];
    pthread_mutex_lock(&d->base.lock);
    d->mps_times[kind][class] = (mps_times){native_ns ? native_ns : 1, kernel_ns};
    cache_put(&times_cache, key, (size_t)key_of(d, key), d->mps_times, sizeof d->mps_times);
    const bool wins = mps_wins(d, kind, class, plain_gain);
    describe_choice(d);
    pthread_mutex_unlock(&d->base.lock);
    return wins;
}

/* ---- preparing ---- */

/* The memory layout of the matrices of one side. */
typedef struct layout {
    int64_t rows, columns, ld, stride;
} layout;

static layout layout_of(const product *c, int side)
{
    const product_side *s = &c->side[side];
    const int64_t rows = side ? c->n : c->m;
    return (layout){s->k_inner ? rows : c->k, s->k_inner ? c->k : rows, s->ld,
                    c->batch > 1 ? s->batch : (s->k_inner ? rows : c->k) * s->ld};
}

static layout result_layout(const product *c) { return (layout){c->m, c->n, c->n, c->m * c->n}; }

/* False if MPS cannot use such matrices, or if they exceed the range that a launch can address. */
static bool is_possible(const metal_device *d, const product *c, layout l, ig_dtype dtype)
{
    const double bytes =
        ((double)(c->batch - 1) * (double)l.stride + (double)l.rows * (double)l.ld) *
        (double)ig_dtype_bytes(dtype);
    return l.ld >= l.columns && l.stride % l.ld == 0 && l.stride >= l.rows * l.ld &&
           bytes <= (double)d->base.dev.limits.reach_bytes;
}

static bool can_run(const metal_device *d, const product *c)
{
    return (c->in == IG_F32 || c->in == IG_F16) && c->out == c->in && c->outer <= OUTER_MOST &&
           is_possible(d, c, layout_of(c, 0), c->in) && is_possible(d, c, layout_of(c, 1), c->in) &&
           is_possible(d, c, result_layout(c), c->out) && objc_load_mps();
}

static void discard(native_code *code)
{
    mps_product *p = (mps_product *)code;
    if (!p)
        return;
    if (driver_lock_open(&p->dev->base.dev)) {
        objc_send(release, p->kernel);
        driver_unlock(&p->dev->base.dev);
    }
    memory_free(p);
}

static ig_status prepare_product(metal_device *d, const product *c, bool rival, native_code **out)
{
    mps_product *p = memory_new(sizeof *p);
    if (!p)
        return IG_ERR_MEMORY;
    *p = (mps_product){
        .base = {.name = "MPS", .core_only = c->out_slot < 0, .rival = rival}, .dev = d, .c = *c};
    if (c->out_slot < 0)
        p->base.scratch_bytes =
            (uint64_t)(c->outer * c->batch * c->m * c->n) * ig_dtype_bytes(c->out);
    const ig_status status = driver_enter(&d->base.dev);
    if (status == IG_OK) {
        p->kernel =
            objc_send(init_product, objc_send(alloc, objc.get_class("MPSMatrixMultiplication")),
                      d->device, !c->side[0].k_inner, c->side[1].k_inner, (NSUInteger)c->m,
                      (NSUInteger)c->n, (NSUInteger)c->k, 1.0, 0.0);
        driver_unlock(&d->base.dev);
    }
    if (p->kernel)
        *out = &p->base;
    else
        memory_free(p); /* the emitted kernel runs */
    return status;
}

static ig_status prepare(const backend *dev, const program *p, const bool *by_value,
                         native_code **out)
{
    metal_device *d = metal_device_of(dev);
    product c;
    (void)by_value;
    *out = NULL;
    if (d->mps == MPS_OFF || p->kind != PROGRAM_CONTRACT || p->math == IG_MATH_SAME ||
        !product_of(p, &c))
        return IG_OK;
    if (c.bias_slot >= 0) /* MPS does not add a bias */
        c.out_slot = c.bias_slot = -1;
    const int kind = c.in == IG_F16, class = class_of(&c);
    if (class < 0 && d->mps != MPS_ON)
        return IG_OK;
    pthread_mutex_lock(&d->base.lock);
    const bool wins =
        d->mps == MPS_ON || mps_wins(d, kind, class, c.out_slot < 0 ? epilogue_gain : plain_gain);
    const bool rival = !wins && d->mps == MPS_MEASURE && c.out_slot >= 0 &&
                       d->mps_times[kind][class].native_ns == 0;
    pthread_mutex_unlock(&d->base.lock);
    if ((!wins && !rival) || !can_run(d, &c))
        return IG_OK;
    return prepare_product(d, &c, rival, out);
}

/* ---- launching ---- */

/* A matrix over memory at an offset; the caller releases it. */
static id matrix_new(const buffer *b, size_t offset, const product *c, layout l, ig_dtype dtype)
{
    const NSUInteger bytes = ig_dtype_bytes(dtype);
    size_t at;
    const id object = metal_place(b, offset, &at);
    const id shape =
        objc_send(matrix_descriptor, objc.get_class("MPSMatrixDescriptor"), (NSUInteger)l.rows,
                  (NSUInteger)l.columns, (NSUInteger)c->batch, (NSUInteger)l.ld * bytes,
                  (NSUInteger)l.stride * bytes,
                  dtype == IG_F16 ? (uint32_t)MPSDataTypeFloat16 : (uint32_t)MPSDataTypeFloat32);
    if (!shape)
        return NULL;
    return objc_send(init_matrix, objc_send(alloc, objc.get_class("MPSMatrix")), object, at, shape);
}

/* Encodes the i-th of the outer products. */
static ig_status encode(const mps_product *p, const binding at[3], int64_t i, id commands)
{
    const product *c = &p->c;
    const int64_t step[3] = {c->side[0].outer, c->side[1].outer, c->batch * c->m * c->n};
    const layout layouts[3] = {layout_of(c, 0), layout_of(c, 1), result_layout(c)};
    id matrix[3];
    for (int k = 0; k < 3; k++) {
        const size_t bytes = ig_dtype_bytes(k == 2 ? c->out : c->in);
        matrix[k] = matrix_new(at[k].buf, at[k].offset + (size_t)(i * step[k]) * bytes, c,
                               layouts[k], k == 2 ? c->out : c->in);
    }
    const bool made = matrix[0] && matrix[1] && matrix[2];
    if (made)
        objc_send(encode_product, p->kernel, commands, matrix[0], matrix[1], matrix[2]);
    for (int k = 0; k < 3; k++)
        objc_send(release, matrix[k]);
    if (!made)
        FAIL(IG_ERR_DEVICE, "%s: MPS gives no matrix; IG_MPS=off avoids it", p->dev->base.name);
    return IG_OK;
}

static ig_status launch_locked(const mps_product *p, const binding at[3])
{
    metal_device *d = p->dev;
    const char *what = p->base.label ? p->base.label : p->base.name;
    id commands;
    bool alone = false; /* see launch.c */
    for (int i = 0; i < 3; i++) {
        TRY(driver_owns(&d->base.dev, at[i].buf, what));
        if (i < 2)
            TRY(driver_valid(at[i].buf, what));
        alone = alone || metal_is_windowed(at[i].buf);
    }
    if (alone)
        TRY(metal_settle_all(d, NULL));
    TRY(metal_encode_library(d, what, &commands));
    for (int i = 0; i < 3; i++)
        metal_uses(at[i].buf, i == 2 && !at[i].buf->borrowed);
    for (int64_t i = 0; i < p->c.outer; i++)
        TRY(encode(p, at, i, commands));
    return alone ? metal_settle_all(d, NULL) : metal_batch_check(d);
}

static binding element(binding at, int64_t offset, ig_dtype dtype)
{
    return (binding){at.buf, at.offset + (size_t)offset * ig_dtype_bytes(dtype)};
}

static ig_status launch(native_code *code, const binding *bindings, binding scratch)
{
    const mps_product *p = (const mps_product *)code;
    const product *c = &p->c;
    const binding at[3] = {element(bindings[c->side[0].slot], c->side[0].offset, c->in),
                           element(bindings[c->side[1].slot], c->side[1].offset, c->in),
                           c->out_slot < 0 ? scratch
                                           : element(bindings[c->out_slot], c->out_offset, c->out)};
    TRY(driver_enter(&p->dev->base.dev));
    return driver_left(&p->dev->base.dev, launch_locked(p, at));
}

const backend_native metal_native_programs = {
    .prepare = prepare, .launch = launch, .discard = discard, .decide = decide};
