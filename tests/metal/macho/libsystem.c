/* What the functions of macOS's libSystem are on Linux. Most have the same name and calling convention, and are those of
 * glibc. Here are the others: variadic functions, va_list, structs and constants that differ, thread-local variables. */
#define _GNU_SOURCE
#include "macho.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static const char *simulator, *program;
static FILE *file_in, *file_out, *file_err;
static unsigned task;
static uintptr_t stack_guard = 0x5afe5afe5afe5afe;

/* ---- variadic functions ---- */

/* A va_list of Linux over the slots of the stack. */
static void list_over(va_list *list, void *slots)
{
    struct {
        void *stack, *general, *vector;
        int general_offset, vector_offset;
    } v = {slots, NULL, NULL, 0, 0};
    memcpy(list, &v, sizeof v);
}

int from_printf(const char *f, void *s) { va_list v; list_over(&v, s); return vprintf(f, v); }
int from_fprintf(FILE *o, const char *f, void *s) { va_list v; list_over(&v, s); return vfprintf(o, f, v); }
int from_sprintf(char *o, const char *f, void *s) { va_list v; list_over(&v, s); return vsprintf(o, f, v); }
int from_dprintf(int o, const char *f, void *s) { va_list v; list_over(&v, s); return vdprintf(o, f, v); }
int from_asprintf(char **o, const char *f, void *s) { va_list v; list_over(&v, s); return vasprintf(o, f, v); }
int from_snprintf(char *o, size_t n, const char *f, void *s) { va_list v; list_over(&v, s); return vsnprintf(o, n, f, v); }
int from_sscanf(const char *t, const char *f, void *s) { va_list v; list_over(&v, s); return vsscanf(t, f, v); }
int from_fscanf(FILE *i, const char *f, void *s) { va_list v; list_over(&v, s); return vfscanf(i, f, v); }
void va_printf(void), va_fprintf(void), va_sprintf(void), va_dprintf(void), va_asprintf(void), va_snprintf(void);
void va_sscanf(void), va_fscanf(void), va_open(void), va_openat(void), va_fcntl(void), va_ioctl(void);

/* A va_list of macOS is the place of the slots. */
static int mac_vprintf(const char *f, void *s) { return from_printf(f, s); }
static int mac_vfprintf(FILE *o, const char *f, void *s) { return from_fprintf(o, f, s); }
static int mac_vsnprintf(char *o, size_t n, const char *f, void *s) { return from_snprintf(o, n, f, s); }
static int mac_vasprintf(char **o, const char *f, void *s) { return from_asprintf(o, f, s); }

/* ---- files ---- */

static int open_flags(int mac)
{
    static const struct {
        int mac, here;
    } rows[] = {{4, O_NONBLOCK}, {8, O_APPEND}, {0x100, O_NOFOLLOW}, {0x200, O_CREAT}, {0x400, O_TRUNC}, {0x800, O_EXCL},
                {0x100000, O_DIRECTORY}, {0x1000000, O_CLOEXEC}};
    int flags = mac & 3;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        flags |= mac & rows[i].mac ? rows[i].here : 0;
    return flags;
}

int from_open(const char *path, int flags, void *slots) { return open(path, open_flags(flags), *(mode_t *)slots & 07777); }
int from_openat(int at, const char *path, int flags, void *slots)
{
    return openat(at == -2 ? AT_FDCWD : at, path, open_flags(flags), *(mode_t *)slots & 07777);
}
int from_fcntl(int fd, int what, void *slots)
{
    return fcntl(fd, what == 67 ? F_DUPFD_CLOEXEC : what, *(long *)slots);
}
int from_ioctl(int fd, unsigned long what, void *slots)
{
    (void)fd, (void)what, (void)slots;
    errno = ENOTTY;
    return -1;
}

typedef struct mac_stat {
    int32_t dev;
    uint16_t mode, links;
    uint64_t inode;
    uint32_t uid, gid;
    int32_t rdev;
    struct timespec access, modify, change, birth;
    int64_t size, blocks;
    int32_t block_size;
    uint32_t flags, generation;
    int32_t spare;
    int64_t spares[2];
} mac_stat;

