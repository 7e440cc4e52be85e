#ifndef TIDE_CLI_CMD_DOCTOR_H
#define TIDE_CLI_CMD_DOCTOR_H

int cmd_doctor(int argc, char **argv);

#endif
