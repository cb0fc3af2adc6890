/* Fields of JSON objects, for configuration files: values are looked up by name in the source. Meant for small objects;
 * large ones are read with json.h directly.
 */
#ifndef TEXT_FIELD_H
#define TEXT_FIELD_H

#include "base/json.h"

/* A JSON value in a source that has been validated. Absent values have kind JSON_NOTHING. */
typedef struct field {
    const char *at;
    size_t bytes;
    json_kind kind;
} field;

/* Takes the whole next value from the reader. */
field field_take(json_reader *r);

/* The member with that name; absent if the object does not have it or is not an object. A path has dots: "a.b". */
field field_get(field object, const char *path);
/* True if the value is present and not null. */
bool field_given(field f);

/* The value, or the default if the field is absent, null or of another kind. */
bool field_bool(field f, bool otherwise);
int64_t field_int(field f, int64_t otherwise);
double field_number(field f, double otherwise);
/* A terminated copy; release it with memory_free. NULL, without an error, if the value is not a string. */
char *field_text(field f, size_t *bytes);
/* True if the value is that string. */
bool field_is(field f, const char *plain);

/* Fails because a part of tokenizer.json, such as "normalizer", has an unsupported type. */
ig_status field_refuse(const char *part, field type);

/* Sets *out to the index of the string in a list that ends with NULL. Leaves *out if the field is absent or null. For
 * any other value, fails with a message that names the field, `where`. */
ig_status field_choice(field f, const char *where, const char *const *names, int *out);
/* Sets *out to the code point of a string that has exactly one, with the same rules. */
ig_status field_rune(field f, const char *where, uint32_t *out);

/* Calls visit for each item of an array (with an empty key) or each member of an object, until it fails. */
ig_status field_each(field f, ig_status (*visit)(void *context, json_text key, field value),
                     void *context);

#endif
