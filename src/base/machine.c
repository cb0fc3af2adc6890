/* Facts about this machine, from system files (Linux), sysctl (macOS) and the CPU itself.
 *
 * There are two sets of facts: the small one that a new process needs before its first parallel loop (CPUs
 * and threads), and all the others. Each is read once and constant from then on. Nothing is kept on the
 * heap.
 */
#include "base/machine.h"

#include <ctype.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#include <sys/auxv.h>
#endif
#if defined(__APPLE__)
#include <mach/mach.h>
#include <sys/sysctl.h>
#endif
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

/* ---- instruction set ------------------------------------------------------------------------- */

/* Appends a word to a list, if there is room. */
static void list_add(char *list, size_t size, const char *word)
{
    const size_t used = strlen(list);
    if (used + strlen(word) + 1 < size)
        snprintf(list + used, size - used, "%s%s", used ? " " : "", word);
}

#if defined(__x86_64__) || defined(__i386__)

enum { STATE_SSE = 0, STATE_AVX = 0x6, STATE_AVX512 = 0xe6, STATE_AMX = 0x60000 };
enum { EAX, EBX, ECX, EDX };

typedef struct isa_row {
    const char *name;
    unsigned leaf, subleaf, reg, bit;
    uint64_t state; /* register state that the system must save, as bits of XCR0 */
} isa_row;

static const isa_row isa_rows[] = {
    {"sse2", 1, 0, EDX, 26, STATE_SSE},          {"sse4.1", 1, 0, ECX, 19, STATE_SSE},
    {"sse4.2", 1, 0, ECX, 20, STATE_SSE},        {"avx", 1, 0, ECX, 28, STATE_AVX},
    {"avx2", 7, 0, EBX, 5, STATE_AVX},           {"fma", 1, 0, ECX, 12, STATE_AVX},
    {"f16c", 1, 0, ECX, 29, STATE_AVX},          {"avxvnni", 7, 1, EAX, 4, STATE_AVX},
    {"avx512f", 7, 0, EBX, 16, STATE_AVX512},    {"avx512dq", 7, 0, EBX, 17, STATE_AVX512},
    {"avx512bw", 7, 0, EBX, 30, STATE_AVX512},   {"avx512vl", 7, 0, EBX, 31, STATE_AVX512},
    {"avx512vnni", 7, 0, ECX, 11, STATE_AVX512}, {"avx512bf16", 7, 1, EAX, 5, STATE_AVX512},
    {"avx512fp16", 7, 0, EDX, 23, STATE_AVX512}, {"amx-tile", 7, 0, EDX, 24, STATE_AMX},
    {"amx-bf16", 7, 0, EDX, 22, STATE_AMX},      {"amx-int8", 7, 0, EDX, 25, STATE_AMX},
};

