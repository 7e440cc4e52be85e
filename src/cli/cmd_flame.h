/* tidemark flame FILE */
#ifndef TIDE_CLI_CMD_FLAME_H
#define TIDE_CLI_CMD_FLAME_H

int cmd_flame(int argc, char **argv);

#endif
