/*
 * page_commands: the commands that a page may run on its recordings, in the page or by its server.
 */
#ifndef TIDE_CLI_PAGE_COMMANDS_H
#define TIDE_CLI_PAGE_COMMANDS_H

#include <stddef.h>

/* Runs a command: its words, each ended by a NUL, the last too. Returns the exit status. */
int page_command(char *words, size_t size);

/* Makes what questions about a held recording have in common, before any is asked. */
void page_prepare(const char *name);

#endif
