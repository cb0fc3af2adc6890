/* If, Loop and Scan: ops that run graphs.
 *
 * A loop is unrolled: each iteration adds its nodes to the lazy graph. If the caller wants values and no graph, carried values
 * are evaluated every few iterations, in their own scope, so that memory does not grow with the number of
 * iterations. */
#include "lib/onnx/ops/ops.h"
#include "lib/onnx/run.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum { BATCH = 16 }; /* iterations between evaluations */

static void values_release(ig_onnx_value **list, int n)
{
    for (int i = 0; i < n && list; i++) {
        ig_onnx_value_release(list[i]);
        list[i] = NULL;
    }
}

/* ---- If ------------------------------------------------------------------------------------- */

void onnx_if(onnx_call *c)
{
    const char *const name = call_bool(c, 0, false) ? "then_branch" : "else_branch";
    onnx_graph *body = call_attribute_graph(c, name);
    call_ignore(c, "then_branch");
    call_ignore(c, "else_branch");
    if (ig_failed() || !body)
        return;
    if (body->n_outputs < call_outputs(c)) {
        call_fail(c, IG_ERR_FORMAT, name, "it has %d outputs, not %d", body->n_outputs,
                  call_outputs(c));
        return;
    }
    ig_onnx_value **out = memory_new((size_t)(body->n_outputs + 1) * sizeof *out);
    if (out && call_run(c, body, NULL, 0, out))
        for (int i = 0; i < body->n_outputs; i++)
            call_return_value(c, i, out[i]);
    memory_free(out);
}

/* ---- what Loop and Scan share --------------------------------------------------------------- */

/* The values of a running loop: carried values, and the scan outputs of each iteration. */
typedef struct loop {
    onnx_call *call;
    onnx_graph *body;
    ig_onnx_value **in;    /* room for the inputs of the body */
    ig_onnx_value **out;   /* of the last iteration */
    ig_onnx_value **scans; /* scan output k of iteration i is at [i * n_scans + k] */
    int64_t n, room;       /* iterations done; that there is room for */
    int first_state;       /* position of the carried values among the inputs of the body */
    int first_out;         /* and among its outputs, before the scan outputs */
    int n_states, n_scans;
    bool open; /* a scope of this loop is open */
} loop;

static bool loop_begin(loop *l)
{
    l->in = memory_new((size_t)(l->body->n_inputs + 1) * sizeof *l->in);
    l->out = memory_new((size_t)(l->body->n_outputs + 1) * sizeof *l->out);
    return l->in && l->out;
}

static void loop_end(loop *l)
{
    values_release(l->in, l->in ? l->body->n_inputs : 0);
    values_release(l->out, l->out ? l->body->n_outputs : 0);
    for (int64_t i = 0; i < l->n * l->n_scans && l->scans; i++)
        ig_onnx_value_release(l->scans[i]);
    memory_free(l->in);
    memory_free(l->out);
    memory_free(l->scans);
    if (l->open)
        ig_scope_end();
}

static bool scans_reserve(loop *l)
{
    if (l->n < l->room || !l->n_scans)
        return true;
    const int64_t room = l->room ? 2 * l->room : 16;
    ig_onnx_value **more =
        memory_resize(l->scans, (size_t)room * (size_t)l->n_scans * sizeof *more);
    if (!more)
        return false;
    l->scans = more;
    l->room = room;
    return true;
}

/* Evaluates carried values and the scan outputs of the last `count` iterations. */
static bool loop_evaluate(loop *l, int64_t count)
{
    const int64_t n = l->n_states + count * l->n_scans;
    ig_onnx_value **list = memory_get((size_t)(n + 1) * sizeof *list);
    if (!list)
        return false;
    memcpy(list, l->in + l->first_state, (size_t)l->n_states * sizeof *list);
    if (count && l->n_scans)
        memcpy(list + l->n_states, l->scans + (l->n - count) * l->n_scans,
               (size_t)(count * l->n_scans) * sizeof *list);
    const bool fine = values_eval(list, (int)n) == IG_OK;
    memory_free(list);
    return fine;
}

