/* Facts about the machine that this process runs on: cores, memory, caches, instruction set.
 *
 * Invariant: a fact that cannot be found is 0, "" or "no limit", never a guess, and no unreadable or
 * malformed system file makes any function here fail. Limits set by a container (CPU affinity,
 * cgroup v1 and v2) count as facts of the machine. All functions may be called from any thread.
 */
#ifndef BASE_MACHINE_H
#define BASE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

enum { MACHINE_MAX_THREADS = 1024 };

typedef struct machine_facts {
    char cpu[128];        /* "Neoverse-V1", "Apple M2", "Cortex-A55 + Cortex-A76" */
    char isa[256];        /* features that array code uses: "neon fp16 dotprod", "sse2 avx2 fma" */
    int cores_logical;    /* online in the machine */
    int cores_usable;     /* in the affinity mask of the first thread that asked */
    double cpu_quota;     /* CPUs that the cgroup allows, such as 1.5; 0 = no limit */
    int64_t memory_bytes; /* RAM */
    int64_t memory_limit_bytes; /* RAM or the tightest cgroup limit, whichever is less */
    int64_t cache_l1d_bytes;    /* of the first core; on Apple, of a performance core */
    int64_t cache_l2_bytes;
    int64_t cache_l3_bytes;
    int64_t cache_line_bytes;
    int64_t page_bytes;
    char limits[192]; /* why this process cannot use the whole machine, in words; "": it can */
} machine_facts;

/* The facts, read at the first call and constant from then on. */
const machine_facts *machine_get(void);

/* How many of the online cores are fast ones, and how many are efficiency cores. 0 and 0 if unknown. Read anew
 * at each call. */
void machine_cores(int *performance, int *efficiency);

/* How many bytes could be allocated now without swapping and within the cgroup's limit; 0 if
 * unknown. Read anew at each call. */
int64_t machine_memory_available(void);

/* How many CPUs this process can keep busy: the CPUs of the affinity mask, but at most the cgroup's quota,
 * rounded up. At least 1. Reads less than machine_get, so it is fast in a new process. */
int machine_cpus(void);

/* How many threads to use by default: IG_NUM_THREADS if it is set and valid, else the CPUs of the affinity
 * mask; in both cases at most the cgroup's quota, rounded up. From 1 to MACHINE_MAX_THREADS. The environment
 * is read once. */
int machine_threads(void);

/* Why IG_NUM_THREADS was ignored or lowered, as one sentence without a full stop; NULL if it was
 * not. */
const char *machine_threads_note(void);

/* The following functions take their inputs as arguments, so that tests can feed them. `root` precedes
 * every path that is read: "" is the real machine. */

/* The tightest limits among this process's cgroup and its visible ancestors. */
double machine_read_quota(const char *root);         /* in CPUs; 0 = no limit */
int64_t machine_read_memory_limit(const char *root); /* INT64_MAX = no limit */
int64_t machine_read_memory_left(const char *root);  /* limit less what cannot be reclaimed */

/* MemAvailable of /proc/meminfo, or MemFree if it is missing; 0 if unknown. */
int64_t machine_read_memory_free(const char *root);

/* Fills cpu, the caches and memory_bytes from Linux's /proc and /sys; leaves fields unchanged that are not
 * found there. */
void machine_read_files(const char *root, machine_facts *facts);

/* The rule of machine_cores: by cpu_capacity (ARM), by the lists of Intel's hybrid processors, or else
 * by the highest clock. A core with less than two thirds of the best value is an efficiency core. */
void machine_read_cores(const char *root, int *performance, int *efficiency);

/* The rule of machine_threads. `env` may be NULL. `note` receives the sentence, or "". */
int machine_choose_threads(const char *env, int usable, double quota, char *note, size_t note_size);

#endif
