/*
 * script: the scripts of this folder as strings that are compiled into the tool (scripts/embed.py).
 */
#ifndef TIDE_EXPORT_SCRIPT_H
#define TIDE_EXPORT_SCRIPT_H

#include <stddef.h>

extern const char flame_script[], plot_script[];
extern const size_t flame_script_size, plot_script_size;

#endif
