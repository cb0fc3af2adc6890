/* Programs that the CPU runs for a device; see fallback.h.
 *
 * During a run each slot has at most one host copy. It stays valid until a program on the device writes the
 * slot, so consecutive programs on the CPU read an operand from the device once. */
#include "base/sized.h"
#include "engine/eval/fallback.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/size.h"
#include "engine/backend/pool.h"
#include "engine/eval/engine.h"
#include "engine/eval/transfer.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 256, WHY_BYTES = 512, OP_BYTES = 256 };

/* ---- the policy ---- */

static const char *const policy_names[] = {
    [IG_FALLBACK_ERROR] = "error", [IG_FALLBACK_WARN] = "warn", [IG_FALLBACK_AUTO] = "auto"};
enum { POLICIES = sizeof policy_names / sizeof *policy_names };

static atomic_int policy_set = -1; /* -1: use the environment's */

static int policy_of_environment(void)
{
    const char *name = getenv("IG_FALLBACK");
    for (int i = 0; name && i < POLICIES; i++)
        if (strcmp(name, policy_names[i]) == 0)
            return i;
    if (name && *name)
        log_line(IG_WARNING, "IG_FALLBACK is '%.40s'; it can be error, warn or auto", name);
    return IG_FALLBACK_ERROR;
}

ig_fallback ig_fallback_policy(void)
{
    int policy = atomic_load(&policy_set);
    if (policy < 0) {
        policy = policy_of_environment();
        atomic_store(&policy_set, policy);
    }
    return (ig_fallback)policy;
}

ig_status ig_set_fallback(ig_fallback policy)
{
    if ((int)policy < 0 || (int)policy >= POLICIES)
        FAIL(IG_ERR_ARGUMENT, "set_fallback: %d is not a policy", (int)policy);
    atomic_store(&policy_set, (int)policy);
    return IG_OK;
}

bool fallback_allowed(const backend *dev)
{
    return executor_of(dev)->support && ig_fallback_policy() != IG_FALLBACK_ERROR;
}

/* IG_ERR_DEVICE: the device's compiler rejected a kernel. */
bool fallback_may_help(const backend *dev, ig_status failed)
{
    return (failed == IG_ERR_UNSUPPORTED || failed == IG_ERR_DEVICE) && fallback_allowed(dev);
}

/* ---- the report ---- */

static struct {
    ig_fallback_row *row;
    int n, room;
} report;

int ig_fallback_count(void)
{
    engine_enter();
    const int n = report.n;
    engine_leave();
    return n;
}

ig_status ig_fallback_get(int i, ig_fallback_row *row)
{
    TRY(require_pointer("fallback_get", "row", row));
    ig_fallback_row own = {0};
    engine_enter();
    const int n = report.n;
    if (i >= 0 && i < n)
        own = report.row[i];
    engine_leave();
    if (i < 0 || i >= n)
        FAIL(IG_ERR_ARGUMENT, "fallback_get: row %d of %d", i, n);
    return sized_write(SIZED(ig_fallback_row, bytes), row, &own);
}

void fallback_release(void)
{
    for (int i = 0; i < report.n; i++) {
        memory_free((char *)report.row[i].op);
        memory_free((char *)report.row[i].why);
    }
    memory_free(report.row);
    memset(&report, 0, sizeof report);
}

/* A new row; NULL if there is no room or memory for it. */
static ig_fallback_row *row_new(const char *device, const char *op, const char *why)
{
    if (report.n == ROWS_MOST ||
        !memory_room(&report.row, report.n, &report.room, sizeof *report.row))
        return NULL;
    ig_fallback_row *r = &report.row[report.n];
    *r = (ig_fallback_row){.device = device, .op = memory_text(op), .why = memory_text(why)};
    if (r->op && r->why)
        return report.n++, r;
    memory_free((char *)r->op);
    memory_free((char *)r->why);
    return NULL;
}

/* Records one run. Failing to record it is not an error of the evaluation. */
static void report_run(const backend *dev, const char *op, const char *why, uint64_t bytes)
{
    ig_fallback_row *r = NULL;
    for (int i = 0; i < report.n && !r; i++)
        if (strcmp(report.row[i].device, dev->name) == 0 && strcmp(report.row[i].op, op) == 0 &&
            strcmp(report.row[i].why, why) == 0)
            r = &report.row[i];
    if (!r) {
        const bool failed = ig_failed();
        char size[SIZE_ROOM];
        if (ig_fallback_policy() == IG_FALLBACK_WARN)
            log_line(IG_WARNING, "the CPU runs '%s' for %s: %s; %s moved", op, dev->name, why,
                     size_text(bytes, size));
        r = row_new(dev->name, op, why);
        if (!failed)
            ig_error(NULL);
    }
    if (r) {
        r->runs++;
        r->bytes += bytes;
    }
}

