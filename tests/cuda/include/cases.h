// The programs that compare the device with the host's compiler case by case: each case records numbers. A program
// names its namespaces in CASES(X), and then includes run_cases.h.
#pragma once
#include <cstdio>
#include <utility>

#define HD __host__ __device__

struct Out {
    int v[60], n;
    HD void put(int x) { v[n++] = x; }
};

#define RUN_CASE(name) name::test(out[n++]);
#define NAME_CASE(name) #name,

static int compare(const char *const *names, const Out *host, const Out *device, int n)
{
    int differ = 0;
    for (int i = 0; i < n; i++) {
        bool same = host[i].n == device[i].n && host[i].n > 0;
        for (int k = 0; same && k < host[i].n; k++)
            same = host[i].v[k] == device[i].v[k];
        differ += !same;
        if (same)
            continue;
        printf("%s:", names[i]);
        for (int k = 0; k < host[i].n; k++)
            printf(" %d (%d)", device[i].v[k], host[i].v[k]);
        printf("\n");
    }
    printf("%d cases, %d differ\n", n, differ);
    return differ != 0;
}
