/* Contractions whose in[0] a device may round to 8 bits, in groups with a scale, if in[1] has blocks. */
#ifndef ARRAY_ROUNDED_H
#define ARRAY_ROUNDED_H

/* node_attr.fold of such a contraction; of others it is 0. */
enum { CONTRACT_ROUNDS = 1 };

#endif
