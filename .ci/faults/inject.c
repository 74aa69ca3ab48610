/* Injects one fault into a process: LD_PRELOAD this library, and set FAULT=CALL:N:ACTION. The Nth call of a function that changes files then fails
 * with the error ACTION (a number), or ACTION is "short" (a write of one byte), "kill" (SIGKILL before the call) or "killed" (after it).
 * CALL is a function's name, or "any". If FAULT_COUNT names a file, the number of calls is written to it at the end instead. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char wanted[32];
static long number, calls;
static char action[16];
static int counting = -1;

__attribute__((constructor)) static void start(void) {
    const char *fault = getenv("FAULT"), *count = getenv("FAULT_COUNT");
    if (fault) sscanf(fault, "%31[^:]:%ld:%15s", wanted, &number, action);
    if (count) {
        counting = open(count, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        strcpy(wanted, "any");
    }
}

enum { PASS, FAIL, SHORT, KILLED };

static int due(const char *name) {
    if (counting >= 0) {
        dprintf(counting, "%s\n", name);
        return PASS;
    }
    if (!wanted[0] || (strcmp(wanted, "any") && strcmp(wanted, name))) return PASS;
    if (__atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) != number) return PASS;
    if (!strcmp(action, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(action, "killed")) return KILLED;
    if (!strcmp(action, "short")) return SHORT;
    errno = atoi(action);
    return FAIL;
}

static int is_file(int fd) {
    struct stat status;
    int kept = errno, is = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && fd != counting;
    errno = kept;
    return is;
}

static void end(int how) {
    if (how == KILLED) kill(getpid(), SIGKILL);
}

#define WRAP(type, name, parameters, arguments, condition, failed, shortened) \
    type name parameters {                                                    \
        static type(*real) parameters;                                        \
        if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name);        \
        int how = (condition) ? due(#name) : PASS;                            \
        if (how == FAIL) return failed;                                       \
        if (how == SHORT) shortened;                                          \
        type result = real arguments;                                         \
        end(how);                                                             \
        return result;                                                        \
    }

WRAP(ssize_t, write, (int fd, const void *bytes, size_t size), (fd, bytes, size), is_file(fd), -1, size = size > 0)
WRAP(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count), is_file(fd), -1, count = count > 0)
WRAP(ssize_t, copy_file_range, (int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags),
     (in, from, out, to, size, flags), 1, -1, size = size > 0)
WRAP(int, fsync, (int fd), (fd), 1, -1, (void)0)
WRAP(int, rename, (const char *from, const char *to), (from, to), 1, -1, (void)0)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), 1, -1, (void)0)
WRAP(int, unlink, (const char *path), (path), 1, -1, (void)0)
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode), 1, -1, (void)0)
WRAP(int, fchown, (int fd, uid_t user, gid_t group), (fd, user, group), 1, -1, (void)0)

#define WRAP_OPEN(name)                                                  \
    int name(const char *path, int flags, ...) {                         \
        static int (*real)(const char *, int, ...);                      \
        if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name); \
        va_list rest;                                                    \
        va_start(rest, flags);                                           \
        mode_t mode = (flags & O_CREAT) ? va_arg(rest, mode_t) : 0;      \
        va_end(rest);                                                    \
        int how = (flags & O_CREAT) ? due("open") : PASS;                \
        if (how == FAIL) return -1;                                      \
        int fd = real(path, flags, mode);                                \
        end(how);                                                        \
        return fd;                                                       \
    }
WRAP_OPEN(open)
WRAP_OPEN(open64)
