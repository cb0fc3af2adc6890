/* Overrides of linear algebra by a LAPACK of the system: see program/override.h.
 *
 * A stack with at least as many matrices as there are threads gives each worker one matrix after another, and each call of
 * LAPACK uses one thread. Otherwise LAPACK takes one matrix after another with its own threads, as many as the pool has,
 * or one for small matrices, for which waking and waiting takes longer. */
#include "engine/backend/cpu/lapack.h"

#include "base/error.h"
#include "base/integer.h"
#include "base/memory.h"
#include "base/threads.h"
#include "engine/backend/cpu/cpu.h"
#include "engine/program/override.h"

#include <string.h>

enum { RESULTS = 5, NAME_LENGTH = 1, ALONE_MOST = 1 << 26 /* multiplications by one thread */ };

/* The least rows and columns of a matrix that LAPACK factors faster than own code, by kind, without and with vectors; smaller
 * ones, also in stacks, are as fast or faster by own code. CPU time of one thread with OpenBLAS, on an x86-64 core with AVX-512,
 * own code over LAPACK, for f32, f64, c64 and c128:
 *   QR        from 32 rows on 1.1 to 3.0
 *   eigh      48 rows 0.7 to 0.95, 128 rows 1.5, 1.5, 1.0, 1.0, 600 rows 1.4, 1.5, 1.3, 1.2; only values: 48 rows 1.0 to 1.3
 *   svd       48 rows 0.8 to 1.0, 128 rows 1.4 to 1.6, 600 rows 1.3, 1.4, 4.0, 3.8; only values: 1.5 to 7.6
 *   inv       48 rows 1.3 to 1.6, 192 rows 1.06, 0.78, 1.3, 1.2, 600 rows 0.9, 0.8, 1.3, 1.4; solve is alike
 *   cholesky  from 48 rows on 0.5 to 1.0, except c64 and c128 of 128 rows with 1.2: LAPACK is not called for it
 * bench/works.py has rows with and without overrides. */
static const int least_size[NATIVE_KINDS][2] = {
    [NATIVE_LU] = {48, 48},   [NATIVE_TRIANGULAR] = {48, 48}, [NATIVE_QR] = {32, 32},
    [NATIVE_EIGH] = {48, 96}, [NATIVE_SVD] = {33, 64},
};
/* Own code of real matrices is faster from these sizes on, above all with several threads. On 16 x86-64 cores with OpenBLAS, 1000
 * rows, f32 and f64, own code took 0.40 and 0.48 of LAPACK's time for qr, 1.22 and 0.52 for eigh; one thread on a Neoverse-V1
 * core: inv 0.96, solve 1.0, qr 0.94, svd 0.99. Accelerate was not measured; it has matrix instructions that own code lacks. */
#if defined(__APPLE__)
enum { OWN_LU_LEAST = INT32_MAX, OWN_LEAST = INT32_MAX };
#else
enum { OWN_LU_LEAST = 200, OWN_LEAST = 512 };
#endif

/* A program of such a node, and one launch of it. */
typedef struct lapack_call {
    node_native what;
    operand in, out[RESULTS]; /* in: the first of two inputs */
    int n_out;
    const lapack_type *f;
    int m, n, width; /* OVERRIDE_ROWS, OVERRIDE_COLUMNS, OVERRIDE_WIDTH */
    size_t real, element;
    size_t work_at[4], work_bytes; /* of each worker: tau or rwork, iwork, work */
    int length[3];                 /* of work, rwork and iwork in elements */
    const binding *bindings;
    char *work;
} lapack_call;

static int type_of(const node_native *n)
{
    return (n->dtype == IG_F64) + 2 * (n->number[OVERRIDE_COMPLEX] != 0);
}

bool cpu_lapack_runs(const node_native *n) { return n->kind >= NATIVE_LU && n->kind <= NATIVE_SVD; }

