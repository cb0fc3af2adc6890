/* Waiting times from the Linux kernel: the second number of a thread's schedstat is the time that it waited
 * for a core, in nanoseconds. The files stay open, because opening them between two short samples would give
 * the thread pool time to fall asleep. */
#include "bench/waits.h"

#include "str.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static struct waiting {
    int file;
    double begin_s;
} * threads;
static int n_threads;

static void threads_find(void)
{
    for (int i = 0; i < n_threads; i++)
        close(threads[i].file);
    n_threads = 0;
    DIR *all = opendir("/proc/self/task");
    for (const struct dirent *one; all && (one = readdir(all));) {
        str path = {0};
        str_printf(&path, "/proc/self/task/%s/schedstat", one->d_name);
        int file = open(path.s, O_RDONLY | O_CLOEXEC);
        str_free(&path);
        if (file < 0)
            continue;
        threads = heap_resize(threads, sizeof *threads * (size_t)(n_threads + 1));
        threads[n_threads++].file = file;
    }
    if (all)
        closedir(all);
}

static double waited_s(const struct waiting *w)
{
    char text[96], *waited;
    ssize_t n = pread(w->file, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    strtoull(text, &waited, 10);
    return 1e-9 * (double)strtoull(waited, NULL, 10);
}

void waits_begin(bool fresh)
{
    if (fresh)
        threads_find();
    for (int i = 0; i < n_threads; i++)
        threads[i].begin_s = waited_s(&threads[i]);
}

double waits_s(void)
{
    double most_s = 0;
    for (int i = 0; i < n_threads; i++)
        most_s = fmax(most_s, waited_s(&threads[i]) - threads[i].begin_s);
    return most_s;
}

/* user, nice, system, idle, iowait, irq, softirq, steal; user and nice include the time of guests. */
static double busy_s(void)
{
    unsigned long long v[8];
    FILE *file = fopen("/proc/stat", "re");
    if (!file)
        return 0;
    int n = fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3],
                   &v[4], &v[5], &v[6], &v[7]);
    fclose(file);
    return n < 8 ? 0
                 : (double)(v[0] + v[1] + v[2] + v[5] + v[6] + v[7]) / (double)sysconf(_SC_CLK_TCK);
}

static double used_s(int whose)
{
    struct rusage u;
    if (getrusage(whose, &u) != 0)
        return 0;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

double others_s(void)
{
    double busy = busy_s();
    return busy > 0 ? busy - used_s(RUSAGE_SELF) - used_s(RUSAGE_CHILDREN) : 0;
}
