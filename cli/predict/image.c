/* Images as samples: channels, size and scale of the network. */
#include "predict.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 224 }; /* of networks that take images of any size */

bool is_image(const char *path)
{
    static const char *const ends[] = {".png", ".jpg", ".jpeg", ".bmp",
                                       ".ppm", ".pgm", ".tif",  ".tiff"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (str_ends(path, ends[i]))
            return true;
    return false;
}

/* Three numbers, or one for all channels. */
static bool numbers_read(const char *text, double out[3])
{
    int n = 0;
    char *end = NULL;
    for (const char *s = text; n < 3; s = end + 1) {
        out[n] = strtod(s, &end);
        if (end == s || !isfinite(out[n++]))
            return false;
        if (*end != ',')
            break;
    }
    if (n == 1)
        out[1] = out[2] = out[0];
    return *end == 0 && n != 2;
}

/* Floats get the scale of ImageNet's networks, which most image classifiers use; bytes stay as they are. */
int image_scale_find(network *n, ig_dtype dtype, const char *set_mean, const char *set_std)
{
    static const double mean[] = {0.485, 0.456, 0.406}, deviation[] = {0.229, 0.224, 0.225};
    const bool floats = ig_isdtype(dtype, "real floating");
    const bool colored = n->ndim == 3 && (n->shape[0] == 3 || n->shape[2] == 3);
    n->scale.known = true;
    for (int i = 0; i < 3; i++) {
        n->scale.mean[i] = floats && colored ? mean[i] : 0;
        n->scale.deviation[i] = !floats ? 1.0 / 255 : colored ? deviation[i] : 1;
    }
    if ((set_mean && !numbers_read(set_mean, n->scale.mean)) ||
        (set_std && !numbers_read(set_std, n->scale.deviation))) {
        say(n->command,
            "--mean and --std take one number or three with commas, such as 0.485,0.456,0.406");
        return EXIT_USAGE;
    }
    return -1;
}

/* The channels of an image in f32, (h, w, n): gray if n is 1, else RGB. */
static ig_array *channels_of(ig_array *x, int64_t n)
{
    static const float luma[] = {0.299F, 0.587F, 0.114F};
    if (ig_ndim(x) == 2)
        x = ig_expand_dims(x, IG_AXES(2));
    const int64_t colors = ig_dim(x, 2) < 3 ? 1 : 3; /* the rest is alpha */
    const ig_index part[] = {{.kind = IG_INDEX_REST},
                             {.kind = IG_INDEX_SLICE, .start = 0, .stop = colors, .step = 1}};
    x = ig_astype(ig_get(x, part, 2), IG_F32);
    if (colors == n)
        return x;
    if (n == 1)
        return ig_sum(ig_multiply(x, ig_from_data(luma, IG_SHAPE(3), IG_F32)), IG_AXES(2),
                      IG_DTYPE_NONE, true);
    return ig_broadcast_to(x, IG_SHAPE(ig_dim(x, 0), ig_dim(x, 1), n));
}

/* (x / white - mean) / deviation, by channel. */
static ig_array *scaled(const image_scale *s, ig_array *x, double white)
{
    float scale[3], shift[3];
    const int64_t n = ig_dim(x, 2);
    for (int i = 0; i < 3; i++) {
        scale[i] = (float)(1 / (white * s->deviation[i]));
        shift[i] = (float)(s->mean[i] / s->deviation[i]);
    }
    x = ig_multiply(x, ig_from_data(scale, IG_SHAPE(n), IG_F32));
    return ig_subtract(x, ig_from_data(shift, IG_SHAPE(n), IG_F32));
}

ig_array *image_sample(const network *n, const char *path)
{
    const int64_t *s = n->shape;
    const bool first = n->ndim == 3 && s[2] != 1 && s[2] != 3; /* (channels, h, w) */
    const int64_t channels = n->ndim == 3 ? s[first ? 0 : 2] : 1;
    const int64_t h = s[first] > 0 ? s[first] : SIDE, w = s[first + 1] > 0 ? s[first + 1] : SIDE;
    ig_array *x = ig_load(path);
    if (n->ndim < 2 || n->ndim > 3 || (channels != 1 && channels != 3))
        ig_fail(IG_ERR_SHAPE, "%s: the network does not take images; give its samples as .npy",
                path);
    else if (!n->scale.known)
        ig_fail(IG_ERR_ARGUMENT,
                "%s: the network was trained with samples that are not bytes, so the scale of "
                "its pixels is unknown; give them as .npy",
                path);
    if (!x || ig_failed())
        return NULL;
    x = scaled(&n->scale, channels_of(x, channels), ig_dtype_of(x) == IG_U16 ? 65535 : 255);
    x = ig_expand_dims(ig_permute_dims(x, IG_AXES(2, 0, 1)), IG_AXES(0));
    if (ig_dim(x, 2) != h || ig_dim(x, 3) != w)
        x = ig_interpolate(x, IG_SHAPE(h, w), "linear", false, false);
    x = ig_squeeze(x, IG_AXES(0));
    if (n->ndim == 2)
        return ig_squeeze(x, IG_AXES(0));
    return first ? x : ig_permute_dims(x, IG_AXES(1, 2, 0));
}
