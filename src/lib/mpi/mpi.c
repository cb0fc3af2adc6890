/* The team on MPI. See base/team.h.
 *
 * Every operation is started without waiting and then polled. So several threads may exchange at the same time although
 * MPI runs one call at a time (MPI_THREAD_SERIALIZED), a rank that waits does not keep a core busy, and a notice that
 * another rank has failed ends all waiting. Each channel has a communicator; notices have another one. */
#include "base/team.h"

#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PIECE ((size_t)1 << 30) /* bytes of one operation: MPI counts with int */

enum {
    YIELDS = 200, /* polls before the first sleep */
    SLEEP_LEAST_NS = 20000,
    SLEEP_MOST_NS = 200000,
    NOTICE_SENDS_MS = 2000, /* for notices of failure to leave this rank */
    END_S = 60              /* for rank 0 to report a failure */
};

static struct {
    MPI_Comm channel[TEAM_CHANNELS], notices;
    MPI_Request notice; /* a message of a rank that has failed */
    char text[TEAM_TEXT_BYTES];
    int rank, size;
    int failed; /* the rank that sent `text`; -1: none */
    bool owns;  /* MPI began here, and ends here */
    pthread_mutex_t lock;
} mpi = {.failed = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local char reason[TEAM_TEXT_BYTES];

static bool fine(int code)
{
    int n;
    if (code == MPI_SUCCESS)
        return true;
    char text[MPI_MAX_ERROR_STRING + 1] = "unknown error";
    MPI_Error_string(code, text, &n);
    snprintf(reason, sizeof reason, "%.*s", (int)sizeof reason - 1, text);
    return false;
}

/* ---- waiting ---- */

static void rest(int polls)
{
    if (polls < YIELDS) {
        sched_yield();
        return;
    }
    const long grown = (long)(polls - YIELDS + 1) * 1000;
    const long ns = grown < SLEEP_LEAST_NS  ? SLEEP_LEAST_NS
                    : grown > SLEEP_MOST_NS ? SLEEP_MOST_NS
                                            : grown;
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* Looks for a notice. Returns true if no rank has failed. The caller holds the lock. */
static bool no_notice(void)
{
    int came = 0;
    MPI_Status about;
    if (mpi.failed < 0 && mpi.notice != MPI_REQUEST_NULL &&
        MPI_Test(&mpi.notice, &came, &about) == MPI_SUCCESS && came) {
        mpi.failed = about.MPI_SOURCE;
        mpi.text[sizeof mpi.text - 1] = 0;
    }
    return mpi.failed < 0;
}

/* Polls until all requests are done. */
static bool finish(MPI_Request *requests, int n)
{
    for (int polls = 0;; polls += polls < 1000000) {
        int done = 0;
        pthread_mutex_lock(&mpi.lock);
        const int code = MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE);
        const bool well = done || no_notice();
        pthread_mutex_unlock(&mpi.lock);
        if (!well || !fine(code))
            return false;
        if (done)
            return true;
        rest(polls);
    }
}

/* ---- operations ---- */

static size_t pieces(size_t bytes) { return (bytes + PIECE - 1) / PIECE; }

static int piece(size_t bytes, size_t i)
{
    const size_t left = bytes - i * PIECE;
    return (int)(left < PIECE ? left : PIECE);
}

/* Starts broadcasts of a range, piece by piece. */
static int start_broadcast(int channel, int from, char *data, size_t bytes, MPI_Request *requests,
                           int *n)
{
    int code = MPI_SUCCESS;
    for (size_t i = 0; i < pieces(bytes) && code == MPI_SUCCESS; i++)
        code = MPI_Ibcast(data + i * PIECE, piece(bytes, i), MPI_BYTE, from, mpi.channel[channel],
                          &requests[(*n)++]);
    return code;
}

static MPI_Request *new_requests(size_t n)
{
    MPI_Request *r = malloc((n + 1) * sizeof *r);
    if (!r)
        snprintf(reason, sizeof reason, "out of memory");
    return r;
}

static bool broadcast(int channel, int from, void *data, size_t bytes)
{
    MPI_Request *requests = new_requests(pieces(bytes));
    int n = 0;
    if (!requests)
        return false;
    pthread_mutex_lock(&mpi.lock);
    const int code = start_broadcast(channel, from, data, bytes, requests, &n);
    pthread_mutex_unlock(&mpi.lock);
    const bool well = fine(code) && finish(requests, n);
    free(requests);
    return well;
}

/* All ranges in one operation, if MPI can count their bytes. */
static bool gather_small(int channel, void *data, const uint64_t *at)
{
    const size_t n = (size_t)mpi.size;
    int *count = malloc(2 * n * sizeof *count), *place = count + n;
    MPI_Request request;
    if (!count) {
        snprintf(reason, sizeof reason, "out of memory");
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        count[i] = (int)(at[i + 1] - at[i]);
        place[i] = (int)(at[i] - at[0]);
    }
    pthread_mutex_lock(&mpi.lock);
    const int code = MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, (char *)data + at[0],
                                     count, place, MPI_BYTE, mpi.channel[channel], &request);
    pthread_mutex_unlock(&mpi.lock);
    const bool well = fine(code) && finish(&request, 1);
    free(count);
    return well;
}

