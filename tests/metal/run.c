/* Runs a kernel that was compiled from Metal's text: each thread of a threadgroup is one of ours, and they
 * wait for each other where the text says so. tests/test_translate.py writes metal_enter, which calls the
 * kernel, and builds it with this file. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { SIMD = 32, THREADS_MOST = 128 };

unsigned metal_lane(void);
void metal_wait(bool all);
float *metal_board(void);
const uint32_t *metal_position(void);
int metal_run(int threads, int groups, void **buffers);
void metal_enter(void **buffers); /* of the kernel's text */

static _Thread_local uint32_t position[2]; /* thread in its group, group */
static pthread_barrier_t group, simds[THREADS_MOST / SIMD];
static float boards[THREADS_MOST / SIMD][2 * 64];

unsigned metal_lane(void) { return position[0] % SIMD; }
float *metal_board(void) { return boards[position[0] / SIMD]; }
const uint32_t *metal_position(void) { return position; }
void metal_wait(bool all) { pthread_barrier_wait(all ? &group : &simds[position[0] / SIMD]); }

typedef struct work {
    pthread_t thread;
    uint32_t at;
    int groups;
    void **buffers;
} work;

static void *run_thread(void *of)
{
    const work *w = of;
    for (int i = 0; i < w->groups; i++) {
        position[0] = w->at;
        position[1] = (uint32_t)i;
        metal_enter(w->buffers);
        metal_wait(true);
    }
    return NULL;
}

/* Groups one after another; 0 if all went well. */
int metal_run(int threads, int groups, void **buffers)
{
    work all[THREADS_MOST];
    if (threads % SIMD || threads > THREADS_MOST)
        return 1;
    pthread_barrier_init(&group, NULL, (unsigned)threads);
    for (int i = 0; i < threads / SIMD; i++)
        pthread_barrier_init(&simds[i], NULL, SIMD);
    for (int i = 0; i < threads; i++) {
        all[i] = (work){.at = (uint32_t)i, .groups = groups, .buffers = buffers};
        if (pthread_create(&all[i].thread, NULL, run_thread, &all[i]))
            return 1; /* the others wait for ever: the process is of no use */
    }
    for (int i = 0; i < threads; i++)
        pthread_join(all[i].thread, NULL);
    return 0;
}
