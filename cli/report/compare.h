/* Comparison of results: which rows are comparable, their speedups and verdicts.
 *
 * A contestant is a device of a file. A contestant of a later file is matched with the device of the same
 * name in the first file, or with its first device. The devices of a single file are matched with its first
 * device. Two rows are compared only if both did the same work on the same inputs in the same math and found
 * the same answer; rows that are left out are listed. */
#ifndef CLI_REPORT_COMPARE_H
#define CLI_REPORT_COMPARE_H

#include "bench/result.h"
#include "bench/stats.h"

/* A file and the path that the user gave. */
typedef struct source {
    const char *path;
    result r;
} source;

typedef struct contestant {
    const source *from;
    const char *device;
    const char *label; /* "b", "b gpu": the shortest unique name */
} contestant;

/* Two contestants that are compared. */
typedef struct match {
    int old, new; /* indices of contestants */
    int n, faster, slower, same, unsure;
} match;

typedef struct pairing {
    int match;
    const result_row *old, *new;
    bool by_threads; /* the work was also measured with other numbers of threads */
    interval old_s, new_s, speedup;
    verdict verdict;
} pairing;

typedef struct refusal {
    int match;
    const result_row *row; /* of either side */
    const char *why;
} refusal;

typedef struct comparison {
    const source *sources;
    int n_sources;
    const char **names; /* short names of the sources */
    contestant *contestants;
    int n_contestants;
    match *matches;
    int n_matches;
    pairing *pairs; /* by match, in the order of the first file's rows */
    int n_pairs;
    refusal *left_out;
    int n_left_out;
    int only_old, only_new;   /* rows that only one side has */
    bool same_machine, twins; /* all files are from one machine; two files are the same run */
    arena memory;
} comparison;

/* The sources are borrowed and must outlive the comparison. */
void comparison_make(comparison *c, const source *sources, int n);
void comparison_free(comparison *c);

const char *verdict_name(verdict v); /* "FASTER" */
bool row_same_work(const result_row *a, const result_row *b);
bool row_is_of(const result_row *r, const contestant *c);

/* ---- words.c ---- */

void words_time(str *t, double seconds);                /* "1.23 ms" */
void words_ratio(str *t, double ratio);                 /* "31.0", "1.05": for tables */
void words_times(str *t, double ratio);                 /* "31", "1.05": for sentences */
void words_rate(str *t, double rate, const char *unit); /* "1.5 TFLOP/s" */
void words_row(str *t, const result_row *r);            /* "matmul 1024 f32" */
void words_old(str *t, const pairing *p);  /* the same, with threads if there are several */
void words_counts(str *t, const match *m); /* "Of 24 rows 18 are faster, 2 slower" */
/* The whole comparison in a few sentences, one line per match. */
void words_headline(str *t, const comparison *c);
/* The clearest difference, for a title. */
void words_title(str *t, const comparison *c);
/* Which of the user's commands is faster: one line for each except the first. Nothing if there are fewer than two. */
void words_commands(str *t, const result *r);
/* The limits of the comparison, one line each: interrupted runs, disturbances, rows that are left out. */
void words_notes(str *t, const comparison *c);
void words_row_rate(str *t, const result_row *r); /* "70.7 GFLOP/s [68.1, 72.3]", or of bytes */
/* The headline of a single file. Only rows that are not doubtful are named. */
void words_single(str *t, const result *r);
void words_machine(str *t, const result *r); /* "Neoverse-V1 (2 cores)" */

/* ---- page.c ---- */

/* The HTML page of a comparison, or of one file. command is the command line that makes the page. */
void page_make(str *t, const comparison *c, const char *command);

#endif
