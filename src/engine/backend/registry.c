/* The list of devices, in the order in which `ingot devices` shows them: single devices, and families, whose
 * members are searched for only when needed. Registered devices come last. */
#include "engine/backend/search.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

enum { ROWS_MOST = 16 };

static struct row {
    const backend *one;
    const backend_family *many;
} rows[ROWS_MOST] = {{.one = &backend_cpu},     {.many = &backend_cuda}, {.many = &backend_metal},
                     {.many = &backend_opencl}, {.one = &backend_gang},  {.one = &backend_null}};
static int n_rows = 6;

ig_status backend_register(const backend *dev)
{
    if (n_rows == ROWS_MOST)
        FAIL(IG_ERR_DEVICE, "device '%s': there is room for %d kinds", dev->name, ROWS_MOST);
    if (backend_find(dev->name))
        FAIL(IG_ERR_DEVICE, "device '%s' is there already", dev->name);
    rows[n_rows++] = (struct row){.one = dev};
    return IG_OK;
}

static int row_count(const struct row *r) { return r->one ? 1 : search_count(r->many->search); }

int backend_count(void)
{
    int count = 0;
    for (int i = 0; i < n_rows; i++)
        count += row_count(&rows[i]);
    return count;
}

const backend *backend_at(int i)
{
    for (int r = 0; i >= 0 && r < n_rows; r++) {
        const int here = row_count(&rows[r]);
        if (i < here)
            return rows[r].one ? rows[r].one : search_at(rows[r].many->search, i);
        i -= here;
    }
    return NULL;
}

/* The member with this name; NULL if the name does not belong to this family or there is no such member. */
static const backend *family_find(const backend_family *f, const char *name)
{
    const size_t length = strlen(f->name);
    if (strncmp(f->name, name, length) != 0)
        return NULL;
    if (name[length] == '\0')
        return search_at(f->search, 0);
    if (name[length] != ':')
        return NULL;
    for (int i = 0; i < search_count(f->search); i++)
        if (strcmp(search_at(f->search, i)->name, name) == 0)
            return search_at(f->search, i);
    return NULL;
}

static const backend *row_find(const struct row *r, const char *name)
{
    if (r->many)
        return family_find(r->many, name);
    return strcmp(r->one->name, name) == 0 ? r->one : NULL;
}

/* The first GPU, in the order of the list: CUDA's devices come before OpenCL's. */
static const backend *first_gpu(void)
{
    for (int i = 0; i < backend_count(); i++) {
        ig_device_info info = {0};
        const backend *dev = backend_at(i);
        if (dev->describe(dev, &info) == IG_OK && strcmp(info.kind, "gpu") == 0)
            return dev;
    }
    return NULL;
}

const backend *backend_find(const char *name)
{
    const backend *found = NULL;
    if (strcmp(name, "gpu") == 0)
        return first_gpu();
    if (strcmp(name, "mps") == 0)
        name = "metal";
    for (int i = 0; i < n_rows && !found; i++)
        found = row_find(&rows[i], name);
    return found;
}

const backend *backend_like(const char *name)
{
    const backend *dev = backend_find(name);
    if (!dev && (strcmp(name, "metal") == 0 || strcmp(name, "mps") == 0))
        return &backend_typical_metal;
    return dev;
}

/* The CPU and every GPU. A GPU that OpenCL offers is left out if another driver may offer it, too. */
static int list_all(const backend **list)
{
    const int count = backend_count();
    int n = 0;
    for (int i = 0; i < count && n < BACKEND_LIST_MOST - 1; i++) {
        ig_device_info info = {0};
        const backend *dev = backend_at(i);
        if (dev->computes && !dev->no_arrays && dev->describe(dev, &info) == IG_OK &&
            strcmp(info.kind, "gpu") == 0 &&
            (n == 0 || !dev->language || strcmp(dev->language, "opencl") != 0 ||
             strcmp(list[0]->language, "opencl") == 0))
            list[n++] = dev;
    }
    list[n++] = &backend_cpu;
    return n;
}

int backend_list(const char *names, const backend **list)
{
    int n = 0;
    if (strcmp(names, "all") == 0)
        return list_all(list);
    for (const char *at = names; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char name[64];
        const size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
                 at);
        const backend *dev = backend_find(name);
        bool again = false;
        for (int i = 0; i < n; i++)
            again = again || list[i] == dev;
        if (!dev) {
            backend_missing(name);
            return 0;
        }
        if (!again && n == BACKEND_LIST_MOST) {
            ig_fail(IG_ERR_DEVICE, "the list '%s' has more than %d devices", names,
                    BACKEND_LIST_MOST);
            return 0;
        }
        if (!again)
            list[n++] = dev;
    }
    return n;
}

const char *backend_canonical(const char *name)
{
    const backend *list[BACKEND_LIST_MOST];
    if (backend_is_list(name)) {
        const bool waits = ig_failed();
        const int n = backend_list(name, list);
        if (n == 0 && !waits)
            ig_error(NULL);
        return n ? list[0]->name : NULL;
    }
    const backend *dev = backend_find(name);
    return dev ? dev->name : NULL;
}

bool backend_offers(const char *name, const node_native *n)
{
    const backend *dev = backend_find(name);
    return dev && dev->native && dev->native->offers && dev->native->offers(dev, n);
}

bool backend_absent(int i, ig_absent *a)
{
    for (int r = 0; r < n_rows; r++) {
        const backend_family *f = rows[r].many;
        *a = (ig_absent){0};
        if (!f || !(a->why = search_absent(f->search, &a->remedy)) || i-- > 0)
            continue;
        a->name = f->name;
        return true;
    }
    return false;
}

void backend_release_all(void)
{
    for (int i = 0; i < n_rows; i++)
        if (rows[i].one)
            rows[i].one->release(rows[i].one);
        else
            search_release(rows[i].many->search);
}

ig_status backend_missing(const char *name)
{
    ig_absent a;
    if (strcmp(name, "gpu") == 0)
        FAIL(IG_ERR_DEVICE,
             "Ingot found no GPU that it can use on this machine; 'ingot devices' shows why");
    if (strcmp(name, "mps") == 0)
        name = "metal";
    for (int i = 0; backend_absent(i, &a); i++)
        if (strncmp(a.name, name, strlen(a.name)) == 0)
            FAIL(IG_ERR_DEVICE, "there is no device '%s' here: %s; try: %s", name, a.why,
                 a.remedy ? a.remedy : "ingot devices");
    FAIL(IG_ERR_DEVICE, "there is no device '%s' here; see 'ingot devices'", name);
}
