/* tidemark tree FILE */
#ifndef TIDE_CLI_CMD_TREE_H
#define TIDE_CLI_CMD_TREE_H

int cmd_tree(int argc, char **argv);

#endif
