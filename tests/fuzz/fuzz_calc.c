/* Fuzz target: any text through the calculator: lex, parse, build, evaluate, print.
 *
 * Files are switched off, memory and the size of arrays bounded: whatever the text says, it ends
 * soon and touches nothing but this process. Text longer than MOST is cut: it finds nothing that
 * shorter text does not. */
#include <stdint.h>
#include <string.h>

#include <ingot.h>

#include "cli/calc/calc.h"

enum { MOST = 2048 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char source[MOST + 1];
    size_t n = size < MOST ? size : MOST;
    if (n)
        memcpy(source, data, n);
    source[n] = 0; /* a zero byte in the data ends the text early, as in a C string */

    ig_set_threads(2);
    ig_set_memory_limit(64 << 20);
    const calc_options options = {.no_files = true, .size_most = 1 << 14, .grads_most = 5};
    calc *c = calc_new(&options);
    if (!calc_run(c, source)) {
        str described = {0};
        calc_describe(c, &described, NULL, false);
        str_free(&described);
    }
    calc_free(c);
    return 0;
}
