/* A matrix product whose operands are files larger than the device's memory limit, beside the limits of the machine:
 * the bus, and the device's own rate for products of the same dtype and mode.
 *
 * usage: build/bench/stream [--device cuda:0] [--side N] [--limit GiB] [--math strict|same|tf32] [--rounds N] [--folder DIR]
 * --rounds 0 prints only the plan.
 *
 * Both matrices are square and of f32. The multiplications take some time at the device's rate, and the bytes that must
 * cross the bus take some time at the bus's rate. The longer of these times is the limit. With room for S elements, a product of side n needs at
 * least 2 n^3 / sqrt(S) elements of its operands. The last line is the limit's part of the measured time. */
#include "ingot.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct options {
    const char *device, *math, *folder;
    int64_t side;
    double limit; /* GiB */
    int rounds;
} options;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stop(const char *what)
{
    const char *why = ig_error(NULL);
    fprintf(stderr, "bench/stream: %s%s%s\n", what, why ? ": " : "", why ? why : "");
    exit(1);
}

/* ---- files ---- */

static void write_all(int file, const void *data, size_t bytes, int64_t at)
{
    for (const char *from = data; bytes > 0;) {
        const ssize_t done = pwrite(file, from, bytes, (off_t)at);
        if (done <= 0)
            stop("a file cannot be written");
        from += done;
        at += done;
        bytes -= (size_t)done;
    }
}

/* An .npy file of a square f32 matrix, unless it is there. */
static void make_file(const char *path, int64_t n, uint32_t seed)
{
    char header[128];
    const int64_t bytes = (int64_t)sizeof header + n * n * 4;
    int file = open(path, O_RDWR | O_CREAT, 0644);
    if (file < 0)
        stop(path);
    if (lseek(file, 0, SEEK_END) == bytes) {
        close(file);
        return;
    }
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    const int used = snprintf(header + 10, sizeof header - 10,
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (%lld, %lld), }",
                              (long long)n, (long long)n);
    header[10 + used] = ' ';
    header[sizeof header - 1] = '\n';
    enum { SHIFTS = 4096 }; /* a row is a part of one list of random numbers */
    float *all = malloc((size_t)(n + SHIFTS) * sizeof *all);
    if (!all)
        stop("no memory");
    for (int64_t k = 0; k < n + SHIFTS; k++) {
        seed = seed * 1664525u + 1013904223u;
        all[k] = (float)(int32_t)seed * 0x1p-31f;
    }
    write_all(file, header, sizeof header, 0);
    for (int64_t i = 0; i < n; i++)
        write_all(file, all + i * 977 % SHIFTS, (size_t)n * 4, (int64_t)sizeof header + i * n * 4);
    free(all);
    close(file);
}

/* ---- limits ---- */

/* Bytes per second from pinned host memory to the first NVIDIA GPU; 0 without one. */
static double bus_rate(void)
{
    enum { PIECE = 256 << 20, ROUNDS = 16 };
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *pinned = NULL, *context = NULL, *stream = NULL;
    int (*init)(unsigned) = NULL, (*retain)(void **, int) = NULL, (*push)(void *) = NULL;
    int (*host)(void **, size_t, unsigned) = NULL, (*get)(uint64_t *, size_t) = NULL;
    int (*create)(void **, unsigned) = NULL, (*wait)(void *) = NULL;
    int (*copy)(uint64_t, const void *, size_t, void *) = NULL, (*give)(uint64_t) = NULL;
    int (*release)(void *) = NULL;
    uint64_t there = 0;
    if (!lib)
        return 0;
    *(void **)&init = dlsym(lib, "cuInit");
    *(void **)&retain = dlsym(lib, "cuDevicePrimaryCtxRetain");
    *(void **)&push = dlsym(lib, "cuCtxPushCurrent_v2");
    *(void **)&host = dlsym(lib, "cuMemHostAlloc");
    *(void **)&get = dlsym(lib, "cuMemAlloc_v2");
    *(void **)&create = dlsym(lib, "cuStreamCreate");
    *(void **)&wait = dlsym(lib, "cuStreamSynchronize");
    *(void **)&copy = dlsym(lib, "cuMemcpyHtoDAsync_v2");
    *(void **)&give = dlsym(lib, "cuMemFree_v2");
    *(void **)&release = dlsym(lib, "cuMemFreeHost");
    if (!init || !retain || !push || !host || !get || !create || !wait || !copy || !give ||
        !release || init(0) || retain(&context, 0) || push(context) || host(&pinned, PIECE, 0) ||
        get(&there, PIECE) || create(&stream, 1))
        return 0;
    memset(pinned, 1, PIECE);
    double best = 0;
    for (int r = 0; r < 3; r++) {
        const double began = now();
        for (int i = 0; i < ROUNDS; i++)
            if (copy(there, pinned, PIECE, stream))
                return 0;
        if (wait(stream))
            return 0;
        const double rate = (double)PIECE * ROUNDS / (now() - began);
        best = rate > best ? rate : best;
    }
    give(there);
    release(pinned);
    return best;
}

