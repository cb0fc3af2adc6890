/* What attention computes between its products, as text: the epilogue of scores, the largest of a row, exponentials, their
 * fold. See contract_attend.c. */
#include "engine/emit/contract_attend.h"

/* A loop over the thread's points. Rows and columns behind the last are those of the last: nothing uses what is computed
 * there. */
static void write_points_begin(emit_writer *w)
{
    text_add(&w->body, "#pragma unroll\n    for (int i = 0; i < 4; i++) {\n"
                       "        const int at = ti + i, team = at < rows_here ? "
                       "at : rows_here - 1;\n"
                       "        const idx row = batch * rows_end + m0_first + team;\n"
                       "#pragma unroll\n        for (int j = 0; j < 8; j++) {\n"
                       "            const idx place = first + tj + j / 4 * 32 + j %% 4;\n"
                       "            const idx col = place < keys ? place : keys - 1;\n");
}

/* Turns sums into scores. */
void attend_epilogue(emit_writer *w)
{
    write_points_begin(w);
    text_add(&w->body, "            total0(ARGS, local, team, row, col, a[i][j], a[i][j], rest);\n"
                       "        }\n    }\n");
}

void attend_most(emit_writer *w)
{
    write_points_begin(w);
    text_add(&w->body, "            if (place < keys)\n"
                       "                most[i] = join1(most[i], value1(ARGS, local, team, row, "
                       "col, a[i][j], rest));\n"
                       "        }\n    }\n");
}

/* The epilogue of the first reduction: the eight threads of a row have its largest values. */
void attend_most_end(emit_writer *w)
{
    text_add(
        &w->body,
        "#pragma unroll\n    for (int i = 0; i < 4; i++) {\n"
        "        const int team = ti + i;\n"
        "        for (int half = 8; half > 1; half /= 2)\n"
        "            most[i] = join1(most[i], __shfl_xor_sync(0xffffffffu, most[i], half));\n"
        "        if (leads && team < rows_here)\n"
        "            result1(ARGS, local, team, batch * rows_end + m0_first + team, most[i]);\n"
        "    }\n    __syncthreads();\n");
}

void attend_rescale(emit_writer *w, const attend_kernel *a)
{
    text_add(&w->body, "    float before[4];\n#pragma unroll\n    for (int i = 0; i < 4; i++)\n"
                       "        before[i] = most[i];\n");
    attend_most(w);
    text_add(
        &w->body,
        "    bool grows = tile == 0;\n#pragma unroll\n    for (int i = 0; i < 4; i++) {\n"
        "        for (int half = 8; half > 1; half /= 2)\n"
        "            most[i] = join1(most[i], __shfl_xor_sync(0xffffffffu, most[i], half));\n"
        "        grows = grows || most[i] != before[i];\n    }\n"
        "    if (__any_sync(0xffffffffu, grows)) {\n    float scale[4];\n"
        "#pragma unroll\n    for (int i = 0; i < 4; i++) {\n"
        "        const int at = ti + i, team = at < rows_here ? at : rows_here - "
        "1;\n"
        "        scale[i] = tile ? ((const float *)local)[g.n%d + team] : 0;\n    }\n"
        "    __syncwarp();\n"
        "#pragma unroll\n    for (int i = 0; i < 4; i++) {\n"
        "        const int team = ti + i;\n"
        "        if (leads && team < rows_here)\n"
        "            result1(ARGS, local, team, batch * rows_end + m0_first + team, most[i]);\n    "
        "}\n"
        "    __syncwarp();\n"
        "#pragma unroll\n    for (int i = 0; i < 4; i++) {\n"
        "        const int at = ti + i, team = at < rows_here ? at : rows_here - "
        "1;\n"
        "        const float x = value2(ARGS, local, team, batch * rows_end + m0_first + team, "
        "first, "
        "scale[i], rest);\n"
        "        scale[i] = before[i] == identity1() ? 0 : x; /* the sums are zeros */\n    }\n"
        "#pragma unroll\n    for (int i = 0; i < 4; i++) {\n"
        "#pragma unroll\n        for (int j = 0; j < 8; j++)\n            o[i][j] *= scale[i];\n"
        "#pragma unroll\n        for (int j = 0; j < 4; j++)\n            lanes[i][j] *= "
        "scale[i];\n"
        "    }\n    }\n",
        writer_number(w, a->base->offset / 4));
}

