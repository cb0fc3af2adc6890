/* Views: Arrays that see elements of another Array, their root, and change them, as NumPy's views do.
 *
 * Arrays of the library are values that never change. An Array object is a variable that refers to such a value. A view
 * refers to its root, which is never a view itself, and to a region of it. Its own value is a cache: the first use after a change of the root builds it
 * again from the value that the root has then. A write to a view builds a new value of the root. So the answers are NumPy's, also for
 * overlapping regions, and gradients pass through writes, because they are ops. A write drops the values of all views of the root that
 * have one (root->known, a list), so nothing but the root holds its elements, and evaluations change them in place.
 *
 * Assignments in loops must not record a node for each element. If the root's elements are in host memory and nothing
 * else holds them (ig_poke), a known value is written to them directly. Otherwise changes are pending nodes; after
 * PENDING of them the root is evaluated. */
#include "common.h"
#include <stdlib.h>
#include <string.h>

enum { PENDING = 16, EAGER_BYTES = 1 << 16, OWN_BYTES = 1 << 26 };

static array_object *object(PyObject *o) { return (array_object *)o; }

PyObject *array_root(PyObject *o)
{
    if (object(o)->view)
        return (PyObject *)object(o)->view->root;
    if (!object(o)->x)
        array_of(o); /* makes the array of a number */
    return o;
}

void array_region(PyObject *o, region *r)
{
    const array_view *v = object(o)->view;
    const ig_ints shape = array_shape(o);
    const size_t bytes = (size_t)shape.n * sizeof *shape.v;
    *r = (region){.ndim = shape.n, .is_readonly = object(o)->is_readonly};
    memcpy(r->shape, shape.v, bytes);
    if (v) {
        r->part = v->part;
        r->offset = v->offset;
        memcpy(r->stride, v->axes + v->ndim, bytes);
        return;
    }
    int64_t stride = 1;
    for (int a = shape.n - 1; a >= 0; a--) {
        r->stride[a] = stride;
        stride *= shape.v[a];
    }
}

ig_ints array_shape(PyObject *o)
{
    static const int64_t none;
    const array_view *v = object(o)->view;
    if (object(o)->number_dtype)
        return (ig_ints){&none, 0};
    return v ? (ig_ints){v->axes, v->ndim} : ig_shape(object(o)->x);
}

ig_dtype array_dtype(PyObject *o)
{
    const array_view *v = object(o)->view;
    if (object(o)->number_dtype)
        return object(o)->number_dtype;
    const ig_dtype dtype = ig_dtype_of(v ? v->root->x : object(o)->x);
    if (!v || v->part == PART_NONE)
        return dtype;
    return dtype == IG_C64 ? IG_F32 : IG_F64;
}

/* ---- values of views ---- */

static void know(array_object *o, ig_array *x)
{
    array_object *root = o->view->root;
    o->x = x;
    o->shares = root->shares;
    o->view->previous = NULL;
    o->view->next = root->known;
    if (root->known)
        root->known->view->previous = o;
    root->known = o;
}

/* Takes the value from a view that has one. */
static ig_array *forget(array_object *o)
{
    array_view *v = o->view;
    ig_array *x = o->x;
    if (v->previous)
        v->previous->view->next = v->next;
    else
        v->root->known = v->next;
    if (v->next)
        v->next->view->previous = v->previous;
    o->x = NULL;
    o->shares = false;
    return x;
}

bool views_forget(array_object *root)
{
    while (root->known) {
        ig_array *x = forget(root->known);
        if (!release_after_calls(x))
            return false;
    }
    return true;
}

ig_array *view_value(PyObject *o)
{
    region r;
    array_object *self = object(o);
    if (self->number_dtype)
        return self->x = ig_scope_forget(ig_constant(&self->number, self->number_dtype));
    array_object *root = self->view ? self->view->root : self;
    ig_array *whole = root->exposed ? exposed_value(root) : root->x;
    if (!whole || !self->view || self->x)
        return whole && self->view ? self->x : whole;
    if (ig_scope_begin() != IG_OK)
        return NULL;
    array_region(o, &r);
    ig_array *x = ig_retain(region_read(whole, &r));
    ig_scope_end();
    if (x)
        know(self, x);
    return x;
}

