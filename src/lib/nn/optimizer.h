/* The parts of an optimizer: a rule, its settings, and its state for each parameter. */
#ifndef NN_OPTIMIZER_H
#define NN_OPTIMIZER_H

#include "lib/nn/model.h"

enum { SLOTS_MAX = 2, NUMBERS_MAX = 5 };

/* What tells one optimizer from another. numbers says, in double, what one step needs: they become
 * scalars, data to the engine, so that all steps have one schedule. update builds the new value of a
 * parameter and writes its new state to next; all its arrays are f32, or f64 for f64 parameters. */
typedef struct rule {
    const char *kind;
    const char *slot[SLOTS_MAX]; /* what is remembered of each parameter; files use these names */
    int n_numbers;
    void (*numbers)(const ig_optimizer *o, double rate, double *number);
    ig_array *(*update)(const ig_optimizer *o, ig_array *const *number, ig_array *p, ig_array *g,
                        ig_array *const *state, ig_array **next);
} rule;

extern const rule rule_sgd, rule_adam, rule_adamw, rule_rmsprop, rule_lion;

/* Numbers of the last step, and scalars that hold them. */
typedef struct numbers {
    double value[NUMBERS_MAX];
    ig_array *array[NUMBERS_MAX];
} numbers;

typedef enum decline { DECLINE_NONE, DECLINE_COSINE, DECLINE_LINEAR, DECLINE_STEP } decline;

struct ig_optimizer {
    const rule *rule;
    double lr, beta1, beta2, eps, decay; /* beta1 is the momentum of those who have one */
    bool nesterov;
    int slots; /* in use */

    int64_t warmup, total; /* total: also the length of a step of DECLINE_STEP */
    double last;           /* also the factor */
    decline decline;
    double max_norm; /* 0: gradients are not clipped */
    int decay_ndim;  /* parameters with fewer axes do not decay */

    int64_t steps;
    uint64_t owner; /* id of the model whose parameters state belongs to; 0: there is none yet */
    ig_array *(*state)[SLOTS_MAX];
    int n; /* of parameters with state */

    numbers number[2]; /* in f32 and in f64 */
    ig_array **room;   /* where a step lists its arrays */
    size_t room_size;
};

/* The rate of the step that follows `steps` others. */
double schedule_rate(const ig_optimizer *o, int64_t steps);

/* Gives up the state of all parameters. */
void optimizer_clear(ig_optimizer *o);

#endif