/* Runs the body on l->in once. Its states become the next inputs; its scan outputs are kept. */
static bool loop_step(loop *l)
{
    const bool eager = call_eager(l->call);
    if (eager && l->n % BATCH == 0 && !(l->open = ig_scope_begin() == IG_OK))
        return false;
    values_release(l->out, l->body->n_outputs);
    if (!scans_reserve(l) || !call_run(l->call, l->body, l->in, l->body->n_inputs, l->out))
        return false;
    for (int i = 0; i < l->n_states; i++) {
        ig_onnx_value **state = &l->in[l->first_state + i];
        ig_onnx_value_release(*state);
        *state = l->out[l->first_out + i];
        l->out[l->first_out + i] = NULL;
    }
    for (int k = 0; k < l->n_scans; k++) {
        ig_onnx_value **from = &l->out[l->first_out + l->n_states + k];
        l->scans[l->n * l->n_scans + k] = *from;
        *from = NULL;
    }
    l->n++;
    if (!eager || l->n % BATCH != 0)
        return true;
    const bool fine = loop_evaluate(l, BATCH);
    ig_scope_end();
    l->open = false;
    return fine;
}

/* The result of scan output k before any iteration: of length 0 along the axis. Its other lengths come from l->out, if the
 * body was built, or else from the model; 0 for unknown ones. */
static ig_array *scan_empty(loop *l, int k, int axis)
{
    const int at = l->first_out + l->n_states + k;
    const onnx_type *t = &l->body->outputs[at].type;
    const ig_onnx_value *built = l->out[at];
    const ig_dtype dtype =
        built && built->array ? ig_dtype_of(built->array) : ig_onnx_type_dtype(t->element);
    const ig_ints shape = built ? ig_onnx_value_shape(built)
                                : (ig_ints){t->shape.dims, t->shape.ndim < 0 ? 0 : t->shape.ndim};
    int64_t dims[IG_MAX_NDIM] = {0};
    if (shape.n >= IG_MAX_NDIM || dtype == IG_DTYPE_NONE) {
        call_fail(l->call, IG_ERR_UNSUPPORTED, NULL,
                  "the loop ends before its first iteration, and the model does not state the type "
                  "of scan output %d",
                  k);
        return NULL;
    }
    for (int i = 0, from = 0; i <= shape.n; i++) {
        dims[i] = i == axis ? 0 : shape.v[from++];
        dims[i] = dims[i] < 0 ? 0 : dims[i];
    }
    return ig_zeros((ig_ints){dims, shape.n + 1}, dtype);
}

/* Scan output k of all iterations, stacked along an axis; the last iteration first if reversed. */
static ig_array *scan_stack(loop *l, int k, int64_t axis, bool reversed, ig_onnx_type *type)
{
    if (l->n == 0) {
        const onnx_type *t = &l->body->outputs[l->first_out + l->n_states + k].type;
        *type = t->element;
        return scan_empty(l, k, axis < 0 ? (int)axis + t->shape.ndim + 1 : (int)axis);
    }
    ig_array **list = memory_get((size_t)l->n * sizeof *list);
    ig_array *x = NULL;
    bool fine = list != NULL;
    for (int64_t i = 0; i < l->n && fine; i++) {
        ig_onnx_value *v = l->scans[(reversed ? l->n - 1 - i : i) * l->n_scans + k];
        if (!(fine = v->kind == IG_ONNX_TENSOR))
            call_fail(l->call, IG_ERR_UNSUPPORTED, NULL,
                      "scan output %d is not a tensor of numbers", k);
        else
            list[i] = value_on(v, l->call->frame->run->device, false);
        *type = v->type;
    }
    if (fine)
        x = ig_stack(list, (int)l->n, (int)axis);
    memory_free(list);
    return x;
}

static void states_return(loop *l)
{
    for (int i = 0; i < l->n_states; i++)
        call_return_value(l->call, i, ig_onnx_value_retain(l->in[l->first_state + i]));
}

/* ---- Loop ----------------------------------------------------------------------------------- */

/* A number for input i of the body, which may be declared with one axis. */
static ig_onnx_value *number_for(const loop *l, int i, int64_t number, ig_dtype dtype)
{
    const bool truth = number != 0;
    const ig_ints shape = l->body->inputs[i].type.shape.ndim == 1 ? IG_SHAPE(1) : IG_SCALAR;
    return dtype == IG_I64 ? value_on_host(&number, shape, dtype)
                           : value_on_host(&truth, shape, dtype);
}

/* Reads the condition that the body returned. It is evaluated together with the carried values, which the next iteration
 * needs. */
static bool condition_read(loop *l, bool *go)
{
    const ig_onnx_value *v = l->out[0];
    if (ig_onnx_value_kind(v) != IG_ONNX_TENSOR || ig_size(v->array) != 1) {
        call_fail(l->call, IG_ERR_FORMAT, "attribute 'body'", "its condition is not one bool");
        return false;
    }
    if (!ig_is_evaluated(v->array) && call_eager(l->call)) {
        ig_onnx_value **list = memory_get((size_t)(l->n_states + 1) * sizeof *list);
        if (!list)
            return false;
        memcpy(list, l->in + l->first_state, (size_t)l->n_states * sizeof *list);
        list[l->n_states] = l->out[0];
        const bool fine = values_eval(list, l->n_states + 1) == IG_OK;
        memory_free(list);
        if (!fine)
            return false;
    }
    const bool *data = call_read_array(l->call, v->array, IG_BOOL);
    *go = data && *data;
    return data != NULL;
}

