/* Asks a device about ops that evaluate when they are called. */
#ifndef ENGINE_EVAL_ASK_H
#define ENGINE_EVAL_ASK_H

/* From now on ig_can_eval of this thread asks that device, whatever the devices of the arrays are, and evaluations fail with the
 * reason if that device could not compute them. Nothing is compiled or computed there. NULL ends it. */
void engine_ask(const char *device);

#endif
