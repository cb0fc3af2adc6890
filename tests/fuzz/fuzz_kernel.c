/* The parser of CUDA C on any text: it ends, within its memory, and what it makes can be walked. A second
 * kernel is asked for by the text's last line, as a host would. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compiler/tree.h"
#include "support/kernel_dump.h"

enum { MOST = 16384 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char source[MOST + 1];
    const size_t n = size < MOST ? size : MOST;
    if (n)
        memcpy(source, data, n);
    source[n] = 0;

    const char *last = strrchr(source, '\n');
    const char *wanted[] = {last ? last + 1 : ""};
    const kernel_parse_options options = {.preprocess = {.no_disk = true},
                                          .skip_host = n && (source[0] & 1),
                                          .instances = wanted,
                                          .n_instances = last && last[1] && last[1] != '}',
                                          .cap_bytes = 64 << 20};
    kernel_tree *tree;
    char *said;
    if (kernel_parse("fuzz.cu", source, &options, &tree, &said) == IG_OK) {
        text out = {0};
        kernel_dump(tree, &out);
        memory_free(text_take(&out));
    }
    ig_error(NULL);
    memory_free(said);
    kernel_tree_free(tree);
    return 0;
}
