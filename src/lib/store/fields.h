/* Fields of JSON metadata. A value is a part of the text: fields_read finds the values of an object, and the functions
 * below read them. Messages name the file and the key. */
#ifndef STORE_FIELDS_H
#define STORE_FIELDS_H

#include "base/json.h"
#include "lib/io/file.h"

typedef struct json_part {
    const char *at; /* NULL: absent */
    size_t bytes;
} json_part;

/* Where a value is: the file, and its key, such as "codecs[1].configuration". */
typedef struct json_where {
    const struct io_file *file;
    const char *key;
} json_where;

typedef struct json_field {
    const char *name;
    bool required;
    json_part value;
} json_field;

typedef enum fields_rest {
    REST_REFUSE, /* other keys are errors */
    REST_ALLOW,  /* other keys are ignored */
    REST_OPTIONAL /* other keys are ignored if their value is an object with "must_understand": false */
} fields_rest;

ig_status json_wrong(json_where where, const char *format, ...) IG_PRINTF(2, 3);
/* Checks that a text is one JSON value. */
ig_status json_part_check(json_where where, json_part value);
/* Reads an object. Sets the values of the n fields. */
ig_status fields_read(json_where where, json_part object, json_field *fields, int n,
                      fields_rest rest);
json_kind json_part_kind(json_part value);
/* Calls fn for each item of an array, or each member of an object, whose key is then given. */
typedef ig_status (*json_part_visit)(void *ctx, json_where where, json_text key, int64_t i,
                                     json_part value);
ig_status json_part_each(json_where where, json_part value, json_part_visit fn, void *ctx);
/* Strings that fit `size`, without zero bytes; whole numbers from min to max; lists of them. */
ig_status json_part_text(json_where where, json_part value, char *out, size_t size);
ig_status json_part_int(json_where where, json_part value, int64_t min, int64_t max, int64_t *out);
ig_status json_part_ints(json_where where, json_part value, int64_t min, int64_t max, int64_t *out,
                         int *n, int room);
ig_status json_part_bool(json_where where, json_part value, bool *out);
ig_status json_part_number(json_where where, json_part value, json_number *out);
/* A copy, ended by a zero byte; NULL on failure. */
char *json_part_copy(json_part value);

#endif
