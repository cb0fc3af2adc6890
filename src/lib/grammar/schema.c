/* JSON schemas as GBNF: one rule for each schema inside of a schema. Properties come in the order of the schema. What cannot be
 * guaranteed by a grammar is refused by name. Texts of the grammar are valid by the schema; not every valid text is one of
 * them: objects have no properties but those of the schema, and blanks are few. */
#include "lib/grammar/grammar.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/text/field.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PLACE = 256, REFS_MOST = 1000, ITEMS_MOST = 10000 };

static const char basics[] = "ws ::= (\" \" | \"\\n\" [ \\t]{0,20})?\n"
                             "character ::= [^\"\\\\\\x00-\\x1f\\x7f] | \"\\\\\" ([\"\\\\/bfnrt] | "
                             "\"u\" (([0-9a-cA-CefEF] hex | [dD] "
                             "[0-7]) hex hex))\n"
                             "hex ::= [0-9a-fA-F]\n"
                             "string ::= \"\\\"\" character* \"\\\"\"\n"
                             "integer ::= \"-\"? (\"0\" | [1-9] [0-9]{0,15})\n"
                             "number ::= integer (\".\" [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?\n"
                             "boolean ::= \"true\" | \"false\"\n"
                             "null ::= \"null\"\n"
                             "value ::= object | array | string | number | boolean | null\n"
                             "object ::= \"{\" ws (string ws \":\" ws value (ws \",\" ws string ws "
                             "\":\" ws value)*)? ws \"}\"\n"
                             "array ::= \"[\" ws (value (ws \",\" ws value)*)? ws \"]\"\n"
                             "digit ::= [0-9]\n"
                             "date ::= digit{4} \"-\" (\"0\" [1-9] | \"1\" [0-2]) \"-\" (\"0\" "
                             "[1-9] | \"1\" digit | \"2\" [0-8])\n"
                             "time ::= ([01] digit | \"2\" [0-3]) \":\" [0-5] digit \":\" [0-5] "
                             "digit (\".\" digit{1,9})? (\"Z\" | "
                             "[-+] ([01] digit | \"2\" [0-3]) \":\" [0-5] digit)\n"
                             "format-date ::= \"\\\"\" date \"\\\"\"\n"
                             "format-time ::= \"\\\"\" time \"\\\"\"\n"
                             "format-date-time ::= \"\\\"\" date \"T\" time \"\\\"\"\n"
                             "format-uuid ::= \"\\\"\" hex{8} \"-\" hex{4} \"-\" hex{4} \"-\" "
                             "hex{4} \"-\" hex{12} \"\\\"\"\n";

/* The names of types are names of rules above. */
static const char *const types[] = {"string", "integer", "number", "boolean",
                                    "null",   "object",  "array",  NULL};
static const char *const formats[] = {"date", "time", "date-time", "uuid", NULL};
/* Keywords that do not change which texts are valid, or that are read together with others. */
static const char *const known[] = {"type",
                                    "title",
                                    "description",
                                    "default",
                                    "examples",
                                    "$schema",
                                    "$id",
                                    "$comment",
                                    "deprecated",
                                    "readOnly",
                                    "writeOnly",
                                    "$defs",
                                    "definitions",
                                    "properties",
                                    "required",
                                    "items",
                                    "prefixItems",
                                    "minItems",
                                    "maxItems",
                                    "enum",
                                    "const",
                                    "anyOf",
                                    "oneOf",
                                    "allOf",
                                    "$ref",
                                    "minLength",
                                    "maxLength",
                                    "format",
                                    "additionalProperties",
                                    NULL};

typedef struct writer {
    text out;
    field root;
    int n; /* rules so far */
    struct {
        char *name;
        int rule;
    } refs[REFS_MOST];
    int n_refs;
} writer;

static ig_status rule_write(writer *w, field schema, const char *place, int *index);

static bool one_of(json_text key, const char *const *names)
{
    for (; *names; names++)
        if (json_text_is(key, *names))
            return true;
    return false;
}

