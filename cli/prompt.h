/* prompt.c: lines from the user. */
#ifndef CLI_PROMPT_H
#define CLI_PROMPT_H

#include <stdbool.h>

typedef enum prompt_status {
    PROMPT_LINE,
    PROMPT_END,        /* Ctrl-D, or nothing more to read */
    PROMPT_INTERRUPTED /* Ctrl-C: what was typed is dropped */
} prompt_status;

/* Called at Tab: calls prompt_offer with each text that may stand in the place of line[start..end). */
typedef void prompt_complete(void *ctx, const char *line, int start, int end);
void prompt_offer(const char *text);

void prompt_begin(prompt_complete *complete, void *ctx);
void prompt_end(void);
/* Whether lines can be edited, recalled and completed. */
bool prompt_edits(void);

/* Reads a line; release it with free. */
prompt_status prompt_read(const char *prompt, char **line);

/* What the handler of SIGINT calls: prompt_read returns PROMPT_INTERRUPTED. */
void prompt_interrupt(void);

#endif