/* Builds the body for a loop without iterations, whose scan outputs have shapes that the model may not state. Nothing is
 * evaluated. If the body cannot be built, the stated shapes count. */
static void body_build(loop *l)
{
    onnx_call *c = l->call;
    bool stated = true;
    for (int k = 0; k < l->n_scans; k++) {
        const onnx_type *t = &l->body->outputs[l->first_out + l->n_states + k].type;
        stated = stated && t->shape.ndim >= 0;
        for (int i = 0; i < t->shape.ndim; i++)
            stated = stated && t->shape.dims[i] >= 0;
    }
    l->in[0] = number_for(l, 0, 0, IG_I64);
    l->in[1] = number_for(l, 1, 1, IG_BOOL);
    if (!stated && l->in[0] && l->in[1] &&
        !call_run(c, l->body, l->in, l->body->n_inputs, l->out)) {
        ig_error(NULL);
        c->failed = false;
        values_release(l->out, l->body->n_outputs);
    }
}

/* The body's condition ends the loop also if the node has none, as in ONNX Runtime and ONNX's reference implementation. */
static void loop_run(loop *l, int64_t most)
{
    onnx_call *c = l->call;
    bool go = call_bool(c, 1, true), fine = !ig_failed();
    for (int i = 0; i < l->n_states; i++)
        l->in[2 + i] = ig_onnx_value_retain(call_value(c, 2 + i));
    while (fine && go && l->n < most) {
        ig_onnx_value_release(l->in[0]);
        ig_onnx_value_release(l->in[1]);
        l->in[0] = number_for(l, 0, l->n, IG_I64);
        l->in[1] = number_for(l, 1, go, IG_BOOL);
        fine = l->in[0] && l->in[1] && loop_step(l) && condition_read(l, &go);
    }
    if (!fine)
        return;
    if (l->n == 0)
        body_build(l);
    states_return(l);
    for (int k = 0; k < l->n_scans; k++) {
        ig_onnx_type type = IG_ONNX_UNDEFINED;
        ig_array *x = scan_stack(l, k, 0, false, &type);
        call_return_typed(c, l->n_states + k, x, type);
    }
}

void onnx_loop(onnx_call *c)
{
    onnx_graph *body = call_attribute_graph(c, "body");
    const int64_t most = call_int(c, 0, INT64_MAX);
    loop l = {.call = c, .body = body, .first_state = 2, .first_out = 1};
    l.n_states = call_inputs(c) > 2 ? call_inputs(c) - 2 : 0;
    l.n_scans = body ? body->n_outputs - 1 - l.n_states : 0;
    if (ig_failed() || !body)
        return;
    if (l.n_scans < 0 || body->n_inputs != l.n_states + 2) {
        call_fail(c, IG_ERR_FORMAT, "attribute 'body'",
                  "it has %d inputs and %d outputs, but the node carries %d values", body->n_inputs,
                  body->n_outputs, l.n_states);
        return;
    }
    if (loop_begin(&l))
        loop_run(&l, most);
    loop_end(&l);
}

/* ---- Scan ----------------------------------------------------------------------------------- */

typedef struct scan {
    loop l;
    int n_in;                  /* scan inputs */
    ig_array **in;             /* they, with the scanned axis first */
    ig_onnx_type *types;       /* of their elements */
    ig_ints in_back, out_back; /* directions: 1 is reversed; IG_NONE: all forward */
    ig_ints out_axes;          /* IG_NONE: all 0 */
    int64_t length;            /* of the scanned axes */
} scan;

static bool is_backward(ig_ints directions, int i) { return i < directions.n && directions.v[i]; }

/* x[i] along the first axis. */
static ig_array *element_at(ig_array *x, int64_t i)
{
    const ig_index at = {.kind = IG_INDEX_INT, .start = i};
    return ig_get(x, &at, 1);
}

/* Runs all iterations; states are in l.in. */
static bool scan_run(scan *s)
{
    loop *l = &s->l;
    bool fine = true;
    for (int64_t i = 0; i < s->length && fine; i++) {
        for (int k = 0; k < s->n_in && fine; k++) {
            ig_onnx_value **slot = &l->in[l->n_states + k];
            const int64_t at = is_backward(s->in_back, k) ? s->length - 1 - i : i;
            ig_onnx_value_release(*slot);
            *slot = value_array(element_at(s->in[k], at), s->types[k]);
            if ((fine = *slot != NULL))
                (*slot)->varies = true;
        }
        fine = fine && loop_step(l);
    }
    return fine;
}

