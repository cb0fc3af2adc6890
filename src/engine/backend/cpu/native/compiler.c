/* The compiler of the host: IG_KERNEL_CC, which may have options after its name, or gcc, cc or clang on the PATH. The
 * text goes to its standard input; the library is written to a temporary folder. */
#include "engine/backend/cpu/native/native.h"

#include "base/leave.h"
#include "base/memory.h"
#include "base/whole_io.h"
#include "engine/backend/cpu/cpu.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { WORDS_MOST = 40, PATH_BYTES = 1024 };

/* ---- which compiler ---- */

typedef struct level_options {
    const char *level;
    int width;
    const char *options;
} level_options;

#define AVX2 "-mavx2 -mfma -mf16c"
#define AVX512 "-mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c -mprefer-vector-width=512"
static const level_options levels[] = {
    {"avx2", 8, AVX2},    {"avxvnni", 8, AVX2}, {"avx512", 16, AVX512},
    {"vnni", 16, AVX512}, {"amx", 16, AVX512},  {NULL, 4, ""},
};

static const char options[] =
    "-x c -std=gnu11 -O2 -ftree-vectorize -fPIC -shared -w -ffp-contract=off -fno-math-errno "
    "-fno-trapping-math -fwrapv -fno-strict-aliasing";

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char path[PATH_BYTES], identity[3 * PATH_BYTES];
static int lanes;
static const char *level_words;
static const char *more_words = ""; /* of IG_KERNEL_CC */

/* Without Apple's developer tools the compilers in macOS's /usr/bin only open a dialog that offers to install them. */
static bool is_dialog(void)
{
#if defined(__APPLE__)
    return strncmp(path, "/usr/bin/", 9) == 0 &&
           access("/Library/Developer/CommandLineTools/usr/bin/clang", X_OK) != 0 &&
           access("/Applications/Xcode.app/Contents/Developer", X_OK) != 0;
#else
    return false;
#endif
}

/* Finds a program on the PATH. */
static bool find_program(const char *name)
{
    struct stat s;
    const char *folders = getenv("PATH");
    if (strchr(name, '/')) {
        snprintf(path, sizeof path, "%s", name);
        return stat(path, &s) == 0 && S_ISREG(s.st_mode);
    }
    for (const char *f = folders ? folders : ""; *f;) {
        const size_t n = strcspn(f, ":");
        const int used = snprintf(path, sizeof path, "%.*s/%s", (int)n, f, name);
        if (n && used < (int)sizeof path && stat(path, &s) == 0 && S_ISREG(s.st_mode) &&
            access(path, X_OK) == 0 && !is_dialog())
            return true;
        f += n + (f[n] == ':');
    }
    return false;
}

static void choose(void)
{
    const char *wish = getenv("IG_KERNEL_CC");
    char name[PATH_BYTES] = "";
    const level_options *l = levels;
    struct stat s;
    while (l->level && strcmp(l->level, cpu_level_now()->name) != 0)
        l++;
    lanes = l->width;
    level_words = l->options;
    if (wish) {
        const size_t n = strcspn(wish, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, wish);
        more_words = wish + n;
    }
    const bool found = *name ? find_program(name)
                             : find_program("gcc") || find_program("cc") || find_program("clang");
    if (found && stat(path, &s) == 0)
        snprintf(identity, sizeof identity, "%s %lld %lld %s %s %s", path, (long long)s.st_size,
                 (long long)s.st_mtime, options, level_words, more_words);
}

const char *native_compiler(int *width)
{
    pthread_once(&once, choose);
    *width = lanes;
    return *identity ? identity : NULL;
}

/* ---- running it ---- */

/* The compiler that runs now, and its folder: ended and removed when the process ends. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t running;
static char folder[PATH_BYTES];
static bool ending;

static void remove_folder(const char *at)
{
    char file[PATH_BYTES + 300];
    DIR *files = opendir(at);
    for (const struct dirent *f; files && (f = readdir(files));) {
        snprintf(file, sizeof file, "%s/%s", at, f->d_name);
        if (*f->d_name != '.')
            unlink(file);
    }
    if (files)
        closedir(files);
    rmdir(at);
}

static void end_compiler(void)
{
    pthread_mutex_lock(&lock);
    ending = true;
    if (running > 0)
        kill(-running, SIGKILL); /* with the programs that it has started */
    if (*folder)
        remove_folder(folder);
    pthread_mutex_unlock(&lock);
}

/* Divides text into words, in place. */
static int divide(char *text, char **words, int n)
{
    for (char *save, *word = strtok_r(text, " ", &save); word && n < WORDS_MOST;
         word = strtok_r(NULL, " ", &save))
        words[n++] = word;
    return n;
}

