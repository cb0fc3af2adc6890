/* A table of cores: which file emits which kind of program. */
#include "engine/emit/emit.h"

#include "base/error.h"
#include "engine/emit/tiles.h"

typedef ig_status (*emit_core)(const program *p, const emit_target *t, emitted *out);

static ig_status emit_as_it_is(const program *p, const emit_target *t, emitted *out)
{
    static const emit_core cores[] = {
        [PROGRAM_MAP] = emit_map,          [PROGRAM_REDUCE] = emit_reduce,
        [PROGRAM_ARGREDUCE] = emit_reduce, [PROGRAM_CONTRACT] = emit_contract,
        [PROGRAM_SCAN] = emit_scan,        [PROGRAM_SORT] = emit_sort,
        [PROGRAM_ARGSORT] = emit_sort,     [PROGRAM_SEARCH] = emit_search,
        [PROGRAM_WRITE] = emit_write,
    };
    if (p->chain <= 1)
        return cores[p->kind](p, t, out);
    return p->kind == PROGRAM_CONTRACT ? emit_contract_chain(p, p->chain, t, out)
                                       : emit_rows(p, p->chain, t, out);
}

/* True if a program reads blocks: their bytes cannot be cut where elements are. */
static bool reads_blocks(const program *p, int n)
{
    for (int k = 0; k < n; k++) {
        const tape *tapes[2] = {&p[k].pre, &p[k].post};
        for (int i = 0; i < program_kinds[p[k].kind].core_inputs; i++)
            if (!storage_is_plain(p[k].in[i].stored))
                return true;
        for (int j = 0; j < 2; j++)
            for (int i = 0; i < tapes[j]->n_operand; i++)
                if (!storage_is_plain(tapes[j]->operand[i].stored))
                    return true;
    }
    return false;
}

ig_status emit_program(const program *p, const emit_target *t, emitted *out)
{
    const int n = p->chain > 1 ? p->chain : 1;
    *out = (emitted){0};
    if (emit_has_large(p, n, t) && reads_blocks(p, n))
        return emit_too_large(t);
    const ig_status status = emit_has_large(p, n, t) ? emit_tiles(p, n, t, emit_as_it_is, out)
                                                     : emit_as_it_is(p, t, out);
    if (status != IG_OK)
        emitted_free(out);
    return status;
}