bool cpu_lapack_offers(const node_native *n)
{
    const int64_t *v = n->number;
    if (!cpu_lapack_runs(n) || !override_fits(v))
        return false;
    const int64_t size = n->kind == NATIVE_TRIANGULAR
                             ? v[OVERRIDE_ROWS]
                             : least(v[OVERRIDE_ROWS], v[OVERRIDE_COLUMNS]);
    const bool is_lu = n->kind <= NATIVE_TRIANGULAR;
    const bool own = !v[OVERRIDE_COMPLEX] && size >= (is_lu ? OWN_LU_LEAST : OWN_LEAST);
    const bool faster = size >= least_size[n->kind][v[OVERRIDE_WIDTH] != 0] && !own;
    return (faster || override_wished() == OVERRIDE_ALL) && lapack_get();
}

const char *cpu_lapack_name(void) { return lapack_get() ? lapack_get()->name : NULL; }

/* ---- workspace ---- */

/* The first number of a workspace, where LAPACK writes the length that it needs. f32 may have rounded it down. */
static int length_at(const lapack_call *w, const void *work)
{
    double length;
    if (w->real == sizeof(float)) {
        float narrow;
        memcpy(&narrow, work, sizeof narrow);
        length = (double)narrow * (1 + 0x1p-22);
    } else {
        memcpy(&length, work, sizeof length);
    }
    return (int)length + 1;
}

static const char *svd_job(const lapack_call *w)
{
    return !w->width ? "N" : w->width == w->n ? "S" : "A";
}

/* Asks LAPACK for the lengths of its workspaces. */
static void ask_lengths(lapack_call *w)
{
    const bool complex = w->what.number[OVERRIDE_COMPLEX];
    const int none = -1, n = w->n, m = w->m, wide = w->width > 1 ? w->width : 1;
    double work[2] = {0}, more[2] = {0};
    int info = 0, iwork = 0;
    switch (w->what.kind) {
    case NATIVE_QR:
        w->f->geqrf(&m, &n, NULL, &m, NULL, work, &none, &info);
        w->length[0] = length_at(w, work);
        w->length[1] = complex ? 2 * n : n; /* tau */
        if (w->width) {
            w->f->orgqr(&m, &wide, &n, NULL, &m, NULL, work, &none, &info);
            const int other = length_at(w, work);
            w->length[0] = other > w->length[0] ? other : w->length[0];
        }
        break;
    case NATIVE_EIGH: {
        const char *job = w->width ? "V" : "N";
        if (complex)
            w->f->heevd(job, "L", &n, NULL, &n, NULL, work, &none, more, &none, &iwork, &none,
                        &info, NAME_LENGTH, NAME_LENGTH);
        else
            w->f->syevd(job, "L", &n, NULL, &n, NULL, work, &none, &iwork, &none, &info,
                        NAME_LENGTH, NAME_LENGTH);
        w->length[0] = length_at(w, work);
        w->length[1] = complex ? length_at(w, more) : 0;
        w->length[2] = iwork;
        break;
    }
    case NATIVE_SVD: {
        const int k = n;
        if (complex)
            w->f->gesdd_complex(svd_job(w), &m, &n, NULL, &m, NULL, NULL, &m, NULL, &k, work, &none,
                                more, &iwork, &info, NAME_LENGTH);
        else
            w->f->gesdd(svd_job(w), &m, &n, NULL, &m, NULL, NULL, &m, NULL, &k, work, &none, &iwork,
                        &info, NAME_LENGTH);
        w->length[0] = length_at(w, work);
        /* LAPACK's documentation: max(5 n^2 + 5 n, 2 m n + 2 n^2 + n); older versions: 7 n for values only */
        w->length[1] = !complex    ? 0
                       : !w->width ? 7 * n
                                   : (5 * n * n + 5 * n > 2 * m * n + 2 * n * n + n
                                          ? 5 * n * n + 5 * n
                                          : 2 * m * n + 2 * n * n + n);
        w->length[2] = 8 * n;
        break;
    }
    default: break;
    }
}

