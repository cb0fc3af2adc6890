/* What Ingot uses of macOS's C library on arm64, declared by us, so that `make macos` needs no SDK. Every header of the C
 * library that a source includes is a file that includes this one (tools/macos/headers). Types, constants and layouts are
 * those of Darwin on 64-bit machines; tools/macos/symbols lists the functions that libSystem has. */
#ifndef DARWIN_H
#define DARWIN_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#undef UINT8_MAX
#undef UINT16_MAX
#define UINT8_MAX 255
#define UINT16_MAX 65535

#ifdef __cplusplus
extern "C" {
#endif

/* ---- types ---- */
typedef long ssize_t;
#define SSIZE_MAX 0x7fffffffffffffffL
typedef int64_t off_t, blkcnt_t;
typedef int32_t pid_t, dev_t, blksize_t, suseconds_t;
typedef uint32_t uid_t, gid_t, sigset_t, nfds_t;
typedef uint16_t mode_t, nlink_t;
typedef uint64_t ino_t;
typedef long time_t, clock_t;
typedef int clockid_t;
typedef struct darwin_locale *locale_t;
typedef struct darwin_file FILE;
typedef struct darwin_dir DIR;
struct timespec {
    time_t tv_sec;
    long tv_nsec;
};
struct timeval {
    time_t tv_sec;
    suseconds_t tv_usec;
};

/* ---- assert.h, ctype.h, errno.h ---- */
void __assert_rtn(const char *function, const char *file, int line, const char *text) __attribute__((noreturn));
#ifdef NDEBUG
#define assert(e) ((void)0)
#else
#define assert(e) ((e) ? (void)0 : __assert_rtn(__func__, __FILE__, __LINE__, #e))
#endif
#ifndef static_assert
#define static_assert _Static_assert
#endif
int isalnum(int), isalpha(int), isdigit(int), islower(int), isupper(int), isspace(int), isxdigit(int), isprint(int);
int iscntrl(int), ispunct(int), isgraph(int), isblank(int), tolower(int), toupper(int);
int *__error(void);
#define errno (*__error())
enum {
    EPERM = 1, ENOENT = 2, ESRCH = 3, EINTR = 4, EIO = 5, ENXIO = 6, E2BIG = 7, EBADF = 9, ECHILD = 10, EDEADLK = 11,
    ENOMEM = 12, EACCES = 13, EFAULT = 14, EBUSY = 16, EEXIST = 17, EXDEV = 18, ENODEV = 19, ENOTDIR = 20, EISDIR = 21,
    EINVAL = 22, ENFILE = 23, EMFILE = 24, ENOTTY = 25, ETXTBSY = 26, EFBIG = 27, ENOSPC = 28, ESPIPE = 29, EROFS = 30,
    EMLINK = 31, EPIPE = 32, EDOM = 33, ERANGE = 34, EAGAIN = 35, EWOULDBLOCK = 35, ETIMEDOUT = 60, ELOOP = 62,
    ENAMETOOLONG = 63, ENOTEMPTY = 66, EDQUOT = 69, ENOSYS = 78, EOVERFLOW = 84, ENOTSUP = 45, EOPNOTSUPP = 102
};

/* ---- string.h ---- */
void *memcpy(void *, const void *, size_t), *memmove(void *, const void *, size_t), *memset(void *, int, size_t);
void *memchr(const void *, int, size_t), *memmem(const void *, size_t, const void *, size_t);
int memcmp(const void *, const void *, size_t), strcmp(const char *, const char *);
int strncmp(const char *, const char *, size_t), strcasecmp(const char *, const char *);
int strncasecmp(const char *, const char *, size_t), strcoll(const char *, const char *);
size_t strlen(const char *), strnlen(const char *, size_t), strspn(const char *, const char *);
size_t strcspn(const char *, const char *), strlcpy(char *, const char *, size_t);
char *strcpy(char *, const char *), *strncpy(char *, const char *, size_t), *strcat(char *, const char *);
char *strncat(char *, const char *, size_t), *strchr(const char *, int), *strrchr(const char *, int);
char *strstr(const char *, const char *), *strpbrk(const char *, const char *), *strtok(char *, const char *);
char *strtok_r(char *, const char *, char **), *strdup(const char *), *strndup(const char *, size_t), *strerror(int);
char *stpcpy(char *, const char *), *strsignal(int), *strsep(char **, const char *);
int strerror_r(int, char *, size_t);

/* ---- stdlib.h ---- */
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 0x7fffffff
typedef struct div_t { int quot, rem; } div_t;
void *malloc(size_t), *calloc(size_t, size_t), *realloc(void *, size_t), *aligned_alloc(size_t, size_t);
void *reallocf(void *, size_t), *bsearch(const void *, const void *, size_t, size_t, int (*)(const void *, const void *));
int posix_memalign(void **, size_t, size_t);
void free(void *), abort(void) __attribute__((noreturn)), exit(int) __attribute__((noreturn));
void _Exit(int) __attribute__((noreturn)), qsort(void *, size_t, size_t, int (*)(const void *, const void *));
int atexit(void (*)(void)), abs(int), atoi(const char *), system(const char *), setenv(const char *, const char *, int);
int getloadavg(double *, int), unsetenv(const char *), mkstemp(char *), mkstemps(char *, int), rand(void);
void srand(unsigned);
long labs(long), atol(const char *), strtol(const char *, char **, int);
long long llabs(long long), atoll(const char *), strtoll(const char *, char **, int);
unsigned long strtoul(const char *, char **, int);
unsigned long long strtoull(const char *, char **, int);
double strtod(const char *, char **), atof(const char *), strtod_l(const char *, char **, locale_t);
float strtof(const char *, char **);
long double strtold(const char *, char **);
char *getenv(const char *), *realpath(const char *, char *), *mkdtemp(char *);
extern char **environ;
#define alloca(n) __builtin_alloca(n)

/* ---- stdio.h ---- */
extern FILE *__stdinp, *__stdoutp, *__stderrp;
#define stdin __stdinp
#define stdout __stdoutp
#define stderr __stderrp
#define EOF (-1)
#define BUFSIZ 1024
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#define _IOFBF 0
#define _IOLBF 1
#define _IONBF 2
#define L_tmpnam 1024
#define FILENAME_MAX 1024
#define PRINTF(f, a) __attribute__((format(printf, f, a)))
int printf(const char *, ...) PRINTF(1, 2), fprintf(FILE *, const char *, ...) PRINTF(2, 3);
int snprintf(char *, size_t, const char *, ...) PRINTF(3, 4), sprintf(char *, const char *, ...) PRINTF(2, 3);
int dprintf(int, const char *, ...) PRINTF(2, 3), asprintf(char **, const char *, ...) PRINTF(2, 3);
int vprintf(const char *, va_list), vfprintf(FILE *, const char *, va_list), vsnprintf(char *, size_t, const char *, va_list);
int vasprintf(char **, const char *, va_list), sscanf(const char *, const char *, ...), fscanf(FILE *, const char *, ...);
#undef PRINTF
int fclose(FILE *), fflush(FILE *), fputc(int, FILE *), putc(int, FILE *), putchar(int), puts(const char *);
int fputs(const char *, FILE *), fgetc(FILE *), getc(FILE *), getchar(void), ungetc(int, FILE *), feof(FILE *), ferror(FILE *);
int fseek(FILE *, long, int), fseeko(FILE *, off_t, int), fileno(FILE *), remove(const char *), rename(const char *, const char *);
int renameat(int, const char *, int, const char *);
int setvbuf(FILE *, char *, int, size_t), pclose(FILE *), putc_unlocked(int, FILE *), getc_unlocked(FILE *);
void rewind(FILE *), clearerr(FILE *), perror(const char *), setbuf(FILE *, char *), flockfile(FILE *), funlockfile(FILE *);
long ftell(FILE *);
off_t ftello(FILE *);
size_t fread(void *, size_t, size_t, FILE *), fwrite(const void *, size_t, size_t, FILE *);
char *fgets(char *, int, FILE *);
FILE *fopen(const char *, const char *), *fdopen(int, const char *), *freopen(const char *, const char *, FILE *);
FILE *popen(const char *, const char *), *tmpfile(void), *fmemopen(void *, size_t, const char *), *open_memstream(char **, size_t *);
ssize_t getline(char **, size_t *, FILE *), getdelim(char **, size_t *, int, FILE *);

/* ---- inttypes.h ---- */
#define PRId8 "hhd"
#define PRId16 "hd"
#define PRId32 "d"
#define PRId64 "lld"
#define PRIi64 "lli"
#define PRIu8 "hhu"
#define PRIu16 "hu"
#define PRIu32 "u"
#define PRIu64 "llu"
#define PRIx8 "hhx"
#define PRIx16 "hx"
#define PRIx32 "x"
#define PRIx64 "llx"
#define PRIX64 "llX"
#define PRIo64 "llo"
#define PRIuPTR "lu"
#define PRIxPTR "lx"
#define PRIdPTR "ld"
#define SCNd64 "lld"
#define SCNu64 "llu"
#define SCNx64 "llx"
#define SCNu32 "u"
#define SCNd32 "d"
#define SCNx32 "x"

/* ---- math.h, fenv.h ---- */
typedef float float_t;
typedef double double_t;
#define HUGE_VAL __builtin_huge_val()
#define HUGE_VALF __builtin_huge_valf()
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define FP_NAN 1
#define FP_INFINITE 2
#define FP_ZERO 3
#define FP_NORMAL 4
#define FP_SUBNORMAL 5
#define FP_ILOGB0 (-2147483647 - 1)
#define FP_ILOGBNAN (-2147483647 - 1)
#define M_E 2.71828182845904523536
#define M_LN2 0.693147180559945309417
#define M_LN10 2.30258509299404568402
#define M_LOG2E 1.44269504088896340736
#define M_LOG10E 0.434294481903251827651
#define M_2_SQRTPI 1.12837916709551257390
#define M_1_PI 0.31830988618379067154
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.785398163397448309616
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf_sign(x)
#define isfinite(x) __builtin_isfinite(x)
#define isnormal(x) __builtin_isnormal(x)
#define signbit(x) __builtin_signbit(x)
#define fpclassify(x) __builtin_fpclassify(FP_NAN, FP_INFINITE, FP_NORMAL, FP_SUBNORMAL, FP_ZERO, x)
#define isunordered(x, y) __builtin_isunordered(x, y)
#define MATH1(name) \
    double name(double); \
    float name##f(float); \
    long double name##l(long double);
#define MATH2(name) \
    double name(double, double); \
    float name##f(float, float); \
    long double name##l(long double, long double);
MATH1(acos) MATH1(asin) MATH1(atan) MATH1(cos) MATH1(sin) MATH1(tan) MATH1(acosh) MATH1(asinh) MATH1(atanh) MATH1(cosh)
MATH1(sinh) MATH1(tanh) MATH1(exp) MATH1(exp2) MATH1(expm1) MATH1(log) MATH1(log2) MATH1(log10) MATH1(log1p) MATH1(logb)
MATH1(cbrt) MATH1(sqrt) MATH1(fabs) MATH1(floor) MATH1(ceil) MATH1(trunc) MATH1(round) MATH1(rint) MATH1(nearbyint)
MATH1(erf) MATH1(erfc) MATH1(lgamma) MATH1(tgamma) MATH2(atan2) MATH2(pow) MATH2(fmod) MATH2(remainder) MATH2(copysign)
MATH2(nextafter) MATH2(fdim) MATH2(fmax) MATH2(fmin) MATH2(hypot)
#undef MATH1
#undef MATH2
double fma(double, double, double), ldexp(double, int), scalbn(double, int), frexp(double, int *), modf(double, double *);
float fmaf(float, float, float), ldexpf(float, int), scalbnf(float, int), frexpf(float, int *), modff(float, float *);
long double fmal(long double, long double, long double), ldexpl(long double, int), frexpl(long double, int *);
double scalbln(double, long), remquo(double, double, int *), nan(const char *), j0(double), j1(double), jn(int, double);
double y0(double), y1(double), yn(int, double), __exp10(double);
float remquof(float, float, int *), nanf(const char *), __exp10f(float);
int ilogb(double), ilogbf(float), ilogbl(long double);
long lrint(double), lround(double), lrintf(float), lroundf(float);
long long llrint(double), llround(double), llrintf(float), llroundf(float);
#define FE_TONEAREST 0
#define FE_UPWARD 0x00400000
#define FE_DOWNWARD 0x00800000
#define FE_TOWARDZERO 0x00c00000
#define FE_INEXACT 0x0010
#define FE_ALL_EXCEPT 0x009f
typedef struct fenv_t { unsigned long long fpsr, fpcr; } fenv_t;
int fesetround(int), fegetround(void), feclearexcept(int), fegetenv(fenv_t *), fesetenv(const fenv_t *);

/* ---- setjmp.h, signal.h ---- */
typedef int jmp_buf[48];
typedef int sigjmp_buf[49];
int setjmp(jmp_buf) __attribute__((returns_twice)), sigsetjmp(sigjmp_buf, int) __attribute__((returns_twice));
int _setjmp(jmp_buf) __attribute__((returns_twice));
void longjmp(jmp_buf, int) __attribute__((noreturn)), siglongjmp(sigjmp_buf, int) __attribute__((noreturn));
void _longjmp(jmp_buf, int) __attribute__((noreturn));
typedef int sig_atomic_t;
typedef struct siginfo_t {
    int si_signo, si_errno, si_code;
    pid_t si_pid;
    uid_t si_uid;
    int si_status;
    void *si_addr, *si_value;
    long si_band;
    unsigned long pad[7];
} siginfo_t;
struct sigaction {
    union {
        void (*handler)(int);
        void (*action)(int, siginfo_t *, void *);
    } u;
    sigset_t sa_mask;
    int sa_flags;
};
#define sa_handler u.handler
#define sa_sigaction u.action
typedef struct stack_t { void *ss_sp; size_t ss_size; int ss_flags; } stack_t;
#define SIG_DFL ((void (*)(int))0)
#define SIG_IGN ((void (*)(int))1)
#define SIG_ERR ((void (*)(int))-1)
enum {
    SIGHUP = 1, SIGINT = 2, SIGQUIT = 3, SIGILL = 4, SIGTRAP = 5, SIGABRT = 6, SIGFPE = 8, SIGKILL = 9, SIGBUS = 10,
    SIGSEGV = 11, SIGSYS = 12, SIGPIPE = 13, SIGALRM = 14, SIGTERM = 15, SIGSTOP = 17, SIGTSTP = 18, SIGCONT = 19,
    SIGCHLD = 20, SIGXCPU = 24, SIGXFSZ = 25, SIGWINCH = 28, SIGUSR1 = 30, SIGUSR2 = 31,
    SA_ONSTACK = 1, SA_RESTART = 2, SA_RESETHAND = 4, SA_NODEFER = 16, SA_SIGINFO = 64,
    SIG_BLOCK = 1, SIG_UNBLOCK = 2, SIG_SETMASK = 3
};
int sigaction(int, const struct sigaction *, struct sigaction *), kill(pid_t, int), raise(int);
int sigpending(sigset_t *), sigwait(const sigset_t *, int *), sigprocmask(int, const sigset_t *, sigset_t *), sigaltstack(const stack_t *, stack_t *);
static inline int sigemptyset(sigset_t *s) { return *s = 0, 0; }
static inline int sigfillset(sigset_t *s) { return *s = ~0u, 0; }
static inline int sigaddset(sigset_t *s, int n) { return *s |= 1u << (n - 1), 0; }
static inline int sigdelset(sigset_t *s, int n) { return *s &= ~(1u << (n - 1)), 0; }
static inline int sigismember(const sigset_t *s, int n) { return *s >> (n - 1) & 1; }
void (*signal(int, void (*)(int)))(int);

/* ---- time.h, locale.h, xlocale.h ---- */
struct tm {
    int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst;
    long tm_gmtoff;
    char *tm_zone;
};
#define CLOCKS_PER_SEC 1000000
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 6
#define CLOCK_MONOTONIC_RAW 4
#define CLOCK_PROCESS_CPUTIME_ID 12
#define CLOCK_THREAD_CPUTIME_ID 16
int clock_gettime(clockid_t, struct timespec *), clock_getres(clockid_t, struct timespec *);
int nanosleep(const struct timespec *, struct timespec *), gettimeofday(struct timeval *, void *);
time_t time(time_t *), mktime(struct tm *), timegm(struct tm *);
clock_t clock(void);
struct tm *gmtime(const time_t *), *localtime(const time_t *), *gmtime_r(const time_t *, struct tm *);
struct tm *localtime_r(const time_t *, struct tm *);
size_t strftime(char *, size_t, const char *, const struct tm *);
double difftime(time_t, time_t);
enum { LC_ALL = 0, LC_COLLATE = 1, LC_CTYPE = 2, LC_MONETARY = 3, LC_NUMERIC = 4, LC_TIME = 5, LC_MESSAGES = 6 };
#define LC_NUMERIC_MASK (1 << 4)
#define LC_ALL_MASK 0x3f
char *setlocale(int, const char *);
locale_t newlocale(int, const char *, locale_t), uselocale(locale_t);
int freelocale(locale_t);

/* ---- unistd.h, fcntl.h, sys/types.h, sys/stat.h, dirent.h ---- */
#define STDIN_FILENO 0
#define STDOUT_FILENO 1
#define STDERR_FILENO 2
enum { F_OK = 0, X_OK = 1, W_OK = 2, R_OK = 4, _SC_PAGESIZE = 29, _SC_NPROCESSORS_CONF = 57, _SC_NPROCESSORS_ONLN = 58,
       _SC_PHYS_PAGES = 200, _SC_OPEN_MAX = 5, _SC_ARG_MAX = 1,
       _SC_CLK_TCK = 3 };
#define PATH_MAX 1024
#define NAME_MAX 255
enum {
    O_RDONLY = 0, O_WRONLY = 1, O_RDWR = 2, O_NONBLOCK = 4, O_APPEND = 8, O_NOFOLLOW = 0x100, O_CREAT = 0x200,
    O_TRUNC = 0x400, O_EXCL = 0x800, O_DIRECTORY = 0x100000, O_CLOEXEC = 0x1000000, F_DUPFD = 0, F_GETFD = 1, F_SETFD = 2,
    F_GETFL = 3, F_SETFL = 4, F_DUPFD_CLOEXEC = 67, FD_CLOEXEC = 1, AT_FDCWD = -2, AT_SYMLINK_NOFOLLOW = 0x20,
    AT_SYMLINK_FOLLOW = 0x40, AT_REMOVEDIR = 0x80, LOCK_SH = 1, LOCK_EX = 2, LOCK_NB = 4, LOCK_UN = 8
};
int open(const char *, int, ...), openat(int, const char *, int, ...), fcntl(int, int, ...), flock(int, int);
struct stat {
    dev_t st_dev;
    mode_t st_mode;
    nlink_t st_nlink;
    ino_t st_ino;
    uid_t st_uid;
    gid_t st_gid;
    dev_t st_rdev;
    struct timespec st_atimespec, st_mtimespec, st_ctimespec, st_birthtimespec;
    off_t st_size;
    blkcnt_t st_blocks;
    blksize_t st_blksize;
    uint32_t st_flags, st_gen;
    int32_t st_lspare;
    int64_t st_qspare[2];
};
#define st_mtime st_mtimespec.tv_sec
#define st_atime st_atimespec.tv_sec
#define S_IFMT 0170000
#define S_IFREG 0100000
#define S_IFDIR 0040000
#define S_ISREG(m) (((m) & S_IFMT) == S_IFREG)
#define S_ISDIR(m) (((m) & S_IFMT) == S_IFDIR)
#define S_ISFIFO(m) (((m) & S_IFMT) == 0010000)
#define S_ISCHR(m) (((m) & S_IFMT) == 0020000)
#define S_ISLNK(m) (((m) & S_IFMT) == 0120000)
#define S_ISVTX 01000
#define S_IRWXU 0700
#define S_IRUSR 0400
#define S_IWUSR 0200
#define S_IXUSR 0100
#define S_IRGRP 0040
#define S_IWGRP 0020
#define S_IROTH 0004
#define S_IWOTH 0002
int stat(const char *, struct stat *), fstat(int, struct stat *), lstat(const char *, struct stat *);
int mkdir(const char *, mode_t), chmod(const char *, mode_t), fchmod(int, mode_t), mkfifo(const char *, mode_t);
int utimes(const char *, const struct timeval *), futimens(int, const struct timespec *);
int utimensat(int, const char *, const struct timespec *, int);
int mkdirat(int, const char *, mode_t), fstatat(int, const char *, struct stat *, int), fchmodat(int, const char *, mode_t, int);
mode_t umask(mode_t);
struct dirent {
    ino_t d_ino;
    uint64_t d_seekoff;
    uint16_t d_reclen, d_namlen;
    uint8_t d_type;
    char d_name[1024];
};
enum { DT_UNKNOWN = 0, DT_DIR = 4, DT_REG = 8, DT_LNK = 10 };
DIR *opendir(const char *), *fdopendir(int);
struct dirent *readdir(DIR *);
int closedir(DIR *), dirfd(DIR *);
void rewinddir(DIR *);

/* ---- sys/mman.h, sys/wait.h, sys/ioctl.h, sys/resource.h, sys/utsname.h, poll.h ---- */
enum { PROT_NONE = 0, PROT_READ = 1, PROT_WRITE = 2, PROT_EXEC = 4, MAP_SHARED = 1, MAP_PRIVATE = 2, MAP_FIXED = 0x10,
       MAP_NORESERVE = 0x40, MAP_ANON = 0x1000, MAP_ANONYMOUS = 0x1000, MADV_NORMAL = 0, MADV_SEQUENTIAL = 2,
       MADV_WILLNEED = 3, MADV_DONTNEED = 4 };
#define MAP_FAILED ((void *)-1)
void *mmap(void *, size_t, int, int, int, off_t);
int munmap(void *, size_t), mprotect(void *, size_t, int), madvise(void *, size_t, int), mlock(const void *, size_t);
#define WNOHANG 1
#define WIFEXITED(s) (((s) & 0177) == 0)
#define WEXITSTATUS(s) ((s) >> 8 & 0xff)
#define WIFSIGNALED(s) (((s) & 0177) != 0177 && ((s) & 0177) != 0)
#define WTERMSIG(s) ((s) & 0177)
pid_t wait(int *), waitpid(pid_t, int *, int);
struct winsize {
    unsigned short ws_row, ws_col, ws_xpixel, ws_ypixel;
};
#define TIOCGWINSZ 0x40087468ul
int ioctl(int, unsigned long, ...);
struct rusage {
    struct timeval ru_utime, ru_stime;
    long ru_maxrss, ru_ixrss, ru_idrss, ru_isrss, ru_minflt, ru_majflt, ru_nswap, ru_inblock, ru_oublock, ru_msgsnd,
        ru_msgrcv, ru_nsignals, ru_nvcsw, ru_nivcsw;
};
typedef uint64_t rlim_t;
struct rlimit {
    rlim_t rlim_cur, rlim_max;
};
enum { RUSAGE_SELF = 0, RUSAGE_CHILDREN = -1, RLIMIT_CPU = 0, RLIMIT_CORE = 4, RLIMIT_AS = 5, RLIMIT_NOFILE = 8, RLIMIT_FSIZE = 1, PRIO_PROCESS = 0 };
#define RLIM_INFINITY (((rlim_t)1 << 63) - 1)
int getrusage(int, struct rusage *), getrlimit(int, struct rlimit *), setrlimit(int, const struct rlimit *);
int getpriority(int, unsigned), setpriority(int, unsigned, int);
pid_t wait4(pid_t, int *, int, struct rusage *);
struct utsname {
    char sysname[256], nodename[256], release[256], version[256], machine[256];
};
int uname(struct utsname *);
struct pollfd {
    int fd;
    short events, revents;
};
enum { POLLIN = 1, POLLOUT = 4, POLLERR = 8, POLLHUP = 16 };
int poll(struct pollfd *, nfds_t, int);

/* ---- sys/socket.h, netinet/in.h, arpa/inet.h ---- */
enum { AF_INET = 2, AF_INET6 = 30, MSG_PEEK = 2, MSG_DONTWAIT = 0x80 };
typedef uint32_t socklen_t;
typedef uint8_t sa_family_t;
struct sockaddr_storage {
    uint8_t ss_len;
    sa_family_t ss_family;
    char pad[6];
    int64_t align;
    char rest[112];
};
struct in_addr {
    uint32_t s_addr;
};
struct in6_addr {
    uint8_t s6_addr[16];
};
struct sockaddr_in {
    uint8_t sin_len;
    sa_family_t sin_family;
    uint16_t sin_port;
    struct in_addr sin_addr;
    char sin_zero[8];
};
struct sockaddr_in6 {
    uint8_t sin6_len;
    sa_family_t sin6_family;
    uint16_t sin6_port;
    uint32_t sin6_flowinfo;
    struct in6_addr sin6_addr;
    uint32_t sin6_scope_id;
};
#define htons(n) __builtin_bswap16(n)
ssize_t recv(int, void *, size_t, int);
int inet_pton(int, const char *, void *);

/* ---- pthread.h, sched.h ---- */
typedef struct darwin_thread *pthread_t;
typedef unsigned long pthread_key_t;
#define DARWIN_OPAQUE(name, bytes) \
    typedef struct name { \
        long sig; \
        char opaque[bytes]; \
    } name;
DARWIN_OPAQUE(pthread_mutex_t, 56) DARWIN_OPAQUE(pthread_mutexattr_t, 8) DARWIN_OPAQUE(pthread_cond_t, 40)
DARWIN_OPAQUE(pthread_condattr_t, 8) DARWIN_OPAQUE(pthread_attr_t, 56) DARWIN_OPAQUE(pthread_once_t, 8)
DARWIN_OPAQUE(pthread_rwlock_t, 192)
#undef DARWIN_OPAQUE
#define PTHREAD_MUTEX_INITIALIZER {0x32aaaba7, {0}}
#define PTHREAD_COND_INITIALIZER {0x3cb0b1bb, {0}}
#define PTHREAD_ONCE_INIT {0x30b1bcba, {0}}
#define PTHREAD_RWLOCK_INITIALIZER {0x2da8b3b4, {0}}
enum { PTHREAD_CREATE_JOINABLE = 1, PTHREAD_CREATE_DETACHED = 2, PTHREAD_MUTEX_RECURSIVE = 2, PTHREAD_CANCEL_DISABLE = 0 };
int pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *), pthread_join(pthread_t, void **);
int pthread_detach(pthread_t), pthread_once(pthread_once_t *, void (*)(void)), pthread_equal(pthread_t, pthread_t);
int pthread_mutex_init(pthread_mutex_t *, const pthread_mutexattr_t *), pthread_mutex_destroy(pthread_mutex_t *);
int pthread_mutex_lock(pthread_mutex_t *), pthread_mutex_trylock(pthread_mutex_t *), pthread_mutex_unlock(pthread_mutex_t *);
int pthread_mutexattr_init(pthread_mutexattr_t *), pthread_mutexattr_settype(pthread_mutexattr_t *, int);
int pthread_mutexattr_destroy(pthread_mutexattr_t *);
int pthread_cond_init(pthread_cond_t *, const pthread_condattr_t *), pthread_cond_destroy(pthread_cond_t *);
int pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *), pthread_cond_signal(pthread_cond_t *);
int pthread_cond_broadcast(pthread_cond_t *), pthread_cond_timedwait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
int pthread_key_create(pthread_key_t *, void (*)(void *)), pthread_key_delete(pthread_key_t), pthread_setspecific(pthread_key_t, const void *);
int pthread_attr_init(pthread_attr_t *), pthread_attr_destroy(pthread_attr_t *), pthread_attr_setstacksize(pthread_attr_t *, size_t);
int pthread_attr_setdetachstate(pthread_attr_t *, int), pthread_atfork(void (*)(void), void (*)(void), void (*)(void));
int pthread_sigmask(int, const sigset_t *, sigset_t *), pthread_kill(pthread_t, int), pthread_setname_np(const char *);
int pthread_rwlock_rdlock(pthread_rwlock_t *), pthread_rwlock_wrlock(pthread_rwlock_t *), pthread_rwlock_unlock(pthread_rwlock_t *);
void *pthread_getspecific(pthread_key_t);
pthread_t pthread_self(void);
int sched_yield(void);