/* Scan output k of all iterations. */
static ig_array *scan_result(scan *s, int k, ig_onnx_type *type)
{
    const int64_t axis = k < s->out_axes.n ? s->out_axes.v[k] : 0;
    return scan_stack(&s->l, k, axis, is_backward(s->out_back, k), type);
}

/* Fills the fields that both versions of Scan share. first: the first input that is a state or scan input. */
static bool scan_begin(scan *s, onnx_call *c, int first)
{
    onnx_graph *body = call_attribute_graph(c, "body");
    s->n_in = (int)call_attribute_int(c, "num_scan_inputs", 0);
    s->l = (loop){.call = c, .body = body};
    s->l.n_states = call_inputs(c) - first - s->n_in;
    s->l.n_scans = body ? body->n_outputs - s->l.n_states : 0;
    if (ig_failed() || !body)
        return false;
    if (s->n_in < 1 || s->l.n_states < 0 || s->l.n_scans < 0 ||
        body->n_inputs != s->l.n_states + s->n_in) {
        call_fail(c, IG_ERR_FORMAT, "attribute 'body'",
                  "it has %d inputs and %d outputs, but the node has %d states and %d scan inputs",
                  body->n_inputs, body->n_outputs, s->l.n_states, s->n_in);
        return false;
    }
    s->in = memory_new((size_t)(s->n_in + 1) * sizeof *s->in);
    s->types = memory_new((size_t)(s->n_in + 1) * sizeof *s->types);
    return s->in && s->types && loop_begin(&s->l);
}

static void scan_end(scan *s)
{
    if (s->l.body)
        loop_end(&s->l);
    memory_free(s->in);
    memory_free(s->types);
}

/* The scan inputs with the scanned axis first. */
static bool scan_inputs(scan *s, int first, ig_ints axes)
{
    onnx_call *c = s->l.call;
    for (int k = 0; k < s->n_in; k++) {
        const int i = first + s->l.n_states + k;
        ig_array *x = call_array(c, i);
        s->types[k] = call_type(c, i);
        s->in[k] = x ? ig_moveaxis(x, IG_AXES(k < axes.n ? axes.v[k] : 0), IG_AXES(0)) : NULL;
        if (!s->in[k])
            return false;
        const int64_t length = ig_dim(s->in[k], 0);
        if (k && length != s->length) {
            call_fail(c, IG_ERR_SHAPE, NULL, "scan inputs have %lld and %lld elements to scan",
                      (long long)s->length, (long long)length);
            return false;
        }
        s->length = length;
    }
    return true;
}

void onnx_scan(onnx_call *c)
{
    scan s = {0};
    bool fine = scan_begin(&s, c, 0);
    s.in_back = call_attribute_ints(c, "scan_input_directions");
    s.out_back = call_attribute_ints(c, "scan_output_directions");
    s.out_axes = call_attribute_ints(c, "scan_output_axes");
    fine = fine && scan_inputs(&s, 0, call_attribute_ints(c, "scan_input_axes"));
    for (int i = 0; i < s.l.n_states && fine; i++)
        s.l.in[i] = ig_onnx_value_retain(call_value(c, i));
    if (fine && scan_run(&s)) {
        states_return(&s.l);
        for (int k = 0; k < s.l.n_scans; k++) {
            ig_onnx_type type = IG_ONNX_UNDEFINED;
            ig_array *x = scan_result(&s, k, &type);
            call_return_typed(c, s.l.n_states + k, x, type);
        }
    }
    scan_end(&s);
}

/* ---- Scan of version 8: the first axis of all inputs and outputs is a batch ------------------- */

typedef struct scan_batch {
    ig_array **states, **scans; /* of batch b at [b * n + i] */
    ig_onnx_type *types;        /* of outputs */
    int64_t n;                  /* batches */
    int64_t longest;            /* of the scanned axes */
} scan_batch;

/* Scan output x (length, ...) with zeros after its end, as long as the longest. */
static ig_array *lengthen(ig_array *x, int64_t length)
{
    int64_t widths[2 * IG_MAX_NDIM] = {0};
    if (!x || ig_dim(x, 0) == length)
        return x;
    widths[1] = length - ig_dim(x, 0);
    return ig_pad(x, (ig_ints){widths, 2 * ig_ndim(x)}, NULL, NULL);
}

