/* The parts of a model: its parameters and its state, each a list of named arrays.
 *
 * The arrays are leaves outside of every scope. The model owns the only reference to their memory, so a
 * step may overwrite it. */
#ifndef NN_MODEL_H
#define NN_MODEL_H

#include "ingot.h"

typedef struct entry {
    char *name;
    ig_array *value;
    ig_array *part; /* of a divided parameter: the elements of this rank, flat; NULL: none */
    ig_array *next; /* of state: its value after the next step, lazy and owned; NULL: unchanged */
} entry;

typedef struct entries {
    entry *at;
    int n, room;
    int cursor; /* where the next look-up begins: layers look up in the same order at each step */
} entries;

struct ig_model {
    uint64_t id; /* unique in the process; not 0 */
    uint64_t seed;
    uint32_t words[2]; /* the key of dropout, once drawn */
    bool has_words, training;
    ig_dtype mixed; /* the dtype that layers compute in; IG_F32: the dtype of x */
    int64_t steps;  /* made with this model, by any optimizer */
    int64_t draws;  /* dropout keys drawn since the last step */
    int shard;      /* of a data-parallel step; else 0 */
    entries param, state;
    bool is_divided; /* the ranks keep parts of the parameters; their values are divided arrays */
    char *text;      /* of the file that it was loaded from; may be NULL */
};

/* A name in parts that dots join ("block", "query", "weight"), so that a look-up builds no text. Unused
 * parts are NULL. */
typedef struct name_parts {
    const char *part[3];
} name_parts;

/* The parameter of that name, created if there is none; NULL on failure. dtype is for a new parameter; an
 * existing one may have another. With mixed precision it is f32, and the result is a copy. */
ig_array *model_param(ig_model *m, name_parts name, ig_ints shape, ig_dtype dtype, ig_init init,
                      double scale);

/* x as layers compute with it; NULL if x is NULL. */
ig_array *model_input(const ig_model *m, ig_array *x);

/* The same for state, which is kept but not trained. */
entry *model_state(ig_model *m, name_parts name, ig_ints shape, ig_dtype dtype, ig_init init);

/* A different key for each call. A step restarts the count of calls. */
ig_array *model_draw_key(ig_model *m);

/* A leaf with the elements of x in its own memory. The caller releases it. NULL on failure. */
ig_array *model_own(ig_array *x);

/* Ends a step: if it was made, state becomes its `next` value; otherwise `next` is discarded. */
void model_step_end(ig_model *m, bool made);

/* The entry with this full name among parameters and state, or NULL. */
entry *model_find(const ig_model *m, const char *name);

/* Adds an entry; takes ownership of value, also on failure. */
ig_status model_add(entries *list, const char *name, ig_array *value);
void model_clear(entries *list);
ig_status model_name_check(const char *name);

bool shape_equal(ig_ints a, ig_ints b);
/* "(2, 3)"; returns text. */
enum { SHAPE_TEXT_BYTES = 24 * IG_MAX_NDIM };
const char *shape_text(ig_ints shape, char text[SHAPE_TEXT_BYTES]);

/* The code of the pending error, which stays pending; IG_ERR_INTERNAL if there is none. */
ig_status error_code(void);

#endif
