#include "team.h"
#include "cli.h"

#include <string.h>

#include "base/team.h"
#include <ingot.h>

static str kept; /* what this rank would have printed on standard error */

static void log_nothing(void *context, ig_severity severity, const char *message)
{
    (void)context, (void)severity, (void)message;
}

bool cli_team_begin(const char *name)
{
    static const char *const shared[] = {"eval", "train", "verify"};
    bool is_shared = false;
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        is_shared = is_shared || strcmp(name, shared[i]) == 0;
    if (!is_shared)
        return true;
    if (ig_team_begin() != IG_OK) {
        text_printf(stderr, "ingot: %s\n", ig_error(NULL));
        return false;
    }
    if (ig_team_rank() == 0)
        return true;
    text_keep_errors(&kept);
    ig_set_log(log_nothing, NULL);
    if (!freopen("/dev/null", "w", stdout)) {
        team_fail("/dev/null cannot be opened");
        return false;
    }
    return true;
}

/* Another rank's message has the same prefix as this command's messages. */
static const char *without_prefix(const char *text)
{
    const char *after = strncmp(text, "ingot ", 6) == 0 ? strstr(text, ": ") : NULL;
    return after ? after + 2 : text;
}

int cli_team_end(int code)
{
    if (!team_is_on())
        return code;
    ig_error(NULL); /* the verb has reported it */
    if (code != EXIT_FINE && ig_team_rank() == 0)
        team_fail("it has ended");
    else if (code != EXIT_FINE)
        team_fail(kept.n ? without_prefix(kept.s) : "it has ended");
    fflush(stdout);
    if (code == EXIT_FINE && team_barrier(TEAM_MAIN) != IG_OK) {
        text_printf(stderr, "ingot: %s\n", ig_error(NULL));
        fflush(stderr);
        code = EXIT_FAILED;
    }
    if (ig_team_end() != IG_OK)
        ig_error(NULL); /* reported above */
    return code;
}
