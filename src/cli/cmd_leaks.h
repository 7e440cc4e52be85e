/*
 * cmd_leaks: the command `tidemark leaks`. argv[0] is the command's own name; returns the exit
 * status.
 */
#ifndef TIDE_CLI_CMD_LEAKS_H
#define TIDE_CLI_CMD_LEAKS_H

int cmd_leaks(int argc, char **argv);

#endif
