/* Overrides of linear algebra by cuSOLVER, and of triangular systems by cuBLAS: see program/override.h. The libraries are
 * loaded for the first such op.
 *
 * Before a kind of op is offered, the library computes a small matrix of each type. If that fails, own kernels compute the
 * op, and a note says so. The matrices of a stack follow one another, so only stacks of few or large matrices are offered.
 * The calls cannot be captured in CUDA graphs: some wait for the device. */
#include "engine/backend/cuda/native.h"

#include "base/error.h"
#include "base/integer.h"
#include "base/memory.h"
#include "base/trace.h"
#include "engine/program/override.h"

#include <stdio.h>
#include <string.h>

/* Values of the libraries' enumerations. */
enum { LOWER = 0, UPPER = 1, RIGHT = 1, VECTORS = 1, ADJOINT = 2 };
enum { RESULTS = 5, ALIGN = 256, TYPES = 4 };

/* A matrix of at least this many rows and columns is faster in cuSOLVER: on an H200, 1000 rows are 4 to 12 times as fast
 * (bench/works.py, rows whose name ends in _own). */
static const int least_size[NATIVE_KINDS] = {
    [NATIVE_CHOLESKY] = 256, [NATIVE_LU] = 256,  [NATIVE_TRIANGULAR] = 512,
    [NATIVE_QR] = 256,       [NATIVE_EIGH] = 96, [NATIVE_SVD] = 128,
};
/* The same for stacks of more than SINGLES_MOST matrices. */
enum { SINGLES_MOST = 2, LEAST_OF_STACK = 1024 };

typedef struct solver_state {
    cusolverDnHandle_t handle;
    cublasHandle_t blas;
    gesvdjInfo_t jacobi;
    bool tried[NATIVE_KINDS][TYPES];
    bool works[NATIVE_KINDS][TYPES];
} solver_state;

/* Parts of the scratch memory, as offsets in bytes, and the lengths of workspaces in elements. */
typedef struct solver_room {
    int length, length_q;
    uint64_t info, middle, work, bytes; /* middle: tau of qr, V of svd */
} solver_room;

/* Where operands begin. */
typedef struct solver_places {
    CUdeviceptr in, out[RESULTS], scratch;
} solver_places;

typedef struct solver_node {
    cuda_native base;
    node_native what;
    solver_room room;
    operand in, out[RESULTS];
    int n_out;
} solver_node;

static struct {
    pthread_once_t once;
    bool loaded;
    solver_api api;
} solver = {.once = PTHREAD_ONCE_INIT};

static void load(void)
{
    const int64_t began = trace_begin();
    solver.loaded = solver_api_load(&solver.api);
    trace_end(began, "load cuSOLVER");
}

static int type_of(const node_native *n)
{
    return (n->dtype == IG_F64) + 2 * (n->number[OVERRIDE_COMPLEX] != 0);
}

static const char *library_of(const node_native *n)
{
    return n->kind == NATIVE_TRIANGULAR ? "cuBLAS" : "cuSOLVER";
}

void solver_release(cuda_device *d)
{
    solver_state *s = d->solver;
    if (s && !d->base.is_lost) {
        if (s->jacobi)
            solver.api.f.cusolverDnDestroyGesvdjInfo(s->jacobi);
        if (s->handle)
            solver.api.f.cusolverDnDestroy(s->handle);
        if (s->blas)
            solver.api.f.cublasDestroy_v2(s->blas);
    }
    memory_free(s);
    d->solver = NULL;
}

/* The handles; NULL on failure. Called with the lock and the context. */
static solver_state *state_of(cuda_device *d)
{
    if (d->solver)
        return d->solver;
    const solver_functions *f = &solver.api.f;
    const int64_t began = trace_begin();
    solver_state *s = d->solver = memory_new(sizeof *s);
    const bool ready = s && !f->cusolverDnCreate(&s->handle) && !f->cublasCreate_v2(&s->blas) &&
                       !f->cusolverDnCreateGesvdjInfo(&s->jacobi) &&
                       !f->cusolverDnSetStream(s->handle, d->stream) &&
                       !f->cublasSetStream_v2(s->blas, d->stream);
    trace_end(began, "start cuSOLVER");
    if (!ready)
        solver_release(d);
    return d->solver;
}

/* ---- workspace ---- */

/* True if U of the singular values has as many columns as the matrix. */
static bool is_reduced(const node_native *n)
{
    return n->number[OVERRIDE_WIDTH] <= n->number[OVERRIDE_COLUMNS];
}

