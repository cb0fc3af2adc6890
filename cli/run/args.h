/* Reads arguments of kernels: shared by args.c and structs.c. */
#ifndef CLI_RUN_ARGS_H
#define CLI_RUN_ARGS_H

#include "calc/calc.h"
#include "run/run.h"

typedef struct args_reader {
    const command *command;
    const ig_kernel_info *kernel;
    calc *calc;
    uint64_t seed;
} args_reader;

/* Evaluates a calculator expression. Returns -1, or the exit code after reporting a mistake. */
int args_compute(const args_reader *r, const char *parameter, const char *program, value *out);
/* A number as an array of one element; NULL if the dtype cannot represent it. */
ig_array *args_number(const value *v, ig_dtype dtype);

/* "{1, .y = 2}" as bytes, which the caller frees; -1 or an exit code. */
int run_struct_read(const args_reader *r, const ig_kernel_param *p, const char *text, ig_arg *out);
/* Records of a .npy file as u8[n, bytes per record]; *out is NULL if the file holds something else. */
int run_records_read(const args_reader *r, const ig_kernel_param *p, const char *path,
                     ig_array **out);

#endif
