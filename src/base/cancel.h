/* Cancellation. ig_cancel raises a count. Work that can be cancelled remembers the count when it starts;
 * a different count means that it was cancelled since. So work that starts later is not affected, and
 * no flag has to be cleared. After ig_cancel_all each call of cancel_count gives another count.
 */
#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

#include <stdint.h>

uint32_t cancel_count(void);

#endif
