/* The loop of ingot train gpt and ingot train vision: steps over samples in an order drawn from the seed, tests, lines, checkpoints and
 * the ranks of mpirun. A run is a function of its settings and its data, so that a run which continues has the bits of one that was
 * never stopped. */
#ifndef CLI_TRAIN_LOOP_H
#define CLI_TRAIN_LOOP_H

#include "loop_log.h"

#include <ingot.h>

/* Samples of one batch. */
typedef struct loop_batch {
    const int64_t *list; /* their numbers */
    int64_t n;
    int64_t epoch, first; /* the place of list[0] in the order of the epoch */
} loop_batch;

/* What is trained. Functions get the `at` of the loop. Those that return an int return -1, or the exit code after a message. */
typedef struct loop_task {
    const char *unit; /* what speed counts: "tokens", "images" */
    /* Opens the data: sets samples, held and units of the loop. */
    int (*open)(void *at);
    /* Creates the parameters, which are those of the folder `model` unless it is NULL, and sets flops. */
    ig_status (*build)(void *at);
    ig_optimizer *(*optimizer)(void *at);
    /* Adds the settings that decide the bits of the result, a line for each. */
    void (*settings)(void *at, str *s);
    /* The mean loss of a batch; NULL after a message or a failure of the library. */
    ig_array *(*loss)(void *at, const loop_batch *b);
    /* The batch after the next one, so that its data can be prepared; NULL: none or not needed. */
    void (*expect)(void *at, const loop_batch *b);
    bool (*test)(void *at, loop_score *score);
    ig_status (*save)(void *at, const char *folder); /* the model */
    int (*sample)(void *at);                         /* shows what the model can do; may be NULL */
} loop_task;

typedef struct train_loop {
    const command *command;
    const loop_task *task;
    void *at;
    /* options */
    const char *save, *model, *log, *dtype;
    int64_t batch, accumulate, steps, epochs, warmup, every, save_every;
    int64_t patience; /* tests in sequence that may be worse than the best; 0: any number */
    double lr, last, clip, decay, hold;
    uint64_t seed;
    bool resume, quiet, json, explain;
    engine_options engine;
    /* by the task */
    int64_t samples, held; /* to learn from, and for tests */
    int64_t units;         /* of the data, for the result */
    double units_each;     /* of a sample */
    double flops;          /* operations of the products for a sample, forward and backward */
    /* of the run */
    ig_model *net;
    ig_optimizer *optimizer;
    loop_log lines;
    int64_t epoch_steps; /* steps of a pass over the samples */
    struct {
        int64_t epoch; /* of the list; -1: none */
        int64_t *list;
    } order[2];
    int64_t begun; /* the step that this run began with */
    bool stopped;
    double loss;
    loop_score score;
    double best;   /* the least loss of a test, if there was one */
    int64_t since; /* tests since the best, and that one; 0: there was none */
} train_loop;

/* The settings that the options below do not give. */
#define LOOP_DEFAULTS \
    .dtype = "f32", .accumulate = 1, .every = 10, .save_every = 1000, \
    .order = {{.epoch = -1}, {.epoch = -1}}

bool option_float_dtype(const char *s, void *place);

/* clang-format off */
#define LOOP_OPTIONS(l) \
    {"--save", 0, "DIR", option_text, &(l).save, "the folder that gets the model and a checkpoint"}, \
    {"--save-every", 0, "N", option_count, &(l).save_every, "steps between checkpoints (1000)"}, \
    FLAG("--resume", &(l).resume, "continues from the checkpoint in --save"), \
    {"--dtype", 0, "f32|bf16", option_float_dtype, &(l).dtype, \
     "the dtype of the computation; parameters are f32 (f32)"}, \
    {"--accumulate", 0, "N", option_count, &(l).accumulate, \
     "batches of a step, which mpirun divides among its ranks (1)"}, \
    {"--steps", 0, "N", option_count, &(l).steps, "steps of the run (--epochs)"}, \
    {"--warmup", 0, "N", option_count, &(l).warmup, "steps until --lr is reached (a twentieth of all)"}, \
    {"--patience", 0, "N", option_count, &(l).patience, \
     "stops after N such tests in sequence without a better loss, and saves the best model"}, \
    {"--seed", 0, "N", option_seed, &(l).seed, "the seed of all random numbers (0)"}, \
    {"--log", 0, "FILE", option_text, &(l).log, "adds a JSON object in a line for each report"}, \
    {"--log-every", 0, "N", option_count, &(l).every, "steps between reports (10)"}, \
    FLAG("--json", &(l).json, "prints JSON, schema 1"), \
    FLAG("--explain", &(l).explain, "prints the schedule of a step instead of training"), \
    FLAG("--quiet", &(l).quiet, "prints nothing while it trains"), \
    ENGINE_OPTIONS((l).engine)
/* clang-format on */

/* Trains. Returns the exit code. */
int loop_run(train_loop *l);
void loop_free(train_loop *l);

/* The path of a file in the folder of --save. */
const char *loop_path(const train_loop *l, const char *name, char path[4096]);

/* The library's error, or the exit code of a message that was shown. */
int loop_failed(const train_loop *l);

#endif
