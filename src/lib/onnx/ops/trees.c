/* Ensembles of trees, for all rows and trees at once.
 *
 * All nodes and leaves of an ensemble are numbered together; a leaf is its own successor. Trees (T) and rows (R) start
 * at the roots (T, R). Each step looks up the nodes' features and splits, and goes to the next nodes; after as many steps
 * as the deepest tree has, all are at leaves. The votes of a leaf are pairs of a target and a weight.
 */
#include "lib/onnx/ops/ml.h"
#include "lib/onnx/ops/ops.h"
#include "lib/onnx/ops/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, MODES };
enum { TARGETS_FEW = 8 };
enum { FEATURE_BITS = 20, FEATURES_MOST = 1 << FEATURE_BITS }; /* see feature_and_next */

typedef struct forest {
    onnx_call *call;
    int64_t nodes; /* with leaves */
    int64_t trees;
    int64_t *feature, *mode, *yes, *no, *missing,
        *root; /* yes and no: the next node; of a leaf: itself */
    double *split;
    int64_t depth; /* steps to the deepest leaf */
    bool
        paired; /* the node after yes is no, and no condition holds for a leaf, whose yes is the node before it */
    bool used[MODES], misses;
    /* Sets of BRANCH_MEMBER: the row of a node in members (sets, longest set), padded with NaN. */
    int64_t *set, sets, longest;
    double *members;
    /* Votes of node i: [i * most, (i + 1) * most). Unused ones have weight 0 and target -1. */
    int64_t most, targets;
    int64_t *target;
    double *weight;
} forest;

static void *room(forest *f, int64_t n)
{
    if (n < 0 || n > INT32_MAX - 1) {
        call_fail(f->call, IG_ERR_UNSUPPORTED, NULL, "the ensemble is too large");
        return NULL;
    }
    return call_room(f->call, (int)n + 1);
}

static bool forest_new(forest *f, onnx_call *c, int64_t nodes)
{
    *f = (forest){.call = c, .nodes = nodes};
    int64_t **const lists[] = {&f->feature, &f->mode, &f->yes, &f->no,
                               &f->missing, &f->root, &f->set};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (!(*lists[i] = room(f, nodes)))
            return false;
        memset(*lists[i], 0, (size_t)nodes * sizeof(int64_t));
    }
    f->split = room(f, nodes);
    if (!f->split)
        return false;
    for (int64_t i = 0; i < nodes; i++)
        f->yes[i] = f->no[i] = i;
    return true;
}

/* Walks all trees level by level. Each inner node may be reached once. */
static bool measure(forest *f, int64_t features)
{
    const int64_t widest = 2 * f->nodes + f->trees;
    int64_t *level = room(f, widest), *next = room(f, widest), *seen = room(f, f->nodes),
            n = f->trees;
    if (!level || !next || !seen)
        return false;
    memset(seen, 0, (size_t)f->nodes * sizeof *seen);
    memcpy(level, f->root, (size_t)n * sizeof *level);
    for (f->depth = 0;; f->depth++) {
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = level[i];
            if (f->yes[at] == at)
                continue;
            if (seen[at]++ || f->feature[at] < 0 || f->feature[at] >= features) {
                call_fail(f->call, IG_ERR_FORMAT, "nodes",
                          "node %lld is reached twice, or its feature is out of range",
                          (long long)at);
                return false;
            }
            f->used[f->mode[at]] = true;
            f->misses |= f->missing[at] != 0;
            next[count++] = f->yes[at];
            next[count++] = f->no[at];
        }
        if (!count)
            return true;
        int64_t *done = level;
        level = next;
        next = done;
        n = count;
    }
}

/* Takes node `from` of another numbering as node `to`. */
static void copy_node(forest *f, int64_t to, const forest *g, int64_t from)
{
    f->feature[to] = g->feature[from];
    f->mode[to] = g->mode[from];
    f->missing[to] = g->missing[from];
    f->split[to] = g->split[from];
    memcpy(f->target + to * f->most, g->target + from * f->most,
           (size_t)f->most * sizeof *f->target);
    memcpy(f->weight + to * f->most, g->weight + from * f->most,
           (size_t)f->most * sizeof *f->weight);
}

