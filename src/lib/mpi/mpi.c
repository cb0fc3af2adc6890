/* The team on MPI. See base/team.h.
 *
 * Every operation is started without waiting and then polled. So several threads may exchange at the same time although
 * MPI runs one call at a time (MPI_THREAD_SERIALIZED), a rank that waits does not keep a core busy, and a notice that
 * another rank has failed ends all waiting. Each channel has a communicator; notices have another one. */
#include "base/team.h"
#include "lib/mpi/watch.h"

#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* MPICH declares lists of requests and statuses as arrays, and gcc takes its MPI_STATUSES_IGNORE for one that is too short. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

#define PIECE ((size_t)1 << 30) /* bytes of one operation: MPI counts with int */

enum {
    YIELDS = 200, /* polls before the first sleep */
    SLEEP_LEAST_NS = 20000,
    SLEEP_MOST_NS = 200000,
    NOTICE_SENDS_MS = 2000, /* for notices of failure to leave this rank */
    END_S = 60,             /* for rank 0 to report a failure */
    PRINT_NS = 200000000    /* for mpirun to print it */
};

static struct {
    MPI_Comm channel[TEAM_CHANNELS], notices, asks, answers;
    MPI_Request notice; /* a message of a rank that has failed */
    char text[TEAM_TEXT_BYTES];
    int rank, size;
    int failed; /* the rank that sent `text`; -1: none */
    bool owns;  /* MPI began here, and ends here */
    pthread_mutex_t lock;

