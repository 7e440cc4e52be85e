#ifndef TIDE_CLI_CMD_VIEW_H
#define TIDE_CLI_CMD_VIEW_H

int cmd_view(int argc, char **argv);

#endif
