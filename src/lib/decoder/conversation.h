/* Conversations with a decoder: messages become text by the model's chat template. */
#ifndef DECODER_CONVERSATION_H
#define DECODER_CONVERSATION_H

#include "lib/decoder/decoder.h"

/* The chat template of a model, or of a file. NULL on failure. */
struct chat_template;
struct chat_template *conversation_template(const decoder *d, const char *path);
/* The tokens of messages, a JSON array of objects, and of the beginning of an answer. Release with memory_free. NULL on
 * failure. Any number of threads may call it at a time. */
int32_t *conversation_prompt(const struct chat_template *t, const tokens_of *k,
                             const char *messages, int64_t *n);

typedef struct conversation conversation;

/* capacity: tokens of all messages, at most; 0: the model's context, at most CONVERSATION_TOKENS. template_path: a file
 * with the template; NULL: the model's. The decoder and the tokens must stay open. NULL on failure. */
enum { CONVERSATION_TOKENS = 2048 };
conversation *conversation_new(decoder *d, const tokens_of *k, const char *template_path,
                               int64_t capacity);
void conversation_free(conversation *c);

/* Adds a message. speaker: "system", "user" and so on. */
ig_status conversation_add(conversation *c, const char *speaker, const char *content);
/* Removes all messages. */
void conversation_clear(conversation *c);

typedef struct conversation_counts {
    int64_t prompt,
        reused; /* tokens before the answer, and those of them that were in the cache already */
} conversation_counts;

/* Generates the answer to the last message, and adds it as a message of the role "assistant". An answer that was
 * interrupted is not added. */
ig_status conversation_answer(conversation *c, const generation *g, generation_result *r,
                              conversation_counts *counts);

#endif
