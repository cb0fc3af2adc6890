/* #include: the search for files, and the messages about missing ones. */
#include "compiler/pp/pp.h"
#include <string.h>
#include <sys/stat.h>

/* The result of the search for an include. */
typedef struct found {
    const char *key;  /* of the loaded file: a path, "<name>", or a mark and the name */
    const char *text; /* NULL: on disk at key */
    size_t bytes;
    bool given;
    struct stat info; /* of a file on disk */
} found;

static char *join(kernel_pp *pp, const char *a, const char *b, const char *c)
{
    const size_t n = strlen(a), m = strlen(b), k = strlen(c);
    char *path = kernel_arena_get(pp->arena, n + m + k + 1);
    memcpy(path, a, n);
    memcpy(path + n, b, m);
    memcpy(path + n + m, c, k + 1);
    return path;
}

static bool on_disk(found *f) { return stat(f->key, &f->info) == 0 && S_ISREG(f->info.st_mode); }

/* Searches the folder of the including file, then the folders of the options. */
static bool find_on_disk(kernel_pp *pp, const char *name, bool quoted, found *f)
{
    const kernel_options *o = pp->options;
    const char *own = pp->files[pp->n_files - 1].file->folder;
    if (*name == '/') {
        f->key = name;
        return on_disk(f);
    }
    if (quoted && own) {
        f->key = join(pp, own, name, "");
        if (on_disk(f))
            return true;
    }
    for (int i = 0; i < o->n_folders; i++) {
        const size_t n = strlen(o->folders[i]);
        f->key = join(pp, o->folders[i], n && o->folders[i][n - 1] != '/' ? "/" : "", name);
        if (on_disk(f))
            return true;
    }
    return false;
}

static bool find(kernel_pp *pp, const char *name, bool quoted, found *f)
{
    const kernel_options *o = pp->options;
    *f = (found){0};
    if (o->find && (f->text = o->find(o->context, name, quoted, &f->bytes))) {
        f->key = join(pp, "\x01", name, "");
        return true;
    }
    if (!o->no_disk && find_on_disk(pp, name, quoted, f))
        return true;
    f->text = pp_header_text(name);
    if (!f->text)
        return false;
    f->bytes = strlen(f->text);
    f->key = join(pp, "<", name, ">");
    f->given = true;
    return true;
}

/* A header's name as text, without leading "./"; NULL if it is not a valid name. */
static const char *clean_name(kernel_pp *pp, const char *name, size_t bytes)
{
    while (bytes > 2 && name[0] == '.' && name[1] == '/') {
        name += 2;
        bytes -= 2;
    }
    if (bytes == 0 || bytes > 1000 || memchr(name, '\0', bytes))
        return NULL;
    return kernel_arena_text(pp->arena, name, bytes);
}

bool pp_has_include(kernel_pp *pp, const char *name, size_t bytes, bool quoted)
{
    found f;
    name = clean_name(pp, name, bytes);
    return name && find(pp, name, quoted, &f);
}

void pp_file_enter(kernel_pp *pp, kernel_file *file, kernel_file *original, bool given)
{
    pp->files[pp->n_files++] = (pp_file){.lexer = {.unit = pp->unit,
                                                   .begin = file->text,
                                                   .at = file->text,
                                                   .end = file->text + file->bytes,
                                                   .first = file->first,
                                                   .begins = true},
                                         .file = file,
                                         .original = original,
                                         .conditionals = pp->n_conditionals,
                                         .given = given};
}

static void not_found(kernel_pp *pp, kernel_place place, const char *name, bool quoted)
{
    const char *remedy, *library = pp_header_foreign(name, &remedy);
    if (pp->options->skip_unknown && (library || !quoted))
        return;
    if (library) {
        diag_error(pp->diags, place, "IG-LIB", "'%s' belongs to %s, which is not part of Ingot",
                   name, library);
        diag_do(pp->diags, "%s", remedy);
        return;
    }
    diag_error(pp->diags, place, NULL, "cannot find the file '%s'", name);
    diag_do(pp->diags, "give its folder with -I%s",
            quoted ? "; the folder of the including file was searched" : "");
}

/* A file on disk is the same file under every path: "a.h", "../src/a.h", a link. */
static bool is_same(const pp_loaded *loaded, const found *f)
{
    if (!f->text && loaded->inode)
        return loaded->device == (uint64_t)f->info.st_dev &&
               loaded->inode == (uint64_t)f->info.st_ino;
    return strcmp(loaded->path, f->key) == 0;
}

