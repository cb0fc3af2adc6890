/* prompt.c: lines from the user. */
#ifndef CLI_PROMPT_H
#define CLI_PROMPT_H

#include <stdbool.h>

typedef enum prompt_status {
    PROMPT_LINE,
    PROMPT_END,        /* Ctrl-D, or the end of the input */
    PROMPT_INTERRUPTED /* Ctrl-C: the typed text is dropped */
} prompt_status;

/* Called at Tab: calls prompt_offer with each text that can replace line[start..end). */
typedef void prompt_complete(void *ctx, const char *line, int start, int end);
void prompt_offer(const char *text);

void prompt_begin(prompt_complete *complete, void *ctx);
void prompt_end(void);
/* True if lines can be edited, recalled and completed. */
bool prompt_edits(void);

/* Reads a line; release it with free. */
prompt_status prompt_read(const char *prompt, char **line);

/* For the SIGINT handler: makes prompt_read return PROMPT_INTERRUPTED. */
void prompt_interrupt(void);

#endif
