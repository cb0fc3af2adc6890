/* ingot man: the manual page, made from the same tables as the help. */
#include "cli.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <ingot.h>

/* name, meaning */
static const char *const environment[][2] = {
    {"IG_NUM_THREADS", "Threads of the CPU device (1 to 1024); --threads overrides it."},
    {"IG_MEMORY_LIMIT",
     "Bytes that arrays may hold on the host and on each device, such as 24GiB; --memory-limit "
     "overrides it."},
    {"IG_CPU_LEVEL",
     "Instruction set of the CPU device, instead of the best one; ingot devices lists them."},
    {"IG_BLAS",
     "Library for large f32 and f64 matrix products: off (the default), on (OpenBLAS, BLIS or "
     "Accelerate), auto (where it is faster), or the path of a library."},
    {"IG_DEVICE", "Device of new arrays (cpu), or a list of devices that work together; --device "
                  "overrides it."},
    {"IG_MATH", "How contractions add: strict (the default), same or tf32; --math overrides it."},
    {"IG_OVERRIDES",
     "Linear algebra and Fourier transforms by libraries of the system, never in math mode same: "
     "auto (the default: where one was measured to be faster), off, or all that a library has."},
    {"IG_LAPACK", "Path of the LAPACK that computes them on the CPU, or off. OpenBLAS and "
                  "Accelerate are found without it."},
    {"IG_FALLBACK", "If a device cannot run an op: error, warn or auto; --fallback overrides it."},
    {"IG_MPI",
     "Path of libingot-mpi, if it is not found, or off: processes that mpirun started work by "
     "themselves."},
    {"PMIX_RANK",
     "Set by mpirun, like OMPI_COMM_WORLD_SIZE and PMI_SIZE: the process is one of several."},
    {"IG_BLOCK_BYTES", "Bytes of a block of an array that is larger than memory."},
    {"IG_REWRITE", "off: graphs are not rewritten before they are compiled."},
    {"IG_CHECK_SCHEDULE",
     "1: each new schedule is proven before it runs: reads after writes, rows of chains, memory. A "
     "schedule that breaks a rule is an internal error, and nothing is computed."},
    {"IG_OPENCL", "Path of the OpenCL library, or off."},
    {"IG_OPENCL_OPTIONS", "More options for OpenCL's compiler, such as -cl-opt-disable."},
    {"IG_METAL", "Path of a library that replaces Apple's Metal, for tests, or off."},
    {"IG_CUDA", "Path of the library of NVIDIA's driver (libcuda.so.1), or off."},
    {"IG_CUDA_GRAPHS",
     "off: a repeated schedule is launched kernel by kernel, not as one CUDA graph."},
    {"IG_NVRTC",
     "Path of NVRTC, which compiles kernels for NVIDIA GPUs. Without it, the toolkit in CUDA_HOME "
     "or CUDA_PATH is searched, then the system's libraries, the toolkit of the nvcc on the PATH, "
     "VIRTUAL_ENV, CONDA_PREFIX, packages of the python3 on the PATH, and the usual folders; ingot "
     "devices prints what was found. CUDA's headers are searched next to it."},
    {"IG_CUBLASLT", "Path of cuBLASLt, which computes matrix products on NVIDIA GPUs, or off. It "
                    "is searched where "
                    "NVRTC is; without it, Ingot's own kernels compute them."},
    {"IG_MPS",
     "Matrix products on Apple GPUs by Apple's MPSMatrixMultiplication: measured (the default: "
     "where a "
     "measurement on this machine, of ingot bench, says that it is faster), off, on, or measure: "
     "what is not measured yet is measured now."},
    {"IG_CUDNN",
     "Path of cuDNN 9, which computes convolutions on NVIDIA GPUs, or off. It is searched where "
     "NVRTC is; without it, a convolution is a matrix product over windows."},
    {"IG_CUSOLVER, IG_CUBLAS, IG_CUFFT",
     "Paths of the libraries that compute linear algebra and Fourier transforms on NVIDIA GPUs, or "
     "off. They are searched where NVRTC is; without them, Ingot's own kernels compute these."},
    {"IG_NATIVE",
     "Kernels on the CPU as native code, by the C compiler of the machine: auto (the default: "
     "compiled in the background when a kernel has taken 100 ms), off, or wait (compiled before "
     "the "
     "first launch). The results are the same."},
    {"IG_STACK",
     "How many calls of a recursive function of a kernel may be nested on the CPU (256, or fewer "
     "if they need more than 64 KiB for each thread)."},
    {"IG_KERNEL_CC", "That C compiler, and options that are appended."},
    {"IG_KEEP_KERNELS",
     "Folder that receives the text of each kernel that is made of array programs, and of each "
     "native kernel."},
    {"IG_CACHE", "off: compiled kernels and programs are not cached."},
    {"IG_TRACE", "File for a timeline of any program that uses Ingot, as --trace."},
    {"IG_SHUTDOWN", "on: closes all devices before the command ends, for tools that look for leaks "
                    "or profile. Without it, the system closes them."},
    {"CXX, CC, AR", "C++ compiler for whole CUDA programs (c++), and the C compiler (cc) and "
                    "archiver (ar) of ingot nvcc."},
    {"NVCC_CCBIN", "C++ compiler of ingot nvcc, before CXX; -ccbin overrides it."},
    {"NVCC_PREPEND_FLAGS, NVCC_APPEND_FLAGS",
     "Options of ingot nvcc before and after the options of its command line."},
    {"INGOT_TOOLKIT", "Set by bin/nvcc of a folder that ingot nvcc --toolkit wrote: the folder."},
    {"NO_COLOR", "If set, the output has no colors."},
    {"PAGER", "Program that shows long help at the prompt."},
    {"TMPDIR",
     "Folder for the temporary files of ingot run (/tmp) and of evaluations that do not fit in "
     "memory (/var/tmp)."},
    {"XDG_CACHE_HOME, XDG_STATE_HOME", "Folders of the files below."},
};

