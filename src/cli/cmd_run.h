/* tidemark run: record a program. */
#ifndef TIDE_CLI_CMD_RUN_H
#define TIDE_CLI_CMD_RUN_H

/* argv[0] is the command's own name; returns the exit status. */
int cmd_run(int argc, char **argv);

#endif
