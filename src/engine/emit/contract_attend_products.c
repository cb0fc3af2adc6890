/* The two products of attention, as text: scores from queries and keys, and results from exponentials and values. See
 * contract_attend.c. */
#include "engine/emit/contract_attend.h"

void attend_zeros(emit_writer *w, const char *name)
{
    text_add(&w->body,
             "#pragma unroll\n    for (int i = 0; i < 4; i++)\n#pragma unroll\n"
             "        for (int j = 0; j < 8; j++)\n            %s[i][j] = 0;\n",
             name);
}

/* A loop over steps: each loads a panel into registers, does what the text up to write_steps_end says, and stores the panel.
 * The panels are of the keys [first, first + KEYS), by points; or of the tile's values, by keys. */
static void write_steps_begin(emit_writer *w, const attend_kernel *a, const char *first)
{
    const contraction *c = first ? &a->first : &a->last;
    if (first)
        text_add(&w->body, "    {\n    const idx n0_first = %s, n0_end = keys, k_end = points;\n",
                 first);
    else
        text_add(&w->body, "    {\n    const idx n1_first = 0, n1_end = cols, k_end = keys;\n");
    panel_rows(w, c, 1);
    text_add(&w->body, "    for (int buffer = 0; buffer < STEPS; buffer++) {\n"
                       "    const int k0 = buffer * 16;\n");
    panel_declare(w, c, panel_whole(c, 1));
    panel_load(w, c, panel_whole(c, 1), first ? "k0" : "first + k0", false);
}

static void write_steps_end(emit_writer *w, const contraction *c)
{
    panel_store(w, c, panel_whole(c, 1));
    text_add(&w->body, "    }\n    }\n");
}

void attend_queries(emit_writer *w, const attend_kernel *a)
{
    text_add(&w->body, "    {\n    const idx k_end = points;\n");
    panel_rows(w, &a->first, 0);
    text_add(&w->body, "    for (int buffer = 0; buffer < STEPS; buffer++) {\n"
                       "    const int k0 = buffer * 16;\n");
    panel_declare(w, &a->first, panel_whole(&a->first, 0));
    panel_load(w, &a->first, panel_whole(&a->first, 0), "k0", false);
    panel_store(w, &a->first, panel_whole(&a->first, 0));
    text_add(&w->body, "    }\n    }\n");
}

void attend_first_keys(emit_writer *w, const attend_kernel *a)
{
    text_add(&w->body, "    {\n    float *s_n0 = %s;\n",
             a->base ? "s_keys" : "tiles & 1 ? s_keys : s_e");
    write_steps_begin(w, a, a->base ? "0" : "(idx)(tiles - 1) * KEYS");
    write_steps_end(w, &a->first);
    text_add(&w->body, "    }\n    __syncthreads();\n");
}

/* Adds the products of point, or key, kk of a step to sums. */
static void write_product(emit_writer *w, int number, const char *sums, const char *x,
                          const char *y)
{
    text_add(&w->body,
             "        const float4 q = *(const float4 *)(%s);\n"
             "        const float x[4] = {q.x, q.y, q.z, q.w};\n        float y[8];\n"
             "#pragma unroll\n        for (int j = 0; j < 8; j += 4) {\n"
             "            const float4 q = *(const float4 *)(%s);\n"
             "            y[j] = q.x;\n            y[j + 1] = q.y;\n"
             "            y[j + 2] = q.z;\n            y[j + 3] = q.w;\n        }\n"
             "#pragma unroll\n        for (int i = 0; i < 4; i++)\n"
             "#pragma unroll\n            for (int j = 0; j < 8; j++)\n"
             "                %s[i][j] = multiply_add%d(x[i], y[j], %s[i][j]);\n    }\n",
             x, y, sums, number, sums);
}

void attend_scores(emit_writer *w, const attend_kernel *a, bool values)
{
    static const char *const x = "s_m0 + (k0 + kk) * (ROWS + 4) + ti",
                             *const y = "from_keys + (k0 + kk) * (KEYS + 4) + tj + j * 8";
    attend_zeros(w, "a");
    write_steps_begin(w, a, values ? NULL : "first - KEYS");
    text_add(&w->body, "    if (k0 + 16 <= points) {\n#pragma unroll\n"
                       "    for (int kk = 0; kk < 16; kk++) {\n");
    write_product(w, 0, "a", x, y);
    text_add(&w->body, "    } else {\n    for (int kk = 0; k0 + kk < points; kk++) {\n");
    write_product(w, 0, "a", x, y);
    text_add(&w->body, "    }\n");
    write_steps_end(w, values ? &a->last : &a->first);
}

/* Ends a block of keys: its sums are added to those of the blocks before. */
static void write_cut(emit_writer *w, int block)
{
    text_add(&w->body,
             "    if (first + k0 + at == cut) {\n"
             "#pragma unroll\n        for (int i = 0; i < 4; i++)\n"
             "#pragma unroll\n            for (int j = 0; j < 8; j++) {\n"
             "                sum[i][j] = cut > g.n%d ? sum[i][j] + o[i][j] : o[i][j];\n"
             "                o[i][j] = 0;\n            }\n"
             "        cut = keys - cut < g.n%d ? keys : cut + g.n%d;\n    }\n",
             block, block, block);
}

void attend_sums(emit_writer *w, const attend_kernel *a, int block)
{
    static const char *const x = "s_e + (k0 + kk) * ROWS + PLACE(ti / 4, kk / 4)",
                             *const y = "s_n1 + (k0 + kk) * (KEYS + 4) + tj + j * 8";
    const bool same = w->target->same;
    text_add(&w->body, "    float *s_n0 = s_keys;\n");
    write_steps_begin(w, a, "first + KEYS");
    text_add(&w->body, "    const int here = count - k0 < 16 ? count - k0 : 16;\n");
    if (same)
        text_add(&w->body,
                 "    for (int at = 0; at < here;) {\n"
                 "    const int run = cut - (first + k0 + at) < here - at ? (int)(cut - (first "
                 "+ k0 + at)) : here - at;\n");
    text_add(&w->body,
             "    if (%s == 16) {\n#pragma unroll\n    for (int kk = 0; kk < 16; kk++) {\n",
             same ? "run" : "here");
    write_product(w, 1, "o", x, y);
    text_add(&w->body, same ? "    } else {\n    for (int kk = at; kk < at + run; kk++) {\n"
                            : "    } else {\n    for (int kk = 0; kk < here; kk++) {\n");
    write_product(w, 1, "o", x, y);
    text_add(&w->body, "    }\n");
    if (same) {
        text_add(&w->body, "    at += run;\n");
        write_cut(w, block);
        text_add(&w->body, "    }\n");
    }
    write_steps_end(w, &a->first);
    text_add(&w->body, "    __syncthreads();\n");
}
