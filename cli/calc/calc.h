/* The array calculator: text -> values. lex -> parse -> calc (-> call, index, builtin) -> print.
 *
 * Parse a program, then step through its statements. The values of a statement live until the next step,
 * unless they are assigned to names. After a mistake, parse again. */
#ifndef CLI_CALC_H
#define CLI_CALC_H

#include "calc/syntax.h"

typedef struct calc calc;

typedef struct calc_options {
    bool no_files;         /* refuse load and save */
    bool explains;         /* save explains instead */
    bool eager;            /* assignments evaluate their value at once, ... */
    bool last_lazy;        /* ... except in the last statement */
    bool full;             /* print() never shortens */
    FILE *out;             /* where print() writes; NULL: nowhere */
    bool history;          /* a later program may call grad on values of this one */
    int64_t size_most;     /* refuse arrays of more elements; 0: no limit */
    int grads_most;        /* refuse more calls of grad; 0: no limit */
    bool (*stopped)(void); /* loops ask it before each step, and end if it is true; or NULL */
} calc_options;

calc *calc_new(const calc_options *options);
void calc_free(calc *c);

/* Replaces the program. False: see calc_mistake. */
bool calc_parse(calc *c, const char *source);

bool calc_more(const calc *c);     /* there are more statements */
bool calc_assigned(const calc *c); /* the last step gives nothing to print, such as an assignment */
void calc_mute(calc *c, bool mute); /* print() prints nothing */

/* Runs the next statement. calc_again runs the last one again, with a new graph. The value is lazy, and valid until
 * the next step. */
bool calc_step(calc *c, value *out);
bool calc_again(calc *c, value *out);

/* Assigns the value of the last statement to the name _. */
void calc_remember(calc *c, const value *v);

/* The i-th variable, attribute of arrays, or constant; NULL past the last. */
const char *calc_name_at(const calc *c, int i, const value **v);
const char *calc_attribute_at(int i);
const char *calc_constant_at(int i);

/* Converts a list to an array. With compute, also evaluates all arrays of the value together. A mistake
 * points at the statement. */
bool calc_settle(calc *c, value *v, bool compute);

/* Runs a whole program, evaluates its last value and discards it. For tests and fuzzing. */
bool calc_run(calc *c, const char *source);

/* The mistake of the last call that returned false. */
const mistake *calc_mistake(const calc *c);

/* Adds "name:1:14: message", the line, and a caret under the mistake. */
void calc_describe(const calc *c, str *t, const char *source_name, bool color);

/* Writes v to a file, in the format of its suffix. */
ig_status file_save(const calc *c, const char *path, const value *v);

/* The calculator's own functions, such as load; NULL past the last. */
enum { BUILTIN_PARAMS = 3 };
typedef struct builtin {
    const char *name;
    const char *params[BUILTIN_PARAMS]; /* if empty, run reads the arguments itself */
    int required;
    const char *signature, *doc;
    bool (*run)(calc *c, const expr *n, const value *args, value *out);
} builtin;
const builtin *calc_builtin_at(int i);

/* ---- print: arrays as NumPy prints them ---- */

/* Evaluates v and adds its text; false with the library's error set. */
bool print_value(str *t, const value *v, bool full);

/* Adds a short description of v: "f32 (2, 3)" for an array. */
void print_brief(str *t, const value *v);

/* Adds the shortest decimal that reads back as f in dtype, like str() of a NumPy scalar. */
void print_float(str *t, double f, ig_dtype dtype);

/* Adds "dtype": ..., "shape": ..., "value": ... of v; false with the library's error set. */
bool json_value(str *t, const value *v);

#endif
