/* The text of a native kernel: the prelude, the functions that it uses, and the function that runs a block. */
#include "compiler/native/writer.h"

#include "base/embed.h"
#include "base/error.h"
#include "base/memory.h"

#include <string.h>

INCLUDE_FILE("native_prelude_text", "src/compiler/native/prelude.h");
INCLUDE_FILE("native_block_text", "src/compiler/native/block.h");
extern const char native_prelude_text[], native_block_text[];

enum { TEXT_MOST = 600 << 10 /* bytes: a compiler takes about 15 s */ };

static void write_block(writer *w)
{
    SAY(w, "int %s(native_block *b)\n{\nu32 fuel = 1u << 16;\n(void)fuel;\n", NATIVE_ENTRY);
    write_block_registers(w);
    w->mode = MODE_BLOCK;
    w->region = REGION_NONE;
    write_list(w, 0, w->p->kernel);
    write_list(w, w->p->kernel + 1, w->p->end[w->p->kernel]);
    SAY(w, "end:\nreturn NATIVE_DONE;\n}\n");
}

static void write_head(const writer *w, text *t)
{
    text_add(t, "%s", native_block_text);
    text_add(t, "#define W %d\n#define IOTA ", w->p->width);
    for (int i = 0; i < w->p->width; i++)
        text_add(t, "%s%d", i ? ", " : "", i);
    text_add(t, "\n%s", native_prelude_text);
    write_index_functions(w, t);
}

ig_status native_print(const lane_code *c, const uint32_t block[3], int width, native_text *out,
                       const char **why)
{
    native_plan plan;
    text all = {0};
    *out = (native_text){0};
    *why = NULL;
    ig_status status = plan_make(&plan, c, block, width, why);
    writer w = {.p = &plan, .c = c, .out = out};
    if (status == IG_OK) {
        w.label = memory_new(2 * ((size_t)c->n_inst + 1) * sizeof *w.label);
        w.again = w.label ? w.label + c->n_inst + 1 : NULL;
        status = w.label ? IG_OK : IG_ERR_MEMORY;
    }
    if (status == IG_OK) {
        write_block(&w);
        char *body = text_take(&w.t);
        write_head(&w, &all);
        text_add(&all, "%s", body ? body : "");
        out->text = text_take(&all);
        out->frame_bytes = plan.frame_bytes;
        if (!body || !out->text || w.failed)
            status = IG_ERR_MEMORY;
        else if (strlen(body) > TEXT_MOST) {
            *why = "its text is too long";
            status = IG_ERR_UNSUPPORTED;
        }
        memory_free(body);
    }
    memory_free(w.label);
    plan_free(&plan);
    if (status != IG_OK)
        native_text_free(out);
    return status;
}

void native_text_free(native_text *t)
{
    memory_free(t->text);
    memory_free(t->call);
    *t = (native_text){0};
}
