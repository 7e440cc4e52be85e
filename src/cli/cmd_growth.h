/*
 * cmd_growth: the command `tidemark growth`. argv[0] is the command's own name; returns the exit
 * status.
 */
#ifndef TIDE_CLI_CMD_GROWTH_H
#define TIDE_CLI_CMD_GROWTH_H

int cmd_growth(int argc, char **argv);

#endif
