#include "text_state.h"

#include <stdio.h>
#include <string.h>

/* The first line of the text: the command that made it. Returns its length. */
static size_t first_line(const command *c, char out[64])
{
    return (size_t)snprintf(out, 64, "ingot %s 1\n", c->name);
}

ig_status text_state_save(const command *c, const ig_model *m, const ig_optimizer *o,
                          const char *settings, const text_progress *p, const char *path)
{
    str text = {0};
    char line[64];
    first_line(c, line);
    str_printf(&text, "%s%sepoch %lld step %lld sum %a right %lld\n", line, settings,
               (long long)p->epoch, (long long)p->step, p->sum, (long long)p->right);
    const ig_status status = ig_model_save(m, o, text.s, path);
    str_free(&text);
    return status;
}

/* Names the first line of the settings that the checkpoint has otherwise. */
static void differs_say(const command *c, const char *path, const char *file, const char *settings)
{
    while (*file && *settings) {
        const int have = (int)strcspn(file, "\n"), want = (int)strcspn(settings, "\n");
        if (have != want || strncmp(file, settings, (size_t)have) != 0) {
            say(c, "%s: it was made with '%.*s', not '%.*s'", path, have, file, want, settings);
            return;
        }
        file += have + (file[have] == '\n');
        settings += want + (settings[want] == '\n');
    }
    say(c, "%s: it was made with other settings", path);
}

int text_state_load(const command *c, ig_model *m, ig_optimizer *o, const char *settings,
                    text_progress *p, const char *path)
{
    if (ig_model_load(m, o, path) != IG_OK) {
        fail_library(c);
        return EXIT_INPUT;
    }
    const char *text = ig_model_text(m);
    char line[64];
    const size_t head = first_line(c, line), n = strlen(settings);
    if (!text || strncmp(text, line, head) != 0) {
        say(c, "%s: it is not a checkpoint of 'ingot %s'", path, c->name);
        return EXIT_INPUT;
    }
    if (strncmp(text + head, settings, n) != 0) {
        differs_say(c, path, text + head, settings);
        return EXIT_INPUT;
    }
    long long epoch, step, right;
    if (sscanf(text + head + n, "epoch %lld step %lld sum %la right %lld", &epoch, &step, &p->sum,
               &right) != 4 ||
        epoch < 0 || step < 0 || right < 0) {
        say(c, "%s: its text is damaged", path);
        return EXIT_INPUT;
    }
    p->epoch = epoch;
    p->step = step;
    p->right = right;
    return -1;
}