/* Numbers the nodes anew, tree by tree and level by level, so that a step looks up one successor only. A leaf compares with
 * NaN. Changes nothing if a condition could hold for NaN. */
static bool pair_nodes(forest *f, int64_t features)
{
    const int64_t most = 2 * f->nodes + f->trees;
    forest g = *f;
    int64_t n = 0;
    if (f->used[NEQ] || f->used[MEMBER] || features > FEATURES_MOST)
        return true;
    int64_t *from = room(f, most), *target = room(f, most * f->most);
    double *weight = room(f, most * f->most);
    if (!from || !target || !weight || !forest_new(f, g.call, most))
        return false;
    int64_t *const root = f->root;
    f->target = target;
    f->weight = weight;
    f->most = g.most;
    for (int64_t t = 0; t < g.trees; t++) {
        root[t] = n;
        from[n++] = g.root[t];
        for (int64_t i = root[t]; i < n; i++) {
            const int64_t at = from[i];
            copy_node(f, i, &g, at);
            f->no[i] = g.yes[at] == at ? i : n + 1;
            if (g.yes[at] == at) {
                f->split[i] = NAN;
                continue;
            }
            from[n++] = g.yes[at];
            from[n++] = g.no[at];
        }
    }
    f->nodes = n;
    f->trees = g.trees;
    f->depth = g.depth;
    f->misses = g.misses;
    memcpy(f->used, g.used, sizeof f->used);
    f->targets = g.targets;
    f->paired = true;
    return true;
}

/* ---- on arrays ---- */

/* Numbers on the current device, which may lack f64: the CPU converts them. */
static ig_array *doubles(const double *v, int64_t n, ig_dtype dtype)
{
    ig_array *host = ig_to_device(ig_from_data(v, IG_SHAPE(n), IG_F64), "cpu");
    return ig_to_device(ig_astype(host, dtype), ig_device());
}

static ig_array *at_nodes(const int64_t *v, int64_t n, ig_array *node)
{
    return ig_take(part_ints(v, n), node, IG_AXES(0));
}

static ig_array *compare(int mode, ig_array *x, ig_array *split)
{
    switch (mode) {
    case LEQ: return ig_less_equal(x, split);
    case LT: return ig_less(x, split);
    case GTE: return ig_greater_equal(x, split);
    case GT: return ig_greater(x, split);
    case EQ: return ig_equal(x, split);
    default: return ig_not_equal(x, split);
    }
}

static ig_array *is_member(const forest *f, ig_array *x, ig_array *node)
{
    ig_array *table = ig_reshape(doubles(f->members, f->sets * f->longest, ig_dtype_of(x)),
                                 IG_SHAPE(f->sets, f->longest));
    ig_array *sets = ig_take(table, at_nodes(f->set, f->nodes, node), IG_AXES(0));
    return ig_any(ig_equal(sets, ig_expand_dims(x, IG_AXES(2))), IG_AXES(2), false);
}

/* bool (T, R): the condition of each node holds. */
static ig_array *holds(const forest *f, ig_array *x, ig_array *node, ig_array *split)
{
    ig_array *result = NULL, *mode = NULL;
    for (int i = 0; i < MODES; i++) {
        if (!f->used[i])
            continue;
        ig_array *one = i == MEMBER ? is_member(f, x, node) : compare(i, x, split);
        if (result && !mode)
            mode = at_nodes(f->mode, f->nodes, node);
        result = result ? ig_where(ig_equal(mode, ig_int(i)), one, result) : one;
    }
    if (f->misses) {
        ig_array *missing = ig_not_equal(at_nodes(f->missing, f->nodes, node), ig_int(0));
        result = ig_logical_or(result, ig_logical_and(missing, ig_isnan(x)));
    }
    return result;
}

/* The feature of each node in the low bits, and its second successor in the others. */
static ig_array *feature_and_next(const forest *f)
{
    int64_t *both = room((forest *)f, f->nodes);
    for (int64_t i = 0; i < f->nodes && both; i++)
        both[i] = f->no[i] * FEATURES_MOST + f->feature[i];
    return both ? part_ints(both, f->nodes) : NULL;
}

