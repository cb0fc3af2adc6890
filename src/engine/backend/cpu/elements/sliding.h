/* Windows that slide over the lines of a plane, in rows of windows, for convolutions with few channels and for pools:
 * point i of k of all windows in a row is one run of elements, so that loops over windows are loops over contiguous
 * memory. Distances count elements. */
#ifndef CPU_SLIDING_H
#define CPU_SLIDING_H

#include "engine/backend/cpu/elements/axis_group.h"
#include "engine/backend/cpu/elements/elements.h"

enum { SLIDING_SLACK = 64 }; /* bytes after a buffer that is read or written in whole vectors */

typedef struct sliding {
    int64_t height, width; /* rows of windows, and windows in a row */
    int64_t down, right;   /* distances between windows */
    int64_t band, bands;   /* rows that are computed at a time, and how many bands there are */
    int64_t pitch;         /* distance between rows where they are read */
    bool flat;             /* the rows of a band are one run, with unused results between them */
    /* If right > 1, lines of elements are dealt out: element t of line u becomes element t / right of line u / classes in
     * plane (u % classes, t % right). Each plane has `lines` lines of `pitch` elements. */
    int64_t line;   /* distance between lines in memory; 0: windows are read in place */
    int64_t points; /* of k that are in one line */
    int64_t length; /* elements of a line that windows use ... */
    int64_t far;    /* ... and the last line that the first row uses */
    int64_t classes, lines;
    int64_t elements; /* that are dealt out for all windows, or among which the windows are */
} sliding;

/* Windows at the points of `row`, each with the points of k. False if they have other axes than rows and columns, or too
 * short rows. */
bool sliding_set(sliding *s, const axis_group *row, const axis_group *k);
/* True if windows of k points have clearly fewer elements together than all windows one by one. */
static inline bool sliding_overlaps(const sliding *s, int64_t k)
{
    return s->elements <= s->height * s->width * k / 4 * 3;
}
/* Cuts the rows into bands of about `most` windows. */
void sliding_cut(sliding *s, int64_t most, int64_t element_bytes);
/* Bytes of the elements of a band that are dealt out; 0: none. */
int64_t sliding_bytes(const sliding *s, int64_t element_bytes);
/* The windows of a run through a band of some rows: its results include those between the rows. */
static inline int64_t sliding_run(const sliding *s, int64_t rows)
{
    return (rows - 1) * s->pitch + s->width;
}
/* point[i] = the offset of point i of k where windows are read, for n points. */
void sliding_points(const sliding *s, const axis_group *k, int64_t n, int64_t *point);
/* The first window of a band, whose first element in memory is `from`: there, or in `scratch`, to which the lines are
 * dealt out. */
const char *sliding_lines(const sliding *s, ig_dtype dtype, const char *from, int64_t rows,
                          char *scratch);
/* Copies the results of a run, `bytes` for each, without the results between rows. */
void sliding_close(const sliding *s, int64_t rows, int64_t bytes, char *to, const char *from);

#endif
