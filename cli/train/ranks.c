#include "train/ranks.h"

#include "base/hash.h"
#include "base/team.h"
#include <string.h>

enum { ROWS_COMPARED = 16 }; /* at each end of the samples */

bool ranks_stop_asked(void)
{
    uint64_t on = !interrupt_asked();
    return team_least(TEAM_MAIN, &on) == IG_OK && !on;
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

static ig_status agree_on_samples(const dataset *d)
{
    uint8_t digest[HASH_BYTES];
    hash h;
    hash_begin(&h);
    hash_samples(&h, &d->train);
    hash_end(&h, digest);
    return ig_failed() ? IG_ERR_INTERNAL : team_agree(TEAM_MAIN, digest, sizeof digest, "samples");
}

int ranks_begin(const command *c, int64_t shards, const char *settings, bool divide, bool quiet,
                ig_optimizer *o, ig_model *m)
{
    const int ranks = ig_team_size();
    int first, end;
    if (team_agree(TEAM_MAIN, settings, strlen(settings), "settings or checkpoints") != IG_OK)
        return fail_library(c);
    if (ranks > shards && !quiet)
        say(c, "%d of %d ranks have nothing to do: a step has %lld shard%s (--shards)",
            (int)(ranks - shards), ranks, (long long)shards, shards == 1 ? "" : "s");
    const ig_status status =
        divide ? ig_shards_divide(o, m) : ig_shards_begin(o, m, 1, &first, &end);
    return status == IG_OK ? -1 : fail_library(c);
}

int ranks_prepare(const command *c, const train_settings *set, const training *t, const dataset *d,
                  ig_optimizer *o, ig_model *m)
{
    const int ranks = ig_team_size();
    if (!t->shards && ranks > 1) {
        say(c,
            "%s: it was made without --shards; give --shards %d to continue with %d ranks, or "
            "start without mpirun",
            set->resume, RANKS_SHARDS, ranks);
        return EXIT_USAGE;
    }
    if (!t->shards)
        return -1;
    str text = {0};
    training_write(t, &text);
    int code = ranks_begin(c, t->shards, text.s, set->divide, set->quiet, o, m);
    str_free(&text);
    if (code < 0 && ranks > 1 && agree_on_samples(d) != IG_OK)
        code = fail_library(c);
    return code;
}
