#include "report/compare.h"
void page_make(str *t, const comparison *c, const char *command)
{
    (void)c;
    str_puts(t, command);
}
