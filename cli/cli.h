/* The command: its verbs, their options and exit codes. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "str.h"

#include <ingot.h>

enum {
    EXIT_FINE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_REGRESSION = 3,
    EXIT_ABSENT = 4, /* a device or feature is missing */
    EXIT_INPUT = 5,  /* a file cannot be read or written, or is invalid */
    EXIT_INTERRUPTED = 130
};

/* ---- options.c ---- */

/* An option of a verb. Without a placeholder it is a flag. Shells complete the value: a file for "FILE", a folder for
 * "DIR", a name for "OP", "DTYPE", "DEVICE" (runs arrays) and "DEVICES" (runs kernels), and one of the words for
 * "mlp|cnn". --out is short for --output. */
typedef struct option {
    const char *name; /* "--full" */
    char letter;      /* "-f", or 0 */
    const char *placeholder;
    /* Parses the value into place; returns false if it does not match the placeholder. */
    bool (*read)(const char *s, void *place);
    void *place;
    const char *help;
} option;

bool option_flag(const char *s, void *place);     /* bool; s is NULL */
bool option_text(const char *s, void *place);     /* const char * */
bool option_threads(const char *s, void *place);  /* int, at least 1 */
bool option_count(const char *s, void *place);    /* int64_t, at least 1 */
bool option_seed(const char *s, void *place);     /* uint64_t */
bool option_rate(const char *s, void *place);     /* double above 0 */
bool option_share(const char *s, void *place);    /* double in [0, 1) */
bool option_bytes(const char *s, void *place);    /* uint64_t: 512MiB, 4GiB, 2GB, 1000000 */
bool option_memory(const char *s, void *place);   /* memory_option */
bool option_math(const char *s, void *place);     /* const char *: the name of an ig_math */
bool option_fallback(const char *s, void *place); /* fallback_option: error, warn or auto */

/* A verb's description for the help. */
typedef struct command {
    const char *name; /* "eval" */
    /* "[options] EXPRESSION". Shells complete lower-case words literally, upper-case words as placeholders, and all
     * other words as files. */
    const char *usage;
    const char *about;
    const option *options; /* ends with a row without a name */
} command;

/* Parses the options and removes them from argv; *argc is the number of words left. Returns -1 to continue, or the exit
 * code after showing --help or reporting an error. */
int options_read(const command *c, int *argc, char **argv);

/* True if the word is an option whose value is the next word. */
bool option_takes_next(const command *c, const char *word);

/* The verbs, in the order of the help; the last row has no name. Each verb calls options_read with its command before
 * anything else; command_visit relies on that. */
typedef struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *about;
} verb;
extern const verb verbs[];
/* The arguments of a verb that have a separate command, joined by blanks: "text" of "train text". "": none. */
const char *verb_parts(const verb *v);
/* Copies the first part of *parts to part and moves *parts to the next. False at the end. */
bool verb_part_next(const char **parts, char part[32]);

/* Calls visit with the verb's command and with the commands of its parts, without running the verb. */
void command_visit(const verb *v, void (*visit)(const command *c, void *ctx), void *ctx);

typedef struct fallback_option {
    bool given;
    ig_fallback policy;
} fallback_option;

/* --memory-limit: bytes for the host and each device, or a list of limits such as "cpu=8GiB,cuda:0=2GiB". */
typedef struct memory_option {
    uint64_t bytes;
    const char *list;
} memory_option;

/* Options shared by many verbs: where and how arrays are computed. */
typedef struct engine_options {
    int threads;
    memory_option memory_limit;
    fallback_option fallback;
    const char *device, *trace, *math;
} engine_options;

/* clang-format off */
#define ENGINE_OPTIONS(e) ENGINE_OPTIONS_ON(e, "DEVICE", "the device that computes (cpu), or a list: cpu,cuda:0")
#define FALLBACK_OPTION(e) \
    {"--fallback", 0, "error|warn|auto", option_fallback, &(e).fallback, \
     "what the device cannot run: an error, or the CPU runs it (error)"}
