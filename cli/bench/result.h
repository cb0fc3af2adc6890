/* The result of a bench run: who measured, on what, and every sample. A file of JSON, schema 1
 * (docs/schema/bench.json). `ingot bench` writes it; `ingot compare` and `ingot report` read it. */
#ifndef CLI_BENCH_RESULT_H
#define CLI_BENCH_RESULT_H

#include "bench/stats.h"
#include "str.h"

enum { RESULT_SCHEMA = 1 };

/* One workload on one device. Two rows may be compared if work, size, dtype, input and math agree. */
typedef struct result_row {
    const char *work;   /* "matmul" */
    const char *size;   /* "1024", "12x128x64"; for people and for matching */
    const char *dtype;  /* "f32" */
    const char *device; /* "cpu" */
    const char
        *group; /* the chart it belongs to: "compute", "memory", "train", "latency", "scaling" */
    const char *input; /* what was computed, from which seeds, in one line */
    const char *math;  /* "strict" */
    int threads;
    double extent;       /* the size as one number, for curves over it; 0: none */
    double flops, bytes; /* of one repetition; 0: does not apply */
    const char *answer; /* digest of the checked answer, the same on every right machine; or NULL */
    int repeats;        /* repetitions that one sample is the mean of */
    int n;              /* samples */
    double *seconds;    /* of one repetition, in the order in which they were measured */
    double *waited;     /* of these: for a core that others had */
    int n_waited;       /* n, or 0: unknown */
    int *round;    /* in which pass over all workloads each was measured, from 0, never falling */
    int *process;  /* of each pass that there was: which process made it, never falling */
    int n_process; /* 0: one process made all of them */
    double others; /* the file's, for each of its rows */
    const char **warnings; /* "drift: ...", "outliers: ..." */
    int n_warnings;
} result_row;

/* The best that this run measured of a device: FLOP/s of a dtype, or bytes/s where of is "bytes". */
typedef struct result_peak {
    const char *of;
    int threads; /* that it was measured with; 0: the device has none to choose */
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

/* What `ingot ops` says of one op on one device; lists of dtypes, "f32 f64", may be empty. */
typedef struct result_op {
    const char *name, *cls, *device, *native, *fallback, *refused;
} result_op;

typedef struct result {
    int schema;
    const char *verb; /* "bench"; both are set by whoever writes */
    const char *version, *compiler, *started, *command; /* started: "2026-11-15T08:30:00Z" */
    const char **settings; /* variables that change how Ingot runs: "IG_NUM_THREADS=2" */
    int n_settings;
    const char *math;
    const char *system, *arch, *virtual_machine; /* "Linux 6.1", "aarch64", NULL: none found */
    bool complete;                               /* false: interrupted */
    double seconds;                              /* that the run took */
    double others; /* cores that other processes kept busy meanwhile, on average; 0 if unknown */
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

/* Reads a file. False: *why says what is wrong with it, in one line, and *code is the exit code. */
bool result_read(result *r, const char *path, str *why, int *code);
/* The same for a text. */
bool result_parse(result *r, const char *source, size_t n, str *why);
/* Writes through a temporary file and a rename: what was there before is lost only for what is whole. */
bool result_write(const result *r, const char *path, str *why);
/* The file's text. */
void result_json(const result *r, str *t);
void result_free(result *r);

timings row_timings(const result_row *r);
/* The device of a row; NULL if the file does not list it. */
const result_device *row_device(const result *r, const result_row *row);
/* The shortest time for one repetition that the peaks of the row's dtype and number of threads allow: that
 * of its arithmetic or of its bytes, whichever is longer. 0: the file does not have these peaks. */
double row_best_s(const result *r, const result_row *row);

#endif