static const char *const files[][2] = {
    {"$XDG_CACHE_HOME/ingot (~/.cache/ingot)",
     "Compiled kernels and programs. It may be deleted at any time."},
    {"$XDG_STATE_HOME/ingot/history (~/.local/state/ingot/history)", "Lines typed at the prompt."},
};

static const char *const examples[][2] = {
    {"ingot devices", "Lists the devices."},
    {"ingot eval 'a = normal(key(0), [1000, 1000]); mean(a @ a.T)'", "Evaluates an expression."},
    {"ingot eval 'softmax(load(\"x.npy\"), axis=-1)' -o y.npy", "Reads and writes arrays."},
    {"ingot verify --quick", "Checks this machine."},
    {"ingot bench -o here.json", "Measures this machine."},
    {"ingot compare here.json there.json --html page.html", "Compares two machines."},
    {"ingot run saxpy.cu --grid 4 --block 256 --arg n=1000 --arg a=2 --arg 'x=arange(1000.0)' "
     "--arg "
     "y=ones:f32[1000]",
     "Runs a CUDA C kernel."},
    {"ingot run --device cuda --compare cpu program.cu",
     "Runs a whole CUDA program on an NVIDIA GPU and on the CPU, and compares what it printed."},
    {"ingot train digits --save model.safetensors", "Trains a network and saves it."},
    {"ingot embed --model DIR --similar \"a cat\" \"a kitten\"",
     "Compares texts by a model folder."},
};

static const struct {
    int code;
    const char *says;
} exits[] = {
    {EXIT_FINE, "Success."},
    {EXIT_FAILED, "Failure."},
    {EXIT_USAGE, "Wrong usage."},
    {EXIT_REGRESSION, "A regression was found."},
    {EXIT_ABSENT, "A device or feature is missing."},
    {EXIT_INPUT, "A file cannot be read or written, or is bad."},
    {EXIT_INTERRUPTED, "Interrupted."},
};

/* Escapes text for roff: hyphens stay hyphens, and no line is read as a request. */
static void roff(str *t, const char *s, size_t n)
{
    if (n && (*s == '.' || *s == '\''))
        str_puts(t, "\\&");
    for (; n; s++, n--)
        if (*s == '-')
            str_puts(t, "\\-");
        else if (*s == '\\')
            str_puts(t, "\\e");
        else
            str_add(t, s, 1);
}