/* The leaves (R, T) of rows x (R, features). Nodes are (T, R) on the way, so that the tables of a tree stay in a cache. */
static ig_array *descend(const forest *f, ig_array *x)
{
    const ig_ints shape = IG_SHAPE(f->trees, ig_dim(x, 0));
    ig_array *node =
        ig_broadcast_to(ig_expand_dims(part_ints(f->root, f->trees), IG_AXES(1)), shape);
    ig_array *splits = doubles(f->split, f->nodes, ig_dtype_of(x)),
             *columns = ig_matrix_transpose(x);
    ig_array *both = f->paired ? feature_and_next(f) : NULL;
    for (int64_t i = 0; i < f->depth; i++) {
        ig_array *next = f->paired ? ig_take(both, node, IG_AXES(0)) : NULL;
        ig_array *feature = f->paired ? ig_bitwise_and(next, ig_int(FEATURES_MOST - 1))
                                      : at_nodes(f->feature, f->nodes, node);
        ig_array *value = ig_take_along_axis(columns, feature, 0);
        ig_array *yes = holds(f, value, node, ig_take(splits, node, IG_AXES(0)));
        node = f->paired ? ig_subtract(ig_bitwise_right_shift(next, ig_int(FEATURE_BITS)),
                                       ig_astype(yes, IG_I64))
                         : ig_where(yes, at_nodes(f->yes, f->nodes, node),
                                    at_nodes(f->no, f->nodes, node));
    }
    return ig_matrix_transpose(node);
}

/* The sums (R, targets) for few targets: a table of weights for each of them, in which all leaves have one. */
static ig_array *sums_of_few(const forest *f, ig_array *leaf, ig_dtype dtype)
{
    ig_array *sums[TARGETS_FEW];
    ig_array *node = ig_matrix_transpose(leaf); /* in the order of memory */
    double *weight = room((forest *)f, f->nodes);
    for (int64_t t = 0; t < f->targets && weight; t++) {
        memset(weight, 0, (size_t)f->nodes * sizeof *weight);
        for (int64_t i = 0; i < f->nodes * f->most; i++)
            weight[i / f->most] += f->target[i] == t ? f->weight[i] : 0;
        ig_array *table = doubles(weight, f->nodes, dtype);
        sums[t] = ig_sum(ig_take(table, node, IG_AXES(0)), IG_AXES(0), dtype, false);
    }
    return weight ? ig_stack(sums, (int)f->targets, 1) : NULL;
}

/* The sum, or the smallest or largest weight, of each target: (R, targets). */
static ig_array *aggregate(const forest *f, ig_array *leaf, int function, ig_dtype dtype)
{
    const int64_t rows = ig_dim(leaf, 0), votes = f->trees * f->most;
    const ig_ints shape = IG_SHAPE(f->nodes, f->most), flat = IG_SHAPE(rows, votes);
    if (function < 2 && f->targets <= TARGETS_FEW) {
        ig_array *sum = sums_of_few(f, leaf, dtype);
        return function ? sum : ig_divide(sum, ig_float((double)f->trees));
    }
    ig_array *target = ig_reshape(part_ints(f->target, f->nodes * f->most), shape);
    ig_array *weight = ig_reshape(doubles(f->weight, f->nodes * f->most, dtype), shape);
    target = ig_reshape(ig_take(target, leaf, IG_AXES(0)), flat);
    weight = ig_reshape(ig_take(weight, leaf, IG_AXES(0)), flat);
    if (function < 2) {
        ig_array *none = ig_zeros(IG_SHAPE(rows, f->targets), dtype);
        ig_array *sum = ig_scatter_add(none, ig_maximum(target, ig_int(0)), weight, 1);
        return function ? sum : ig_divide(sum, ig_float((double)f->trees));
    }
    ig_array **out = room((forest *)f, f->targets);
    for (int64_t i = 0; i < f->targets && out; i++) {
        ig_array *own = ig_equal(target, ig_int(i)),
                 *other = ig_float(function == 2 ? INFINITY : -INFINITY);
        ig_array *some = ig_where(own, weight, other);
        some = function == 2 ? ig_min(some, IG_AXES(1), false) : ig_max(some, IG_AXES(1), false);
        out[i] = ig_where(ig_any(own, IG_AXES(1), false), some, ig_float(0));
    }
    return out ? ig_stack(out, (int)f->targets, 1) : NULL;
}

