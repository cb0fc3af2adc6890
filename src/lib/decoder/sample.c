/* The choice of the next token: penalties, then the probabilities at a temperature, then the filters top-k, typical, top-p and
 * min-p, each on what the ones before it left. */
#include "lib/decoder/decoder.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const sampling sampling_default = {.temperature = 0.8,
                                   .top_k = 40,
                                   .top_p = 0.95,
                                   .min_p = 0.05,
                                   .typical = 1,
                                   .repetition = 1,
                                   .last = 64};

typedef struct candidate {
    int32_t id;
    float logit;
    double p, key; /* key: what the typical filter sorts by */
} candidate;

struct sampler {
    sampling how;
    int64_t vocabulary;
    candidate *list;
    int32_t *counts;
};

sampler *sampler_new(const sampling *how, int64_t vocabulary)
{
    sampler *s = memory_new(sizeof *s);
    if (!s)
        return NULL;
    s->how = *how;
    s->vocabulary = vocabulary;
    s->list = memory_get((size_t)vocabulary * sizeof *s->list);
    s->counts = memory_new((size_t)vocabulary * sizeof *s->counts);
    if (s->list && s->counts)
        return s;
    sampler_free(s);
    return NULL;
}

void sampler_free(sampler *s)
{
    if (!s)
        return;
    memory_free(s->list);
    memory_free(s->counts);
    memory_free(s);
}

/* A number in [0, 1) from a seed and a position: splitmix64. It has the same bits on every machine. */
static double draw(uint64_t seed, uint64_t position)
{
    uint64_t z = seed * 0xd1342543de82ef95u + (position + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-53;
}

static void penalize(sampler *s, const int32_t *tokens, int64_t n)
{
    const sampling *h = &s->how;
    const int64_t first = h->last >= 0 && n > h->last ? n - h->last : 0;
    if (h->repetition == 1 && h->presence == 0 && h->frequency == 0)
        return;
    for (int64_t i = first; i < n; i++)
        s->counts[tokens[i]]++;
    for (int64_t i = first; i < n; i++) {
        const int32_t id = tokens[i];
        float *x = &s->list[id].logit;
        if (s->counts[id] == 0)
            continue;
        *x = (float)(*x > 0 ? (double)*x / h->repetition : (double)*x * h->repetition);
        *x -= (float)(h->presence + h->frequency * s->counts[id]);
        s->counts[id] = 0;
    }
}

/* More probable ones first; equal ones in the order of ids, so that the order is the same everywhere. */
static int by_logit(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    if (a->logit != b->logit)
        return a->logit > b->logit ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static int by_key(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    return a->key != b->key ? (a->key > b->key) - (a->key < b->key) : by_logit(left, right);
}

/* The n best candidates come first, in order. */
static void best_first(candidate *list, int64_t total, int64_t n)
{
    if (n >= total / 8) {
        qsort(list, (size_t)total, sizeof *list, by_logit);
        return;
    }
    int64_t kept = 0; /* a sorted list of the best so far, by insertion */
    for (int64_t i = 0; i < total; i++) {
        const candidate c = list[i];
        if (kept == n && by_logit(&c, &list[n - 1]) > 0)
            continue;
        int64_t at = kept < n ? kept++ : n - 1;
        list[i] = list[at];
        for (; at > 0 && by_logit(&c, &list[at - 1]) < 0; at--)
            list[at] = list[at - 1];
        list[at] = c;
    }
}

/* Probabilities of the first n. */
static void probabilities(candidate *list, int64_t n, double temperature)
{
    double sum = 0;
    float most = list[0].logit;
    for (int64_t i = 1; i < n; i++)
        most = list[i].logit > most ? list[i].logit : most;
    for (int64_t i = 0; i < n; i++)
        sum += list[i].p = exp((double)(list[i].logit - most) / temperature);
    for (int64_t i = 0; i < n; i++)
        list[i].p /= sum;
}

/* How many candidates have together at least this probability. */
static int64_t until(const candidate *list, int64_t n, double share)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        if ((sum += list[i].p) >= share)
            return i + 1;
    return n;
}

static int64_t typical_filter(candidate *list, int64_t n, double share)
{
    double entropy = 0;
    for (int64_t i = 0; i < n; i++)
        entropy -= list[i].p > 0 ? list[i].p * log(list[i].p) : 0;
    for (int64_t i = 0; i < n; i++)
        list[i].key = fabs(-log(list[i].p) - entropy);
    qsort(list, (size_t)n, sizeof *list, by_key);
    n = until(list, n, share);
    qsort(list, (size_t)n, sizeof *list, by_logit);
    return n;
}

static int64_t filter(const sampler *s)
{
    const sampling *h = &s->how;
    candidate *list = s->list;
    const bool few = h->top_k > 0 && h->top_k < s->vocabulary;
    int64_t n = few ? h->top_k : s->vocabulary;
    best_first(list, s->vocabulary, n);
    probabilities(list, n, h->temperature);
    if (h->typical < 1) {
        n = typical_filter(list, n, h->typical);
        probabilities(list, n, h->temperature);
    }
    if (h->top_p < 1) {
        n = until(list, n, h->top_p);
        probabilities(list, n, h->temperature);
    }
    int64_t kept = 1;
    while (kept < n && list[kept].p >= h->min_p * list[0].p)
        kept++;
    probabilities(list, kept, h->temperature);
    return kept;
}

int32_t sampler_next(sampler *s, const float *logits, const int32_t *tokens, int64_t n,
                     double *logprob)
{
    int32_t best = 0;
    double sum = 0;
    for (int64_t i = 0; i < s->vocabulary; i++) {
        if (isnan(logits[i]))
            return -1;
        s->list[i] = (candidate){.id = (int32_t)i, .logit = logits[i]};
        best = logits[i] > logits[best] ? (int32_t)i : best;
    }
    for (int64_t i = 0; i < s->vocabulary; i++)
        sum += exp((double)(logits[i] - logits[best]));
    penalize(s, tokens, n);
    int32_t chosen = 0;
    if (s->how.temperature > 0) {
        const int64_t kept = filter(s);
        const double at = draw(s->how.seed, (uint64_t)n);
        const int64_t i = until(s->list, kept, at);
        chosen = s->list[i - 1].id;
    } else {
        for (int64_t i = 1; i < s->vocabulary; i++)
            chosen = s->list[i].logit > s->list[chosen].logit ? (int32_t)i : chosen;
    }
    *logprob = (double)(logits[chosen] - logits[best]) - log(sum);
    return chosen;
}
