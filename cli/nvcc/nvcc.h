/* ingot nvcc: the parts of the command. nvcc.c runs a build, options.c reads its words, unit.c compiles one file, tell.c
 * prints what other build tools read, toolkit.c writes a folder that they take for CUDA's. */
#ifndef CLI_NVCC_NVCC_H
#define CLI_NVCC_NVCC_H

#include "cuda/compile.h"

typedef enum nvcc_mode {
    NVCC_LINK,
    NVCC_OBJECTS,      /* -c, -dc */
    NVCC_ARCHIVE,      /* -lib */
    NVCC_DEVICE_LINK,  /* -dlink: an empty object; device code is linked when the program starts */
    NVCC_PREPROCESS,   /* -E */
    NVCC_DEPENDENCIES, /* -M, -MM */
    NVCC_RUN,          /* -run */
    NVCC_CPP,          /* -cuda: the host code as preprocessed C++ */
    NVCC_PTX, /* -ptx, -cubin, -fatbin: an image of the device code, which is the same text for all */
    NVCC_CUBIN,
    NVCC_FATBIN
} nvcc_mode;

/* An input, in the order of the command line: a source, an object, a library, or an option of the linker. */
typedef enum nvcc_kind { INPUT_CUDA, INPUT_C, INPUT_CPP, INPUT_LINKED } nvcc_kind;

typedef struct nvcc_input {
    char *word;
    nvcc_kind kind;
    char *object; /* of a source */
} nvcc_input;

/* A build. Lists of words end with NULL. */
typedef struct nvcc_job {
    const command *c;
    nvcc_mode mode;
    nvcc_input *inputs;
    int n_inputs;
    word_list defines, undefines, folders, systems; /* -D, -U, -I, -isystem */
    word_list host;                                 /* options of the host's compiler */
    word_list device;                               /* options for NVRTC */
    word_list archiver, run_args;
    const char *output, *output_folder, *language, *standard, *compiler, *library;
    const char *archive_command;
    const char *rule_file, *rule_target; /* -MF, -MT */
    const char *optimize;
    bool writes_rules, rules_without_system, rules_phony; /* -MD, -MMD, -MP */
    bool linked, shared, forwards, says_commands, dry;
    const char *toolkit; /* --toolkit: the folder to write */
    int answer;          /* if not 0: print the help, version or lists, and end */
    str folder;          /* a temporary folder */
    compiler tools;
} nvcc_job;

static inline bool nvcc_writes_image(const nvcc_job *j) { return j->mode >= NVCC_PTX; }

enum { NVCC_SAYS_HELP = 1, NVCC_SAYS_VERSION, NVCC_SAYS_ARCHITECTURES };

/* options.c: reads the words into the job. Returns -1, or the exit code after reporting a mistake. */
int nvcc_read(nvcc_job *j, int argc, char **argv);
void nvcc_free(nvcc_job *j);
/* Adds the options, for --help. */
void nvcc_list_options(str *t);

/* unit.c: compiles one input to its object, or preprocesses it or lists its dependencies. Returns -1 or the exit code. */
int nvcc_compile(nvcc_job *j, nvcc_input *in);
/* Runs a command and shows its messages. Returns -1, or the exit code. */
int nvcc_run(nvcc_job *j, const word_list *w);

/* tell.c: what nvcc prints and build tools read. */
void nvcc_say_version(void);
void nvcc_say_environment(const nvcc_job *j);
/* A command, as -v and --dryrun print it. */
void nvcc_say_command(const nvcc_job *j, const char *const *words);
/* The folder that --toolkit wrote and through which this command was started, or NULL. */
const char *nvcc_toolkit(void);

/* toolkit.c: writes the folder. Returns the exit code. */
int nvcc_write_toolkit(nvcc_job *j);

#endif
