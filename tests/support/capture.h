/* A verb of the command, called from a test: its exit code and all that it says. */
#ifndef SUPPORT_CAPTURE_H
#define SUPPORT_CAPTURE_H

/* Calls verb with the words of line, the first of which is the verb's name. Returns its exit code; *said
 * is what it wrote to standard output and standard error: release with free. */
int capture_verb(int (*verb)(int argc, char **argv), const char *line, char **said);

#endif
