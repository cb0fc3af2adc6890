/* The .npy format: ig_load and ig_save.
 *
 * A file is magic, version, header length, a Python dict as text (descr, fortran_order, shape),
 * then the elements. The file is untrusted: the dict is parsed by a strict grammar, products of sizes are
 * checked for overflow, and the size of a file is checked before memory is allocated. For a pipe, memory
 * grows only with the bytes that arrive.
 */
#include "lib/io/npy.h"
#include "lib/io/image.h"
#include "lib/io/table.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAGIC_BYTES = 6,
    PREAMBLE_BYTES = 8,           /* magic and version */
    HEADER_MAX_BYTES = 64 * 1024, /* NumPy writes 118; its own reader stops at 10,000 */
    HEADER_ALIGN = 64,            /* where elements start in a file of ours */
    GROWTH_DIGITS = 21,           /* room that NumPy leaves for the first length to grow */
};

static const char magic[MAGIC_BYTES + 1] = "\x93NUMPY";

static const char native_order = IO_BIG_ENDIAN ? '>' : '<';

/* The format's names of our dtypes. NumPy has no bf16: ml_dtypes stores it as V2, and so do we. */
static const struct code {
    ig_dtype dtype;
    const char *text;
} codes[] = {
    {IG_BOOL, "b1"}, {IG_I8, "i1"},  {IG_I16, "i2"}, {IG_I32, "i4"}, {IG_I64, "i8"},
    {IG_U8, "u1"},   {IG_U16, "u2"}, {IG_U32, "u4"}, {IG_U64, "u8"}, {IG_F16, "f2"},
    {IG_BF16, "V2"}, {IG_F32, "f4"}, {IG_F64, "f8"}, {IG_C64, "c8"}, {IG_C128, "c16"},
};

