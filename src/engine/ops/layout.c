/* Results in the order of memory of their inputs; see order.h. */
#include "engine/ops/layout.h"

bool layout_kept(const ig_array *x, int *axes)
{
    const view *v = &x->view, *root = &x->root->view;
    if (!x->root->keeps_layout || v->offset || v->ndim != root->ndim ||
        view_size(v) != view_size(root) || view_is_contiguous(v))
        return false;
    unsigned used = 0;
    for (int i = 0; i < v->ndim; i++) { /* the axis of x that is axis i of the root */
        axes[i] = -1;
        for (int a = 0; a < v->ndim && axes[i] < 0; a++)
            if (!(used >> a & 1) && v->shape[a] == root->shape[i] &&
                (v->stride[a] == root->stride[i] || v->shape[a] == 1))
                axes[i] = a;
        if (axes[i] < 0)
            return false;
        used |= 1u << axes[i];
    }
    return true;
}

ig_array *layout_back(ig_array *y, const int *axes)
{
    int back[IG_MAX_NDIM];
    if (!y)
        return NULL;
    y->root->keeps_layout = true;
    for (int i = 0; i < y->view.ndim; i++)
        back[axes[i]] = i;
    return build_permute(OP_permute_dims, y, back);
}
