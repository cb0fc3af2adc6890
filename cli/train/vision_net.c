/* ResNets and vision transformers. See vision_net.h. */
#include "vision_net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sizes ----------------------------------------------------------------------------------- */

typedef struct vision_kind {
    const char *name;
    int64_t blocks[4]; /* of the stages of a ResNet */
    bool wide; /* its blocks have three convolutions, and their results four times the channels */
    int64_t width, layers, heads, inner, patch;
} vision_kind;

static const vision_kind kinds[] = {{"resnet18", {2, 2, 2, 2}, false, 64, 0, 0, 0, 0},
                                    {"resnet34", {3, 4, 6, 3}, false, 64, 0, 0, 0, 0},
                                    {"resnet50", {3, 4, 6, 3}, true, 64, 0, 0, 0, 0},
                                    {"resnet101", {3, 4, 23, 3}, true, 64, 0, 0, 0, 0},
                                    {"vit-s16", {0}, false, 384, 12, 6, 1536, 16},
                                    {"vit-b16", {0}, false, 768, 12, 12, 3072, 16},
                                    {"vit-l16", {0}, false, 1024, 24, 16, 4096, 16}};
enum { KINDS = sizeof kinds / sizeof *kinds, SIDE = 224, WIDER = 4, STAGES = 4 };

const char *vision_name(const vision_config *v) { return v->kind->name; }
bool vision_is_transformer(const vision_config *v) { return v->kind->layers > 0; }

typedef struct size_name {
    const char *name;
    int64_t *place;
} size_name;
enum { SIZES = 7 };

/* The sizes that a kind of network has; the others are NULL. */
static void sizes_of(vision_config *v, size_name list[SIZES])
{
    const bool t = vision_is_transformer(v);
    const size_name all[SIZES] = {{"side", &v->side},
                                  {"width", &v->width},
                                  {"layers", &v->layers},
                                  {"heads", t ? &v->heads : NULL},
                                  {"inner", t ? &v->inner : NULL},
                                  {"patch", t ? &v->patch : NULL},
                                  {"stem", t ? NULL : &v->stem}};
    memcpy(list, all, sizeof all);
}

static bool size_read(vision_config *v, const char *word, size_t n, str *why)
{
    size_name list[SIZES];
    sizes_of(v, list);
    for (int i = 0; i < SIZES; i++) {
        const size_t length = strlen(list[i].name);
        if (!list[i].place || n <= length || strncmp(word, list[i].name, length) != 0 ||
            word[length] != '=')
            continue;
        char *end;
        const long long value = strtoll(word + length + 1, &end, 10);
        if (end == word + n && value >= 1 && value <= 65536) {
            *list[i].place = value;
            return true;
        }
        str_printf(why, "'%.*s' is not a number from 1 to 65536", (int)n, word);
        return false;
    }
    str_printf(why, "unknown size '%.*s'; %s has", (int)n, word, v->kind->name);
    for (int i = 0; i < SIZES; i++)
        if (list[i].place)
            str_printf(why, " %s=", list[i].name);
    return false;
}

/* Checks that the sizes fit together. */
static bool sizes_check(const vision_config *v, str *why)
{
    if (!vision_is_transformer(v)) {
        if (v->stem != 3 && v->stem != 7)
            str_printf(why, "stem=%lld; the first convolution has 3 or 7 pixels a side",
                       (long long)v->stem);
    } else if (v->width % v->heads != 0) {
        str_printf(why, "a width of %lld cannot be divided among %lld heads", (long long)v->width,
                   (long long)v->heads);
    } else if (v->side % v->patch != 0) {
        str_printf(why, "a side of %lld pixels cannot be divided into patches of %lld",
                   (long long)v->side, (long long)v->patch);
    }
    return why->n == 0;
}