static ig_status refuse(const char *place, const char *problem)
{
    FAIL(IG_ERR_UNSUPPORTED, "the schema at %s: %s", place, problem);
}

/* Adds a text of JSON as a literal. */
static void literal_add(text *t, const char *s, size_t n)
{
    text_add(t, "\"");
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\n' || s[i] == '\r' || s[i] == '\t')
            text_add(t, " ");
        else
            text_add(t, s[i] == '"' || s[i] == '\\' ? "\\%c" : "%c", s[i]);
    }
    text_add(t, "\"");
}

/* ---- objects --------------------------------------------------------------------------------- */

enum { PROPERTIES_MOST = 512 };

typedef struct object_writer {
    writer *w;
    const char *place;
    json_text name[PROPERTIES_MOST];
    int first[PROPERTIES_MOST]; /* rules of name and value */
    bool must[PROPERTIES_MOST];
    int n;
} object_writer;

/* Marks the property that an item of 'required' names. */
static ig_status required_mark(void *context, json_text key, field value)
{
    object_writer *o = context;
    char *wanted = field_text(value, NULL);
    bool found = false;
    (void)key;
    for (int i = 0; wanted && i < o->n && !found; i++) {
        char *name = json_text_copy(o->name[i], NULL);
        found = name && strcmp(name, wanted) == 0;
        o->must[i] = o->must[i] || found;
        memory_free(name);
    }
    memory_free(wanted);
    if (found || ig_failed())
        return found ? IG_OK : IG_ERR_MEMORY;
    FAIL(IG_ERR_UNSUPPORTED, "the schema at %s: 'required' has %.*s, which is not in 'properties'",
         o->place, (int)(value.bytes < 60 ? value.bytes : 60), value.at);
}

static ig_status property_write(void *context, json_text key, field value)
{
    object_writer *o = context;
    char place[PLACE];
    int rule;
    if (o->n == PROPERTIES_MOST)
        FAIL(IG_ERR_UNSUPPORTED, "the schema at %s: it has more than %d properties", o->place,
             PROPERTIES_MOST);
    snprintf(place, sizeof place, "%.150s/properties/%.*s", o->place,
             (int)(key.bytes < 60 ? key.bytes : 60), key.at);
    TRY(rule_write(o->w, value, place, &rule));
    o->name[o->n] = key;
    o->first[o->n] = o->w->n++;
    text_add(&o->w->out, "r%d ::= \"\\\"\" ", o->first[o->n]);
    literal_add(&o->w->out, key.at, key.bytes);
    text_add(&o->w->out, " \"\\\"\" ws \":\" ws r%d\n", rule);
    o->n++;
    return IG_OK;
}

static ig_status object_write(writer *w, field schema, const char *place, text *t)
{
    const field properties = field_get(schema, "properties"),
                more = field_get(schema, "additionalProperties");
    if (properties.kind != JSON_OBJECT) {
        int rule;
        char inner[PLACE];
        if (field_given(field_get(schema, "required")))
            return refuse(place, "'required' needs 'properties'");
        if (more.kind == JSON_BOOL && !field_bool(more, true)) {
            text_add(t, "\"{\" ws \"}\"");
            return IG_OK;
        }
        snprintf(inner, sizeof inner, "%.200s/additionalProperties", place);
        if (more.kind != JSON_OBJECT) {
            text_add(t, "object");
            return IG_OK;
        }
        TRY(rule_write(w, more, inner, &rule));
        text_add(
            t, "\"{\" ws (string ws \":\" ws r%d (ws \",\" ws string ws \":\" ws r%d)*)? ws \"}\"",
            rule, rule);
        return IG_OK;
    }
    object_writer *o = memory_new(sizeof *o);
    if (!o)
        return IG_ERR_MEMORY;
    o->w = w;
    o->place = place;
    ig_status status = field_each(properties, property_write, o);
    if (status == IG_OK)
        status = field_each(field_get(schema, "required"), required_mark, o);
    /* Rule after + i: the properties from i on, after others. Rule begin + i: the same, none so far. */
    const int after = w->n, begin = after + o->n + 1;
    w->n = begin + o->n + 1;
    for (int i = 0; status == IG_OK && i < o->n; i++) {
        text_add(&w->out, "r%d ::= ws \",\" ws r%d r%d", after + i, o->first[i], after + i + 1);
        if (!o->must[i])
            text_add(&w->out, " | r%d", after + i + 1);
        text_add(&w->out, "\nr%d ::= r%d r%d", begin + i, o->first[i], after + i + 1);
        if (!o->must[i])
            text_add(&w->out, " | r%d", begin + i + 1);
        text_add(&w->out, "\n");
    }
    text_add(&w->out, "r%d ::= \"\"\nr%d ::= \"\"\n", after + o->n, begin + o->n);
    text_add(t, "\"{\" ws r%d ws \"}\"", begin);
    memory_free(o);
    return status;
}