/* Flops per second of a product of matrices that are on the device. */
static double device_rate(int64_t side)
{
    double best = 0;
    if (ig_scope_begin() != IG_OK)
        stop("scope");
    ig_array *all = ig_arange(0, (double)(side * side), 1, IG_F32);
    ig_array *a = ig_reshape(ig_sin(all), IG_SHAPE(side, side));
    ig_array *b = ig_reshape(ig_cos(all), IG_SHAPE(side, side));
    if (ig_eval((ig_array *[]){a, b}, 2) != IG_OK)
        stop("the device's rate");
    for (int r = 0; r < 6; r++) {
        enum { TIMES = 3 };
        const double began = now();
        for (int i = 0; i < TIMES; i++) {
            ig_array *c = ig_matmul(a, b);
            if (ig_eval(&c, 1) != IG_OK)
                stop("the device's rate");
        }
        if (ig_synchronize(NULL) != IG_OK)
            stop("the device's rate");
        const double s = (now() - began) / TIMES;
        const double rate = 2.0 * pow((double)side, 3) / s;
        best = r && rate > best ? rate : best;
    }
    ig_scope_end();
    return best;
}

/* ---- the product ---- */

typedef struct target {
    int file;
    int64_t side;
} target;

static ig_status write_tile(void *context, const int64_t *start, const int64_t *size,
                            const void *data)
{
    const target *t = context;
    for (int64_t i = 0; i < size[0]; i++)
        write_all(t->file, (const float *)data + i * size[1], (size_t)size[1] * 4,
                  ((start[0] + i) * t->side + start[1]) * 4);
    return IG_OK;
}

/* Checks some elements of the result against sums in double. */
static void check(const char *a, const char *b, const target *t)
{
    const int64_t n = t->side;
    const int fa = open(a, O_RDONLY), fb = open(b, O_RDONLY);
    float *row = malloc((size_t)n * 4);
    if (fa < 0 || fb < 0 || !row)
        stop("the check");
    for (int k = 0; k < 4; k++) {
        const int64_t i = (n - 1) * k / 3, j = (n - 1) * (3 - k) / 3;
        double sum = 0, size = 0;
        float got = 0;
        if (pread(fa, row, (size_t)n * 4, 128 + i * n * 4) != n * 4 ||
            pread(t->file, &got, 4, (i * n + j) * 4) != 4)
            stop("the check");
        for (int64_t m = 0; m < n; m++) {
            float x = 0;
            if (pread(fb, &x, 4, 128 + (m * n + j) * 4) != 4)
                stop("the check");
            sum += (double)row[m] * x;
            size += fabs((double)row[m] * x);
        }
        if (!(fabs(sum - got) <= 1e-3 * size))
            stop("the result is wrong");
    }
    free(row);
    close(fa);
    close(fb);
}

