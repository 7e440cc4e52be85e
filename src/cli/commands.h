/*
 * commands: the commands of tidemark, one file each (cmd_NAME.c). argv[0] is the command's own
 * name; each returns the exit status.
 */
#ifndef TIDE_CLI_COMMANDS_H
#define TIDE_CLI_COMMANDS_H

#define COMPLETE_COMMAND "__complete"

int cmd_annotate(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_complete(int argc, char **argv); /* not for users: shells call it */
int cmd_ctl(int argc, char **argv);
int cmd_detach(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_findings(int argc, char **argv);
int cmd_flame(int argc, char **argv);
int cmd_growth(int argc, char **argv);
int cmd_history(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_leaks(int argc, char **argv);
int cmd_maps(int argc, char **argv);
int cmd_marks(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_peaks(int argc, char **argv);
int cmd_push(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_threads(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_tree(int argc, char **argv);
int cmd_view(int argc, char **argv);

#endif
