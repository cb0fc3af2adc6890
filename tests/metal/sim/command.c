/* Command queues, command buffers, and encoders. Commands run when somebody waits for them: a program that reads a
 * result without a wait sees memory that was not written. */
#define _GNU_SOURCE
#include "sim.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct size3 {
    uint64_t x, y, z;
} size3;

typedef struct range {
    uint64_t location, length;
} range;

enum { QUEUE_MOST = 64 /* command buffers of a queue that have not completed: Metal's default */ };

/* MTLCommandBufferStatus */
enum { NOT_ENQUEUED = 0, COMMITTED = 2, COMPLETED = 4, FAILED = 5 };

typedef enum command_kind { DISPATCH, COPY, FILL, PRODUCT } command_kind;

/* A command and the state that it was encoded with. */
typedef struct command {
    struct command *next;
    command_kind kind;
    sim_pipeline *pipeline;
    sim_buffer *buffer[SIM_BUFFERS];
    size_t offset[SIM_BUFFERS];
    void *bytes[SIM_BUFFERS]; /* of setBytes */
    size_t n_bytes[SIM_BUFFERS], shared[SIM_BUFFERS];
    size3 grid, group;
    size_t size; /* COPY, FILL: from buffer 0 to buffer 1 */
    uint8_t value;
    sim_product product; /* PRODUCT: of buffers 0 and 1, to buffer 2 */
} command;

typedef struct queue queue;
typedef struct commands {
    sim_object head;
    queue *queue;
    command *first, **end;
    int status;
    id error;
    double start, stop;
    bool open; /* an encoder has not ended */
} commands;

struct queue {
    sim_object head;
    commands *waiting[QUEUE_MOST];
    int n;
};

typedef struct encoder {
    sim_object head;
    commands *owner;
    command state;
    bool ended;
} encoder;

static sim_class commands_class, compute_class, blit_class;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- commands ---- */

static void *copy_bytes(const void *from, size_t bytes)
{
    void *to = aligned_alloc(16, (bytes + 15) & ~(size_t)15);
    REQUIRE(to, "the simulator has no memory");
    return memcpy(to, from, bytes);
}

static void command_drop(command *c)
{
    if (c->pipeline)
        sim_release(&c->pipeline->head);
    for (int i = 0; i < SIM_BUFFERS; i++) {
        if (c->buffer[i])
            sim_release(&c->buffer[i]->head);
        free(c->bytes[i]);
    }
}

/* A copy that holds references of its own. */
static command *command_add(commands *to, const command *state, command_kind kind)
{
    command *c = malloc(sizeof *c);
    REQUIRE(c, "the simulator has no memory");
    *c = *state;
    c->next = NULL;
    c->kind = kind;
    if (c->pipeline)
        sim_retain(&c->pipeline->head);
    for (int i = 0; i < SIM_BUFFERS; i++) {
        if (c->buffer[i])
            sim_retain(&c->buffer[i]->head);
        if (c->bytes[i])
            c->bytes[i] = copy_bytes(c->bytes[i], c->n_bytes[i]);
    }
    *to->end = c;
    to->end = &c->next;
    return c;
}

static bool writes(const command *c, int index)
{
    if (c->kind != DISPATCH)
        return index == (c->kind == PRODUCT ? 2 : 1);
    const sim_kernel *k = c->pipeline->kernel;
    for (int j = 0; j < k->n_parameter; j++)
        if (k->parameter[j].index == index && k->parameter[j].kind == 'w')
            return true;
    return false;
}

/* Commands are committed (1) or have run (-1). */
static void in_flight(commands *c, int by)
{
    for (command *k = c->first; k; k = k->next)
        for (int i = 0; i < SIM_BUFFERS; i++) {
            sim_buffer *b = k->buffer[i];
            if (!b)
                continue;
            *(writes(k, i) ? &b->writes : &b->reads) += by;
            sim_guard_set(b, false);
        }
}

