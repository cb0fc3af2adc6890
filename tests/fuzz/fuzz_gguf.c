/* gguf_open_memory on any bytes: a file that is accepted is read whole, and a copy of it by our writer has the same keys and
 * tensors. A tokenizer in the file gives tokens within the text. */
#include <string.h>

#include "base/memory.h"
#include "lib/io/gguf.h"
#include "lib/text/tokenizer.h"
#include "support/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_values(const gguf *g, const gguf *copy)
{
    const gguf_value *a, *b;
    const int n = gguf_values(g, &a);
    scratch_check(gguf_values(copy, &b) == n, "the copy has other keys");
    for (int i = 0; i < n; i++) {
        scratch_check(a[i].kind == b[i].kind && a[i].n == b[i].n && a[i].bytes == b[i].bytes &&
                          memcmp(a[i].at, b[i].at, a[i].bytes) == 0,
                      "the copy has another value");
        for (uint64_t j = 0; a[i].kind == GGUF_LIST && a[i].item != GGUF_TEXT && j < a[i].n; j++)
            scratch_check(gguf_item_int(&a[i], j) == gguf_item_int(&b[i], j), "items differ");
    }
}

static void check_tensors(gguf *g, const gguf *copy)
{
    const gguf_tensor *a, *b;
    const int n = gguf_tensors(g, &a);
    scratch_check(gguf_tensors(copy, &b) == n, "the copy has other tensors");
    for (int i = 0; i < n; i++) {
        scratch_check(a[i].type == b[i].type && a[i].bytes == b[i].bytes &&
                          memcmp(a[i].data, b[i].data, a[i].bytes) == 0,
                      "the copy has another tensor");
        ig_array *x = gguf_array(g, &a[i]);
        if (x)
            scratch_check(ig_eval(&x, 1) == IG_OK, "a tensor cannot be read");
        else
            (void)scratch_error();
    }
}

static gguf *copied(const gguf *g, const char *path)
{
    const gguf_value *values;
    const gguf_tensor *tensors;
    const int n_values = gguf_values(g, &values), n = gguf_tensors(g, &tensors);
    gguf_writer *w = gguf_write_new();
    for (int i = 0; i < n_values; i++)
        gguf_write_value(w, &values[i]);
    for (int i = 0; i < n; i++)
        gguf_write_tensor(w, tensors[i].name.at, tensors[i].type, tensors[i].shape,
                          tensors[i].ndim);
    ig_status status = gguf_write_begin(w, path);
    for (int i = 0; i < n && status == IG_OK; i++)
        status = gguf_write_data(w, tensors[i].data, tensors[i].bytes);
    scratch_check(gguf_write_end(w, status) == IG_OK, "not saved");
    return gguf_open(path);
}

static void check_tokenizer(const gguf *g)
{
    static const char chars[] = "a ab<|x|>b \xc3\xa9\xff 123\n\n cab";
    const text_range data = {4, 6};
    const ig_text given = {chars, sizeof chars - 1};
    ig_tokenizer *t = tokenizer_read_gguf(g);
    ig_encoding *all[2] = {t ? ig_tokenizer_encode(t, &given, NULL, 1, NULL) : NULL,
                           t ? tokenizer_encode_marked(t, given, &data, 1) : NULL};
    for (int k = 0; k < 2; k++) {
        for (int i = 0; all[k] && i < all[k]->n; i++)
            scratch_check(all[k]->starts[i] >= 0 && all[k]->starts[i] <= all[k]->ends[i] &&
                              (size_t)all[k]->ends[i] <= given.bytes,
                          "a token is outside the text");
        ig_free(all[k]);
    }
    scratch_check((all[0] && all[1]) || ig_error(NULL), "a tokenizer failed without an error");
    ig_tokenizer_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct scratch out;
    if (!out.path[0])
        out = scratch_open();
    ig_scope_begin();
    gguf *g = gguf_open_memory(data, size, "memory");
    if (g && !gguf_find(g, "general.alignment")) {
        gguf *copy = copied(g, out.path);
        scratch_check(copy != NULL, "the copy is refused");
        check_values(g, copy);
        check_tensors(g, copy);
        gguf_close(copy);
    } else if (!g) {
        (void)scratch_error();
    }
    if (g)
        check_tokenizer(g);
    gguf_close(g);
    ig_scope_end();
    return 0;
}
