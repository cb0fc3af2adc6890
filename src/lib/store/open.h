/* Functions that open the other kinds of stores. Each returns NULL on failure. */
#ifndef STORE_OPEN_H
#define STORE_OPEN_H

#include "ingot/store.h"

#endif