PyObject *view_new(PyObject *o, const region *r, ig_array *x)
{
    const size_t bytes = (size_t)r->ndim * sizeof *r->shape;
    array_view *v = PyMem_Malloc(sizeof *v + 2 * bytes);
    array_object *made = v ? PyObject_New(array_object, array_type) : NULL;
    if (!made) {
        PyMem_Free(v);
        ig_release(x);
        return v ? NULL : PyErr_NoMemory();
    }
    *v = (array_view){.root = object(Py_NewRef(array_root(o))),
                      .ndim = r->ndim,
                      .part = r->part,
                      .offset = r->offset};
    memcpy(v->axes, r->shape, bytes);
    memcpy(v->axes + r->ndim, r->stride, bytes);
    memset((char *)made + sizeof made->ob_base, 0, sizeof *made - sizeof made->ob_base);
    made->view = v;
    made->born = trace_clock;
    made->is_readonly = r->is_readonly;
    if (x)
        know(made, x);
    return (PyObject *)made;
}

void view_end(PyObject *o)
{
    array_view *v = object(o)->view;
    if (object(o)->x)
        ig_release(forget(object(o)));
    Py_DECREF(v->root);
    PyMem_Free(v);
}

/* ---- elements in host memory ---- */

const char *known_elements(const array_object *root)
{
    return trace_is_pure() ? NULL : ig_peek(root->x);
}

bool is_known(PyObject *o) { return known_elements(object(array_root(o))) != NULL; }

/* Copies elements: from[...] to to[...]; strides count elements of `bytes` bytes. */
static void copy(char *to, const int64_t *to_stride, const char *from, const int64_t *from_stride,
                 const int64_t *shape, int ndim, size_t bytes)
{
    const int64_t width = (int64_t)bytes;
    if (ndim == 0) {
        memcpy(to, from, bytes);
        return;
    }
    if (ndim == 1 && *to_stride == 1 && *from_stride == 1) {
        memcpy(to, from, (size_t)*shape * bytes);
        return;
    }
    for (int64_t i = 0; i < *shape; i++)
        copy(to + i * *to_stride * width, to_stride + 1, from + i * *from_stride * width,
             from_stride + 1, shape + 1, ndim - 1, bytes);
}

/* A source of elements: host memory with the lengths and strides of a region. */
typedef struct source {
    const char *data;
    region r;
} source;

/* The source with the shape of the target, as NumPy broadcasts it; false if it does not fit. */
static bool stretch(source *s, const region *to)
{
    region *r = &s->r;
    while (r->ndim > to->ndim) {
        if (r->shape[0] != 1)
            return false;
        r->ndim--;
        memmove(r->shape, r->shape + 1, (size_t)r->ndim * sizeof *r->shape);
        memmove(r->stride, r->stride + 1, (size_t)r->ndim * sizeof *r->stride);
    }
    const int before = to->ndim - r->ndim;
    for (int a = to->ndim - 1; a >= 0; a--) {
        const int64_t have = a < before ? 1 : r->shape[a - before];
        if (have != to->shape[a] && have != 1)
            return false;
        r->stride[a] = have == 1 ? 0 : r->stride[a - before];
        r->shape[a] = to->shape[a];
    }
    r->ndim = to->ndim;
    return true;
}

static int64_t count(const region *r)
{
    int64_t n = 1;
    for (int a = 0; a < r->ndim; a++)
        n *= r->shape[a];
    return n;
}

/* Writes a source to the root's elements; false if it must be done by an op. */
static bool write_directly(array_object *root, const region *r, source *s, bool may_overlap)
{
    const size_t bytes = ig_dtype_bytes(ig_dtype_of(root->x));
    if (r->part || !s->data || !stretch(s, r))
        return false;
    char *data = ig_poke(root->x), *apart = NULL;
    if (!data)
        return false;
    const char *from = s->data + s->r.offset * (int64_t)bytes;
    const int64_t *stride = s->r.stride;
    int64_t own[IG_MAX_NDIM], next = 1;
    if (count(r) == 0)
        return true;
    if (may_overlap) {
        for (int a = r->ndim - 1; a >= 0; a--) {
            own[a] = next;
            next *= r->shape[a];
        }
        if (!(apart = malloc((size_t)next * bytes)))
            return false;
        copy(apart, own, from, stride, r->shape, r->ndim, bytes);
        from = apart;
        stride = own;
    }
    copy(data + r->offset * (int64_t)bytes, r->stride, from, stride, r->shape, r->ndim, bytes);
    free(apart);
    return true;
}

