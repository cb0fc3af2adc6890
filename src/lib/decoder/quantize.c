/* Writes a GGUF file with other types of tensors. Norms and biases become f32. A matrix whose rows are no multiple of the
 * type's blocks gets the next type that fits. The tables of tokens, which most affect the result, get at least 6 bits. MXFP4 is
 * only for the matrices of experts. */
#include "lib/decoder/quantize.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/decoder/lora.h"

#include <stdio.h>
#include <string.h>

/* Types to choose from: the number of general.file_type, the type for rows that are no multiple of 256, and the type of the
 * tables of tokens. */
static const quantize_choice choices[] = {
    {GGUF_TYPE_F32, 0, GGUF_TYPE_F32, GGUF_TYPE_F32},
    {GGUF_TYPE_F16, 1, GGUF_TYPE_F16, GGUF_TYPE_F16},
    {GGUF_TYPE_BF16, 32, GGUF_TYPE_BF16, GGUF_TYPE_BF16},
    {GGUF_TYPE_Q8_0, 7, GGUF_TYPE_Q8_0, GGUF_TYPE_Q8_0},
    {GGUF_TYPE_Q4_0, 2, GGUF_TYPE_Q4_0, GGUF_TYPE_Q6_K},
    {GGUF_TYPE_Q4_1, 3, GGUF_TYPE_Q4_1, GGUF_TYPE_Q6_K},
    {GGUF_TYPE_Q5_0, 8, GGUF_TYPE_Q5_0, GGUF_TYPE_Q6_K},
    {GGUF_TYPE_Q5_1, 9, GGUF_TYPE_Q5_1, GGUF_TYPE_Q6_K},
    {GGUF_TYPE_Q4_K, 14, GGUF_TYPE_Q5_0, GGUF_TYPE_Q6_K},
    {GGUF_TYPE_Q5_K, 16, GGUF_TYPE_Q5_1, GGUF_TYPE_Q6_K},
    {GGUF_TYPE_Q6_K, 18, GGUF_TYPE_Q8_0, GGUF_TYPE_Q6_K},
    {GGUF_TYPE_Q2_K, 10, GGUF_TYPE_IQ4_NL, GGUF_TYPE_Q6_K},
    {GGUF_TYPE_Q3_K, 11, GGUF_TYPE_IQ4_NL, GGUF_TYPE_Q6_K},
    {GGUF_TYPE_IQ4_NL, 25, GGUF_TYPE_IQ4_NL, GGUF_TYPE_Q6_K},
    {GGUF_TYPE_IQ4_XS, 30, GGUF_TYPE_IQ4_NL, GGUF_TYPE_Q6_K},
    {GGUF_TYPE_MXFP4, 38, GGUF_TYPE_Q8_0, GGUF_TYPE_Q8_0},
};

enum { CHOICES = sizeof choices / sizeof *choices };

static const quantize_choice *choice_find(const char *name)
{
    const int type = gguf_type_find(name);
    for (int i = 0; i < CHOICES; i++)
        if (choices[i].type == type)
            return &choices[i];
    FAIL_NULL(
        IG_ERR_ARGUMENT,
        "quantize: the type '%.40s' cannot be written; choose f32, f16, bf16, q8_0, q4_0, q4_1, "
        "q5_0, q5_1, q2_k, q3_k, q4_k, q5_k, q6_k, iq4_nl, iq4_xs or mxfp4",
        name);
}

static bool fits(int type, const gguf_tensor *t)
{
    return t->shape[t->ndim - 1] % gguf_type_of((uint64_t)type)->elements == 0;
}

int quantize_type(const quantize_choice *c, const gguf_tensor *t)
{
    const char *name = t->name.at;
    const size_t n = t->name.bytes;
    const bool is_weight = n > 7 && strcmp(name + n - 7, ".weight") == 0;
    if (t->ndim < 2 || !is_weight || strstr(name, "ffn_gate_inp") || strstr(name, "position_embd"))
        return GGUF_TYPE_F32;
    const bool is_table =
        strcmp(name, "token_embd.weight") == 0 || strcmp(name, "output.weight") == 0;
    const bool is_other = c->type == GGUF_TYPE_MXFP4 && t->ndim < 3; /* not of experts */
    const int first = is_table ? c->table : is_other ? c->narrow : c->type;
    const int next = is_table && first != c->type ? GGUF_TYPE_Q8_0 : c->narrow;
    return fits(first, t) ? first : fits(next, t) ? next : GGUF_TYPE_F16;
}

