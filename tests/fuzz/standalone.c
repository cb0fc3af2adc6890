/* A main for a fuzz target without libFuzzer: gives it each file that is named, and every file of
 * each folder that is named. A crash points at the file printed last. Ends with "N passed, 0 failed".
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size ? size : 1);
    int ok = file && data && fread(data, 1, size, file) == size;
    if (ok) {
        fprintf(stderr, "%s\n", path);
        LLVMFuzzerTestOneInput(data, size);
    } else {
        fprintf(stderr, "%s: cannot be read\n", path);
    }
    if (file)
        fclose(file);
    free(data);
    return ok;
}

/* Counts into tally[1] what was given to the target, into tally[0] what could not be read. */
static void replay(const char *path, int tally[2])
{
    struct stat info;
    if (stat(path, &info) != 0) {
        fprintf(stderr, "%s: no such file\n", path);
        tally[0]++;
        return;
    }
    if (!S_ISDIR(info.st_mode)) {
        tally[replay_file(path, (size_t)info.st_size)]++;
        return;
    }
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char inner[4096];
        int length = snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && length < (int)sizeof inner)
            replay(inner, tally);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

int main(int argc, char **argv)
{
    int tally[2] = {0, 0};
    for (int i = 1; i < argc; i++)
        replay(argv[i], tally);
    printf("%d passed, %d failed\n", tally[1], tally[0]);
    return tally[0] != 0;
}