/* Adds paragraphs. Lines that begin with a blank are printed verbatim. */
static void roff_text(str *t, const char *s)
{
    bool verbatim = false;
    for (size_t n; *s; s += n + (s[n] == '\n')) {
        n = strcspn(s, "\n");
        if (n && (*s == ' ') != verbatim) {
            verbatim = !verbatim;
            str_puts(t, verbatim ? ".PP\n.nf\n" : ".fi\n.PP\n");
        } else if (!n && !verbatim && s[1] != ' ') {
            str_puts(t, ".PP\n");
        }
        roff(t, s, n);
        str_puts(t, n ? "\n" : "");
    }
    str_puts(t, verbatim ? ".fi\n" : "");
}

static void roff_row(str *t, const char *name, const char *says)
{
    str_puts(t, ".TP\n.B ");
    roff(t, name, strlen(name));
    str_puts(t, "\n");
    roff(t, says, strlen(says));
    str_puts(t, "\n");
}

static void roff_option(str *t, const option *o)
{
    str name = {0};
    if (o->letter)
        str_printf(&name, "-%c, ", o->letter);
    str_printf(&name, "%s%s%s", o->name, o->placeholder ? " " : "",
               o->placeholder ? o->placeholder : "");
    roff_row(t, name.s, o->help);
    str_free(&name);
}

static void roff_command(const command *c, void *ctx)
{
    str *t = ctx, head = {0};
    str_printf(&head, "ingot %s%s%s", c->name, *c->usage ? " " : "", c->usage);
    str_puts(t, ".SS ");
    roff(t, head.s, head.n);
    str_puts(t, "\n");
    roff_text(t, c->about);
    for (const option *o = c->options; o->name; o++)
        roff_option(t, o);
    str_free(&head);
}

static void roff_section(str *t, const char *title, const char *const rows[][2], size_t n)
{
    str_printf(t, ".SH %s\n", title);
    for (size_t i = 0; i < n; i++)
        roff_row(t, rows[i][0], rows[i][1]);
}

static void page(str *t)
{
    str_printf(t,
               ".TH INGOT 1 \"\" \"ingot %s\" \"User Commands\"\n"
               ".SH NAME\ningot \\- array programs and CUDA C kernels on the devices of a machine\n"
               ".SH SYNOPSIS\n.B ingot\n.I VERB\n[options] ...\n.SH DESCRIPTION\n"
               "Data goes to standard output, messages to standard error. Every verb has\n"
               ".BR \\-\\-help .\n.SH VERBS\n",
               ig_version());
    for (const verb *v = verbs; v->name; v++)
        command_visit(v, roff_command, t);
    roff_section(t, "ENVIRONMENT", environment, sizeof environment / sizeof *environment);
    roff_section(t, "FILES", files, sizeof files / sizeof *files);
    roff_section(t, "EXAMPLES", examples, sizeof examples / sizeof *examples);
    str_puts(t, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof exits / sizeof *exits; i++) {
        char code[16];
        snprintf(code, sizeof code, "%d", exits[i].code);
        roff_row(t, code, exits[i].says);
    }
}

/* Shows a page on a terminal with the system's formatter: man-db, mandoc (macOS, BSD), groff; or else its source. */
static const char formatter[] =
    "if man -l /dev/null >/dev/null 2>&1; then exec man -l -\n"
    "elif command -v mandoc >/dev/null; then exec mandoc -a\n"
    "elif command -v groff >/dev/null; then groff -man -Tutf8 | ${PAGER:-less -R}\n"
    "else cat; fi";

int verb_man(int argc, char **argv)
{
    const option options[] = {{0}};
    const command c = {
        "man", "",
        "Shows the manual page. In a pipe or a file it is roff source: ingot man > ingot.1",
        options};
    int code = options_read(&c, &argc, argv);
    if (code >= 0)
        return code;
    if (argc > 0) {
        say(&c, "unexpected '%s'; see 'ingot man --help'", argv[0]);
        return EXIT_USAGE;
    }
    str t = {0};
    page(&t);
    FILE *to = isatty(STDOUT_FILENO) ? popen(formatter, "w") : NULL;
    signal(SIGPIPE, SIG_IGN); /* the reader may exit early */
    fputs(t.s, to ? to : stdout);
    str_free(&t);
    return to && pclose(to) != 0 ? EXIT_FAILED : EXIT_FINE;
}
