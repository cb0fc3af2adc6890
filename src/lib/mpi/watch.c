#define _GNU_SOURCE
#include "lib/mpi/watch.h"

#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { RANKS_MOST = 1024, FILES_MOST = 4096, JOIN_S = 60, ENDS = 2, HIGH = 1000 };

/* The first message of a rank. */
typedef struct hello {
    int32_t rank, process, local;
} hello;

/* Two connections: when a process dies, some systems close the file with the lowest number first, and some the highest.
 * The first is another file before it is made, which was opened before MPI's. */
static int control[ENDS] = {-1, -1};
static char started[WATCH_NAME_BYTES];

/* ---- in the process: only functions that are safe after a fork of several threads ---- */

/* Keeps standard error and the socket. Files that others wait for, such as mpirun for the end of a rank, must not stay open. */
static void close_others(int own)
{
    for (int i = 0; i < FILES_MOST; i++)
        if (i != own && i != STDERR_FILENO)
            close(i);
}

static void report(const hello *h)
{
    char host[65] = "", text[160];
    gethostname(host, sizeof host - 1);
    const int n =
        snprintf(text, sizeof text, "ingot: rank %d (process %d on %s) has died; the others stop\n",
                 h->rank, h->process, host);
    if (n > 0 && write(STDERR_FILENO, text, (size_t)n) < 0)
        return;
}

/* Takes the connections of all ranks; returns their number, or 0. */
static int accept_all(int listener, int events, int *file, hello *list)
{
    int n = 0;
    do {
        const int one = accept(listener, NULL, NULL);
        if (one < 0 || n == ENDS * RANKS_MOST ||
            recv(one, &list[n], sizeof *list, MSG_WAITALL) != (ssize_t)sizeof *list)
            return 0;
        struct epoll_event e = {.events = EPOLLIN, .data.u32 = (uint32_t)n};
        epoll_ctl(events, EPOLL_CTL_ADD, one, &e);
        file[n++] = one;
    } while (n < ENDS * list[0].local);
    return n;
}

/* Waits for connections to end, and reports the first rank that ends without having said so. epoll reports events in the order
 * in which they happened, so this is the rank that died, and not one that mpirun ended afterwards. */
static void watch(int listener)
{
    static hello list[ENDS * RANKS_MOST];
    static int file[ENDS * RANKS_MOST];
    const int events = epoll_create1(0);
    const int n = events >= 0 ? accept_all(listener, events, file, list) : 0;
    alarm(0);
    for (int i = 0; i < n; i++)
        if (send(file[i], "w", 1, MSG_NOSIGNAL) != 1) {
            report(&list[i]);
            return;
        }
    for (int left = n; left > 0;) {
        struct epoll_event e;
        char byte;
        if (epoll_wait(events, &e, 1, -1) != 1)
            continue;
        if (read(file[e.data.u32], &byte, 1) != 1) {
            report(&list[e.data.u32]);
            return;
        }
        close(file[e.data.u32]); /* it has said that it ends */
        left--;
    }
}

/* ---- in the ranks ---- */

static bool is_first_here(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                        "MV2_COMM_WORLD_LOCAL_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        if (text)
            return strcmp(text, "0") == 0;
    }
    return false;
}

static socklen_t name_bytes(const char *name)
{
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

/* An abstract name: it is in no folder, and ends with the socket. */
static struct sockaddr_un address(const char *name)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    memcpy(a.sun_path + 1, name, strnlen(name, sizeof a.sun_path - 1));
    return a;
}

static void start(int listener)
{
    const pid_t child = fork();
    if (child == 0) {
        setsid(); /* a signal to the group of the rank does not reach it */
        prctl(PR_SET_NAME, "ingot-watch");
        for (int i = 1; i < NSIG; i++)
            signal(i, SIG_DFL);
        alarm(JOIN_S);
        close_others(listener);
        watch(listener);
        _exit(0);
    }
    if (child < 0)
        started[0] = 0;
}

void watch_start(void)
{
    control[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (!is_first_here())
        return;
    snprintf(started, sizeof started, "ingot-watch-%d", (int)getpid());
    const struct sockaddr_un a = address(started);
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener >= 0 && bind(listener, (const struct sockaddr *)&a, name_bytes(started)) == 0 &&
        listen(listener, RANKS_MOST) == 0)
        start(listener);
    else
        started[0] = 0;
    if (listener >= 0)
        close(listener);
}

void watch_name(char name[WATCH_NAME_BYTES]) { memcpy(name, started, WATCH_NAME_BYTES); }

/* Connects the file `to`, or one with at least the number `from` if to is -1. -1 on failure. */
static int joined(const char *name, const hello *own, int to, int from)
{
    const struct sockaddr_un a = address(name);
    const int one = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int file = -1;
    if (one >= 0 && connect(one, (const struct sockaddr *)&a, name_bytes(name)) == 0)
        file = to >= 0 ? dup3(one, to, O_CLOEXEC) : fcntl(one, F_DUPFD_CLOEXEC, from);
    if (one >= 0 && file < 0 && to < 0)
        file = fcntl(one, F_DUPFD_CLOEXEC, 0); /* this process may have few files */
    if (one >= 0)
        close(one);
    if (file >= 0 && send(file, own, sizeof *own, MSG_NOSIGNAL) != (ssize_t)sizeof *own)
        shutdown(file, SHUT_RDWR);
    return file;
}

void watch_join(const char name[WATCH_NAME_BYTES], int rank, int local)
{
    const hello own = {rank, (int32_t)getpid(), local};
    char ready;
    if (!name[0] || control[0] < 0)
        return;
    const int low = joined(name, &own, control[0], 0);
    control[1] = joined(name, &own, -1, HIGH);
    for (int i = 0; i < ENDS && low >= 0; i++)
        while (control[i] >= 0 && read(control[i], &ready, 1) < 0 && errno == EINTR)
            continue;
}

void watch_end(void)
{
    for (int i = 0; i < ENDS; i++) {
        if (control[i] < 0)
            continue;
        send(control[i], "q", 1, MSG_NOSIGNAL); /* fails if it is not watched */
        close(control[i]);
        control[i] = -1;
    }
}

#else

void watch_start(void) {}
void watch_name(char name[WATCH_NAME_BYTES]) { name[0] = 0; }
void watch_join(const char name[WATCH_NAME_BYTES], int rank, int local)
{
    (void)name, (void)rank, (void)local;
}
void watch_end(void) {}

#endif