/* Kinds that NumPy writes but Ingot does not support, and what the user can do. */
static const struct foreign {
    const char *begins;
    const char *what;
    const char *advice;
} foreigns[] = {
    {"c32", "complex long doubles", "save x.astype('complex128')"},
    {"O", "Python objects", "convert it in NumPy with x.astype('float64') and save it again"},
    {"S", "byte strings", "save numbers, such as x.view('uint8')"},
    {"a", "byte strings", "save numbers, such as x.view('uint8')"},
    {"U", "text", "save numbers, such as x.view('uint32')"},
    {"M", "dates", "save x.view('int64')"},
    {"m", "time spans", "save x.view('int64')"},
    {"V", "raw records", "save each field by itself, or x.view('uint8')"},
    {"f12", "long doubles", "save x.astype('float64')"},
    {"f16", "long doubles", "save x.astype('float64')"},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ---- the header: a dict of three keys ------------------------------------------------------ */

struct parser {
    const struct io_file *file;
    const char *begin, *at, *end;
};

enum { QUOTE_BYTES = 24 };

/* Copies as much of a header as fits into a message; it may contain any bytes. */
static void quote(const char *text, size_t length, char out[QUOTE_BYTES])
{
    size_t n = 0;
    for (; n < length && n < QUOTE_BYTES - 1; n++)
        out[n] = text[n] < ' ' || text[n] > '~' ? '?' : text[n];
    out[n] = '\0';
}

static ig_status parse_fail(const struct parser *p, const char *expected)
{
    char near[QUOTE_BYTES];
    const size_t rest = (size_t)(p->end - p->at);
    quote(p->at, rest, near);
    return io_fail(p->file, IG_ERR_FORMAT,
                   "its header is not valid at byte %td: expected %s, found %s%s%s; "
                   "save the file again with NumPy",
                   p->at - p->begin, expected, rest ? "'" : "the end", near, rest ? "'" : "");
}

static void parse_space(struct parser *p)
{
    while (p->at < p->end && *p->at && strchr(" \t\n\r\f\v", *p->at))
        p->at++;
}

/* Reads the character c, after any space; false, without reading it, if another one is next. */
static bool parse_char(struct parser *p, char c)
{
    parse_space(p);
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

static bool parse_word(struct parser *p, const char *word)
{
    const size_t length = strlen(word);
    parse_space(p);
    if ((size_t)(p->end - p->at) < length || memcmp(p->at, word, length) != 0)
        return false;
    p->at += length;
    return true;
}

/* A string in single or double quotes. NumPy writes no backslashes here, so they are refused. */
static ig_status parse_string(struct parser *p, const char *expected, const char **text,
                              size_t *length)
{
    parse_space(p);
    if (p->at == p->end || (*p->at != '\'' && *p->at != '"'))
        return parse_fail(p, expected);
    const char mark = *p->at;
    const char *c = p->at + 1;
    while (c < p->end && *c != mark && *c != '\\' && (unsigned char)*c >= ' ')
        c++;
    if (c == p->end || *c != mark) {
        p->at = c;
        return parse_fail(p, "the end of a string");
    }
    *text = p->at + 1;
    *length = (size_t)(c - *text);
    p->at = c + 1;
    return IG_OK;
}

static ig_status descr_fail(const struct parser *p, const char *text, size_t length,
                            const char *code)
{
    char shown[QUOTE_BYTES];
    quote(text, length, shown);
    for (size_t i = 0; i < COUNT(foreigns); i++)
        if (strncmp(code, foreigns[i].begins, strlen(foreigns[i].begins)) == 0)
            return io_fail(p->file, IG_ERR_UNSUPPORTED,
                           "it holds %s (dtype '%s'), which Ingot does not; %s", foreigns[i].what,
                           shown, foreigns[i].advice);
    return io_fail(p->file, IG_ERR_FORMAT,
                   "its dtype '%s' is unknown; Ingot reads b1, i1 to i8, u1 to u8, f2, f4, f8, c8, "
                   "c16, and V2 as bf16: convert it in NumPy with x.astype(...)",
                   shown);
}

/* '<f4': byte order, kind, bytes. Without an order, or with '=' or '|', it is the machine's own, as in
 * NumPy. */
static ig_status parse_descr(struct parser *p, struct npy_layout *header)
{
    const char *text = "";
    size_t length = 0;
    parse_space(p);
    if (p->at < p->end && strchr("[({", *p->at) && *p->at)
        return io_fail(p->file, IG_ERR_UNSUPPORTED,
                       "it holds records (a structured dtype), which Ingot does not; "
                       "save each field by itself, such as x['name']");
    const ig_status status = parse_string(p, "a dtype such as '<f4'", &text, &length);
    if (status != IG_OK)
        return status;

    const char order = length && strchr("<>=|", *text) ? *text : '=';
    const size_t skip = length && strchr("<>=|", *text) ? 1 : 0;
    char code[16] = "";
    if (length - skip < sizeof code)
        memcpy(code, text + skip, length - skip);
    for (size_t i = 0; i < COUNT(codes); i++)
        if (strcmp(codes[i].text, code) == 0) {
            header->dtype = codes[i].dtype;
            header->swap = (order == '<' || order == '>') && order != native_order &&
                           ig_dtype_bytes(header->dtype) > 1;
            return IG_OK;
        }
    return descr_fail(p, text, length, code);
}

static ig_status parse_fortran(struct parser *p, struct npy_layout *header)
{
    header->fortran = parse_word(p, "True");
    if (!header->fortran && !parse_word(p, "False"))
        return parse_fail(p, "True or False");
    return IG_OK;
}

/* A length: decimal digits, and an optional L, which Python 2 wrote after them. */
static ig_status parse_length(struct parser *p, int64_t *length)
{
    parse_space(p);
    const char *first = p->at;
    int64_t value = 0;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *p->at - '0', &value)) {
            p->at = first;
            return parse_fail(p, "a length below 2**63");
        }
    if (p->at == first)
        return parse_fail(p, "a length (0 or more)");
    if (*first == '0' && p->at - first > 1) {
        p->at = first;
        return parse_fail(p, "a length without leading zeros");
    }
    if (p->at < p->end && *p->at == 'L')
        p->at++;
    *length = value;
    return IG_OK;
}

