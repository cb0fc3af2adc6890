/* The result of a bench run: the machine, its devices, and every sample. A JSON file, schema 1
 * (docs/schema/bench.json). `ingot bench` writes it; `ingot compare` and `ingot report` read it.
 *
 * Each row names its device, so that one file can hold several devices. */
#ifndef CLI_BENCH_RESULT_H
#define CLI_BENCH_RESULT_H

#include "bench/stats.h"
#include "str.h"

enum { RESULT_SCHEMA = 1 };

/* One work on one device. Rows are comparable if work, size, dtype, input and math agree. */
typedef struct result_row {
    const char *work;   /* "matmul" */
    const char *size;   /* "1024", "12x128x64" */
    const char *dtype;  /* "f32" */
    const char *device; /* "cpu" */
    const char *group; /* its kind: "compute", "memory", "train", "latency", "scaling", "command" */
    const char *input; /* what was computed, and from which seeds, in one line */
    const char *math;  /* "strict" */
    int threads;
    double extent;               /* the size as one number, for charts; 0: none */
    double flops, bytes, tokens; /* of one repetition; 0: not applicable */
    const char *answer;    /* digest of the answer, the same on every correct machine; or NULL */
    int repeats;           /* repetitions per sample; a sample is their mean */
    int n;                 /* samples */
    double *seconds;       /* of one repetition, in the order of measurement */
    double *waited;        /* of each sample: time that it waited for a core */
    int n_waited;          /* n, or 0: unknown */
    int *round;            /* of each sample: its pass over all works, from 0, ascending */
    int *process;          /* of each pass: the process that made it, ascending */
    int n_process;         /* 0: one process made all passes */
    double others;         /* copied from the result */
    const char **warnings; /* "drift: ...", "outliers: ..." */
    int n_warnings;
} result_row;

/* The best rate of a device in this run: FLOP/s of a dtype, or bytes/s if `of` is "bytes". */
typedef struct result_peak {
    const char *of;
    int threads; /* used for the measurement; 0: the device has no choice of threads */
    double rate;
} result_peak;

typedef struct result_device {
    const char *name, *kind, *model, *level, *isa, *driver; /* NULL: unknown */
    int cores, performance_cores, efficiency_cores, threads;
    double quota;
    uint64_t memory, memory_limit, cache[3];
    double peak_flops, peak_bytes; /* of f32 and of copies, with all threads; 0: not measured */
    result_peak *peaks;            /* by dtype and number of threads */
    int n_peaks;
} result_device;

/* Support of one op on one device. Lists of dtypes, such as "f32 f64", may be empty. */
typedef struct result_op {
    const char *name, *cls, *device, *native, *fallback, *refused;
} result_op;

typedef struct result {
    int schema;
    const char *verb; /* "bench"; both are set when the result is written */
    const char *version, *compiler, *started, *command; /* started: "2026-11-15T08:30:00Z" */
    const char **settings; /* variables that change how Ingot runs: "IG_NUM_THREADS=2" */
    int n_settings;
    const char *math;
    const char *system, *arch, *virtual_machine; /* "Linux 6.1", "aarch64", NULL: none found */
    bool complete;                               /* false: interrupted */
    double seconds;                              /* duration of the run */
    double others;             /* cores that other processes kept busy, on average; 0 if unknown */
    const char **disturbances; /* "load 3.1 on 2 cores" */
    int n_disturbances;
    result_device *devices;
    int n_devices;
    result_op *ops;
    int n_ops;
    result_row *rows;
    int n_rows;
    arena memory; /* everything above */
} result;

/* Reads a file. On failure returns false; *why is then one line, and *code the exit code. */
bool result_read(result *r, const char *path, str *why, int *code);
/* The same for text in memory. */
bool result_parse(result *r, const char *source, size_t n, str *why);
/* Writes a temporary file and renames it, so that only a complete file replaces the old one. */
bool result_write(const result *r, const char *path, str *why);
/* The file's text. */
void result_json(const result *r, str *t);
void result_free(result *r);

timings row_timings(const result_row *r);
/* The device of a row; NULL if the file does not list it. */
const result_device *row_device(const result *r, const result_row *row);
/* The shortest time for one repetition that the peaks of the row's dtype and number of threads allow: the time for its
 * arithmetic or for its bytes, whichever is longer. A peak is the highest rate of the whole run. 0: the file does not
 * have these peaks. */
double row_best_s(const result *r, const result_row *row);
/* Adds the share of the peak, "75 %". Instead of a share above 100 % it adds "in cache" if the data fit the caches,
 * else "peak doubtful". Adds nothing if the peak is unknown. */
void row_share_words(str *t, const result *r, const result_row *row);
/* "FLOP/s", or "OP/s" for integers. */
const char *row_operations(const result_row *row);
/* What a repetition does, in the unit of its rate: tokens, bytes of works that measure memory, or operations. 0: it has no rate. */
double row_amount(const result_row *row, const char **unit);
/* The number of passes in which the row was measured; fewer than PASSES_LEAST say little. */
enum { PASSES_LEAST = 3 };
int row_passes(const result_row *row);
/* Why the row's time says little about the machine; NULL if there is no doubt. */
const char *row_doubt(const result_row *row);

#endif
