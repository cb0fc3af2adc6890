/* A tool for tests/test_mpi_train.py; not a test by itself. Each rank runs it, under mpirun.
 *
 *   shards_tool SHARDS STEPS SAVE [LOAD]   trains, and saves model and optimizer to SAVE; begins with those of LOAD
 *   shards_tool divide SHARDS STEPS SAVE [LOAD]   the same with divided parameters
 *   shards_tool memory whole|divide        trains a deep network; prints the bytes of parameters, and of array data: "rank: all,
 *                                          own part, most of whole arrays at a time, all array data"
 *   shards_tool arrays                     evaluates expressions of divided arrays, and compares with whole ones
 *   shards_tool fail RANK                  a step in which the layers of that rank fail; prints why it ended
 *   shards_tool sum SHARDS                 prints a digest of sums of arrays over shards, in each rank
 *   shards_tool differ                     ranks have models with different parameters
 *
 * The model has parameters in f32, bf16 and f64, some larger than a piece, a batch norm and dropout. The optimizer
 * clips gradients. */
#include "ingot.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 30, WIDTH = 37 };

static ig_array *net(ig_model *m, ig_array *x)
{
    x = ig_nn_batch_norm(m, "norm", ig_nn_linear(m, "in", x, 61, true), 0.1, 1e-5);
    x = ig_nn_dropout(m, ig_relu(x), 0.25);
    x = ig_relu(ig_nn_linear(m, "half", ig_astype(x, IG_BF16), 40, true));
    x = ig_nn_batch_norm(m, "norm2", ig_astype(x, IG_F64), 0.2, 1e-5);
    return ig_nn_linear(m, "out", x, 3, true);
}

/* The mean square error of samples [from, to). */
static ig_array *loss_of(ig_model *m, int step, int64_t from, int64_t to)
{
    ig_array *key = ig_fold_in(ig_key(5, NULL), step),
             *rows = ig_arange((double)from, (double)to, 1, IG_I64);
    ig_array *x = ig_normal(key, IG_SHAPE(SAMPLES, WIDTH), IG_F32, NULL, NULL);
    x = ig_take(x, rows, IG_AXES(0));
    ig_array *y = ig_astype(ig_take(x, ig_arange(0, 3, 1, IG_I64), IG_AXES(1)), IG_F64);
    return ig_mse(net(m, x), y, NULL);
}

static ig_status step(ig_optimizer *o, ig_model *m, int shards, int number)
{
    int first = 0, end = 0;
    double loss, count;
    if (ig_shards_begin(o, m, shards, &first, &end) != IG_OK)
        return IG_ERR_INTERNAL;
    for (int k = first; k < end; k++) {
        const int64_t from = (int64_t)SAMPLES * k / shards,
                      to = (int64_t)SAMPLES * (k + 1) / shards;
        ig_scope_begin();
        ig_array *size = ig_scalar((double)(to - from), IG_F64);
        const ig_status status = ig_shards_add(o, m, loss_of(m, number, from, to),
                                               (double)(to - from) / SAMPLES, &size, 1);
        ig_scope_end();
        if (status != IG_OK)
            return status;
    }
    const ig_status status = ig_shards_step(o, m, &loss, &count, 1);
    if (status == IG_OK && ig_team_rank() == 0)
        printf("%.17g %g\n", loss, count);
    return status;
}

static ig_optimizer *make(void)
{
    ig_optimizer *o = ig_adamw(0.01, 0.9, 0.99, 1e-8, 0.1);
    ig_optimizer_clip(o, 0.3);
    ig_optimizer_decay_ndim(o, 2);
    ig_schedule_cosine(o, 20, 0.1);
    return o;
}

/* Creates the parameters in all ranks, also in those without a shard. */
static void create(ig_model *m)
{
    ig_scope_begin();
    loss_of(m, 0, 0, 4);
    ig_scope_end();
    ig_model_train(m, true);
}

