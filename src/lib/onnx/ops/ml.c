/* ai.onnx.ml: linear models, support vector machines, scalers. */
#include "lib/onnx/ops/ml.h"

#include "lib/onnx/ops/common.h"
#include "lib/onnx/ops/parts.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- shared ---- */

ml_transform ml_transform_of(onnx_call *c)
{
    return (ml_transform)call_attribute_choice(c, "post_transform",
                                               "NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT");
}

/* softmax, in which a score of 0 stays 0. */
static ig_array *softmax_zero(ig_array *x)
{
    ig_array *most = ig_max(x, IG_AXES(-1), true);
    ig_array *some = ig_greater(ig_abs(x), ig_float(1e-7));
    ig_array *e =
        ig_where(some, ig_exp(ig_subtract(x, most)), ig_multiply(x, ig_exp(ig_negative(most))));
    ig_array *sum = ig_sum(e, IG_AXES(-1), IG_DTYPE_NONE, true);
    ig_array *none = ig_equal(sum, ig_float(0));
    return ig_where(none, ig_float(0.5), ig_divide(e, ig_where(none, ig_float(1), sum)));
}

ig_array *ml_transformed(ig_array *scores, ml_transform t)
{
    switch (t) {
    case ML_SOFTMAX: return ig_softmax(scores, IG_AXES(-1));
    case ML_LOGISTIC: return ig_sigmoid(scores);
    case ML_SOFTMAX_ZERO: return softmax_zero(scores);
    case ML_PROBIT:
        return ig_multiply(ig_float(sqrt(2)),
                           ig_erfinv(ig_subtract(ig_multiply(scores, ig_float(2)), ig_float(1))));
    default: return scores;
    }
}

ml_labels ml_labels_of(onnx_call *c, const char *ints, const char *texts)
{
    const ig_ints numbers = call_attribute_ints(c, ints);
    int n = 0;
    const onnx_bytes *words = call_attribute_texts(c, texts, &n);
    if (n > 0)
        return (ml_labels){n, NULL, words};
    return (ml_labels){numbers.n, numbers.v, NULL};
}

void ml_return_labels(onnx_call *c, const ml_labels *labels, ig_array *index)
{
    if (!call_wants(c, 0) || !index)
        return;
    const int64_t rows = ig_size(index);
    if (!labels->texts) {
        call_return(c, 0,
                    labels->n ? ig_take(part_ints(labels->ints, labels->n), index, IG_AXES(0))
                              : index);
        return;
    }
    const int64_t *at = call_read_array(c, index, IG_I64);
    onnx_bytes *texts =
        rows < INT32_MAX / 2 ? (onnx_bytes *)call_room(c, (int)(2 * rows + 1)) : NULL;
    if (!at || !texts)
        return;
    for (int64_t i = 0; i < rows; i++) {
        if (at[i] < 0 || at[i] >= labels->n) {
            call_fail(c, IG_ERR_FORMAT, "classlabels_strings", "class %lld has no label",
                      (long long)at[i]);
            return;
        }
        texts[i] = labels->texts[at[i]];
    }
    call_return_value(c, 0, value_texts(texts, ig_shape(index)));
}

const double *ml_tensor(onnx_call *c, const char *name, int64_t *n)
{
    ig_onnx_value *v = call_attribute_value(c, name);
    ig_array *x = ig_onnx_value_get(v);
    *n = ig_size(x);
    const double *data = x && *n ? call_read_array(c, x, IG_F64) : NULL;
    double *copy = data && *n < INT32_MAX ? (double *)call_room(c, (int)*n) : NULL;
    if (copy)
        memcpy(copy, data, (size_t)*n * sizeof *copy);
    else
        *n = 0;
    ig_onnx_value_release(v);
    return copy;
}

