/* A compiled program: what emitted.c makes and emitted_launch.c launches. */
#ifndef ENGINE_EMITTED_PROGRAM_H
#define ENGINE_EMITTED_PROGRAM_H

#include "engine/eval/emitted.h"
#include "engine/eval/faults.h"
#include "engine/eval/kernel_table.h"
#include "engine/eval/run.h"
#include "engine/emit/emit.h"
#include "engine/program/fault.h"

/* What a device has for all programs: memory that lives during a launch, and the words that report faults. */
typedef struct device_memory {
    const backend *dev;
    buffer *scratch;
    device_faults faults;
} device_memory;

/* program.compiled */
typedef struct emitted_program {
    emitted e;
    native_code *native; /* runs the program, or its core before the kernels; or NULL */
    bool kernels_idle;   /* a rival of the kernels has won, and runs the program alone */
    const backend *dev;
    uint64_t scratch_at;         /* where its part of the scratch memory begins */
    int core_slot;               /* stands for the core's values, in scratch */
    int record;                  /* of the chain's first program that may fail */
    char label[FAULT_OPS_BYTES]; /* the ops of the chain, for messages */
    struct ready_step {
        kernel_row *kernel;
        kernel_code *code; /* what the device launches; NULL: kernel_run launches */
        kernel_arg *args;
        buffer **
            brought; /* of each argument: the memory of a number that the last launch read, or NULL */
    } * step;
    kernel_arg *args; /* of all steps */
    buffer **brought;
    int n_args;
} emitted_program;

/* NULL if there are too many devices. */
device_memory *emitted_memory(const backend *dev);
/* Memory of the device for everything that the program needs during a launch. */
ig_status emitted_reserve(const backend *dev, const emitted_program *c);

/* The part of executor_emitted that emitted_launch.c has. */
ig_status emitted_arrange(const run *r);
ig_status emitted_launch(const run *r, const program *p, uint64_t *device_ns);
ig_status emitted_end(const run *r, ig_status status, bool launched);

#endif
