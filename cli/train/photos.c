/* Finding images, and cutting one out. */
#include "photos.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- folders --------------------------------------------------------------------------------- */

/* Moves the share `hold` of each class to the test: the last images of the class. */
static void hold_back(photos *p, double hold)
{
    const image_list all = p->train;
    image_list parts[2] = {{.labels = heap_get(sizeof(int64_t) * (size_t)(all.files.n + 1))},
                           {.labels = heap_get(sizeof(int64_t) * (size_t)(all.files.n + 1))}};
    for (int64_t begin = 0, end; begin < all.files.n; begin = end) {
        for (end = begin; end < all.files.n && all.labels[end] == all.labels[begin];)
            end++;
        const int64_t kept = end - begin - (int64_t)ceil(hold * (double)(end - begin));
        for (int64_t i = begin; i < end; i++) {
            image_list *to = &parts[i - begin >= kept];
            to->labels[to->files.n] = all.labels[i];
            name_list_add(&to->files, all.files.at[i]);
        }
    }
    image_list_free(&p->train);
    p->train = parts[0];
    p->test = parts[1];
}

int photos_find(const command *c, photos *p, const char *folder, double hold)
{
    static const char *const names[] = {"val", "test"};
    char train[4096], test[4096];
    bool divided = false;
    snprintf(train, sizeof train, "%s/train", folder);
    for (int i = 0; i < 2 && !divided; i++) {
        snprintf(test, sizeof test, "%s/%s", folder, names[i]);
        divided = folder_is(train) && folder_is(test);
    }
    if (divided && hold > 0) {
        say(c, "--hold: %s has the folders train and %s, so nothing is held back", folder,
            strrchr(test, '/') + 1);
        return EXIT_USAGE;
    }
    int code = image_list_find(c, &p->train, divided ? train : folder, &p->classes);
    if (code < 0 && divided)
        code = image_list_find(c, &p->test, test, &p->classes);
    if (code < 0 && hold > 0)
        hold_back(p, hold);
    return code;
}

void photos_free(photos *p)
{
    image_list_free(&p->train);
    image_list_free(&p->test);
    name_list_free(&p->classes);
}

/* ---- random numbers -------------------------------------------------------------------------- */