bool vision_config_read(vision_config *v, const char *name, const char *sizes, str *why)
{
    static const double mean[] = {0.485, 0.456, 0.406}, deviation[] = {0.229, 0.224, 0.225};
    nearest search = nearest_to(name);
    v->kind = NULL;
    for (int i = 0; i < KINDS; i++) {
        nearest_offer(&search, kinds[i].name);
        if (strcmp(kinds[i].name, name) == 0)
            v->kind = &kinds[i];
    }
    if (!v->kind) {
        str_printf(why, "unknown network '%s'", name);
        str_did_you_mean(why, &search);
        for (int i = 0; i < KINDS && !search.best; i++)
            str_printf(why, "%s%s", i ? ", " : "; there are ", kinds[i].name);
        return false;
    }
    v->side = SIDE;
    v->width = v->kind->width;
    v->layers = v->kind->layers;
    v->heads = v->kind->heads;
    v->inner = v->kind->inner;
    v->patch = v->kind->patch;
    v->stem = vision_is_transformer(v) ? 0 : 7;
    memcpy(v->mean, mean, sizeof mean);
    memcpy(v->deviation, deviation, sizeof deviation);
    for (const char *at = sizes ? sizes : ""; *at;) {
        const size_t n = strcspn(at, ",");
        if (!size_read(v, at, n, why))
            return false;
        at += n + (at[n] == ',');
    }
    return sizes_check(v, why);
}

void vision_sizes_write(const vision_config *v, str *s)
{
    vision_config copy = *v;
    size_name list[SIZES];
    sizes_of(&copy, list);
    for (int i = 0, n = 0; i < SIZES; i++)
        if (list[i].place && *list[i].place)
            str_printf(s, "%s%s=%lld", n++ ? "," : "", list[i].name, (long long)*list[i].place);
}

void vision_config_free(vision_config *v) { name_list_free(&v->classes); }

/* ---- layers ---------------------------------------------------------------------------------- */

enum { LAYER_BYTES = 64, NAME_BYTES = LAYER_BYTES + 32 };

/* A network that is being built. */
typedef struct build {
    ig_model *m;
    const vision_config *v;
    double flops; /* of the products of all images */
} build;

/* A convolution without a bias, drawn as torchvision draws it: normal, by the number of its outputs. */
static ig_array *conv(build *b, const char *name, ig_array *x, int64_t out, int64_t side,
                      int64_t stride)
{
    char weight[NAME_BYTES + 16];
    if (!x)
        return NULL;
    const int64_t in = ig_dim(x, 1);
    snprintf(weight, sizeof weight, "%s.weight", name);
    if (!ig_model_param(b->m, weight, IG_SHAPE(out, in, side, side), IG_F32, IG_INIT_NORMAL,
                        sqrt(2.0 / (double)(out * side * side))))
        return NULL;
    x = ig_nn_conv(b->m, name, x, out, IG_SHAPE(side), IG_SHAPE(stride), IG_SHAPE(side / 2), false);
    b->flops += x ? 2.0 * (double)(ig_size(x) * in * side * side) : 0;
    return x;
}

static ig_array *conv_norm(build *b, const char *layer, const char *conv_name,
                           const char *norm_name, ig_array *x, int64_t out, int64_t side,
                           int64_t stride)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s%s", layer, conv_name);
    x = conv(b, name, x, out, side, stride);
    snprintf(name, sizeof name, "%s%s", layer, norm_name);
    return x ? ig_nn_batch_norm(b->m, name, x, 0.1, 1e-5) : NULL;
}

static ig_array *linear(build *b, const char *name, ig_array *x, int64_t out, ig_init init,
                        double scale)
{
    char part[NAME_BYTES + 16];
    if (!x)
        return NULL;
    const int64_t in = ig_dim(x, -1);
    snprintf(part, sizeof part, "%s.weight", name);
    if (!ig_model_param(b->m, part, IG_SHAPE(out, in), IG_F32, init, scale))
        return NULL;
    snprintf(part, sizeof part, "%s.bias", name);
    if (!ig_model_param(b->m, part, IG_SHAPE(out), IG_F32, IG_INIT_ZEROS, 0))
        return NULL;
    x = ig_nn_linear(b->m, name, x, out, true);
    b->flops += x ? 2.0 * (double)(ig_size(x) * in) : 0;
    return x;
}

/* ---- ResNets --------------------------------------------------------------------------------- */

