#include "train/ranks.h"

#include "base/hash.h"
#include "base/team.h"
#include <stdlib.h>

enum { ROWS_COMPARED = 16 }; /* at each end of the samples */

bool ranks_refuse(const char *name)
{
    if (ig_team_size() > 1)
        text_printf(stderr, "ingot %s: it works in one process; start it without mpirun\n", name);
    return ig_team_size() > 1;
}

/* Adds rows of x to the hash. */
static void hash_rows(hash *h, ig_array *x, int64_t from, int64_t to)
{
    if (!x || ig_scope_begin() != IG_OK)
        return;
    ig_array *rows = ig_take(x, ig_arange((double)from, (double)to, 1, IG_I64), IG_AXES(0));
    const void *data = ig_data(rows);
    if (data)
        hash_add(h, data, (size_t)ig_size(rows) * ig_dtype_bytes(ig_dtype_of(rows)));
    ig_scope_end();
}

/* Labels are compared as a whole, samples and targets at both ends: data sets may be large. */
static void hash_samples(hash *h, const samples *p)
{
    const int64_t n = p->count < ROWS_COMPARED ? p->count : ROWS_COMPARED;
    ig_array *const arrays[2] = {p->x, p->y};
    hash_add(h, &p->count, sizeof p->count);
    if (p->labels)
        hash_add(h, p->labels, (size_t)p->count * sizeof *p->labels);
    for (int i = 0; i < 2; i++) {
        hash_rows(h, arrays[i], 0, n);
        hash_rows(h, arrays[i], p->count - n, p->count);
    }
}

static ig_status agree(const training *t, const dataset *d)
{
    uint8_t digest[HASH_BYTES];
    str text = {0};
    hash h;
    training_write(t, &text);
    ig_status status = team_agree(TEAM_MAIN, text.s, text.n, "settings or checkpoints");
    str_free(&text);
    hash_begin(&h);
    hash_samples(&h, &d->train);
    hash_end(&h, digest);
    if (status == IG_OK && !ig_failed())
        status = team_agree(TEAM_MAIN, digest, sizeof digest, "samples");
    return status;
}

int ranks_prepare(const command *c, const train_settings *set, const training *t, const dataset *d,
                  ig_optimizer *o, ig_model *m)
{
    const int ranks = ig_team_size();
    int first, end;
    if (!t->shards && ranks > 1) {
        say(c,
            "%s: it was made without --shards; give --shards %d to continue with %d ranks, or "
            "start without mpirun",
            set->resume, RANKS_SHARDS, ranks);
        return EXIT_USAGE;
    }
    if (!t->shards)
        return -1;
    if (ranks > 1 && agree(t, d) != IG_OK)
        return fail_library(c);
    if (ranks > t->shards && !set->quiet)
        say(c, "%d of %d ranks have nothing to do: a step has %lld shard%s (--shards)",
            (int)(ranks - t->shards), ranks, (long long)t->shards, t->shards == 1 ? "" : "s");
    return ig_shards_begin(o, m, 1, &first, &end) == IG_OK ? -1 : fail_library(c);
}
