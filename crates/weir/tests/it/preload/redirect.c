/*
 * A preloaded socket library, as proxies and user-space network stacks have one: it connects to
 * another port than asked for, and counts the calls that it sees.
 *
 * PRELOAD_FROM and PRELOAD_TO are the ports; the counts go to the file PRELOAD_COUNTS.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

static unsigned long connects, sends, receives;

static void count(unsigned long *calls)
{
    __atomic_add_fetch(calls, 1, __ATOMIC_RELAXED);
}

static in_port_t port(const char *name)
{
    const char *text = getenv(name);
    return htons((unsigned short)(text ? atoi(text) : 0));
}

int connect(int socket, const struct sockaddr *address, socklen_t length)
{
    int (*next)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
    struct sockaddr_in there;

    if (address->sa_family == AF_INET) {
        there = *(const struct sockaddr_in *)address;
        if (there.sin_port == port("PRELOAD_FROM")) {
            there.sin_port = port("PRELOAD_TO");
            count(&connects);
            return next(socket, (const struct sockaddr *)&there, sizeof(there));
        }
    }
    return next(socket, address, length);
}

ssize_t send(int socket, const void *bytes, size_t length, int flags)
{
    ssize_t (*next)(int, const void *, size_t, int) = dlsym(RTLD_NEXT, "send");

    count(&sends);
    return next(socket, bytes, length, flags);
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags)
{
    ssize_t (*next)(int, const struct msghdr *, int) = dlsym(RTLD_NEXT, "sendmsg");

    count(&sends);
    return next(socket, message, flags);
}

ssize_t recv(int socket, void *bytes, size_t length, int flags)
{
    ssize_t (*next)(int, void *, size_t, int) = dlsym(RTLD_NEXT, "recv");

    count(&receives);
    return next(socket, bytes, length, flags);
}

ssize_t recvmsg(int socket, struct msghdr *message, int flags)
{
    ssize_t (*next)(int, struct msghdr *, int) = dlsym(RTLD_NEXT, "recvmsg");

    count(&receives);
    return next(socket, message, flags);
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("PRELOAD_COUNTS");
    FILE *file = path ? fopen(path, "w") : NULL;

    if (file) {
        fprintf(file, "%lu %lu %lu\n", connects, sends, receives);
        fclose(file);
    }
}
