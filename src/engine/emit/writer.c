/* The text of one kernel: collects parameters, sizes and functions, and puts them in order:
 *
 *     library functions that the kernel uses
 *     struct sizes, PARAMS and ARGS (the parameters that every function takes and passes on)
 *     device functions and the kernel */
#include "engine/emit/writer.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/emit/library.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ig_status writer_start(emit_writer *w, const emit_target *target, emitted *out)
{
    memset(w, 0, sizeof *w);
    w->target = target;
    w->out = out;
    return IG_OK;
}

void writer_drop(emit_writer *w)
{
    text_drop(&w->body);
    memory_free(w->number);
    memory_free(w->record);
    w->number = NULL;
    w->record = NULL;
}

int writer_number(emit_writer *w, int64_t n)
{
    if (!memory_room(&w->number, w->n_number, &w->room_number, sizeof *w->number)) {
        w->failed = true;
        return 0;
    }
    w->number[w->n_number] = n;
    return w->n_number++;
}

static int pointer_add(emit_writer *w, emit_pointer p)
{
    for (int i = 0; i < w->n_pointer; i++) {
        emit_pointer *q = &w->pointer[i];
        if (q->at.kind == p.at.kind && q->at.slot == p.at.slot && q->at.offset == p.at.offset &&
            q->dtype == p.dtype && q->type == p.type && q->before == p.before) {
            q->written = q->written || p.written;
            return i;
        }
    }
    if (w->n_pointer == EMIT_MOST_POINTERS) {
        w->failed = true;
        return 0;
    }
    w->pointer[w->n_pointer] = p;
    return w->n_pointer++;
}

/* How far before its first element an operand of a large array reaches. */
static int64_t elements_before(const emit_writer *w, const operand *o)
{
    const emit_target *t = w->target;
    int64_t n = 0;
    if (!t->reach_bytes || o->slot < 0 || emit_slot_bytes(t, o->slot) <= (int64_t)t->buffer_bytes)
        return 0;
    for (int i = 0; i < o->v.ndim; i++)
        n += o->v.stride[i] < 0 ? (o->v.shape[i] - 1) * -o->v.stride[i] : 0;
    return n;
}

int writer_blocks(emit_writer *w, const operand *o)
{
    w->uses |= USES_STORAGE | USES_HALF;
    return pointer_add(w,
                       (emit_pointer){.at = {.kind = EMIT_SLOT, .slot = o->slot}, .dtype = IG_U8});
}

const char *writer_unpack(emit_writer *w, const operand *o, const char *at,
                          char out[static EMIT_UNPACK_BYTES])
{
    const storage s = o->stored;
    const int p = writer_blocks(w, o);
    snprintf(
        out, EMIT_UNPACK_BYTES,
        "storage_%s(p%d + (long long)((%s) / %d) * %d, (int)((%s) %% %d / %d), (int)((%s) %% %d))",
        storage_rows[s.format].name, p, at, s.block, (int)storage_block_bytes(s), at, s.block,
        storage_run(s), at, storage_run(s));
    return out;
}

int writer_operand(emit_writer *w, const operand *o, bool written)
{
    assert(storage_is_plain(o->stored));
    /* A view without elements may begin past the buffer's end. */
    const uint64_t first = view_size(&o->v) ? (uint64_t)o->v.offset : 0;
    const uint64_t offset = first * ig_dtype_bytes(o->dtype);
    w->needs_f64 = w->needs_f64 || o->dtype == IG_F64;
    const int64_t back = view_size(&o->v) ? elements_before(w, o) : 0;
    const uint64_t lowest = offset - (uint64_t)back * ig_dtype_bytes(o->dtype);
    return pointer_add(w,
                       (emit_pointer){.at = {.kind = EMIT_SLOT, .slot = o->slot, .offset = lowest},
                                      .dtype = o->dtype,
                                      .written = written,
                                      .before = back});
}

int writer_scratch(emit_writer *w, const char *type, uint64_t offset)
{
    return pointer_add(w, (emit_pointer){.at = {.kind = EMIT_SCRATCH, .slot = -1, .offset = offset},
                                         .dtype = IG_BOOL,
                                         .written = true,
                                         .type = type});
}

int writer_record(emit_writer *w, int number)
{
    w->faults = true;
    w->uses |= USES_LANES;
    for (int i = 0; i < w->n_record; i++)
        if (w->record[i].program == number)
            return w->record[i].field;
    if (!memory_room(&w->record, w->n_record, &w->room_record, sizeof *w->record)) {
        w->failed = true;
        return 0;
    }
    w->record[w->n_record].program = number;
    return w->record[w->n_record++].field = writer_number(w, 0);
}

/* ---- templates ---- */

void hole_text(emit_writer *w, const char *name, const char *format, ...)
{
    va_list args;
    text_add(&w->body, "#define %s ", name);
    va_start(args, format);
    text_add_list(&w->body, format, args);
    va_end(args);
    text_add(&w->body, "\n");
}

void hole_int(emit_writer *w, const char *name, int64_t n)
{
    hole_text(w, name, "%lld", (long long)n);
}

