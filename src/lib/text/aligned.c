/* Aligned text: see aligned.h. */
#include "lib/text/aligned.h"

#include "base/memory.h"
#include "lib/text/unicode.h"

#include <string.h>

/* ---- growing -------------------------------------------------------------------------------- */

void *list_grow(void *at, size_t n, size_t more, size_t *room, size_t size, bool *failed)
{
    if (*failed || more <= *room - n)
        return at;
    const size_t wanted = 2 * *room > n + more ? 2 * *room : n + more + 64;
    void *block = memory_counted_resize(at, *room * size, wanted * size, "encoding a text");
    *failed = !block;
    *room = block ? wanted : *room;
    return block ? block : at;
}

bool aligned_reserve(aligned *a, size_t more)
{
    a->failed |= a->most && a->n + more > a->most;
    return LIST_RESERVE(a, more);
}

void aligned_add(aligned *a, rune r)
{
    if (a->n < a->room || aligned_reserve(a, 1))
        a->at[a->n++] = r;
}

void aligned_append(aligned *a, const rune *runes, size_t n)
{
    if (n == 0 || !aligned_reserve(a, n))
        return;
    memcpy(a->at + a->n, runes, n * sizeof *runes);
    a->n += n;
}

void aligned_free(aligned *a) { LIST_FREE(a); }

void rewrites_add(rewrites *w, uint32_t c, int change)
{
    w->failed |= w->most && w->n >= w->most;
    if (LIST_RESERVE(w, 1))
        w->at[w->n++] = (rewrite){c, change};
}

void rewrites_free(rewrites *w) { LIST_FREE(w); }

bool octets_reserve(octets *o, size_t more) { return LIST_RESERVE(o, more); }

void octets_free(octets *o) { LIST_FREE(o); }

/* ---- rewriting ------------------------------------------------------------------------------ */

void aligned_rewrite(aligned *to, const aligned *from, const rewrites *w)
{
    size_t at = 0;
    to->failed |= w->failed;
    if (from->n == 0)
        return;
    const uint32_t first = from->at[0].start;
    for (size_t i = 0; i < w->n; i++) {
        const rewrite r = w->at[i];
        rune out = {r.c, first, first};
        if (r.change <= 0) {
            const size_t here = at < from->n ? at : from->n - 1;
            out.start = from->at[here].start;
            out.end = from->at[here].end;
            at += 1 + (size_t)-r.change;
        } else if (at > 0) {
            const size_t before = at <= from->n ? at - 1 : from->n - 1;
            out.start = from->at[before].start;
            out.end = from->at[before].end;
        }
        aligned_add(to, out);
    }
}

/* ---- normal forms --------------------------------------------------------------------------- */

/* Sorts marks by their class; stable. Runs of marks are usually short, but a hostile text may have a long one. A merge
 * sort keeps that fast. */
static void marks_sort(rewrite *at, size_t n, rewrite *spare)
{
    if (n < 2)
        return;
    if (n <= 16) {
        for (size_t i = 1; i < n; i++) {
            const rewrite moved = at[i];
            const int class = unicode_class(moved.c);
            size_t j = i;
            for (; j > 0 && unicode_class(at[j - 1].c) > class; j--)
                at[j] = at[j - 1];
            at[j] = moved;
        }
        return;
    }
    const size_t half = n / 2;
    marks_sort(at, half, spare);
    marks_sort(at + half, n - half, spare);
    memcpy(spare, at, half * sizeof *at);
    size_t i = 0, j = half, k = 0;
    while (i < half)
        at[k++] =
            j < n && unicode_class(at[j].c) < unicode_class(spare[i].c) ? at[j++] : spare[i++];
}

static void decompose(const aligned *from, bool compatible, rewrites *w)
{
    size_t first_mark = 0; /* the first mark of the run that is not sorted yet */
    bool sorted = true;
    for (size_t i = 0; i <= from->n; i++) {
        uint32_t parts[UNICODE_EXPANDED];
        const int n = i < from->n ? unicode_decompose(from->at[i].c, compatible, parts) : 1;
        for (int j = 0; j < n; j++) {
            const int class = i < from->n ? unicode_class(parts[j]) : 0;
            if (class == 0 && !sorted) {
                const size_t run = w->n - first_mark;
                rewrite *spare = memory_get((run + 1) * sizeof *spare);
                if (spare)
                    marks_sort(w->at + first_mark, run, spare);
                w->failed |= !spare;
                memory_free(spare);
                sorted = true;
            }
            if (i == from->n || w->failed)
                return;
            rewrites_add(w, parts[j], j > 0);
            if (class == 0)
                first_mark = w->n;
            else if (w->n - first_mark > 1)
                sorted = false;
        }
    }
}

/* Composes in place. A starter is composed with each mark after it that no other mark blocks. */
static void compose(rewrites *w)
{
    size_t out = 0, starter = SIZE_MAX;
    int last_class = -1; /* of the last mark after the starter; -1: no mark yet */
    for (size_t i = 0; i < w->n; i++) {
        const rewrite r = w->at[i];
        const int class = unicode_class(r.c);
        if (starter != SIZE_MAX && (last_class < 0 || (last_class < class && class != 0))) {
            const uint32_t both = unicode_compose(w->at[starter].c, r.c);
            if (both) {
                w->at[starter] = (rewrite){both, w->at[starter].change + r.change - 1};
                continue;
            }
        }
        if (class == 0) {
            starter = out;
            last_class = -1;
        } else if (starter != SIZE_MAX) {
            last_class = class;
        }
        w->at[out++] = r;
    }
    w->n = out;
}

void aligned_normalize(aligned *to, const aligned *from, bool compatible, bool composed,
                       rewrites *scratch)
{
    scratch->n = 0;
    decompose(from, compatible, scratch);
    if (composed && !scratch->failed)
        compose(scratch);
    aligned_rewrite(to, from, scratch);
}
