/* Zarr groups: their members, and consolidated metadata.
 *
 * The names of members come from a folder or from metadata, and are untrusted: a name that leaves the group is refused.
 */
#include "lib/store/zarr.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

enum { NAME_BYTES = 64, DEPTH_MAX = 32 /* of groups in groups that are consolidated */ };

typedef struct member {
    char *name;
    bool array;
} member;

struct ig_group {
    place *place;
    int version;
    char *attributes;
    int n, room;
    member *members;
};

static ig_status member_add(ig_group *g, const char *name, bool array)
{
    if (!memory_room(&g->members, g->n, &g->room, sizeof *g->members))
        return IG_ERR_MEMORY;
    char *copy = memory_text(name);
    if (!copy)
        return error_waiting(IG_ERR_MEMORY);
    g->members[g->n++] = (member){copy, array};
    return IG_OK;
}

/* ---- consolidated metadata ------------------------------------------------------------------------------ */

/* A member of the metadata of v3 is "inner/x"; of v2 "inner/x/.zarray", ".zattrs" and so on. Only direct members count. */
static ig_status entry_add(void *ctx, json_where where, json_text key, int64_t i, json_part value)
{
    ig_group *g = ctx;
    char node[NAME_BYTES] = "";
    (void)i;
    char *name = json_text_copy(key, NULL);
    if (!name)
        return error_waiting(IG_ERR_MEMORY);
    ig_status status = IG_OK;
    char *slash = strchr(name, '/');
    if (g->version == 2 && !slash) { /* of the group itself */
        memory_free(name);
        return IG_OK;
    }
    if (!place_key_valid(name)) {
        status = json_wrong(where, "the name leaves the group or is not valid");
    } else if (g->version == 3 && !slash) {
        json_field type = {.name = "node_type", .required = true};
        status = fields_read(where, value, &type, 1, REST_ALLOW);
        if (status == IG_OK)
            status = json_part_text(where, type.value, node, sizeof node);
        if (status == IG_OK)
            status = member_add(g, name, strcmp(node, "array") == 0);
    } else if (g->version == 2 &&
               (strcmp(slash, "/.zarray") == 0 || strcmp(slash, "/.zgroup") == 0)) {
        const bool array = slash[2] == 'z' && slash[3] == 'a';
        *slash = 0;
        status = member_add(g, name, array);
    }
    memory_free(name);
    return status;
}

static ig_status consolidated_read(ig_group *g, json_where where, json_part value)
{
    json_field metadata = {.name = "metadata", .required = true};
    TRY(fields_read(where, value, &metadata, 1, REST_ALLOW));
    if (json_part_kind(metadata.value) != JSON_OBJECT)
        return json_wrong(where, "'metadata' is not an object");
    return json_part_each((json_where){where.file, "metadata"}, metadata.value, entry_add, g);
}

/* ---- opening ---------------------------------------------------------------------------------------------- */

/* The metadata of a v3 node; *type is "" if there is none. The parts point into *source, which the caller frees. */
static ig_status node_read(place *p, const char *key, char **source, char type[NAME_BYTES],
                           json_part *attributes, json_part *consolidated)
{
    struct io_file file;
    size_t bytes = 0;
    json_field f[] = {{.name = "zarr_format", .required = true},
                      {.name = "node_type", .required = true},
                      {.name = "attributes"},
                      {.name = "consolidated_metadata"}};
    const json_where where = {&file, ""};
    int64_t format = 0;
    type[0] = 0;
    place_name(p, "open", key, &file);
    TRY(place_text(p, key, source, &bytes));
    if (!*source)
        return IG_OK;
    TRY(fields_read(where, (json_part){*source, bytes}, f, COUNT(f), REST_ALLOW));
    TRY(json_part_int((json_where){&file, "zarr_format"}, f[0].value, 3, 3, &format));
    TRY(json_part_text((json_where){&file, "node_type"}, f[1].value, type, NAME_BYTES));
    if (f[2].value.at && json_part_kind(f[2].value) != JSON_OBJECT)
        return json_wrong((json_where){&file, "attributes"}, "an object is expected");
    *attributes = f[2].value;
    *consolidated = json_part_kind(f[3].value) == JSON_OBJECT ? f[3].value : (json_part){NULL, 0};
    return IG_OK;
}

/* An entry of the folder is a member if it is a folder with metadata. */
static ig_status folder_entry_add(void *ctx, const char *name, bool folder)
{
    ig_group *g = ctx;
    char key[PLACE_KEY_BYTES], type[NAME_BYTES], *source = NULL;
    json_part a = {NULL, 0}, c = {NULL, 0};
    bool array = false, group = false;
    if (!folder)
        return IG_OK;
    if (g->version == 2) {
        snprintf(key, sizeof key, "%s/.zarray", name);
        TRY(place_has(g->place, key, &array));
        snprintf(key, sizeof key, "%s/.zgroup", name);
        TRY(place_has(g->place, key, &group));
        return array || group ? member_add(g, name, array) : IG_OK;
    }
    snprintf(key, sizeof key, "%s/zarr.json", name);
    const ig_status status = node_read(g->place, key, &source, type, &a, &c);
    memory_free(source);
    TRY(status);
    return type[0] ? member_add(g, name, strcmp(type, "array") == 0) : IG_OK;
}

