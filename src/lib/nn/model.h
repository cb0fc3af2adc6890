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
    ig_array *next; /* of state: what the next step makes of it, lazy and owned; NULL: it stays */
} entry;

typedef struct entries {
    entry *at;
    int n, room;
    int cursor; /* where the next look-up begins: layers ask in the same order at each step */
} entries;

struct ig_model {
    uint64_t id; /* no other model of the process has it; not 0 */
    uint64_t seed;
    uint32_t words[2]; /* the key of dropout, once drawn */
    bool has_words, training;
    int64_t steps; /* made with this model, by whatever optimizer */
    int64_t draws; /* of dropout since the last step */
    entries param, state;
    char *text; /* of the file that it was loaded from; may be NULL */
};

/* A name in parts that dots join ("block", "query", "weight"), so that no text is built to look for
 * it; unused parts are NULL. */
typedef struct name_parts {
    const char *part[3];
} name_parts;

/* The parameter of that name, new if there is none; NULL on failure. dtype is that of a new one; one
 * that is there may have another. */
ig_array *model_param(ig_model *m, name_parts name, ig_ints shape, ig_dtype dtype, ig_init init,
                      double scale);

/* The same for what is kept but not trained. */
entry *model_state(ig_model *m, name_parts name, ig_ints shape, ig_dtype dtype, ig_init init);

/* A key of its own for each call, until the next step begins the count anew. */
ig_array *model_draw_key(ig_model *m);

/* After a step: what layers left for it has been used, or is void. */
void model_step_end(ig_model *m, bool made);

/* The entry of that whole name among parameters and state, or NULL. */
entry *model_find(const ig_model *m, const char *name);

/* Adds an entry; takes over value, also on failure. */
ig_status model_add(entries *list, const char *name, ig_array *value);
void model_clear(entries *list);
ig_status model_name_check(const char *name);

bool shape_equal(ig_ints a, ig_ints b);
/* "(2, 3)"; returns text. */
enum { SHAPE_TEXT_BYTES = 24 * IG_MAX_NDIM };
const char *shape_text(ig_ints shape, char text[SHAPE_TEXT_BYTES]);

/* The code of the error that waits, which stays; of none: IG_ERR_INTERNAL. */
ig_status error_code(void);

#endif