    team_find find; /* NULL: nothing is served */
    pthread_t server;
    atomic_bool stops;
    atomic_uint tag; /* of the next answer */
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

/* Polls until all requests are done. about: the status of each request, or MPI_STATUSES_IGNORE. */
static bool finish_with(MPI_Request *requests, int n, MPI_Status *about)
{
    for (int polls = 0;; polls += polls < 1000000) {
        int done = 0;
        pthread_mutex_lock(&mpi.lock);
        const int code = MPI_Testall(n, requests, &done, about);
        const bool well = done || no_notice();
        pthread_mutex_unlock(&mpi.lock);
        if (!well || !fine(code))
            return false;
        if (done)
            return true;
        rest(polls);
    }
}

static bool finish(MPI_Request *requests, int n)
{
    return finish_with(requests, n, MPI_STATUSES_IGNORE);
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

/* ---- bytes that ranks ask for ---- */

enum { ANSWERS_MOST = 64, TAGS = 32768 /* all that MPI promises */ };

typedef struct question {
    uint64_t key, offset, bytes;
    uint32_t tag;
} question;

/* Asks for up to PIECE bytes. */
static int start_fetch(const team_ask *a, size_t i, question *q, MPI_Request *requests)
{
    const int bytes = piece(a->bytes, i), tag = (int)(atomic_fetch_add(&mpi.tag, 1) % TAGS);
    *q = (question){a->key, a->offset + i * PIECE, (uint64_t)bytes, (uint32_t)tag};
    const int code = MPI_Irecv((char *)a->to + i * PIECE, bytes, MPI_BYTE, a->rank, tag,
                               mpi.answers, &requests[0]);
    requests[1] = MPI_REQUEST_NULL;
    return code == MPI_SUCCESS
               ? MPI_Isend(q, (int)sizeof *q, MPI_BYTE, a->rank, 0, mpi.asks, &requests[1])
               : code;
}

/* True if every answer has the bytes that were asked for. */
static bool are_whole(const question *q, const MPI_Status *about, int n)
{
    for (int i = 0; i < n; i++) {
        int bytes = 0;
        MPI_Get_count(&about[2 * i], MPI_BYTE, &bytes);
        if ((uint64_t)bytes != q[i].bytes) {
            snprintf(reason, sizeof reason, "a rank no longer has bytes that this one asked for");
            return false;
        }
    }
    return true;
}

static bool fetch(const team_ask *asks, int n)
{
    size_t most = 0;
    for (int i = 0; i < n; i++)
        most += pieces(asks[i].bytes);
    MPI_Request *requests = new_requests(2 * most);
    MPI_Status *about = malloc((2 * most + 1) * sizeof *about);
    question *q = malloc((most + 1) * sizeof *q);
    int begun = 0, code = MPI_SUCCESS;
    bool well = requests && about && q;
    if (!well)
        snprintf(reason, sizeof reason, "out of memory");
    pthread_mutex_lock(&mpi.lock);
    for (int i = 0; i < n && well; i++)
        for (size_t k = 0; k < pieces(asks[i].bytes) && code == MPI_SUCCESS; k++, begun++)
            code = start_fetch(&asks[i], k, &q[begun], &requests[2 * begun]);
    pthread_mutex_unlock(&mpi.lock);
    well =
        well && fine(code) && finish_with(requests, 2 * begun, about) && are_whole(q, about, begun);
    free(requests);
    free(about);
    free(q);
    return well;
}

/* Answers one question; an empty answer says that the bytes are not here. */
static int answer(const question *q, int rank, MPI_Request *request)
{
    const void *data = mpi.find(q->key, q->offset, q->bytes);
    return MPI_Isend(data ? data : "", data ? (int)q->bytes : 0, MPI_BYTE, rank, (int)q->tag,
                     mpi.answers, request);
}

/* The thread that answers. The number of answers under way is limited: further questions wait in MPI. */
static void *serve_all(void *context)
{
    MPI_Request asked = MPI_REQUEST_NULL, sent[ANSWERS_MOST];
    question q;
    int n = 0;
    (void)context;
    for (int polls = 0; !atomic_load(&mpi.stops); polls += polls < 1000000) {
        int came = 0, code = MPI_SUCCESS;
        MPI_Status about;
        pthread_mutex_lock(&mpi.lock);
        if (asked == MPI_REQUEST_NULL)
            code = MPI_Irecv(&q, (int)sizeof q, MPI_BYTE, MPI_ANY_SOURCE, 0, mpi.asks, &asked);
        if (code == MPI_SUCCESS && n < ANSWERS_MOST)
            code = MPI_Test(&asked, &came, &about);
        if (code == MPI_SUCCESS && came)
            code = answer(&q, about.MPI_SOURCE, &sent[n++]);
        for (int i = n - 1, done; i >= 0 && code == MPI_SUCCESS; i--) {
            code = MPI_Test(&sent[i], &done, MPI_STATUS_IGNORE);
            if (done)
                sent[i] = sent[--n];
        }
        pthread_mutex_unlock(&mpi.lock);
        if (code != MPI_SUCCESS)
            break; /* the ranks that wait for answers learn it from MPI */
        if (came)
            polls = 0;
        else
            rest(polls);
    }
    pthread_mutex_lock(&mpi.lock);
    if (asked != MPI_REQUEST_NULL && MPI_Cancel(&asked) == MPI_SUCCESS)
        MPI_Request_free(&asked);
    pthread_mutex_unlock(&mpi.lock);
    return NULL;
}

static bool serve(team_find find)
{
    if (mpi.find)
        return true;
    mpi.find = find;
    atomic_store(&mpi.stops, false);
    if (pthread_create(&mpi.server, NULL, serve_all, NULL) == 0)
        return true;
    mpi.find = NULL;
    snprintf(reason, sizeof reason, "no thread can be started");
    return false;
}

static void serve_end(void)
{
    if (!mpi.find)
        return;
    atomic_store(&mpi.stops, true);
    pthread_join(mpi.server, NULL);
    mpi.find = NULL;
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
    if (!begun)
        watch_start();
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

/* Connects the ranks of this machine to the process that watches them. */
static bool watch_begin(MPI_Comm near, int local)
{
    char name[WATCH_NAME_BYTES];
    watch_name(name);
    if (!fine(MPI_Bcast(name, WATCH_NAME_BYTES, MPI_CHAR, 0, near)))
        return false;
    watch_join(name, mpi.rank, local);
    return true;
}

/* Counts the ranks on this machine, and how many of them may run on the same processors as this one. */
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
    const bool watching = well && watch_begin(near, *local);
    MPI_Comm_free(&near);
    return watching;
}

enum { COMMUNICATORS = TEAM_CHANNELS + 3 };

static void communicators(MPI_Comm *list[COMMUNICATORS])
{
    for (int i = 0; i < TEAM_CHANNELS; i++)
        list[i] = &mpi.channel[i];
    list[TEAM_CHANNELS] = &mpi.notices;
    list[TEAM_CHANNELS + 1] = &mpi.asks;
    list[TEAM_CHANNELS + 2] = &mpi.answers;
}

static bool begin(int *rank, int *size, int *local, int *sharing)
{
    if (!begin_mpi())
        return false;
    MPI_Comm *to[COMMUNICATORS];
    communicators(to);
    for (int i = 0; i < COMMUNICATORS; i++) {
        if (!fine(MPI_Comm_dup(MPI_COMM_WORLD, to[i])))
            return false;
        MPI_Comm_set_errhandler(*to[i], MPI_ERRORS_RETURN);
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
    fflush(NULL);
    nanosleep(&(struct timespec){.tv_nsec = PRINT_NS},
              NULL); /* mpirun passes on what it has read by then */
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void end(bool well)
{
    MPI_Comm *list[COMMUNICATORS];
    serve_end();
    watch_end();
    if (!well && mpi.owns)
        end_all();
    if (mpi.notice != MPI_REQUEST_NULL) {
        MPI_Cancel(&mpi.notice);
        MPI_Wait(&mpi.notice, MPI_STATUS_IGNORE);
    }
    communicators(list);
    for (int i = 0; i < COMMUNICATORS && well; i++)
        MPI_Comm_free(list[i]);
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
                                       .serve = serve,
                                       .fetch = fetch,
                                       .fail = fail,
                                       .why = why};
    return &module;
}
