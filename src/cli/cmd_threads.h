/* tidemark threads FILE */
#ifndef TIDE_CLI_CMD_THREADS_H
#define TIDE_CLI_CMD_THREADS_H

int cmd_threads(int argc, char **argv);

#endif