const double *ml_doubles(onnx_call *c, const char *name, int64_t *n)
{
    char tensor[80];
    int count = 0;
    const float *v = call_attribute_floats(c, name, &count);
    snprintf(tensor, sizeof tensor, "%.60s_as_tensor", name);
    const double *wide = ml_tensor(c, tensor, n);
    if (*n)
        return wide;
    double *copy = (double *)call_room(c, count + 1);
    for (int i = 0; i < count && copy; i++)
        copy[i] = (double)v[i];
    *n = copy ? count : 0;
    return copy;
}

ig_array *ml_features(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    if (ig_ndim(x) == 1)
        x = ig_expand_dims(x, IG_AXES(0));
    if (!part_ndim(c, "X", x, 2))
        return NULL;
    return ig_astype(x, ig_dtype_of(x) == IG_F64 ? IG_F64 : IG_F32);
}

/* A list of floats as an array; NULL if it is absent or empty. */
static ig_array *float_list(onnx_call *c, const char *name, int64_t *n)
{
    int count = 0;
    const float *v = call_attribute_floats(c, name, &count);
    *n = count;
    return count ? part_floats(v, count) : NULL;
}

/* ---- linear models ---- */

/* X @ coefficients.T + intercepts: (rows, n). n 0: as many as coefficients have rows. */
static ig_array *linear(onnx_call *c, ig_array *x, int64_t n)
{
    int64_t count, biases;
    ig_array *w = float_list(c, "coefficients", &count), *b = float_list(c, "intercepts", &biases);
    const int64_t features = ig_dim(x, 1);
    if (!x || ig_failed())
        return NULL;
    n = n ? n : features ? count / features : 0;
    if (n < 1 || count != n * features || (biases && biases != n)) {
        call_fail(c, IG_ERR_SHAPE, "coefficients",
                  "has %lld elements for %lld features and %lld results", (long long)count,
                  (long long)features, (long long)n);
        return NULL;
    }
    w = ig_astype(ig_reshape(w, IG_SHAPE(n, features)), ig_dtype_of(x));
    ig_array *y = ig_matmul(x, ig_matrix_transpose(w));
    return b ? ig_add(y, ig_astype(b, ig_dtype_of(x))) : y;
}

void build_linear_regressor(onnx_call *c)
{
    ig_array *y = linear(c, ml_features(c), call_attribute_int(c, "targets", 1));
    call_return(c, 0, ig_astype(ml_transformed(y, ml_transform_of(c)), IG_F32));
}

void build_linear_classifier(onnx_call *c)
{
    const ml_labels labels = ml_labels_of(c, "classlabels_ints", "classlabels_strings");
    const ml_transform transform = ml_transform_of(c);
    ig_array *s = linear(c, ml_features(c), 0), *index;
    call_has_attribute(c, "multi_class"); /* changes nothing */
    if (ig_dim(s, 1) == 1) {
        index = ig_astype(ig_greater(ig_squeeze(s, IG_AXES(1)), ig_float(0)), IG_I64);
        if (labels.n == 2) {
            s = transform == ML_LOGISTIC ? ig_sigmoid(s) : s;
            ig_array *both[2] = {ig_subtract(ig_float(1), s), s};
            call_return(c, 1, ig_astype(ig_concat(both, 2, IG_AXES(1)), IG_F32));
            ml_return_labels(c, &labels, index);
            return;
        } else if (labels.n == 1) {
            call_fail(c, IG_ERR_UNSUPPORTED, "classlabels_ints", "one label for two classes");
        }
    } else {
        index = ig_argmax(s, IG_AXES(1), false);
    }
    ml_return_labels(c, &labels, index);
    call_return(c, 1, ig_astype(ml_transformed(s, transform), IG_F32));
}

/* ---- support vector machines ---- */

