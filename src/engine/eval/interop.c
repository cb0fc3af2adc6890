/* Memory and streams of a device that other libraries use, too. Commands of the device and of another library are
 * ordered by events, so the host waits only if a launch may have found an index out of bounds. */
#include "engine/eval/emitted_program.h"
#include "engine/eval/engine.h"
#include "engine/eval/faults.h"
#include "engine/eval/transfer.h"

#include "base/error.h"
#include "engine/ops/complex.h"

#include <string.h>

_Static_assert(sizeof(void *) == sizeof(uintptr_t), "addresses are computed as integers");

static ig_status find(const char *device, const char *what, const backend **dev)
{
    *dev = device ? backend_find(device) : NULL;
    if (!*dev)
        return backend_missing(device ? device : "");
    if (!(*dev)->share)
        FAIL(IG_ERR_UNSUPPORTED, "%s: other libraries cannot use the memory of device '%s'", what,
             (*dev)->name);
    return IG_OK;
}

int ig_device_number(const char *device)
{
    const backend *dev = device ? backend_find(device) : NULL;
    return dev && dev->share ? dev->share->number(dev) : -1;
}

void *ig_device_stream(const char *device)
{
    const backend *dev;
    return find(device, "device_stream", &dev) == IG_OK ? dev->share->stream(dev) : NULL;
}

/* The lock of the device is enough: another library may call this while an evaluation runs on another device. */
static ig_status order(const char *device, const char *what, void *stream, bool device_waits)
{
    const backend *dev;
    TRY(find(device, what, &dev));
    return dev->share->wait(dev, stream, device_waits);
}

ig_status ig_stream_wait(void *stream, const char *device)
{
    if (stream == IG_ALL_STREAMS)
        FAIL(IG_ERR_ARGUMENT, "stream_wait: all streams cannot wait; name one");
    return order(device, "stream_wait", stream, false);
}

ig_status ig_device_wait(const char *device, void *stream)
{
    return order(device, "device_wait", stream, true);
}

/* ---- the memory of an array ---- */

/* A fault would be found when the host waits, which the other library does not know of. */
static ig_status check_faults(const backend *dev, const buffer *b)
{
    const device_memory *m = emitted_memory(dev);
    if (!m || faults_pending(&m->faults))
        TRY(emitted_finish(dev));
    return faults_check(b);
}

/* Moves host memory of an evaluated root to its device, unless it is there. */
static ig_status bring(ig_array *x, const backend *dev)
{
    if (x->root->is_number) /* stays on the host; a view of it is copied to the device */
        return IG_OK;
    engine_enter();
    ig_status status = transfer_root(x->root, dev);
    if (status == IG_OK && !x->root->data->device)
        status =
            ig_fail(IG_ERR_MEMORY, "device_data: the array does not fit on device '%s'", dev->name);
    engine_leave();
    return status;
}

static ig_status evaluated(ig_array *x, const backend *dev, buffer **elements, size_t *offset)
{
    TRY(ig_eval(&x, 1));
    TRY(bring(x, dev));
    TRY(engine_order(x));
    const bool ordered = array_is_ordered(x);
    *elements = ordered ? x->root->data : x->data;
    *offset = ordered ? (size_t)x->view.offset * ig_dtype_bytes((ig_dtype)x->dtype) : 0;
    engine_enter();
    const ig_status status = check_faults(dev, *elements);
    engine_leave();
    return status;
}

void *ig_device_data(ig_array *x)
{
    const backend *dev;
    buffer *b;
    size_t offset;
    x = complex_pairs(x);
    if (!x) {
        if (!ig_failed())
            ig_fail(IG_ERR_ARGUMENT, "device_data: the array is NULL");
        return NULL;
    }
    if (find(ig_array_device(x), "device_data", &dev) != IG_OK)
        return NULL;
    if (x->root->is_number && view_is_contiguous(&x->view))
        FAIL_NULL(IG_ERR_UNSUPPORTED, "device_data: a number has no device; copy it with ig_copy");
    if (evaluated(x, dev, &b, &offset) != IG_OK)
        return NULL;
    return (char *)dev->share->address(b) + offset;
}

/* ---- an array over memory of a device ---- */