/* Asks the library for the lengths of workspaces; its status. */
static int ask_lengths(const solver_state *s, const node_native *n, solver_room *room)
{
    const solver_type *f = &solver.api.type[type_of(n)];
    const int rows = (int)n->number[OVERRIDE_ROWS], columns = (int)n->number[OVERRIDE_COLUMNS];
    const int width = (int)n->number[OVERRIDE_WIDTH];
    int status = 0;
    switch (n->kind) {
    case NATIVE_CHOLESKY: return f->potrf_size(s->handle, LOWER, rows, NULL, rows, &room->length);
    case NATIVE_LU: return f->getrf_size(s->handle, rows, columns, NULL, rows, &room->length);
    case NATIVE_QR:
        status = f->geqrf_size(s->handle, rows, columns, NULL, rows, &room->length);
        if (!status && width)
            status =
                f->orgqr_size(s->handle, rows, width, columns, NULL, rows, NULL, &room->length_q);
        return status;
    case NATIVE_EIGH:
        return f->syevd_size(s->handle, width != 0, LOWER, rows, NULL, rows, NULL, &room->length);
    case NATIVE_SVD:
        return f->gesvdj_size(s->handle, width != 0, is_reduced(n), rows, columns, NULL, rows, NULL,
                              NULL, rows, NULL, columns, &room->length, s->jacobi);
    default: return 0;
    }
}

