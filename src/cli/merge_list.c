#include "cli/merge_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "answer/merge.h"
#include "cli/command.h"
#include "store/merge.h"
#include "store/reader.h"

int merge_list(const char *file, enum output output)
{
    struct recording *r = NULL;
    struct err err = {{0}};
    int code = recording_read(file, &r, &err);
    if (!code && !r->profiles.items[0].merge)
        code = err_set(&err, -ENODATA, "%s is one recording, not a merge", file);
    if (code) {
        recording_free(r);
        return command_fail("merge", &err, 1);
    }
    const struct query_command command = {.name = "merge"};
    const struct query_options o = {.command = &command, .output = output};
    struct document d = merge_inputs_document(&r->profiles.items[0]);
    int status = command_write(&o, &d);
    recording_free(r);
    return status;
}

int merge_list_command(int argc, char **argv)
{
    bool json = argc == 4 && strcmp(argv[3], "--json") == 0;
    bool csv = argc == 4 && strcmp(argv[3], "--csv") == 0;
    if (argc < 3 || strcmp(argv[1], "--list") != 0 || (argc > 3 && !json && !csv)) {
        fputs("tidemark merge: a page has only --list FILE, with --json or --csv\n", stderr);
        return 2;
    }
    return merge_list(argv[2], json ? OUTPUT_JSON : csv ? OUTPUT_CSV : OUTPUT_TEXT);
}
