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

ig_status emit_program(const program *p, const emit_target *t, emitted *out)
{
    const int n = p->chain > 1 ? p->chain : 1;
    *out = (emitted){0};
    const ig_status status = emit_has_large(p, n, t) ? emit_tiles(p, n, t, emit_as_it_is, out)
                                                     : emit_as_it_is(p, t, out);
    if (status != IG_OK)
        emitted_free(out);
    return status;
}