/* ---- TreeEnsembleClassifier and TreeEnsembleRegressor ---- */

typedef struct named_node {
    int64_t tree, node, index;
} named_node;

static int by_name(const void *a, const void *b)
{
    const named_node *x = a, *y = b;
    if (x->tree != y->tree)
        return x->tree < y->tree ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* The index of a node by the numbers of its tree and itself; -1 if there is none. */
static int64_t named(const named_node *list, int64_t n, int64_t tree, int64_t node)
{
    const named_node key = {tree, node, 0};
    const named_node *found = bsearch(&key, list, (size_t)n, sizeof key, by_name);
    return found ? found->index : -1;
}

static int mode_of(const onnx_bytes *name)
{
    static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                        "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    for (int i = 0; i < 6; i++)
        if (name->n == strlen(names[i]) && memcmp(name->at, names[i], name->n) == 0)
            return i;
    return name->n == 4 && memcmp(name->at, "LEAF", 4) == 0 ? MODES : -1;
}

static bool same_length(onnx_call *c, const char *name, int64_t n, int64_t expected)
{
    if (n == expected)
        return true;
    call_fail(c, IG_ERR_FORMAT, name, "has %lld elements instead of %lld", (long long)n,
              (long long)expected);
    return false;
}

static bool read_nodes(forest *f, onnx_call *c, named_node **list)
{
    const ig_ints tree = call_attribute_ints(c, "nodes_treeids"),
                  id = call_attribute_ints(c, "nodes_nodeids");
    const ig_ints yes = call_attribute_ints(c, "nodes_truenodeids"),
                  no = call_attribute_ints(c, "nodes_falsenodeids");
    const ig_ints feature = call_attribute_ints(c, "nodes_featureids");
    const ig_ints missing = call_attribute_ints(c, "nodes_missing_value_tracks_true");
    int n_modes;
    int64_t n_splits;
    const onnx_bytes *modes = call_attribute_texts(c, "nodes_modes", &n_modes);
    const double *splits = ml_doubles(c, "nodes_values", &n_splits);
    const int64_t n = tree.n;
    call_has_attribute(c, "nodes_hitrates");
    call_has_attribute(c, "nodes_hitrates_as_tensor");
    if (ig_failed() || !same_length(c, "nodes_nodeids", id.n, n) ||
        !same_length(c, "nodes_truenodeids", yes.n, n) ||
        !same_length(c, "nodes_falsenodeids", no.n, n) ||
        !same_length(c, "nodes_featureids", feature.n, n) ||
        !same_length(c, "nodes_modes", n_modes, n) ||
        !same_length(c, "nodes_values", n_splits, n) ||
        (missing.n && !same_length(c, "nodes_missing_value_tracks_true", missing.n, n)) ||
        !forest_new(f, c, n) || !(*list = room(f, 3 * n)))
        return false;
    for (int64_t i = 0; i < n; i++) {
        (*list)[i] = (named_node){tree.v[i], id.v[i], i};
        f->split[i] = splits[i];
        f->feature[i] = feature.v[i];
        f->missing[i] = missing.n ? missing.v[i] : 0;
        bool first = true; /* trees are listed one after another */
        for (int64_t j = 0; j < f->trees && first; j++)
            first = tree.v[f->root[f->trees - 1 - j]] != tree.v[i];
        if (first)
            f->root[f->trees++] = i;
    }
    qsort(*list, (size_t)n, sizeof **list, by_name);
    for (int64_t i = 0; i < n; i++) {
        const int mode = mode_of(&modes[i]);
        if (mode == MODES)
            continue;
        f->mode[i] = mode;
        f->yes[i] = named(*list, n, tree.v[i], yes.v[i]);
        f->no[i] = named(*list, n, tree.v[i], no.v[i]);
        if (mode < 0 || f->yes[i] < 0 || f->no[i] < 0 || f->yes[i] == i) {
            call_fail(c, IG_ERR_FORMAT, "nodes_modes", "node %lld has no mode or no successor",
                      (long long)i);
            return false;
        }
    }
    return true;
}

/* Votes of the attributes prefix_treeids, prefix_nodeids, prefix_ids and prefix_weights. */
static bool read_votes(forest *f, onnx_call *c, const char *prefix, const named_node *list,
                       bool *positive, bool *one_target)
{
    char name[64];
    ig_ints lists[3];
    static const char *const ends[] = {"treeids", "nodeids", "ids"};
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s_%s", prefix, ends[i]);
        lists[i] = call_attribute_ints(c, name);
    }
    int64_t n;
    snprintf(name, sizeof name, "%s_weights", prefix);
    const double *weights = ml_doubles(c, name, &n);
    for (int i = 0; i < 3; i++)
        if (ig_failed() || !same_length(c, name, lists[i].n, n))
            return false;
    int64_t *node = room(f, n), *count = room(f, f->nodes);
    if (n < 1)
        call_fail(c, IG_ERR_FORMAT, name, "there are no votes");
    if (!node || !count || n < 1)
        return false;
    memset(count, 0, (size_t)f->nodes * sizeof *count);
    *positive = *one_target = true;
    f->most = 1;
    for (int64_t i = 0; i < n; i++) {
        node[i] = named(list, f->nodes, lists[0].v[i], lists[1].v[i]);
        if (node[i] < 0 || lists[2].v[i] < 0 || lists[2].v[i] >= f->targets) {
            call_fail(c, IG_ERR_FORMAT, name, "vote %lld has no node or no target", (long long)i);
            return false;
        }
        *positive = *positive && weights[i] >= 0;
        *one_target = *one_target && lists[2].v[i] == lists[2].v[0];
        if (++count[node[i]] > f->most)
            f->most = count[node[i]];
    }
    f->target = room(f, f->nodes * f->most);
    f->weight = room(f, f->nodes * f->most);
    if (!f->target || !f->weight)
        return false;
    for (int64_t i = 0; i < f->nodes * f->most; i++) {
        f->target[i] = -1;
        f->weight[i] = 0;
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        const int64_t at = node[i] * f->most + --count[node[i]];
        f->target[at] = lists[2].v[i];
        f->weight[at] = weights[i];
    }
    return true;
}

