/*
 * not_recorded: programs and libraries that a recorder cannot see into, kept alive until the collector
 * has had time to look at them.
 *
 *   wait COLLECTOR   7 blocks of 1,000 bytes; exit status 5
 *   exec PROGRAM     10 blocks of 100 bytes, then becomes PROGRAM wait
 *   quick PROGRAM    likewise, but PROGRAM gets no argument
 *   spawn PROGRAM    10 blocks of 100 bytes, and PROGRAM wait as a child
 *   thread PROGRAM   likewise, as a child of a second thread
 *   load PLUGIN      10 blocks of 100 bytes, and 7 of 1,000 in the plugin
 *   deepbind PLUGIN  likewise, loaded with RTLD_DEEPBIND
 *   brief PLUGIN     likewise, and ends at once
 *   read FILE        10 blocks of 100 bytes, with FILE mapped to be read
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parent_child.h"

extern char **environ;

/* How often its main thread has gone to sleep. No stdio file: that would allocate. */
static long naps_of(const char *pid)
{
    char path[64], text[8192];
    snprintf(path, sizeof path, "/proc/%s/status", pid);
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *found = strstr(text, "\nvoluntary_ctxt_switches:");
    return found ? atol(found + 25) : -1;
}

/* The collector looks more than twice in 150 turns of its loop. */
static void linger(const char *collector)
{
    long first = naps_of(collector);
    while (getenv("TIDEMARK_SOCKET") && first >= 0 && naps_of(collector) >= 0 &&
           naps_of(collector) < first + 150)
        usleep(1000);
}

/* Starts the program that the arguments name, and returns its exit status. */
static void *spawn_and_wait(void *context)
{
    char *const *arguments = context;
    pid_t child;
    int status = 0;
    if (posix_spawn(&child, arguments[0], NULL, NULL, arguments, environ) != 0)
        return (void *)9;
    waitpid(child, &status, 0);
    return (void *)(long)WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "", *what = argc > 2 ? argv[2] : "";
    char collector[16];

    if (!strcmp(how, "wait") || !*how) {
        in_child();
        if (*what)
            linger(what);
        return 5;
    }
    snprintf(collector, sizeof collector, "%d", getppid());
    in_parent();
    if (!strcmp(how, "exec"))
        execl(what, what, "wait", collector, (char *)NULL);
    if (!strcmp(how, "quick"))
        execl(what, what, (char *)NULL);
    if (!strcmp(how, "spawn") || !strcmp(how, "thread")) {
        char *arguments[] = {(char *)what, "wait", collector, NULL};
        pthread_t thread;
        void *status;
        if (*how == 's')
            return (int)(long)spawn_and_wait(arguments);
        if (pthread_create(&thread, NULL, spawn_and_wait, arguments) != 0)
            return 9;
        pthread_join(thread, &status);
        return (int)(long)status;
    }
    if (!strcmp(how, "load") || !strcmp(how, "deepbind") || !strcmp(how, "brief")) {
        void *plugin = dlopen(what, RTLD_NOW | (*how == 'l' ? 0 : RTLD_DEEPBIND));
        void (*work)(void) = plugin ? (void (*)(void))dlsym(plugin, "plugin_work") : NULL;
        if (!work)
            return 9;
        work();
        if (*how != 'b')
            linger(collector);
        return 5;
    }
    if (!strcmp(how, "read")) {
        int fd = open(what, O_RDONLY);
        if (fd < 0 || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
            return 9;
        linger(collector);
        return 5;
    }
    return 9;
}
