/* unistd.h of macOS, as far as Ingot uses it: apart, because its short names are also those of our own functions. */
#ifndef DARWIN_UNISTD_H
#define DARWIN_UNISTD_H

#include <darwin.h>

#ifdef __cplusplus
extern "C" {
#endif
ssize_t read(int, void *, size_t), write(int, const void *, size_t), pread(int, void *, size_t, off_t);
ssize_t pwrite(int, const void *, size_t, off_t), readlink(const char *, char *, size_t),
    readlinkat(int, const char *, char *, size_t);
int close(int), access(const char *, int), unlink(const char *), rmdir(const char *), link(const char *, const char *);
int symlink(const char *, const char *), chdir(const char *), isatty(int), pipe(int *), dup(int), dup2(int, int), ftruncate(int, off_t);
int fsync(int), truncate(const char *, off_t), getpagesize(void), gethostname(char *, size_t), execv(const char *, char *const *);
int execvp(const char *, char *const *), execve(const char *, char *const *, char *const *), usleep(unsigned), setpgid(pid_t, pid_t);
int linkat(int, const char *, int, const char *, int), unlinkat(int, const char *, int), getopt(int, char *const *, const char *);
off_t lseek(int, off_t, int);
pid_t fork(void), getpid(void), getppid(void), setsid(void), getpgrp(void), tcgetpgrp(int);
uid_t getuid(void), geteuid(void);
gid_t getgid(void);
long sysconf(int);
unsigned sleep(unsigned), alarm(unsigned);
char *getcwd(char *, size_t), *ttyname(int);
void _exit(int) __attribute__((noreturn));
#ifdef __cplusplus
}
#endif
#endif