static double product(const options *o, const char *a, const char *b, bool explains)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/stream-c", o->folder);
    target t = {.file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644), .side = o->side};
    if (t.file < 0 || ig_scope_begin() != IG_OK)
        stop(path);
    const ig_block_sink sink = {.size = sizeof sink, .write = write_tile, .context = &t};
    const ig_block_sink *sinks[] = {&sink};
    ig_array *c = ig_matmul(ig_open(a), ig_open(b));
    char *text = explains ? ig_explain_blocks(&c, sinks, 1) : NULL;
    if (text)
        fputs(text, stdout);
    ig_free(text);
    const double began = now();
    if (o->rounds > 0 && ig_eval_to(&c, sinks, 1) != IG_OK)
        stop("the product");
    const double s = now() - began;
    if (explains && o->rounds > 0)
        check(a, b, &t);
    ig_scope_end();
    close(t.file);
    unlink(path);
    return s;
}

static int compare(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

static void read_options(options *o, int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (strcmp(name, "--device") == 0)
            o->device = value;
        else if (strcmp(name, "--math") == 0)
            o->math = value;
        else if (strcmp(name, "--folder") == 0)
            o->folder = value;
        else if (strcmp(name, "--side") == 0)
            o->side = atoll(value);
        else if (strcmp(name, "--limit") == 0)
            o->limit = atof(value);
        else if (strcmp(name, "--rounds") == 0)
            o->rounds = atoi(value);
        else
            stop(name);
    }
}

int main(int argc, char **argv)
{
    options o = {.device = "cuda:0",
                 .math = "strict",
                 .folder = "/var/tmp",
                 .side = 54784,
                 .limit = 2,
                 .rounds = 3};
    enum { MOST = 16 };
    char a[4096], b[4096];
    double times[MOST];
    setvbuf(stdout, NULL, _IOLBF, 0);
    read_options(&o, argc, argv);
    if (o.rounds < 0 || o.rounds > MOST)
        stop("--rounds is from 0 to 16");
    if (ig_set_device(o.device) != IG_OK ||
        ig_set_math(strcmp(o.math, "same") == 0   ? IG_MATH_SAME
                    : strcmp(o.math, "tf32") == 0 ? IG_MATH_TF32
                                                  : IG_MATH_STRICT) != IG_OK)
        stop("the device");
    snprintf(a, sizeof a, "%s/stream-%lld-a.npy", o.folder, (long long)o.side);
    snprintf(b, sizeof b, "%s/stream-%lld-b.npy", o.folder, (long long)o.side);
    make_file(a, o.side, 1);
    make_file(b, o.side, 2);
    const double n = (double)o.side, bus = o.rounds ? bus_rate() : 0,
                 rate = o.rounds ? device_rate(o.side < 8192 ? o.side : 8192) : 0;
    const uint64_t room = (uint64_t)(o.limit * 0x1p30);
    if (ig_set_device_memory_limit(NULL, room) != IG_OK)
        stop("the limit");
    if (o.rounds == 0)
        return product(&o, a, b, true) < 0;
    for (int r = 0; r < o.rounds; r++)
        times[r] = product(&o, a, b, r == 0);
    qsort(times, (size_t)o.rounds, sizeof *times, compare);
    const double s = times[o.rounds / 2];
    const double by_device = 2 * n * n * n / rate,
                 crossing = 8 * n * n * n / sqrt((double)room / 4);
    const double operands = 8 * n * n, by_bus = bus > 0 ? fmax(crossing, operands) / bus : 0;
    printf("operands %.1f GB, limit %.2f GiB, %s, math %s\n", operands / 1e9, o.limit, o.device,
           o.math);
    printf("bus %.1f GB/s: at least %.2f s; device %.2f TFLOPS: at least %.2f s\n", bus / 1e9,
           by_bus, rate / 1e12, by_device);
    printf("median %.2f s (%.2f to %.2f), %.2f TFLOPS\n", s, times[0], times[o.rounds - 1],
           2 * n * n * n / s / 1e12);
    printf("of the lower limit: %.0f %%\n", 100 * fmax(by_bus, by_device) / s);
    return 0;
}
