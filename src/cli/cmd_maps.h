/*
 * cmd_maps: the command `tidemark maps`. argv[0] is the command's own name; returns the exit
 * status.
 */
#ifndef TIDE_CLI_CMD_MAPS_H
#define TIDE_CLI_CMD_MAPS_H

int cmd_maps(int argc, char **argv);

#endif