/* He et al. 2015, with the stride in the 3 x 3 convolution. */
static ig_array *residual(build *b, const char *layer, ig_array *x, int64_t channels,
                          int64_t stride)
{
    const bool wide = b->v->kind->wide;
    const int64_t out = wide ? WIDER * channels : channels;
    ig_array *y = x;
    if (wide) {
        y = ig_relu(conv_norm(b, layer, ".conv1", ".bn1", y, channels, 1, 1));
        y = ig_relu(conv_norm(b, layer, ".conv2", ".bn2", y, channels, 3, stride));
        y = conv_norm(b, layer, ".conv3", ".bn3", y, out, 1, 1);
    } else {
        y = ig_relu(conv_norm(b, layer, ".conv1", ".bn1", y, channels, 3, stride));
        y = conv_norm(b, layer, ".conv2", ".bn2", y, out, 3, 1);
    }
    if (y && (stride > 1 || ig_dim(x, 1) != out))
        x = conv_norm(b, layer, ".downsample.0", ".downsample.1", x, out, 1, stride);
    return ig_relu(ig_add(x, y));
}

static ig_array *resnet(build *b, ig_array *x)
{
    const vision_config *v = b->v;
    const bool small = v->stem == 3;
    x = ig_relu(conv_norm(b, "", "conv1", "bn1", x, v->width, v->stem, small ? 1 : 2));
    if (!small)
        x = ig_max_pool2d(x, IG_SHAPE(3), IG_SHAPE(2), IG_SHAPE(1), IG_NONE, false);
    for (int k = 0; k < STAGES && x; k++)
        for (int64_t i = 0; i < (v->layers ? v->layers : v->kind->blocks[k]) && x; i++) {
            char layer[LAYER_BYTES];
            snprintf(layer, sizeof layer, "layer%d.%lld", k + 1, (long long)i);
            x = residual(b, layer, x, v->width << k, k && i == 0 ? 2 : 1);
        }
    x = ig_mean(x, IG_AXES(2, 3), false);
    const double bound = x ? 1 / sqrt((double)ig_dim(x, 1)) : 0;
    return linear(b, "fc", x, v->classes.n, IG_INIT_UNIFORM, bound);
}

/* ---- transformers ---------------------------------------------------------------------------- */

#define NORM_EPS 1e-6

static ig_array *attention(build *b, const char *layer, ig_array *x)
{
    char name[NAME_BYTES];
    const int64_t n = ig_dim(x, 0), t = ig_dim(x, 1), w = ig_dim(x, 2), heads = b->v->heads;
    const double bound = sqrt(6.0 / (double)(4 * w));
    snprintf(name, sizeof name, "%s.self_attention.in_proj_weight", layer);
    ig_array *weight =
        ig_model_param(b->m, name, IG_SHAPE(3 * w, w), IG_F32, IG_INIT_UNIFORM, bound);
    snprintf(name, sizeof name, "%s.self_attention.in_proj_bias", layer);
    ig_array *bias = ig_model_param(b->m, name, IG_SHAPE(3 * w), IG_F32, IG_INIT_ZEROS, 0);
    ig_array *y = ig_add(ig_matmul(x, ig_matrix_transpose(weight)), bias), *part[3];
    for (int i = 0; i < 3; i++) {
        part[i] =
            ig_slice(y, IG_SHAPE(0, 0, i * w), IG_SHAPE(n, t, (i + 1) * w), IG_SHAPE(1, 1, 1));
        part[i] = ig_permute_dims(ig_reshape(part[i], IG_SHAPE(n, t, heads, w / heads)),
                                  IG_AXES(0, 2, 1, 3));
    }
    y = ig_scaled_dot_product_attention(part[0], part[1], part[2], NULL, false, 0);
    y = ig_reshape(ig_permute_dims(y, IG_AXES(0, 2, 1, 3)), IG_SHAPE(n, t, w));
    b->flops += 2.0 * (double)(n * t * w * 3 * w) + 4.0 * (double)(n * t * t * w);
    snprintf(name, sizeof name, "%s.self_attention.out_proj", layer);
    return linear(b, name, y, w, IG_INIT_UNIFORM, 1 / sqrt((double)w));
}

static ig_array *block_norm(build *b, const char *layer, const char *part, ig_array *x)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s.%s", layer, part);
    return ig_nn_layer_norm(b->m, name, x, NORM_EPS);
}

static ig_array *dropped(const build *b, ig_array *x)
{
    return b->v->dropout > 0 && x ? ig_nn_dropout(b->m, x, b->v->dropout) : x;
}

