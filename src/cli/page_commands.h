/*
 * page_commands: the commands that a page may run on its recordings, inside the page or by its
 * server.
 */
#ifndef TIDE_CLI_PAGE_COMMANDS_H
#define TIDE_CLI_PAGE_COMMANDS_H

#include <stddef.h>

/* Runs a command, given as words that each end with a NUL, including the last. Returns the exit
 * status. */
int page_command(char *words, size_t size);

/* Computes what questions about a held recording have in common, before any is asked. */
void page_prepare(const char *name);

#endif
