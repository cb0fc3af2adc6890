/* wmma fragments: simdgroup matrices on Metal, loops in OpenCL C.
 *
 * On Metal a fragment is an array of 8 x 8 tiles; f.x[i] is the thread's part of them. In OpenCL C, threads
 * may not run in lock step, so they cannot exchange values. Each thread holds its share of an accumulator,
 * the same share as on the CPU, and the whole matrices A and B. Therefore a fragment must not be stored to
 * memory that other threads have yet to load. */
#include "compiler/print/parts.h"

enum { TILE = 8, WARP = 32 };

static const kernel_struct *fragment_of(const kernel_expr *pointer)
{
    return pointer->type->of->record;
}

static unsigned rows_of(const kernel_struct *s) { return s->fragment == FRAGMENT_B ? s->k : s->m; }
static unsigned columns_of(const kernel_struct *s)
{
    return s->fragment == FRAGMENT_A ? s->k : s->n;
}

/* The number of elements that a thread holds in OpenCL C. */
static unsigned elements_of(const kernel_struct *s)
{
    return rows_of(s) * columns_of(s) / (s->fragment == FRAGMENT_ACCUMULATOR ? WARP : 1);
}

/* ---- unsupported cases --------------------------------------------------------------------------- */

static void refuse(printer *p, kernel_place place, const char *why, const char *remedy,
                   const char *what)
{
    print_refuse(p, place, "IG-WMMA", why, remedy, "'%s' %s on %s", p->entry->name, what,
                 p->target->device);
}

/* A load or store, and the array that it accesses; NULL: unknown. */
typedef struct access {
    const kernel_expr *e;
    const kernel_var *root;
    const kernel_struct *fragment;
    struct access *next;
} access;

static const kernel_var *root_of(const printer *p, const kernel_expr *pointer)
{
    const kernel_expr *e = pointer;
    while (e->kind != EXPR_VAR) {
        const bool moved = e->kind == EXPR_BINARY && e->op == OP_OFFSET;
        if (!e->a || (e->kind > EXPR_CAST && !moved))
            return NULL;
        e = e->a;
    }
    const kernel_var *v = e->as.var;
    const kernel_function *f = p->entry->function;
    const bool own = v->storage == STORE_PARAMETER && v->index < f->n_params &&
                     f->params[v->index] == v && !v->assigned;
    return own || v->storage > STORE_LOCAL ? v : NULL;
}

static void collect(printer *p, const kernel_expr *e, void *context)
{
    access **all = context;
    const bool stores = expr_is_builtin(e, BUILTIN_WMMA_STORE);
    if (!stores && !(expr_is_builtin(e, BUILTIN_WMMA_LOAD)))
        return;
    const access a = {e, root_of(p, e->args[!stores]), fragment_of(e->args[stores]), *all};
    *all = kernel_arena_copy(p->arena, &a, sizeof a);
}

/* True if another thread may still load the memory that this thread stores to. */
static bool collides(const access *load, const access *store)
{
    if (load->e->builtin != BUILTIN_WMMA_LOAD || store->e->builtin != BUILTIN_WMMA_STORE)
        return false;
    const bool one = load->root && load->root == store->root;
    const bool maybe =
        (!load->root || !store->root) && load->fragment->element == store->fragment->element;
    const bool same_share = load->fragment->fragment == FRAGMENT_ACCUMULATOR &&
                            load->fragment == store->fragment &&
                            load->e->args[3]->value.integer == store->e->args[3]->value.integer;
    return (one || maybe) && !same_share;
}

static void check_order(printer *p)
{
    access *all = NULL;
    for (const print_function *f = p->functions; f; f = f->next)
        print_walk(p, f->f->body, collect, &all);
    for (const access *a = all; a; a = a->next)
        for (const access *b = all; b; b = b->next)
            if (collides(a, b)) {
                refuse(p, b->e->place, "the threads of a warp do not go in step there",
                       "store to an array of its own, or run it with '--device cpu'",
                       "stores a fragment where fragments are loaded from, which cannot be done");
                return;
            }
}

static bool is_share(const kernel_expr *e)
{
    return e->kind == EXPR_MEMBER && e->a->type->plain->kind == TYPE_STRUCT &&
           e->a->type->plain->record->fragment;
}

static void check_expr(printer *p, const kernel_expr *e, void *context)
{
    (void)context;
    if (expr_has_class(e, CLASS_WMMA) && is_metal(p)) {
        const kernel_struct *first = fragment_of(e->args[e->builtin == BUILTIN_WMMA_STORE]);
        if (first->element->kind == TYPE_BF16)
            refuse(p, e->place, "simdgroup matrices are of half and float there",
                   "use half, or run it with '--device cpu'",
                   "has fragments of bfloat16, which cannot be done");
        if (e->builtin == BUILTIN_WMMA_MMA && first != fragment_of(e->args[3]))
            refuse(p, e->place, "a simdgroup matrix is summed up in one type",
                   "use one type for both accumulators, or run it with '--device cpu'",
                   "adds a product to a fragment of another type, which cannot be done");
    }
    if (is_share(e) && !is_metal(p) && e->a->type->plain->record->fragment != FRAGMENT_ACCUMULATOR)
        refuse(p, e->place, "each thread has all of the matrix there, not a share of it",
               "change the elements before they are loaded, or run it with '--device cpu'",
               "uses elements of a fragment that is not an accumulator, which cannot be done");
}