/* Runs batch b and keeps its results. */
static bool batch_run(scan *s, scan_batch *all, int64_t b, int64_t length, ig_array *const *in)
{
    onnx_call *c = s->l.call;
    loop *l = &s->l;
    s->length = length;
    for (int i = 0; i < l->n_states; i++) {
        ig_onnx_value_release(l->in[i]);
        l->in[i] = value_array(element_at(call_array(c, 1 + i), b), call_type(c, 1 + i));
        if (!l->in[i])
            return false;
        l->in[i]->varies = true;
    }
    for (int k = 0; k < s->n_in; k++)
        if (!(s->in[k] = element_at(in[k], b)))
            return false;
    for (int64_t i = 0; i < l->n * l->n_scans; i++)
        ig_onnx_value_release(l->scans[i]);
    l->n = 0;
    if (!scan_run(s))
        return false;
    if (l->open) { /* of iterations after the last evaluation; the arrays move to the scope around it */
        const bool fine = loop_evaluate(l, l->n % BATCH);
        ig_scope_end();
        l->open = false;
        if (!fine)
            return false;
    }
    for (int i = 0; i < l->n_states; i++) {
        all->states[b * l->n_states + i] = ig_retain(l->in[i]->array);
        all->types[i] = l->in[i]->type;
    }
    for (int k = 0; k < l->n_scans; k++)
        all->scans[b * l->n_scans + k] =
            ig_retain(lengthen(scan_result(s, k, &all->types[l->n_states + k]), all->longest));
    return !ig_failed();
}

/* Results i, n + i, 2 n + i, ... of a list, stacked. */
static ig_array *batches_stack(ig_array *const *list, int n, int i, int64_t batches)
{
    ig_array **own = memory_get((size_t)batches * sizeof *own);
    for (int64_t b = 0; b < batches && own; b++)
        own[b] = list[b * n + i];
    ig_array *x = own ? ig_stack(own, (int)batches, 0) : NULL;
    memory_free(own);
    return x;
}

static void batches_run(scan *s, scan_batch *all, ig_array *const *in)
{
    onnx_call *c = s->l.call;
    const ig_ints lengths = call_has(c, 0) ? call_ints(c, 0) : IG_NONE;
    bool fine = !ig_failed();
    for (int64_t b = 0; b < all->n && fine; b++) {
        const int64_t length = b < lengths.n ? lengths.v[b] : all->longest;
        if (!(fine = length >= 0 && length <= all->longest))
            call_fail(c, IG_ERR_SHAPE, "input 0", "length %lld is out of range", (long long)length);
        fine = fine && batch_run(s, all, b, length, in);
    }
    for (int i = 0; i < s->l.n_states + s->l.n_scans && fine; i++) {
        const bool state = i < s->l.n_states;
        call_return_typed(c, i,
                          batches_stack(state ? all->states : all->scans,
                                        state ? s->l.n_states : s->l.n_scans,
                                        state ? i : i - s->l.n_states, all->n),
                          all->types[i]);
    }
}

void onnx_scan_batches(onnx_call *c)
{
    scan s = {0};
    scan_batch all = {0};
    bool fine = scan_begin(&s, c, 1);
    s.in_back = call_attribute_ints(c, "directions");
    fine = fine && scan_inputs(&s, 1, IG_NONE);
    ig_array **in = fine ? memory_get((size_t)(s.n_in + 1) * sizeof *in) : NULL;
    if (in) {
        memcpy(in, s.in, (size_t)s.n_in * sizeof *in);
        all.n = s.length;
        all.longest = ig_dim(in[0], 1);
        const size_t n = (size_t)all.n;
        all.states = memory_new((n * (size_t)s.l.n_states + 1) * sizeof *all.states);
        all.scans = memory_new((n * (size_t)s.l.n_scans + 1) * sizeof *all.scans);
        all.types = memory_new((size_t)(s.l.n_states + s.l.n_scans + 1) * sizeof *all.types);
        if (all.n < 1 || all.longest < 0)
            call_fail(c, IG_ERR_SHAPE, NULL, "a scan input has no batch or no axis to scan");
        else if (all.states && all.scans && all.types)
            batches_run(&s, &all, in);
    }
    for (int64_t i = 0; i < all.n * s.l.n_states && all.states; i++)
        ig_release(all.states[i]);
    for (int64_t i = 0; i < all.n * s.l.n_scans && all.scans; i++)
        ig_release(all.scans[i]);
    memory_free(all.states);
    memory_free(all.scans);
    memory_free(all.types);
    memory_free(in);
    scan_end(&s);
}