/* ---- arrays and texts ------------------------------------------------------------------------ */

typedef struct list_writer {
    writer *w;
    const char *place, *between, *name;
    text *t;
    int n;
} list_writer;

/* Adds the rule of a schema in a list. */
static ig_status listed_write(void *context, json_text key, field value)
{
    list_writer *l = context;
    char place[PLACE];
    int rule;
    (void)key;
    snprintf(place, sizeof place, "%.200s/%s/%d", l->place, l->name, l->n);
    TRY(rule_write(l->w, value, place, &rule));
    text_add(l->t, "%sr%d", l->n++ ? l->between : "", rule);
    return IG_OK;
}

/* Reads a count such as minItems. */
static ig_status count_read(field schema, const char *name, const char *place, int64_t *n)
{
    const field f = field_get(schema, name);
    if (f.kind == JSON_NOTHING)
        return IG_OK;
    *n = field_int(f, -1);
    if (*n < 0 || *n > ITEMS_MOST)
        FAIL(IG_ERR_UNSUPPORTED, "the schema at %s: '%s' is not a number from 0 to %d", place, name,
             ITEMS_MOST);
    return IG_OK;
}

static ig_status array_write(writer *w, field schema, const char *place, text *t)
{
    const field items = field_get(schema, "items"), first = field_get(schema, "prefixItems");
    char inner[PLACE];
    int64_t least = 0, most = -1;
    int rule = -1;
    TRY(count_read(schema, "minItems", place, &least));
    TRY(count_read(schema, "maxItems", place, &most));
    if (first.kind == JSON_ARRAY) {
        list_writer l = {w, place, " ws \",\" ws ", "prefixItems", t, 0};
        text_add(t, "\"[\" ws ");
        TRY(field_each(first, listed_write, &l));
        text_add(t, " ws \"]\"");
        if ((items.kind != JSON_NOTHING && field_bool(items, true)) || least > l.n ||
            (most >= 0 && most < l.n))
            return refuse(place,
                          "with 'prefixItems', 'items' must be false, and the numbers of items "
                          "must fit");
        return IG_OK;
    }
    snprintf(inner, sizeof inner, "%.200s/items", place);
    if (items.kind == JSON_OBJECT)
        TRY(rule_write(w, items, inner, &rule));
    if (most >= 0 && most < least)
        return refuse(place, "'maxItems' is less than 'minItems'");
    if (most == 0) {
        text_add(t, "\"[\" ws \"]\"");
        return IG_OK;
    }
    char item[32] = "value";
    if (rule >= 0)
        snprintf(item, sizeof item, "r%d", rule);
    text_add(t, "\"[\" ws (%s (ws \",\" ws %s){%" PRId64 ",", item, item, least ? least - 1 : 0);
    if (most > 0)
        text_add(t, "%" PRId64, most - 1);
    text_add(t, "})%s ws \"]\"", least ? "" : "?");
    return IG_OK;
}

