/* ingot selftest: all checks of a device, as one command with one file to send. Each step runs this program in a
 * separate process, so that a crash or a hang of a driver ends only that step. */
#include "bench/child.h"
#include "cli.h"
#include "probe.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS_MOST = 24, CHECK_NS = 20000000, GRACE_S = 10 };

/* A step. DEVICE stands for the device, PAIR for the CPU and the device, FILE.cu for the kernels below. */
typedef struct step {
    const char *name;
    const char *words[WORDS_MOST];
    int limit_s;
} step;

static const char kernels[] =
    "extern \"C\" __global__ void saxpy(int n, float a, const float *x, float *y)\n"
    "{\n"
    "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n)\n"
    "        y[i] = a * x[i] + y[i];\n"
    "}\n"
    "extern \"C\" __global__ void block_sum(int n, const float *x, float *total)\n"
    "{\n"
    "    __shared__ float part[128];\n"
    "    const int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;\n"
    "    part[t] = i < n ? x[i] : 0.0f;\n"
    "    __syncthreads();\n"
    "    for (int half = 64; half > 0; half /= 2) {\n"
    "        if (t < half)\n"
    "            part[t] += part[t + half];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    if (t == 0)\n"
    "        total[blockIdx.x] = part[0];\n"
    "}\n";

/* The limits add up to less than ten minutes. A GPU's compiler takes most of the time of verify; that step ends at its
 * limit with what it has checked so far. */
static const step steps[] = {
    {"devices", {"devices"}, 10},
    {"doctor", {"doctor"}, 10},
    {"one op", {"eval", "--device", "DEVICE", "sum(exp(normal(key(0), [1000])))"}, 20},
    {"arithmetic", {"selftest", "--arithmetic", "--device", "DEVICE"}, 20},
    {"kernel saxpy",
     {"run", "FILE.cu", "-k", "saxpy", "--grid", "4", "--block", "256", "--arg", "n=1000", "--arg",
      "a=2", "--arg", "x=normal:f32[1000]", "--arg", "y=ones:f32[1000]", "--device", "PAIR"},
     20},
    {"kernel block_sum",
     {"run", "FILE.cu", "-k", "block_sum", "--grid", "5", "--block", "128", "--arg", "n=600",
      "--arg", "x=normal:f32[600]", "--arg", "total=zeros:f32[5]", "--device", "PAIR"},
     20},
    {"verify", {"verify", "--quick", "--device", "DEVICE", "--dtype", "f32"}, 120},
    {"verify, more dtypes",
     {"verify", "--quick", "--device", "DEVICE", "--dtype", "bf16,f16,i32,i64,u8"},
     100},
    {"same bits", {"verify", "--quick", "--same", "PAIR", "--dtype", "f32"}, 80},
    {"training", {"train", "digits", "--epochs", "3", "--device", "DEVICE"}, 50},
    {"training, same bits",
     {"train", "digits", "--epochs", "1", "--math", "same", "--json", "--device", "DEVICE"},
     50},
    {"bench",
     {"bench", "--quick", "--seconds", "40", "--device", "DEVICE", "--json", "--quiet"},
     100},
};

enum { STEPS = sizeof steps / sizeof steps[0] };

/* Waits for the end or the limit. Returns the exit code, 128 + n after signal n, or -1 at the limit. */
static int await_until(pid_t pid, double end)
{
    const struct timespec nap = {0, CHECK_NS};
    int status = 0;
    for (;;) {
        const pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid)
            return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        if ((ended < 0 && errno != EINTR) || clock_s() > end)
            return -1;
        nanosleep(&nap, NULL);
    }
}

/* At the limit the process is asked to stop, as by Ctrl-C, so that it reports its results. If it does not, it is
 * killed. */
static int await(pid_t pid, double limit_s, bool *stopped)
{
    int code = await_until(pid, clock_s() + limit_s);
    *stopped = code < 0;
    if (code >= 0)
        return code;
    kill(pid, SIGINT);
    code = await_until(pid, clock_s() + GRACE_S);
    if (code >= 0)
        return code;
    kill(pid, SIGKILL);
    waitpid(pid, &code, 0);
    return -1;
}

static void put(int file, const char *text)
{
    const size_t n = strlen(text);
    if (write(file, text, n) != (ssize_t)n)
        return; /* the step's exit code is also shown on the terminal */
}

