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

/* The state of one parameter. */
typedef ig_array *slot_list[SLOTS_MAX];

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
    slot_list *state;
    int n; /* number of parameters with state */
    bool
        is_split; /* state holds only this rank's span of each parameter, flat; NULL: an empty span */
    bool divides;   /* the ranks divide the parameters, too (ig_shards_divide) */
    ig_array **sum; /* gradients that ig_step_add has added, for each parameter; NULL: none */
    int n_sum;
    struct shards *shards; /* of data-parallel steps; NULL before the first */

    numbers number[2]; /* in f32 and in f64 */
    ig_array **room;   /* for the lists of a step */
    size_t room_size;
};

/* The learning rate of the step after `steps` steps. */
double schedule_rate(const ig_optimizer *o, int64_t steps);

/* Drops the state of all parameters. */
void optimizer_clear(ig_optimizer *o);

/* ---- parts of a step ---- */

/* Checks that the optimizer can make a step with the model, and the arguments of a step. */
ig_status step_pair_check(const ig_optimizer *o, const ig_model *m);
ig_status step_check(const ig_optimizer *o, const ig_model *m, const ig_array *loss,
                     ig_array *const *also, int n);

/* The gradients of loss with respect to the parameters of m, which are listed in param. */
ig_status step_gradients(const ig_model *m, ig_array *loss, ig_array *const *param,
                         ig_array **grad);

/* Builds the new value of p (out[0]) and its new state (out[1] ...), which the caller releases. p may be a
 * part of a parameter with ndim axes. state: NULL before the first step. value: from rule->numbers. */
ig_status optimizer_update(ig_optimizer *o, const double *value, int ndim, ig_array *p, ig_array *g,
                           ig_array *const *state, ig_array **out);

/* ---- accumulate.c ---- */

/* Adds the sums of ig_step_add, if there are any, to n gradients. */
ig_status accumulate_join(const ig_optimizer *o, ig_array **grad, int n);
void accumulate_drop(ig_optimizer *o);

/* ---- shards.c ---- */

void shards_free(struct shards *s);

/* True after ig_shards_begin in a team of more than one. */
bool shards_in_team(const ig_optimizer *o);

/* The whole state of all parameters as divided arrays, in a list that slots_free frees. Collective. Only for a state that
 * is split. */
ig_status shards_collect(const ig_optimizer *o, const ig_model *m, slot_list **whole);
void slots_free(slot_list *list, int n, int slots);

#endif