#define ENGINE_OPTIONS_ON(e, devices, about_devices) \
    {"--threads", 0, "N", option_threads, &(e).threads, "threads of the CPU device"}, \
    {"--memory-limit", 0, "SIZE", option_memory, &(e).memory_limit, \
     "bytes that arrays may hold (512MiB, 4GiB), or by device: cpu=8GiB,cuda:0=2GiB"}, \
    {"--device", 0, devices, option_text, &(e).device, about_devices}, \
    MATH_OPTION(e), \
    FALLBACK_OPTION(e), \
    {"--trace", 0, "FILE", option_text, &(e).trace, "writes a timeline for ui.perfetto.dev"}

#define MATH_OPTION(e) \
    {"--math", 0, "strict|same|tf32", option_math, &(e).math, \
     "how matrix products add: fastest IEEE order, the CPU's bits, or tf32 (strict)"}

#define FLAG(name, place, help) {name, 0, NULL, option_flag, place, help}
/* clang-format on */

/* The name of this thread's math mode, such as "strict". */
const char *math_name(void);

/* Applies the options. Returns -1 to continue, or the exit code. */
int engine_apply(const command *c, const engine_options *e);
/* Lists what the CPU ran in place of a device: a line for each op and reason. With json, a list. */
void fallback_text(str *t, bool json);

/* Prints "ingot eval: message" on stderr. */
void say(const command *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The exit code for a library error. */
int exit_for(int status);

/* Reports the library's error and returns its exit code. Cancellation by Ctrl-C is not reported. */
int fail_library(const command *c);

/* Writes a file atomically: an existing file stays until all of t is on the disk. Returns false, with the reason in
 * *why. */
bool write_file(const char *path, const str *t, str *why);
/* Checks that a file can be written, before a long computation. Does not change path. `name` is the option's. Returns
 * -1, or the exit code after reporting an error. */
int write_check(const command *c, const char *name, const char *path);

/* Saves named arrays as .npz or .safetensors, or only the first one in any other file type. Returns the exit code. */
int arrays_save(const command *c, const char *path, const char *const *names,
                ig_array *const *arrays, int n);

/* True if output may have colors: on terminals, unless NO_COLOR is set. */
bool color_for(FILE *file);

/* ---- the verbs: argv[0] is the verb ---- */

int verb_answer(int argc, char **argv);
int verb_bench(int argc, char **argv);
int verb_classify(int argc, char **argv);
int verb_compare(int argc, char **argv);
int verb_completion(int argc, char **argv);
int verb_devices(int argc, char **argv);
int verb_doctor(int argc, char **argv);
int verb_embed(int argc, char **argv);
int verb_eval(int argc, char **argv);
int verb_fill(int argc, char **argv);
int verb_chat(int argc, char **argv);
int verb_generate(int argc, char **argv);
int verb_man(int argc, char **argv);
int verb_nvcc(int argc, char **argv);
int verb_onnx(int argc, char **argv);
int verb_ops(int argc, char **argv);
int verb_perplexity(int argc, char **argv);
int verb_predict(int argc, char **argv);
int verb_quantize(int argc, char **argv);
int verb_report(int argc, char **argv);
int verb_run(int argc, char **argv);
int verb_serve(int argc, char **argv);
int verb_selftest(int argc, char **argv);
int verb_tokens(int argc, char **argv);
int verb_train(int argc, char **argv);
int verb_translate(int argc, char **argv);
int verb_verify(int argc, char **argv);

/* The op after `op` in the order of classes; the first one for NULL; NULL after the last. */
const ig_op *ops_next(const ig_op *op);

/* ops_list adds all ops by class. ops_describe adds the details of one op; false if there is none of that name. */
void ops_list(str *t);
bool ops_describe(str *t, const char *name);
void ops_nearest(str *t, const char *name);

#endif
