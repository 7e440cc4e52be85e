#include "collect/proc/kernel_pointers.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "collect/proc/proc.h"

#define FILES_MOST 65536 /* open files that are asked what they are, while the process waits */

/* The number in base 16 after `word`, in each line that begins with `begin`. */
static void parse(struct kernel_pointers *k, const char *text, const char *begin, const char *word)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *end = strchrnul(line, '\n');
        const char *at = strncmp(line, begin, strlen(begin)) == 0 ? strstr(line, word) : NULL;
        if (!at || at >= end)
            continue;
        char *stop;
        uint64_t value = strtoull(at += strlen(word), &stop, 16);
        if (stop != at && stop <= end)
            *vec_push(&k->items) = value;
    }
}

void kernel_pointers_parse_epoll(struct kernel_pointers *k, const char *text)
{
    parse(k, text, "tfd:", " data:");
}

void kernel_pointers_parse_timers(struct kernel_pointers *k, const char *text)
{
    parse(k, text, "signal:", "/");
}

static void read_file(struct kernel_pointers *k, pid_t pid, const char *name,
                      void (*parse_text)(struct kernel_pointers *k, const char *text))
{
    struct strbuf text = {0};
    if (proc_read_all(pid, name, &text) == 0)
        parse_text(k, text.data);
    strbuf_release(&text);
}

void kernel_pointers_read(struct kernel_pointers *k, pid_t pid)
{
    char path[sizeof "fdinfo/" + sizeof((struct dirent *)NULL)->d_name], link[32];
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *files = opendir(path);
    unsigned count = 0;
    for (struct dirent *e; files && count < FILES_MOST && (e = readdir(files)); count++) {
        ssize_t n = readlinkat(dirfd(files), e->d_name, link, sizeof link - 1);
        if (n <= 0)
            continue;
        link[n] = '\0';
        if (strcmp(link, "anon_inode:[eventpoll]") != 0)
            continue;
        snprintf(path, sizeof path, "fdinfo/%s", e->d_name);
        read_file(k, pid, path, kernel_pointers_parse_epoll);
    }
    if (files)
        closedir(files);
    read_file(k, pid, "timers", kernel_pointers_parse_timers);
}

void kernel_pointers_release(struct kernel_pointers *k)
{
    vec_release(&k->items);
}
