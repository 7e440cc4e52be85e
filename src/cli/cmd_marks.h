/*
 * cmd_marks: the command `tidemark marks`. argv[0] is the command's own name; returns the exit
 * status.
 */
#ifndef TIDE_CLI_CMD_MARKS_H
#define TIDE_CLI_CMD_MARKS_H

int cmd_marks(int argc, char **argv);

#endif