/* ---- changes ---- */

bool may_change(PyObject *o)
{
    PyObject *root = object(o)->view ? (PyObject *)object(o)->view->root : o;
    const bool may = !object(o)->is_readonly && trace_allows_change(root);
    PyErr_Clear(); /* check_writable raises it */
    return may;
}

bool check_writable(PyObject *o)
{
    if (!object(o)->is_readonly)
        return trace_allows_change(array_root(o));
    PyErr_SetString(PyExc_ValueError, "assignment destination is read-only: this array cannot "
                                      "change the one that it is a view of; assign to a copy()");
    return false;
}

bool keeps_history(void)
{
    const bool kept = ig_keep_history(true);
    ig_keep_history(kept);
    return kept;
}

/* Evaluates x if that is possible now. -1 with an exception if the user has stopped it. An array that stands for others, as in
 * jit, has no elements, and errors of elements belong to the evaluation that the user asks for. */
static int try_evaluate(ig_array *x, ig_array *also)
{
    ig_array *const both[] = {x, also};
    if (keeps_history() ||
        !enter()) /* complex arrays are evaluated by others, which need a scope */
        return PyErr_Occurred() ? -1 : 0;
    const int status = evaluate(both, also ? 2 : 1);
    leave();
    if (status == 0)
        return 1;
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
        return -1;
    PyErr_Clear();
    return 0;
}

/* An evaluated array that is a view in the library, such as a reshape, gets elements of its own, which ig_poke gives. */
static bool own_elements(array_object *root)
{
    ig_array *old = root->x;
    const char *device = ig_array_device(old);
    if (ig_peek(old) || !device || strcmp(device, "cpu") != 0 ||
        ig_isdtype(ig_dtype_of(old), "complex floating"))
        return true;
    if (!ig_is_evaluated(old)) /* another thread has changed it */
        return true;
    ig_retain(old);
    ig_array *apart = ig_scope_forget(copied(old));
    ig_release(old);
    if (!apart || root->x != old) { /* another thread has changed it meanwhile */
        ig_release(apart);
        PyErr_Clear();
        return true;
    }
    if (!release_after_calls(old)) {
        ig_release(apart);
        return false;
    }
    root->x = apart;
    return true;
}

/* also: an array that the caller holds, or NULL. If it is computed from the root, evaluating it with the root ends its reference to
 * the root's old elements, which can then be changed in place. */
static int settle(array_object *root, ig_array *also)
{
    if (root->exposed)
        return 0;
    if (ig_is_evaluated(root->x) && (root->pending < 0 || ig_peek(root->x))) {
        root->pending = root->pending < 0 ? root->pending : 0;
        return 0;
    }
    if (root->pending < 0 || ++root->pending < PENDING || keeps_history() || trace_is_pure())
        return 0;
    if ((int64_t)ig_size(root->x) * (int64_t)ig_dtype_bytes(ig_dtype_of(root->x)) > OWN_BYTES &&
        ig_is_evaluated(root->x)) {
        root->pending = 0;
        return 0;
    }
    const int done = try_evaluate(root->x, also);
    root->pending = done ? 0 : -1;
    root->eager = done > 0;
    return done < 0 || (done && !own_elements(root)) ? -1 : 0;
}

/* A root that is changed in a loop is evaluated at once: elements that are read are then constants, which do not hold its elements, so
 * that these can be changed in place. */
int array_settle(PyObject *o)
{
    array_object *root = object(array_root(o));
    if (root->eager && root->pending >= 0)
        root->pending = PENDING;
    return settle(root, NULL);
}

