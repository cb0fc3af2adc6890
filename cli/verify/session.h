/* One run of ingot verify: its settings, and what it has found. cli/verify.c runs it, show.c shows it. */
#ifndef CLI_VERIFY_SESSION_H
#define CLI_VERIFY_SESSION_H

#include "cli.h"
#include "progress.h"
#include "verify/verify.h"
#include "verify/work.h"

enum { DEVICES_MOST = 16 };

typedef struct settings {
    const char *devices, *same, *op, *dtype, *name, *model, *record;
    bool quick, json, blocks, list;
    int jobs;
    int64_t graphs;
    uint64_t seed;
    engine_options engine;
} settings;

/* One run of the verb: devices, and a report for each op on each of them. */
typedef struct session {
    const command *command;
    const settings *set;
    verify_scope scope;
    ig_device_info device[DEVICES_MOST]; /* the devices to check */
    int n_device;
    ig_device_info reference; /* --same: the device to match bit by bit; name NULL: none */
    const ig_op **op;
    int n_op;
    op_report *report; /* of op k on device d: d * n_op + k */
    int n_report;      /* number of reports */
    int n_unit;        /* units of work per device: op x dtype, or some graphs */
    int *order;        /* order of the units */
    double seconds;
    bool interrupted;
    work *work;
    progress bar;
    int opened; /* index of the current device, or -1 */
} session;

tally session_total(const session *s);

/* For people, as JSON, and for random graphs in either way. */
void session_show(const session *s);
void session_show_json(const session *s);
void session_show_graphs(const session *s);

#endif
