/* tidemark compare --copies N -- PROGRAM: one run alone against N at once. */
#ifndef TIDE_CLI_CMD_COMPARE_H
#define TIDE_CLI_CMD_COMPARE_H

int cmd_compare(int argc, char **argv);

#endif