/* ---- dlfcn.h, glob.h, fnmatch.h, spawn.h ---- */
enum { RTLD_LAZY = 1, RTLD_NOW = 2, RTLD_LOCAL = 4, RTLD_GLOBAL = 8, RTLD_NOLOAD = 16 };
typedef struct Dl_info {
    const char *dli_fname;
    void *dli_fbase;
    const char *dli_sname;
    void *dli_saddr;
} Dl_info;
void *dlopen(const char *, int), *dlsym(void *, const char *);
int dlclose(void *), dladdr(const void *, Dl_info *);
char *dlerror(void);
#define RTLD_DEFAULT ((void *)-2)
typedef struct glob_t {
    size_t gl_pathc;
    int gl_matchc;
    size_t gl_offs;
    int gl_flags;
    char **gl_pathv;
    void *functions[6];
} glob_t;
enum { GLOB_NOSORT = 0x20, FNM_NOMATCH = 1, FNM_PATHNAME = 2 };
int glob(const char *, int, int (*)(const char *, int), glob_t *), fnmatch(const char *, const char *, int);
void globfree(glob_t *);
typedef void *posix_spawnattr_t, *posix_spawn_file_actions_t;
enum { POSIX_SPAWN_SETPGROUP = 2, POSIX_SPAWN_SETSIGDEF = 4, POSIX_SPAWN_SETSIGMASK = 8 };
int posix_spawn(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *, char *const *);
int posix_spawnp(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *, char *const *);
int posix_spawn_file_actions_init(posix_spawn_file_actions_t *), posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *);
int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *, int, int), posix_spawn_file_actions_addclose(posix_spawn_file_actions_t *, int);
int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *, int, const char *, int, mode_t);
int posix_spawnattr_init(posix_spawnattr_t *), posix_spawnattr_destroy(posix_spawnattr_t *), posix_spawnattr_setflags(posix_spawnattr_t *, short);
int posix_spawnattr_setsigmask(posix_spawnattr_t *, const sigset_t *), posix_spawnattr_setsigdefault(posix_spawnattr_t *, const sigset_t *);
int posix_spawnattr_setpgroup(posix_spawnattr_t *, pid_t);