void print_wmma_check(printer *p)
{
    if (!p->entry->uses[FEATURE_WMMA].place)
        return;
    for (const print_function *f = p->functions; f; f = f->next)
        print_walk(p, f->f->body, check_expr, NULL);
    if (!is_metal(p))
        check_order(p);
}

/* ---- Metal ------------------------------------------------------------------------------------ */

/* The tiles of the fragment that a pointer points to. */
static void tiles(printer *p, const kernel_expr *pointer)
{
    const kernel_expr place = {
        .kind = EXPR_DEREF, .type = pointer->type->of, .a = (kernel_expr *)pointer};
    print_expr(p, &place, LEVEL_POSTFIX);
    print_out(p, ".tiles");
}

bool print_wmma_element(printer *p, const kernel_expr *pointer, int level)
{
    const bool moved = pointer->kind == EXPR_BINARY && pointer->op == OP_OFFSET;
    const kernel_expr *first = moved ? pointer->a : pointer;
    if (!is_metal(p) || first->kind != EXPR_DECAY || !is_share(first->a))
        return false;
    print_use(p, PRELUDE_WMMA_ELEMENT);
    print_around(p, level > LEVEL_UNARY ? "(*ig_element(" : "*ig_element(", first->a->a,
                 LEVEL_POSTFIX, ".tiles, ");
    if (moved)
        print_index(p, pointer->b, LEVEL_ASSIGN);
    else
        print_out(p, "0");
    print_out(p, level > LEVEL_UNARY ? "))" : ")");
    return true;
}

void print_wmma_share(printer *p, const kernel_expr *e)
{
    if (!is_metal(p) || !is_share(e))
        return;
    refuse(p, e->place, "elements of a simdgroup matrix have no addresses",
           "use them one by one, as f.x[i], or run it with '--device cpu'",
           "takes the address of a fragment's elements, which cannot be done");
    print_stop(p);
}

static void move_metal(printer *p, const kernel_expr *e, bool stores)
{
    const kernel_expr *pointer = e->args[!stores];
    print_out(p, stores ? "ig_store(" : "ig_load(");
    tiles(p, e->args[stores]);
    print_around(p, ", ", pointer, LEVEL_ASSIGN, ", ");
    print_expr(p, e->args[2], LEVEL_ASSIGN);
    print_out(p, e->args[3]->value.integer ? ", true)" : ", false)");
}

static void wmma_metal(printer *p, const kernel_expr *e)
{
    print_use(p, PRELUDE_WMMA);
    switch (e->builtin) {
    case BUILTIN_WMMA_LOAD: move_metal(p, e, false); break;
    case BUILTIN_WMMA_STORE: move_metal(p, e, true); break;
    case BUILTIN_WMMA_FILL:
        print_out(p, "ig_fill(");
        tiles(p, e->args[0]);
        print_around(p, ", ", e->args[1], LEVEL_ASSIGN, ")");
        break;
    default:
        print_out(p, "ig_multiply(");
        for (int i = 0; i < 4; i++) {
            print_out(p, i ? ", " : "");
            tiles(p, e->args[i]);
        }
        print_out(p, ")");
    }
}

/* ---- OpenCL C --------------------------------------------------------------------------------- */

/* Converts an element in memory to a float, and back. */
static const char *loaded(printer *p, const kernel_type *t, const char *element)
{
    const char *name = print_loader(p, t);
    return name                  ? print_format(p, "%s(%s)", name, element)
           : t->kind == TYPE_F16 ? print_format(p, "(float)%s", element)
                                 : element;
}

static const char *stored(printer *p, const kernel_type *t, const char *value)
{
    const char *name = print_storer(p, t);
    return name                  ? print_format(p, "%s(%s)", name, value)
           : t->kind == TYPE_F16 ? print_format(p, "(half)%s", value)
                                 : value;
}

static const char *fill_function(printer *p, const kernel_struct *s)
{
    const char *type = print_type(p, s->type, SPACE_UNSET, true);
    const char *name = print_format(p, "ig_fill_%s", type);
    print_make(p, name,
               print_format(p,
                            "static void %s(%s *f, float value)\n{\n"
                            "    for (uint i = 0; i < %u; i++)\n"
                            "        f->x[i] = %s;\n}\n\n",
                            name, type, elements_of(s), stored(p, s->element, "value")));
    return name;
}