static ig_array *encoder_block(build *b, int64_t i, ig_array *x)
{
    char layer[LAYER_BYTES], name[NAME_BYTES];
    const int64_t w = b->v->width, inner = b->v->inner;
    const double bound = sqrt(6.0 / (double)(w + inner));
    snprintf(layer, sizeof layer, "encoder.layers.encoder_layer_%lld", (long long)i);
    ig_array *y = block_norm(b, layer, "ln_1", x);
    x = y ? ig_add(x, dropped(b, attention(b, layer, y))) : NULL;
    y = x ? block_norm(b, layer, "ln_2", x) : NULL;
    snprintf(name, sizeof name, "%s.mlp.0", layer);
    y = linear(b, name, y, inner, IG_INIT_UNIFORM, bound);
    snprintf(name, sizeof name, "%s.mlp.3", layer);
    y = linear(b, name, y ? dropped(b, ig_gelu(y, "none")) : NULL, w, IG_INIT_UNIFORM, bound);
    return y ? ig_add(x, dropped(b, y)) : NULL;
}

/* Dosovitskiy et al. 2020: a class token, patches, pre-norm blocks. */
static ig_array *transformer(build *b, ig_array *x)
{
    const vision_config *v = b->v;
    const int64_t n = ig_dim(x, 0), w = v->width,
                  patches = (v->side / v->patch) * (v->side / v->patch);
    const double fan = (double)(3 * v->patch * v->patch);
    ig_array *token =
        ig_model_param(b->m, "class_token", IG_SHAPE(1, 1, w), IG_F32, IG_INIT_ZEROS, 0);
    if (!token ||
        !ig_model_param(b->m, "conv_proj.weight", IG_SHAPE(w, 3, v->patch, v->patch), IG_F32,
                        IG_INIT_NORMAL, 1 / sqrt(fan)) ||
        !ig_model_param(b->m, "conv_proj.bias", IG_SHAPE(w), IG_F32, IG_INIT_ZEROS, 0))
        return NULL;
    x = ig_nn_patches(b->m, "conv_proj", x, w, v->patch);
    b->flops += 2.0 * (double)(n * patches * w) * fan;
    ig_array *both[] = {ig_broadcast_to(token, IG_SHAPE(n, 1, w)), x};
    ig_array *places = ig_model_param(b->m, "encoder.pos_embedding", IG_SHAPE(1, patches + 1, w),
                                      IG_F32, IG_INIT_NORMAL, 0.02);
    x = dropped(b, ig_add(ig_concat(both, 2, IG_AXES(1)), places));
    for (int64_t i = 0; i < v->layers && x; i++)
        x = encoder_block(b, i, x);
    x = x ? ig_nn_layer_norm(b->m, "encoder.ln", x, NORM_EPS) : NULL;
    x = ig_reshape(ig_slice(x, IG_SHAPE(0, 0, 0), IG_SHAPE(n, 1, w), IG_SHAPE(1, 1, 1)),
                   IG_SHAPE(n, w));
    return linear(b, "heads.head", x, v->classes.n, IG_INIT_ZEROS, 0);
}

ig_array *vision_logits(ig_model *m, const vision_config *v, ig_array *x, double *flops)
{
    float scale[3], shift[3];
    build b = {m, v, 0};
    for (int i = 0; i < 3; i++) {
        scale[i] = (float)(1 / (255 * v->deviation[i]));
        shift[i] = (float)(v->mean[i] / v->deviation[i]);
    }
    const double n = x ? (double)ig_dim(x, 0) : 1;
    x = ig_multiply(ig_astype(x, IG_F32), ig_from_data(scale, IG_SHAPE(3, 1, 1), IG_F32));
    x = ig_subtract(x, ig_from_data(shift, IG_SHAPE(3, 1, 1), IG_F32));
    if (x)
        x = vision_is_transformer(v) ? transformer(&b, x) : resnet(&b, x);
    if (flops)
        *flops = b.flops / n;
    return ig_astype(x, IG_F32);
}

ig_status vision_build(ig_model *m, const vision_config *v, double *flops)
{
    if (ig_scope_begin() != IG_OK)
        return IG_ERR_MEMORY;
    /* two images: batch_norm needs a variance */
    ig_array *x = ig_zeros(IG_SHAPE(2, 3, v->side, v->side), IG_U8);
    x = vision_logits(m, v, x, flops);
    ig_scope_end();
    ig_model_train(m, true); /* drops the statistics of the zeros */
    return x ? IG_OK : ig_fail(IG_ERR_SHAPE, "%s cannot be built", v->kind->name);
}
