/* A part of a tape as a device function, for handwritten kernels: see emit_function. */
#include "engine/emit/writer.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

/* The instructions [first, end) after a TAPE_CORE that provides the input; stores are left out. */
static ig_status part_of(const tape *t, const emit_part *part, tape *out)
{
    const size_t n = (size_t)(part->end - part->first + 1);
    *out = (tape){.n_operand = t->n_operand,
                  .operand = t->operand,
                  .n_reg = t->n_reg,
                  .size = 1,
                  .result = part->result};
    out->inst = memory_get(n * sizeof *out->inst);
    if (!out->inst)
        return IG_ERR_MEMORY;
    out->inst[out->n_inst++] = (tape_inst){.code = TAPE_CORE,
                                           .dtype = (uint8_t)part->dtype,
                                           .operand = -1,
                                           .dst = (int16_t)part->value,
                                           .a = -1,
                                           .b = -1,
                                           .c = -1};
    for (int i = part->first; i < part->end; i++)
        if (t->inst[i].code != TAPE_STORE)
            out->inst[out->n_inst++] = t->inst[i];
    return IG_OK;
}

ig_status emit_function(const tape *t, const emit_part *part, const emit_target *target,
                        emitted *out)
{
    static const uint32_t one[3] = {1, 1, 1};
    tape own;
    emit_writer w;
    TRY(part_of(t, part, &own));
    ig_status status = writer_start(&w, target, out);
    if (status == IG_OK) {
        const emit_space s = {.t = &own, .axis = -1, .vector = 1, .core = "core"};
        text_add(&w.body, "static __device__ float epilogue(float core, const sizes g)\n{\n");
        emit_tape(&w, &s);
        const int p = writer_scratch(&w, "float", 0);
        text_add(&w.body,
                 "}\n\nextern \"C\" __global__ void epilogue_kernel(PARAMS)\n{\n"
                 "    p%d[0] = epilogue(p%d[0], g);\n}\n",
                 p, p);
        writer_number(&w, 0); /* so that the struct is not empty */
        status = writer_finish(&w, "epilogue_kernel", one, one, 0);
    }
    memory_free(own.inst);
    return status;
}
