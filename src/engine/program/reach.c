/* The elements of a buffer that a view reaches: see reach.h. */
#include "engine/program/reach.h"

#include "base/memory.h"

enum { WORD = 64 };

/* ---- sets of views ---- */

static void add_axis(reach *r, int64_t size, int64_t stride)
{
    r->points *= size;
    if (size <= 1 || stride == 0)
        return;
    if (stride < 0)
        r->at += stride * (size - 1);
    const int64_t step = stride < 0 ? -stride : stride;
    int k = r->n++;
    for (; k > 0 && r->step[k - 1] > step; k--) {
        r->step[k] = r->step[k - 1];
        r->size[k] = r->size[k - 1];
    }
    r->step[k] = step;
    r->size[k] = size;
}

/* Joins axis k with the next one if that continues it. Overlapping axes of one step are joined, too: the set is the
 * same. */
static bool join_axis(reach *r, int k)
{
    const int64_t factor = r->step[k + 1] / r->step[k];
    if (r->step[k + 1] % r->step[k] != 0 || factor > r->size[k])
        return false;
    r->size[k] += factor * (r->size[k + 1] - 1);
    r->n--;
    for (int i = k + 1; i < r->n; i++) {
        r->step[i] = r->step[i + 1];
        r->size[i] = r->size[i + 1];
    }
    return true;
}

reach reach_of(const view *v, int64_t len, int64_t stride)
{
    reach r = {.at = v->offset, .points = 1};
    for (int i = 0; i < v->ndim; i++)
        add_axis(&r, v->shape[i], v->stride[i]);
    add_axis(&r, len, stride);
    for (int k = 0; k + 1 < r.n;)
        k += !join_axis(&r, k);
    return r;
}

reach reach_whole(int64_t n) { return (reach){.n = n > 1, .size = {n}, .step = {1}, .points = n}; }

void reach_bounds(const reach *r, int64_t *low, int64_t *high)
{
    *low = *high = r->at;
    for (int k = 0; k < r->n; k++)
        *high += r->step[k] * (r->size[k] - 1);
}

/* ---- sets of elements ---- */

/* The bits [from, from + n) of a word. */
static uint64_t bits(int from, int n)
{
    return (n == WORD ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1) << from;
}

/* Counts the bits that are set among n bits starting at `at`; with `add`, sets all of them afterwards. */
static int64_t run_bits(uint64_t *word, int64_t at, int64_t n, bool add)
{
    int64_t found = 0;
    while (n > 0) {
        const int from = (int)(at % WORD), here = n < WORD - from ? (int)n : WORD - from;
        const uint64_t mask = bits(from, here);
        found += __builtin_popcountll(word[at / WORD] & mask);
        if (add)
            word[at / WORD] |= mask;
        at += here;
        n -= here;
    }
    return found;
}

/* Visits all elements that are reached, one run of the first axis at a time. Returns how many of them are in the set.
 * *visits: number of visits; an element that is reached several times counts each time. */
static int64_t visit(const element_set *s, const reach *r, bool add, int64_t *visits)
{
    int64_t index[IG_MAX_NDIM + 1] = {0}, at = r->at, found = 0;
    const int64_t size = r->n ? r->size[0] : 1, step = r->n ? r->step[0] : 1;
    *visits = 0;
    for (int k = 1; r->points > 0;) {
        if (step == 1)
            found += run_bits(s->word, at, size, add);
        else
            for (int64_t i = 0; i < size; i++)
                found += run_bits(s->word, at + i * step, 1, add);
        *visits += size;
        for (k = 1; k < r->n; k++) {
            at += r->step[k];
            if (++index[k] < r->size[k])
                break;
            at -= r->step[k] * r->size[k];
            index[k] = 0;
        }
        if (k >= r->n)
            break;
    }
    return found;
}

ig_status element_set_new(element_set *s, int64_t n)
{
    *s = (element_set){.n = n, .word = memory_new((size_t)(n / WORD + 1) * sizeof *s->word)};
    return s->word ? IG_OK : IG_ERR_MEMORY;
}

void element_set_free(element_set *s)
{
    memory_free(s->word);
    *s = (element_set){0};
}

int64_t element_set_add(element_set *s, const reach *r)
{
    int64_t visits;
    const int64_t found = visit(s, r, true, &visits);
    s->count += visits - found;
    return visits - found;
}

bool element_set_has_all(const element_set *s, const reach *r)
{
    int64_t visits;
    return s->count == s->n || visit(s, r, false, &visits) == visits;
}

bool element_set_has_none(const element_set *s, const reach *r)
{
    int64_t visits;
    return s->count == 0 || visit(s, r, false, &visits) == 0;
}

