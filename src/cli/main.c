/* tidemark: the table of commands. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/compare_copies.h"
#include "cli/options.h"
#include "cli/version.h"

static const struct command {
    const char *name;
    int (*main)(int argc, char **argv);
    const char *summary; /* NULL: internal, not for users */
} commands[] = {
    {"run", cmd_run, "record a program: every allocation with its call stack"},
    {"attach", cmd_attach, "record a running program, without restarting it"},
    {"detach", cmd_detach, "end a recording that attach began; the program continues"},
    {"report", cmd_report, "who holds memory, by function, line, stack, library or thread"},
    {"leaks", cmd_leaks, "what was never freed, and whether anything still points to it"},
    {"diff", cmd_diff, "the difference between two recordings, matched by names"},
    {"findings", cmd_findings, "the short list: what is worth fixing, and how"},
    {"flame", cmd_flame, "stacks as a flame graph (SVG), or as folded text"},
    {"annotate", cmd_annotate, "source lines and instructions of a function, with their share"},
    {"marks", cmd_marks, "named moments, with the sizes of the process at each"},
    {"growth", cmd_growth, "whether the program grows, by how much, and why"},
    {"maps", cmd_maps, "mappings of the process, by kind, library or mapping"},
    {"threads", cmd_threads, "what each thread held, over time"},
    {"peaks", cmd_peaks, "numbered peaks of threads and process, with what made them"},
    {"tree", cmd_tree, "the calls that led to a peak, with what each allocated"},
    {"view", cmd_view, "a page for a browser with all of these answers"},
    {"export", cmd_export, "a recording for pprof, speedscope, heaptrack, SQL and other tools"},
    {"top", cmd_top, "who holds memory now in a running recording, live in the terminal"},
    {"push", cmd_push, "send a recording to Pyroscope, by its HTTP API"},
    {"import", cmd_import, "make a recording from a file of heaptrack, massif, pprof ..."},
    {"compare", cmd_compare, "one run compared with several at once: what gets slower"},
    {"merge", cmd_merge, "add up many recordings: the ranks of a job, a week of runs"},
    {"history", cmd_history, "totals of many runs over time, with limits for CI"},
    {"ctl", cmd_ctl, "control a running recording: status, mark, snapshot, leaks, pause"},
    {"doctor", cmd_doctor, "check what this machine permits, and say what to do"},
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
    fputs("\n"
          "Examples:\n"
          "\n"
          "  tidemark run ./app input.dat            record; writes tidemark.app.PID.tide\n"
          "  tidemark findings FILE                  what is worth fixing, if anything\n"
          "  tidemark report FILE                    who holds memory at the end\n"
          "  tidemark report FILE --metric peak      who held memory at the peak\n"
          "  tidemark leaks FILE                     what was never freed, and is lost\n"
          "\n"
          "'tidemark COMMAND --help' and the manual pages ('man tidemark') say more.\n",
          out);
}

/*
 * If 0, 1 or 2 were closed, our files and sockets would get these numbers, and output for stdout or
 * stderr would be written into them. They are opened close-on-exec, so that the program finds them
 * closed. A command that writes to a closed stdout fails, because its output is lost.
 */
static void occupy_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", (fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) | O_CLOEXEC);
}

static const struct command *command_named(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

static int say_unknown(const char *name)
{
    const char *near = NULL;
    size_t best = strlen(name) / 2; /* a larger distance is no misspelling */
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        size_t d = commands[i].summary ? options_distance(name, commands[i].name) : SIZE_MAX;
        if (d <= best) {
            best = d;
            near = commands[i].name;
        }
    }
    if (*name == '-')
        fprintf(stderr, "tidemark: '%s' comes before a command; it is tidemark COMMAND [OPTIONS]\n",
                name);
    else if (strchr(name, '/') && access(name, X_OK) == 0)
        fprintf(stderr, "tidemark: '%s' is no command; 'tidemark run %s' records it\n", name, name);
    else if (near)
        fprintf(stderr, "tidemark: unknown command '%s'; did you mean %s?\n", name, near);
    else
        fprintf(stderr, "tidemark: unknown command '%s'; 'tidemark --help' lists them\n", name);
    return 2;
}

/* "tidemark help", or "tidemark help COMMAND". */
static int help(const char *name)
{
    const struct command *c = name ? command_named(name) : NULL;
    if (c)
        return c->main(2, (char *[]){(char *)(uintptr_t)name, "--help", NULL});
    if (name)
        return say_unknown(name);
    print_help(stdout);
    return 0;
}

static int run_command(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--version") == 0) {
        version_print();
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help(NULL);
    if (strcmp(argv[1], "help") == 0)
        return help(argv[2]);
    const struct command *c = command_named(argv[1]);
    return c ? c->main(argc - 1, argv + 1) : say_unknown(argv[1]);
}

int main(int argc, char **argv)
{
    occupy_standard_streams();
    int status = run_command(argc, argv);
    if (status || (!fflush(stdout) && !ferror(stdout)))
        return status;
    perror("tidemark: cannot write the output");
    return 1;
}
