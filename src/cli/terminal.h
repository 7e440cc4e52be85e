/*
 * terminal: what the terminal or file can show to which output goes.
 */
#ifndef TIDE_CLI_TERMINAL_H
#define TIDE_CLI_TERMINAL_H

#include "answer/style.h"

/* For a file descriptor: UTF-8 on terminals if the locale says so; the terminal's width, or
 * COLUMNS, or STYLE_WIDTH; colour on terminals without NO_COLOR. */
struct style style_of_stdout(void);

#endif