int64_t reach_count(const reach *r)
{
    int64_t low, high, span = 0, n = 1;
    bool apart = true; /* each axis steps past all that the earlier axes reach */
    for (int k = 0; k < r->n; k++) {
        apart = apart && r->step[k] > span;
        span += r->step[k] * (r->size[k] - 1);
        n *= r->size[k];
    }
    if (r->points == 0 || apart)
        return r->points == 0 ? 0 : n;
    element_set s;
    reach moved = *r;
    reach_bounds(r, &low, &high);
    moved.at = 0;
    if (element_set_new(&s, high - low + 1) != IG_OK)
        return -1;
    n = element_set_add(&s, &moved);
    element_set_free(&s);
    return n;
}

/* ---- walks ---- */

/* The same walk with as few axes as possible. */
static view merged(const view *v)
{
    view m = {.offset = v->offset};
    for (int i = 0; i < v->ndim; i++) {
        const int last = m.ndim - 1;
        if (v->shape[i] == 1)
            continue;
        if (last >= 0 && m.stride[last] == v->stride[i] * v->shape[i]) {
            m.shape[last] *= v->shape[i];
            m.stride[last] = v->stride[i];
        } else {
            m.shape[m.ndim] = v->shape[i];
            m.stride[m.ndim++] = v->stride[i];
        }
    }
    return m;
}

bool reach_is_same_walk(const view *a, const view *b)
{
    const view x = merged(a), y = merged(b);
    bool same = x.ndim == y.ndim && x.offset == y.offset;
    for (int i = 0; i < x.ndim && same; i++)
        same = x.shape[i] == y.shape[i] && x.stride[i] == y.stride[i];
    return same;
}

/* ---- rows ---- */

/* Splits the walk into axes of rows, the first *rows of them, and axes of points within a row. False if a row
 * boundary cuts an axis at a position that does not divide its length. */
static bool split_rows(const view *v, int64_t points, view *out, int *rows)
{
    int64_t inner = 1;
    int k = v->ndim;
    *out = (view){.offset = v->offset};
    while (k > 0 && inner * v->shape[k - 1] <= points)
        inner *= v->shape[--k];
    const int64_t part = points / inner; /* points of axis k - 1 within one row */
    if (points % inner != 0 || (part > 1 && (k == 0 || v->shape[k - 1] % part != 0)) ||
        v->ndim + (part > 1) > IG_MAX_NDIM)
        return false;
    for (int i = 0; i < v->ndim; i++) {
        const bool cut = part > 1 && i == k - 1;
        out->shape[out->ndim] = cut ? v->shape[i] / part : v->shape[i];
        out->stride[out->ndim++] = cut ? v->stride[i] * part : v->stride[i];
        if (cut) {
            out->shape[out->ndim] = part;
            out->stride[out->ndim++] = v->stride[i];
        }
    }
    *rows = k;
    return true;
}

/* Called with the element and the row of each point. */
typedef bool row_fn(int64_t element, int64_t row, int64_t own, int64_t *mark);

static bool each_point(const view *v, int64_t points, row_fn *fn, int64_t own, int64_t *mark)
{
    int64_t index[IG_MAX_NDIM] = {0}, at = v->offset, n = 1;
    for (int i = 0; i < v->ndim; i++)
        n *= v->shape[i];
    for (int64_t p = 0; p < n; p++) {
        if (!fn(at, p / points, own, mark))
            return false;
        for (int k = v->ndim - 1; k >= 0; k--) {
            at += v->stride[k];
            if (++index[k] < v->shape[k])
                break;
            at -= v->stride[k] * v->shape[k];
            index[k] = 0;
        }
    }
    return true;
}

static bool is_in_row(int64_t element, int64_t row, int64_t own, int64_t *mark)
{
    (void)mark;
    return element / own == row;
}

static bool mark_row(int64_t element, int64_t row, int64_t own, int64_t *mark)
{
    (void)own;
    const bool same = mark[element] == 0 || mark[element] == row + 1;
    mark[element] = row + 1;
    return same;
}

/* Row r begins at offset + sum of i[k] * stride[k], where r is the sum of i[k] * weight[k]. So its distance from
 * r * own is affine in i, too, and its minimum and maximum are sums over the axes. */
bool reach_stays_in_rows(const view *v, int64_t points, int64_t own)
{
    view s;
    int rows;
    for (int i = 0; i < v->ndim; i++)
        if (v->shape[i] == 0)
            return true;
    if (points <= 0 || own <= 0)
        return false;
    if (!split_rows(v, points, &s, &rows))
        return each_point(v, points, is_in_row, own, NULL);
    int64_t low = s.offset, high = s.offset, weight = 1;
    for (int i = s.ndim - 1; i >= 0; i--) {
        const int64_t step = i < rows ? s.stride[i] - own * weight : s.stride[i];
        *(step < 0 ? &low : &high) += step * (s.shape[i] - 1);
        weight *= i < rows ? s.shape[i] : 1;
    }
    return low >= 0 && high < own;
}

bool reach_mark_rows(const view *v, int64_t points, int64_t *mark)
{
    return each_point(v, points, mark_row, 0, mark);
}