static void open_buffers(const commands *c)
{
    for (const command *k = c->first; k; k = k->next)
        for (int i = 0; i < SIM_BUFFERS; i++)
            if (k->buffer[i])
                sim_guard_set(k->buffer[i], true);
}

static bool dispatch_run(const command *c, char *error, size_t room)
{
    const uint64_t grid[3] = {c->grid.x, c->grid.y, c->grid.z}, group[3] = {c->group.x, c->group.y, c->group.z};
    sim_launch l = {.kernel = c->pipeline->kernel};
    for (int i = 0; i < SIM_BUFFERS; i++) {
        l.buffer[i] = c->buffer[i] ? c->buffer[i]->data + c->offset[i] : c->bytes[i];
        l.is_buffer[i] = c->buffer[i];
        l.bytes[i] = c->buffer[i] ? c->buffer[i]->bytes - c->offset[i] : c->n_bytes[i];
        l.shared[i] = c->shared[i];
    }
    for (int i = 0; i < 3; i++) {
        l.group[i] = (uint32_t)group[i];
        l.groups[i] = (uint32_t)grid[i];
        l.threads[i] = grid[i] * group[i];
    }
    return sim_setting(SIM_TWICE) ? sim_run_twice(&l, error, room) : sim_run(&l, sim_setting(SIM_ORDER), error, room);
}

static bool command_run(const command *c, char *error, size_t room)
{
    if (c->kind == DISPATCH)
        return sim_setting(SIM_RECORD) || dispatch_run(c, error, room);
    if (c->kind == PRODUCT) {
        if (!sim_setting(SIM_RECORD))
            sim_product_run(&c->product, c->buffer[0]->data, c->buffer[1]->data, c->buffer[2]->data);
        return true;
    }
    char *to = c->buffer[1]->data + c->offset[1];
    if (c->kind == COPY)
        memmove(to, c->buffer[0]->data + c->offset[0], c->size);
    else
        memset(to, c->value, c->size);
    return true;
}

/* Runs the oldest command buffer of the queue. After a failure the rest of it does not run. */
static void run_oldest(queue *q)
{
    char said[512] = "";
    commands *c = q->waiting[0];
    memmove(q->waiting, q->waiting + 1, (size_t)--q->n * sizeof *q->waiting);
    c->start = now();
    open_buffers(c);
    bool fine = !sim_fault_buffer();
    if (!fine)
        snprintf(said, sizeof said, "Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout)");
    for (const command *k = c->first; k && fine; k = k->next)
        fine = command_run(k, said, sizeof said);
    c->stop = now();
    c->status = fine ? COMPLETED : FAILED;
    in_flight(c, -1);
    if (!fine) {
        EXPORT void *objc_autoreleasePoolPush(void);
        EXPORT void objc_autoreleasePoolPop(void *);
        void *pool = objc_autoreleasePoolPush();
        c->error = sim_retain(sim_error(2, said));
        objc_autoreleasePoolPop(pool);
    }
    sim_release(&c->head);
}

/* ---- command buffers ---- */

static void commands_destroy(id o)
{
    commands *c = (commands *)o;
    REQUIRE(!c->open, "a command buffer is deallocated while an encoder is open");
    while (c->first) {
        command *k = c->first;
        c->first = k->next;
        command_drop(k);
        free(k);
    }
    sim_release(c->error);
    sim_release(&c->queue->head);
}

static id encoder_new(commands *c, sim_class *class, SEL s)
{
    REQUIRE(c->status == NOT_ENQUEUED, "%s: the command buffer was committed", s);
    REQUIRE(!c->open, "%s: the encoder before it has not ended", s);
    encoder *e = (encoder *)sim_new(class);
    c->open = true;
    e->owner = (commands *)sim_retain(&c->head);
    return sim_autorelease(&e->head);
}

static id commands_compute(id o, SEL s) { return encoder_new((commands *)o, &compute_class, s); }
static id commands_blit(id o, SEL s) { return encoder_new((commands *)o, &blit_class, s); }