/* The first and last element that the strides reach; fails if that overflows. No length is 0. */
static ig_status reach(ig_ints shape, const int64_t *strides, int64_t *low, int64_t *high)
{
    *low = *high = 0;
    for (int i = 0; i < shape.n; i++) {
        int64_t far, *end;
        const bool fits = !__builtin_mul_overflow(strides[i], shape.v[i] - 1, &far);
        end = far < 0 ? low : high;
        if (!fits || __builtin_add_overflow(*end, far, end) || *high > INT64_MAX / 64 ||
            *low < INT64_MIN / 64)
            FAIL(IG_ERR_ARGUMENT, "from_device_memory: the strides reach too far");
    }
    return IG_OK;
}

/* A root begins where the device expects buffers to begin, which may be before the first element. */
static ig_array *over(const backend *dev, char *data, ig_ints shape, const int64_t *strides,
                      ig_dtype dtype, void (*release)(void *context), void *context, bool *taken)
{
    const size_t width = ig_dtype_bytes(dtype);
    int64_t low, high;
    if ((uintptr_t)data % width)
        FAIL_NULL(IG_ERR_ARGUMENT, "from_device_memory: data is not aligned to %zu bytes", width);
    if (reach(shape, strides, &low, &high) != IG_OK)
        return NULL;
    char *first = data + low * (int64_t)width;
    const size_t before = (uintptr_t)first % dev->share->aligned;
    const int64_t at = (int64_t)(before / width) - low,
                  count = (int64_t)(before / width) + high - low + 1;
    *taken = true;
    buffer *b = dev->share->borrow(dev, first - before, (size_t)count * width, release, context);
    if (!b)
        return NULL;
    ig_array *flat = array_leaf(dtype, 1, &count, b);
    return flat ? ig_as_strided(flat, shape, (ig_ints){strides, shape.n}, at) : NULL;
}

/* Row-major strides if none are given. For complex dtypes they count parts, and the last axis is the pair. */
static ig_ints lay_out(ig_ints shape, ig_ints strides, bool is_complex,
                       int64_t lengths[static IG_MAX_NDIM + 1],
                       int64_t steps[static IG_MAX_NDIM + 1])
{
    int64_t step = is_complex ? 2 : 1;
    for (int i = shape.n - 1; i >= 0; i--) {
        lengths[i] = shape.v[i];
        steps[i] = strides.v ? strides.v[i] * (is_complex ? 2 : 1) : step;
        step *= shape.v[i];
    }
    lengths[shape.n] = 2;
    steps[shape.n] = 1;
    return (ig_ints){lengths, shape.n + is_complex};
}

static ig_array *from_device(const char *device, void *data, ig_ints shape, ig_ints strides,
                             ig_dtype dtype, void (*release)(void *context), void *context,
                             bool *taken)
{
    const backend *dev;
    int64_t size, lengths[IG_MAX_NDIM + 1], steps[IG_MAX_NDIM + 1];
    if (ig_dtype_bytes(dtype) == 0)
        FAIL_NULL(IG_ERR_DTYPE, "from_device_memory: %d is not a dtype", (int)dtype);
    if (find(device, "from_device_memory", &dev) != IG_OK ||
        require_list("from_device_memory", "shape", shape.v, shape.n) != IG_OK ||
        infer_size(OP_reshape, shape.n, shape.v, dtype, &size) != IG_OK)
        return NULL;
    if (strides.v && strides.n != shape.n)
        FAIL_NULL(IG_ERR_ARGUMENT, "from_device_memory: %d lengths and %d strides; give as many",
                  shape.n, strides.n);
    const bool is_complex = dtype_is_complex(dtype);
    if (is_complex && shape.n == IG_MAX_NDIM)
        FAIL_NULL(IG_ERR_SHAPE, "complex arrays have at most %d dimensions", IG_MAX_NDIM - 1);
    if (size == 0)
        return ig_from_data("", shape, dtype);
    if (require_pointer("from_device_memory", "data", data) != IG_OK)
        return NULL;
    const ig_ints all = lay_out(shape, strides, is_complex, lengths, steps);
    const ig_dtype part = is_complex ? dtype_part(dtype) : dtype;
    ig_array *x = over(dev, data, all, steps, part, release, context, taken);
    return is_complex ? complex_of_pairs(x) : x;
}

ig_array *ig_from_device_memory(const char *device, void *data, ig_ints shape, ig_ints strides,
                                ig_dtype dtype, void (*release)(void *context), void *context)
{
    bool taken = false;
    const char *before = array_device_now(), *name = device ? backend_canonical(device) : NULL;
    if (name)
        array_device_set(name);
    ig_array *x = from_device(device, data, shape, strides, dtype, release, context, &taken);
    array_device_set(before);
    if (!taken && release)
        release(context);
    return x;
}
