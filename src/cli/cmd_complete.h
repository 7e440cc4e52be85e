/* complete: what a shell may put in place of the word that is being typed. For the scripts in
 * packaging/completions. */
#ifndef TIDE_CLI_CMD_COMPLETE_H
#define TIDE_CLI_CMD_COMPLETE_H

#define COMPLETE_COMMAND "__complete"

int cmd_complete(int argc, char **argv);

#endif
