/* cmd_ctl: the command `tidemark ctl`. argv[0] is the command's own name; returns the exit status.
 */
#ifndef TIDE_CLI_CMD_CTL_H
#define TIDE_CLI_CMD_CTL_H

int cmd_ctl(int argc, char **argv);

#endif