/* Kernels of rows x (R, F) and vectors v (V, F): (R, V). */
static ig_array *kernels(onnx_call *c, ig_array *x, ig_array *v, int kernel)
{
    int n = 0;
    const float *p = call_attribute_floats(c, "kernel_params", &n);
    const double gamma = n > 0 ? (double)p[0] : 0, shift = n > 1 ? (double)p[1] : 0;
    const double degree = n > 2 ? (double)p[2] : 0;
    if (kernel == 2) {
        ig_array *d = ig_subtract(ig_expand_dims(x, IG_AXES(1)), v);
        ig_array *sum = ig_sum(ig_square(d), IG_AXES(2), IG_DTYPE_NONE, false);
        return ig_exp(ig_multiply(sum, ig_float(-gamma)));
    }
    ig_array *dot = ig_matmul(x, ig_matrix_transpose(v));
    if (kernel == 0)
        return dot;
    dot = ig_add(ig_multiply(dot, ig_float(gamma)), ig_float(shift));
    return kernel == 3 ? ig_tanh(dot) : ig_pow(dot, ig_float(degree));
}

static int kernel_of(onnx_call *c)
{
    return call_attribute_choice(c, "kernel_type", "LINEAR|POLY|RBF|SIGMOID");
}

/* Support vectors (n, F). */
static ig_array *vectors(onnx_call *c, int64_t n, int64_t features)
{
    int64_t count;
    ig_array *v = float_list(c, "support_vectors", &count);
    if (n > 0 && count == n * features)
        return ig_reshape(v, IG_SHAPE(n, features));
    call_fail(c, IG_ERR_SHAPE, "support_vectors",
              "has %lld elements for %lld vectors of %lld features", (long long)count, (long long)n,
              (long long)features);
    return NULL;
}

void build_svm_regressor(onnx_call *c)
{
    ig_array *x = ig_astype(ml_features(c), IG_F32);
    const int64_t supports = call_attribute_int(c, "n_supports", 0);
    const int kernel = kernel_of(c);
    int64_t n, biases;
    ig_array *w = float_list(c, "coefficients", &n), *rho = float_list(c, "rho", &biases), *y;
    const bool one_class = call_attribute_bool(c, "one_class", false);
    const ml_transform transform = ml_transform_of(c);
    call_has_attribute(c, "support_vectors");
    call_has_attribute(c, "kernel_params");
    if (!x || !w || !rho || n != (supports ? supports : ig_dim(x, 1))) {
        call_fail(c, IG_ERR_SHAPE, "coefficients",
                  "coefficients, rho and support vectors do not match");
        return;
    }
    w = ig_reshape(w, IG_SHAPE(n, 1));
    if (supports)
        y = ig_matmul(kernels(c, x, vectors(c, supports, ig_dim(x, 1)), kernel), w);
    else
        y = ig_matmul(x, w);
    y = ig_add(y, part_slice(rho, 0, 0, 1));
    if (one_class)
        y = ig_where(ig_greater(y, ig_float(0)), ig_float(1), ig_float(-1));
    call_return(c, 0, ig_astype(ml_transformed(y, transform), IG_F32));
}

/* A classifier of several classes: one decision for each pair of classes. */
typedef struct pairs {
    int classes;
    int64_t n, vectors;
    const int64_t *of_class; /* vectors of each class */
    float *weights;          /* (vectors, n): of the decision of each pair */
    float *winner, *loser;   /* (n, classes): 1 at the first and the second class of each pair */
} pairs;

