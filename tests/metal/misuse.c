/* Mistakes in the use of Metal, one at a time. The simulator must report each of them, and must say nothing about the
 * right program. Each runs in a process of its own. Without this, a check of the simulator could be one that never fails.
 *
 *   misuse            runs all, with the simulator IG_METAL
 *   misuse NAME       runs one, in this process */
#include "engine/backend/metal/objc.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 4096, THREADS = 32, LEAKED = 86, TEXT = 4000, PAGE = 16384, FAILED_STATUS = 5 };

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "\n"
    "kernel void count(device uint *x [[buffer(0)]], uint3 i [[thread_position_in_grid]])\n"
    "{\n"
    "    x[i.x] = i.x;\n"
    "}\n"
    "\n"
    "kernel void read(device const uint *x [[buffer(0)]], device uint *y [[buffer(1)]], uint3 i "
    "[[thread_position_in_grid]])\n"
    "{\n"
    "    y[i.x] = x[i.x];\n"
    "}\n"
    "\n"
    "kernel void beyond(device uint *x [[buffer(0)]], uint3 i [[thread_position_in_grid]])\n"
    "{\n"
    "    x[i.x + 1024] = i.x;\n"
    "}\n"
    "\n"
    "kernel void one(device const ulong &x [[buffer(0)]], device ulong *y [[buffer(1)]])\n"
    "{\n"
    "    y[0] = x;\n"
    "}\n"
    "\n"
    "kernel void given(device uint *x [[buffer(0)]], threadgroup uint *s [[threadgroup(0)]], uint3 "
    "i [[thread_position_in_grid]])\n"
    "{\n"
    "    s[i.x] = i.x;\n"
    "    x[i.x] = s[i.x];\n"
    "}\n"
    "\n"
    "kernel void wide(device uint *x [[buffer(0)]], threadgroup uint *s [[threadgroup(0)]], uint3 "
    "i [[thread_position_in_grid]])\n"
    "{\n"
    "    threadgroup uint own[8000];\n"
    "    own[i.x] = s[i.x];\n"
    "    x[i.x] = own[i.x];\n"
    "}\n"
    "\n"
    "kernel void heavy(device uint *x [[buffer(0)]], uint3 i [[thread_position_in_grid]])\n"
    "{\n"
    "    uint own[100];\n"
    "    for (uint k = 0; k < 100; k++)\n"
    "        own[k] = k + i.x;\n"
    "    x[i.x] = own[x[i.x] % 100];\n"
    "}\n"
    "\n"
    "kernel void large(device uint *x [[buffer(0)]], uint3 i [[thread_position_in_grid]])\n"
    "{\n"
    "    threadgroup uint s[9000];\n"
    "    s[i.x] = i.x;\n"
    "    x[i.x] = s[i.x];\n"
    "}\n"
    "\n"
    "kernel void diverge(device uint *x [[buffer(0)]], uint3 i [[thread_position_in_grid]])\n"
    "{\n"
    "    if (i.x < 5)\n"
    "        threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "    x[i.x] = i.x;\n"
    "}\n"
    "\n"
    "kernel void race(device uint *x [[buffer(0)]], uint3 i [[thread_position_in_grid]])\n"
    "{\n"
    "    threadgroup uint s[32];\n"
    "    s[i.x] = i.x;\n"
    "    x[i.x] = s[31 - i.x];\n"
    "}\n";

objc_runtime objc;
objc_messages objc_message;

static void must(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "misuse: %s\n", what);
    exit(1);
}