static bool replace(array_object *root, ig_array *x, ig_array *also)
{
    if (root->exposed && !exposed_accepts(x)) {
        ig_release(x);
        return false;
    }
    if (root->exposed) /* another thread may have ended it */
        return exposed_store(root, x);
    ig_array *old = root->x;
    if (!views_forget(root) || !release_after_calls(old)) {
        ig_release(x);
        return false;
    }
    root->x = x;
    root->number_dtype = IG_DTYPE_NONE;
    return settle(root, also) == 0;
}

/* Lets the root have x at a region. Takes over the caller's reference to x, which must not live when the root is evaluated. */
static bool write_by_op(array_object *root, const region *r, ig_array *x, ig_array *also)
{
    if (!enter())
        return false;
    const ig_dtype dtype = ig_dtype_of(root->x), part = !r->part          ? dtype
                                                        : dtype == IG_C64 ? IG_F32
                                                                          : IG_F64;
    ig_array *value = fitted(x, (ig_ints){r->shape, r->ndim}, part);
    ig_array *y = value ? ig_retain(region_write(array_of((PyObject *)root), r, value)) : NULL;
    leave();
    ig_release(x);
    if (!y) {
        raise_error();
        return false;
    }
    return replace(root, y, also);
}

/* Takes over the caller's reference to x, an array of any dtype and of a shape that broadcasts. */
static bool write_array(array_object *root, const region *r, ig_array *x, ig_array *also)
{
    source s = {.data = ig_dtype_of(x) == ig_dtype_of(root->x) ? ig_peek(x) : NULL};
    if (s.data && open_calls() == 0) {
        const ig_ints shape = ig_shape(x);
        int64_t stride = 1;
        s.r.ndim = shape.n;
        for (int a = shape.n - 1; a >= 0; a--) {
            s.r.shape[a] = shape.v[a];
            s.r.stride[a] = stride;
            stride *= shape.v[a];
        }
        if (!views_forget(root)) {
            ig_release(x);
            return false;
        }
        if (x != root->x && write_directly(root, r, &s, false)) {
            ig_release(x);
            return true;
        }
    }
    return write_by_op(root, r, x, also);
}

/* Elements of a view or a root whose root has them in host memory. */
static bool find_source(PyObject *value, ig_dtype dtype, source *s)
{
    array_region(value, &s->r);
    const array_object *from = object(array_root(value));
    s->data = s->r.part == PART_NONE && ig_dtype_of(from->x) == dtype ? ig_peek(from->x) : NULL;
    return s->data != NULL;
}

ig_array *to_value(PyObject *value, ig_dtype dtype, PyObject *with)
{
    uint64_t bits[2] = {0};
    ig_array *x = NULL;
    if (!enter_with(with))
        return NULL;
    if (is_number(value) && !PyComplex_Check(value)) {
        const int known = number_bits(value, dtype, bits);
        x = known > 0 ? ig_constant(bits, dtype) : known == 0 ? number_array(value) : NULL;
    } else if (PyList_Check(value) || PyTuple_Check(value)) {
        x = make_array(value, dtype);
    } else if ((x = to_array(value)) && ig_dtype_of(x) != dtype) {
        x = ig_astype(x, dtype);
    }
    ig_retain(x);
    leave();
    if (x && !PyErr_Occurred())
        return x;
    ig_release(x);
    raise_error();
    return NULL;
}

/* Evaluates a small value for a root that is changed in a loop, and gives it elements of its own. -1 with an exception. */
static int hasten(const array_object *root, ig_array **x)
{
    const size_t bytes = (size_t)ig_size(*x) * ig_dtype_bytes(ig_dtype_of(*x));
    if (!root->eager || bytes > EAGER_BYTES || ig_peek(*x) || keeps_history())
        return 0;
    if (!ig_is_evaluated(*x)) {
        const int done = try_evaluate(*x, NULL);
        if (done <= 0)
            return done;
    }
    ig_array *apart =
        ig_peek(*x) || ig_isdtype(ig_dtype_of(*x), "complex floating") ? NULL : copied(*x);
    PyErr_Clear();
    if (apart) {
        ig_release(*x);
        *x = ig_scope_forget(apart);
    }
    return 0;
}