static size_t after(size_t at, size_t bytes) { return (at + bytes + 63) / 64 * 64; }

static void place_work(lapack_call *w)
{
    ask_lengths(w);
    w->work_at[1] = after(0, (size_t)w->length[0] * w->element);
    w->work_at[2] = after(w->work_at[1], (size_t)w->length[1] * w->real);
    w->work_bytes = after(w->work_at[2], (size_t)w->length[2] * sizeof(int));
}

void *cpu_lapack_plan(const program *p)
{
    lapack_call *w = memory_new(sizeof *w);
    const lapack *library = lapack_get();
    if (!w || !library) {
        memory_free(w);
        return NULL;
    }
    w->what = *p->kernel->native;
    const int type = type_of(&w->what);
    w->f = &library->type[type];
    w->m = (int)w->what.number[OVERRIDE_ROWS];
    w->n = (int)w->what.number[OVERRIDE_COLUMNS];
    w->width = (int)w->what.number[OVERRIDE_WIDTH];
    w->real = type % 2 ? sizeof(double) : sizeof(float);
    w->element = type >= 2 ? 2 * w->real : w->real;
    w->in = p->pre.operand[0];
    w->n_out = p->post.n_operand;
    memcpy(w->out, p->post.operand, (size_t)w->n_out * sizeof *w->out);
    place_work(w);
    return w;
}

/* ---- running ---- */

/* Where the i-th matrix of an operand of `size` bytes for each matrix begins. */
static void *place(const lapack_call *w, const operand *o, int64_t i, int64_t elements, size_t size)
{
    const binding *b = &w->bindings[o->slot];
    const size_t at = (size_t)o->v.offset * ig_dtype_bytes(o->dtype);
    return (char *)b->buf->data + b->offset + at + (size_t)(i * elements) * size;
}

static void solve_triangular(const lapack_call *w, int64_t i)
{
    static const double one64[2] = {1, 0};
    static const float one32[2] = {1, 0};
    const int64_t *v = w->what.number;
    const int n = w->m, columns = w->n, step = 1;
    const bool turned = v[OVERRIDE_TURNED];
    const char *diagonal = v[OVERRIDE_UNIT] ? "U" : "N";
    const char *triangle = (v[OVERRIDE_UPPER] != 0) == turned ? "U" : "L";
    const void *a = place(w, &w->in, i, (int64_t)n * n, w->element);
    void *x = place(w, &w->out[0], i, (int64_t)n * columns, w->element);
    if (columns == 1)
        w->f->trsv(triangle, turned ? "N" : "T", diagonal, &n, a, &n, x, &step, NAME_LENGTH,
                   NAME_LENGTH, NAME_LENGTH);
    else /* by rows, all matrices are transposed: x^T a^T = b^T */
        w->f->trsm("R", triangle, turned ? "T" : "N", diagonal, &columns, &n,
                   w->real == sizeof(float) ? (const void *)one32 : one64, a, &n, x, &columns,
                   NAME_LENGTH, NAME_LENGTH, NAME_LENGTH, NAME_LENGTH);
}

static void factor_qr(const lapack_call *w, int64_t i, char *work)
{
    const int m = w->m, n = w->n, width = w->width;
    void *a = place(w, &w->out[0], i, (int64_t)m * n, w->element), *tau = work + w->work_at[1];
    int info;
    w->f->geqrf(&m, &n, a, &m, tau, work, &w->length[0], &info);
    if (!width)
        return;
    void *q = place(w, &w->out[1], i, (int64_t)m * width, w->element);
    memcpy(q, a, (size_t)m * (size_t)n * w->element);
    w->f->orgqr(&m, &width, &n, q, &m, tau, work, &w->length[0], &info);
}