/* It makes an encoder of its own and ends it, so that none may be open. */
void sim_product_encode(id o, SEL s, const sim_product *p, sim_buffer *const buffers[3])
{
    commands *c = sim_as(o, &commands_class, s);
    command state = {.buffer = {buffers[0], buffers[1], buffers[2]}, .product = *p};
    REQUIRE(c->status == NOT_ENQUEUED, "%s: the command buffer was committed", s);
    REQUIRE(!c->open, "%s: an encoder has not ended", s);
    command_add(c, &state, PRODUCT);
}

static void commands_commit(id o, SEL s)
{
    commands *c = (commands *)o;
    REQUIRE(c->status == NOT_ENQUEUED, "%s: the command buffer was committed before", s);
    REQUIRE(!c->open, "%s: an encoder has not ended", s);
    REQUIRE(c->queue->n < QUEUE_MOST, "%s: %d command buffers of the queue have not completed", s, QUEUE_MOST);
    c->status = COMMITTED;
    in_flight(c, 1);
    c->queue->waiting[c->queue->n++] = (commands *)sim_retain(o);
}

static void commands_wait(id o, SEL s)
{
    commands *c = (commands *)o;
    REQUIRE(c->status != NOT_ENQUEUED, "%s: the command buffer was not committed", s);
    while (c->status == COMMITTED)
        run_oldest(c->queue);
}

static uint64_t commands_status(id o, SEL s) { return (void)s, (uint64_t)((commands *)o)->status; }
static id commands_error(id o, SEL s) { return (void)s, ((commands *)o)->error; }
static double commands_start(id o, SEL s)
{
    REQUIRE(((commands *)o)->status >= COMPLETED, "%s before the command buffer has completed", s);
    return ((commands *)o)->start;
}
static double commands_stop(id o, SEL s)
{
    REQUIRE(((commands *)o)->status >= COMPLETED, "%s before the command buffer has completed", s);
    return ((commands *)o)->stop;
}
static sim_method commands_methods[] = {METHOD("computeCommandEncoder", commands_compute, AS_NIL),
                                        METHOD("blitCommandEncoder", commands_blit, AS_NIL),
                                        METHOD("commit", commands_commit, NEVER),
                                        METHOD("waitUntilCompleted", commands_wait, NEVER),
                                        METHOD("status", commands_status, NEVER),
                                        METHOD("error", commands_error, AS_NIL),
                                        METHOD("GPUStartTime", commands_start, NEVER),
                                        METHOD("GPUEndTime", commands_stop, NEVER),
                                        METHODS_END};
static sim_class commands_class = {.name = "MTLSimCommandBuffer",
                                   .bytes = sizeof(commands),
                                   .destroy = commands_destroy,
                                   .methods = commands_methods,
                                   .hidden = true};

static id queue_commands(id o, SEL s)
{
    (void)s;
    commands *c = (commands *)sim_new(&commands_class);
    c->queue = (queue *)sim_retain(o);
    c->end = &c->first;
    return sim_autorelease(&c->head);
}
static sim_method queue_methods[] = {METHOD("commandBuffer", queue_commands, AS_NIL), METHODS_END};
sim_class sim_queue_class = {
    .name = "MTLSimCommandQueue", .bytes = sizeof(queue), .methods = queue_methods, .hidden = true};

/* ---- encoders ---- */

static encoder *opened(id o, SEL s)
{
    encoder *e = (encoder *)o;
    REQUIRE(!e->ended, "%s: the encoder has ended", s);
    return e;
}

static void encoder_end(id o, SEL s)
{
    encoder *e = opened(o, s);
    e->ended = true;
    e->owner->open = false;
    command_drop(&e->state);
    e->state = (command){0};
}

static void encoder_destroy(id o)
{
    encoder *e = (encoder *)o;
    REQUIRE(e->ended, "an encoder is deallocated before endEncoding");
    sim_release(&e->owner->head);
}

