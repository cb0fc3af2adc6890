/* A strict reader of JSON (RFC 8259), and a writer of JSON.
 *
 * The reader returns one value after another and builds no tree, so hostile text cannot make it use much more
 * memory than the text itself. It checks the whole grammar, including UTF-8 and surrogate pairs, and rejects
 * duplicate keys and nesting beyond JSON_DEPTH_MAX.
 *
 * The first failure is kept: from then on every call returns false, which ends every loop, and only
 * json_end has to be checked.
 *
 *     json_begin(&r, source, bytes);
 *     if (json_open_object(&r))
 *         while (json_next_key(&r, &key))
 *             json_text_is(key, "size") ? json_read_uint(&r, &size) : json_skip(&r);
 *     status = json_end(&r);
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/text.h"

enum { JSON_DEPTH_MAX = 64, JSON_NUMBER_MAX = 1024 /* characters of a number */ };

typedef enum json_kind {
    JSON_NOTHING, /* no value begins here */
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_TEXT,
    JSON_ARRAY,
    JSON_OBJECT
} json_kind;

/* A string in the source, between its quotes: checked, with its escapes still in place. Valid as long as the source. */
typedef struct json_text {
    const char *at;
    size_t bytes;
    bool escaped; /* it contains a backslash */
} json_text;

/* A number without fraction and exponent is an exact i64 or, above that, u64. All others, and -0, are the
 * nearest double. */
typedef struct json_number {
    enum { JSON_I64, JSON_U64, JSON_F64 } kind;
    union {
        int64_t i;
        uint64_t u;
        double f;
    } as;
} json_number;

typedef struct json_reader {
    const char *begin, *at, *end;
    ig_status status;
    char problem[160]; /* "at byte 7: expected ':', found '}'" */
    json_text *keys;   /* of all objects that are open, outermost first */
    int n_keys, room;
    int depth;
    struct {
        int first_key;
        bool object;
        bool begun; /* it already has a member or an item */
    } open[JSON_DEPTH_MAX];
} json_reader;

/* Begins to read. The source needs no terminator and is borrowed until json_end. */
void json_begin(json_reader *r, const char *source, size_t bytes);

/* Checks that only space follows the value that was read. Returns IG_OK; IG_ERR_FORMAT, with the reason in
 * r->problem; or IG_ERR_MEMORY, which is then also the thread's error. Must always be called. r->at is the
 * position where reading stopped. */
ig_status json_end(json_reader *r);

/* The kind of the next value. */
json_kind json_peek(json_reader *r);

/* Enters an object or array; json_next_key and json_next_item leave it when they return false. After each key or item,
 * read, open or skip exactly one value. */
bool json_open_object(json_reader *r);
bool json_open_array(json_reader *r);
bool json_next_key(json_reader *r, json_text *key);
bool json_next_item(json_reader *r);

bool json_read_null(json_reader *r);
bool json_read_bool(json_reader *r, bool *value);
bool json_read_text(json_reader *r, json_text *value);
bool json_read_number(json_reader *r, json_number *value);
bool json_read_uint(json_reader *r, uint64_t *value); /* an integer from 0 to 2**64 - 1 */
bool json_skip(json_reader *r);                       /* one value of any kind */

/* The string without escapes. json_text_is compares it with plain text, which has no backslash. json_text_copy returns
 * a terminated copy (release with memory_free; NULL on failure) and, unless bytes is NULL, its length in *bytes. */
bool json_text_is(json_text value, const char *plain);
char *json_text_copy(json_text value, size_t *bytes);

/* Adds plain text as a JSON string. In text that is not UTF-8, '?' replaces all bytes that are not ASCII. */
void json_quote(text *t, const char *plain);

/* Adds JSON. The format is JSON without quotes; the writer adds quotes, escapes and the commas between calls:
 *
 *     json_add(&t, "{name: %s, rate: %.6g, shape: [", name, rate);
 *     for (int i = 0; i < n; i++)
 *         json_add(&t, "%d", shape[i]);
 *     json_add(&t, "]}\n");
 *
 * A key ends with ':' and may be %s. Conversions are as in printf: %s is a string, or null for NULL; %hhd is a
 * bool; %d, %u with ll, l or z are integers; %g and %f, with a precision or without, are null if they are not finite.
 * A line break in the format, with the blanks after it, precedes the next value. */
void json_add(text *t, const char *format, ...) IG_PRINTF(2, 3);
/* before: the last character of the text to which t will be added; 0 if there is none. */
void json_add_list(text *t, char before, const char *format, va_list args) IG_PRINTF(3, 0);
/* True if a comma belongs between text with this last character and a value. */
bool json_comma_after(char last);

/* Returns true if the text is valid UTF-8. */
bool json_is_utf8(const char *plain);

#endif
