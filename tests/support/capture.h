/* Calls a verb of the command from a test: its exit code and its output. */
#ifndef SUPPORT_CAPTURE_H
#define SUPPORT_CAPTURE_H

/* Calls verb with the words of line, the first of which is the verb's name. Returns its exit code. *said receives its
 * standard output and standard error: release with free. */
int capture_verb(int (*verb)(int argc, char **argv), const char *line, char **said);

#endif
