/* tidemark peaks FILE */
#ifndef TIDE_CLI_CMD_PEAKS_H
#define TIDE_CLI_CMD_PEAKS_H

int cmd_peaks(int argc, char **argv);

#endif