/* The environment, with the folder for temporary files; the caller frees it. `setting` is part of it. */
static char **environment(char *setting, size_t size)
{
    size_t n = 0, used = 0;
    while (environ[n])
        n++;
    char **all = memory_new((n + 2) * sizeof *all);
    snprintf(setting, size, "TMPDIR=%s", folder);
    for (size_t i = 0; all && i < n; i++)
        if (strncmp(environ[i], "TMPDIR=", 7) != 0)
            all[used++] = environ[i];
    if (all)
        all[used] = setting;
    return all;
}

/* Starts the compiler with the text's end of a pipe as its input. */
static bool start(char *const *words, int input, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t how;
    sigset_t none;
    char setting[PATH_BYTES + 16], **variables = environment(setting, sizeof setting);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&how);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!getenv("IG_KEEP_KERNELS"))
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pthread_mutex_lock(&lock);
    const bool started =
        !ending && variables && posix_spawn(child, words[0], &actions, &how, words, variables) == 0;
    running = started ? *child : 0;
    memory_free(variables);
    pthread_mutex_unlock(&lock);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&how);
    return started;
}

/* A compiler that ends early closes the pipe. The signal stays pending in this thread, and is taken from it. */
static void send_text(int to, const char *text)
{
    sigset_t pipe_signal, before;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    whole_write(to, text, strlen(text));
    if (!sigismember(&before, SIGPIPE)) {
        sigset_t pending;
        int taken;
        sigpending(&pending);
        if (sigismember(&pending, SIGPIPE))
            sigwait(&pipe_signal, &taken);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static bool run_compiler(const char *text, const char *output)
{
    char all[sizeof identity];
    char *words[WORDS_MOST + 6] = {path};
    snprintf(all, sizeof all, "%s %s %s", options, level_words, more_words);
    int n = divide(all, words, 1), ends[2], status = -1;
    const char *const rest[] = {"-o", output, "-", "-lm"};
    for (int i = 0; i < 4; i++)
        words[n++] = (char *)(uintptr_t)rest[i];
    if (pipe(ends) != 0)
        return false;
    for (int i = 0; i < 2; i++)
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    pid_t child = 0;
    const bool started = start(words, ends[0], &child);
    close(ends[0]);
    if (started)
        send_text(ends[1], text);
    close(ends[1]);
    while (started && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    pthread_mutex_lock(&lock);
    running = 0;
    pthread_mutex_unlock(&lock);
    return started && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool read_file(const char *name, void **data, size_t *bytes)
{
    struct stat s;
    const int file = open(name, O_RDONLY | O_CLOEXEC);
    *data =
        file >= 0 && fstat(file, &s) == 0 && s.st_size > 0 ? memory_get((size_t)s.st_size) : NULL;
    if (*data && !whole_read(file, *data, (size_t)s.st_size)) {
        memory_free(*data);
        *data = NULL;
    }
    *bytes = *data ? (size_t)s.st_size : 0;
    if (file >= 0)
        close(file);
    return *data != NULL;
}

static bool make_folder(void)
{
    const char *base = getenv("TMPDIR");
    pthread_mutex_lock(&lock);
    snprintf(folder, sizeof folder, "%s/ingot-kernel-XXXXXX", base && *base ? base : "/tmp");
    const bool made = !ending && mkdtemp(folder);
    if (!made)
        *folder = 0;
    pthread_mutex_unlock(&lock);
    return made;
}

bool native_compile(const char *text, void **data, size_t *bytes)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER; /* one compiler at a time */
    char output[PATH_BYTES + 16];
    bool fine = false;
    *data = NULL;
    pthread_mutex_lock(&one);
    leave_with(end_compiler);
    if (make_folder()) {
        snprintf(output, sizeof output, "%s/kernel.so", folder);
        fine = run_compiler(text, output) && read_file(output, data, bytes);
        pthread_mutex_lock(&lock);
        remove_folder(folder);
        *folder = 0;
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_unlock(&one);
    return fine;
}

/* ---- loading ---- */

void *native_load(const void *data, size_t bytes)
{
    const char *base = getenv("TMPDIR");
    char name[PATH_BYTES];
    snprintf(name, sizeof name, "%s/ingot-kernel-XXXXXX", base && *base ? base : "/tmp");
    const int file = mkstemp(name);
    if (file < 0)
        return NULL;
    const bool fine = whole_write(file, data, bytes);
    close(file);
    void *library = fine ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
    unlink(name);
    return library;
}
