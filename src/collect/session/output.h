/*
 * output: writes a recording to a file with a name pattern, or to the standard input of a command.
 *
 *   %n program    %h host                            %q{VAR} environment variable
 *   %p pid        %t start time, YYYYmmdd-HHMMSS     %%      a percent sign
 *
 * The file is written under a temporary name in the same folder and then renamed, so a failed write
 * never destroys an older file. Only its owner can read it. Links and files that another user may
 * have put there are neither followed nor overwritten. The default of -o is in
 * cli/record_options.h.
 */
#ifndef TIDE_COLLECT_SESSION_OUTPUT_H
#define TIDE_COLLECT_SESSION_OUTPUT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strbuf.h"

/* The name for a pattern; NULL and a sentence if the pattern is wrong. The caller frees it. */
char *output_name(const char *pattern, const char *program, pid_t pid, struct err *err);
/* Is it a file? Commands and devices such as /dev/null or /dev/stdout are not: they are written to
 * only once. */
bool output_is_file(const char *name);
/* Can a file be created with this name? Returns 0, or a negative errno; always 0 for names that are
 * no files. Call it before the program starts. */
int output_check(const char *name, struct err *err);
/* Writes the bytes to a file of that name, and nowhere else. Returns 0, or a negative errno. */
int output_write_file(const char *name, const struct strbuf *bytes);
/* Removes the temporary file of a process that was killed in output_write_file. */
void output_discard(const char *name, pid_t writer);
/* Writes the bytes. If that fails, tries the temporary directory; *name then says where the file
 * is, or is NULL. What a command did not take is saved only if `is_last`: a program that passes a
 * snapshot to a command at each event would fill the directory. */
int output_write(char **name, const struct strbuf *bytes, bool is_last, struct err *err);

#endif
