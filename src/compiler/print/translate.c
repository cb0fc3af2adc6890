/* ig_translate: from a CUDA C file to the texts of its kernels. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "compiler/print/join.h"
#include "ingot/kernel.h"

static char *text_or_null(const char *s) { return s && *s ? memory_text(s) : NULL; }

/* Translates one kernel; a refusal becomes part of the answer. */
static ig_status translate_one(const kernel_tree *tree, const kernel_entry *entry,
                               const kernel_target *target, bool single, print_joined *all,
                               ig_translation *out)
{
    kernel_printed *printed = NULL;
    out->kernel = memory_text(entry->name);
    const ig_status status = kernel_print(tree, entry, target, &printed);
    if (status == IG_ERR_MEMORY || status == IG_ERR_INTERNAL)
        return status;
    if (status != IG_OK) {
        out->said = text_or_null(ig_error(NULL));
        return IG_OK;
    }
    const ig_status joined = print_join(all, printed, single ? NULL : entry->name, NULL);
    out->entry = memory_text(printed->entry);
    out->text = printed->text;
    out->said = printed->warnings;
    printed->text = printed->warnings = NULL;
    kernel_printed_free(printed);
    return out->entry && out->kernel ? joined : IG_ERR_MEMORY;
}

static bool is_asked(const ig_translate_options *o, const kernel_tree *tree, const kernel_entry *e)
{
    if (!o->kernel)
        return true;
    const kernel_entry *found = kernel_tree_find(tree, o->kernel);
    return found ? found == e : kernel_entry_is(e, o->kernel);
}

static ig_status none_found(const kernel_tree *tree, const char *name,
                            const ig_translate_options *o)
{
    const char *example = "give them their arguments, such as --kernel 'tile<float, 16>'";
    if (!o->kernel && tree->templates)
        FAIL(IG_ERR_ARGUMENT, "%s has only templates of kernels: %s; %s", name, tree->templates,
             example);
    if (!o->kernel)
        FAIL(IG_ERR_ARGUMENT, "%s has no kernel: no function is marked __global__", name);
    if (tree->templates)
        FAIL(IG_ERR_ARGUMENT, "%s has no kernel '%s'; its templates are %s; %s", name, o->kernel,
             tree->templates, example);
    FAIL(IG_ERR_ARGUMENT, "%s has no kernel '%s'", name, o->kernel);
}

static ig_status translate_all(const char *name, const kernel_tree *tree,
                               const kernel_target *target, const ig_translate_options *o,
                               ig_translations *out)
{
    int n = 0;
    for (const kernel_entry *e = tree->kernels; e; e = e->next)
        n += is_asked(o, tree, e);
    if (!n)
        return none_found(tree, name, o);
    out->at = memory_new((size_t)n * sizeof *out->at);
    if (!out->at)
        return IG_ERR_MEMORY;
    print_joined all = {0};
    ig_status status = IG_OK;
    for (const kernel_entry *e = tree->kernels; e && status == IG_OK; e = e->next)
        if (is_asked(o, tree, e))
            status = translate_one(tree, e, target, n == 1, &all, &out->at[out->n++]);
    out->text = print_joined_take(&all);
    return status;
}

ig_translations *ig_translate(const char *name, const char *source, const ig_translate_options *o)
{
    ig_translate_options own;
    if (require_pointer("translate", "source", source) != IG_OK ||
        require_pointer("translate", "options", o) != IG_OK ||
        sized_read(SIZED(ig_translate_options, colour), &own, o) != IG_OK)
        return NULL;
    o = &own;
    if (require_list("translate", "defines", o->defines, o->n_defines) != IG_OK ||
        require_list("translate", "folders", o->folders, o->n_folders) != IG_OK)
        return NULL;
    const kernel_target *target = o->to ? kernel_target_find(o->to) : NULL;
    if (!target)
        FAIL_NULL(IG_ERR_ARGUMENT,
                  "ig_translate: no language '%s'; there are opencl, metal and cuda",
                  o->to ? o->to : "");
    const kernel_parse_options options = {.preprocess = {.defines = o->defines,
                                                         .n_defines = o->n_defines,
                                                         .folders = o->folders,
                                                         .n_folders = o->n_folders},
                                          .skip_host = true,
                                          .use_launches = true,
                                          .instances = &o->kernel,
                                          .n_instances =
                                              o->kernel && strchr(o->kernel, '<') ? 1 : 0,
                                          .colour = o->colour};
    kernel_tree *tree = NULL;
    ig_translations *out = memory_new(sizeof *out);
    if (!out)
        return NULL;
    char *said = NULL;
    ig_status status = kernel_parse(name ? name : "kernel.cu", source, &options, &tree, &said);
    if (status == IG_OK) {
        out->said = said;
        status = translate_all(name, tree, target, o, out);
    } else {
        if (said) { /* all messages instead of the first line */
            ig_error(NULL);
            ig_fail(status, "%s", said);
        }
        memory_free(said);
    }
    kernel_tree_free(tree);
    if (status == IG_OK)
        return out;
    ig_translations_free(out);
    return NULL;
}

void ig_translations_free(ig_translations *t)
{
    if (!t)
        return;
    for (int i = 0; i < t->n; i++) {
        char *const texts[] = {t->at[i].kernel, t->at[i].entry, t->at[i].text, t->at[i].said};
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
            memory_free(texts[k]);
    }
    memory_free(t->at);
    memory_free(t->text);
    memory_free(t->said);
    memory_free(t);
}
