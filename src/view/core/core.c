/*
 * core: the commands of tidemark inside a page.
 *
 * The page passes the bytes of one or two recordings and then runs commands on them as a shell
 * would. The code is that of the command line, and it prints to the same stdout, which the page
 * collects. A recording is read once and kept (store/held_recordings.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/page_commands.h"
#include "cli/terminal.h"
#include "store/file.h"
#include "store/held_recordings.h"
#include "store/reader.h"

#define EXPORT(name) __attribute__((export_name(name)))

void *core_alloc(size_t size);
void core_free(void *p);
int core_open(const char *name, const void *bytes, size_t size);
void core_prepare(const char *name);
int core_run(char *words, size_t size);

/* Allocates memory for what the page passes. */
EXPORT("core_alloc") void *core_alloc(size_t size)
{
    return malloc(size);
}

EXPORT("core_free") void core_free(void *p)
{
    free(p);
}

/* Keeps a recording under a name. Returns 0, or 1 and a sentence on stderr. */
EXPORT("core_open") int core_open(const char *name, const void *bytes, size_t size)
{
    struct err err = {{0}};
    struct recording *r;
    if (recording_parse(bytes, size, name, &r, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    recording_hold(name, r);
    return 0;
}

/* Computes what the next questions about a recording have in common, while nobody waits. */
EXPORT("core_prepare") void core_prepare(const char *name)
{
    page_prepare(name);
}

/* These three replace store/file.c: a page has no files. */
int recording_read_some(const char *path, const struct reader_choice *only, struct recording **out,
                        struct err *err)
{
    (void)only;
    *out = recording_held(path);
    return *out ? 0 : err_set(err, -ENOENT, "%s is not in this page", path);
}

int recording_read(const char *path, struct recording **out, struct err *err)
{
    return recording_read_some(path, NULL, out, err);
}

bool recording_file_is(const char *path)
{
    (void)path;
    return false;
}

/* Runs a command, given as words that each end with a NUL. Returns the exit status. */
EXPORT("core_run") int core_run(char *words, size_t size)
{
    return page_command(words, size);
}

/* The output is not shown in a terminal. */
struct style style_of_stdout(void)
{
    return (struct style){.width = STYLE_WIDTH};
}