/* Metadata that describes the types; all other keys are copied. */
static bool is_rewritten(ig_text key)
{
    static const char *const names[] = {"general.file_type", "general.quantization_version",
                                        "general.alignment"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == key.bytes && memcmp(names[i], key.at, key.bytes) == 0)
            return true;
    return false;
}

ig_status quantize_write(gguf_writer *w, ig_array *x, int type)
{
    const gguf_type *row = gguf_type_of((uint64_t)type);
    ig_array *wide = x ? ig_astype(x, IG_F32) : NULL;
    const ig_dtype dtype = row->elements == 1 ? ig_dtype_parse(row->format) : IG_DTYPE_NONE;
    ig_array *y = !wide ? NULL
                  : dtype != IG_DTYPE_NONE
                      ? ig_astype(wide, dtype)
                      : ig_packed_bytes(ig_quantize(
                            ig_from_data(ig_data(wide), ig_shape(wide), IG_F32), row->format, 0));
    const void *data = y ? ig_data(y) : NULL;
    if (!data)
        return error_waiting(IG_ERR_MEMORY);
    return gguf_write_data(w, data, (size_t)ig_size(y) * ig_dtype_bytes(ig_dtype_of(y)));
}

/* adapted: a decoder with adapters; NULL: none. */
static ig_status tensor_write(gguf_writer *w, gguf *g, const gguf_tensor *t, int type,
                              decoder *adapted)
{
    ig_array *old = type != t->type || adapted ? gguf_array(g, t) : NULL;
    ig_array *x = old && adapted ? lora_merged_tensor(adapted, t->name.at, old) : old;
    if (type == t->type && x == old && !ig_failed()) /* the same bytes */
        return gguf_write_data(w, t->data, t->bytes);
    if (x && !ig_isdtype(ig_dtype_of(x), "real floating"))
        return gguf_fail(g, IG_ERR_UNSUPPORTED, "tensor '%s' is not of floats", t->name.at);
    return quantize_write(w, x, type);
}

static ig_status file_write(gguf *g, const quantize_choice *c, decoder *adapted, const char *to)
{
    const gguf_value *values;
    const gguf_tensor *tensors;
    const int n_values = gguf_values(g, &values), n = gguf_tensors(g, &tensors);
    gguf_writer *w = gguf_write_new();
    if (!w)
        return IG_ERR_MEMORY;
    for (int i = 0; i < n_values; i++)
        if (!is_rewritten(values[i].key))
            gguf_write_value(w, &values[i]);
    gguf_write_int(w, "general.file_type", GGUF_U32, c->file_type);
    gguf_write_int(w, "general.quantization_version", GGUF_U32, 2);
    for (int i = 0; i < n; i++)
        gguf_write_tensor(w, tensors[i].name.at, quantize_type(c, &tensors[i]), tensors[i].shape,
                          tensors[i].ndim);
    ig_status status = gguf_write_begin(w, to);
    for (int i = 0; i < n && status == IG_OK; i++) {
        status = ig_scope_begin();
        if (status != IG_OK)
            break;
        status = tensor_write(w, g, &tensors[i], quantize_type(c, &tensors[i]), adapted);
        ig_scope_end();
    }
    return gguf_write_end(w, status);
}

ig_status decoder_quantize(const char *from, const char *adapters, const char *type, const char *to)
{
    const quantize_choice *c = choice_find(type);
    if (c && is_folder(from))
        return decoder_convert(from, adapters, c, to);
    decoder *d = c && adapters ? decoder_open_adapted(from, adapters) : NULL;
    gguf *g = c && (d || !adapters) ? gguf_open(from) : NULL;
    const ig_status status = g ? file_write(g, c, d, to) : error_waiting(IG_ERR_FILE);
    gguf_close(g);
    decoder_close(d);
    return status;
}
