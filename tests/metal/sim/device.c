/* The device, buffers, libraries, functions and pipelines. */
#define _GNU_SOURCE
#include "sim.h"

#include <string.h>
#include <sys/mman.h>

EXPORT id MTLCreateSystemDefaultDevice(void);

typedef struct size3 {
    uint64_t x, y, z;
} size3;

enum { GPU_FAMILY_COMMON1 = 3001, GPU_FAMILY_COMMON3 = 3003, GPU_FAMILY_METAL3 = 5001, GPU_FAMILY_APPLE1 = 1001 };

static uint64_t allocated; /* bytes of all buffers that own their memory */

static uint64_t memory_bytes(void) { return (uint64_t)sim_setting(SIM_MEMORY_MIB) << 20; }

/* ---- buffers ---- */

static void buffer_destroy(id o)
{
    sim_buffer *b = (sim_buffer *)o;
    REQUIRE(!b->reads && !b->writes, "a buffer is deallocated while a command buffer uses it");
    if (!b->owned)
        return;
    sim_guard_remove(b);
    allocated -= b->bytes;
    munmap(b->map, b->mapped);
}

static void *buffer_contents(id o, SEL s) { return (void)s, ((sim_buffer *)o)->data; }
static uint64_t buffer_length(id o, SEL s) { return (void)s, ((sim_buffer *)o)->bytes; }
static sim_method buffer_methods[] = {METHOD("contents", buffer_contents, AS_NIL),
                                      METHOD("length", buffer_length, NEVER), METHODS_END};
sim_class sim_buffer_class = {.name = "MTLSimBuffer",
                              .bytes = sizeof(sim_buffer),
                              .destroy = buffer_destroy,
                              .methods = buffer_methods,
                              .hidden = true};