/* Copies the first line of the current error and clears the error. */
static void take_reason(char why[static WHY_BYTES])
{
    const char *said = ig_error(NULL);
    snprintf(why, WHY_BYTES, "%.*s", said ? (int)strcspn(said, "\n") : 0, said ? said : "");
}

bool fallback_instead(const backend *dev, const char *op, ig_status failed)
{
    char why[WHY_BYTES];
    if (!fallback_may_help(dev, failed))
        return false;
    take_reason(why);
    engine_enter();
    report_run(dev, op, why, 0);
    engine_leave();
    return true;
}

/* ---- compiling ---- */

/* The fused ops of n programs: "max / subtract exp sum". */
static const char *ops_of(const program *p, int n, char out[static OP_BYTES])
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < n && used < OP_BYTES; i++) {
        const char *label = p[i].label ? p[i].label + strspn(p[i].label, " ") : "";
        used += (size_t)snprintf(out + used, OP_BYTES - used, "%s%s", i ? " / " : "", label);
    }
    return out;
}

static ig_status check_size(const slot *t, const backend *dev)
{
    char asked[SIZE_ROOM], most[SIZE_ROOM];
    const uint64_t bytes = (uint64_t)t->bytes;
    if (bytes <= dev->limits.alloc_bytes || t->kind == SLOT_ROWS)
        return IG_OK;
    pool_refuse();
    FAIL(IG_ERR_UNSUPPORTED, "an array has %llu bytes (%s), but a buffer has at most %s there",
         (unsigned long long)bytes, size_text(bytes, asked),
         size_text(dev->limits.alloc_bytes, most));
}

ig_status fallback_check_sizes(const schedule *s, int i, const backend *dev)
{
    if (!dev->limits.alloc_bytes ||
        (dev->limits.reach_bytes && s->program[i].kind != PROGRAM_KERNEL)) /* it runs in tiles */
        return IG_OK;
    for (int j = i; j < i + s->program[i].chain; j++) {
        const program *p = &s->program[j];
        int core[3];
        for (int k = program_core_slots(p, core) - 1; k >= 0; k--)
            TRY(check_size(&s->slot[core[k]], dev));
        for (int k = 0; k < p->pre.n_operand; k++)
            TRY(check_size(&s->slot[p->pre.operand[k].slot], dev));
        for (int k = 0; k < p->post.n_operand; k++)
            TRY(check_size(&s->slot[p->post.operand[k].slot], dev));
    }
    return IG_OK;
}

/* Splits a chain into single programs. Returns their number. */
static int take_apart(schedule *s, int i)
{
    program *p = &s->program[i];
    const int n = p->chain;
    for (int k = 0; k < p->n_local; k++)
        s->slot[p->local[k].slot].kind = SLOT_HOST;
    p->n_local = 0;
    for (int k = 0; k < n; k++) {
        p[k].chain = 1;
        p[k].by_rows = false;
    }
    return n;
}

static ig_status compile_for_cpu(schedule *s, int i, int n, const char *why)
{
    for (int k = i; k < i + n; k++) {
        program *p = &s->program[k];
        if (!(p->on_cpu = memory_text(why)))
            return IG_ERR_MEMORY;
        s->n_on_cpu++;
        TRY(p->kind == PROGRAM_KERNEL ? p->kernel->runner->prepare(p, &backend_cpu)
                                      : backend_cpu.compile(&backend_cpu, p));
    }
    return IG_OK;
}

/* If the device does not support the program at all, the error is reworded here. A compiler's message is kept, because
 * it has the log. */
ig_status fallback_compile(schedule *s, int i, const backend *dev, ig_status failed)
{
    char why[WHY_BYTES], op[OP_BYTES];
    const program *p = &s->program[i];
    const bool native = p->kind == PROGRAM_KERNEL && p->kernel->native; /* not on the CPU */
    const bool allowed = fallback_may_help(dev, failed) && !native;
    if (!executor_of(dev)->support) /* the CPU cannot run it better than this device */
        return failed;
    if (!allowed && failed != IG_ERR_UNSUPPORTED)
        return failed;
    take_reason(why);
    ops_of(&s->program[i], s->program[i].chain, op);
    if (!allowed)
        FAIL(failed,
             "device '%s' cannot run '%s': %s; move its inputs with to_device(x, \"cpu\"), or let "
             "the CPU run it: --fallback warn or auto (ig_set_fallback, IG_FALLBACK)",
             dev->name, op, why);
    return compile_for_cpu(s, i, take_apart(s, i), why);
}

/* ---- transfers ---- */

/* True if all programs that use the slot run on the CPU. */
static bool only_cpu_uses(const schedule *s, int nth)
{
    for (int i = 0; i < s->n_program; i++)
        if (!s->program[i].on_cpu && program_touches(&s->program[i], nth))
            return false;
    return true;
}