/* The next number in [0, 1), by SplitMix64 (Steele et al. 2014). */
static double draw(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* ---- parts of images ------------------------------------------------------------------------- */

/* A part of an image, in pixels. */
typedef struct box {
    int64_t x, y, width, height;
} box;

/* The middle, without an eighth of the shorter side. */
static box box_middle(int64_t width, int64_t height)
{
    int64_t side = ((width < height ? width : height) * 7 + 4) / 8;
    side = side < 1 ? 1 : side;
    return (box){(width - side) / 2, (height - side) / 2, side, side};
}

/* A random part with a random ratio of its sides from 3:4 to 4:3 (Szegedy et al. 2014). */
static box box_draw(uint64_t *state, double least, int64_t width, int64_t height)
{
    enum { TRIES = 10 };
    const double area = (double)width * (double)height, ratio_log = log(4.0 / 3);
    for (int i = 0; i < TRIES; i++) {
        const double size = area * (least + (1 - least) * draw(state));
        const double ratio = exp(ratio_log * (2 * draw(state) - 1));
        const int64_t w = llround(sqrt(size * ratio)), h = llround(sqrt(size / ratio));
        const double x = draw(state), y = draw(state);
        if (w > 0 && h > 0 && w <= width && h <= height)
            return (box){(int64_t)(x * (double)(width - w + 1)),
                         (int64_t)(y * (double)(height - h + 1)), w, h};
    }
    return box_middle(width, height);
}

/* The pixels of an image in memory. */
typedef struct pixels {
    const void *at;
    int64_t width, height, channels;
    bool wide; /* u16 */
} pixels;

/* The weights of source pixels for each pixel of a line: a triangle as wide as two of the larger pixels, so that an image
 * which becomes smaller is averaged. */
typedef struct line_weights {
    int64_t *first, *n;
    float *weight; /* `most` for each pixel */
    int64_t most;
} line_weights;

/* from: pixels of the source, of which n become `side`. */
static line_weights weights_of(int64_t from, int64_t n, int64_t side)
{
    const double each = (double)n / (double)side, reach = each > 1 ? each : 1;
    line_weights w = {.most = 2 * (int64_t)ceil(reach) + 1};
    w.first = heap_get(sizeof *w.first * (size_t)(2 * side));
    w.n = w.first + side;
    w.weight = heap_get(sizeof *w.weight * (size_t)(w.most * side));
    for (int64_t i = 0; i < side; i++) {
        const double centre = ((double)i + 0.5) * each;
        int64_t begin = (int64_t)floor(centre - reach + 0.5),
                end = (int64_t)floor(centre + reach + 0.5);
        begin = begin < 0 ? 0 : begin;
        end = end > n ? n : end;
        double sum = 0;
        for (int64_t k = begin; k < end; k++)
            sum += fmax(0, 1 - fabs((double)k + 0.5 - centre) / reach);
        for (int64_t k = begin; k < end; k++)
            w.weight[i * w.most + k - begin] =
                (float)(fmax(0, 1 - fabs((double)k + 0.5 - centre) / reach) / sum);
        w.first[i] = from + begin;
        w.n[i] = end - begin;
    }
    return w;
}

static void weights_free(line_weights *w)
{
    free(w->first);
    free(w->weight);
}

/* A row of the source, from 0 to 255: `side` pixels for each of three channels. */
static void row_resize(const pixels *p, int64_t y, const line_weights *w, int64_t side, float *out)
{
    const int64_t colors = p->channels < 3 ? 1 : 3; /* the rest is alpha */
    const unsigned char *bytes = (const unsigned char *)p->at + y * p->width * p->channels;
    const uint16_t *words = (const uint16_t *)p->at + y * p->width * p->channels;
    for (int64_t i = 0; i < side; i++) {
        const float *weight = w->weight + i * w->most;
        for (int64_t c = 0; c < colors; c++) {
            const int64_t at = w->first[i] * p->channels + c;
            float sum = 0;
            for (int64_t k = 0; k < w->n[i]; k++)
                sum += weight[k] * (p->wide ? (float)words[at + k * p->channels] / 257
                                            : (float)bytes[at + k * p->channels]);
            out[c * side + i] = sum;
        }
    }
    for (int64_t c = colors; c < 3; c++)
        memcpy(out + c * side, out, sizeof *out * (size_t)side);
}

/* out (3, side, side): the part of the image, flipped or not. */
static void part_resize(const pixels *p, box b, bool flip, int64_t side, unsigned char *out)
{
    line_weights across = weights_of(b.x, b.width, side), down = weights_of(b.y, b.height, side);
    const int64_t row = 3 * side;
    float *rows = heap_get(sizeof *rows * (size_t)(b.height * row));
    float *sum = heap_get(sizeof *sum * (size_t)row);
    for (int64_t y = 0; y < b.height; y++)
        row_resize(p, b.y + y, &across, side, rows + y * row);
    for (int64_t i = 0; i < side; i++) {
        memset(sum, 0, sizeof *sum * (size_t)row);
        for (int64_t k = 0; k < down.n[i]; k++) {
            const float weight = down.weight[i * down.most + k];
            const float *from = rows + (down.first[i] - b.y + k) * row;
            for (int64_t j = 0; j < row; j++)
                sum[j] += weight * from[j];
        }
        for (int64_t c = 0; c < 3; c++)
            for (int64_t j = 0; j < side; j++) {
                const float v = sum[c * side + (flip ? side - 1 - j : j)] + 0.5F;
                out[(c * side + i) * side + j] = v >= 255 ? 255 : v > 0 ? (unsigned char)v : 0;
            }
    }
    free(sum);
    free(rows);
    weights_free(&across);
    weights_free(&down);
}

ig_status photo_read(const char *path, const photo_crops *crops, uint64_t salt, int64_t side,
                     unsigned char *out)
{
    uint64_t state = crops->seed ^ salt * 0xd1342543de82ef95;
    ig_status status = ig_scope_begin();
    if (status != IG_OK)
        return status;
    ig_array *x = ig_load(path);
    const void *at = x ? ig_data(x) : NULL;
    if (!at) {
        status = IG_ERR_FILE; /* the error says why */
    } else if (ig_ndim(x) < 2 || ig_ndim(x) > 3 ||
               (ig_dtype_of(x) != IG_U8 && ig_dtype_of(x) != IG_U16)) {
        status = ig_fail(IG_ERR_FORMAT, "%s: it is not an image", path);
    } else {
        const pixels p = {.at = at,
                          .width = ig_dim(x, 1),
                          .height = ig_dim(x, 0),
                          .channels = ig_ndim(x) == 3 ? ig_dim(x, 2) : 1,
                          .wide = ig_dtype_of(x) == IG_U16};
        const box b = crops->augment ? box_draw(&state, crops->least, p.width, p.height)
                                     : box_middle(p.width, p.height);
        part_resize(&p, b, crops->augment && crops->flip && draw(&state) < 0.5, side, out);
    }
    ig_scope_end();
    return status;
}
