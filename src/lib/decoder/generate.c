/* Generation: one answer, token by token, or with guesses of the next tokens that one step of the network checks. The logits do
 * not depend on how many tokens a step has, so guesses change no token of the answer. */
#include "lib/decoder/answer.h"

#include "base/error.h"

#include <string.h>

enum { GUESSES = 7 /* with the token before them a step of 8 */, MATCH_MOST = 3 };

/* ---- guesses --------------------------------------------------------------------------------- */

/* The tokens that follow the latest earlier place with the same last tokens: the last three, two or one. Returns how many. */
static int lookup(const int32_t *all, int64_t n, int32_t out[GUESSES])
{
    for (int64_t match = MATCH_MOST; match > 0; match--)
        for (int64_t at = n - match - 1; at >= 0; at--) {
            if (memcmp(all + at, all + n - match, (size_t)match * sizeof *all) != 0)
                continue;
            const int64_t from = at + match, count = n - from < GUESSES ? n - from : GUESSES;
            memcpy(out, all + from, (size_t)count * sizeof *all);
            return (int)count;
        }
    return 0;
}

static int32_t best_of(const float *logits, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        best = logits[i] > logits[best] ? i : best;
    return (int32_t)best;
}

/* The most probable next tokens of a small model, whose session has a beginning of the text. Returns how many; -1 on failure. */
static int draft(session *s, const int32_t *all, int64_t n, int most, int32_t out[GUESSES])
{
    int count = 0;
    const float *logits = session_add(s, all + session_length(s), n - session_length(s));
    while (logits && count < most) {
        out[count++] = best_of(logits, session_vocabulary(s));
        if (count < most)
            logits = session_add(s, out + count - 1, 1);
    }
    return logits ? count : -1;
}

/* ---- steps ----------------------------------------------------------------------------------- */

typedef struct checking {
    answer *a;
    int64_t before; /* tokens of the step whose logits are not needed */
    const int32_t *guesses;
    int n;
    bool wrong;
    int64_t accepted;
} checking;

/* Takes the token after each token of the step, until a guess is wrong. */
static ig_status check(void *context, int64_t token, const float *logits)
{
    checking *c = context;
    const int64_t guess = token - c->before;
    int64_t n;
    if (guess < 0 || c->wrong || answer_ended(c->a))
        return IG_OK;
    TRY(answer_next(c->a, logits));
    const int32_t *all = answer_tokens(c->a, &n);
    c->wrong = guess >= c->n || all[n - 1] != c->guesses[guess];
    c->accepted += !c->wrong && !answer_ended(c->a);
    return IG_OK;
}

/* One step with guesses. */
static ig_status step_guessing(session *s, answer *a, const generation *g, generation_result *sum)
{
    int32_t step[GUESSES + 1], guesses[GUESSES];
    int64_t length;
    const int32_t *all = answer_tokens(a, &length);
    const int64_t left = g->tokens - answer_result(a)->tokens - 1;
    const int most = left < GUESSES ? (int)left : GUESSES;
    int n = g->draft ? draft(g->draft, all, length, most, guesses) : lookup(all, length, guesses);
    if (n < 0)
        return error_waiting(IG_ERR_INTERNAL);
    n = n < most ? n : most;
    step[0] = all[length - 1];
    memcpy(step + 1, guesses, (size_t)n * sizeof *guesses);
    checking c = {.a = a, .guesses = guesses, .n = n};
    TRY(session_each(s, step, n + 1, check, &c));
    sum->guessed += n;
    sum->accepted += c.accepted;
    answer_tokens(a, &length);
    session_cut(s, length - 1);
    if (g->draft)
        session_cut(g->draft, length - 1);
    return IG_OK;
}

ig_status generate(session *s, const tokens_of *k, const int32_t *prompt, int64_t n,
                   const generation *g, generation_result *r)
{
    const int64_t known = session_length(s);
    generation_result sum = {0};
    *r = sum;
    if (n < 1 || known > n)
        FAIL(IG_ERR_ARGUMENT, "generate: the prompt has no tokens; give some text");
    if (known == n) /* the logits of its last token are needed */
        session_cut(s, n - 1);
    if (g->draft)
        session_cut(g->draft, 0);
    answer *a = answer_new(k, prompt, n, g, session_vocabulary(s));
    ig_status status = a ? IG_OK : IG_ERR_MEMORY;
    while (status == IG_OK && !answer_ended(a)) {
        int64_t length = 0;
        const int32_t *all = answer_tokens(a, &length);
        const int64_t missing = length - session_length(s);
        if (missing == 1 && (g->lookup || g->draft)) {
            status = step_guessing(s, a, g, &sum);
            continue;
        }
        const float *logits = session_add(s, all + session_length(s), missing);
        status = logits ? answer_next(a, logits) : error_waiting(IG_ERR_INTERNAL);
    }
    if (a)
        *r = *answer_result(a);
    r->guessed = sum.guessed;
    r->accepted = sum.accepted;
    answer_free(a);
    return status;
}
