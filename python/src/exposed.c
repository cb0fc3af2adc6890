/* Memory that an Array shares with others who may write to it, as numpy.asarray(x) does.
 *
 * Arrays of the library never change, so memory that others write to cannot be a part of any graph. An Array whose memory is exposed
 * keeps it for itself: x is an array that nothing else refers to, and elements are read and written there at once. Ops get
 * a copy instead, `value`. It is compared with the memory at each use, and made again if they differ. So every op reads the elements that
 * were there when it was called, and equal elements give the same array. Changes by ops are computed and copied to the memory.
 * This ends when the last export is released.
 *
 * Complex arrays of the library are two arrays. Their memory is apart. */
#include "common.h"
#include <stdlib.h>
#include <string.h>

struct exposure {
    int exports;
    bool apart;
    char *data;
    size_t bytes;
    ig_array *value; /* owned; NULL: not made yet */
};

static array_object *object(PyObject *o) { return (array_object *)o; }

static bool differs(const array_object *root)
{
    const exposure *e = root->exposed;
    const void *known = e->value ? ig_data(e->value) : NULL;
    return !known || memcmp(known, e->data, e->bytes) != 0;
}

/* A copy of the memory as an array on the CPU. */
static ig_array *snapshot(array_object *root)
{
    const exposure *e = root->exposed;
    char before[64];
    PyOS_snprintf(before, sizeof before, "%s", ig_device());
    if (ig_set_device("cpu") != IG_OK)
        return NULL;
    ig_array *x = ig_scope_forget(ig_from_data(e->data, ig_shape(root->x), ig_dtype_of(root->x)));
    ig_set_device(before);
    return x;
}

/* Exchanges the value. Views forget the old one. Takes over the reference to x. */
static bool set_value(array_object *root, ig_array *x)
{
    exposure *e = root->exposed;
    if (!views_forget(root) || (e->value && !release_after_calls(e->value))) {
        ig_release(x);
        return false;
    }
    e->value = x;
    return true;
}

ig_array *exposed_value(array_object *root)
{
    if (differs(root)) {
        ig_array *x = snapshot(root);
        if (!x || !set_value(root, x))
            return NULL;
    }
    return root->exposed->value;
}

bool exposed_accepts(ig_array *x)
{
    const void *data = NULL;
    if (keeps_history()) {
        PyErr_SetString(PyExc_ValueError,
                        "this array cannot be changed inside of a gradient, because another "
                        "library, such as NumPy, uses its memory. Give numpy.array(x), a copy, to "
                        "the other library");
    } else if (enter()) {
        data = elements(x);
        leave();
    }
    return data;
}

bool exposed_store(array_object *root, ig_array *x)
{
    memcpy(root->exposed->data, ig_data(x), root->exposed->bytes);
    return set_value(root, x);
}

/* Lets the root have elements of its own, which nothing else uses, and returns their address; NULL if that is impossible. Called with a
 * reference to x, the root's array, which it releases. */
static char *own_memory(array_object *root, ig_array *x)
{
    ig_release(x);
    char *data = ig_poke(root->x);
    if (data)
        return data;
    ig_retain(x);
    ig_array *own = ig_scope_forget(copied(x));
    ig_release(x);
    if (!own || root->x != x || root->exposed || !release_after_calls(x)) {
        ig_release(own);
        return NULL;
    }
    root->x = own;
    return views_forget(root) ? ig_poke(own) : NULL;
}

/* Evaluates the root's elements and exposes their memory. Does nothing if it cannot be exposed, or if another thread comes first:
 * evaluations and copies let other threads run. */
static void open_memory(array_object *root)
{
    ig_array *x = ig_retain(root->x);
    const void *elements_now = NULL;
    if (enter()) {
        elements_now = elements(x);
        leave();
    }
    const char *device = ig_array_device(x);
    const size_t bytes = (size_t)ig_size(x) * ig_dtype_bytes(ig_dtype_of(x));
    if (!elements_now || root->x != x || root->exposed || !device || strcmp(device, "cpu") != 0 ||
        ig_is_borrowed(x) || !views_forget(root)) {
        ig_release(x);
        return;
    }
    const bool apart = ig_isdtype(ig_dtype_of(x), "complex floating");
    char *data = apart ? malloc(bytes + 1) : own_memory(root, x);
    exposure *e = data ? calloc(1, sizeof *e) : NULL;
    if (apart && data)
        memcpy(data, elements_now, bytes);
    if (apart)
        ig_release(x);
    if (!e) {
        if (apart)
            free(data);
        return;
    }
    *e = (exposure){.apart = apart, .data = data, .bytes = bytes};
    root->exposed = e;
    root->shares = true;
    root->number_dtype = IG_DTYPE_NONE;
}

char *exposed_open(PyObject *o)
{
    array_object *root = object(array_root(o));
    if (!root->x || object(o)->is_readonly || keeps_history() || trace_is_open() ||
        !dtype_format(array_dtype(o)))
        return NULL;
    const ig_array *before = NULL;
    while (!root->exposed && root->x != before && !PyErr_Occurred()) { /* a thread has changed it */
        before = root->x;
        open_memory(root);
    }
    if (!root->exposed)
        return NULL;
    root->exposed->exports++;
    return root->exposed->data;
}

void exposed_free(array_object *root)
{
    exposure *e = root->exposed;
    if (!e)
        return;
    ig_release(e->value);
    if (e->apart)
        free(e->data);
    free(e);
    root->exposed = NULL;
    root->shares = false;
}

void exposed_close(array_object *root)
{
    exposure *e = root->exposed;
    if (--e->exports > 0)
        return;
    /* If there is no memory for this, the elements stay where they are. */
    if (e->apart ? !exposed_value(root) || !release_after_calls(root->x) : !views_forget(root)) {
        ig_error(NULL);
        PyErr_Clear();
        return;
    }
    if (e->apart)
        root->x = ig_retain(e->value);
    if (e->value && release_after_calls(e->value))
        e->value = NULL;
    PyErr_Clear();
    if (views_forget(root))
        exposed_free(root);
}
