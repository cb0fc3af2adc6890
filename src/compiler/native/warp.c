/* Instructions across the lanes of a warp. A group is then a warp, so its lanes are in lock step. */
#include "compiler/native/writer.h"

#include "engine/ops/op_id.h"

static bool is_shuffle(int row) { return row <= WARP_SHUFFLE_XOR; }

static void write_here(writer *w)
{
    SAY(w, "const u32 here_ = ");
    for (int u = 0; u < w->p->units; u++) {
        SAY(w, u ? " | " : "");
        write_bits(w, u);
        SAY(w, " << %d", u * w->p->width);
    }
    SAY(w, ";\n(void)here_;\n");
}

static void write_shuffle(writer *w, const code_inst *i)
{
    SAY(w, "const int j_ = shuffled(%d, i_, y_[i_], %s);\n", i->row,
        i->e == CODE_NONE ? "32" : "e_[i_]");
    SAY(w, "d_[i_] = here_ >> j_ & 1 ? x_[j_] : 0;\n");
}

/* The active lanes whose x_ is not 0. */
static void write_yes(writer *w)
{
    SAY(w, "u32 yes_ = 0;\nfor (int i_ = 0; i_ < 32; i_++)\nyes_ |= (u32)(x_[i_] != 0) << i_;\n"
           "yes_ &= here_;\n");
}

static void write_vote(writer *w, const code_inst *i)
{
    SAY(w, "const u32 part_ = here_ & z_[i_], votes_ = yes_ & part_;\n(void)part_;\nd_[i_] = %s;\n",
        i->row == WARP_BALLOT ? "votes_"
        : i->row == WARP_ANY  ? "votes_ != 0"
        : i->row == WARP_ALL  ? "votes_ == part_"
                              : "votes_ == part_ || votes_ == 0");
}

/* Folds the participating lanes in lane order, with the loop of a row. */
static void write_fold(writer *w, const code_inst *i)
{
    static const int folds[] = {
        [WARP_ADD] = OP_add,         [WARP_MIN] = OP_minimum,   [WARP_MAX] = OP_maximum,
        [WARP_AND] = OP_bitwise_and, [WARP_OR] = OP_bitwise_or, [WARP_XOR] = OP_bitwise_xor};
    const int loop = write_call(w, false, folds[i->row], dtype_lane((ig_dtype)i->dtype));
    SAY(w, "const u32 part_ = here_ & z_[i_];\n"
           "if (i_ && part_ == (here_ & z_[i_ - 1])) {\nd_[i_] = d_[i_ - 1];\ncontinue;\n}\n");
    SAY(w, "%s sum_ = 0;\nu32 left_ = part_;\nif (left_)\nsum_ = x_[__builtin_ctz(left_)];\n",
        write_type(i->dtype));
    SAY(w,
        "for (left_ &= left_ - 1; left_; left_ &= left_ - 1)\n"
        "b->loop[%d](1, &sum_, &sum_, &x_[__builtin_ctz(left_)], 0);\nd_[i_] = sum_;\n",
        loop);
}

static void write_one(writer *w, const code_inst *i)
{
    switch (i->row) {
    case WARP_SHUFFLE_RANK: SAY(w, "d_[i_] = x_[ranked(i_, here_ & z_[i_], y_[i_])];\n"); return;
    case WARP_MATCH_ANY:
    case WARP_MATCH_ALL:
        SAY(w, "d_[i_] = matched(same_, i_, here_ & z_[i_], %d);\n", i->row == WARP_MATCH_ALL);
        return;
    case WARP_BALLOT:
    case WARP_ANY:
    case WARP_ALL:
    case WARP_SAME: write_vote(w, i); return;
    default: (is_shuffle(i->row) ? write_shuffle : write_fold)(w, i);
    }
}

void write_warp(writer *w, const code_inst *i)
{
    const int d = w->c->reg[i->d].dtype;
    SAY(w, "{\n");
    write_here(w);
    SAY(w, "%s d_[32];\n", write_element(d));
    if (i->op == CODE_ACTIVE) {
        SAY(w, "for (int i_ = 0; i_ < 32; i_++)\nd_[i_] = here_;\n");
    } else {
        write_array(w, "x_", i->a, i->dtype);
        write_array(w, "y_", i->b, IG_U32);
        write_array(w, "z_", i->c, IG_U32);
        write_array(w, "e_", i->e, IG_I32);
        if (i->row == WARP_MATCH_ANY || i->row == WARP_MATCH_ALL)
            SAY(w, "u64 same_[32];\nfor (int i_ = 0; i_ < 32; i_++) {\nsame_[i_] = 0;\n"
                   "__builtin_memcpy(&same_[i_], &x_[i_], sizeof x_[i_]);\n}\n");
        if (i->row >= WARP_BALLOT && i->row <= WARP_SAME)
            write_yes(w);
        SAY(w, "for (int i_ = 0; i_ < 32; i_++) {\n");
        write_one(w, i);
        SAY(w, "}\n");
    }
    write_from_array(w, i, "d_", d);
    SAY(w, "}\n");
}
