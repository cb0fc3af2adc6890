/* Steps before the process ends, also where the command ends it without the steps of exit(). */
#ifndef BASE_LEAVE_H
#define BASE_LEAVE_H

/* Sets the function, which is called once, from any thread. */
void leave_with(void (*function)(void));
void leave(void);

#endif
