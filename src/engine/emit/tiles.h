/* Tiles of programs with large arrays: see tiles.c. */
#ifndef EMIT_TILES_H
#define EMIT_TILES_H

#include "engine/emit/writer.h"

/* Emits a program or chain uncut, after the launches already in out. */
typedef ig_status emit_whole(const program *p, const emit_target *t, emitted *out);

/* True if one of n programs uses an array that is larger than a buffer. */
bool emit_has_large(const program *p, int n, const emit_target *t);
/* Fails: the program has a large array and cannot be cut. */
ig_status emit_too_large(const emit_target *t);
ig_status emit_tiles(const program *p, int n, const emit_target *t, emit_whole *whole,
                     emitted *out);

/* The most launches of a map: see emit_tiles. */
enum { TILES_MOST = 4096 };

/* A map whose rows are not rows of its large arrays: boxes.c. emit_box_rows returns the rows of each box, which are cut
 * off first. */
int64_t emit_box_rows(const program *p, const emit_target *t);
ig_status emit_boxes(const program *p, const emit_target *t, emit_whole *whole, emitted *out);
/* Gives the tape its own copy of the operands, with room for more. */
ig_status emit_own_operands(tape *t, int more);
/* True if a launch reaches all elements of its array that the operand uses. */
bool emit_reaches(const emit_target *t, const operand *o);

/* A reduction of one row: how many of its points a launch can fold, a multiple of unit, or all; 0: too few. */
int64_t emit_range_points(const program *p, const emit_target *t, int64_t unit);
/* The same reduction of the points [from, to) alone. The caller frees it even after a failure. */
ig_status emit_range(const program *p, int64_t from, int64_t to, program *out);
void emit_range_free(program *range, const program *p);

#endif