static bool gather(int channel, void *data, const uint64_t *at)
{
    if (at[mpi.size] - at[0] <= PIECE)
        return gather_small(channel, data, at);
    size_t most = 0;
    for (int i = 0; i < mpi.size; i++)
        most += pieces((size_t)(at[i + 1] - at[i]));
    MPI_Request *requests = new_requests(most);
    int n = 0, code = MPI_SUCCESS;
    if (!requests)
        return false;
    pthread_mutex_lock(&mpi.lock);
    for (int i = 0; i < mpi.size && code == MPI_SUCCESS; i++)
        code = start_broadcast(channel, i, (char *)data + at[i], (size_t)(at[i + 1] - at[i]),
                               requests, &n);
    pthread_mutex_unlock(&mpi.lock);
    const bool well = fine(code) && finish(requests, n);
    free(requests);
    return well;
}

static bool exchange(int channel, const team_move *moves, int n)
{
    size_t most = 0;
    for (int i = 0; i < n; i++)
        most += pieces(moves[i].bytes);
    MPI_Request *requests = new_requests(most);
    int begun = 0, code = MPI_SUCCESS;
    if (!requests)
        return false;
    pthread_mutex_lock(&mpi.lock);
    for (int receives = 1; receives >= 0; receives--) /* receives first: nothing need be kept */
        for (int i = 0; i < n; i++)
            for (size_t k = 0;
                 moves[i].sends == !receives && k < pieces(moves[i].bytes) && code == MPI_SUCCESS;
                 k++) {
                char *data = (char *)moves[i].data + k * PIECE;
                const int count = piece(moves[i].bytes, k);
                MPI_Comm with = mpi.channel[channel];
                MPI_Request *r = &requests[begun++];
                code = receives ? MPI_Irecv(data, count, MPI_BYTE, moves[i].rank, 0, with, r)
                                : MPI_Isend(data, count, MPI_BYTE, moves[i].rank, 0, with, r);
            }
    pthread_mutex_unlock(&mpi.lock);
    const bool well = fine(code) && finish(requests, begun);
    free(requests);
    return well;
}

/* ---- failure ---- */

static const char *why(int *rank)
{
    *rank = mpi.failed;
    return mpi.failed >= 0 ? mpi.text : reason;
}

