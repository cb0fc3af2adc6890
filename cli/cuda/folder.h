/* Temporary folders for the files that the host's compiler reads and writes. */
#ifndef CLI_CUDA_FOLDER_H
#define CLI_CUDA_FOLDER_H

#include "cli.h"

#include <sys/types.h>

/* Makes a new folder in TMPDIR. Returns -1, or the exit code after reporting a failure. */
int folder_make(const command *c, str *path);
/* Writes a new file into the folder; its name may have one folder of its own. */
int folder_write(const command *c, const char *folder, const char *name, const void *bytes,
                 size_t n, mode_t mode);
/* Writes our headers into the folder; for_gpu: also those that only programs on NVIDIA GPUs have. */
int folder_write_headers(const command *c, const char *folder, bool for_gpu);
/* Removes a folder with all its contents. */
void folder_remove(const char *path);

/* Reports a system call that failed: "cannot write 'x': no space left". Returns the exit code. */
int folder_cannot(const command *c, const char *what, const char *path);

#endif