static int give_stat(int result, const struct stat *s, mac_stat *out)
{
    if (result == 0)
        *out = (mac_stat){.dev = (int32_t)s->st_dev, .mode = (uint16_t)s->st_mode, .links = (uint16_t)s->st_nlink,
                          .inode = s->st_ino, .uid = s->st_uid, .gid = s->st_gid, .access = s->st_atim, .modify = s->st_mtim,
                          .change = s->st_ctim, .size = s->st_size, .blocks = s->st_blocks,
                          .block_size = (int32_t)s->st_blksize};
    return result;
}
static int mac_stat_(const char *p, mac_stat *o) { struct stat s; return give_stat(stat(p, &s), &s, o); }
static int mac_lstat(const char *p, mac_stat *o) { struct stat s; return give_stat(lstat(p, &s), &s, o); }
static int mac_fstat(int f, mac_stat *o) { struct stat s; return give_stat(fstat(f, &s), &s, o); }

typedef struct mac_dirent {
    uint64_t inode, seek;
    uint16_t bytes, name_bytes;
    uint8_t type;
    char name[1024];
} mac_dirent;

static mac_dirent *mac_readdir(DIR *d)
{
    static _Thread_local mac_dirent out;
    const struct dirent *e = readdir(d);
    if (!e)
        return NULL;
    out.inode = e->d_ino;
    out.type = e->d_type;
    out.name_bytes = (uint16_t)snprintf(out.name, sizeof out.name, "%s", e->d_name);
    return &out;
}

static void *mac_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    return mmap(at, n, protection, (flags & 0x13) | (flags & 0x1000 ? MAP_ANONYMOUS : 0), fd, offset);
}

/* ---- the system ---- */

static int mac_clock(int id, struct timespec *t)
{
    const clockid_t ids[17] = {[0] = CLOCK_REALTIME, [4] = CLOCK_MONOTONIC_RAW, [6] = CLOCK_MONOTONIC,
                               [12] = CLOCK_PROCESS_CPUTIME_ID, [16] = CLOCK_THREAD_CPUTIME_ID};
    return clock_gettime(id >= 0 && id <= 16 ? ids[id] : id, t);
}

static long mac_sysconf(int name)
{
    switch (name) {
    case 1: return sysconf(_SC_ARG_MAX);
    case 3: return sysconf(_SC_CLK_TCK);
    case 5: return sysconf(_SC_OPEN_MAX);
    case 29: return 16384;
    case 57: return sysconf(_SC_NPROCESSORS_CONF);
    case 58: return sysconf(_SC_NPROCESSORS_ONLN);
    case 200: return sysconf(_SC_PHYS_PAGES) * (sysconf(_SC_PAGESIZE) / 4096) / 4;
    default: return -1;
    }
}

static int mac_sysctl(const char *name, void *out, size_t *bytes, void *in, size_t in_bytes)
{
    (void)in, (void)in_bytes;
    int64_t value = strcmp(name, "hw.memsize") == 0 ? (int64_t)8 << 30 : strstr(name, "cpu") ? 2 : 0;
    if (!value || !out || *bytes < 4) {
        errno = ENOENT;
        return -1;
    }
    *bytes = *bytes < 8 ? 4 : 8;
    memcpy(out, &value, *bytes);
    return 0;
}

static int mac_uname(char (*out)[256])
{
    static const char *const texts[5] = {"Darwin", "runner", "20.0.0", "macho_run", "arm64"};
    for (int i = 0; i < 5; i++)
        snprintf(out[i], 256, "%s", texts[i]);
    return 0;
}

static int mac_executable(char *out, uint32_t *room) { return snprintf(out, *room, "%s", program) < (int)*room ? 0 : -1; }

static void *mac_dlopen(const char *path, int flags)
{
    if (path && (strstr(path, ".framework/") || strstr(path, "/usr/lib/libobjc")))
        path = simulator;
    else if (path && strstr(path, ".dylib"))
        return NULL;
    return dlopen(path, RTLD_NOW | (flags & 8 ? RTLD_GLOBAL : 0));
}

