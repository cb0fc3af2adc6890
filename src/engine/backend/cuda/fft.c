/* Overrides of Fourier transforms by cuFFT, which is loaded for the first one: see program/override.h. The device keeps the
 * plans; programs share them. A plan's workspace is the program's scratch memory. */
#include "engine/backend/cuda/native.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/trace.h"
#include "engine/program/override.h"

/* From this many points on, cuFFT was measured to be faster than own kernels, on an H200: 1.6 times for a line of 1024 points
 * and for 4096 lines of 1024, 2.4 times for a line of 65536, 1.5 times for one of 2^24. With more groups of lines, each of which
 * is a launch, own kernels are faster. */
enum { POINTS_LEAST = 1024, GROUPS_MOST = 16, PLANS_MOST = 256 };

/* The parameters of a plan. */
typedef struct fft_problem {
    native_kind kind;
    ig_dtype dtype;
    int64_t points, lines; /* of a launch; one after another unless `interleaved` */
    bool interleaved;
} fft_problem;

/* The plan of a problem, if cuFFT has one. */
struct fft_answer {
    struct fft_answer *next;
    fft_problem problem;
    cufftHandle plan;
    size_t work_bytes;
    bool yes;
};

typedef struct fft_node {
    cuda_native base;
    node_native what;
    const struct fft_answer *plan;
    operand in, out;
    int64_t launches;
} fft_node;

static struct {
    pthread_once_t once;
    bool loaded;
    fft_api api;
} fft = {.once = PTHREAD_ONCE_INIT};

static void load(void)
{
    const int64_t began = trace_begin();
    fft.loaded = fft_api_load(&fft.api);
    trace_end(began, "load cuFFT");
}

void fft_release(cuda_device *d)
{
    while (d->transforms) {
        struct fft_answer *next = d->transforms->next;
        if (d->transforms->yes && !d->base.is_lost)
            fft.api.cufftDestroy(d->transforms->plan);
        memory_free(d->transforms);
        d->transforms = next;
    }
}

/* ---- plans ---- */

static fft_problem problem_of(const node_native *n)
{
    const int64_t *v = n->number;
    const bool interleaved = n->kind == NATIVE_FFT && v[OVERRIDE_COLUMNS] > 1;
    return (fft_problem){n->kind, n->dtype, v[OVERRIDE_ROWS],
                         interleaved ? v[OVERRIDE_COLUMNS] : v[OVERRIDE_COUNT], interleaved};
}

static int64_t launches_of(const node_native *n)
{
    return problem_of(n).interleaved ? n->number[OVERRIDE_COUNT] : 1;
}

/* The status of cuFFT. Called with the lock and the context. */
static int make_plan(cuda_device *d, struct fft_answer *a)
{
    const fft_problem *p = &a->problem;
    const bool wide = p->dtype == IG_F64;
    const cufftType type = p->kind == NATIVE_FFT           ? (wide ? CUFFT_Z2Z : CUFFT_C2C)
                           : p->kind == NATIVE_FFT_OF_REAL ? (wide ? CUFFT_D2Z : CUFFT_R2C)
                                                           : (wide ? CUFFT_Z2D : CUFFT_C2R);
    long long n = p->points, half = n / 2 + 1;
    long long in = p->kind == NATIVE_FFT_TO_REAL ? half : n;
    long long out = p->kind == NATIVE_FFT_OF_REAL ? half : n;
    const long long step = p->interleaved ? p->lines : 1;
    int status = fft.api.cufftCreate(&a->plan);
    if (status)
        return status;
    status = fft.api.cufftSetAutoAllocation(a->plan, 0);
    if (!status)
        status = fft.api.cufftMakePlanMany64(a->plan, 1, &n, &in, step, p->interleaved ? 1 : in,
                                             &out, step, p->interleaved ? 1 : out, type, p->lines,
                                             &a->work_bytes);
    if (!status)
        status = fft.api.cufftSetStream(a->plan, d->stream);
    if (status)
        fft.api.cufftDestroy(a->plan);
    return status;
}

static bool is_same(const fft_problem *a, const fft_problem *b)
{
    return a->kind == b->kind && a->dtype == b->dtype && a->points == b->points &&
           a->lines == b->lines && a->interleaved == b->interleaved;
}

/* cuFFT's answer; NULL if there are too many plans or memory is lacking. Called with the lock and the context. */
static const struct fft_answer *ask(cuda_device *d, const node_native *n)
{
    const fft_problem problem = problem_of(n);
    int count = 0;
    for (struct fft_answer *a = d->transforms; a; a = a->next, count++)
        if (is_same(&a->problem, &problem))
            return a;
    struct fft_answer *a = count < PLANS_MOST ? memory_new(sizeof *a) : NULL;
    if (!a)
        return NULL;
    const int64_t began = trace_begin();
    a->problem = problem;
    const int status = make_plan(d, a);
    trace_end(began, "plan a transform");
    a->yes = status == 0 || cuda_refuse(d, n, "cuFFT", status);
    a->next = d->transforms;
    d->transforms = a;
    return a;
}

