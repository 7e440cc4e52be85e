#include "cli/page_commands.h"

#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/merge_list.h"
#include "model/answer.h"
#include "store/held_recordings.h"

#define ARGUMENTS 256

int page_command(char *words, size_t size)
{
    static const struct {
        const char *name;
        int (*main)(int argc, char **argv);
    } commands[] = {
        {"report", cmd_report}, {"leaks", cmd_leaks},       {"diff", cmd_diff},
        {"growth", cmd_growth}, {"findings", cmd_findings}, {"marks", cmd_marks},
        {"maps", cmd_maps},     {"threads", cmd_threads},   {"peaks", cmd_peaks},
        {"tree", cmd_tree},     {"flame", cmd_flame},       {"merge", merge_list_command}};
    char *arguments[ARGUMENTS + 1];
    int count = 0;
    for (size_t at = 0; at < size; at += strlen(words + at) + 1) {
        if (count == ARGUMENTS) {
            fprintf(stderr, "a page may ask with at most %d words\n", ARGUMENTS);
            return 2;
        }
        arguments[count++] = words + at;
    }
    arguments[count] = NULL;
    for (size_t i = 0; count && i < sizeof commands / sizeof *commands; i++)
        if (strcmp(arguments[0], commands[i].name) == 0) {
            int status = commands[i].main(count, arguments);
            fflush(stdout);
            return status;
        }
    fprintf(stderr, "a page has no command '%s'\n", count ? arguments[0] : "");
    return 2;
}

void page_prepare(const char *name)
{
    const struct recording *r = recording_held(name);
    if (r)
        answer_prepare(r);
}
