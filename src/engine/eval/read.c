/* Reading elements: as host memory, as a copy, or as one number. */
#include "engine/eval/engine.h"
#include "engine/eval/transfer.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/complex.h"

#include <math.h>

bool ig_is_evaluated(const ig_array *x)
{
    return x && (array_is_complex(x) ? complex_is_evaluated(x) : x->root->data != NULL);
}

static ig_status read_check(ig_array *x, const char *what)
{
    if (!x) {
        if (!ig_failed())
            ig_fail(IG_ERR_ARGUMENT, "%s: the array is NULL", what);
        return IG_ERR_ARGUMENT;
    }
    TRY(ig_eval(&x, 1));
    const buffer *b = x->root->data;
    if (b->device && !b->device->computes && b->bytes)
        FAIL(IG_ERR_DEVICE, "%s: the device computes nothing, so there is nothing to read", what);
    return IG_OK;
}

static ig_status read_locked(buffer *from, size_t offset, void *to, size_t bytes)
{
    engine_enter();
    const ig_status status = transfer_read(from, offset, to, bytes);
    engine_leave();
    return status;
}

static buffer *elements_locked(ig_array *x, size_t *offset)
{
    buffer *b = engine_elements(engine_enter(), x, offset);
    engine_leave();
    return b;
}

ig_status engine_order(ig_array *x)
{
    size_t offset;
    if (!array_is_ordered(x) && !x->data)
        x->data = elements_locked(x, &offset);
    return array_is_ordered(x) || x->data ? IG_OK : IG_ERR_MEMORY;
}

/* Copies the elements of an array on a device, or of one that is fetched, to host memory. */
static const void *host_copy(ig_array *x)
{
    size_t offset;
    if (x->host)
        return x->host->data;
    const size_t bytes = (size_t)view_size(&x->view) * ig_dtype_bytes((ig_dtype)x->dtype);
    buffer *from = elements_locked(x, &offset);
    if (from && bytes && from->device && from->device->wrap) {
        engine_enter();
        x->host = transfer_share(from, offset, bytes);
        engine_leave();
        buffer_release(from);
        return x->host ? x->host->data : NULL;
    }
    buffer *to = from ? buffer_new(bytes) : NULL;
    if (to && read_locked(from, offset, to->data, bytes) == IG_OK)
        x->host = buffer_retain(to);
    buffer_release(from);
    buffer_release(to);
    return x->host ? x->host->data : NULL;
}

const void *ig_data(ig_array *x)
{
    x = complex_pairs(x);
    if (read_check(x, "data") != IG_OK)
        return NULL;
    if (x->root->data->device || x->root->data->fetched)
        return host_copy(x);
    if (!engine_device_of(x)->lanes && !x->root->is_number && !x->root->host)
        x->root->host =
            buffer_retain(x->root->data); /* the pointer outlives a move to the device */
    if (array_is_ordered(x))
        return array_host(x);
    return engine_order(x) == IG_OK ? (x->data->device ? host_copy(x) : x->data->data) : NULL;
}

const void *ig_peek(const ig_array *x)
{
    const buffer *b = x ? x->data : NULL;
    const bool plain = b && x->root == x && x->n_in == 0 && !b->device && !b->fetched &&
                       !b->written && storage_is_plain(b->stored);
    return plain ? b->data : NULL;
}

void *ig_poke(ig_array *x)
{
    if (!ig_peek(x) || x->is_number || x->host || x->scope || atomic_load(&x->refs) != 1 ||
        atomic_load(&x->data->refs) != 1 || x->data->foreign || x->data->borrowed)
        return NULL;
    if (x->data->derived || x->data->serial || x->data->reads) {
        engine_enter();
        buffer_forget(x->data);
        engine_leave();
    }
    return x->data->data;
}

bool ig_is_borrowed(const ig_array *x)
{
    const ig_array *part = x && array_is_complex(x) ? x->in[0] : x;
    const buffer *b = part ? part->root->data : NULL;
    return b && (b->borrowed || b->foreign);
}

ig_status ig_read(ig_array *x, void *dst, size_t size)
{
    size_t offset;
    x = complex_pairs(x);
    TRY(read_check(x, "read"));
    size_t have = (size_t)view_size(&x->view) * ig_dtype_bytes((ig_dtype)x->dtype);
    if (have != size)
        FAIL(IG_ERR_ARGUMENT, "read: the array has %zu bytes, but the destination has %zu", have,
             size);
    if (size)
        TRY(require_pointer("read", "dst", dst));
    buffer *from = elements_locked(x, &offset);
    if (!from)
        return error_waiting(IG_ERR_MEMORY);
    const ig_status status = read_locked(from, offset, dst, size);
    buffer_release(from);
    return status;
}

ig_array *ig_copy(ig_array *x)
{
    size_t offset;
    ig_array *pairs = complex_pairs(x);
    if (read_check(pairs, "copy") != IG_OK)
        return NULL;
    const size_t bytes = (size_t)view_size(&pairs->view) * ig_dtype_bytes((ig_dtype)pairs->dtype);
    const backend *dev = engine_device_of(pairs);
    buffer *from = elements_locked(pairs, &offset);
    if (!from)
        return NULL;
    engine_enter();
    buffer *to = transfer_copy(from, offset, bytes, dev);
    engine_leave();
    buffer_release(from);
    if (!to)
        return NULL;
    const char *before = array_device_now();
    array_device_set(dev->name);
    ig_array *copy = array_leaf((ig_dtype)pairs->dtype, pairs->view.ndim, pairs->view.shape, to);
    array_device_set(before);
    return array_is_complex(x) ? complex_of_pairs(copy) : copy;
}

static ig_status item_check(const ig_array *x, const char *what)
{
    char shape[400];
    if (view_size(&x->view) != 1)
        FAIL(IG_ERR_SHAPE, "%s: the array must have one element, but its shape is %s", what,
             view_shape_text(x->view.ndim, x->view.shape, shape));
    return IG_OK;
}

/* The only element of x, in storage format. */
static ig_status item_read(ig_array *x, const char *what, unsigned char element[static 8])
{
    if (array_is_complex(x))
        FAIL(IG_ERR_DTYPE, "%s: a complex number is not one number; take real(x) and imag(x)",
             what);
    TRY(read_check(x, what));
    TRY(item_check(x, what));
    const size_t bytes = ig_dtype_bytes((ig_dtype)x->dtype);
    if (!array_is_packed(x))
        return read_locked(x->root->data, (size_t)x->view.offset * bytes, element, bytes);
    TRY(engine_order(x));
    return read_locked(x->data, 0, element, bytes);
}

double ig_item(ig_array *x)
{
    unsigned char element[8];
    return item_read(x, "item", element) == IG_OK ? dtype_fetch((ig_dtype)x->dtype, element) : NAN;
}

int64_t ig_item_int(ig_array *x)
{
    unsigned char element[8];
    if (item_read(x, "item_int", element) != IG_OK)
        return 0;
    const ig_dtype dtype = (ig_dtype)x->dtype;
    const double number = dtype_fetch(dtype, element);
    const int64_t whole = dtype_is_float(dtype) ? 0 : dtype_fetch_int(dtype, element);
    if (!dtype_is_float(dtype) && (dtype != IG_U64 || whole >= 0))
        return whole;
    if (dtype_is_float(dtype) && number == floor(number) && fabs(number) < 0x1p63)
        return (int64_t)number;
    ig_fail(IG_ERR_ARGUMENT, "item_int: %g is not an integer of 64 bits; read it with ig_item",
            number);
    return 0;
}
