/* Temporary folders: see folder.h. */
#include "cuda/folder.h"

#include "cuda/headers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int folder_cannot(const command *c, const char *what, const char *path)
{
    say(c, "cannot %s '%s': %s", what, path, strerror(errno));
    return EXIT_FAILED;
}

int folder_make(const command *c, str *path)
{
    const char *where = getenv("TMPDIR");
    str_printf(path, "%s/ingot-run-XXXXXX", where && *where ? where : "/tmp");
    if (mkdtemp(path->s))
        return -1;
    const int code = folder_cannot(c, "make the folder", path->s);
    str_free(path);
    return code;
}

int folder_write(const command *c, const char *folder, const char *name, const void *bytes,
                 size_t n, mode_t mode)
{
    str path = {0};
    str_printf(&path, "%s/%s", folder, name);
    for (char *slash = path.s + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0; /* cooperative_groups/reduce.h */
        mkdir(path.s, 0755);
        *slash = '/';
    }
    const int number = open(path.s, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    FILE *file = number < 0 ? NULL : fdopen(number, "w");
    bool fine = file && fwrite(bytes, 1, n, file) == n;
    fine = file && fclose(file) == 0 && fine;
    const int code = fine ? -1 : folder_cannot(c, "write", path.s);
    str_free(&path);
    return code;
}

int folder_write_headers(const command *c, const char *folder, bool for_gpu)
{
    int code = -1;
    for (int i = 0; code < 0 && cuda_header_at(i).name; i++) {
        const cuda_header h = cuda_header_at(i);
        if (!h.is_gpu || for_gpu)
            code = folder_write(c, folder, h.name, h.text, h.bytes, 0644);
    }
    return code;
}

void folder_remove(const char *path)
{
    DIR *folder = opendir(path);
    for (const struct dirent *e; folder && (e = readdir(folder));) {
        str inside = {0};
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        str_printf(&inside, "%s/%s", path, e->d_name);
        if (unlink(inside.s) != 0)
            folder_remove(inside.s);
        str_free(&inside);
    }
    if (folder)
        closedir(folder);
    rmdir(path);
}