/* The file that was found, with its own range of places. NULL if it must not be read a second time, or if it
 * cannot be read, which is reported. */
static kernel_file *load(kernel_pp *pp, kernel_place place, const char *name, const found *f,
                         kernel_file **original)
{
    for (uint32_t i = 0; i < pp->n_loaded; i++)
        if (is_same(&pp->loaded[i], f)) {
            *original = pp->loaded[i].file;
            const bool done =
                (*original)->once || ((*original)->guard && (*original)->guard->macro);
            return done ? NULL : kernel_source_again(&pp->unit->source, *original, place);
        }
    const char *problem = NULL;
    if (f->text)
        *original = kernel_source_add(&pp->unit->source, f->given ? f->key : name, NULL, f->text,
                                      f->bytes, place);
    else
        *original = kernel_source_read(&pp->unit->source, f->key, place, &problem);
    if (!*original) {
        diag_error(pp->diags, place, NULL, "cannot read '%s': %s", f->key, problem);
        return NULL;
    }
    ARENA_ADD(pp->arena, pp->loaded, pp->n_loaded, pp->loaded_room,
              (pp_loaded){.path = f->key,
                          .file = *original,
                          .device = f->text ? 0 : (uint64_t)f->info.st_dev,
                          .inode = f->text ? 0 : (uint64_t)f->info.st_ino});
    return *original;
}

/* A header name made by macros: "name", or < ... > from several tokens. */
static bool read_expanded(kernel_pp *pp, const char **name, size_t *bytes, bool *quoted)
{
    uint32_t n;
    const kernel_token *line = pp_line(pp, &n);
    line = pp_expand_list(pp, line, n, &n);
    if (n && line[0].kind == TOKEN_STRING && line[0].bytes > 2 && line[0].text[0] == '"') {
        *quoted = true;
        *name = line[0].text + 1;
        *bytes = line[0].bytes - 2;
        return true;
    }
    if (n < 3 || line[0].kind != TOKEN_LT)
        return false;
    size_t room = 0;
    for (uint32_t i = 0; i < n; i++)
        room += line[i].bytes + 1;
    char *text = kernel_arena_get(pp->arena, room), *p = text;
    for (uint32_t i = 1; i < n && line[i].kind != TOKEN_GT; i++) {
        if (i > 1 && line[i].flags & TOKEN_SPACE)
            *p++ = ' ';
        memcpy(p, line[i].text, line[i].bytes);
        p += line[i].bytes;
    }
    *quoted = false;
    *name = text;
    *bytes = (size_t)(p - text);
    return true;
}

void pp_include(kernel_pp *pp, kernel_place hash)
{
    pp_lexer *l = &pp->files[pp->n_files - 1].lexer;
    const char *name;
    size_t bytes;
    bool quoted;
    if (!pp_lex_header(l, &name, &bytes, &quoted) && !read_expanded(pp, &name, &bytes, &quoted)) {
        diag_error(pp->diags, hash, NULL, "#include expects <name> or \"name\"");
        return;
    }
    /* The place of the name, if it is in this file. */
    const bool here = name >= l->begin && name <= l->end;
    const kernel_place place = here ? l->first + (kernel_place)(name - 1 - l->begin) : hash;
    found f;
    kernel_file *original;
    if (!(name = clean_name(pp, name, bytes))) {
        diag_error(pp->diags, place, NULL, "this is not the name of a file");
    } else if (pp->collecting) {
        diag_error(pp->diags, place, NULL, "#include inside the arguments of a macro");
    } else if (!find(pp, name, quoted, &f)) {
        not_found(pp, place, name, quoted);
    } else if (pp->n_files == PP_INCLUDE_DEPTH || ++pp->n_includes > PP_INCLUDE_COUNT) {
        diag_error(pp->diags, place, NULL, "files include each other more than %d %s",
                   pp->n_files == PP_INCLUDE_DEPTH ? PP_INCLUDE_DEPTH : PP_INCLUDE_COUNT,
                   pp->n_files == PP_INCLUDE_DEPTH ? "deep" : "times");
        diag_do(pp->diags, "begin '%s' with #pragma once", name);
    } else {
        kernel_file *file = load(pp, place, name, &f, &original);
        if (file)
            pp_file_enter(pp, file, original, f.given);
    }
}
