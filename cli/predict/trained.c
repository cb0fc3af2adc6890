/* Networks that ingot train made. */
#include "predict.h"

#include "../train/train.h"

#include <stdlib.h>
#include <string.h>

typedef struct trained {
    training run;
    ig_model *model;
} trained;

static ig_array *trained_run(network *n, ig_array *x)
{
    const trained *t = n->at;
    ig_array *y = net_run(&t->run, t->model, problem_input(&t->run.problem, x));
    if (y && ig_dim(y, 1) != n->outputs) {
        ig_fail(IG_ERR_FORMAT, "the network gives %lld results, and its file states %lld",
                (long long)ig_dim(y, 1), (long long)n->outputs);
        return NULL;
    }
    return ig_astype(problem_output(&t->run.problem, y), IG_F32);
}

static void trained_close(network *n)
{
    trained *t = n->at;
    ig_model_free(t->model);
    training_free(&t->run);
    free(t);
}

/* White of an image becomes the white of the training, if that had bytes: its input was x / white. */
static void find_scale(network *n, const problem *p)
{
    n->scale.known = p->features == 1 && p->shift[0] == 0;
    for (int i = 0; i < 3 && n->scale.known; i++)
        n->scale.deviation[i] = p->scale[0];
}

int trained_open(network *n, const char *path)
{
    trained *t = heap_get(sizeof *t);
    str why = {0};
    int code = -1;
    t->run.seed = SEED_NONE;
    t->model = ig_model_new(0);
    n->at = t;
    n->run = trained_run;
    n->close = trained_close;
    if (!t->model || ig_model_load(t->model, NULL, path) != IG_OK) {
        fail_library(n->command);
        code = EXIT_INPUT;
    } else if (!training_read(&t->run, ig_model_text(t->model), &why)) {
        say(n->command, "%s: %s", path, why.s);
        code = EXIT_INPUT;
    } else if (t->run.onnx) {
        say(n->command,
            "%s: it is a checkpoint of fine-tuning %s; apply the .onnx file that 'ingot train -o' "
            "wrote",
            path, t->run.onnx);
        code = EXIT_INPUT;
    } else {
        const problem *p = &t->run.problem;
        ig_model_train(t->model, false);
        n->ndim = p->ndim;
        n->outputs = p->outputs;
        n->values = t->run.regression;
        n->names = p->classes.n ? (const char **)p->classes.at : NULL;
        n->encoding = p->encoding.n ? &p->encoding : NULL;
        memcpy(n->shape, p->shape, sizeof n->shape);
        find_scale(n, p);
    }
    str_free(&why);
    return code;
}
