/* Fields of JSON objects, for configuration files: values are looked up by name in the source. For small objects; large
 * ones are read with json.h directly.
 */
#ifndef TEXT_FIELD_H
#define TEXT_FIELD_H

#include "base/json.h"

/* A JSON value in a source that has been checked as a whole. Absent values have kind JSON_NOTHING. */
typedef struct field {
    const char *at;
    size_t bytes;
    json_kind kind;
} field;

/* Takes the next value of the reader, whole. */
field field_take(json_reader *r);

/* The value of that name; absent if the object has none or is not an object. A path has dots: "a.b". */
field field_get(field object, const char *path);
/* True if there is a value other than null. */
bool field_given(field f);

/* Values; the default if the field is absent, null or of another kind. */
bool field_bool(field f, bool otherwise);
int64_t field_int(field f, int64_t otherwise);
double field_number(field f, double otherwise);
/* A copy, terminated; release with memory_free. NULL, without an error, if it is not a string. */
char *field_text(field f, size_t *bytes);
/* True if it is that string. */
bool field_is(field f, const char *plain);

/* Fails because a part of tokenizer.json, "normalizer" for example, is of a type that is not supported. */
ig_status field_refuse(const char *part, field type);

/* Sets *out to the place of a string in a list that ends with NULL; leaves it if the field is absent or null. Fails with a
 * message that names the field, `where`, if it is anything else. */
ig_status field_choice(field f, const char *where, const char *const *names, int *out);
/* Sets *out to the only code point of a string, in the same way. */
ig_status field_rune(field f, const char *where, uint32_t *out);

/* Calls visit for each item of an array or each member of an object (whose key is else empty) until it fails. */
ig_status field_each(field f, ig_status (*visit)(void *context, json_text key, field value),
                     void *context);

#endif
