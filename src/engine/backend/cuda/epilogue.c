/* Epilogues of products as CUDA C: a function that precedes the text of a handwritten kernel.
 *
 * The emitter writes it with the expressions of ops.def, and the front end prints it with the functions that it calls.
 * So a value has the bits that an emitted kernel would compute from the rounded product. gelu is the exception: a
 * shorter function is accurate enough for halves (m_gelu_half). */
#include "engine/backend/cuda/epilogue.h"

#include "base/error.h"
#include "base/memory.h"
#include "compiler/print/print.h"

#include <string.h>

static ig_status print(const char *source, char **out)
{
    const kernel_parse_options options = {.preprocess = {.no_disk = true, .find = library_find}};
    kernel_target target = *kernel_target_find("cuda");
    kernel_tree *tree = NULL;
    kernel_printed *printed = NULL;
    target.f64 = true;
    ig_status status = kernel_parse("epilogue", source, &options, &tree, NULL);
    if (status == IG_OK)
        status = kernel_print(tree, kernel_tree_find(tree, "epilogue_kernel"), &target, &printed);
    if (status == IG_OK) {
        *out = printed->text;
        printed->text = NULL;
    }
    kernel_printed_free(printed);
    kernel_tree_free(tree);
    return status;
}

ig_status cuda_epilogue_make(const program *p, const product *c, const product_epilogue *e,
                             const bool *by_value, cuda_epilogue *out)
{
    const emit_target target = {
        .f64 = true, .extremes = true, .halves = dtype_is_half(c->out), .by_value = by_value};
    const emit_part part = {e->first, p->post.n_inst - 1, e->value, e->result, c->out};
    *out = (cuda_epilogue){0};
    ig_status status = emit_function(&p->post, &part, &target, &out->e);
    if (status == IG_OK)
        status = print(out->e.step[0].source, &out->text);
    if (status != IG_OK)
        cuda_epilogue_free(out);
    return status;
}

void cuda_epilogue_read(const cuda_epilogue *e, const binding *bindings)
{
    const emit_step *step = &e->e.step[0];
    for (int i = 0; i < step->n_value; i++) {
        const emit_value *v = &step->value[i];
        const binding *b = &bindings[v->slot];
        memcpy(step->sizes + v->at, (const char *)b->buf->data + b->offset + v->offset, v->bytes);
    }
}

void cuda_epilogue_free(cuda_epilogue *e)
{
    emitted_free(&e->e);
    memory_free(e->text);
    *e = (cuda_epilogue){0};
}