/* The first numbers of base_values, or NULL. */
static ig_array *base_values(onnx_call *c, ig_dtype dtype, int64_t *n)
{
    const double *base = ml_doubles(c, "base_values", n);
    return *n ? doubles(base, *n, dtype) : NULL;
}

static bool plant(forest *f, onnx_call *c, const char *prefix, int64_t targets, ig_array *x,
                  bool *positive, bool *one_target)
{
    named_node *list = NULL;
    if (!x || targets < 1 || !read_nodes(f, c, &list))
        return false;
    f->targets = targets;
    return read_votes(f, c, prefix, list, positive, one_target) && measure(f, ig_dim(x, 1)) &&
           pair_nodes(f, ig_dim(x, 1));
}

void build_tree_regressor(onnx_call *c)
{
    forest f;
    bool positive, one_target;
    int64_t n_base;
    ig_array *x = ml_features(c);
    const int function = call_attribute_choice(c, "aggregate_function", "SUM|AVERAGE|MIN|MAX");
    const ml_transform transform = ml_transform_of(c);
    ig_array *base = base_values(c, ig_dtype_of(x), &n_base);
    if (!plant(&f, c, "target", call_attribute_int(c, "n_targets", 1), x, &positive, &one_target))
        return;
    const int order[] = {1, 0, 2, 3};
    ig_array *y = aggregate(&f, descend(&f, x), order[function], ig_dtype_of(x));
    if (n_base && (n_base == 1 || same_length(c, "base_values", n_base, f.targets)))
        y = ig_add(y, base);
    call_return(c, 0, ig_astype(ml_transformed(y, transform), IG_F32));
}

/* Scores (R, 2) of two classes from the votes s (R, 1) for one of them. Weights that are all positive are
 * probabilities of the second class. Only LOGISTIC is applied. */
