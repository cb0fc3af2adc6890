/* The files of data/digits, embedded in the command. */
#include "train/digits.h"

#include "base/packed.h"

#include "digits.inc"

static digits_file file_of(const char *name)
{
    digits_file f = {NULL, 0};
    f.bytes = packed_find(&digits, name, &f.n);
    return f;
}

digits_file digits_images(void) { return file_of("images.idx"); }

digits_file digits_labels(void) { return file_of("labels.idx"); }