static ig_status group_read_v2(ig_group *g, bool *there)
{
    struct io_file file;
    char *source = NULL;
    size_t bytes = 0;
    g->version = 2;
    place_name(g->place, "open", ".zmetadata", &file);
    TRY(place_has(g->place, ".zgroup", there));
    if (!*there)
        return IG_OK;
    TRY(zarr_v2_attributes(g->place, &g->attributes));
    TRY(place_text(g->place, ".zmetadata", &source, &bytes));
    const ig_status status =
        source ? consolidated_read(g, (json_where){&file, ""}, (json_part){source, bytes})
               : place_list(g->place, "", folder_entry_add, g);
    memory_free(source);
    return status;
}

static ig_status group_read(ig_group *g)
{
    struct io_file file;
    char type[NAME_BYTES], *source = NULL;
    bool there = false;
    json_part attributes = {NULL, 0}, consolidated = {NULL, 0};
    place_name(g->place, "open", "zarr.json", &file);
    g->version = 3;
    ig_status status = node_read(g->place, "zarr.json", &source, type, &attributes, &consolidated);
    if (status == IG_OK && type[0] && strcmp(type, "group") != 0)
        status = io_fail(&file, IG_ERR_FORMAT,
                         "it is not a group but an array; open it with ig_store_open");
    if (status == IG_OK && attributes.at && !(g->attributes = json_part_copy(attributes)))
        status = error_waiting(IG_ERR_MEMORY);
    if (status == IG_OK && consolidated.at)
        status = consolidated_read(g, (json_where){&file, "consolidated_metadata"}, consolidated);
    else if (status == IG_OK && type[0])
        status = place_list(g->place, "", folder_entry_add, g);
    memory_free(source);
    TRY(status);
    if (type[0])
        return IG_OK;
    TRY(group_read_v2(g, &there));
    return there ? IG_OK
                 : io_fail(&file, IG_ERR_FILE,
                           "there is no group: neither zarr.json nor .zgroup is in the folder; "
                           "check the path");
}

static int member_order(const void *a, const void *b)
{
    return strcmp(((const member *)a)->name, ((const member *)b)->name);
}

static ig_group *group_open_at(place *p)
{
    ig_group *g = p ? memory_new(sizeof *g) : NULL;
    if (!g) {
        place_close(p);
        return NULL;
    }
    g->place = p;
    if (group_read(g) != IG_OK) {
        ig_group_close(g);
        return NULL;
    }
    if (g->n)
        qsort(g->members, (size_t)g->n, sizeof *g->members, member_order);
    return g;
}

ig_group *ig_group_open(const char *path)
{
    if (!path || !*path)
        FAIL_NULL(IG_ERR_ARGUMENT, "ig_group_open: no path is given; name one");
    return group_open_at(place_open(path, false));
}

void ig_group_close(ig_group *g)
{
    if (!g)
        return;
    for (int i = 0; i < g->n; i++)
        memory_free(g->members[i].name);
    memory_free(g->members);
    memory_free(g->attributes);
    place_close(g->place);
    memory_free(g);
}

int ig_group_count(const ig_group *g) { return g ? g->n : 0; }

const char *ig_group_name(const ig_group *g, int i)
{
    return g && i >= 0 && i < g->n ? g->members[i].name : NULL;
}

bool ig_group_is_array(const ig_group *g, int i)
{
    return g && i >= 0 && i < g->n && g->members[i].array;
}

const char *ig_group_attributes(const ig_group *g)
{
    return g && g->attributes ? g->attributes : "{}";
}

ig_store *ig_group_array(const ig_group *g, const char *name)
{
    bool absent = false;
    if (!g || !name)
        FAIL_NULL(IG_ERR_ARGUMENT, "ig_group_array: %s is NULL; give one", g ? "name" : "g");
    place *p = place_open_inside(g->place, name);
    ig_store *s = p ? zarr_open(p, &absent) : NULL;
    if (s || !absent)
        return s;
    struct io_file file;
    place_name(g->place, "open", name, &file);
    io_fail(&file, IG_ERR_FILE,
            "there is no array: neither zarr.json nor .zarray is in the folder; check the name");
    return NULL;
}

/* ---- writing ------------------------------------------------------------------------------------------------ */