static bool read_pairs(onnx_call *c, pairs *p)
{
    int count = 0;
    const float *w = call_attribute_floats(c, "coefficients", &count);
    p->n = (int64_t)p->classes * (p->classes - 1) / 2;
    p->vectors = 0;
    for (int i = 0; i < p->classes; i++)
        p->vectors += p->of_class[i];
    if (p->vectors < 1 || count != (p->classes - 1) * p->vectors ||
        p->n * (p->vectors + p->classes) > INT32_MAX / 2) {
        call_fail(c, IG_ERR_SHAPE, "coefficients",
                  "has %d elements for %d classes and %lld vectors", count, p->classes,
                  (long long)p->vectors);
        return false;
    }
    p->weights = (float *)call_room(c, (int)(p->vectors * p->n + 1));
    p->winner = (float *)call_room(c, (int)(p->n * p->classes + 1));
    p->loser = (float *)call_room(c, (int)(p->n * p->classes + 1));
    if (!p->weights || !p->winner || !p->loser)
        return false;
    memset(p->weights, 0, (size_t)(p->vectors * p->n) * sizeof(float));
    memset(p->winner, 0, (size_t)(p->n * p->classes) * sizeof(float));
    memset(p->loser, 0, (size_t)(p->n * p->classes) * sizeof(float));
    int64_t pair = 0, first_i = 0;
    for (int i = 0; i < p->classes; first_i += p->of_class[i++]) {
        int64_t first_j = first_i + p->of_class[i];
        for (int j = i + 1; j < p->classes; first_j += p->of_class[j++], pair++) {
            for (int64_t v = first_i; v < first_i + p->of_class[i]; v++)
                p->weights[v * p->n + pair] = w[(j - 1) * p->vectors + v];
            for (int64_t v = first_j; v < first_j + p->of_class[j]; v++)
                p->weights[v * p->n + pair] = w[i * p->vectors + v];
            p->winner[pair * p->classes + i] = p->loser[pair * p->classes + j] = 1;
        }
    }
    return true;
}

/* The sum over j of r[j][t]**2. */
static double quadratic(const double *r, int k, int t)
{
    double sum = 0;
    for (int j = 0; j < k; j++)
        sum += j == t ? 0 : r[j * k + t] * r[j * k + t];
    return sum;
}

/* One row: the class probabilities p that minimize p Q p, where r[i * k + j] is the probability of class i against j. The
 * iteration stops as early as it does in scikit-learn's library (Wu, Lin and Weng 2004, second method), so that results
 * agree with it: the minimum itself differs by up to 1e-3. Qp has room for k numbers. */
static void couple(const double *r, int k, double *p, double *Qp)
{
    const double enough = 0.005 / k;
    const int most = k > 100 ? k : 100;
    for (int t = 0; t < k; t++)
        p[t] = 1.0 / k;
    for (int turn = 0; turn < most; turn++) {
        double all = 0, error = 0;
        for (int t = 0; t < k; t++) {
            Qp[t] = 0;
            for (int j = 0; j < k; j++)
                Qp[t] += j == t ? 0 : -r[j * k + t] * r[t * k + j] * p[j];
            Qp[t] += quadratic(r, k, t) * p[t];
            all += p[t] * Qp[t];
        }
        for (int t = 0; t < k; t++)
            error = fmax(error, fabs(Qp[t] - all));
        if (error < enough)
            return;
        for (int t = 0; t < k; t++) {
            const double q = quadratic(r, k, t), step = (all - Qp[t]) / q;
            p[t] += step;
            all = (all + step * (step * q + 2 * Qp[t])) / (1 + step) / (1 + step);
            for (int j = 0; j < k; j++) {
                const double between = j == t ? q : -r[j * k + t] * r[t * k + j];
                Qp[j] = (Qp[j] + step * between) / (1 + step);
                p[j] /= 1 + step;
            }
        }
    }
}

/* The probabilities (rows, classes) that fit the probabilities of the first class of each pair. They are computed on the
 * host, because each row takes its own number of turns. */