void hole_size(emit_writer *w, const char *name, int64_t n)
{
    hole_text(w, name, "g.n%d", writer_number(w, n));
}

void hole_pointer(emit_writer *w, const char *name, int pointer)
{
    hole_text(w, name, "p%d", pointer);
}

void writer_template(emit_writer *w, const char *file, const char *kernel)
{
    if (kernel)
        text_add(&w->body, "#define %s\n", kernel);
    text_add(&w->body, "#include \"%s\"\n", file);
}

/* ---- the end of a kernel ---- */

static size_t align_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* Writes the struct's text, and its bytes for this program. */
static ig_status sizes_write(emit_writer *w, text *t, emit_step *step)
{
    const size_t idx = w->wide ? 8 : 4;
    size_t bytes = (size_t)(w->n_number ? w->n_number : 1) * idx, most = idx;
    step->value = memory_new((size_t)(w->n_value + 1) * sizeof *step->value);
    step->record = memory_new((size_t)(w->n_record + 1) * sizeof *step->record);
    if (!step->value || !step->record)
        return IG_ERR_MEMORY;
    step->n_record = w->n_record;
    for (int i = 0; i < w->n_record; i++)
        step->record[i] = (emit_record){
            w->record[i].program, (uint32_t)((size_t)w->record[i].field * idx), (uint32_t)idx};
    text_add(t, "struct sizes {\n    idx n0");
    for (int i = 1; i < w->n_number; i++)
        text_add(t, ", n%d", i);
    text_add(t, ";\n");
    for (int i = 0; i < w->n_value; i++) {
        const size_t size = ig_dtype_bytes(w->value[i].dtype);
        bytes = align_up(bytes, size);
        most = size > most ? size : most;
        step->value[i] =
            (emit_value){w->value[i].slot, (uint32_t)bytes, (uint32_t)size, w->value[i].offset};
        text_add(t, "    %s x%d;\n", emit_storage_type(w->value[i].dtype), i);
        bytes += size;
    }
    text_add(t, "};\n\n");
    step->n_value = w->n_value;
    step->sizes_bytes = align_up(bytes, most);
    step->sizes = memory_new(step->sizes_bytes);
    if (!step->sizes)
        return IG_ERR_MEMORY;
    for (int i = 0; i < w->n_number; i++) {
        const int32_t narrow = (int32_t)w->number[i];
        memcpy(step->sizes + (size_t)i * idx, w->wide ? (const void *)&w->number[i] : &narrow, idx);
    }
    return IG_OK;
}

static bool share_bytes(const emit_memory *a, const emit_memory *b)
{
    return a->space == b->space && a->begin < b->end && b->begin < a->end;
}

/* True if pointer i is marked __restrict__: the kernel writes nothing into the memory of its slot, not even in place.
 * Then the compiler may load several elements before it stores the first result. That matters if few threads run and
 * each computes many elements: otherwise each element waits for memory. The compiler may also load an element again
 * after a store, and a GPU may take it from a cache that stores do not reach. */
static bool is_alone(const emit_writer *w, int i)
{
    const emit_pointer *p = &w->pointer[i];
    const emit_memory *m = w->target->memory;
    if (!w->ahead || p->written || p->type || p->at.kind != EMIT_SLOT ||
        emit_slot_bytes(w->target, p->at.slot) > w->ahead)
        return false;
    for (int k = 0; k < w->n_pointer; k++) {
        const emit_pointer *q = &w->pointer[k];
        if (q->written && q->at.kind == EMIT_SLOT && share_bytes(&m[q->at.slot], &m[p->at.slot]))
            return false;
    }
    return true;
}

static void params_write(const emit_writer *w, text *t)
{
    text_add(t, "#define PARAMS ");
    for (int i = 0; i < w->n_pointer; i++) {
        const emit_pointer *p = &w->pointer[i];
        text_add(t, "%s%s *%s%c%d, ", p->written || p->type ? "" : "const ",
                 p->type ? p->type : emit_storage_type(p->dtype),
                 is_alone(w, i) ? "__restrict__ " : "", p->before ? 'b' : 'p', i);
    }
    text_add(t, "%ssizes g\n#define ARGS ", w->faults ? "unsigned int *fault, " : "");
    for (int i = 0; i < w->n_pointer; i++)
        text_add(t, "%c%d, ", w->pointer[i].before ? 'b' : 'p', i);
    text_add(t, "%sg\n", w->faults ? "fault, " : "");
    for (int i = 0; i < w->n_pointer; i++)
        if (w->pointer[i].before)
            text_add(t, "#define p%d (b%d + g.n%d)\n", i, i, w->pointer[i].before_field);
    text_add(t, "\n");
}

static ig_status params_list(const emit_writer *w, emit_step *step)
{
    step->param = memory_new((size_t)(w->n_pointer + 2) * sizeof *step->param);
    if (!step->param)
        return IG_ERR_MEMORY;
    for (int i = 0; i < w->n_pointer; i++) {
        emit_param *p = &step->param[step->n_param++];
        *p = w->pointer[i].at;
        p->written = w->pointer[i].written;
        p->alone = is_alone(w, i);
    }
    if (w->faults)
        step->param[step->n_param++] = (emit_param){.kind = EMIT_FAULT};
    return IG_OK;
}

