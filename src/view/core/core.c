/*
 * core: the commands of tidemark inside a page.
 *
 * The page hands over the bytes of one or two recordings, then runs commands on them as a shell
 * would: the same code as the command line's answers, and prints to the same stdout, which the page
 * collects. A recording is read once and kept.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "cli/cmd_diff.h"
#include "cli/cmd_findings.h"
#include "cli/cmd_growth.h"
#include "cli/cmd_leaks.h"
#include "cli/cmd_maps.h"
#include "cli/cmd_marks.h"
#include "cli/cmd_peaks.h"
#include "cli/cmd_report.h"
#include "cli/cmd_threads.h"
#include "cli/cmd_tree.h"
#include "report/style.h"
#include "store/reader.h"

#define EXPORT(name) __attribute__((export_name(name)))
#define FILES        2
#define ARGUMENTS    256

static struct {
    char *name; /* as commands are given it */
    struct recording *recording;
} held[FILES];

/* Memory for what the page hands over. */
EXPORT("core_alloc") void *core_alloc(size_t size)
{
    return malloc(size);
}

EXPORT("core_free") void core_free(void *p)
{
    free(p);
}

/* Keeps recording number `which` under a name; 0, or 1 and a sentence on stderr. */
EXPORT("core_open") int core_open(int which, const char *name, const void *bytes, size_t size)
{
    struct err err = {{0}};
    if (which < 0 || which >= FILES)
        return 1;
    int code = recording_parse(bytes, size, name, &held[which].recording, &err);
    if (code) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    held[which].name = strdup(name);
    return 0;
}

void __wrap_recording_free(struct recording *r);

/* In place of store/file.c. */
int recording_read(const char *path, struct recording **out, struct err *err)
{
    for (int i = 0; i < FILES; i++)
        if (held[i].recording && strcmp(held[i].name, path) == 0) {
            *out = held[i].recording;
            return 0;
        }
    return err_set(err, -ENOENT, "%s is not in this page", path);
}

void __wrap_recording_free(struct recording *r)
{
    (void)r; /* kept for the next command */
}

/* Runs a command: its words, each ended by a NUL. The exit status. */
EXPORT("core_run") int core_run(char *words, size_t size)
{
    static const struct {
        const char *name;
        int (*main)(int argc, char **argv);
    } commands[] = {{"report", cmd_report}, {"leaks", cmd_leaks},       {"diff", cmd_diff},
                    {"growth", cmd_growth}, {"findings", cmd_findings}, {"marks", cmd_marks},
                    {"maps", cmd_maps},     {"threads", cmd_threads},   {"peaks", cmd_peaks},
                    {"tree", cmd_tree}};
    char *arguments[ARGUMENTS + 1];
    int count = 0;
    for (size_t at = 0; at < size && count < ARGUMENTS; at += strlen(words + at) + 1)
        arguments[count++] = words + at;
    arguments[count] = NULL;
    for (size_t i = 0; count && i < sizeof commands / sizeof *commands; i++)
        if (strcmp(arguments[0], commands[i].name) == 0) {
            int status = commands[i].main(count, arguments);
            fflush(stdout);
            return status;
        }
    fprintf(stderr, "no such command in a page\n");
    return 2;
}

/* Text is not shown in a terminal. */
struct style style_of(int fd)
{
    (void)fd;
    return (struct style){.width = STYLE_WIDTH, .utf8 = true};
}