static void find_eigenvalues(const lapack_call *w, int64_t i, char *work)
{
    const int n = w->n;
    const char *job = w->width ? "V" : "N";
    void *a = place(w, &w->out[0], i, (int64_t)n * n, w->element),
         *values = place(w, &w->out[1], i, n, w->real);
    int *info = place(w, &w->out[2], i, 1, sizeof *info), *iwork = (int *)(work + w->work_at[2]);
    if (w->f->heevd)
        w->f->heevd(job, "L", &n, a, &n, values, work, &w->length[0], work + w->work_at[1],
                    &w->length[1], iwork, &w->length[2], info, NAME_LENGTH, NAME_LENGTH);
    else
        w->f->syevd(job, "L", &n, a, &n, values, work, &w->length[0], iwork, &w->length[2], info,
                    NAME_LENGTH, NAME_LENGTH);
}

static void find_singular_values(const lapack_call *w, int64_t i, char *work)
{
    const int m = w->m, n = w->n;
    const int64_t width = w->width;
    void *a = place(w, &w->out[0], i, (int64_t)m * n, w->element),
         *s = place(w, &w->out[1], i, n, w->real);
    int *info = place(w, &w->out[2], i, 1, sizeof *info), *iwork = (int *)(work + w->work_at[2]);
    void *u = width ? place(w, &w->out[3], i, m * width, w->element) : a;
    void *vt = width ? place(w, &w->out[4], i, (int64_t)n * n, w->element) : a;
    if (w->f->gesdd_complex)
        w->f->gesdd_complex(svd_job(w), &m, &n, a, &m, s, u, &m, vt, &n, work, &w->length[0],
                            work + w->work_at[1], iwork, info, NAME_LENGTH);
    else
        w->f->gesdd(svd_job(w), &m, &n, a, &m, s, u, &m, vt, &n, work, &w->length[0], iwork, info,
                    NAME_LENGTH);
}

static void run_matrix(void *context, int64_t i, int worker)
{
    const lapack_call *w = context;
    const int m = w->m, n = w->n;
    char *work = w->work + (size_t)worker * w->work_bytes;
    int info;
    switch (w->what.kind) {
    case NATIVE_LU:
        w->f->getrf(&m, &n, place(w, &w->out[0], i, (int64_t)m * n, w->element), &m,
                    place(w, &w->out[1], i, least(m, n), sizeof(int)), &info);
        break;
    case NATIVE_TRIANGULAR: solve_triangular(w, i); break;
    case NATIVE_QR: factor_qr(w, i, work); break;
    case NATIVE_EIGH: find_eigenvalues(w, i, work); break;
    case NATIVE_SVD: find_singular_values(w, i, work); break;
    default: break;
    }
}

/* The threads of LAPACK. */
static int threads_for(const lapack_call *w, int threads)
{
    const double small = (double)least(w->m, w->n), large = (double)(w->m < w->n ? w->n : w->m);
    const double work =
        w->what.kind == NATIVE_TRIANGULAR ? (double)w->m * w->m * w->n : small * small * large;
    return work < ALONE_MOST ? 1 : threads;
}

/* Launches run one at a time (the engine's lock), so the plan also holds the state of this launch. */
ig_status cpu_lapack(const program *p, const binding *b)
{
    lapack_call *w = p->compiled;
    const lapack *library = lapack_get();
    const int64_t count = w->what.number[OVERRIDE_COUNT];
    const int threads = pool_threads();
    const bool apart = count >= threads;
    const size_t bytes = w->work_bytes * (size_t)(apart ? threads : 1);
    w->bindings = b;
    w->work = memory_data_get(bytes);
    if (!w->work)
        return IG_ERR_MEMORY;
    const int before = library->threads_get ? library->threads_get() : 0;
    const int wanted = apart ? 1 : threads_for(w, threads);
    if (before && before != wanted)
        library->threads_set(wanted);
    if (apart)
        pool_run_cancellable(count, run_matrix, w);
    for (int64_t i = 0; !apart && i < count; i++)
        run_matrix(w, i, 0);
    if (before && before != wanted)
        library->threads_set(before);
    memory_data_free(w->work, bytes);
    w->work = NULL;
    return IG_OK;
}
