/* The chat page, embedded. */
#include "lib/serve/job.h"

#include "base/embed.h"

INCLUDE_FILE("serve_page", "src/lib/serve/page.html");