/* Copies between a fragment and memory, in row-major or column-major order. */
static const char *move_function(printer *p, const kernel_expr *e, bool stores)
{
    const kernel_expr *pointer = e->args[!stores];
    const kernel_struct *s = fragment_of(e->args[stores]);
    const char *type = print_type(p, s->type, SPACE_UNSET, true);
    const bool by_columns = e->args[3]->value.integer, shared = pointer->space == SPACE_SHARED;
    const char *name =
        print_format(p, "ig_%s_%s%s%s", stores ? "store" : "load", type,
                     s->fragment == FRAGMENT_ACCUMULATOR && by_columns ? "_by_columns" : "",
                     shared ? "_local" : "");
    const char *at = by_columns ? "memory[column * stride + row]" : "memory[row * stride + column]";
    const char *head =
        print_format(p, "static void %s(%s *f, %s%s%s *memory, uint stride)\n{\n", name, type,
                     p->lang->spaces[pointer->space], stores ? "" : "const ",
                     print_type(p, s->element, SPACE_UNSET, true));
    const unsigned columns = columns_of(s);
    if (s->fragment == FRAGMENT_ACCUMULATOR)
        print_make(
            p, name,
            print_format(p,
                         "%s    for (uint i = 0; i < %u; i++) {\n"
                         "        uint e = 32 * i + ig_lane(), row = e / %u, column = e %% %u;\n"
                         "        %s = %s;\n    }\n}\n\n",
                         head, elements_of(s), columns, columns, stores ? at : "f->x[i]",
                         stores ? "f->x[i]" : at));
    else
        print_make(p, name,
                   print_format(p,
                                "%s    for (uint row = 0; row < %u; row++)\n"
                                "        for (uint column = 0; column < %u; column++)\n"
                                "            f->x[%u * row + column] = %s;\n}\n\n",
                                head, rows_of(s), columns, columns, at));
    return name;
}

static const char *layout_of(const kernel_expr *pointer)
{
    return fragment_of(pointer)->column_major ? "_columns" : "_rows";
}

static const char *multiply_function(printer *p, const kernel_expr *e)
{
    const kernel_struct *d = fragment_of(e->args[0]);
    const char *const elements[] = {"", print_format(p, "a->x[%u * row + k]", d->k),
                                    print_format(p, "b->x[%u * k + column]", d->n), "c->x[i]"};
    const char *types[4], *loads[4], *names[4];
    for (int i = 0; i < 4; i++) {
        const kernel_struct *s = fragment_of(e->args[i]);
        types[i] = print_type(p, s->type, SPACE_UNSET, true);
        loads[i] = loaded(p, s->element, elements[i]);
        names[i] = s->element->kind == TYPE_BF16 ? "bfloat16" : p->lang->values[s->element->kind];
    }
    const char *name =
        print_format(p, "ig_multiply_%ux%ux%u_%s%s%s_%s_%s", d->m, d->n, d->k, names[1],
                     layout_of(e->args[1]), layout_of(e->args[2]), names[3], names[0]);
    print_make(p, name,
               print_format(p,
                            "static void %s(%s *d, %s *a, %s *b, %s *c)\n{\n"
                            "    for (uint i = 0; i < %u; i++) {\n"
                            "        uint e = 32 * i + ig_lane(), row = e / %u, column = e %% %u;\n"
                            "        float sum = %s;\n"
                            "        for (uint k = 0; k < %u; k++)\n"
                            "            sum += %s * %s;\n"
                            "        d->x[i] = %s;\n    }\n}\n\n",
                            name, types[0], types[1], types[2], types[3], elements_of(d), d->n,
                            d->n, loads[3], d->k, loads[1], loads[2],
                            stored(p, d->element, "sum")));
    return name;
}

static void wmma_opencl(printer *p, const kernel_expr *e)
{
    const bool stores = e->builtin == BUILTIN_WMMA_STORE;
    const char *name = e->builtin == BUILTIN_WMMA_FILL  ? fill_function(p, fragment_of(e->args[0]))
                       : e->builtin == BUILTIN_WMMA_MMA ? multiply_function(p, e)
                                                        : move_function(p, e, stores);
    print_use(p, PRELUDE_WMMA);
    if (e->builtin == BUILTIN_WMMA_FILL || e->builtin == BUILTIN_WMMA_MMA) {
        print_arguments(p, e, print_format(p, "%s(", name), ")");
        return;
    }
    print_out(p, "%s(", name);
    print_expr(p, e->args[stores], LEVEL_ASSIGN);
    print_out(p, ", ");
    print_expr(p, e->args[!stores], LEVEL_ASSIGN);
    print_around(p, ", ", e->args[2], LEVEL_ASSIGN, ")");
}

/* ---- both ------------------------------------------------------------------------------------- */

void print_wmma(printer *p, const kernel_expr *e)
{
    if (is_metal(p))
        wmma_metal(p, e);
    else
        wmma_opencl(p, e);
}

const char *print_wmma_member(printer *p, const kernel_struct *s)
{
    if (is_metal(p))
        return print_format(p, "simdgroup_%s8x8 tiles[%u][%u]", p->lang->values[s->element->kind],
                            rows_of(s) / TILE, columns_of(s) / TILE);
    return print_format(p, "%s x[%u]", print_type(p, s->element, SPACE_UNSET, true),
                        elements_of(s));
}
