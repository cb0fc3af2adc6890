#include "support/printed.h"
#include "support/unit.h"

#include "base/memory.h"

kernel_tree *parsed(const char *source, const char *kernel)
{
    const kernel_parse_options options = {.instances = &kernel, .n_instances = 1};
    kernel_tree *tree;
    char *said;
    if (kernel_parse("k.cu", source, &options, &tree, &said) != IG_OK)
        fail_msg("%s", said);
    memory_free(said);
    return tree;
}

ig_status printed(const char *source, const kernel_target *target, kernel_printed **out)
{
    kernel_tree *tree = parsed(source, "k");
    const ig_status status = kernel_print(tree, kernel_tree_find(tree, "k"), target, out);
    kernel_tree_free(tree);
    return status;
}
