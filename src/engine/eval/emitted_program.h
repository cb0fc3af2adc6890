/* A compiled program: emitted.c builds it and emitted_launch.c launches it. */
#ifndef ENGINE_EMITTED_PROGRAM_H
#define ENGINE_EMITTED_PROGRAM_H

#include "engine/eval/emitted.h"
#include "engine/eval/faults.h"
#include "engine/eval/kernel_table.h"
#include "engine/eval/run.h"
#include "engine/emit/emit.h"
#include "engine/program/fault.h"

/* The memory that all programs of a device share: scratch memory of a launch, and the words that report faults. */
typedef struct device_memory {
    const backend *dev;
    buffer *scratch;
    device_faults faults;
} device_memory;

/* program.compiled */
typedef struct emitted_program {
    emitted e;
    native_code *native; /* runs the program, or its core before the kernels; or NULL */
    bool kernels_idle;   /* the native code was faster, and runs the program alone */
    const backend *dev;
    uint64_t scratch_at;         /* offset of its part of the scratch memory */
    int core_slot;               /* slot of the core's values, which are in scratch memory */
    char label[FAULT_OPS_BYTES]; /* the ops of the chain, for messages */
    struct ready_step {
        kernel_row *kernel;
        kernel_code *code; /* the code to launch; NULL: kernel_run launches */
        kernel_arg *args;
        buffer **
            brought; /* for each argument: the device memory of a number in the last launch, or NULL */
    } * step;
    kernel_arg *args; /* arguments of all steps */
    buffer **brought;
    int n_args;
} emitted_program;

/* NULL if there are too many devices. */
device_memory *emitted_memory(const backend *dev);
/* Reserves the device memory that the program needs during a launch. */
ig_status emitted_reserve(const backend *dev, const emitted_program *c);

/* The functions of executor_emitted that are in emitted_launch.c. */
ig_status emitted_arrange(const run *r);
ig_status emitted_reserve_all(const schedule *s, const backend *dev);
ig_status emitted_rebind(const run *r);
ig_status emitted_launch(const run *r, const program *p, uint64_t *device_ns);
ig_status emitted_end(const run *r, ig_status status, bool launched);

#endif
