/* Structs of kernels from the command line: "{1, {2, 3}, .mass = 0.5}" -> bytes, and records of .npy files.
 *
 * Fields are written in order or as .name=, nested ones in braces. Missing fields are 0, as in C. A number is
 * any calculator expression. */
#include "run/args.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NPY_MOST_BYTES = 1 << 30 };

typedef struct literal {
    const args_reader *reader;
    const char *parameter;
    const char *at; /* the unread text */
    int code;       /* -1, or the exit code after reporting a mistake */
} literal;

static void skip_blanks(literal *l)
{
    while (isspace((unsigned char)*l->at))
        l->at++;
}

static bool take(literal *l, char c)
{
    skip_blanks(l);
    if (*l->at != c)
        return false;
    l->at++;
    return true;
}

/* Reports a mistake and its position; returns false. */
static bool refuse(literal *l, const char *what, const char *name)
{
    if (l->code < 0)
        say(l->reader->command, "--arg %s: %s%s%s%s, at '%.20s'", l->parameter, what,
            name ? " '" : "", name ? name : "", name ? "'" : "", *l->at ? l->at : "the end");
    l->code = EXIT_USAGE;
    return false;
}

/* The length of a number's text: up to the comma or brace that ends it. */
static size_t number_length(const char *text)
{
    size_t n = 0;
    for (int depth = 0; text[n] && (depth || !strchr(",}", text[n])); n++)
        depth += (text[n] == '(' || text[n] == '[') - (text[n] == ')' || text[n] == ']');
    return n;
}

static bool read_number(literal *l, const ig_kernel_field *f, unsigned char *to)
{
    skip_blanks(l);
    const size_t n = number_length(l->at);
    value v = {0};
    str program = {0};
    if (!n)
        return refuse(l, "a number is missing for", f->name);
    str_add(&program, l->at, n);
    l->code = args_compute(l->reader, l->parameter, program.s, &v);
    str_free(&program);
    if (l->code >= 0)
        return false;
    if (f->dtype == IG_DTYPE_NONE && !(v.kind == V_INT && v.u.i == 0))
        return refuse(l, "a pointer in a struct can only be 0:", f->name);
    ig_array *x = f->dtype == IG_DTYPE_NONE ? NULL : args_number(&v, f->dtype);
    if (x) {
        memcpy(to, ig_data(x), ig_dtype_bytes(f->dtype));
    } else if (f->dtype != IG_DTYPE_NONE) {
        ig_error(NULL); /* the next message is more specific */
        return refuse(l, "there is no such number in", ig_dtype_name(f->dtype));
    }
    l->at += n;
    return true;
}

static bool read_field(literal *l, const ig_kernel_field *f, unsigned char *to);

static bool read_array(literal *l, const ig_kernel_field *f, unsigned char *to)
{
    const size_t each = f->bytes / (size_t)f->count;
    ig_kernel_field element = *f;
    element.count = 0;
    element.bytes = each;
    for (int64_t i = 0; !take(l, '}'); i++) {
        if (i && !take(l, ','))
            return refuse(l, "',' or '}' is missing in", f->name);
        if (i && take(l, '}'))
            return true;
        if (i == f->count)
            return refuse(l, "too many elements for", f->name);
        if (!read_field(l, &element, to + (size_t)i * each))
            return false;
    }
    return true;
}

/* Finds the field of ".name =". */
static bool read_name(literal *l, const ig_kernel_field *f, int *next)
{
    size_t n = 0;
    while (isalnum((unsigned char)l->at[n]) || l->at[n] == '_')
        n++;
    for (int i = 0; i < f->n_fields; i++)
        if (strlen(f->fields[i].name) == n && n && !strncmp(f->fields[i].name, l->at, n)) {
            *next = i;
            l->at += n;
            return take(l, '=') ? true : refuse(l, "'=' is missing after a field of", f->name);
        }
    return refuse(l, "there is no such field in", f->name);
}

static bool read_struct(literal *l, const ig_kernel_field *f, unsigned char *to)
{
    const int most = f->is_union ? 1 : f->n_fields;
    bool named = false;
    for (int i = 0, n = 0; !take(l, '}'); i++, n++) {
        if (n && !take(l, ','))
            return refuse(l, "',' or '}' is missing in", f->name);
        if (n && take(l, '}'))
            return true;
        if (take(l, '.')) {
            named = true;
            if (!read_name(l, f, &i))
                return false;
        } else if (i >= (named ? f->n_fields : most)) {
            return refuse(l, "too many fields for", f->name);
        }
        if (!read_field(l, &f->fields[i], to + f->fields[i].offset))
            return false;
    }
    return true;
}

static bool read_field(literal *l, const ig_kernel_field *f, unsigned char *to)
{
    if (!f->count && !f->n_fields)
        return read_number(l, f, to);
    if (!take(l, '{'))
        return refuse(l,
                      f->count ? "'{' is missing before the elements of"
                               : "'{' is missing before the fields of",
                      f->name);
    return f->count ? read_array(l, f, to) : read_struct(l, f, to);
}

int run_struct_read(const args_reader *r, const ig_kernel_param *p, const char *text, ig_arg *out)
{
    literal l = {r, p->name, text, -1};
    unsigned char *bytes = heap_get(p->bytes + 1);
    memset(bytes, 0, p->bytes);
    if (read_field(&l, p->holds, bytes)) {
        skip_blanks(&l);
        if (*l.at)
            refuse(&l, "nothing may follow the value of", p->name);
    }
    if (l.code >= 0) {
        free(bytes);
        return l.code;
    }
    *out = (ig_arg){.name = p->name, .kind = IG_ARG_BYTES, .u.bytes = {bytes, p->bytes}};
    return -1;
}

/* ---- records of .npy files ---- */

static uint32_t little(const unsigned char *at, int n)
{
    uint32_t x = 0;
    for (int i = 0; i < n; i++)
        x |= (uint32_t)at[i] << 8 * i;
    return x;
}

/* The offset of the data in a file of records; 0 for other files. */
static size_t records_at(const unsigned char *file, size_t bytes)
{
    if (bytes < 12 || memcmp(file, "\x93NUMPY", 6) != 0)
        return 0;
    const int width = file[6] == 1 ? 2 : 4;
    const size_t header = 8 + (size_t)width, at = header + little(file + 8, width);
    if (at > bytes)
        return 0;
    char *text = heap_get(at - header + 1);
    memcpy(text, file + header, at - header);
    text[at - header] = 0;
    const char *descr = strstr(text, "'descr': ");
    const bool records = descr && descr[9] == '[' && strstr(text, "'fortran_order': False");
    free(text);
    return records ? at : 0;
}

int run_records_read(const args_reader *r, const ig_kernel_param *p, const char *path,
                     ig_array **out)
{
    size_t bytes;
    char *file = str_read_file(path, NPY_MOST_BYTES, &bytes);
    const size_t each = p->holds->bytes;
    int code = -1;
    *out = NULL;
    const size_t at = file ? records_at((unsigned char *)file, bytes) : 0;
    if (at && (bytes - at) % each) {
        say(r->command,
            "--arg %s: the records of '%s' have %zu bytes in total, which is not a multiple of the "
            "%zu "
            "of a %s",
            p->name, path, bytes - at, each, p->holds->type);
        code = EXIT_INPUT;
    } else if (at) {
        *out =
            ig_from_data(file + at, IG_SHAPE((int64_t)((bytes - at) / each), (int64_t)each), IG_U8);
        code = *out ? -1 : fail_library(r->command);
    }
    free(file);
    return code;
}
