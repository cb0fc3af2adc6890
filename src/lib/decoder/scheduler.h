/* Several answers at the same time: in each round every text gets one token, in one step of the network. A text of the cache
 * stays after its answer, so that a prompt with the same beginning is not computed again. */
#ifndef DECODER_SCHEDULER_H
#define DECODER_SCHEDULER_H

#include "lib/decoder/decoder.h"

typedef struct scheduler scheduler;

/* texts: answers at the same time. capacity: tokens of a prompt and its answer, at most. The decoder and the tokens must stay
 * open. Must be used by one thread at a time. NULL on failure. */
scheduler *scheduler_new(decoder *d, const tokens_of *k, int64_t texts, int64_t capacity);
void scheduler_free(scheduler *s);

/* What becomes of a prompt. */
typedef struct scheduled {
    const int32_t *prompt; /* is copied */
    int64_t n;
    generation how; /* a failure of how.visit ends only this answer */
    /* Asked in each round: false ends the answer with IG_ERR_CANCELLED. */
    bool (*wanted)(void *context);
    /* Called once, in scheduler_round. If status is not IG_OK, the error is pending. reused: tokens of the prompt that were in
     * the cache. */
    void (*done)(void *context, ig_status status, const generation_result *r, int64_t reused);
    void *context;
} scheduled;

/* How many more answers can begin now. */
int64_t scheduler_room(const scheduler *s);
/* Begins an answer. Fails if there is no room, or if prompt and answer do not fit. */
ig_status scheduler_begin(scheduler *s, const scheduled *what);
/* Ends the answer with this context, with IG_ERR_CANCELLED and no pending error. */
void scheduler_drop(scheduler *s, const void *context);
/* Computes a part of a prompt, and a token of each other answer. Returns how many answers are not done. */
int64_t scheduler_round(scheduler *s);
/* The mean of the hidden states of the tokens, divided by its length: W numbers. Needs room for one answer. */
ig_status scheduler_embed(scheduler *s, const int32_t *ids, int64_t n, float *out);

#endif