static ig_array *binary_scores(ig_array *s, bool positive, ml_transform transform)
{
    if (transform == ML_PROBIT)
        return ml_transformed(s, transform);
    ig_array *other =
        positive && transform != ML_LOGISTIC ? ig_subtract(ig_float(1), s) : ig_negative(s);
    ig_array *both[2] = {other, s}, *scores = ig_concat(both, 2, IG_AXES(1));
    return transform == ML_LOGISTIC ? ml_transformed(scores, transform) : scores;
}

void build_tree_classifier(onnx_call *c)
{
    forest f;
    bool positive, one_target;
    int64_t n_base;
    ig_array *x = ml_features(c);
    const ml_labels labels = ml_labels_of(c, "classlabels_int64s", "classlabels_strings");
    const ml_transform transform = ml_transform_of(c);
    ig_array *base = base_values(c, ig_dtype_of(x), &n_base);
    if (!plant(&f, c, "class", labels.n, x, &positive, &one_target))
        return;
    ig_array *s = aggregate(&f, descend(&f, x), 1, ig_dtype_of(x)), *index;
    if (labels.n == 2 && one_target) {
        const int64_t target = call_attribute_ints(c, "class_ids").v[0];
        if (n_base > 1 || (n_base && target))
            call_fail(c, IG_ERR_UNSUPPORTED, "base_values",
                      "with votes for one of two classes needs one value, and class 0");
        ig_array *votes = part_slice(s, 1, target, target + 1);
        votes = n_base ? ig_add(votes, base) : votes;
        index = ig_astype(ig_greater(ig_squeeze(votes, IG_AXES(1)), ig_float(positive ? 0.5 : 0)),
                          IG_I64);
        s = target ? ml_transformed(s, transform) : binary_scores(votes, positive, transform);
    } else {
        if (n_base && (n_base == 1 || same_length(c, "base_values", n_base, f.targets)))
            s = ig_add(s, base);
        index = ig_argmax(s, IG_AXES(1), false);
        s = ml_transformed(s, transform);
    }
    ml_return_labels(c, &labels, index);
    call_return(c, 1, ig_astype(s, IG_F32));
}

/* ---- TreeEnsemble ---- */

/* Members of the sets of BRANCH_MEMBER nodes, in order of the nodes; NaN ends a set. */
static bool read_members(forest *f, int64_t nodes)
{
    int64_t n, length = 0, sets = 0;
    const double *v = ml_tensor(f->call, "membership_values", &n);
    for (int64_t i = 0; i < nodes; i++)
        if (f->mode[i] == MEMBER)
            f->set[i] = f->sets++;
    f->longest = 1;
    for (int64_t i = 0; i < n; i++) {
        length = isnan(v[i]) ? 0 : length + 1;
        sets += isnan(v[i]);
        f->longest = length > f->longest ? length : f->longest;
    }
    if (!same_length(f->call, "membership_values", sets + (length > 0), f->sets))
        return false;
    f->members = room(f, f->sets * f->longest);
    for (int64_t i = 0; i < f->sets * f->longest && f->members; i++)
        f->members[i] = NAN;
    length = sets = 0;
    for (int64_t i = 0; i < n && f->members; i++) {
        if (!isnan(v[i]))
            f->members[sets * f->longest + length++] = v[i];
        else
            sets++, length = 0;
    }
    return f->members != NULL;
}

