/* One answer: the tokens after a prompt, chosen from logits one by one. Several may be made at the same time. */
#ifndef DECODER_ANSWER_H
#define DECODER_ANSWER_H

#include "lib/decoder/decoder.h"

typedef struct answer answer;

/* The prompt and what g names are copied, except texts and the grammar. NULL on failure. */
answer *answer_new(const tokens_of *k, const int32_t *prompt, int64_t n, const generation *g,
                   int64_t vocabulary);
void answer_free(answer *a);
/* Chooses the next token by the logits after the last one, and gives out the text that is certain. Must not be called once
 * it has ended. */
ig_status answer_next(answer *a, const float *logits);
bool answer_ended(const answer *a);
const generation_result *answer_result(const answer *a);
/* The prompt and the answer so far; valid until answer_free. */
const int32_t *answer_tokens(const answer *a, int64_t *n);

#endif
