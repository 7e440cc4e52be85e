/*
 * cmd_report: the command `tidemark report`. argv[0] is the command's own name; returns the exit
 * status.
 */
#ifndef TIDE_CLI_CMD_REPORT_H
#define TIDE_CLI_CMD_REPORT_H

int cmd_report(int argc, char **argv);

#endif