static bool read_ensemble(forest *f, onnx_call *c)
{
    const ig_ints feature = call_attribute_ints(c, "nodes_featureids"),
                  roots = call_attribute_ints(c, "tree_roots");
    const ig_ints yes = call_attribute_ints(c, "nodes_truenodeids"),
                  no = call_attribute_ints(c, "nodes_falsenodeids");
    const ig_ints yes_leaf = call_attribute_ints(c, "nodes_trueleafs"),
                  no_leaf = call_attribute_ints(c, "nodes_falseleafs");
    const ig_ints missing = call_attribute_ints(c, "nodes_missing_value_tracks_true");
    const ig_ints target = call_attribute_ints(c, "leaf_targetids");
    int64_t n_modes, n_splits, n_weights;
    const double *modes = ml_tensor(c, "nodes_modes", &n_modes);
    const double *splits = ml_tensor(c, "nodes_splits", &n_splits);
    const double *weights = ml_tensor(c, "leaf_weights", &n_weights);
    const int64_t n = feature.n, targets = call_attribute_int(c, "n_targets", 1);
    call_has_attribute(c, "nodes_hitrates");
    if (ig_failed() || !same_length(c, "nodes_modes", n_modes, n) ||
        !same_length(c, "nodes_splits", n_splits, n) ||
        !same_length(c, "nodes_truenodeids", yes.n, n) ||
        !same_length(c, "nodes_falsenodeids", no.n, n) ||
        !same_length(c, "nodes_trueleafs", yes_leaf.n, n) ||
        !same_length(c, "nodes_falseleafs", no_leaf.n, n) ||
        !same_length(c, "leaf_weights", n_weights, target.n) ||
        (missing.n && !same_length(c, "nodes_missing_value_tracks_true", missing.n, n)) ||
        !forest_new(f, c, n + target.n))
        return false;
    for (int64_t i = 0; i < n; i++) {
        const bool is_leaf[2] = {yes_leaf.v[i] != 0, no_leaf.v[i] != 0};
        const int64_t next[2] = {yes.v[i], no.v[i]};
        for (int j = 0; j < 2; j++)
            if (next[j] < 0 || next[j] >= (is_leaf[j] ? target.n : n) ||
                !(modes[i] >= 0 && modes[i] < MODES)) {
                call_fail(c, IG_ERR_FORMAT, "nodes_modes", "node %lld has no mode or no successor",
                          (long long)i);
                return false;
            }
        f->yes[i] = next[0] + (is_leaf[0] ? n : 0);
        f->no[i] = next[1] + (is_leaf[1] ? n : 0);
        f->mode[i] = (int64_t)modes[i];
        f->split[i] = splits[i];
        f->feature[i] = feature.v[i];
        f->missing[i] = missing.n ? missing.v[i] : 0;
    }
    if (roots.n > f->nodes || targets < 1) {
        call_fail(c, IG_ERR_FORMAT, "tree_roots",
                  "has more trees than nodes, or n_targets is not positive");
        return false;
    }
    f->targets = targets;
    f->trees = roots.n;
    f->most = 1;
    f->target = room(f, f->nodes);
    f->weight = room(f, f->nodes);
    for (int64_t i = 0; i < roots.n && f->target; i++) {
        if (roots.v[i] < 0 || roots.v[i] >= n) {
            call_fail(c, IG_ERR_FORMAT, "tree_roots", "root %lld is not a node",
                      (long long)roots.v[i]);
            return false;
        }
        f->root[i] = roots.v[i];
    }
    for (int64_t i = 0; i < f->nodes && f->target && f->weight; i++) {
        f->target[i] = i < n ? -1 : target.v[i - n];
        f->weight[i] = i < n ? 0 : weights[i - n];
        if (f->target[i] >= targets || (i >= n && f->target[i] < 0))
            call_fail(c, IG_ERR_FORMAT, "leaf_targetids", "is out of range");
    }
    return !ig_failed() && read_members(f, n);
}

void build_tree_ensemble(onnx_call *c)
{
    static const ml_transform transforms[] = {ML_NONE, ML_SOFTMAX, ML_LOGISTIC, ML_SOFTMAX_ZERO,
                                              ML_PROBIT};
    forest f;
    ig_array *x = call_array(c, 0);
    const int64_t function = call_attribute_int(c, "aggregate_function", 1);
    const int64_t transform = call_attribute_int(c, "post_transform", 0);
    if (!part_ndim(c, "X", x, 2) || !read_ensemble(&f, c) || !measure(&f, ig_dim(x, 1)) ||
        !pair_nodes(&f, ig_dim(x, 1)))
        return;
    if (function < 0 || function > 3 || transform < 0 || transform > 4) {
        call_fail(c, IG_ERR_ARGUMENT, "post_transform", "or aggregate_function is unknown");
        return;
    }
    const ig_dtype dtype = ig_dtype_of(x), wide = part_wide(dtype);
    ig_array *y = aggregate(&f, descend(&f, ig_astype(x, wide)), (int)function, wide);
    call_return(c, 0, ig_astype(ml_transformed(y, transforms[transform]), dtype));
}
