/* Finds the weight that makes a result NaN. See model.h. Weights are searched only after such a result, because reading
 * all of them takes as long as reading the files. */
#include "lib/model/model.h"

#include "base/error.h"

#include <math.h>

/* IG_ERR_FORMAT if the tensor has a NaN or an infinity. */
static ig_status finite_check(weights *w, const char *name, ig_ints shape)
{
    TRY(ig_scope_begin());
    ig_array *x = weights_get(w, name, shape);
    ig_array *wrong = x ? ig_reshape(ig_logical_not(ig_isfinite(x)), IG_SHAPE(ig_size(x))) : NULL;
    const int64_t at = wrong ? (int64_t)ig_item(ig_argmax(wrong, IG_AXES(0), false)) : 0;
    const ig_index place = {.kind = IG_INDEX_INT, .start = at};
    const double value =
        wrong ? ig_item(ig_get(ig_reshape(x, IG_SHAPE(ig_size(x))), &place, 1)) : 0;
    ig_scope_end();
    if (ig_failed())
        return error_waiting(IG_ERR_FORMAT);
    if (isfinite(value))
        return IG_OK;
    FAIL(IG_ERR_FORMAT,
         "'%.200s': the results are NaN, because the tensor '%.100s' has the value %g at element "
         "%lld "
         "(%s); the file is damaged, or its training diverged: copy it again, or use another",
         w->folder, name, value, (long long)at, ig_dtype_name(w->dtype));
}

static ig_status tensor_look(void *context, const char *name, ig_ints shape)
{
    return finite_check(context, name, shape);
}

ig_status ig_text_model_check(ig_text_model *m, ig_array *x)
{
    TRY(require_pointer("ig_text_model_check", "m", m));
    TRY(require_pointer("ig_text_model_check", "x", x));
    TRY(ig_scope_begin());
    const bool wrong = ig_item(ig_any(ig_isnan(x), IG_NONE, false)) != 0;
    ig_scope_end();
    if (ig_failed() || !wrong)
        return error_waiting(IG_OK);
    const model_config *c = &m->config;
    TRY(encoder_tensors(m, tensor_look, &m->weights));
    TRY(head_tensors(m, c->head, head_columns(m, c->head), tensor_look, &m->weights));
    for (int i = 0; i < c->n_steps; i++)
        TRY(vector_step_tensors(&c->steps[i], tensor_look, &c->steps[i].weights));
    FAIL(IG_ERR_UNSUPPORTED,
         "'%.200s': the results are NaN, although all weights are finite: a value overflows in %s; "
         "compute in f32, or find the layer with 'ingot verify --model'",
         m->weights.folder, ig_dtype_name(m->weights.dtype));
}