bool array_store(PyObject *o, const region *r, PyObject *value)
{
    array_object *root = object(array_root(o));
    const ig_dtype dtype = ig_dtype_of(root->x);
    const ig_dtype part = !r->part ? dtype : dtype == IG_C64 ? IG_F32 : IG_F64;
    source s;
    uint64_t bits[2] = {0};
    if (!check_writable(o))
        return false;
    if (is_array(value) && object(value)->number_dtype == part) {
        memcpy(bits, &object(value)->number, ig_dtype_bytes(part));
        s = (source){.data = (const char *)bits};
        if (open_calls() == 0 && !views_forget(root))
            return false;
        if (open_calls() == 0 && write_directly(root, r, &s, false))
            return true;
    } else if (is_array(value)) {
        array_region(value, &s.r);
        const bool same_root = array_root(value) == (PyObject *)root;
        if (same_root && region_equal(&s.r, r)) /* a[i] += 1 assigns the result to its place */
            return true;
        if (open_calls() == 0 && find_source(value, dtype, &s)) {
            if (!views_forget(root))
                return false;
            if (write_directly(root, r, &s, same_root))
                return true;
        }
    } else if (is_number(value) && !PyComplex_Check(value)) {
        const int known = number_bits(value, part, bits);
        s = (source){.data = known > 0 ? (const char *)bits : NULL};
        if (known < 0 || (known && open_calls() == 0 && !views_forget(root)))
            return false;
        if (known && open_calls() == 0 && write_directly(root, r, &s, false))
            return true;
    }
    ig_array *x = to_value(value, part, (PyObject *)root);
    if (x && hasten(root, &x) < 0) {
        ig_release(x);
        x = NULL;
    }
    ig_array *also = x && is_array(value) && !object(value)->view && object(value) != root
                         ? ig_retain(object(value)->x)
                         : NULL;
    const bool done = x && write_array(root, r, x, also);
    ig_release(also);
    return done;
}

bool array_replace(PyObject *o, ig_array *x)
{
    if (!check_writable(o)) {
        ig_release(x);
        return false;
    }
    array_object *root = object(array_root(o));
    if ((PyObject *)root == o)
        return replace(root, x, NULL);
    region r;
    array_region(o, &r);
    if (hasten(root, &x) < 0) {
        ig_release(x);
        return false;
    }
    return write_array(root, &r, x, NULL);
}

/* A copy of the elements of a view whose root has them in host memory, in the open scope. */
static ig_array *copy_of(const source *s, ig_dtype dtype)
{
    const size_t bytes = ig_dtype_bytes(dtype);
    const region *r = &s->r;
    const int64_t n = count(r);
    int64_t own[IG_MAX_NDIM], next = 1;
    for (int a = r->ndim - 1; a >= 0; a--) {
        own[a] = next;
        next *= r->shape[a];
    }
    char *data = malloc((size_t)n * bytes + 1);
    if (data && n)
        copy(data, own, s->data + r->offset * (int64_t)bytes, r->stride, r->shape, r->ndim, bytes);
    ig_array *x = data ? ig_from_data(data, (ig_ints){r->shape, r->ndim}, dtype) : NULL;
    free(data);
    return x;
}

ig_array *array_copied(PyObject *o)
{
    source s;
    const ig_dtype dtype = array_dtype(o);
    return object(o)->view && find_source(o, dtype, &s) ? ig_scope_forget(copy_of(&s, dtype))
                                                        : ig_retain(array_of(o));
}

/* Evaluations of copies have the same plan for each row of an array; evaluations of views do not. */
ig_array *view_apart(PyObject *o)
{
    source s;
    const ig_dtype dtype = array_dtype(o);
    const bool small = object(o)->view && object(o)->view->root->eager && !object(o)->x &&
                       find_source(o, dtype, &s) &&
                       (size_t)count(&s.r) * ig_dtype_bytes(dtype) <= EAGER_BYTES;
    return small ? copy_of(&s, dtype) : array_of(o);
}

PyObject *view_made(PyObject *o, const region *r, ig_array *(*make)(ig_array *x))
{
    if (is_known(o))
        return view_new(o, r, NULL);
    if (!enter())
        return NULL;
    ig_array *x = ig_retain(make(array_of(o)));
    leave();
    return x ? view_new(o, r, x) : raise_error();
}