static void compute_pipeline(id o, SEL s, id pipeline)
{
    encoder *e = opened(o, s);
    sim_pipeline *p = sim_as(pipeline, &sim_pipeline_class, s);
    sim_retain(pipeline);
    if (e->state.pipeline)
        sim_release(&e->state.pipeline->head);
    e->state.pipeline = p;
}

static void unbind(command *state, uint64_t i)
{
    if (state->buffer[i])
        sim_release(&state->buffer[i]->head);
    free(state->bytes[i]);
    state->buffer[i] = NULL;
    state->bytes[i] = NULL;
}

static void compute_buffer(id o, SEL s, id buffer, uint64_t offset, uint64_t i)
{
    encoder *e = opened(o, s);
    REQUIRE(i < SIM_BUFFERS, "%s: index %llu; the last is %d", s, (unsigned long long)i, SIM_BUFFERS - 1);
    sim_buffer *b = buffer ? sim_as(buffer, &sim_buffer_class, s) : NULL;
    REQUIRE(!b || offset < b->bytes, "%s: offset %llu, but the buffer has %zu bytes", s, (unsigned long long)offset,
            b ? b->bytes : 0);
    sim_retain(buffer);
    unbind(&e->state, i);
    e->state.buffer[i] = b;
    e->state.offset[i] = offset;
}

static void compute_bytes(id o, SEL s, const void *bytes, uint64_t n, uint64_t i)
{
    encoder *e = opened(o, s);
    REQUIRE(i < SIM_BUFFERS, "%s: index %llu; the last is %d", s, (unsigned long long)i, SIM_BUFFERS - 1);
    REQUIRE(bytes && n > 0 && n <= 4096, "%s: length %llu; 1 to 4096 bytes are allowed", s, (unsigned long long)n);
    unbind(&e->state, i);
    e->state.bytes[i] = copy_bytes(bytes, n);
    e->state.n_bytes[i] = n;
}

static void compute_shared(id o, SEL s, uint64_t bytes, uint64_t i)
{
    encoder *e = opened(o, s);
    REQUIRE(i < SIM_BUFFERS, "%s: index %llu; the last is %d", s, (unsigned long long)i, SIM_BUFFERS - 1);
    REQUIRE(bytes % 16 == 0, "%s: %llu is not a multiple of 16 bytes", s, (unsigned long long)bytes);
    e->state.shared[i] = bytes;
}

/* Everything that the kernel takes is bound, large enough and aligned. */
static void check_arguments(const command *c, const sim_kernel *k)
{
    for (int j = 0; j < k->n_parameter; j++) {
        const sim_parameter *p = &k->parameter[j];
        if (p->kind == 't') {
            REQUIRE(c->shared[p->index], "kernel %s: no threadgroup memory is set at index %d", k->name, p->index);
            continue;
        }
        const sim_buffer *b = c->buffer[p->index];
        REQUIRE(b || c->bytes[p->index], "kernel %s: nothing is bound at buffer index %d", k->name, p->index);
        const size_t have = b ? b->bytes - c->offset[p->index] : c->n_bytes[p->index];
        REQUIRE(have >= p->bytes, "kernel %s: %zu bytes are bound at index %d, but the argument has %zu", k->name, have,
                p->index, p->bytes);
        REQUIRE(!b || p->kind != 'c' || c->offset[p->index] % 4 == 0,
                "kernel %s: offset %zu of a constant buffer is not a multiple of 4", k->name, c->offset[p->index]);
    }
}