static void *mac_newlocale(int mask, const char *name, void *base)
{
    return newlocale(mask & 16 ? LC_NUMERIC_MASK : LC_ALL_MASK, name, base);
}
static char *mac_setlocale(int category, const char *name)
{
    static const int categories[7] = {LC_ALL, LC_COLLATE, LC_CTYPE, LC_MONETARY, LC_NUMERIC, LC_TIME, LC_MESSAGES};
    return setlocale(category >= 0 && category < 7 ? categories[category] : LC_ALL, name);
}

static int mac_sigaction(int number, const void *action, void *old)
{
    (void)number, (void)action;
    if (old)
        memset(old, 0, 16);
    return 0; /* signals are not a part of this test */
}
static int mac_sigmask(int how, const uint32_t *set, uint32_t *old)
{
    (void)how, (void)set;
    if (old)
        *old = 0;
    return 0;
}

static int refuse(void)
{
    errno = ENOSYS;
    return -1;
}
static int refuse_spawn(void) { return ENOSYS; }
static int mac_atfork(void) { return 0; } /* the programs here do not fork */

static void assert_failed(const char *function, const char *file, int line, const char *text)
{
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, function, text);
    abort();
}
static void stack_failed(void) { assert_failed("?", "?", 0, "a stack was overwritten"); }

static void mac_pattern(char *to, const void *pattern, size_t n, size_t step)
{
    for (size_t i = 0; i < n; i++)
        to[i] = ((const char *)pattern)[i % step];
}
static void mac_pattern4(void *to, const void *p, size_t n) { mac_pattern(to, p, n, 4); }
static void mac_pattern8(void *to, const void *p, size_t n) { mac_pattern(to, p, n, 8); }
static void mac_pattern16(void *to, const void *p, size_t n) { mac_pattern(to, p, n, 16); }

/* ---- threads: objects that macOS initializes by a signature are zero here ---- */

static void *plain(void *object, long signature)
{
    long found;
    memcpy(&found, object, sizeof found);
    if (found == signature)
        memset(object, 0, sizeof found);
    return object;
}
#define MUTEX(m) plain(m, 0x32aaaba7)
#define CONDITION(c) plain(c, 0x3cb0b1bb)
static int mac_lock(void *m) { return pthread_mutex_lock(MUTEX(m)); }
static int mac_trylock(void *m) { return pthread_mutex_trylock(MUTEX(m)); }
static int mac_unlock(void *m) { return pthread_mutex_unlock(MUTEX(m)); }
static int mac_unmutex(void *m) { return pthread_mutex_destroy(MUTEX(m)); }
static int mac_wait(void *c, void *m) { return pthread_cond_wait(CONDITION(c), MUTEX(m)); }
static int mac_wait_until(void *c, void *m, const struct timespec *t)
{
    return pthread_cond_timedwait(CONDITION(c), MUTEX(m), t);
}
static int mac_signal(void *c) { return pthread_cond_signal(CONDITION(c)); }
static int mac_broadcast(void *c) { return pthread_cond_broadcast(CONDITION(c)); }
static int mac_uncondition(void *c) { return pthread_cond_destroy(CONDITION(c)); }
static int mac_once(void *once, void (*f)(void)) { return pthread_once(plain(once, 0x30b1bcba), f); }
static int mac_read_lock(void *l) { return pthread_rwlock_rdlock(plain(l, 0x2da8b3b4)); }
static int mac_write_lock(void *l) { return pthread_rwlock_wrlock(plain(l, 0x2da8b3b4)); }
static int mac_rw_unlock(void *l) { return pthread_rwlock_unlock(plain(l, 0x2da8b3b4)); }
static int mac_name_thread(const char *name) { return pthread_setname_np(pthread_self(), name); }

/* ---- thread-local variables ---- */

typedef struct tlv_descriptor {
    void (*code)(void);
    uint64_t key, offset;
} tlv_descriptor;

void tlv_address(void);
static char *tlv_bytes;
static size_t tlv_size;
static pthread_key_t tlv_key;

