/* Functions that ig_shutdown calls before devices close: they release arrays that are kept for the whole process. */
#ifndef ARRAY_SHUTDOWN_H
#define ARRAY_SHUTDOWN_H

/* Adds a function, which ig_shutdown calls each time; one that is there is not added again. */
void shutdown_add(void (*release)(void));
void shutdown_run(void);

#endif
