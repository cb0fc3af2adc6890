/* The parts of an optimizer: a rule, its settings, and its state for each parameter. */
#ifndef NN_OPTIMIZER_H
#define NN_OPTIMIZER_H

#include "lib/nn/model.h"

enum { SLOTS_MAX = 2, NUMBERS_MAX = 5 };

/* The parts that differ between optimizers. numbers computes, in double, the numbers that one step needs. They
 * become scalars, which are data to the engine, so all steps share one schedule. update builds the new value of a
 * parameter and writes its new state to next. All its arrays are f32, or f64 for f64 parameters. */
typedef struct rule {
    const char *kind;
    const char *slot[SLOTS_MAX]; /* names of the state kept per parameter, also used in files */
    int n_numbers;
    void (*numbers)(const ig_optimizer *o, double rate, double *number);
    ig_array *(*update)(const ig_optimizer *o, ig_array *const *number, ig_array *p, ig_array *g,
                        ig_array *const *state, ig_array **next);
} rule;

extern const rule rule_sgd, rule_adam, rule_adamw, rule_rmsprop, rule_lion;

/* Numbers of the last step, and the scalars that hold them. */
typedef struct numbers {
    double value[NUMBERS_MAX];
    ig_array *array[NUMBERS_MAX];
} numbers;

typedef enum decline { DECLINE_NONE, DECLINE_COSINE, DECLINE_LINEAR, DECLINE_STEP } decline;

struct ig_optimizer {
    const rule *rule;
    double lr, beta1, beta2, eps, decay; /* beta1 is the momentum in rules that have one */
    bool nesterov;
    int slots; /* in use */

    int64_t warmup, total; /* total: for DECLINE_STEP, the length of a step */
    double last;           /* for DECLINE_STEP, the factor */
    decline decline;
    double max_norm; /* 0: gradients are not clipped */
    int decay_ndim;  /* no weight decay for parameters with fewer axes */

    int64_t steps;
    uint64_t owner; /* id of the model that state belongs to; 0: none yet */
    ig_array *(*state)[SLOTS_MAX];
    int n; /* number of parameters with state */

    numbers number[2]; /* in f32 and in f64 */
    ig_array **room;   /* for the lists of a step */
    size_t room_size;
};

/* The learning rate of the step after `steps` steps. */
double schedule_rate(const ig_optimizer *o, int64_t steps);

/* Drops the state of all parameters. */
void optimizer_clear(ig_optimizer *o);

#endif
