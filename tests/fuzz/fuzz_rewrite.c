/* Fuzz target: any text as a CUDA source for the rewriter: tokens, declarations, the host's side, and the device's side
 * for NVRTC. Without #include of a file of its own, the device's side has the length and the lines of the text. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cuda/rewrite.h"

enum { MOST = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count_lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void rewrite_all(const char *text)
{
    static const char *const none[] = {NULL};
    char path[] = "/tmp/ingot-fuzz-XXXXXX.cu";
    const int file = mkstemps(path, 3);
    if (file < 0)
        return;
    const size_t bytes = strlen(text);
    const bool written = write(file, text, bytes) == (ssize_t)bytes;
    close(file);
    rewrite_job job = {.folders = none, .defines = none, .options = none, .for_nvrtc = true};
    if (written && rewrite_add(&job, path) == 0) {
        const char *made = job.files[0].device.s ? job.files[0].device.s : "";
        const size_t mark = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        if (strlen(made) != bytes - mark || count_lines(made) != count_lines(text))
            abort();
    }
    rewrite_free(&job);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[MOST + 1];
    const size_t n = size < MOST ? size : MOST;
    if (n)
        memcpy(text, data, n);
    text[n] = 0;
    if (!strstr(text, "include")) /* no files but this one */
        rewrite_all(text);
    return 0;
}
