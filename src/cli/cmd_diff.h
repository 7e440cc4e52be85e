/* tidemark diff A B: the report of B minus A, matched by names. */
#ifndef TIDE_CLI_CMD_DIFF_H
#define TIDE_CLI_CMD_DIFF_H

int cmd_diff(int argc, char **argv);

#endif
