/* Attention by large tiles, on devices with enough shared memory: contract_attend.c.
 *
 * Its sums have the order of the programs alone. Points of k of a score are added in order. Keys are added in order too,
 * and with target->same in the CPU's blocks. The fold of the exponentials is that of rows.c. The largest score does not depend
 * on the order. */
#ifndef EMIT_CONTRACT_ATTEND_H
#define EMIT_CONTRACT_ATTEND_H

#include "kernel/emit/contract.h"

/* Sets *done to whether it emitted the chain of n programs. If not, contract_chain.c does. */
ig_status emit_contract_attend(const program *p, int n, const emit_target *t, emitted *out,
                               bool *done);

#endif