static bool is_faster(const node_native *n)
{
    const fft_problem p = problem_of(n);
    const int64_t launches = launches_of(n);
    return launches <= GROUPS_MOST && p.points * p.lines * launches >= POINTS_LEAST;
}

bool fft_offers(cuda_device *d, const node_native *n)
{
    if (n->kind < NATIVE_FFT || n->kind > NATIVE_FFT_TO_REAL || d->refused >> n->kind & 1 ||
        !(is_faster(n) || override_wished() == OVERRIDE_ALL))
        return false;
    pthread_once(&fft.once, load);
    if (!fft.loaded)
        return false;
    if (!cuda_enter_to_ask(d))
        return false;
    const struct fft_answer *a = ask(d, n);
    cuda_leave(d);
    return a && a->yes;
}

/* ---- programs ---- */

/* Called with the lock and the context. */
static int execute(const fft_node *v, CUdeviceptr in, CUdeviceptr out, CUdeviceptr work)
{
    const fft_api *f = &fft.api;
    const struct fft_answer *a = v->plan;
    const bool wide = v->what.dtype == IG_F64;
    const int direction = v->what.number[OVERRIDE_UPPER] ? CUFFT_INVERSE : CUFFT_FORWARD;
    const uint64_t step = (uint64_t)(a->problem.points * a->problem.lines) * 2 *
                          ig_dtype_bytes(v->what.dtype); /* of a group */
    int status = f->cufftSetWorkArea(a->plan, (void *)(uintptr_t)work);
    for (int64_t i = 0; i < v->launches && !status; i++, in += step, out += step) {
        void *x = (void *)(uintptr_t)in, *y = (void *)(uintptr_t)out;
        if (v->what.kind == NATIVE_FFT)
            status = (wide ? f->cufftExecZ2Z : f->cufftExecC2C)(a->plan, x, y, direction);
        else if (v->what.kind == NATIVE_FFT_OF_REAL)
            status = (wide ? f->cufftExecD2Z : f->cufftExecR2C)(a->plan, x, y);
        else
            status = (wide ? f->cufftExecZ2D : f->cufftExecC2R)(a->plan, x, y);
    }
    return status;
}

static ig_status launch(cuda_native *code, const binding *bindings, binding scratch)
{
    fft_node *v = (fft_node *)code;
    cuda_device *d = v->base.dev;
    const CUdeviceptr in = cuda_address(d, bindings[v->in.slot], v->in.v.offset, v->in.dtype);
    const CUdeviceptr out = cuda_address(d, bindings[v->out.slot], v->out.v.offset, v->out.dtype);
    const CUdeviceptr work = cuda_address(d, scratch, 0, IG_U8);
    if (!in || !out)
        FAIL(IG_ERR_ARGUMENT, "%s: a transform reads a buffer of another device", d->base.name);
    TRY(cuda_enter(d));
    int status = 0;
    if (!cuda_replay_refuse(d))
        status = execute(v, in, out, work);
    if (status)
        cuda_refuse(d, &v->what, "cuFFT", status);
    cuda_leave(d);
    if (status)
        FAIL(IG_ERR_DEVICE, "%s: cuFFT failed with status %d; IG_OVERRIDES=off avoids it",
             d->base.name, status);
    return IG_OK;
}

static void discard(cuda_native *code) { memory_free(code); }

ig_status fft_prepare(cuda_device *d, const program *p, cuda_native **out)
{
    fft_node *v = memory_new(sizeof *v);
    if (!v)
        return IG_ERR_MEMORY;
    v->what = *p->kernel->native;
    const ig_status entered = cuda_enter(d);
    if (entered == IG_OK) {
        v->plan = ask(d, &v->what);
        cuda_leave(d);
    }
    if (!v->plan || !v->plan->yes) {
        memory_free(v);
        TRY(entered);
        FAIL(IG_ERR_DEVICE, "%s: cuFFT has no plan for %s; IG_OVERRIDES=off avoids it",
             d->base.name, p->kernel->name);
    }
    const bool to_real = v->what.kind == NATIVE_FFT_TO_REAL;
    v->launches = launches_of(&v->what);
    v->in = to_real ? p->post.operand[0] : p->pre.operand[0];
    v->out = p->post.operand[to_real];
    v->base = (cuda_native){{.name = "cuFFT"}, d, launch, discard};
    v->base.base.scratch_bytes = v->plan->work_bytes + 256;
    *out = &v->base;
    return IG_OK;
}
