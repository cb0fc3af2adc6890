/* The processes of a team, and the exchange of bytes between them. src/lib/mpi implements it with MPI, as a module that
 * is loaded if mpirun has started the process: the library itself does not need MPI.
 *
 * All functions are collective, unless they say otherwise: every rank calls them with the same sizes, in the same order
 * for each channel. Each thread that exchanges has its own channel. With a team of one they do nothing. If a rank fails
 * (team_fail), they fail in all others, with its message. */
#ifndef BASE_TEAM_H
#define BASE_TEAM_H

#include "ingot/team.h"

typedef enum team_channel {
    TEAM_MAIN,  /* the thread that evaluates */
    TEAM_READER /* the thread that reads ahead */
} team_channel;
enum { TEAM_CHANNELS = 2 };

/* Bytes that go to another rank, or come from it. */
typedef struct team_move {
    int rank;
    bool sends;
    void *data; /* is not written to if `sends` */
    size_t bytes;
} team_move;

/* True between ig_team_begin and ig_team_end, in a team of more than one. Not collective. */
bool team_is_on(void);
/* True if moreover evaluations are shared (ig_team_share). Not collective. */
bool team_shares(void);
/* True if mpirun has started this process, even alone; false with IG_MPI=off. Not collective. */
bool team_is_started(void);

/* Copies data of rank `from` to all ranks. */
ig_status team_broadcast(team_channel channel, int from, void *data, size_t bytes);
/* Gives all ranks the bytes of all ranks: rank r has filled data[at[r]] to data[at[r + 1]], where at has size + 1
 * increasing entries. */
ig_status team_gather(team_channel channel, void *data, const uint64_t *at);
/* Moves bytes between pairs of ranks, all at once. A move that sends matches one that receives the same number of bytes,
 * the first to a rank the first from it, and so on. Each rank lists only its own moves; a rank without any need not call it. */
ig_status team_exchange(team_channel channel, const team_move *moves, int n);
/* Waits until all ranks have called it. */
ig_status team_barrier(team_channel channel);
/* *value becomes the smallest of all ranks. */
ig_status team_least(team_channel channel, uint64_t *value);
/* Fails in all ranks if they have different bytes; `what` names them. */
ig_status team_agree(team_channel channel, const void *data, size_t bytes, const char *what);

/* Bytes that another rank keeps under a key. */
typedef struct team_ask {
    int rank;
    uint64_t key, offset;
    void *to;
    size_t bytes;
} team_ask;
/* The address of bytes that this rank keeps; NULL: it keeps no such bytes. They must stay until all ranks have the bytes
 * that they asked for. */
typedef const void *(*team_find)(uint64_t key, uint64_t offset, uint64_t bytes);

/* From now on a thread answers the requests of other ranks, until the team ends. Collective; only the first call counts. */
ig_status team_serve(team_find find);
/* Gets bytes from other ranks, which need not call anything: their threads answer. Not collective; from any thread. */
ig_status team_fetch(const team_ask *asks, int n);

/* Tells the other ranks that this one has failed: what they wait for fails with this message. Not collective; only the
 * first call counts. The error that waits in this thread stays. message: NULL for that error. */
void team_fail(const char *message);

/* ---- the module ---- */

#define TEAM_MODULE_VERSION 2
#define TEAM_MODULE_SYMBOL "ingot_team_module"
enum { TEAM_TEXT_BYTES = 1024 };

/* Functions return false on failure; `why` then tells the reason. */
typedef struct team_module {
    uint32_t version; /* TEAM_MODULE_VERSION */
    /* local: the ranks on this machine; sharing: how many of them have the processors of this rank. Both count it. */
    bool (*begin)(int *rank, int *size, int *local, int *sharing);
    /* well: no rank has failed */
    void (*end)(bool well);
    bool (*broadcast)(int channel, int from, void *data, size_t bytes);
    bool (*gather)(int channel, void *data, const uint64_t *at);
    bool (*exchange)(int channel, const team_move *moves, int n);
    bool (*serve)(team_find find);
    bool (*fetch)(const team_ask *asks, int n);
    /* Sends the message to all other ranks. */
    void (*fail)(const char *message);
    /* The reason of the last failure. *rank: the rank that failed, or -1. */
    const char *(*why)(int *rank);
} team_module;

/* The symbol TEAM_MODULE_SYMBOL. */
typedef const team_module *(*team_module_get)(void);

#endif