static ig_status train(ig_model *m, ig_optimizer *o, char **words, int n)
{
    const bool divide = strcmp(words[0], "divide") == 0;
    words += divide;
    n -= divide;
    create(m);
    ig_status status = n > 3 ? ig_model_load(m, o, words[3]) : IG_OK;
    if (status == IG_OK && divide)
        status = ig_shards_divide(o, m);
    const int last = atoi(words[1]);
    for (int i = (int)ig_optimizer_steps(o); i < last && status == IG_OK; i++)
        status = step(o, m, atoi(words[0]), i);
    return status == IG_OK ? ig_model_save(m, o, "a text", words[2]) : status;
}

/* ---- memory ---- */

enum { DEEP = 8, SIDE = 300 };

static ig_array *deep_loss(ig_model *m, int64_t rows)
{
    ig_array *x = ig_ones(IG_SHAPE(rows, SIDE), IG_F32);
    for (int i = 0; i < DEEP; i++) {
        char name[16];
        snprintf(name, sizeof name, "layer%d", i);
        x = ig_relu(ig_nn_linear(m, name, x, SIDE, false));
    }
    return ig_mean(x, IG_NONE, false);
}

static ig_status deep_step(ig_optimizer *o, ig_model *m)
{
    int first = 0, end = 0;
    ig_status status = ig_shards_begin(o, m, ig_team_size(), &first, &end);
    for (int k = first; k < end && status == IG_OK; k++) {
        ig_scope_begin();
        status = ig_shards_add(o, m, deep_loss(m, 4), 1.0 / ig_team_size(), NULL, 0);
        ig_scope_end();
    }
    return status == IG_OK ? ig_shards_step(o, m, NULL, NULL, 0) : status;
}

static ig_status memory(ig_model *m, ig_optimizer *o, bool divide)
{
    uint64_t own, most;
    ig_scope_begin();
    deep_loss(m, 4);
    ig_scope_end();
    ig_status status = divide ? ig_shards_divide(o, m) : IG_OK;
    for (int i = 0; i < 3 && status == IG_OK; i++)
        status = deep_step(o, m);
    ig_team_divided_bytes(&own, &most);
    if (status == IG_OK)
        printf("%d: %d %llu %llu %llu\n", ig_team_rank(), DEEP * SIDE * SIDE * 4,
               (unsigned long long)own, (unsigned long long)most,
               (unsigned long long)ig_memory_used());
    return status;
}

/* ---- divided arrays ---- */

static bool same(ig_array *a, ig_array *b)
{
    return ig_item(ig_all(ig_equal(a, b), IG_NONE, false)) == 1;
}

/* Each rank evaluates other expressions, as often as it likes. */
static ig_status arrays(void)
{
    static const int64_t sizes[] = {1, 2, 5, 64, 1000};
    bool right = true;
    for (int i = 0; i < 5 && ig_scope_begin() == IG_OK; i++) {
        ig_array *key = ig_fold_in(ig_key(3, NULL), i);
        ig_array *whole = ig_normal(key, IG_SHAPE(sizes[i], 7), IG_F32, NULL, NULL);
        ig_array *x = ig_scope_forget(ig_add(whole, ig_float(0)));
        if (ig_team_divide(&x, 1) != IG_OK)
            return IG_ERR_INTERNAL;
        right = right && ig_team_is_divided(x) == (ig_team_size() > 1);
        for (int k = 0; k <= ig_team_rank(); k++) {
            ig_array *t = ig_permute_dims(x, IG_AXES(1, 0));
            right = right &&
                    same(ig_matmul(t, x), ig_matmul(ig_permute_dims(whole, IG_AXES(1, 0)), whole));
            right = right && same(ig_sum(x, IG_AXES(0), IG_F32, false),
                                  ig_sum(whole, IG_AXES(0), IG_F32, false));
        }
        right =
            right && ig_data(x) && memcmp(ig_data(x), ig_data(whole), (size_t)sizes[i] * 28) == 0;
        ig_release(x);
        ig_scope_end();
    }
    if (ig_team_join(NULL, 0, NULL) != IG_OK)
        return IG_ERR_INTERNAL;
    uint64_t own;
    ig_team_divided_bytes(&own, NULL);
    printf("rank %d: %s, %llu bytes\n", ig_team_rank(), right ? "right" : "wrong",
           (unsigned long long)own);
    return IG_OK;
}