static ig_array *probabilities(onnx_call *c, const pairs *p, ig_array *decisions, ig_array *a,
                               ig_array *b)
{
    const int k = p->classes;
    const int64_t rows = ig_dim(decisions, 0);
    ig_array *r = ig_sigmoid(ig_negative(ig_add(ig_multiply(decisions, a), b)));
    r = ig_clip(r, ig_float(1e-7), ig_float(1 - 1e-7));
    const double *first = call_read_array(c, r, IG_F64);
    if (!first || rows > INT32_MAX / 2 / k) {
        call_fail(c, IG_ERR_MEMORY, NULL, "has too many rows for probabilities");
        return NULL;
    }
    double *out = (double *)call_room(c, (int)rows * k + k * k + k);
    if (!out)
        return NULL;
    double *table = out + rows * k, *Qp = table + (int64_t)k * k;
    for (int64_t row = 0; row < rows; row++, first += p->n) {
        for (int i = 0, pair = 0; i < k; i++)
            for (int j = i + 1; j < k; j++, pair++) {
                table[i * k + j] = first[pair];
                table[j * k + i] = 1 - first[pair];
            }
        couple(table, k, out + row * k, Qp);
    }
    return op_numbers(out, IG_SHAPE(rows, k), IG_F32, decisions);
}

/* Scores and labels of a machine with vectors_per_class. */
static void classify_by_pairs(onnx_call *c, ig_array *x, const ml_labels *labels, ig_ints of_class,
                              int kernel)
{
    pairs p = {.classes = of_class.n, .of_class = of_class.v};
    int64_t biases, n_a, n_b;
    ig_array *rho = float_list(c, "rho", &biases);
    ig_array *a = float_list(c, "prob_a", &n_a), *b = float_list(c, "prob_b", &n_b);
    const ml_transform transform = ml_transform_of(c);
    if (!x || !read_pairs(c, &p))
        return;
    if (biases != p.n || (n_a && (n_a != p.n || n_b != p.n))) {
        call_fail(c, IG_ERR_SHAPE, "rho", "has %lld elements for %lld pairs of classes",
                  (long long)biases, (long long)p.n);
        return;
    }
    ig_array *k = kernels(c, x, vectors(c, p.vectors, ig_dim(x, 1)), kernel);
    ig_array *s =
        ig_add(ig_matmul(k, ig_from_data(p.weights, IG_SHAPE(p.vectors, p.n), IG_F32)), rho);
    ig_array *wins = ig_greater(s, ig_float(0));
    ig_array *votes = ig_add(ig_matmul(ig_astype(wins, IG_F32),
                                       ig_from_data(p.winner, IG_SHAPE(p.n, p.classes), IG_F32)),
                             ig_matmul(ig_astype(ig_logical_not(wins), IG_F32),
                                       ig_from_data(p.loser, IG_SHAPE(p.n, p.classes), IG_F32)));
    ml_return_labels(c, labels, ig_argmax(votes, IG_AXES(1), false));
    if (n_a)
        s = probabilities(c, &p, s, a, b);
    else if (p.n == 1) {
        ig_array *both[2] = {ig_negative(s), s};
        s = ig_concat(both, 2, IG_AXES(1));
    }
    call_return(c, 1, ml_transformed(s, transform));
}

void build_svm_classifier(onnx_call *c)
{
    ig_array *x = ig_astype(ml_features(c), IG_F32);
    const ml_labels labels = ml_labels_of(c, "classlabels_ints", "classlabels_strings");
    const ig_ints of_class = call_attribute_ints(c, "vectors_per_class");
    const int kernel = kernel_of(c);
    int64_t total = 0;
    for (int i = 0; i < of_class.n; i++)
        total += of_class.v[i];
    if (total > 0) {
        classify_by_pairs(c, x, &labels, of_class, kernel);
        return;
    }
    int64_t n, biases;
    ig_array *w = float_list(c, "coefficients", &n), *rho = float_list(c, "rho", &biases);
    const ml_transform transform = ml_transform_of(c);
    const int64_t classes = labels.n ? labels.n : 1;
    call_has_attribute(c, "support_vectors");
    call_has_attribute(c, "kernel_params");
    call_has_attribute(c, "prob_a");
    call_has_attribute(c, "prob_b");
    if (!x || n != classes * ig_dim(x, 1) || biases < 1) {
        call_fail(c, IG_ERR_SHAPE, "coefficients", "coefficients and rho do not match the classes");
        return;
    }
    w = ig_reshape(w, IG_SHAPE(classes, -1));
    ig_array *s = ig_add(ig_matmul(x, ig_matrix_transpose(w)), part_slice(rho, 0, 0, 1));
    ml_return_labels(c, &labels, ig_argmax(s, IG_AXES(1), false));
    call_return(c, 1, ml_transformed(s, transform));
}

