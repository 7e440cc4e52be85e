/*
 * script: the texts that are compiled into the tool from the files beside this one
 * (scripts/embed.py).
 */
#ifndef TIDE_EXPORT_SCRIPT_H
#define TIDE_EXPORT_SCRIPT_H

#include <stddef.h>

extern const char flame_script[], plot_script[];
extern const size_t flame_script_size, plot_script_size;

#endif
