#include "text_state.h"

#include <stdio.h>
#include <string.h>

static const char first_line[] = "ingot train text 1\n";

ig_status text_state_save(const ig_model *m, const ig_optimizer *o, const char *settings,
                          const text_progress *p, const char *path)
{
    str text = {0};
    str_printf(&text, "%s%sepoch %lld step %lld sum %a right %lld\n", first_line, settings,
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
    const size_t head = sizeof first_line - 1, n = strlen(settings);
    if (!text || strncmp(text, first_line, head) != 0) {
        say(c, "%s: it is not a checkpoint of 'ingot train text'", path);
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