static ig_status string_write(field schema, const char *place, text *t)
{
    int64_t least = 0, most = -1;
    const field format = field_get(schema, "format");
    TRY(count_read(schema, "minLength", place, &least));
    TRY(count_read(schema, "maxLength", place, &most));
    for (int i = 0; formats[i]; i++)
        if (field_is(format, formats[i])) {
            text_add(t, "format-%s", formats[i]);
            return least || most >= 0 ? refuse(place, "a text with a format has no other length")
                                      : IG_OK;
        }
    if (most >= 0 && most < least)
        return refuse(place, "'maxLength' is less than 'minLength'");
    text_add(t, "\"\\\"\" character{%" PRId64 ",", least);
    if (most >= 0)
        text_add(t, "%" PRId64, most);
    text_add(t, "} \"\\\"\"");
    return IG_OK;
}

/* ---- schemas --------------------------------------------------------------------------------- */

static ig_status type_write(writer *w, field schema, field type, const char *place, text *t)
{
    if (field_is(type, "object"))
        return object_write(w, schema, place, t);
    if (field_is(type, "array"))
        return array_write(w, schema, place, t);
    if (field_is(type, "string"))
        return string_write(schema, place, t);
    for (int i = 0; types[i]; i++)
        if (field_is(type, types[i])) {
            text_add(t, "%s", types[i]);
            return IG_OK;
        }
    return refuse(place, "'type' is not a type of JSON");
}

typedef struct type_writer {
    writer *w;
    field schema;
    const char *place;
    text *t;
    int n;
} type_writer;

static ig_status listed_type_write(void *context, json_text key, field value)
{
    type_writer *l = context;
    (void)key;
    text_add(l->t, l->n++ ? " | " : "");
    return type_write(l->w, l->schema, value, l->place, l->t);
}

static ig_status literal_write(void *context, json_text key, field value)
{
    list_writer *l = context;
    (void)key;
    text_add(l->t, l->n++ ? " | " : "");
    literal_add(l->t, value.at, value.bytes);
    return IG_OK;
}

static ig_status keyword_check(void *context, json_text key, field value)
{
    (void)value;
    if (one_of(key, known))
        return IG_OK;
    FAIL(IG_ERR_UNSUPPORTED, "the schema at %s: the keyword '%.*s' is not supported",
         (const char *)context, (int)(key.bytes < 60 ? key.bytes : 60), key.at);
}

typedef struct member_search {
    const char *name;
    size_t bytes;
    field found;
} member_search;

static ig_status member_match(void *context, json_text key, field value)
{
    member_search *s = context;
    if (key.bytes == s->bytes && memcmp(key.at, s->name, s->bytes) == 0)
        s->found = value;
    return IG_OK;
}

/* The rule of "#", "#/$defs/NAME" or another path of names. */
static ig_status ref_write(writer *w, field ref, const char *place, int *index)
{
    char *path = field_text(ref, NULL);
    field at = w->root;
    ig_status status = IG_OK;
    if (!path)
        return ig_failed() ? IG_ERR_MEMORY : refuse(place, "'$ref' is not a text");
    for (int i = 0; i < w->n_refs; i++)
        if (strcmp(w->refs[i].name, path) == 0) {
            *index = w->refs[i].rule;
            memory_free(path);
            return IG_OK;
        }
    bool fine = path[0] == '#' && w->n_refs < REFS_MOST;
    for (const char *c = path + 1; fine && *c;) {
        member_search s = {.name = c + 1, .bytes = strcspn(c + 1, "/")};
        fine = *c == '/' && at.kind == JSON_OBJECT && field_each(at, member_match, &s) == IG_OK &&
               s.found.kind != JSON_NOTHING;
        at = s.found;
        c += 1 + s.bytes;
    }
    if (!fine) {
        ig_fail(IG_ERR_UNSUPPORTED,
                "the schema at %s: '$ref' %.100s is not in this schema; only '#' and '#/...' are "
                "supported",
                place, path);
        memory_free(path);
        return IG_ERR_UNSUPPORTED;
    }
    const int own = w->n++; /* known before it is written, for schemas that contain themselves */
    w->refs[w->n_refs].rule = own;
    w->refs[w->n_refs++].name = path;
    int rule;
    status = rule_write(w, at, path, &rule);
    if (status == IG_OK)
        text_add(&w->out, "r%d ::= r%d\n", own, rule);
    *index = own;
    return status;
}

