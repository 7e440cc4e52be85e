/*
 * merge_list: `tidemark merge --list FILE`: the recordings that a merge was made from. Only this
 * part of the command is compiled into the page.
 */
#ifndef TIDE_CLI_MERGE_LIST_H
#define TIDE_CLI_MERGE_LIST_H

#include "cli/query_options.h"

/* Prints the table; returns the exit status. */
int merge_list(const char *file, enum output output);
/* The command for the page: --list FILE, and --json or --csv. */
int merge_list_command(int argc, char **argv);

#endif
