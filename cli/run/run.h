/* ingot run for one CUDA C kernel: words -> arguments -> launches -> results. */
#ifndef CLI_RUN_RUN_H
#define CLI_RUN_RUN_H

#include "cli.h"

/* Values of an option that may be given several times. */
typedef struct words {
    const char **v;
    int n;
} words;

/* Removes compiler options from argv, up to "--": options of C++ compilers (-fopenmp, -O3, -Xcompiler A,B),
 * options of nvcc for device code (-use_fast_math), and options that have no meaning here. The lists point
 * into argv. */
void run_take_flags(const command *c, int *argc, char **argv, words *flags, words *device);

/* The arguments of a launch, by name. */
typedef struct run_args {
    ig_arg *v;
    int n;
    char **names;
} run_args;

/* Reads "name=VALUE" for each parameter of k. VALUE is a calculator expression that may use the earlier
 * arguments, "normal:f32[8, n]" (also uniform, zeros, ones, arange), a .npy file or, for a struct or vector,
 * "{1, .y = 2}". An array is converted to the dtype that the parameter points to if that changes no value.
 * Returns -1, or the exit code after reporting a mistake. */
int run_args_read(const command *c, const ig_kernel_info *k, const words *given, uint64_t seed,
                  run_args *out);
void run_args_free(run_args *a);

/* The difference of two arrays of the same shape and dtype. */
typedef struct difference {
    int64_t count; /* elements whose bits differ */
    int64_t first; /* index of the first */
    double ulp;    /* largest: floats in ulp, infinite if only one is NaN; integers a - b */
} difference;

difference run_compare(ig_array *a, ig_array *b);

/* Returns true if a finding is a mistake; f may be NULL. */
bool run_findings_fail(const ig_kernel_findings *f);
/* Prints all findings on stderr; f may be NULL. */
void run_findings_say(const ig_kernel_findings *f);
/* Add members of a JSON object, followed by a comma. */
void run_findings_json(str *t, const ig_kernel_findings *f);
void run_profile_json(str *t, const ig_profile *p);

#endif