/* The expression of a schema. */
static ig_status schema_write(writer *w, field schema, const char *place, text *t)
{
    static const char *const choices[] = {"anyOf", "oneOf", "allOf"};
    const field type = field_get(schema, "type"), ref = field_get(schema, "$ref");
    list_writer literals = {.t = t};
    int rule = 0;
    if (schema.kind == JSON_BOOL && field_bool(schema, false)) {
        text_add(t, "value");
        return IG_OK;
    }
    if (schema.kind != JSON_OBJECT)
        return refuse(place, "a schema is an object or true");
    TRY(field_each(schema, keyword_check, (void *)place));
    if (field_given(ref)) {
        TRY(ref_write(w, ref, place, &rule));
        text_add(t, "r%d", rule);
        return IG_OK;
    }
    if (field_get(schema, "const").kind != JSON_NOTHING)
        return literal_write(&literals, (json_text){0}, field_get(schema, "const"));
    if (field_get(schema, "enum").kind == JSON_ARRAY) {
        TRY(field_each(field_get(schema, "enum"), literal_write, &literals));
        return literals.n ? IG_OK : refuse(place, "'enum' is empty");
    }
    for (int i = 0; i < 3; i++) {
        const field list = field_get(schema, choices[i]);
        list_writer l = {w, place, " | ", choices[i], t, 0};
        if (list.kind != JSON_ARRAY)
            continue;
        if (field_given(field_get(schema, "properties")))
            return refuse(place, "'properties' beside a list of schemas is not supported");
        TRY(field_each(list, listed_write, &l));
        return l.n == 1 || (l.n && i < 2)
                   ? IG_OK
                   : refuse(place, "'allOf' must have one schema, others at least one");
    }
    if (type.kind == JSON_ARRAY) {
        type_writer l = {w, schema, place, t, 0};
        TRY(field_each(type, listed_type_write, &l));
        return l.n ? IG_OK : refuse(place, "'type' is empty");
    }
    if (field_given(type))
        return type_write(w, schema, type, place, t);
    if (field_given(field_get(schema, "properties")))
        return object_write(w, schema, place, t);
    if (field_given(field_get(schema, "items")) || field_given(field_get(schema, "prefixItems")))
        return array_write(w, schema, place, t);
    text_add(t, "value");
    return IG_OK;
}

static ig_status rule_write(writer *w, field schema, const char *place, int *index)
{
    text body = {0};
    *index = w->n++;
    const ig_status status = schema_write(w, schema, place, &body);
    if (status == IG_OK)
        text_add(&w->out, "r%d ::= %s\n", *index, body.at ? body.at : "\"\"");
    const bool failed = body.failed;
    text_drop(&body);
    return failed ? error_waiting(IG_ERR_MEMORY) : status;
}

char *schema_to_gbnf(ig_text schema)
{
    json_reader r;
    writer *w = memory_new(sizeof *w);
    int root = 0;
    if (!w)
        return NULL;
    json_begin(&r, schema.at, schema.bytes);
    w->root = field_take(&r);
    ig_status status = json_end(&r);
    if (status == IG_ERR_FORMAT)
        ig_fail(IG_ERR_FORMAT, "the schema is not JSON: %s", r.problem);
    text_add(&w->out, "%s", basics);
    if (status == IG_OK)
        status = rule_write(w, w->root, "#", &root);
    text_add(&w->out, "root ::= r%d\n", root);
    for (int i = 0; i < w->n_refs; i++)
        memory_free(w->refs[i].name);
    char *out = status == IG_OK ? text_take(&w->out) : NULL;
    text_drop(&w->out);
    memory_free(w);
    return out;
}