/* Creates one group, unless a node is there. */
static ig_status group_put(const char *path, const char *attributes)
{
    bool there = false;
    char type[NAME_BYTES], *source = NULL;
    json_part a = {NULL, 0}, c = {NULL, 0};
    struct io_file file;
    place *p = place_open(path, true);
    if (!p)
        return error_waiting(IG_ERR_FILE);
    place_name(p, "save", "", &file);
    ig_status status = attributes ? zarr_check_attributes(&file, attributes) : IG_OK;
    if (status == IG_OK)
        status = place_has(p, ".zgroup", &there);
    if (status == IG_OK && there)
        status = io_fail(&file, IG_ERR_FILE, "a group of Zarr v2 is there; choose another place");
    if (status == IG_OK)
        status = node_read(p, "zarr.json", &source, type, &a, &c);
    if (status == IG_OK && type[0] && strcmp(type, "group") != 0)
        status = io_fail(&file, IG_ERR_FILE, "an array is there; choose another place");
    if (status == IG_OK && !type[0]) {
        text t = {0};
        text_add(&t,
                 "{\n  \"zarr_format\": 3,\n  \"node_type\": \"group\",\n  \"attributes\": %s\n}\n",
                 attributes ? attributes : "{}");
        char *made = text_take(&t);
        status = made ? place_put(p, "zarr.json", &(piece){made, strlen(made)}, 1)
                      : error_waiting(IG_ERR_MEMORY);
        memory_free(made);
    } else if (status == IG_OK && attributes) {
        status = zarr_metadata_edit(p, attributes);
    }
    memory_free(source);
    place_close(p);
    return status;
}

ig_status ig_group_create(const char *path, const char *attributes)
{
    if (!path || !*path)
        return ig_fail(IG_ERR_ARGUMENT, "ig_group_create: no path is given; name one");
    return group_put(path, attributes);
}

typedef struct consolidation {
    place *place;
    const char *prefix; /* of the folder that is listed, with its slash; "" at first */
    text *out;
    int depth;
} consolidation;

static ig_status node_write(void *ctx, const char *name, bool folder)
{
    const consolidation *c = ctx;
    char path[PLACE_KEY_BYTES], key[PLACE_KEY_BYTES + 16], type[NAME_BYTES], *source = NULL;
    json_part a = {NULL, 0}, inner = {NULL, 0};
    if (!folder)
        return IG_OK;
    if (snprintf(path, sizeof path, "%s%s", c->prefix, name) >= (int)sizeof path - 16)
        return ig_fail(IG_ERR_FILE,
                       "save '%s': a path in the group is too long; rename its folders",
                       place_path(c->place));
    snprintf(key, sizeof key, "%s/zarr.json", path);
    ig_status status = node_read(c->place, key, &source, type, &a, &inner);
    if (status == IG_OK && type[0]) {
        text_add(c->out, "%s\n    ",
                 c->out->used && c->out->at[c->out->used - 1] == '{' ? "" : ",");
        json_quote(c->out, path);
        text_add(c->out, ": %s", source);
    }
    if (status == IG_OK && strcmp(type, "group") == 0) {
        snprintf(key, sizeof key, "%s/", path);
        consolidation deeper = {c->place, key, c->out, c->depth + 1};
        status = deeper.depth > DEPTH_MAX
                     ? ig_fail(IG_ERR_FORMAT,
                               "save '%s': groups are nested too deeply; consolidate an inner one",
                               place_path(c->place))
                     : place_list(c->place, path, node_write, &deeper);
    }
    memory_free(source);
    return status;
}

ig_status ig_group_consolidate(const char *path)
{
    char type[NAME_BYTES], *source = NULL, *made = NULL;
    json_part attributes = {NULL, 0}, old = {NULL, 0};
    struct io_file file;
    TRY(require_pointer("ig_group_consolidate", "path", path));
    place *p = place_open(path, false);
    if (!p)
        return error_waiting(IG_ERR_FILE);
    place_name(p, "save", "zarr.json", &file);
    ig_status status = node_read(p, "zarr.json", &source, type, &attributes, &old);
    if (status == IG_OK && strcmp(type, "group") != 0)
        status = io_fail(&file, IG_ERR_FILE, "there is no Zarr v3 group; check the path");
    if (status == IG_OK) {
        text t = {0};
        text_add(&t,
                 "{\n  \"zarr_format\": 3,\n  \"node_type\": \"group\",\n  \"attributes\": %.*s,\n"
                 "  \"consolidated_metadata\": {\"kind\": \"inline\", \"must_understand\": false, "
                 "\"metadata\": {",
                 attributes.at ? (int)attributes.bytes : 2, attributes.at ? attributes.at : "{}");
        consolidation c = {p, "", &t, 0};
        status = place_list(p, "", node_write, &c);
        text_add(&t, "}}\n}\n");
        made = text_take(&t);
        if (status == IG_OK)
            status = made ? place_put(p, "zarr.json", &(piece){made, strlen(made)}, 1)
                          : error_waiting(IG_ERR_MEMORY);
    }
    memory_free(made);
    memory_free(source);
    place_close(p);
    return status;
}