static bool is_shared(const schedule *s, int nth)
{
    bool shared = s->slot[nth].shares >= 0;
    for (int k = 0; k < s->n_slot; k++)
        shared = shared || s->slot[k].shares == nth;
    return shared;
}

/* True if the slot's memory has content before program i that may be needed. */
static bool has_content(const schedule *s, int nth, int i)
{
    return s->slot[nth].kind == SLOT_LEAF || s->slot[nth].first < i || is_shared(s, nth);
}

/* The bytes that the launch of program i copies, following fallback_launch. copied: the slots that have host
 * copies. */
static int64_t bytes_moved(const schedule *s, int i, const backend *dev, bool *copied)
{
    const program *p = &s->program[i];
    int64_t bytes = 0;
    for (int k = 0; k < s->n_slot; k++) {
        const slot *t = &s->slot[k];
        if (!program_touches(p, k) || t->kind == SLOT_HOST ||
            fallback_too_large(dev, (uint64_t)t->bytes))
            continue;
        bytes += !copied[k] && has_content(s, k, i) ? t->bytes : 0;
        bytes += program_writes(p, k) ? t->bytes : 0;
        copied[k] = true;
    }
    return bytes;
}

void fallback_plan(schedule *s, const backend *dev)
{
    if (!s->n_on_cpu)
        return;
    for (int k = 0; k < s->n_slot; k++)
        if (s->slot[k].kind == SLOT_TEMP && !is_shared(s, k) && only_cpu_uses(s, k))
            s->slot[k].kind = SLOT_HOST;
    bool *copied = dev->lanes ? NULL : memory_new((size_t)s->n_slot + 1);
    for (int i = 0; copied && i < s->n_program; i++) {
        program *p = &s->program[i];
        if (p->on_cpu)
            p->bytes_moved = bytes_moved(s, i, dev, copied);
        for (int k = 0; k < s->n_slot && !p->on_cpu; k++)
            copied[k] = copied[k] && !program_writes(p, k);
    }
    memory_free(copied);
}

/* ---- running ---- */

ig_status fallback_begin(run *r)
{
    const size_t n = (size_t)r->s->n_slot + 1;
    r->copy = memory_new(n * sizeof *r->copy);
    r->bound = memory_new(n * sizeof *r->bound);
    return r->copy && r->bound ? IG_OK : IG_ERR_MEMORY;
}

static void copy_drop(run *r, int nth)
{
    buffer_release(r->copy[nth]);
    r->copy[nth] = NULL;
}

void fallback_end(run *r)
{
    for (int k = 0; k < r->s->n_slot && r->copy; k++)
        copy_drop(r, k);
    memory_free(r->copy);
    memory_free(r->bound);
    r->copy = NULL;
    r->bound = NULL;
}

void fallback_forget(run *r, const program *p)
{
    for (int k = 0; k < r->s->n_slot; k++)
        for (int j = 0; j < p->chain && r->copy[k]; j++)
            if (program_writes(&p[j], k))
                copy_drop(r, k);
}

/* Binds the slot to host memory and copies its content there. */
static ig_status bring(run *r, const program *p, int nth, uint64_t *moved)
{
    const binding *b = &r->binding[nth];
    const size_t bytes = (size_t)r->s->slot[nth].bytes;
    r->bound[nth] = *b;
    if (!b->buf->device)
        return IG_OK;
    if (!r->copy[nth]) {
        if (!(r->copy[nth] = buffer_new(bytes)))
            return IG_ERR_MEMORY;
        if (has_content(r->s, nth, (int)(p - r->s->program))) {
            TRY(transfer_read(b->buf, b->offset, r->copy[nth]->data, bytes));
            *moved += bytes;
        }
    }
    r->bound[nth] = (binding){r->copy[nth], 0};
    return IG_OK;
}

static ig_status take_back(const run *r, int nth, uint64_t *moved)
{
    const binding *b = &r->binding[nth];
    const size_t bytes = (size_t)r->s->slot[nth].bytes;
    if (!b->buf->device || bytes == 0)
        return IG_OK;
    *moved += bytes;
    return transfer_write(b->buf, b->offset, r->copy[nth]->data, bytes);
}

ig_status fallback_launch(run *r, const program *p)
{
    const schedule *s = r->s;
    uint64_t moved = 0;
    char op[OP_BYTES];
    for (int k = 0; k < s->n_slot; k++)
        if (program_touches(p, k))
            TRY(bring(r, p, k, &moved));
    TRY(p->kind == PROGRAM_KERNEL ? p->kernel->runner->launch(p, &backend_cpu, r->bound)
                                  : backend_cpu.launch(p, r->bound));
    for (int k = 0; k < s->n_slot; k++)
        if (program_writes(p, k))
            TRY(take_back(r, k, &moved));
    report_run(r->dev, ops_of(p, 1, op), p->on_cpu, moved);
    return IG_OK;
}