/* ---- features ---- */

void build_scaler(onnx_call *c)
{
    ig_array *x = ig_astype(call_array(c, 0), IG_F32);
    int64_t n;
    ig_array *offset = float_list(c, "offset", &n);
    if (n)
        x = ig_subtract(x, offset);
    ig_array *scale = float_list(c, "scale", &n);
    call_return(c, 0, n ? ig_multiply(x, scale) : x);
}

void build_normalizer(onnx_call *c)
{
    ig_array *x = ig_astype(call_array(c, 0), IG_F32), *norm;
    const int kind = call_attribute_choice(c, "norm", "MAX|L1|L2");
    const int axis = ig_ndim(x) == 1 ? 0 : 1;
    if (kind == 0)
        norm = ig_max(ig_abs(x), IG_AXES(axis), true);
    else if (kind == 1)
        norm = ig_sum(ig_abs(x), IG_AXES(axis), IG_DTYPE_NONE, true);
    else
        norm = ig_sqrt(ig_sum(ig_square(x), IG_AXES(axis), IG_DTYPE_NONE, true));
    call_return(c, 0, ig_where(ig_equal(norm, ig_float(0)), x, ig_divide(x, norm)));
}

void build_imputer(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *values;
    const bool whole = !part_is_float(ig_dtype_of(x));
    const ig_ints ints = call_attribute_ints(c, "imputed_value_int64s");
    const double replaced = call_attribute_float(c, "replaced_value_float", 0);
    const int64_t replaced_int = call_attribute_int(c, "replaced_value_int64", 0);
    int64_t n;
    values = float_list(c, "imputed_value_floats", &n);
    if (whole)
        n = ints.n;
    if (!x || n < 1 || (n != 1 && n != ig_dim(x, -1))) {
        call_fail(c, IG_ERR_SHAPE, whole ? "imputed_value_int64s" : "imputed_value_floats",
                  "must have one value, or one for each column");
        return;
    }
    values = ig_astype(whole ? part_ints(ints.v, n) : values, ig_dtype_of(x));
    ig_array *absent = whole             ? ig_equal(x, ig_int(replaced_int))
                       : isnan(replaced) ? ig_isnan(x)
                                         : ig_equal(x, ig_float(replaced));
    call_return(c, 0, ig_where(absent, values, x));
}

void build_binarizer(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    const double threshold = call_attribute_float(c, "threshold", 0);
    ig_array *above = ig_greater(ig_astype(x, part_wide(ig_dtype_of(x))), ig_float(threshold));
    call_return(c, 0, ig_astype(above, ig_dtype_of(x)));
}

void build_feature_vectorizer(onnx_call *c)
{
    const ig_ints widths = call_attribute_ints(c, "inputdimensions");
    const int n = call_inputs(c);
    ig_array **parts = (ig_array **)call_room(c, n + 1);
    for (int i = 0; i < n && parts && !ig_failed(); i++) {
        ig_array *x = ig_astype(call_array(c, i), IG_F32);
        if (ig_ndim(x) == 1)
            x = ig_expand_dims(x, IG_AXES(1));
        if (!part_ndim(c, "X", x, 2))
            return;
        const int64_t width = i < widths.n ? widths.v[i] : ig_dim(x, 1),
                      more = width - ig_dim(x, 1);
        parts[i] = more > 0 ? ig_pad(x, IG_SHAPE(0, 0, 0, more), "constant", ig_float(0))
                            : part_slice(x, 1, 0, width);
    }
    if (!ig_failed() && parts)
        call_return(c, 0, ig_concat(parts, n, IG_AXES(1)));
}