static void compute_dispatch(id o, SEL s, size3 grid, size3 group)
{
    encoder *e = opened(o, s);
    const sim_pipeline *p = e->state.pipeline;
    REQUIRE(p, "%s: no pipeline is set", s);
    size_t shared = p->kernel->shared_bytes;
    REQUIRE(grid.x && grid.y && grid.z && group.x && group.y && group.z, "%s: a size is 0", s);
    REQUIRE(group.x <= 1024 && group.y <= 1024 && group.z <= 1024 && group.x * group.y * group.z <= p->threads,
            "%s: %llu threads, but the pipeline allows %llu", s, (unsigned long long)(group.x * group.y * group.z),
            (unsigned long long)p->threads);
    REQUIRE(grid.x <= UINT32_MAX / group.x && grid.y <= UINT32_MAX / group.y && grid.z <= UINT32_MAX / group.z,
            "%s: positions do not fit 32 bits", s);
    for (int i = 0; i < SIM_BUFFERS; i++)
        shared += e->state.shared[i];
    REQUIRE(shared <= SIM_SHARED_MOST, "%s: %zu bytes of threadgroup memory; the limit is %d", s, shared,
            SIM_SHARED_MOST);
    if (!sim_setting(SIM_RECORD))
        check_arguments(&e->state, p->kernel);
    command *c = command_add(e->owner, &e->state, DISPATCH);
    c->grid = grid;
    c->group = group;
}

static sim_method compute_methods[] = {
    METHOD("setComputePipelineState:", compute_pipeline, NEVER),
    METHOD("setBuffer:offset:atIndex:", compute_buffer, NEVER),
    METHOD("setBytes:length:atIndex:", compute_bytes, NEVER),
    METHOD("setThreadgroupMemoryLength:atIndex:", compute_shared, NEVER),
    METHOD("dispatchThreadgroups:threadsPerThreadgroup:", compute_dispatch, NEVER),
    METHOD("endEncoding", encoder_end, NEVER),
    METHODS_END};
static sim_class compute_class = {.name = "MTLSimComputeCommandEncoder",
                                  .bytes = sizeof(encoder),
                                  .destroy = encoder_destroy,
                                  .methods = compute_methods,
                                  .hidden = true};

static sim_buffer *part_of(id buffer, uint64_t offset, uint64_t bytes, SEL s)
{
    sim_buffer *b = sim_as(buffer, &sim_buffer_class, s);
    REQUIRE(bytes && offset <= b->bytes && bytes <= b->bytes - offset, "%s: %llu bytes at %llu of a buffer of %zu", s,
            (unsigned long long)bytes, (unsigned long long)offset, b->bytes);
    REQUIRE(offset % 4 == 0 && bytes % 4 == 0, "%s: offset %llu and size %llu must be multiples of 4 on macOS", s,
            (unsigned long long)offset, (unsigned long long)bytes);
    return b;
}

static void blit_copy(id o, SEL s, id from, uint64_t from_offset, id to, uint64_t to_offset, uint64_t bytes)
{
    encoder *e = opened(o, s);
    command state = {.buffer = {part_of(from, from_offset, bytes, s), part_of(to, to_offset, bytes, s)},
                     .offset = {from_offset, to_offset},
                     .size = bytes};
    REQUIRE(from != to || from_offset + bytes <= to_offset || to_offset + bytes <= from_offset, "%s: the ranges overlap",
            s);
    command_add(e->owner, &state, COPY);
}

static void blit_fill(id o, SEL s, id to, range r, uint8_t value)
{
    encoder *e = opened(o, s);
    command state = {.offset = {0, r.location}, .size = r.length, .value = value};
    state.buffer[1] = part_of(to, r.location, r.length, s);
    command_add(e->owner, &state, FILL);
}

static sim_method blit_methods[] = {
    METHOD("copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", blit_copy, NEVER),
    METHOD("fillBuffer:range:value:", blit_fill, NEVER), METHOD("endEncoding", encoder_end, NEVER), METHODS_END};
static sim_class blit_class = {.name = "MTLSimBlitCommandEncoder",
                               .bytes = sizeof(encoder),
                               .destroy = encoder_destroy,
                               .methods = blit_methods,
                               .hidden = true};

__attribute__((constructor(104))) static void begin(void)
{
    sim_class_add(&sim_queue_class);
    sim_class_add(&commands_class);
    sim_class_add(&compute_class);
    sim_class_add(&blit_class);
}
