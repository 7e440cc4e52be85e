/* tidemark: the table of commands. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd_complete.h"
#include "cli/commands.h"
#include "cli/copies.h"

#ifndef TIDEMARK_VERSION
#define TIDEMARK_VERSION "unknown"
#endif

static const struct command {
    const char *name;
    int (*main)(int argc, char **argv);
    const char *summary; /* NULL: for ourselves, not for users */
} commands[] = {
    {"run", cmd_run, "record a program: every allocation with its whole stack"},
    {"report", cmd_report, "what a recording holds, by function, line, stack, library or thread"},
    {"leaks", cmd_leaks, "what was never freed, and whether anything still points to it"},
    {"diff", cmd_diff, "what one recording has more or less than another, matched by names"},
    {"findings", cmd_findings, "the short list: what is worth fixing, and how"},
    {"flame", cmd_flame, "stacks as a flame graph (SVG), or as folded text"},
    {"annotate", cmd_annotate, "the lines of a function, and its instructions, with their share"},
    {"marks", cmd_marks, "moments with a name, and what the process had then"},
    {"growth", cmd_growth, "growth from mark to mark, its confidence, and what kind it is"},
    {"maps", cmd_maps, "what the process had mapped, by kind, library or mapping"},
    {"threads", cmd_threads, "what each thread had, over time"},
    {"peaks", cmd_peaks, "numbered peaks of threads and process, with what made them"},
    {"tree", cmd_tree, "the calls that led to a peak, or in a window, with what each did"},
    {"compare", cmd_compare, "one run alone against several at once: what gets slower"},
    {"ctl", cmd_ctl, "to a running recording: status, mark, snapshot, leaks, pause"},
    {"doctor", cmd_doctor, "what this machine permits, and what follows from it"},
    {COPIES_COMMAND, cmd_copies, NULL},
    {COMPLETE_COMMAND, cmd_complete, NULL},
};

static void print_help(FILE *out)
{
    fputs("usage: tidemark COMMAND [OPTIONS] ...\n\n"
          "A memory profiler for large programs. Commands:\n\n",
          out);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i].summary)
            fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\nExamples:\n\n"
          "  tidemark run ./app input.dat            record; writes tidemark.app.PID.tide\n"
          "  tidemark findings FILE                  what is worth fixing, if anything\n"
          "  tidemark report FILE                    who holds memory at the end\n"
          "  tidemark report FILE --metric peak      who held it when it was most\n"
          "  tidemark leaks FILE                     what was never freed, and is lost\n\n"
          "'tidemark COMMAND --help' tells more, and so do the manual pages: man tidemark.\n",
          out);
}

/*
 * Were 0, 1 or 2 closed, our files and sockets would get these numbers, and what is meant for
 * stdout or stderr would be written into them. Close-on-exec: the program finds them closed.
 */
static void occupy_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", O_RDWR | O_CLOEXEC);
}

int main(int argc, char **argv)
{
    occupy_standard_streams();
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("tidemark " TIDEMARK_VERSION);
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return 0;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].main(argc - 1, argv + 1);
    fprintf(stderr, "tidemark: unknown command '%s'; 'tidemark --help' lists them\n", argv[1]);
    return 2;
}
