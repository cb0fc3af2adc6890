/* Renders chat templates, for tests/test_chat.py.
 *
 * chat_tool: reads cases, each as three lengths in decimal on a line (bytes of the template and of the variables, and the
 * time) and then these bytes. Prints for each case "ok BYTES RANGES", the text, and a line with the ranges of bytes that
 * come from data; or "no BYTES" and the error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "lib/chat/chat.h"

static char *bytes_read(size_t n)
{
    char *at = malloc(n + 1);
    if (!at || fread(at, 1, n, stdin) != n)
        exit(1);
    return at;
}

int main(void)
{
    size_t n_source, n_variables;
    long long now;
    while (scanf("%zu %zu %lld", &n_source, &n_variables, &now) == 3 && getchar() == '\n') {
        char *source = bytes_read(n_source), *variables = bytes_read(n_variables);
        chat_template *t = chat_template_new((ig_text){source, n_source});
        chat_text *text =
            t ? chat_template_render(t, (ig_text){variables, n_variables}, now) : NULL;
        if (text) {
            printf("ok %zu %d\n", text->bytes, text->n_data);
            fwrite(text->at, 1, text->bytes, stdout);
            for (int i = 0; i < text->n_data; i++)
                printf("%s%zu-%zu", i ? " " : "", text->data[i].first, text->data[i].last);
            printf("\n");
        } else {
            const char *error = ig_error(NULL);
            error = error ? error : "";
            printf("no %zu\n%s\n", strlen(error), error);
        }
        fflush(stdout);
        memory_free(text);
        chat_template_free(t);
        free(source);
        free(variables);
    }
    return 0;
}
