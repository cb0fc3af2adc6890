/* ingot verify --graphs: runs random graphs on a device and compares each of them
 *   - with the same graph evaluated node by node without fusion, bit by bit,
 *   - node by node with float64 on the CPU, within the error bound of the node (both: ig_verify),
 *   - with the same graph evaluated in other ways, bit by bit: donating, compiled, and with --blocks from and to blocks, by
 *     the devices of a list, or by the ranks that mpirun has started.
 * With --same, the first device is checked in this way, and each other device must have its bits.
 * A graph that fails is shrunk and printed as a command. */
#ifndef CLI_VERIFY_GRAPHS_H
#define CLI_VERIFY_GRAPHS_H

#include "verify/graph.h"
#include "verify/work.h"

enum { GRAPHS_FAILED_MOST = 10 };

/* The number of units of work. A unit has several of the n graphs, or only the graph whose number is `only`. */
int graphs_units(int64_t n, const char *only);
/* The first graph of a unit. *end: one past its last graph. */
int64_t graphs_first(int64_t n, const char *only, int unit, int64_t *end);
void graphs_name(int64_t n, const char *only, int unit, char name[UNIT_NAME]);

typedef struct graphs_scope {
    uint64_t seed;
    const char *device;    /* canonical name */
    const char *reference; /* the device whose bits are expected, or NULL */
    const char *list;      /* of devices, which begins with it */
    const char *math;      /* the value of --math, or NULL */
    bool flushes;          /* subnormal f32 and bf16 results may be 0 */
    bool blocks;           /* leaves are also read block by block */
    bool (*stop)(void);
} graphs_scope;

/* Checks the graph with that number and counts it in r. Describes the first failure: what is wrong, and on a separate
 * line a command. */
void graphs_check(const graphs_scope *s, int64_t number, unit_report *r);

/* The name of a way to evaluate graphs; NULL after the last. */
const char *graphs_way(int way);
/* NULL if the graph is evaluated in this way; else the reason why not. */
const char *graphs_leaves_out(const graphs_scope *s, const graph *g, int way);

/* ---- graphs_list.c ---- */

/* Prints how many of n graphs have each op, dtype and way, and why some have none. */
void graphs_list(const graphs_scope *s, int64_t n);

/* ---- graphs_show.c ---- */

/* The graphs that were checked, and the settings. */
typedef struct graphs_run {
    const work *work;
    const char *const *device;
    int n_device;
    int64_t graphs;
    const char *reference, *math;
    uint64_t seed;
    double seconds;
    bool interrupted;
} graphs_run;

tally graphs_total(const work *w, int n_device);
void graphs_show(const graphs_run *r, bool json);

#endif