static void load(void)
{
    const char *path = getenv("IG_METAL");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL, *at;
    must(library, "IG_METAL must be the simulator");
#define RUNTIME(result, name, symbol, parameters) \
    at = dlsym(library, #symbol); \
    must(at, #symbol " is missing"); \
    memcpy(&objc.name, &at, sizeof at);
#include "engine/backend/metal/messages.def"
#undef RUNTIME
#undef SEND0
#undef SEND
#define SEND0(result, name, selector) \
    objc_message.name.op = objc.register_name(selector); \
    memcpy(&objc_message.name.send, &objc.send, sizeof objc.send);
#define SEND(result, name, selector, parameters) SEND0(result, name, selector)
#include "engine/backend/metal/messages.def"
}

/* ---- what a mistake starts from ---- */

typedef struct setup {
    void *pool;
    id device, queue, library, x, y, commands, encoder;
} setup;

static id text(const char *s)
{
    return objc_send(string, objc.get_class("NSString"), s, NSUTF8StringEncoding);
}

static id pipeline(setup *s, const char *name)
{
    id error = NULL, function = objc_send(new_function, s->library, text(name));
    const id made = objc_send(new_pipeline, s->device, function, &error);
    must(made, "no pipeline");
    objc_send(release, function);
    return made;
}

static void begin(setup *s)
{
    id error = NULL, options;
    s->pool = objc.pool_push();
    s->device = objc.default_device();
    s->queue = objc_send(new_queue, s->device);
    options = objc_send(init, objc_send(alloc, objc.get_class("MTLCompileOptions")));
    objc_send(set_fast_math, options, false);
    objc_send(set_language, options, MTLLanguageVersion2_3);
    s->library = objc_send(new_library, s->device, text(source), options, &error);
    if (!s->library)
        fprintf(stderr, "%s\n", objc_send(utf8, objc_send(description, error)));
    must(s->library, "the kernels do not compile");
    objc_send(release, options);
    s->x = objc_send(new_buffer, s->device, BYTES, MTLResourceStorageModeShared);
    s->y = objc_send(new_buffer, s->device, BYTES, MTLResourceStorageModeShared);
    s->commands = objc_send(commands, s->queue);
    s->encoder = objc_send(compute_encoder, s->commands);
}

static void end(setup *s)
{
    objc_send(release, s->x);
    objc_send(release, s->y);
    objc_send(release, s->library);
    objc_send(release, s->queue);
    objc_send(release, s->device);
    objc.pool_pop(s->pool);
}

static void use(setup *s, const char *kernel)
{
    const id p = pipeline(s, kernel);
    objc_send(set_pipeline, s->encoder, p);
    objc_send(release, p);
    objc_send(set_buffer, s->encoder, s->x, 0, 0);
    objc_send(set_buffer, s->encoder, s->y, 0, 1);
}

static void dispatch(setup *s, NSUInteger groups, NSUInteger threads)
{
    objc_send(dispatch, s->encoder, (MTLSize){groups, 1, 1}, (MTLSize){threads, 1, 1});
}

static void commit(setup *s)
{
    objc_send(end_encoding, s->encoder);
    objc_send(commit, s->commands);
}

static void run(setup *s, const char *kernel)
{
    use(s, kernel);
    dispatch(s, 1, THREADS);
    commit(s);
    objc_send(wait, s->commands);
    if (objc_send(status, s->commands) == FAILED_STATUS)
        fprintf(stderr, "%s\n",
                objc_send(utf8, objc_send(description, objc_send(error, s->commands))));
}

/* ---- the mistakes ---- */

static void nothing_wrong(setup *s)
{
    run(s, "count");
    const uint32_t *x = objc_send(contents, s->x);
    for (uint32_t i = 0; i < THREADS; i++)
        must(x[i] == i, "the kernel did not run");
}
static void released_object(setup *s)
{
    const id q = objc_send(new_queue, s->device);
    objc_send(release, q);
    objc_send(commands, q);
}
static void released_too_often(setup *s)
{
    const id q = objc_send(new_queue, s->device);
    objc_send(release, q);
    objc_send(release, q);
}
static void wrong_class(setup *s) { objc_send(set_pipeline, s->encoder, s->x); }
static void nil_argument(setup *s) { objc_send(set_pipeline, s->encoder, NULL); }
static void unknown_message(setup *s)
{
    ((void (*)(id, SEL, id, NSUInteger))(void (*)(void))objc.send)(
        s->encoder, objc.register_name("useResource:usage:"), s->x, 1);
}
static void unregistered_selector(setup *s)
{
    ((void (*)(id, SEL))(void (*)(void))objc.send)(s->queue, (SEL)(void *)"commandBuffer");
}
static void leak(setup *s)
{
    objc_send(end_encoding, s->encoder);
    objc_send(retain, s->x);
}
static void no_pool(setup *s)
{
    objc_send(end_encoding, s->encoder);
    objc.pool_pop(s->pool);
    objc_send(commands, s->queue);
}
static void foreign_pool(setup *s)
{
    objc_send(end_encoding, s->encoder);
    objc.pool_pop(&s->x);
}
static void empty_buffer(setup *s)
{
    objc_send(new_buffer, s->device, 0, MTLResourceStorageModeShared);
}
static void huge_buffer(setup *s)
{
    objc_send(new_buffer, s->device, objc_send(buffer_most, s->device) + 1,
              MTLResourceStorageModeShared);
}
static void unaligned_pages(setup *s)
{
    char *pages = aligned_alloc(PAGE, 2 * PAGE);
    objc_send(wrap_buffer, s->device, pages + 64, PAGE, MTLResourceStorageModeShared, NULL);
}
static void part_of_a_page(setup *s)
{
    char *pages = aligned_alloc(PAGE, 2 * PAGE);
    objc_send(wrap_buffer, s->device, pages, PAGE + 64, MTLResourceStorageModeShared, NULL);
}
static void fast_math(setup *s)
{
    id error = NULL,
       options = objc_send(init, objc_send(alloc, objc.get_class("MTLCompileOptions")));
    objc_send(set_language, options, MTLLanguageVersion2_3);
    objc_send(new_library, s->device, text(source), options, &error);
}
static void offset_beyond(setup *s) { objc_send(set_buffer, s->encoder, s->x, BYTES, 0); }
static void index_beyond(setup *s) { objc_send(set_buffer, s->encoder, s->x, 0, 31); }
static void many_bytes(setup *s) { objc_send(set_bytes, s->encoder, source, 4097, 0); }
static void shared_step(setup *s) { objc_send(set_shared, s->encoder, 20, 0); }
static void shared_too_much(setup *s)
{
    use(s, "given");
    objc_send(set_shared, s->encoder, 32768 + 16, 0);
    dispatch(s, 1, THREADS);
}
static void shared_missing(setup *s)
{
    use(s, "given");
    dispatch(s, 1, THREADS);
}
static void shared_too_much_in_kernel(setup *s)
{
    id error = NULL, function = objc_send(new_function, s->library, text("large"));
    must(!objc_send(new_pipeline, s->device, function, &error), "a pipeline");
    fprintf(stderr, "%s\n", objc_send(utf8, objc_send(description, error)));
    objc_send(release, function);
    run(s, "count");
}
static void shared_too_much_together(setup *s)
{
    use(s, "wide");
    objc_send(set_shared, s->encoder, 1024, 0);
    dispatch(s, 1, THREADS);
}
static void heavy_kernel(setup *s)
{
    const id p = pipeline(s, "heavy");
    must(objc_send(pipeline_threads, p) == 384, "a heavy kernel has 384 threads");
    objc_send(release, p);
    use(s, "heavy");
    dispatch(s, 1, 512);
}
static void no_pipeline(setup *s) { dispatch(s, 1, THREADS); }
static void no_argument(setup *s)
{
    use(s, "count");
    objc_send(set_buffer, s->encoder, NULL, 0, 0);
    dispatch(s, 1, THREADS);
}
static void short_argument(setup *s)
{
    use(s, "one");
    objc_send(set_bytes, s->encoder, "abc", 4, 0);
    dispatch(s, 1, 1);
}
static void no_groups(setup *s)
{
    use(s, "count");
    dispatch(s, 0, THREADS);
}
static void many_threads(setup *s)
{
    use(s, "count");
    dispatch(s, 1, 1056);
}
static void encode_after_end(setup *s)
{
    use(s, "count");
    objc_send(end_encoding, s->encoder);
    dispatch(s, 1, THREADS);
}
static void end_twice(setup *s)
{
    objc_send(end_encoding, s->encoder);
    objc_send(end_encoding, s->encoder);
}
static void two_encoders(setup *s) { objc_send(blit_encoder, s->commands); }
static void encoder_never_ended(setup *s) { objc.pool_pop(s->pool); }
static void commit_with_encoder(setup *s) { objc_send(commit, s->commands); }
static void commit_twice(setup *s)
{
    commit(s);
    objc_send(commit, s->commands);
}
static void encode_after_commit(setup *s)
{
    commit(s);
    objc_send(compute_encoder, s->commands);
}
static void wait_before_commit(setup *s) { objc_send(wait, s->commands); }
static void time_before_end(setup *s)
{
    commit(s);
    objc_send(gpu_end, s->commands);
}
static void many_in_flight(setup *s)
{
    commit(s);
    for (int i = 0; i < 64; i++)
        objc_send(commit, objc_send(commands, s->queue));
}
static void read_too_early(setup *s)
{
    use(s, "count");
    dispatch(s, 1, THREADS);
    commit(s);
    const uint32_t *x = objc_send(contents, s->x);
    fprintf(stderr, "the host read %u\n", x[1]);
}
static void write_too_early(setup *s)
{
    use(s, "read");
    dispatch(s, 1, THREADS);
    commit(s);
    *(volatile uint32_t *)objc_send(contents, s->x) = 1;
}
static void kernel_beyond(setup *s) { run(s, "beyond"); }
static void kernel_diverges(setup *s) { run(s, "diverge"); }
static void kernel_races(setup *s) { run(s, "race"); }

static id blit(setup *s)
{
    objc_send(end_encoding, s->encoder);
    return s->encoder = objc_send(blit_encoder, s->commands);
}
static void copy_beyond(setup *s) { objc_send(copy_buffer, blit(s), s->x, 0, s->y, 8, BYTES); }
static void copy_overlap(setup *s) { objc_send(copy_buffer, blit(s), s->x, 0, s->x, 8, 16); }
static void copy_odd(setup *s) { objc_send(copy_buffer, blit(s), s->x, 0, s->y, 0, 3); }
static void fill_beyond(setup *s) { objc_send(fill_buffer, blit(s), s->x, (NSRange){BYTES, 4}, 0); }
static void compute_message_to_blit(setup *s) { objc_send(set_buffer, blit(s), s->x, 0, 0); }

static id descriptor(NSUInteger rows, NSUInteger columns, NSUInteger row_bytes,
                     NSUInteger matrix_bytes)
{
    return objc_send(matrix_descriptor, objc.get_class("MPSMatrixDescriptor"), rows, columns, 1,
                     row_bytes, matrix_bytes, MPSDataTypeFloat32);
}
static id matrix(id buffer, NSUInteger offset, NSUInteger rows, NSUInteger columns)
{
    return objc_send(init_matrix, objc_send(alloc, objc.get_class("MPSMatrix")), buffer, offset,
                     descriptor(rows, columns, 4 * columns, 4 * columns * rows));
}
static void product(setup *s, id left, id right, id result)
{
    const id p =
        objc_send(init_product, objc_send(alloc, objc.get_class("MPSMatrixMultiplication")),
                  s->device, false, false, 8, 8, 16, 1.0, 0.0);
    objc_send(encode_product, p, s->commands, left, right, result);
    const id all[4] = {left, right, result, p};
    for (int i = 0; i < 4; i++)
        objc_send(release, all[i]);
}
static void nothing_wrong_in_product(setup *s)
{
    float *x = objc_send(contents, s->x);
    for (int i = 0; i < 256; i++)
        x[i] = 1;
    objc_send(end_encoding, s->encoder);
    product(s, matrix(s->x, 0, 8, 16), matrix(s->x, 512, 16, 8), matrix(s->y, 16, 8, 8));
    objc_send(commit, s->commands);
    objc_send(wait, s->commands);
    const float *y = objc_send(contents, s->y);
    must(y[4] == 16 && y[67] == 16, "the product is wrong");
}
static void product_with_encoder(setup *s)
{
    product(s, matrix(s->x, 0, 8, 16), matrix(s->x, 512, 16, 8), matrix(s->y, 0, 8, 8));
}
static void product_after_commit(setup *s)
{
    commit(s);
    product(s, matrix(s->x, 0, 8, 16), matrix(s->x, 512, 16, 8), matrix(s->y, 0, 8, 8));
}
static void product_of_others(setup *s)
{
    objc_send(end_encoding, s->encoder);
    product(s, matrix(s->x, 0, 8, 15), matrix(s->x, 512, 16, 8), matrix(s->y, 0, 8, 8));
}
static void product_onto_itself(setup *s)
{
    objc_send(end_encoding, s->encoder);
    product(s, matrix(s->x, 0, 8, 16), matrix(s->x, 512, 16, 8), matrix(s->x, 0, 8, 8));
}
static void product_read_early(setup *s)
{
    objc_send(end_encoding, s->encoder);
    product(s, matrix(s->x, 0, 8, 16), matrix(s->x, 512, 16, 8), matrix(s->y, 0, 8, 8));
    objc_send(commit, s->commands);
    const float *y = objc_send(contents, s->y);
    fprintf(stderr, "the host read %g\n", (double)y[1]);
}
static void matrix_leak(setup *s)
{
    objc_send(end_encoding, s->encoder);
    matrix(s->x, 0, 8, 16);
}
static void short_rows(setup *s)
{
    (void)s;
    descriptor(8, 16, 60, 480);
}
static void odd_rows(setup *s)
{
    (void)s;
    descriptor(8, 16, 66, 528);
}
static void short_matrix(setup *s)
{
    (void)s;
    descriptor(8, 16, 64, 448);
}
static void matrix_beyond(setup *s) { matrix(s->x, 4096 - 256, 8, 16); }

/* A mistake, and what the simulator must say: by an assertion, by the exit code 86, or as the command buffer's error. */
typedef enum way { QUIET, ASSERTION, LEAK, ERROR } way;
static const struct mistake {
    const char *name;
    void (*make)(setup *s);
    way ends;
    const char *says;
} mistakes[] = {
    {"nothing wrong", nothing_wrong, QUIET, ""},
    {"a message to a released object", released_object, ASSERTION,
     "sent to a deallocated MTLSimCommandQueue"},
    {"released too often", released_too_often, ASSERTION, "deallocated"},
    {"an object of another class", wrong_class, ASSERTION,
     "a MTLSimComputePipelineState is needed"},
    {"nil as an argument", nil_argument, ASSERTION, "nil, but a"},
    {"a message that the object does not have", unknown_message, ASSERTION,
     "unrecognized selector"},
    {"a selector that was not registered", unregistered_selector, ASSERTION,
     "sel_registerName did not return"},
    {"a retained object is not released", leak, LEAK, "1 MTLSimBuffer leaked"},
    {"autorelease without a pool", no_pool, ASSERTION, "this thread has no pool"},
    {"a pool that was not pushed", foreign_pool, ASSERTION, "was not pushed"},
    {"a buffer of 0 bytes", empty_buffer, ASSERTION, "length 0"},
    {"a buffer beyond maxBufferLength", huge_buffer, ASSERTION, "more than maxBufferLength"},
    {"wrapped memory off a page", unaligned_pages, ASSERTION, "not a multiple of the page size"},
    {"wrapped memory of part of a page", part_of_a_page, ASSERTION,
     "not a multiple of the page size"},
    {"fast math", fast_math, ASSERTION, "fast math is on"},
    {"a buffer bound beyond its length", offset_beyond, ASSERTION, "but the buffer has 4096 bytes"},
    {"buffer index 31", index_beyond, ASSERTION, "the last is 30"},
    {"setBytes of more than 4096 bytes", many_bytes, ASSERTION, "1 to 4096 bytes"},
    {"threadgroup memory in odd steps", shared_step, ASSERTION, "not a multiple of 16"},
    {"threadgroup memory above the limit", shared_too_much, ASSERTION, "the limit is 32768"},
    {"threadgroup memory that is not set", shared_missing, ASSERTION,
     "no threadgroup memory is set"},
    {"a kernel's threadgroup memory above the limit", shared_too_much_in_kernel, ERROR,
     "the limit is 32768"},
    {"threadgroup memory of kernel and dispatch above the limit", shared_too_much_together,
     ASSERTION, "33024 bytes of threadgroup memory"},
    {"more threads than a heavy kernel allows", heavy_kernel, ASSERTION, "the pipeline allows 384"},
    {"a dispatch without a pipeline", no_pipeline, ASSERTION, "no pipeline is set"},
    {"an argument that is not bound", no_argument, ASSERTION, "nothing is bound at buffer index 0"},
    {"an argument that is too short", short_argument, ASSERTION, "4 bytes are bound at index 0"},
    {"a dispatch of no threadgroups", no_groups, ASSERTION, "a size is 0"},
    {"more threads than the pipeline allows", many_threads, ASSERTION, "1056 threads"},
    {"encoding after endEncoding", encode_after_end, ASSERTION, "the encoder has ended"},
    {"endEncoding twice", end_twice, ASSERTION, "the encoder has ended"},
    {"two encoders at a time", two_encoders, ASSERTION, "the encoder before it has not ended"},
    {"an encoder that never ends", encoder_never_ended, ASSERTION, "before endEncoding"},
    {"commit with an open encoder", commit_with_encoder, ASSERTION, "an encoder has not ended"},
    {"commit twice", commit_twice, ASSERTION, "was committed before"},
    {"an encoder after commit", encode_after_commit, ASSERTION, "was committed"},
    {"waiting before commit", wait_before_commit, ASSERTION, "was not committed"},
    {"times before completion", time_before_end, ASSERTION,
     "before the command buffer has completed"},
    {"65 command buffers in flight", many_in_flight, ASSERTION, "64 command buffers"},
    {"reading a result before completion", read_too_early, ASSERTION,
     "before the commands that use it"},
    {"writing an input before completion", write_too_early, ASSERTION,
     "before the commands that use it"},
    {"a kernel that writes behind a buffer", kernel_beyond, ASSERTION,
     "behind the end of a buffer"},
    {"a barrier in divergent code", kernel_diverges, ERROR, "threadgroup_barrier"},
    {"a missing barrier", kernel_races, ERROR, "depends on the order of threads"},
    {"a copy beyond a buffer", copy_beyond, ASSERTION, "of a buffer of 4096"},
    {"a copy onto itself", copy_overlap, ASSERTION, "the ranges overlap"},
    {"a copy of 3 bytes", copy_odd, ASSERTION, "multiples of 4"},
    {"a fill beyond a buffer", fill_beyond, ASSERTION, "of a buffer of 4096"},
    {"a compute message to a blit encoder", compute_message_to_blit, ASSERTION,
     "unrecognized selector"},
    {"nothing wrong in a product", nothing_wrong_in_product, QUIET, ""},
    {"a product with an open encoder", product_with_encoder, ASSERTION, "an encoder has not ended"},
    {"a product after commit", product_after_commit, ASSERTION, "was committed"},
    {"a product of other sizes", product_of_others, ASSERTION, "the product needs 8 x 16"},
    {"a product onto its operand", product_onto_itself, ASSERTION, "one of the operands"},
    {"reading a product before completion", product_read_early, ASSERTION,
     "before the commands that use it"},
    {"a matrix is not released", matrix_leak, LEAK, "1 MPSMatrix leaked"},
    {"rows that are too short", short_rows, ASSERTION, "rowBytes 60"},
    {"rows that end inside an element", odd_rows, ASSERTION, "rowBytes 66"},
    {"matrices that overlap", short_matrix, ASSERTION, "matrixBytes 448"},
    {"a matrix beyond its buffer", matrix_beyond, ASSERTION, "of a buffer of 4096"},
};
enum { MISTAKES = sizeof mistakes / sizeof mistakes[0] };

static int run_here(const struct mistake *m)
{
    setup s = {0};
    load();
    begin(&s);
    m->make(&s);
    end(&s);
    return 0;
}

/* Runs it in a process of its own, which must end as the row says. */
static bool run_one(const struct mistake *m, char *self)
{
    int ends[2], status = 0;
    char said[TEXT] = "";
    size_t n = 0;
    fflush(NULL);
    must(pipe(ends) == 0, "no pipe");
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        execl(self, self, m->name, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    for (ssize_t got; n < TEXT - 1 && (got = read(ends[0], said + n, TEXT - 1 - n)) > 0;)
        n += (size_t)got;
    close(ends[0]);
    waitpid(pid, &status, 0);
    const bool aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    const bool fine = (m->ends == ASSERTION ? aborted && strstr(said, "failed assertion")
                       : m->ends == LEAK    ? code == LEAKED
                                            : code == 0) &&
                      strstr(said, m->says) && (m->ends != QUIET || n == 0);
    if (!fine)
        printf("FAILED %s: status %x, expected '%s', but it says:\n%s\n", m->name, (unsigned)status,
               m->says, said);
    return fine;
}

int main(int argc, char **argv)
{
    int passed = 0;
    setenv("METALSIM_LEAKS", "1", 1);
    setenv("METALSIM_TWICE", "1", 1);
    for (int i = 0; i < MISTAKES; i++) {
        if (argc > 1 && strcmp(argv[1], mistakes[i].name) == 0)
            return run_here(&mistakes[i]);
        if (argc == 1)
            passed += run_one(&mistakes[i], argv[0]);
    }
    must(argc == 1, "there is no such mistake");
    printf("%d passed, %d failed\n", passed, MISTAKES - passed);
    return passed == MISTAKES ? 0 : 1;
}
