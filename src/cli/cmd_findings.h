/* tidemark findings FILE */
#ifndef TIDE_CLI_CMD_FINDINGS_H
#define TIDE_CLI_CMD_FINDINGS_H

int cmd_findings(int argc, char **argv);

#endif