void tlv_template(const void *data, uint64_t bytes, bool has_content)
{
    tlv_bytes = realloc(tlv_bytes, tlv_size + bytes + 64);
    tlv_size = (tlv_size + 15) & ~(size_t)15;
    memset(tlv_bytes + tlv_size, 0, bytes);
    if (has_content)
        memcpy(tlv_bytes + tlv_size, data, bytes);
    tlv_size += bytes;
}

void tlv_variables(void *descriptors, uint64_t bytes)
{
    if (!tlv_key)
        pthread_key_create(&tlv_key, free);
    for (uint64_t i = 0; i < bytes / sizeof(tlv_descriptor); i++)
        ((tlv_descriptor *)descriptors)[i].code = tlv_address;
}

void *tlv_find(const tlv_descriptor *d);
void *tlv_find(const tlv_descriptor *d)
{
    char *mine = pthread_getspecific(tlv_key);
    if (!mine) {
        mine = aligned_alloc(64, (tlv_size + 127) & ~(size_t)63);
        memcpy(mine, tlv_bytes, tlv_size);
        pthread_setspecific(tlv_key, mine);
    }
    return mine + d->offset;
}

/* ---- functions that only macOS has ---- */

/* Clang calls them for a sine and a cosine of one number. */
typedef struct sine_and_cosine {
    double sine, cosine;
} sine_and_cosine;

typedef struct sine_and_cosine_f {
    float sine, cosine;
} sine_and_cosine_f;

static sine_and_cosine mac_sincos(double x)
{
    sine_and_cosine y;
    ((void (*)(double, double *, double *))dlsym(RTLD_DEFAULT, "sincos"))(x, &y.sine, &y.cosine);
    return y;
}

static sine_and_cosine_f mac_sincosf(float x)
{
    sine_and_cosine_f y;
    ((void (*)(float, float *, float *))dlsym(RTLD_DEFAULT, "sincosf"))(x, &y.sine, &y.cosine);
    return y;
}

/* Of the compiler's library: linked here, so that the table has them. */
__int128 __divti3(__int128 a, __int128 b), __modti3(__int128 a, __int128 b);
unsigned __int128 __udivti3(unsigned __int128 a, unsigned __int128 b), __umodti3(unsigned __int128 a, unsigned __int128 b);

/* ---- the table ---- */

void mac_setjmp(void), mac_longjmp(void);