static uint64_t read_xcr0(void)
{
    unsigned regs[4] = {0}, low, high;
    if (!__get_cpuid(1, &regs[EAX], &regs[EBX], &regs[ECX], &regs[EDX]))
        return 0;
    if (!(regs[ECX] >> 27 & 1))
        return 0; /* the system has not enabled xgetbv */
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static void read_isa(char *isa, size_t size)
{
    const uint64_t saved = read_xcr0();
    for (size_t i = 0; i < sizeof isa_rows / sizeof isa_rows[0]; i++) {
        const isa_row *row = &isa_rows[i];
        unsigned regs[4] = {0};
        if (!__get_cpuid_count(row->leaf, row->subleaf, &regs[EAX], &regs[EBX], &regs[ECX],
                               &regs[EDX]))
            continue;
        if ((regs[row->reg] >> row->bit & 1) && (saved & row->state) == row->state)
            list_add(isa, size, row->name);
    }
}

#elif defined(__aarch64__) && defined(__linux__)

/* The bits are the kernel's ABI; they are numbers here because old headers lack the newer names. */
typedef struct isa_row {
    const char *name;
    int word; /* 0: AT_HWCAP, 1: AT_HWCAP2 */
    int bit;
} isa_row;

static const isa_row isa_rows[] = {
    {"neon", 0, 1},  {"fp16", 0, 10}, {"fhm", 0, 23},  {"dotprod", 0, 20},
    {"bf16", 1, 14}, {"i8mm", 1, 13}, {"lse", 0, 8},   {"sve", 0, 22},
    {"sve2", 1, 1},  {"sme", 1, 23},  {"sme2", 1, 37},
};

static void read_isa(char *isa, size_t size)
{
    const unsigned long long words[2] = {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
    for (size_t i = 0; i < sizeof isa_rows / sizeof isa_rows[0]; i++)
        if (words[isa_rows[i].word] >> isa_rows[i].bit & 1)
            list_add(isa, size, isa_rows[i].name);
}

#elif defined(__aarch64__) && defined(__APPLE__)

static const char *const isa_rows[][2] = {
    {"fp16", "hw.optional.arm.FEAT_FP16"},       {"fhm", "hw.optional.arm.FEAT_FHM"},
    {"dotprod", "hw.optional.arm.FEAT_DotProd"}, {"bf16", "hw.optional.arm.FEAT_BF16"},
    {"i8mm", "hw.optional.arm.FEAT_I8MM"},       {"lse", "hw.optional.arm.FEAT_LSE"},
    {"sme", "hw.optional.arm.FEAT_SME"},         {"sme2", "hw.optional.arm.FEAT_SME2"},
};

static int64_t sysctl_int64(const char *name);

static void read_isa(char *isa, size_t size)
{
    list_add(isa, size, "neon");
    for (size_t i = 0; i < sizeof isa_rows / sizeof isa_rows[0]; i++)
        if (sysctl_int64(isa_rows[i][1]) > 0)
            list_add(isa, size, isa_rows[i][0]);
}

#else

static void read_isa(char *isa, size_t size)
{
    (void)isa;
    (void)size;
}

#endif

/* ---- this machine ---------------------------------------------------------------------------- */

#if defined(__APPLE__)

/* Returns 0 if there is no such value. */
static int64_t sysctl_int64(const char *name)
{
    union {
        int32_t narrow;
        int64_t wide;
    } value = {.wide = 0};
    size_t size = sizeof value;
    if (sysctlbyname(name, &value, &size, NULL, 0) != 0)
        return 0;
    return size == sizeof value.narrow ? value.narrow : value.wide;
}

static int64_t sysctl_first(const char *name, const char *otherwise)
{
    const int64_t value = sysctl_int64(name);
    return value > 0 ? value : sysctl_int64(otherwise);
}

static void read_system(machine_facts *facts)
{
    char brand[sizeof facts->cpu] = "";
    size_t size = sizeof brand - 1;
    if (sysctlbyname("machdep.cpu.brand_string", brand, &size, NULL, 0) == 0)
        memcpy(facts->cpu, brand, sizeof facts->cpu);
    facts->memory_bytes = sysctl_int64("hw.memsize");
    facts->cache_l1d_bytes = sysctl_first("hw.perflevel0.l1dcachesize", "hw.l1dcachesize");
    facts->cache_l2_bytes = sysctl_first("hw.perflevel0.l2cachesize", "hw.l2cachesize");
    facts->cache_l3_bytes = sysctl_first("hw.perflevel0.l3cachesize", "hw.l3cachesize");
    facts->cache_line_bytes = sysctl_int64("hw.cachelinesize");
}

static int read_usable_cores(void) { return (int)sysctl_first("hw.logicalcpu", "hw.ncpu"); }

void machine_cores(int *performance, int *efficiency)
{
    *performance = (int)sysctl_first("hw.perflevel0.logicalcpu", "hw.logicalcpu");
    *efficiency = (int)sysctl_int64("hw.perflevel1.logicalcpu");
}

int64_t machine_memory_available(void)
{
    vm_statistics64_data_t vm;
    mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
    const mach_port_t host = mach_host_self();
    const kern_return_t status =
        host_statistics64(host, HOST_VM_INFO64, (host_info64_t)&vm, &count);
    mach_port_deallocate(mach_task_self(), host);
    if (status != KERN_SUCCESS)
        return 0;
    const int64_t pages = (int64_t)vm.free_count + vm.inactive_count + vm.purgeable_count;
    return pages * sysconf(_SC_PAGESIZE);
}

#else

static int64_t sysconf_positive(int name)
{
    const long value = sysconf(name);
    return value > 0 ? value : 0;
}

static void read_system(machine_facts *facts)
{
    machine_read_files("", facts);
    if (facts->memory_bytes == 0)
        facts->memory_bytes = sysconf_positive(_SC_PHYS_PAGES) * facts->page_bytes;
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    const struct {
        int64_t *bytes;
        int name;
    } otherwise[] = {
        {&facts->cache_l1d_bytes, _SC_LEVEL1_DCACHE_SIZE},
        {&facts->cache_l2_bytes, _SC_LEVEL2_CACHE_SIZE},
        {&facts->cache_l3_bytes, _SC_LEVEL3_CACHE_SIZE},
        {&facts->cache_line_bytes, _SC_LEVEL1_DCACHE_LINESIZE},
    };
    for (size_t i = 0; i < sizeof otherwise / sizeof otherwise[0]; i++)
        if (*otherwise[i].bytes == 0)
            *otherwise[i].bytes = sysconf_positive(otherwise[i].name);
#endif
}

static int read_usable_cores(void)
{
#if defined(__linux__)
    cpu_set_t sets[8]; /* room for 8192 CPUs: the call fails if the kernel's mask is larger */
    memset(sets, 0, sizeof sets);
    if (sched_getaffinity(0, sizeof sets, sets) == 0)
        return CPU_COUNT_S(sizeof sets, sets);
#endif
    return (int)sysconf_positive(_SC_NPROCESSORS_ONLN);
}

void machine_cores(int *performance, int *efficiency)
{
    machine_read_cores("", performance, efficiency);
}

int64_t machine_memory_available(void)
{
    const int64_t bytes = machine_read_memory_free("");
    const int64_t left = machine_read_memory_left("");
    return bytes < left ? bytes : left;
}

#endif

/* ---- thread count ---------------------------------------------------------------------------- */

static int quota_cpus(double quota)
{
    if (quota <= 0 || quota >= MACHINE_MAX_THREADS)
        return MACHINE_MAX_THREADS;
    const int whole = (int)quota;
    return whole < quota ? whole + 1 : whole;
}

/* A number without sign, blanks or tail, from 1 to MACHINE_MAX_THREADS; else 0. */
static int env_threads(const char *env)
{
    int value = 0;
    for (; *env != '\0'; env++) {
        if (!isdigit((unsigned char)*env))
            return 0;
        value = value * 10 + (*env - '0');
        if (value > MACHINE_MAX_THREADS)
            return 0;
    }
    return value;
}

int machine_choose_threads(const char *env, int usable, double quota, char *note, size_t note_size)
{
    note[0] = '\0';
    const int asked = env ? env_threads(env) : 0;
    if (env && env[0] && asked == 0) {
        char shown[33];
        size_t i;
        for (i = 0; i + 1 < sizeof shown && env[i] != '\0'; i++)
            shown[i] = (char)(env[i] >= ' ' && env[i] <= '~' ? env[i] : '?');
        shown[i] = '\0';
        snprintf(note, note_size,
                 "IG_NUM_THREADS=\"%s\" is ignored: not a whole number from 1 to %d", shown,
                 MACHINE_MAX_THREADS);
    }
    int threads = asked ? asked : usable;
    if (threads < 1)
        threads = 1;
    const int most = quota_cpus(quota);
    if (threads <= most)
        return threads;
    if (asked)
        snprintf(note, note_size, "IG_NUM_THREADS=%d is lowered to %d: the cgroup allows %.2f CPUs",
                 asked, most, quota);
    return most;
}

/* ---- read once ------------------------------------------------------------------------------- */

static struct {
    pthread_once_t once;
    double quota;
    int usable, cpus, threads;
    char note[160];
} limits = {.once = PTHREAD_ONCE_INIT};

static struct {
    pthread_once_t once;
    machine_facts facts;
} machine = {.once = PTHREAD_ONCE_INIT};

static void limits_read(void)
{
    limits.quota = machine_read_quota("");
    limits.usable = read_usable_cores();
    limits.cpus =
        machine_choose_threads(NULL, limits.usable, limits.quota, limits.note, sizeof limits.note);
    limits.threads = machine_choose_threads(getenv("IG_NUM_THREADS"), limits.usable, limits.quota,
                                            limits.note, sizeof limits.note);
}

/* "affinity leaves 4 of 8 cores, the cgroup leaves 1.50 CPUs and 2.0 GiB" */
static void limits_tell(machine_facts *facts)
{
    char *const out = facts->limits;
    const size_t size = sizeof facts->limits;
    const bool fewer = facts->memory_limit_bytes < facts->memory_bytes;
    if (facts->cores_usable < facts->cores_logical)
        snprintf(out, size, "affinity leaves %d of %d cores", facts->cores_usable,
                 facts->cores_logical);
    size_t used = strlen(out);
    if (facts->cpu_quota > 0 || fewer)
        snprintf(out + used, size - used, "%sthe cgroup leaves", used ? ", " : "");
    used = strlen(out);
    if (facts->cpu_quota > 0)
        snprintf(out + used, size - used, " %.2f CPUs", facts->cpu_quota);
    used = strlen(out);
    if (fewer)
        snprintf(out + used, size - used, "%s %.1f GiB", facts->cpu_quota > 0 ? " and" : "",
                 (double)facts->memory_limit_bytes / (1 << 30));
}

static void facts_read(void)
{
    machine_facts *facts = &machine.facts;
    memset(facts, 0, sizeof *facts);
    pthread_once(&limits.once, limits_read);
    facts->page_bytes = sysconf(_SC_PAGESIZE);
    facts->cores_logical = (int)sysconf(_SC_NPROCESSORS_ONLN);
    facts->cores_usable = limits.usable;
    facts->cpu_quota = limits.quota;
    read_system(facts);
    read_isa(facts->isa, sizeof facts->isa);
    const int64_t limit = machine_read_memory_limit("");
    facts->memory_limit_bytes = facts->memory_bytes;
    if (limit != INT64_MAX && (facts->memory_bytes == 0 || limit < facts->memory_bytes))
        facts->memory_limit_bytes = limit;
    limits_tell(facts);
}

const machine_facts *machine_get(void)
{
    pthread_once(&machine.once, facts_read);
    return &machine.facts;
}

int machine_cpus(void)
{
    pthread_once(&limits.once, limits_read);
    return limits.cpus;
}

int machine_threads(void)
{
    pthread_once(&limits.once, limits_read);
    return limits.threads;
}

const char *machine_threads_note(void)
{
    pthread_once(&limits.once, limits_read);
    return limits.note[0] ? limits.note : NULL;
}
