/* Chat templates: conversations as the text that a model was trained on.
 *
 * A template comes with a model (tokenizer.chat_template in GGUF, chat_template in tokenizer_config.json). It is in the part
 * of Jinja that published templates use, with the settings and functions of the Python package transformers. */
#ifndef CHAT_CHAT_H
#define CHAT_CHAT_H

#include "lib/text/aligned.h"

/* Any number of threads may use one at a time. */
typedef struct chat_template chat_template;

/* NULL on failure: the message names the line and the construct that is not supported. */
chat_template *chat_template_new(ig_text source);
void chat_template_free(chat_template *t);

/* The text of a conversation. The ranges, in order, are the bytes that come from the conversation and not from the
 * template: special tokens in them are plain text. */
typedef struct chat_text {
    const char *at; /* with a terminator */
    size_t bytes;
    const text_range *data;
    int n_data;
} chat_text;

/* Renders a template with the members of a JSON object as variables: messages, add_generation_prompt, tools, bos_token
 * and so on. Strings come from the conversation, except top-level variables whose names end with "_token", and roles
 * in lower case. now: the time for strftime_now, in seconds since 1970; 0: the clock. Release the result with
 * memory_free. NULL on failure, also if the template calls raise_exception: the message names the line. A rendering that
 * needs too many steps or too much memory fails. */
chat_text *chat_template_render(const chat_template *t, ig_text variables, int64_t now);

#endif
