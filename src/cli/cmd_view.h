/*
 * cmd_view: the command `tidemark view`. argv[0] is the command's own name; returns the exit
 * status.
 */
#ifndef TIDE_CLI_CMD_VIEW_H
#define TIDE_CLI_CMD_VIEW_H

int cmd_view(int argc, char **argv);

#endif