static emit_step *step_add(emitted *out)
{
    emit_step *more = memory_new((size_t)(out->n_step + 1) * sizeof *more);
    if (!more)
        return NULL;
    if (out->n_step)
        memcpy(more, out->step, (size_t)out->n_step * sizeof *more);
    memory_free(out->step);
    out->step = more;
    return &out->step[out->n_step++];
}

static ig_status finish(emit_writer *w, emit_step *step)
{
    text t = {0};
    for (int i = 0; i < w->n_pointer; i++)
        if (w->pointer[i].before)
            w->pointer[i].before_field = writer_number(w, w->pointer[i].before);
    TRY(params_list(w, step));
    text_add(&t, "#define EMITTED\n");
    if (w->target->extremes && (w->uses & USES_MATH))
        text_add(&t, "#define INGOT_EXTREMES\n");
    if (w->uses & USES_LANES)
        text_add(&t,
                 "#define FAULT_HEAD %d\n#define FAULT_BINS %d\n#define FAULT_ENTRIES %d\n"
                 "#define FAULT_FIRST_ENTRY %d\n#define FAULT_ABOVE %uu\n",
                 FAULT_HEAD, FAULT_BINS, FAULT_ENTRIES, FAULT_FIRST_ENTRY, FAULT_ABOVE);
    library_write(&t, w->uses, w->target->f64);
    text_add(&t, "typedef %s idx;\n\n", w->wide ? "long long" : "int");
    const ig_status status = sizes_write(w, &t, step);
    params_write(w, &t);
    text_add(&t, "%s", w->body.at ? w->body.at : "");
    step->source = text_take(&t);
    w->out->may_fault = w->out->may_fault || w->faults;
    return status == IG_OK && !step->source ? IG_ERR_MEMORY : status;
}

ig_status writer_finish(emit_writer *w, const char *entry, const uint32_t grid[3],
                        const uint32_t block[3], size_t shared_bytes)
{
    ig_status status = IG_OK;
    if (w->body.failed)
        status = IG_ERR_MEMORY; /* the text is incomplete */
    else if (w->failed)
        status = ig_fail(IG_ERR_MEMORY, "a program is too large for one kernel");
    else if (w->needs_f64 && !w->target->f64)
        status = ig_fail(IG_ERR_UNSUPPORTED, "the device has no f64 arithmetic");
    emit_step *step = status == IG_OK ? step_add(w->out) : NULL;
    if (step) {
        step->entry = entry;
        memcpy(step->grid, grid, sizeof step->grid);
        memcpy(step->block, block, sizeof step->block);
        step->shared_bytes = shared_bytes;
        status = finish(w, step);
    } else if (status == IG_OK) {
        status = IG_ERR_MEMORY;
    }
    writer_drop(w);
    return status;
}

ig_status writer_launch(emit_writer *w, const char *entry, int64_t blocks, int threads)
{
    const uint32_t grid[3] = {(uint32_t)blocks, 1, 1}, block[3] = {(uint32_t)threads, 1, 1};
    return writer_finish(w, entry, grid, block, 0);
}

void emitted_free(emitted *e)
{
    for (int i = 0; i < e->n_step; i++) {
        memory_free(e->step[i].source);
        memory_free(e->step[i].param);
        memory_free(e->step[i].sizes);
        memory_free(e->step[i].value);
        memory_free(e->step[i].record);
    }
    memory_free(e->step);
    *e = (emitted){0};
}

/* ---- index width ---- */

/* How far from the kernel's pointer an index may get: along the view and, for an indexed axis, along that, too. Elements of
 * blocks are counted from the buffer's begin. */
static bool operand_is_narrow(const operand *o)
{
    double far = storage_is_plain(o->stored) ? 0 : (double)o->v.offset;
    for (int i = 0; i < o->v.ndim; i++) {
        if (o->v.shape[i] > INT32_MAX || llabs(o->v.stride[i]) > INT32_MAX)
            return false;
        far += o->v.shape[i] > 0 ? (double)(o->v.shape[i] - 1) * (double)llabs(o->v.stride[i]) : 0;
    }
    far += (double)o->axis_len * (double)llabs(o->axis_stride);
    return far <= INT32_MAX && o->axis_len <= INT32_MAX;
}

static bool tape_is_narrow(const tape *t)
{
    bool narrow = t->size <= EMIT_POINTS_MOST;
    for (int i = 0; i < t->n_operand && narrow; i++)
        narrow = operand_is_narrow(&t->operand[i]);
    return narrow;
}

bool emit_is_narrow(const program *p, int n)
{
    bool narrow = true;
    for (int i = 0; i < n && narrow; i++)
        narrow = tape_is_narrow(&p[i].pre) && tape_is_narrow(&p[i].post) &&
                 operand_is_narrow(&p[i].in[0]) && operand_is_narrow(&p[i].in[1]) &&
                 operand_is_narrow(&p[i].out) &&
                 (double)p[i].outer * (double)p[i].inner <= EMIT_POINTS_MOST;
    return narrow;
}