/* Polls until the requests are done or have failed, or the time is over. */
static void wait_for(MPI_Request *requests, int n, int most_ms)
{
    int done = n == 0;
    for (int ms = 0; requests && !done && ms < most_ms; ms++) {
        pthread_mutex_lock(&mpi.lock);
        if (MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS)
            done = 1;
        pthread_mutex_unlock(&mpi.lock);
        if (!done)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void fail(const char *message)
{
    static char text[TEAM_TEXT_BYTES];
    MPI_Request *requests = new_requests((size_t)mpi.size);
    int n = 0;
    snprintf(text, sizeof text, "%s", message);
    pthread_mutex_lock(&mpi.lock);
    for (int i = 0; i < mpi.size && requests; i++)
        if (i != mpi.rank && MPI_Isend(text, (int)sizeof text, MPI_CHAR, i, 0, mpi.notices,
                                       &requests[n]) == MPI_SUCCESS)
            n++;
    pthread_mutex_unlock(&mpi.lock);
    wait_for(requests, n, NOTICE_SENDS_MS);
    free(requests);
}

/* ---- begin and end ---- */

static bool begin_mpi(void)
{
    int begun = 0, level = MPI_THREAD_SINGLE;
    MPI_Initialized(&begun);
    mpi.owns = !begun;
    const int code = begun ? MPI_Query_thread(&level)
                           : MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    if (!fine(code))
        return false;
    if (level < MPI_THREAD_SERIALIZED) {
        snprintf(reason, sizeof reason, "this MPI cannot be used from several threads");
        return false;
    }
    return true;
}

/* Counts the ranks on this machine, and those of them that may run on the same processors as this one. */
static bool count_near(int *local, int *sharing)
{
    MPI_Comm near;
    char mask[128] = {0};
#ifdef __linux__
    sched_getaffinity(0, sizeof mask, (cpu_set_t *)(void *)mask);
#endif
    if (!fine(
            MPI_Comm_split_type(mpi.notices, MPI_COMM_TYPE_SHARED, mpi.rank, MPI_INFO_NULL, &near)))
        return false;
    MPI_Comm_size(near, local);
    char *all = malloc((size_t)*local * sizeof mask);
    const bool well = all && fine(MPI_Allgather(mask, (int)sizeof mask, MPI_BYTE, all,
                                                (int)sizeof mask, MPI_BYTE, near));
    *sharing = 0;
    for (int i = 0; i < *local && well; i++)
        *sharing += memcmp(mask, all + (size_t)i * sizeof mask, sizeof mask) == 0;
    free(all);
    MPI_Comm_free(&near);
    return well;
}

static bool begin(int *rank, int *size, int *local, int *sharing)
{
    if (!begin_mpi())
        return false;
    for (int i = 0; i <= TEAM_CHANNELS; i++) {
        MPI_Comm *to = i < TEAM_CHANNELS ? &mpi.channel[i] : &mpi.notices;
        if (!fine(MPI_Comm_dup(MPI_COMM_WORLD, to)))
            return false;
        MPI_Comm_set_errhandler(*to, MPI_ERRORS_RETURN);
    }
    MPI_Comm_rank(mpi.notices, &mpi.rank);
    MPI_Comm_size(mpi.notices, &mpi.size);
    if (!count_near(local, sharing))
        return false;
    mpi.failed = -1;
    mpi.notice = MPI_REQUEST_NULL;
    *rank = mpi.rank;
    *size = mpi.size;
    return fine(MPI_Irecv(mpi.text, (int)sizeof mpi.text, MPI_CHAR, MPI_ANY_SOURCE, 0, mpi.notices,
                          &mpi.notice));
}

/* After a failure, messages may wait for ranks that will not take them, and MPI might wait with them. So rank 0, which has
 * reported the failure by now, ends all processes. The others must not be faster: mpirun ends all when one does. */
static void end_all(void)
{
    for (int i = 0; mpi.rank != 0 && i < END_S; i++)
        sleep(1);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void end(bool well)
{
    if (!well && mpi.owns)
        end_all();
    if (mpi.notice != MPI_REQUEST_NULL) {
        MPI_Cancel(&mpi.notice);
        MPI_Wait(&mpi.notice, MPI_STATUS_IGNORE);
    }
    if (well) {
        for (int i = 0; i < TEAM_CHANNELS; i++)
            MPI_Comm_free(&mpi.channel[i]);
        MPI_Comm_free(&mpi.notices);
    }
    if (mpi.owns)
        MPI_Finalize();
}

const team_module *ingot_team_module(void);

__attribute__((visibility("default"))) const team_module *ingot_team_module(void)
{
    static const team_module module = {.version = TEAM_MODULE_VERSION,
                                       .begin = begin,
                                       .end = end,
                                       .broadcast = broadcast,
                                       .gather = gather,
                                       .exchange = exchange,
                                       .fail = fail,
                                       .why = why};
    return &module;
}