/* Scores become exponentials. */
void attend_exponentials(emit_writer *w)
{
    write_points_begin(w);
    text_add(&w->body, "            a[i][j] = value2(ARGS, local, team, row, col, a[i][j], rest);\n"
                       "        }\n    }\n");
}

void attend_store(emit_writer *w)
{
    text_add(&w->body, "#pragma unroll\n    for (int j = 0; j < 8; j++) {\n"
                       "        const int key = tj + j / 4 * 32 + j %% 4;\n"
                       "        float4 q;\n        q.x = a[0][j];\n        q.y = a[1][j];\n        "
                       "q.z = a[2][j];\n"
                       "        q.w = a[3][j];\n        *(float4 *)(s_e + key * ROWS + PLACE(ti / "
                       "4, key / 4)) = q;\n"
                       "    }\n    __syncthreads();\n");
}

/* Joins the lanes of the thread's i-th row by halving, first across threads: x, of the first of its threads. */
static void write_join_lanes(emit_writer *w)
{
    text_add(&w->body,
             "            const int at = ti + i;\n"
             "#pragma unroll\n            for (int j = 0; j < 4; j++)\n"
             "                for (int half = 8; half > 1; half /= 2)\n"
             "                    lanes[i][j] = join2(lanes[i][j], __shfl_down_sync(0xffffffffu, "
             "lanes[i][j], half));\n"
             "            float x = join2(join2(lanes[i][0], lanes[i][2]), join2(lanes[i][1], "
             "lanes[i][3]));\n");
}

/* Of each row a thread has the running values of lanes tj to tj + 3 of a warp in rows.c. With two passes, lanes are joined at
 * the end of a chunk, and chunks are joined pairwise. */
void attend_fold(emit_writer *w, const attend_kernel *a)
{
    text_add(&w->body, "#pragma unroll\n    for (int i = 0; i < 4; i++)\n"
                       "#pragma unroll\n        for (int j = 0; j < 8; j++)\n"
                       "            if (tj + j / 4 * 32 + j %% 4 < count)\n"
                       "                lanes[i][j %% 4] = join2(lanes[i][j %% 4], a[i][j]);\n");
    if (a->base)
        return;
    text_add(&w->body,
             "    if (tile %% (%d / KEYS) == %d / KEYS - 1 || tile == tiles - 1) {\n"
             "#pragma unroll\n        for (int i = 0; i < 4; i++) {\n",
             FOLD_CHUNK, FOLD_CHUNK);
    write_join_lanes(w);
    text_add(&w->body,
             "            int level = 0;\n"
             "            for (; tile / (%d / KEYS) >> level & 1; level++)\n"
             "                x = join2(pairs[level * ROWS + at], x);\n"
             "            if (leads)\n                pairs[level * ROWS + at] = x;\n"
             "#pragma unroll\n            for (int j = 0; j < 4; j++)\n"
             "                lanes[i][j] = identity2();\n        }\n    }\n",
             FOLD_CHUNK);
}

/* A thread takes a row: it joins the chunks that have no partner yet, from the last on. */
static void write_join_chunks(emit_writer *w)
{
    text_add(
        &w->body,
        "    if (t < rows_here) {\n"
        "        const int chunks = (tiles * KEYS + %d) / %d;\n"
        "        int level = 0;\n        while (!(chunks >> level & 1))\n            level++;\n"
        "        float x = pairs[level * ROWS + t];\n"
        "        for (level++; chunks >> level; level++)\n"
        "            if (chunks >> level & 1)\n"
        "                x = join2(pairs[level * ROWS + t], x);\n"
        "        result2(ARGS, local, t, batch * rows_end + m0_first + t, x);\n    }\n",
        FOLD_CHUNK - 1, FOLD_CHUNK);
}

void attend_fold_end(emit_writer *w, const attend_kernel *a)
{
    if (a->base) {
        text_add(&w->body, "#pragma unroll\n    for (int i = 0; i < 4; i++) {\n");
        write_join_lanes(w);
        text_add(
            &w->body,
            "        if (leads && at < rows_here)\n"
            "            result2(ARGS, local, at, batch * rows_end + m0_first + at, x);\n    }\n");
    } else
        write_join_chunks(w);
    text_add(&w->body, "    __syncthreads();\n");
}