/* ---- sys/sysctl.h, mach/mach.h, mach-o/dyld.h ---- */
struct xsw_usage {
    uint64_t xsu_total, xsu_avail, xsu_used;
    uint32_t xsu_pagesize;
    int32_t xsu_encrypted;
};
int sysctlbyname(const char *, void *, size_t *, void *, size_t), _NSGetExecutablePath(char *, uint32_t *);
typedef unsigned mach_port_t, host_t, mach_msg_type_number_t, natural_t;
typedef int kern_return_t, *host_info64_t;
typedef uintptr_t vm_size_t;
typedef struct vm_statistics64_data_t {
    natural_t free_count, active_count, inactive_count, wire_count;
    uint64_t zero_fill_count, reactivations, pageins, pageouts, faults, cow_faults, lookups, hits, purges;
    natural_t purgeable_count, speculative_count;
    uint64_t decompressions, compressions, swapins, swapouts;
    natural_t compressor_page_count, throttled_count, external_page_count, internal_page_count;
    uint64_t total_uncompressed_pages_in_compressor;
} vm_statistics64_data_t;
#define KERN_SUCCESS 0
#define HOST_VM_INFO64 4
#define HOST_VM_INFO64_COUNT ((mach_msg_type_number_t)(sizeof(vm_statistics64_data_t) / sizeof(int)))
mach_port_t mach_host_self(void);
extern mach_port_t mach_task_self_;
#define mach_task_self() mach_task_self_
kern_return_t mach_port_deallocate(mach_port_t, mach_port_t);
kern_return_t host_statistics64(host_t, int, host_info64_t, mach_msg_type_number_t *), host_page_size(host_t, vm_size_t *);

#ifdef __cplusplus
}
#endif
#endif
