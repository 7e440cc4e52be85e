/* tidemark annotate FILE FUNCTION */
#ifndef TIDE_CLI_CMD_ANNOTATE_H
#define TIDE_CLI_CMD_ANNOTATE_H
int cmd_annotate(int argc, char **argv);
#endif