static const struct {
    const char *name;
    const void *at;
} own[] = {
    {"__sincos_stret", mac_sincos}, {"__sincosf_stret", mac_sincosf}, {"__divti3", __divti3}, {"__modti3", __modti3},
    {"__udivti3", __udivti3}, {"__umodti3", __umodti3},
    {"printf", va_printf}, {"fprintf", va_fprintf}, {"sprintf", va_sprintf}, {"dprintf", va_dprintf},
    {"asprintf", va_asprintf}, {"snprintf", va_snprintf}, {"sscanf", va_sscanf}, {"fscanf", va_fscanf}, {"open", va_open},
    {"openat", va_openat}, {"fcntl", va_fcntl}, {"ioctl", va_ioctl}, {"vprintf", mac_vprintf}, {"vfprintf", mac_vfprintf},
    {"vsnprintf", mac_vsnprintf}, {"vasprintf", mac_vasprintf}, {"stat", mac_stat_}, {"lstat", mac_lstat},
    {"fstat", mac_fstat}, {"readdir", mac_readdir}, {"mmap", mac_mmap}, {"clock_gettime", mac_clock},
    {"sysconf", mac_sysconf}, {"sysctlbyname", mac_sysctl}, {"uname", mac_uname},
    {"_NSGetExecutablePath", mac_executable}, {"dlopen", mac_dlopen}, {"newlocale", mac_newlocale},
    {"setlocale", mac_setlocale}, {"sigaction", mac_sigaction}, {"sigprocmask", mac_sigmask},
    {"pthread_sigmask", mac_sigmask}, {"signal", refuse}, {"posix_spawn", refuse_spawn}, {"posix_spawnp", refuse_spawn},
    {"posix_spawnattr_init", refuse_spawn}, {"posix_spawnattr_setflags", refuse_spawn},
    {"posix_spawnattr_setsigmask", refuse_spawn}, {"posix_spawnattr_setsigdefault", refuse_spawn},
    {"posix_spawnattr_setpgroup", refuse_spawn}, {"posix_spawnattr_destroy", refuse_spawn},
    {"posix_spawn_file_actions_init", refuse_spawn}, {"posix_spawn_file_actions_adddup2", refuse_spawn},
    {"posix_spawn_file_actions_addopen", refuse_spawn}, {"posix_spawn_file_actions_addclose", refuse_spawn},
    {"posix_spawn_file_actions_destroy", refuse_spawn}, {"glob", refuse_spawn}, {"globfree", refuse},
    {"pthread_atfork", mac_atfork}, {"fstatat", refuse}, {"mach_port_deallocate", refuse}, {"mach_task_self_", &task},
    {"mach_host_self", refuse}, {"host_statistics64", refuse}, {"host_page_size", refuse},
    {"__assert_rtn", assert_failed}, {"__stack_chk_fail", stack_failed}, {"__stack_chk_guard", &stack_guard},
    {"__stdinp", &file_in}, {"__stdoutp", &file_out}, {"__stderrp", &file_err}, {"environ", &environ},
    {"memset_pattern4", mac_pattern4}, {"memset_pattern8", mac_pattern8}, {"memset_pattern16", mac_pattern16},
    {"pthread_mutex_lock", mac_lock}, {"pthread_mutex_trylock", mac_trylock}, {"pthread_mutex_unlock", mac_unlock},
    {"pthread_mutex_destroy", mac_unmutex}, {"pthread_cond_wait", mac_wait}, {"pthread_cond_timedwait", mac_wait_until},
    {"pthread_cond_signal", mac_signal}, {"pthread_cond_broadcast", mac_broadcast},
    {"pthread_cond_destroy", mac_uncondition}, {"pthread_once", mac_once}, {"pthread_rwlock_rdlock", mac_read_lock},
    {"pthread_rwlock_wrlock", mac_write_lock}, {"pthread_rwlock_unlock", mac_rw_unlock},
    {"pthread_setname_np", mac_name_thread}, {"_tlv_bootstrap", tlv_address}, {"setjmp", mac_setjmp},
    {"_setjmp", mac_setjmp}, {"sigsetjmp", mac_setjmp}, {"longjmp", mac_longjmp}, {"_longjmp", mac_longjmp},
    {"siglongjmp", mac_longjmp},
};

void libsystem_begin(const char *simulator_path, const char *program_path)
{
    simulator = simulator_path;
    program = program_path;
    dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
    file_in = stdin;
    file_out = stdout;
    file_err = stderr;
}

/* long double is double on macOS: cosl is cos. */
static const char *of_double(const char *name)
{
    static const char names[] =
        " acos asin atan cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 log log2 log10 log1p logb cbrt sqrt fabs "
        "floor ceil trunc round rint nearbyint erf erfc lgamma tgamma atan2 pow fmod remainder copysign nextafter fdim fmax "
        "fmin hypot fma ldexp frexp ilogb ";
    static char base[16];
    const size_t n = strlen(name);
    char word[20];
    if (strcmp(name, "strtold") == 0)
        return "strtod";
    if (n < 4 || n > sizeof base || name[n - 1] != 'l')
        return name;
    snprintf(base, sizeof base, "%.*s", (int)(n - 1), name);
    snprintf(word, sizeof word, " %s ", base);
    return strstr(names, word) ? base : name;
}

void *libsystem_find(const char *symbol)
{
    if (strcmp(symbol, "dyld_stub_binder") == 0)
        return stack_failed;
    const char *name = symbol + (symbol[0] == '_');
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(own[i].name, name) == 0)
            return (void *)own[i].at;
    name = strcmp(name, "__error") == 0 ? "__errno_location" : strcmp(name, "__exp10") == 0 ? "exp10" : of_double(name);
    return dlsym(RTLD_DEFAULT, name);
}