/* Runs a step, with its output in the file. True if nothing failed. */
static bool run_step(const step *s, char *self, const char *device, const char *source,
                     double limit_s, int file)
{
    str pair = {0}, line = {0};
    char *words[WORDS_MOST + 2] = {self};
    pid_t pid;
    str_printf(&pair, "cpu,%s", device);
    str_printf(&line, "\n==== %s: ingot", s->name);
    for (int i = 0; i < WORDS_MOST && s->words[i]; i++) {
        const char *w = s->words[i];
        words[i + 1] = (char *)(strcmp(w, "DEVICE") == 0    ? device
                                : strcmp(w, "PAIR") == 0    ? pair.s
                                : strcmp(w, "FILE.cu") == 0 ? source
                                                            : w);
        str_printf(&line, " %s", words[i + 1]);
    }
    str_puts(&line, "\n");
    put(file, line.s);
    const int files[3] = {-1, file, file};
    const double start = clock_s();
    const int problem = child_spawn(&pid, words, files);
    bool stopped = false;
    const int code = problem ? 127 : await(pid, limit_s, &stopped);
    const bool fine = code == 0 || (stopped && code == EXIT_INTERRUPTED);
    line.n = 0;
    str_printf(&line, "==== %s: %sexit code %d, %.1f s\n", s->name,
               stopped ? "stopped at its limit, " : "", code, clock_s() - start);
    put(file, line.s);
    printf("  %-20s %s %7.1f s\n", s->name,
           code < 0  ? "hangs "
           : !fine   ? "FAILED"
           : stopped ? "partly"
                     : "fine  ",
           clock_s() - start);
    fflush(stdout);
    str_free(&pair);
    str_free(&line);
    return fine;
}

/* The device: the named one, the first GPU, or the CPU. */
static const char *choose(const char *given)
{
    for (int i = 0; !given && i < ig_device_count(); i++) {
        ig_device_info info = {0};
        if (ig_device_get(i, &info) == IG_OK && strcmp(info.kind, "gpu") == 0)
            given = info.name;
    }
    return given ? given : "cpu";
}

static bool write_kernels(char *path)
{
    const int file = mkstemps(path, 3);
    if (file < 0)
        return false;
    put(file, kernels);
    close(file);
    return true;
}

static int selftest(const command *c, const char *device, const char *only, int64_t limit_s,
                    const char *output)
{
    char source[] = "/tmp/ingot-selftest-XXXXXX.cu";
    char *self = child_self();
    const int file = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int failed = 0;
    if (file < 0 || !self || !write_kernels(source)) {
        say(c, "%s cannot be written: %s", file < 0 ? output : source, strerror(errno));
        free(self);
        return EXIT_INPUT;
    }
    printf("selftest of %s, up to ten minutes; output goes to %s\n", device, output);
    put(file, "ingot selftest, version ");
    put(file, ig_version());
    put(file, "\n");
    for (int i = 0; i < STEPS; i++)
        if (!only || strcmp(only, steps[i].name) == 0)
            failed += !run_step(&steps[i], self, device, source,
                                limit_s > 0 && limit_s < steps[i].limit_s ? (double)limit_s
                                                                          : steps[i].limit_s,
                                file);
    close(file);
    unlink(source);
    free(self);
    printf(failed ? "%d steps failed. Please send %s to the authors.\n" : "No step failed.\n",
           failed, output);
    return failed ? EXIT_FAILED : EXIT_FINE;
}

int verb_selftest(int argc, char **argv)
{
    const char *device = NULL, *output = "ingot-selftest.txt", *only = NULL;
    int64_t limit_s = 0;
    bool arithmetic = false;
    const option options[] = {
        {"--device", 0, "DEVICE", option_text, &device, "the device (the first GPU, or the CPU)"},
        {"--output", 'o', "FILE", option_text, &output, "the file (ingot-selftest.txt)"},
        {"--only", 0, "STEP", option_text, &only, "one step, by the name that a run shows"},
        FLAG("--arithmetic", &arithmetic, "prints how the device rounds, and runs no step"),
        {"--limit", 0, "S", option_count, &limit_s, "the time limit of a step, in seconds"},
        {0}};
    const command c = {
        "selftest", "[options]",
        "Runs everything that shows whether a device works, in ten minutes at most: devices, "
        "arithmetic,\n"
        "verify, the CPU's bits, kernels, training, bench. A step that reaches its limit reports "
        "what it "
        "has\n"
        "checked so far. Writes all output to one file, for a report.",
        options};
    const int code = options_read(&c, &argc, argv);
    if (code >= 0)
        return code;
    if (argc) {
        say(&c, "unexpected '%s'; see 'ingot selftest --help'", argv[0]);
        return EXIT_USAGE;
    }
    if (arithmetic)
        return probe_arithmetic(&c, choose(device));
    return selftest(&c, choose(device), only, limit_s, output);
}