static uint64_t after(uint64_t at, uint64_t bytes)
{
    return (at + bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Called with the lock and the context. */
static int plan_room(const solver_state *s, const node_native *n, solver_room *room)
{
    const uint64_t element = ig_dtype_bytes(n->dtype) * (n->number[OVERRIDE_COMPLEX] ? 2 : 1);
    const uint64_t columns = (uint64_t)n->number[OVERRIDE_COLUMNS];
    *room = (solver_room){0};
    const int status = ask_lengths(s, n, room);
    if (status)
        return status;
    /* Jacobi's method has V, and U even if only values are wanted. */
    const uint64_t u = n->number[OVERRIDE_WIDTH] ? 0 : (uint64_t)n->number[OVERRIDE_ROWS] * columns;
    const uint64_t middle = n->kind == NATIVE_QR    ? columns
                            : n->kind == NATIVE_SVD ? columns * columns + u
                                                    : 0;
    const uint64_t work = (uint64_t)most(room->length, room->length_q);
    room->middle = after(room->info, sizeof(int));
    room->work = after(room->middle, middle * element);
    room->bytes = after(room->work, work * element);
    return 0;
}

/* ---- running ---- */

/* One matrix: addresses of its parts. */
typedef struct solver_matrix {
    const solver_state *s;
    const solver_type *f;
    const node_native *n;
    const solver_room *room;
    void *in, *out[RESULTS], *middle, *work;
    int *info; /* in scratch */
} solver_matrix;

static const double one64[2] = {1, 0}, zero64[2] = {0, 0};
static const float one32[2] = {1, 0}, zero32[2] = {0, 0};

static int run_triangular(const solver_matrix *m)
{
    const int64_t *v = m->n->number;
    const int n = (int)v[OVERRIDE_ROWS], columns = (int)v[OVERRIDE_COLUMNS];
    const bool turned = v[OVERRIDE_TURNED];
    const int triangle = (v[OVERRIDE_UPPER] != 0) == turned ? UPPER : LOWER;
    return m->f->trsm(m->s->blas, RIGHT, triangle, turned ? CUBLAS_OP_T : CUBLAS_OP_N,
                      v[OVERRIDE_UNIT] != 0, columns, n,
                      m->n->dtype == IG_F64 ? (const void *)one64 : one32, m->in, n, m->out[0],
                      columns);
}

static int run_qr(const solver_matrix *m, cuda_device *d, size_t element)
{
    const int rows = (int)m->n->number[OVERRIDE_ROWS],
              columns = (int)m->n->number[OVERRIDE_COLUMNS];
    const int width = (int)m->n->number[OVERRIDE_WIDTH];
    int status = m->f->geqrf(m->s->handle, rows, columns, m->out[0], rows, m->middle, m->work,
                             m->room->length, m->info);
    if (status || !width)
        return status;
    const CUresult copied =
        cu.copy_on_device((CUdeviceptr)(uintptr_t)m->out[1], (CUdeviceptr)(uintptr_t)m->out[0],
                          (size_t)rows * (size_t)columns * element, d->stream);
    return copied ? copied
                  : m->f->orgqr(m->s->handle, rows, width, columns, m->out[1], rows, m->middle,
                                m->work, m->room->length_q, m->info);
}

static int run_svd(const solver_matrix *m, size_t element)
{
    const int rows = (int)m->n->number[OVERRIDE_ROWS],
              columns = (int)m->n->number[OVERRIDE_COLUMNS];
    const int width = (int)m->n->number[OVERRIDE_WIDTH];
    const bool wide = m->n->dtype == IG_F64;
    void *u = width ? m->out[3] : (char *)m->middle + (size_t)columns * (size_t)columns * element;
    int status = m->f->gesvdj(m->s->handle, width != 0, is_reduced(m->n), rows, columns, m->out[0],
                              rows, m->out[1], u, rows, m->middle, columns, m->work,
                              m->room->length, m->out[2], m->s->jacobi);
    if (status || !width)
        return status;
    return m->f->geam(m->s->blas, ADJOINT, CUBLAS_OP_N, columns, columns,
                      wide ? (const void *)one64 : one32, m->middle, columns,
                      wide ? (const void *)zero64 : zero32, m->out[4], columns, m->out[4], columns);
}

static int run_matrix(const solver_matrix *m, cuda_device *d, size_t element)
{
    const int rows = (int)m->n->number[OVERRIDE_ROWS],
              columns = (int)m->n->number[OVERRIDE_COLUMNS];
    switch (m->n->kind) {
    case NATIVE_CHOLESKY:
        return m->f->potrf(m->s->handle, LOWER, rows, m->out[0], rows, m->work, m->room->length,
                           m->out[1]);
    case NATIVE_LU:
        return m->f->getrf(m->s->handle, rows, columns, m->out[0], rows, m->work, m->out[1],
                           m->info);
    case NATIVE_TRIANGULAR: return run_triangular(m);
    case NATIVE_QR: return run_qr(m, d, element);
    case NATIVE_EIGH:
        return m->f->syevd(m->s->handle, m->n->number[OVERRIDE_WIDTH] != 0, LOWER, rows, m->out[0],
                           rows, m->out[1], m->work, m->room->length, m->out[2]);
    default: return run_svd(m, element);
    }
}

static void *place(CUdeviceptr at, int64_t i, int64_t elements, size_t bytes)
{
    return (void *)(uintptr_t)(at + (uint64_t)(i * elements) * bytes);
}

/* Runs all matrices; the status of the library. Called with the lock and the context. */
static int run_all(cuda_device *d, const node_native *n, const solver_room *room,
                   const solver_places *at)
{
    const size_t real = ig_dtype_bytes(n->dtype),
                 element = real << (n->number[OVERRIDE_COMPLEX] != 0);
    const int64_t rows = n->number[OVERRIDE_ROWS], columns = n->number[OVERRIDE_COLUMNS];
    const int64_t width = n->number[OVERRIDE_WIDTH];
    solver_matrix m = {.s = d->solver,
                       .f = &solver.api.type[type_of(n)],
                       .n = n,
                       .room = room,
                       .middle = place(at->scratch + room->middle, 0, 0, 0),
                       .work = place(at->scratch + room->work, 0, 0, 0),
                       .info = place(at->scratch + room->info, 0, 0, 0)};
    int status = 0;
    for (int64_t i = 0; i < n->number[OVERRIDE_COUNT] && !status; i++) {
        m.in = place(at->in, i, rows * rows, element);
        m.out[0] = place(at->out[0], i, rows * columns, element);
        switch (n->kind) {
        case NATIVE_CHOLESKY: m.out[1] = place(at->out[1], i, 1, sizeof(int)); break;
        case NATIVE_LU: m.out[1] = place(at->out[1], i, least(rows, columns), sizeof(int)); break;
        case NATIVE_QR: m.out[1] = place(at->out[1], i, rows * width, element); break;
        default: /* eigenvalues and singular values */
            m.out[1] = place(at->out[1], i, columns, real);
            m.out[2] = place(at->out[2], i, 1, sizeof(int));
            m.out[3] = place(at->out[3], i, rows * width, element);
            m.out[4] = place(at->out[4], i, columns * columns, element);
        }
        status = run_matrix(&m, d, element);
    }
    return status;
}

/* ---- the first use ---- */

/* Computes the identity of 4 rows. Called with the lock and the context. */
static int try_out(cuda_device *d, const node_native *n)
{
    enum { SIZE = 4, PART = 1024, PARTS = RESULTS + 1 };
    node_native small = *n;
    const bool complex = n->number[OVERRIDE_COMPLEX];
    solver_room room;
    double image[PART / sizeof(double)] = {0};
    CUdeviceptr memory = 0;
    small.number[OVERRIDE_COUNT] = 1;
    small.number[OVERRIDE_ROWS] = small.number[OVERRIDE_COLUMNS] = SIZE;
    small.number[OVERRIDE_WIDTH] = n->kind == NATIVE_EIGH ? 1 : SIZE;
    for (int i = 0; i < SIZE; i++) {
        const int at = i * (SIZE + 1) * (complex ? 2 : 1);
        if (n->dtype == IG_F64)
            image[at] = 1;
        else
            ((float *)image)[at] = 1;
    }
    int status = plan_room(d->solver, &small, &room);
    if (status)
        return status;
    status = cu.memory_alloc(&memory, PARTS * PART + room.bytes);
    if (status)
        return status;
    solver_places at = {.in = memory + RESULTS * PART, .scratch = memory + PARTS * PART};
    for (int i = 0; i < RESULTS; i++)
        at.out[i] = memory + (uint64_t)i * PART;
    status = cu.copy_to_device(at.in, image, PART, d->stream);
    if (!status)
        status = cu.copy_to_device(at.out[0], image, PART, d->stream);
    if (!status)
        status = run_all(d, &small, &room, &at);
    const CUresult waited = cu.stream_wait(d->stream);
    cu.memory_free(memory);
    return status ? status : waited;
}

/* True if the library computes such nodes on this device. Called with the lock and the context. */
static bool works(cuda_device *d, const node_native *n)
{
    solver_room room;
    if (!state_of(d))
        return cuda_refuse(d, n, library_of(n), -1);
    solver_state *s = d->solver;
    const int type = type_of(n);
    if (!s->tried[n->kind][type]) {
        const int64_t began = trace_begin();
        const int status = try_out(d, n);
        trace_end(began, "try cuSOLVER");
        s->tried[n->kind][type] = true;
        s->works[n->kind][type] = status == 0 || cuda_refuse(d, n, library_of(n), status);
    }
    if (!s->works[n->kind][type])
        return false;
    const int status = plan_room(s, n, &room);
    return status == 0 || cuda_refuse(d, n, library_of(n), status);
}

static bool is_faster(const node_native *n)
{
    const int64_t *v = n->number;
    const int64_t size = n->kind == NATIVE_TRIANGULAR
                             ? v[OVERRIDE_ROWS]
                             : least(v[OVERRIDE_ROWS], v[OVERRIDE_COLUMNS]);
    return size >= (v[OVERRIDE_COUNT] > SINGLES_MOST ? LEAST_OF_STACK : least_size[n->kind]);
}

bool solver_offers(cuda_device *d, const node_native *n)
{
    if (n->kind < NATIVE_CHOLESKY || n->kind > NATIVE_SVD || d->refused >> n->kind & 1 ||
        !override_fits(n->number) || !(is_faster(n) || override_wished() == OVERRIDE_ALL))
        return false;
    pthread_once(&solver.once, load);
    if (!solver.loaded)
        return false;
    if (!cuda_enter_to_ask(d))
        return false;
    const bool yes = works(d, n);
    cuda_leave(d);
    return yes;
}

/* ---- programs ---- */

static ig_status launch(cuda_native *code, const binding *bindings, binding scratch)
{
    solver_node *v = (solver_node *)code;
    cuda_device *d = v->base.dev;
    solver_places at = {.in = cuda_address(d, bindings[v->in.slot], v->in.v.offset, v->in.dtype),
                        .scratch = cuda_address(d, scratch, 0, IG_U8)};
    bool found = at.in && at.scratch;
    for (int i = 0; i < v->n_out && found; i++) {
        const operand *o = &v->out[i];
        at.out[i] = cuda_address(d, bindings[o->slot], o->v.offset, o->dtype);
        found = at.out[i] != 0;
    }
    if (!found)
        FAIL(IG_ERR_ARGUMENT, "%s: %s reads a buffer of another device", d->base.name,
             v->base.base.name);
    TRY(cuda_enter(d));
    int status = 0;
    if (!cuda_replay_refuse(d))
        status = state_of(d) ? run_all(d, &v->what, &v->room, &at) : -1;
    if (status)
        cuda_refuse(d, &v->what, v->base.base.name, status);
    cuda_leave(d);
    if (status)
        FAIL(IG_ERR_DEVICE, "%s: %s failed with status %d; IG_OVERRIDES=off avoids it",
             d->base.name, v->base.base.name, status);
    return IG_OK;
}

static void discard(cuda_native *code) { memory_free(code); }

ig_status solver_prepare(cuda_device *d, const program *p, cuda_native **out)
{
    solver_node *v = memory_new(sizeof *v);
    if (!v)
        return IG_ERR_MEMORY;
    v->what = *p->kernel->native;
    v->in = p->pre.operand[0];
    v->n_out = p->post.n_operand;
    memcpy(v->out, p->post.operand, (size_t)v->n_out * sizeof *v->out);
    v->base = (cuda_native){{.name = library_of(&v->what)}, d, launch, discard};
    const ig_status entered = cuda_enter(d);
    int status = -1;
    if (entered == IG_OK) {
        status = state_of(d) ? plan_room(d->solver, &v->what, &v->room) : -1;
        cuda_leave(d);
    }
    if (status) {
        memory_free(v);
        TRY(entered);
        FAIL(IG_ERR_DEVICE, "%s: %s failed with status %d; IG_OVERRIDES=off avoids it",
             d->base.name, library_of(p->kernel->native), status);
    }
    v->base.base.scratch_bytes = v->room.bytes + ALIGN;
    *out = &v->base;
    return IG_OK;
}