/* Memory ends where a page without access begins, and it is not zero: Metal says nothing of its content. */
static id buffer_new(id o, SEL s, uint64_t bytes, uint64_t options)
{
    (void)o;
    REQUIRE(bytes > 0, "%s: length 0", s);
    REQUIRE(options == 0, "%s: options %llx; only shared storage with tracked hazards is simulated", s,
            (unsigned long long)options);
    REQUIRE(bytes <= (uint64_t)sim_setting(SIM_BUFFER_MIB) << 20, "%s: %llu bytes are more than maxBufferLength", s,
            (unsigned long long)bytes);
    if (allocated + bytes > memory_bytes())
        return NULL;
    const size_t round = (bytes + 255) & ~(size_t)255, pages = (round + SIM_PAGE - 1) / SIM_PAGE * SIM_PAGE;
    char *map = mmap(NULL, pages + SIM_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    mprotect(map + pages, SIM_PAGE, PROT_NONE);
    sim_buffer *b = (sim_buffer *)sim_new(&sim_buffer_class);
    b->map = map;
    b->mapped = pages + SIM_PAGE;
    b->data = map + pages - round;
    b->bytes = bytes;
    b->owned = true;
    if (!sim_setting(SIM_RECORD))
        memset(b->data, 0xff, round);
    allocated += bytes;
    sim_guard_add(b);
    return &b->head;
}

static id buffer_wrap(id o, SEL s, void *data, uint64_t bytes, uint64_t options, void *block)
{
    (void)o, (void)options;
    REQUIRE(data && (uintptr_t)data % SIM_PAGE == 0, "%s: %p is not a multiple of the page size, %d", s, data, SIM_PAGE);
    REQUIRE(bytes && bytes % SIM_PAGE == 0, "%s: length %llu is not a multiple of the page size, %d", s,
            (unsigned long long)bytes, SIM_PAGE);
    REQUIRE(bytes <= (uint64_t)sim_setting(SIM_BUFFER_MIB) << 20, "%s: %llu bytes are more than maxBufferLength", s,
            (unsigned long long)bytes);
    REQUIRE(!block, "%s: the simulator calls no deallocator", s);
    sim_buffer *b = (sim_buffer *)sim_new(&sim_buffer_class);
    b->data = data;
    b->bytes = bytes;
    return &b->head;
}

/* ---- libraries, functions, pipelines ---- */

typedef struct options {
    sim_object head;
    bool exact; /* fast math was switched off */
    uint64_t version;
} options;

typedef struct library {
    sim_object head;
    const sim_kernel *kernels;
} library;

typedef struct function {
    sim_object head;
    id library;
    const sim_kernel *kernel;
} function;

static void options_fast(id o, SEL s, bool on) { (void)s, ((options *)o)->exact = !on; }
static void options_version(id o, SEL s, uint64_t version)
{
    REQUIRE(version >> 16 >= 2 && version >> 16 <= 4 && (version & 0xffff) < 10, "%s: %llu is not a version", s,
            (unsigned long long)version);
    ((options *)o)->version = version;
}
static sim_method options_methods[] = {METHOD("setFastMathEnabled:", options_fast, NEVER),
                                       METHOD("setLanguageVersion:", options_version, NEVER), METHODS_END};
static sim_class options_class = {
    .name = "MTLCompileOptions", .bytes = sizeof(options), .methods = options_methods};

static void function_destroy(id o) { sim_release(((function *)o)->library); }
static sim_class function_class = {
    .name = "MTLSimFunction", .bytes = sizeof(function), .destroy = function_destroy, .hidden = true};

static id library_function(id o, SEL s, id name)
{
    const char *text = sim_string_text(name, s);
    for (const sim_kernel *k = ((library *)o)->kernels; k->name; k++)
        if (strcmp(k->name, text) == 0 || strcmp(k->name, "*") == 0) {
            function *f = (function *)sim_new(&function_class);
            f->library = sim_retain(o);
            f->kernel = k;
            return &f->head;
        }
    return NULL;
}
static sim_method library_methods[] = {METHOD("newFunctionWithName:", library_function, AS_NIL), METHODS_END};
static sim_class library_class = {
    .name = "MTLSimLibrary", .bytes = sizeof(library), .methods = library_methods, .hidden = true};

static id library_new(id o, SEL s, id source, id given, id *error)
{
    static char log[16384];
    const options *opt = sim_as(given, &options_class, s);
    (void)o;
    REQUIRE(opt->exact, "%s: fast math is on, and the simulator has IEEE arithmetic only", s);
    REQUIRE(opt->version, "%s: no language version is set: it would depend on the system", s);
    const sim_kernel *kernels = sim_compile(sim_string_text(source, s), log, sizeof log);
    if (!kernels) {
        if (error)
            *error = sim_error(3, log);
        return NULL;
    }
    library *l = (library *)sim_new(&library_class);
    l->kernels = kernels;
    return &l->head;
}

static uint64_t pipeline_threads(id o, SEL s) { return (void)s, ((sim_pipeline *)o)->threads; }
static uint64_t pipeline_width(id o, SEL s) { return (void)o, (void)s, SIM_LANES; }
static uint64_t pipeline_shared(id o, SEL s) { return (void)s, ((sim_pipeline *)o)->kernel->shared_bytes; }
static void pipeline_destroy(id o) { sim_release(((sim_pipeline *)o)->function); }
static sim_method pipeline_methods[] = {METHOD("maxTotalThreadsPerThreadgroup", pipeline_threads, NEVER),
                                        METHOD("threadExecutionWidth", pipeline_width, NEVER),
                                        METHOD("staticThreadgroupMemoryLength", pipeline_shared, NEVER), METHODS_END};
sim_class sim_pipeline_class = {.name = "MTLSimComputePipelineState",
                                .bytes = sizeof(sim_pipeline),
                                .destroy = pipeline_destroy,
                                .methods = pipeline_methods,
                                .hidden = true};

/* A kernel with large arrays has fewer threads: a core has 208 KiB of registers, and a thread at most 256 of 16 bits, of
 * which addresses and scalars take about 40. */
static uint64_t threads_of(const sim_kernel *k)
{
    enum { REGISTER_BYTES = 2, CORE_BYTES = 208 * 1024, REGISTERS_MOST = 256, SCALARS = 40, STEP = 64 };
    const uint64_t wanted = SCALARS + k->private_bytes / REGISTER_BYTES,
                   registers = wanted < REGISTERS_MOST ? (wanted + 7) / 8 * 8 : REGISTERS_MOST,
                   most = (uint64_t)sim_setting(SIM_THREADS),
                   threads = CORE_BYTES / (registers * REGISTER_BYTES) / STEP * STEP;
    return threads < most ? threads : most;
}

static id pipeline_new(id o, SEL s, id given, id *error)
{
    const function *f = sim_as(given, &function_class, s);
    (void)o;
    if (f->kernel->shared_bytes > SIM_SHARED_MOST) {
        char text[200];
        snprintf(text, sizeof text, "kernel %s: %llu bytes of threadgroup memory; the limit is %d", f->kernel->name,
                 (unsigned long long)f->kernel->shared_bytes, SIM_SHARED_MOST);
        if (error)
            *error = sim_error(3, text);
        return NULL;
    }
    sim_pipeline *p = (sim_pipeline *)sim_new(&sim_pipeline_class);
    p->function = sim_retain(given);
    p->kernel = f->kernel;
    p->threads = threads_of(f->kernel);
    return &p->head;
}

/* ---- the device ---- */

static id device_name(id o, SEL s)
{
    static const char *const chips[] = {"Apple M1", "Apple M2", "Apple M3", "Apple M5"};
    const int64_t family = sim_setting(SIM_FAMILY) - 1007;
    (void)o, (void)s;
    return sim_string(family >= 0 && family < 4 ? chips[family] : "Apple Paravirtual device");
}
static uint64_t device_memory(id o, SEL s) { return (void)o, (void)s, memory_bytes(); }
static uint64_t device_buffer_most(id o, SEL s)
{
    return (void)o, (void)s, (uint64_t)sim_setting(SIM_BUFFER_MIB) << 20;
}
static uint64_t device_allocated(id o, SEL s) { return (void)o, (void)s, allocated; }
static uint64_t device_shared(id o, SEL s) { return (void)o, (void)s, SIM_SHARED_MOST; }
static bool device_unified(id o, SEL s) { return (void)o, (void)s, sim_setting(SIM_FAMILY) != 0; }
static bool device_family(id o, SEL s, int64_t family)
{
    const int64_t newest = sim_setting(SIM_FAMILY);
    (void)o, (void)s;
    if (family >= GPU_FAMILY_COMMON1 && family <= GPU_FAMILY_COMMON3)
        return true;
    if (family == GPU_FAMILY_METAL3)
        return newest >= 1007;
    return family >= GPU_FAMILY_APPLE1 && family <= newest;
}
static size3 device_threads(id o, SEL s)
{
    return (void)o, (void)s, (size3){SIM_THREADS_MOST, SIM_THREADS_MOST, SIM_THREADS_MOST};
}
static id device_queue(id o, SEL s) { return (void)o, (void)s, sim_new(&sim_queue_class); }
static sim_method device_methods[] = {
    METHOD("name", device_name, AS_NIL),
    METHOD("recommendedMaxWorkingSetSize", device_memory, NEVER),
    METHOD("maxBufferLength", device_buffer_most, NEVER),
    METHOD("currentAllocatedSize", device_allocated, NEVER),
    METHOD("maxThreadgroupMemoryLength", device_shared, NEVER),
    METHOD("maxThreadsPerThreadgroup", device_threads, NEVER),
    METHOD("hasUnifiedMemory", device_unified, NEVER),
    METHOD("supportsFamily:", device_family, NEVER),
    METHOD("newCommandQueue", device_queue, AS_NIL),
    METHOD("newBufferWithLength:options:", buffer_new, AS_NIL),
    METHOD("newBufferWithBytesNoCopy:length:options:deallocator:", buffer_wrap, AS_NIL),
    METHOD("newLibraryWithSource:options:error:", library_new, AS_ERROR),
    METHOD("newComputePipelineStateWithFunction:error:", pipeline_new, AS_ERROR),
    METHODS_END};
sim_class sim_device_class = {
    .name = "MTLSimDevice", .bytes = sizeof(sim_object), .methods = device_methods, .hidden = true};

id MTLCreateSystemDefaultDevice(void)
{
    return sim_setting(SIM_NO_DEVICE) ? NULL : sim_new(&sim_device_class);
}

static sim_class *const classes[] = {&sim_device_class, &sim_buffer_class, &options_class,
                                     &library_class,    &function_class,   &sim_pipeline_class};

__attribute__((constructor(103))) static void begin(void)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        sim_class_add(classes[i]);
}
