/* A tool for tests/test_mpi.py; not a test by itself. Each rank runs it, under mpirun.
 *
 *   team_tool moves        broadcasts, gathers and exchanges bytes of many sizes, and checks what comes
 *   team_tool speed        times them, for bench/team: rank 0 prints seconds
 *   team_tool fail RANK    that rank fails while the others wait for it; rank 0 prints why it ended
 *   team_tool die RANK     that rank kills itself
 *   team_tool differ       ranks have different data */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/team.h"
#include "ingot.h"

static int wrong;

static unsigned char byte_of(int rank, size_t i) { return (unsigned char)(rank * 37 + i * 11 + 1); }

static void expect(bool right, const char *what, size_t bytes)
{
    if (!right)
        printf("rank %d: wrong: %s of %zu bytes\n", ig_team_rank(), what, bytes);
    wrong += !right;
}

static bool is_of(const unsigned char *data, int rank, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (data[i] != byte_of(rank, i))
            return false;
    return true;
}

static void fill(unsigned char *data, int rank, size_t n)
{
    for (size_t i = 0; i < n; i++)
        data[i] = byte_of(rank, i);
}

static void try_broadcast(unsigned char *data, size_t bytes)
{
    for (int from = 0; from < ig_team_size(); from++) {
        memset(data, 0, bytes);
        if (from == ig_team_rank())
            fill(data, from, bytes);
        expect(team_broadcast(TEAM_MAIN, from, data, bytes) == IG_OK && is_of(data, from, bytes),
               "broadcast", bytes);
    }
}

/* Rank r has r times `bytes`, so rank 0 has none. */
static void try_gather(unsigned char *data, size_t bytes)
{
    uint64_t at[65] = {0};
    bool right = true;
    const int n = ig_team_size();
    for (int r = 0; r < n; r++)
        at[r + 1] = at[r] + (uint64_t)r * bytes;
    fill(data + at[ig_team_rank()], ig_team_rank(), (size_t)ig_team_rank() * bytes);
    right = team_gather(TEAM_MAIN, data, at) == IG_OK;
    for (int r = 0; r < n && right; r++)
        right = is_of(data + at[r], r, (size_t)r * bytes);
    expect(right, "gather", bytes);
}

/* Everyone to everyone, twice: the order of the moves counts. */
static void try_exchange(unsigned char *data, size_t bytes)
{
    team_move moves[256];
    int n = 0;
    const int me = ig_team_rank();
    fill(data, me, bytes);
    fill(data + bytes, me + 100, bytes);
    for (int r = 0; r < ig_team_size(); r++)
        for (int k = 0; k < 2 && r != me; k++) {
            moves[n++] = (team_move){r, true, data + (size_t)k * bytes, bytes};
            moves[n++] = (team_move){r, false, data + (size_t)(2 + 2 * r + k) * bytes, bytes};
        }
    bool right = team_exchange(TEAM_READER, moves, n) == IG_OK;
    for (int r = 0; r < ig_team_size() && right; r++)
        for (int k = 0; k < 2 && r != me; k++)
            right = right && is_of(data + (size_t)(2 + 2 * r + k) * bytes, r + 100 * k, bytes);
    expect(right, "exchange", bytes);
}

static int moves(void)
{
    static const size_t sizes[] = {1, 3, 4096, 70001, 3000003};
    unsigned char *data = malloc(3000003 * (size_t)(3 + 4 * ig_team_size() * ig_team_size()));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && data; i++) {
        try_broadcast(data, sizes[i]);
        try_gather(data, sizes[i]);
        try_exchange(data, sizes[i]);
    }
    free(data);
    uint64_t least = 100 - (uint64_t)ig_team_rank();
    expect(team_least(TEAM_MAIN, &least) == IG_OK && least == 101 - (uint64_t)ig_team_size(),
           "least", 8);
    expect(team_agree(TEAM_MAIN, "same", 4, "texts") == IG_OK, "agree", 4);
    if (!wrong)
        printf("rank %d of %d: right\n", ig_team_rank(), ig_team_size());
    return wrong != 0;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Medians are for bench/team: each line is a kind, the bytes, and the seconds of one operation. */
static int speed(void)
{
    enum { ROUNDS = 15, MOST = 1 << 26 };
    const int size = ig_team_size(), me = ig_team_rank();
    unsigned char *data = calloc(2, MOST);
    for (size_t bytes = 8; bytes <= MOST && data; bytes *= 8)
        for (int round = 0; round < 3 * ROUNDS; round++) {
            static const char *const kinds[] = {"broadcast", "gather", "exchange"};
            uint64_t at[65] = {0};
            for (int r = 0; r < size; r++)
                at[r + 1] = bytes * (uint64_t)(r + 1) / (uint64_t)size;
            const int next = (me + 1) % size, last = (me + size - 1) % size;
            const team_move ring[] = {{next, true, data, bytes}, {last, false, data + MOST, bytes}};
            team_barrier(TEAM_MAIN);
            const double begin = now_s();
            if (round % 3 == 0)
                team_broadcast(TEAM_MAIN, 0, data, bytes);
            else if (round % 3 == 1)
                team_gather(TEAM_MAIN, data, at);
            else
                team_exchange(TEAM_MAIN, ring, 2);
            team_barrier(TEAM_MAIN);
            if (me == 0)
                printf("%s %zu %.9f\n", kinds[round % 3], bytes, now_s() - begin);
        }
    free(data);
    return 0;
}

static int fail(int rank)
{
    if (ig_team_rank() == rank)
        team_fail("the tool was told to fail");
    else if (team_barrier(TEAM_MAIN) != IG_OK)
        printf("%s\n", ig_error(NULL));
    fflush(stdout);
    return 1;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const int rank = argc > 2 ? atoi(argv[2]) : -1;
    int code = 2;
    if (ig_team_begin() != IG_OK) {
        printf("%s\n", ig_error(NULL));
        return 1;
    }
    if (strcmp(what, "moves") == 0)
        code = moves();
    else if (strcmp(what, "speed") == 0)
        code = speed();
    else if (strcmp(what, "fail") == 0)
        code = fail(rank);
    else if (strcmp(what, "die") == 0 && ig_team_rank() == rank)
        raise(SIGKILL);
    else if (strcmp(what, "die") == 0)
        code = team_barrier(TEAM_MAIN) == IG_OK ? 0 : 1;
    else if (strcmp(what, "differ") == 0) {
        code = team_agree(TEAM_MAIN, &(int){ig_team_rank()}, sizeof(int), "numbers") == IG_OK;
        printf("%s\n", ig_error(NULL));
    }
    fflush(stdout);
    ig_team_end();
    return code;
}