/* (), (3,), (2, 3): a tuple of one needs its comma, as in Python. */
static ig_status parse_shape(struct parser *p, struct npy_layout *header)
{
    int ndim = 0;
    bool comma = true;
    if (!parse_char(p, '('))
        return parse_fail(p, "a shape such as (2, 3)");
    while (!parse_char(p, ')')) {
        int64_t length = 0;
        if (!comma)
            return parse_fail(p, "',' or ')'");
        const ig_status status = parse_length(p, &length);
        if (status != IG_OK)
            return status;
        if (ndim < IG_MAX_NDIM)
            header->shape[ndim] = length;
        ndim++;
        comma = parse_char(p, ',');
        if (ndim == 1 && !comma)
            return parse_fail(p, "',' (a shape of one axis is written (3,))");
    }
    if (ndim > IG_MAX_NDIM)
        return io_fail(p->file, IG_ERR_UNSUPPORTED,
                       "it has %d axes, and Ingot allows %d; reshape it in NumPy", ndim,
                       IG_MAX_NDIM);
    header->ndim = ndim;
    return IG_OK;
}

static const struct key {
    const char *name;
    ig_status (*parse)(struct parser *p, struct npy_layout *header);
} keys[] = {
    {"descr", parse_descr},
    {"fortran_order", parse_fortran},
    {"shape", parse_shape},
};

/* One "key: value"; seen has a bit for each key. */
static ig_status parse_entry(struct parser *p, struct npy_layout *header, unsigned *seen)
{
    const char *name = "";
    size_t length = 0;
    char shown[QUOTE_BYTES];
    const char *start = p->at;
    const ig_status status = parse_string(p, "a key in quotes, or '}'", &name, &length);
    if (status != IG_OK)
        return status;
    quote(name, length, shown);
    for (size_t i = 0; i < COUNT(keys); i++) {
        if (strlen(keys[i].name) != length || memcmp(keys[i].name, name, length) != 0)
            continue;
        if (*seen & 1u << i) {
            p->at = start;
            return parse_fail(p, "each key once");
        }
        *seen |= 1u << i;
        if (!parse_char(p, ':'))
            return parse_fail(p, "':'");
        return keys[i].parse(p, header);
    }
    return io_fail(p->file, IG_ERR_FORMAT,
                   "its header has a key '%s' that is not of the format (descr, fortran_order, "
                   "shape); save the file again with NumPy",
                   shown);
}

/* { entries }, followed only by space. */
static ig_status parse_dict(struct parser *p, struct npy_layout *header)
{
    unsigned seen = 0;
    bool comma = true;
    if (!parse_char(p, '{'))
        return parse_fail(p, "'{'");
    while (!parse_char(p, '}')) {
        if (!comma)
            return parse_fail(p, "',' or '}'");
        const ig_status status = parse_entry(p, header, &seen);
        if (status != IG_OK)
            return status;
        comma = parse_char(p, ',');
    }
    parse_space(p);
    if (p->at != p->end)
        return parse_fail(p, "the end");
    for (size_t i = 0; i < COUNT(keys); i++)
        if (!(seen & 1u << i))
            return io_fail(p->file, IG_ERR_FORMAT,
                           "its header has no '%s'; save the file again with NumPy", keys[i].name);
    return IG_OK;
}

