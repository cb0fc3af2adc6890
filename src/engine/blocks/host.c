/* Host memory as a source: arrays that wait there for a device, and results that are too large for it. */
#include "engine/blocks/blocks.h"

#include "base/error.h"
#include "base/memory.h"

typedef struct host {
    buffer *data; /* NULL: not computed yet */
    size_t bytes; /* of an element */
    int ndim;
    box whole;
} host;

static ig_status host_read(void *context, const int64_t *start, const int64_t *size, void *to)
{
    const host *h = context;
    box part = {.lo = {0}};
    for (int i = 0; i < h->ndim; i++)
        part.hi[i] = (part.lo[i] = start[i]) + size[i];
    box_move(&part, h->ndim, h->bytes, &h->whole, h->data->data, &part, to);
    return IG_OK;
}

static void release_owner(void *context) { buffer_release(context); }

static buffer *host_alias(block_source *s, const box *b)
{
    const host *h = s->context;
    return box_is_run(b, h->ndim, s->shape)
               ? source_part(s, h->data->data, b, release_owner, buffer_retain(h->data))
               : NULL;
}

static void host_release(void *context)
{
    host *h = context;
    buffer_release(h->data);
    memory_free(h);
}

block_source *host_make(const ig_array *root, buffer *data)
{
    block_source *s = memory_new(sizeof *s);
    host *h = memory_new(sizeof *h);
    if (!s || !h) {
        memory_free(s);
        memory_free(h);
        return NULL;
    }
    const view *v = &root->view;
    *s = (block_source){.refs = 1,
                        .dtype = (ig_dtype)root->dtype,
                        .ndim = v->ndim,
                        .concurrent = true,
                        .read = host_read,
                        .alias = host_alias,
                        .release = host_release,
                        .context = h};
    *h = (host){.data = data ? buffer_retain(data) : NULL,
                .bytes = ig_dtype_bytes(s->dtype),
                .ndim = v->ndim,
                .whole = box_whole(v->ndim, v->shape)};
    for (int i = 0; i < v->ndim; i++) {
        s->shape[i] = v->shape[i];
        s->chunk[i] = 1;
    }
    return s;
}

void host_give(const block_source *s, buffer *data)
{
    host *h = s->context;
    h->data = buffer_retain(data);
}

/* ---- leaves ---- */

/* Smaller ones are copied to the device, and stay there. */
enum { LEAST_BYTES = 4096 };

static bool waits_on_host(const ig_array *root)
{
    return root->data && !root->data->device && !root->data->fetched && !root->is_number &&
           !array_is_packed(root) && view_is_contiguous(&root->view) && root->view.offset == 0 &&
           root->data->bytes >= LEAST_BYTES && view_size(&root->view) > 0;
}

static ig_status add_leaf(block_plan *p, ig_array *root)
{
    for (int i = 0; i < p->n_done; i++)
        if (p->done[i].root == root)
            return IG_OK;
    if (!waits_on_host(root))
        return IG_OK;
    if (!memory_room(&p->done, p->n_done, &p->room_done, sizeof *p->done))
        return IG_ERR_MEMORY;
    block_source *s = host_make(root, root->data);
    if (!s)
        return IG_ERR_MEMORY;
    p->done[p->n_done++] = (ready){.root = root, .source = s, .is_leaf = true};
    return IG_OK;
}

ig_status host_leaves(block_plan *p)
{
    steps w;
    TRY(steps_make(&w, p->root, p->n_root, 0, NULL, 0));
    ig_status status = IG_OK;
    engine_enter(); /* another thread may move a leaf to a device */
    for (int i = 0; i < w.n && status == IG_OK; i++)
        for (int k = 0; k < w.step[i].n_in && status == IG_OK; k++)
            if (w.step[i].in[k].from < 0)
                status = add_leaf(p, w.step[i].in[k].in->root);
    engine_leave();
    steps_free(&w);
    return status;
}
