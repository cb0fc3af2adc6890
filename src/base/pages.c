/* Huge pages; see pages.h. */
#include "base/pages.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

void *pages_get(size_t bytes)
{
    const size_t whole = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    void *block = whole < bytes ? NULL : aligned_alloc(HUGE_PAGE, whole);
#ifdef MADV_HUGEPAGE
    if (block)
        madvise(block, whole, MADV_HUGEPAGE); /* a hint */
#endif
    return block;
}

void pages_free(void *block) { free(block); }