static ig_status header_measure(const struct io_file *file, struct npy_layout *header)
{
    if (io_measure(header->shape, header->ndim, header->dtype, &header->bytes))
        return IG_OK;
    return io_fail(
        file, IG_ERR_FORMAT,
        "its shape has more elements than can be addressed; the file is damaged: save it again");
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Reports that a file is not an npy file, and what it probably is. */
static ig_status magic_fail(const struct io_file *file, const unsigned char *bytes, size_t got)
{
    if (got == 0)
        return io_fail(file, IG_ERR_FORMAT, "it is empty; save it again");
    if (got >= 4 && memcmp(bytes, "PK\3\4", 4) == 0)
        return io_fail(file, IG_ERR_UNSUPPORTED,
                       "it is a zip archive (npz), which holds several arrays; load it with "
                       "ig_tensors_load");
    return io_fail(file, IG_ERR_FORMAT,
                   "it is not an npy file (it does not begin with \\x93NUMPY), and not an image "
                   "(PNG, JPEG, BMP, PNM, TIFF); save arrays with numpy.save or ig_save");
}

static ig_status header_cut(const struct io_file *file, size_t promised, size_t found)
{
    return io_fail(file, IG_ERR_FORMAT,
                   "the file is cut short: %zu bytes of header are promised, %zu are there; "
                   "copy or save it again",
                   promised, found);
}

/* Reads magic, version and header length; *length is within the limit and the file. */
static ig_status preamble_read(struct io_file *file, size_t *length)
{
    unsigned char bytes[PREAMBLE_BYTES + 4];
    size_t got = 0;
    ig_status status = io_read(file, bytes, PREAMBLE_BYTES, &got);
    if (status != IG_OK)
        return status;
    if (got < MAGIC_BYTES || memcmp(bytes, magic, MAGIC_BYTES) != 0)
        return magic_fail(file, bytes, got);
    if (got < PREAMBLE_BYTES)
        return header_cut(file, PREAMBLE_BYTES, got);

    const unsigned char *version = bytes + MAGIC_BYTES;
    if (version[0] < 1 || version[0] > 3 || version[1] != 0)
        return io_fail(file, IG_ERR_UNSUPPORTED,
                       "it has version %d.%d of the npy format; Ingot reads 1.0, 2.0 and 3.0: "
                       "save it again with numpy.save",
                       version[0], version[1]);
    const size_t width = version[0] == 1 ? 2 : 4;
    status = io_read(file, bytes + PREAMBLE_BYTES, width, &got);
    if (status != IG_OK)
        return status;
    if (got < width)
        return header_cut(file, PREAMBLE_BYTES + width, PREAMBLE_BYTES + got);

    *length = 0;
    for (size_t i = 0; i < width; i++)
        *length |= (size_t)bytes[PREAMBLE_BYTES + i] << 8 * i;
    if (*length > HEADER_MAX_BYTES)
        return io_fail(file, IG_ERR_FORMAT,
                       "its header claims to be %zu bytes long, and Ingot allows %d; "
                       "the file is damaged or holds records: save plain numbers",
                       *length, HEADER_MAX_BYTES);
    if (file->left >= 0 && (int64_t)*length > file->left)
        return header_cut(file, *length, (size_t)file->left);
    return IG_OK;
}

ig_status npy_read_layout(struct io_file *file, struct npy_layout *header)
{
    size_t length = 0, got = 0;
    ig_status status = preamble_read(file, &length);
    if (status != IG_OK)
        return status;
    char *text = malloc(length + 1);
    if (!text)
        return io_fail(file, IG_ERR_MEMORY, "no memory for its header of %zu bytes; free some",
                       length);
    status = io_read(file, text, length, &got);
    if (status == IG_OK && got < length)
        status = header_cut(file, length, got);
    if (status == IG_OK)
        status = parse_dict(&(struct parser){file, text, text, text + length}, header);
    if (status == IG_OK)
        status = header_measure(file, header);
    free(text);
    return status;
}

/* Converts the elements: to our byte order, and bools to 0 and 1, because NumPy takes every nonzero byte
 * for true. */
static void data_adapt(const struct npy_layout *header, unsigned char *data)
{
    if (header->swap)
        io_swap(data, header->bytes, io_swap_bytes(header->dtype));
    if (header->dtype == IG_BOOL)
        for (size_t i = 0; i < header->bytes; i++)
            data[i] = data[i] != 0;
}

/* A Fortran file is the row-major file of the transposed array: it is read as such, and transposed by a view. */
static ig_array *array_make(const struct npy_layout *header, const void *data)
{
    const int ndim = header->ndim;
    int64_t shape[IG_MAX_NDIM + 1], axes[IG_MAX_NDIM + 1];
    for (int i = 0; i < ndim; i++) {
        shape[i] = header->shape[header->fortran ? ndim - 1 - i : i];
        axes[i] = ndim - 1 - i;
    }
    ig_array *x = ig_from_data(data, (ig_ints){shape, ndim}, header->dtype);
    return header->fortran && ndim > 1 ? ig_permute_dims(x, (ig_ints){axes, ndim}) : x;
}

ig_array *npy_read(struct io_file *file)
{
    ig_array *x = NULL;
    void *data = NULL;
    struct npy_layout header = {.dtype = IG_DTYPE_NONE};
    if (npy_read_layout(file, &header) == IG_OK &&
        io_read_elements(file, header.bytes, header.dtype, &data) == IG_OK) {
        data_adapt(&header, data);
        x = array_make(&header, data);
    }
    free(data);
    return x;
}

/* True for a Zarr array, an HDF5 file or a dataset in one: what ig_open reads. */
static bool is_store(const char *path)
{
    static const char signature[8] = "\x89HDF\r\n\x1a\n";
    struct stat info;
    char name[4096], bytes[sizeof signature] = "";
    if (stat(path, &info) != 0)
        return errno == ENOTDIR; /* "file.h5/x" */
    if (S_ISDIR(info.st_mode))
        return snprintf(name, sizeof name, "%s/zarr.json", path) < (int)sizeof name &&
               (access(name, F_OK) == 0 ||
                (snprintf(name, sizeof name, "%s/.zarray", path) > 0 && access(name, F_OK) == 0));
    FILE *file = S_ISREG(info.st_mode) ? fopen(path, "rbe") : NULL;
    const bool read = file && fread(bytes, 1, sizeof bytes, file) == sizeof bytes;
    if (file)
        fclose(file);
    return read && memcmp(bytes, signature, sizeof bytes) == 0;
}

/* Reads all elements of a store. */
static ig_array *store_load(const char *path)
{
    ig_store *s = ig_store_open(path);
    const ig_ints shape = ig_store_shape(s);
    const ig_dtype dtype = ig_store_dtype(s);
    struct io_file named = {.verb = "load", .fd = -1};
    io_show(path, named.shown);
    int64_t zero[IG_MAX_NDIM] = {0};
    size_t bytes = 0;
    void *data = NULL;
    ig_array *x = NULL;
    if (s && io_measure(shape.v, shape.n, dtype, &bytes) && io_admit(&named, bytes) == IG_OK &&
        (data = memory_get(bytes + 1)) &&
        ig_store_read(s, (ig_ints){zero, shape.n}, shape, data) == IG_OK)
        x = ig_from_data(data, shape, dtype);
    memory_free(data);
    ig_store_close(s);
    return x;
}

ig_array *ig_load(const char *path)
{
    if (path && is_store(path))
        return store_load(path);
    struct io_file file;
    const char separator = table_separator(path);
    unsigned char first[IO_PEEK_BYTES];
    size_t n = 0;
    ig_array *x = NULL;
    if (io_open(&file, path) == IG_OK && io_peek(&file, first, sizeof first, &n) == IG_OK) {
        if (image_format_of(first, n) && !separator)
            x = image_read(&file);
        else
            x = separator ? table_read(&file, separator) : npy_read(&file);
    }
    io_close(&file);
    return x;
}

/* ---- writing ------------------------------------------------------------------------------- */

size_t npy_header(const ig_array *x, unsigned char out[NPY_HEADER_MAX_BYTES])
{
    const ig_dtype dtype = ig_dtype_of(x);
    const char *code = "";
    const char order = ig_dtype_bytes(dtype) > 1 ? native_order : '|';
    for (size_t i = 0; i < COUNT(codes); i++)
        if (codes[i].dtype == dtype)
            code = codes[i].text;

    char *const text = (char *)out + PREAMBLE_BYTES + 2;
    const size_t room = NPY_HEADER_MAX_BYTES - PREAMBLE_BYTES - 2;
    const int ndim = ig_ndim(x);
    size_t n = (size_t)snprintf(text, room, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                                order, code);
    size_t first = 0;
    for (int i = 0; i < ndim; i++) {
        const size_t before = n;
        n += (size_t)snprintf(text + n, room - n, "%s%" PRId64, i ? ", " : "", ig_dim(x, i));
        if (i == 0)
            first = n - before;
    }
    n += (size_t)snprintf(text + n, room - n, "%s), }", ndim == 1 ? "," : "");

    size_t end = PREAMBLE_BYTES + 2 + n + (ndim ? GROWTH_DIGITS - first : 0) + 1;
    end += HEADER_ALIGN - end % HEADER_ALIGN;
    memset(text + n, ' ', (size_t)((char *)out + end - 1 - (text + n)));
    out[end - 1] = '\n';
    memcpy(out, magic, MAGIC_BYTES);
    out[MAGIC_BYTES] = 1;
    out[MAGIC_BYTES + 1] = 0;
    out[PREAMBLE_BYTES] = (unsigned char)((end - PREAMBLE_BYTES - 2) & 0xff);
    out[PREAMBLE_BYTES + 1] = (unsigned char)((end - PREAMBLE_BYTES - 2) >> 8);
    return end;
}

/* Refuses a name whose suffix means another format. Names without a suffix are allowed: streams and devices have none.
 */
static ig_status suffix_check(const char *path, const ig_array *x)
{
    char shown[IO_SHOWN_BYTES];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    io_show(path, shown);
    if (table_separator(path) && ig_ndim(x) > 2)
        return ig_fail(
            IG_ERR_ARGUMENT,
            "save '%s': the array has %d dimensions, and a table has two; reshape it, or "
            "save it as .npy",
            shown, ig_ndim(x));
    if (!dot || dot == name || dot[1] == 0 || strcasecmp(dot, ".npy") == 0 || table_separator(path))
        return IG_OK;
    const bool named = strcasecmp(dot, ".npz") == 0 || strcasecmp(dot, ".safetensors") == 0;
    return ig_fail(IG_ERR_ARGUMENT, "save '%s': one array is saved as .npy, .csv, .tsv or .txt%s",
                   shown, named ? "; this file would hold arrays with names" : "");
}

static ig_status npy_write(struct io_file *file, ig_array *x)
{
    unsigned char header[NPY_HEADER_MAX_BYTES];
    TRY(io_write(file, header, npy_header(x, header)));
    return io_write(file, ig_data(x), (size_t)ig_size(x) * ig_dtype_bytes(ig_dtype_of(x)));
}

ig_status ig_write_file(const char *path, const void *bytes, size_t n)
{
    struct io_file file;
    if (!bytes && n)
        return ig_fail(IG_ERR_ARGUMENT, "ig_write_file: bytes is NULL");
    ig_status status = io_create(&file, path);
    if (status == IG_OK)
        status = io_write(&file, bytes, n);
    return io_finish(&file, status);
}

ig_status ig_save(const char *path, ig_array *x)
{
    if (!x)
        return ig_fail(IG_ERR_ARGUMENT, "save: the array is NULL");
    const char *dot = path ? strrchr(path, '.') : NULL;
    if (dot && (!strcmp(dot, ".h5") || !strcmp(dot, ".hdf5") || !strcmp(dot, ".zarr") ||
                strstr(path, ".h5/") || strstr(path, ".hdf5/")))
        return ig_save_store(path, x, NULL, NULL);
    if (path)
        TRY(suffix_check(path, x));
    const void *data = ig_data(x);
    if (!data && (ig_size(x) != 0 || ig_failed()))
        return io_waiting();

    struct io_file file;
    const char separator = table_separator(path);
    ig_status status = io_create(&file, path);
    if (status == IG_OK)
        status = separator ? table_write(&file, x, separator) : npy_write(&file, x);
    return io_finish(&file, status);
}