static ig_status fail(ig_model *m, ig_optimizer *o, int rank)
{
    create(m);
    if (ig_team_rank() == rank)
        ig_add(NULL, NULL);
    return step(o, m, ig_team_size(), 0);
}

static ig_status differ(ig_model *m, ig_optimizer *o)
{
    create(m);
    if (ig_team_rank() == 0)
        ig_model_param(m, "other", IG_SHAPE(3), IG_F32, IG_INIT_ONES, 1);
    return step(o, m, 1, 0); /* the last rank has the shard, so this parameter needs no gradient */
}

/* Every rank prints the same: sums of many sizes, some smaller than a piece. */
static ig_status sum(int shards)
{
    enum { ARRAYS = 4, MOST = 64 };
    static const int64_t sizes[ARRAYS] = {5000, 1, 1024, 77};
    static const ig_dtype dtypes[ARRAYS] = {IG_F32, IG_F64, IG_BF16, IG_F32};
    ig_array *like[ARRAYS], *sums[ARRAYS], *terms[ARRAYS * MOST];
    int first = 0, end = 0;
    ig_status status = ig_shards_own(shards, &first, &end);
    for (int i = 0; i < ARRAYS; i++)
        like[i] = ig_zeros(IG_SHAPE(sizes[i]), dtypes[i]);
    for (int k = first; k < end && status == IG_OK; k++)
        for (int i = 0; i < ARRAYS; i++) {
            ig_array *key = ig_fold_in(ig_key(21, NULL), k * ARRAYS + i);
            ig_array *x = ig_normal(key, IG_SHAPE(sizes[i]), IG_F32, NULL, NULL);
            terms[(k - first) * ARRAYS + i] = ig_astype(x, dtypes[i]);
        }
    if (status == IG_OK)
        status = ig_shards_sum(shards, like, ARRAYS, terms, sums);
    char line[ARRAYS * 17 + 1] = "";
    for (int i = 0; i < ARRAYS && status == IG_OK; i++) {
        const unsigned char *data = ig_data(sums[i]);
        const size_t bytes = (size_t)sizes[i] * ig_dtype_bytes(dtypes[i]);
        uint64_t digest = 0;
        for (size_t k = 0; k < bytes; k++)
            digest = digest * 1000003 + data[k];
        snprintf(line + 17 * i, sizeof line - 17 * (size_t)i, "%016llx%c",
                 (unsigned long long)digest, i + 1 < ARRAYS ? ' ' : '\n');
    }
    fputs(line, stdout); /* at once: lines of ranks must not mix */
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 2 || ig_team_begin() != IG_OK) {
        fprintf(stderr, "shards_tool: %s\n", ig_failed() ? ig_error(NULL) : "no arguments");
        return 2;
    }
    ig_model *m = ig_model_new(11);
    ig_optimizer *o = make();
    const ig_status status = strcmp(argv[1], "fail") == 0     ? fail(m, o, atoi(argv[2]))
                             : strcmp(argv[1], "sum") == 0    ? sum(atoi(argv[2]))
                             : strcmp(argv[1], "differ") == 0 ? differ(m, o)
                             : strcmp(argv[1], "arrays") == 0 ? arrays()
                             : strcmp(argv[1], "memory") == 0
                                 ? memory(m, o, strcmp(argv[2], "divide") == 0)
                                 : train(m, o, argv + 1, argc - 1);
    if (status != IG_OK)
        printf("rank %d ended: %s\n", ig_team_rank(), ig_error(NULL));
    fflush(stdout);
    ig_optimizer_free(o);
    ig_model_free(m);
    if (ig_team_end() != IG_OK)
        ig_error(NULL);
    ig_shutdown();
    return status != IG_OK;
}
