/* Calls of functions that are known at run time only: through pointers to functions, and of virtual functions.
 *
 * A pointer to a function is a number that belongs to the function. The vptr of an object is a number that belongs to its
 * class and to the base that has the vptr; constructors set it. Such a call becomes a call of a dispatcher: a function that
 * compares the number with the numbers of all functions whose address the source takes, or of all classes whose
 * constructors it calls, and calls the function that fits. So the tree has direct calls only. A dispatcher is parsed again
 * when there are more of them. */
#include <string.h>

#include "base/hash.h"
#include "compiler/parse/parser.h"

/* A function whose address is taken. */
typedef struct pointed {
    kernel_instance *instance;
    const kernel_type *type; /* of the function */
    uint64_t number;
    struct pointed *next;
} pointed;

/* A class with a vptr that is constructed. */
typedef struct made_class {
    const kernel_type *type;
    struct made_class *next;
} made_class;

static uint64_t number_of(const char *named)
{
    uint8_t digest[HASH_BYTES];
    uint64_t n = 0;
    hash h;
    hash_begin(&h);
    hash_add(&h, named, strlen(named));
    hash_end(&h, digest);
    for (int i = 0; i < 6; i++)
        n = n << 8 | digest[i];
    return (n | 1) + 4096;
}

/* ---- pointers to functions ----------------------------------------------------------------------- */

static const kernel_type *type_of(parser *p, const kernel_type *result, const parameter *parameters,
                                  uint32_t n)
{
    const kernel_type **types = kernel_arena_get(p->arena, (n + 1) * sizeof *types);
    for (uint32_t i = 0; i < n; i++)
        types[i] = parameters[i].type->plain;
    return type_function(p->types, result, types, n);
}

/* The search for the function that a name means. */
typedef struct search {
    function_decl *f;
    const function_named *named;
    const kernel_type *wanted; /* NULL: any */
    kernel_instance *found;
} search;

static void find_one(parser *p, void *context)
{
    search *s = context;
    template_arg room[TEMPLATE_MOST] = {0};
    template_list args = {room, 0};
    const uint32_t n = s->wanted ? (uint32_t)s->wanted->count : 0;
    kernel_expr **dummies = kernel_arena_get(p->arena, (n + 1) * sizeof *dummies);
    for (uint32_t i = 0; i < n; i++)
        dummies[i] = type_dummy(p, s->wanted->parameters[i]);
    if (s->f->is_method || (!s->f->n_params && s->named->n_given))
        return;
    if (s->f->n_params && !template_deduce(p, s->f, s->named->given, s->named->n_given, dummies, n,
                                           s->wanted ? s->wanted->of : NULL, &args))
        return;
    kernel_instance *i = instance_get(p, s->f, args, p->t->place);
    if (i->result->kind == TYPE_AUTO)
        instance_use(p, i, p->t->place);
    if (!s->wanted || type_of(p, i->result, i->parameters, i->n_parameters) == s->wanted)
        s->found = i;
}

/* The function of the type; of any type, if the name has one function only. */
static kernel_instance *function_found(parser *p, const function_named *named,
                                       const kernel_type *wanted)
{
    kernel_instance *found = NULL;
    for (function_decl *f = named->functions; f; f = f->next) {
        search s = {function_itself(f), named, wanted, NULL};
        const kernel_token *back = p->t;
        if (parser_try(p, find_one, &s) && s.found) {
            const bool better = found && (s.found->flags & IS_DEVICE) &&
                                (!(found->flags & IS_DEVICE) || !s.f->n_params);
            if (found && !wanted)
                return NULL;
            found = found && !better ? found : s.found;
        }
        p->t = back;
    }
    return found;
}

/* The parameters of a function: of a lambda, without the object. */
static const kernel_type *type_of_instance(parser *p, const kernel_instance *i)
{
    const uint32_t object = i->decl->is_method;
    return type_of(p, i->result, i->parameters + object, i->n_parameters - object);
}

/* The address of a function, which is recorded. */
static kernel_expr *pointer_new(parser *p, kernel_instance *i, const kernel_type *to,
                                kernel_place place)
{
    pointed *known = p->pointed;
    while (known && known->instance != i)
        known = known->next;
    if (!known) {
        const kernel_type *type = type_of_instance(p, i);
        const char *spelled =
            parser_format(p, "%s<%s>%s", scope_qualified(p, i->decl->scope, i->decl->name->text),
                          template_text(p, i->args, false), type_name(p, type));
        const pointed made = {i, type, number_of(spelled), p->pointed};
        known = kernel_arena_copy(p->arena, &made, sizeof made);
        for (const pointed *other = p->pointed; other;)
            if (other->number == known->number) { /* static functions of two files */
                known->number += 2;
                other = p->pointed;
            } else {
                other = other->next;
            }
        p->pointed = known;
        p->n_targets++;
    }
    kernel_expr *made =
        expr_new(p, EXPR_CONST, place, to ? to->plain : type_pointer(p->types, known->type));
    made->value.integer = known->number;
    return made;
}

kernel_instance *lambda_function(parser *p, const kernel_type *lambda, const kernel_type *to)
{
    const kernel_syntax *x = lambda->kind == TYPE_STRUCT ? lambda->record->syntax : NULL;
    if (!x || x->name != name_of(p, "lambda") || x->captures || lambda->record->n_members ||
        (to && to->of->kind != TYPE_FUNCTION))
        return NULL;
    const function_decl *f = methods_of(p, lambda, "operator()");
    kernel_instance *i = f && !f->n_params ? f->instances : NULL;
    return i && (!to || type_of_instance(p, i) == to->of->plain) ? i : NULL;
}

kernel_expr *lambda_pointer(parser *p, const kernel_expr *lambda, const kernel_type *to)
{
    return pointer_new(p, lambda_function(p, lambda->type, to), to, lambda->place);
}

bool is_function_name(const kernel_expr *e) { return expr_is_builtin(e, BUILTIN_FUNCTION_POINTER); }

kernel_expr *function_name_new(parser *p, function_decl *functions, const template_arg *given,
                               uint32_t n_given, kernel_place place)
{
    function_named *named = kernel_arena_get(p->arena, sizeof *named);
    *named = (function_named){functions, given, n_given};
    const kernel_instance *only = function_found(p, named, NULL);
    const kernel_type *type = only ? type_of(p, only->result, only->parameters, only->n_parameters)
                                   : type_word_of(p, WORD_VOID);
    kernel_expr *e =
        expr_builtin(p, place, BUILTIN_FUNCTION_POINTER, type_pointer(p->types, type), 0, NULL);
    e->as.named = named;
    return e;
}

bool function_fits(parser *p, const kernel_expr *e, const kernel_type *to)
{
    return type_is_pointer(to) && to->of->kind == TYPE_FUNCTION &&
           (e->type->plain == to->plain || function_found(p, e->as.named, to->of->plain));
}

kernel_expr *function_pointer(parser *p, kernel_expr *e, const kernel_type *to)
{
    const char *name = e->as.named->functions->name->text;
    kernel_instance *i = function_found(p, e->as.named, to ? to->of->plain : NULL);
    if (!i)
        parser_fail_do(p, e->place, "cast it to the type of the pointer",
                       "it is not known which of the functions '%s' is meant", name);
    if (!(i->flags & (IS_DEVICE | IS_CONSTEXPR)))
        parser_fail_do(p, e->place, "put __device__ before its definition",
                       "'%s' is a host function, and this is device code", name);
    return pointer_new(p, i, to, e->place);
}

/* ---- dispatchers -------------------------------------------------------------------------------- */

/* The dispatcher of a role for a type of functions, or for a virtual function of a class. */
static function_decl *dispatcher(parser *p, function_role role, const kernel_type *type,
                                 function_decl *slot, kernel_place place)
{
    for (function_decl *d = p->dispatchers; d; d = d->next_kernel)
        if (d->role == role && d->called == type && d->slot == slot)
            return d;
    const uint32_t n = slot ? slot->n_parameters : (uint32_t)type->count + 1;
    parameter *parameters = kernel_arena_new(p->arena, n * sizeof *parameters);
    for (uint32_t i = 0; i < n; i++) {
        parameters[i] = slot ? slot->parameters[i] : (parameter){.place = place};
        if (!slot)
            parameters[i].type = i ? type->parameters[i - 1] : type_pointer(p->types, type);
        if (!slot || i)
            parameters[i].name =
                name_of(p, i ? parser_format(p, "a%u", i) : "function"); /* unnamed ones, too */
    }
    const char *name = role == ROLE_POINTER  ? "call_pointer"
                       : role == ROLE_END_OF ? "virtual_end"
                                             : parser_format(p, "call_%s", slot->name->text);
    const function_decl made = {.name = name_of(p, name),
                                .scope = slot ? slot->scope : p->root,
                                .place = place,
                                .flags = IS_DEVICE,
                                .result = role == ROLE_POINTER ? type->of
                                          : role == ROLE_END_OF
                                              ? type_pointer(p->types, type_word_of(p, WORD_VOID))
                                              : slot->result,
                                .is_method = slot != NULL,
                                .parameters = parameters,
                                .n_parameters = n,
                                .role = (uint8_t)role,
                                .body = empty_body(p, place),
                                .called = type,
                                .slot = slot,
                                .next_kernel = p->dispatchers};
    p->dispatchers = kernel_arena_copy(p->arena, &made, sizeof made);
    return p->dispatchers;
}

kernel_expr *call_through(parser *p, kernel_expr *pointer, kernel_place place, kernel_expr **args,
                          uint32_t n)
{
    kernel_expr **all = kernel_arena_get(p->arena, (n + 1) * sizeof *all);
    all[0] = pointer;
    for (uint32_t i = 0; i < n; i++)
        all[i + 1] = args[i];
    if (n != pointer->type->of->count)
        parser_fail(p, place, "this function takes %u arguments, not %u",
                    (unsigned)pointer->type->of->count, n);
    function_decl *d = dispatcher(p, ROLE_POINTER, pointer->type->of, NULL, place);
    return call_functions(p, d, place, NULL, 0, all, n + 1, false);
}

static kernel_expr *parameter_value(parser *p, uint32_t i, kernel_place place)
{
    const parameter *a = &p->current->parameters[i];
    kernel_expr *e = use_var(p, symbol_find(p, a->name), place);
    e->moves = a->is_forwarding;
    return e;
}

/* Adds "if (condition) return f(args)". */
static void add_case(parser *p, stmt_list *out, kernel_expr *condition, kernel_expr *call,
                     kernel_place place)
{
    stmt_list inner = {.first = NULL};
    inner.end = &inner.first;
    kernel_stmt *s = stmt_add(p, out, STMT_IF, place);
    s->value = condition;
    const kernel_type *result = p->current->result;
    kernel_expr *value = NULL;
    if (result->kind == TYPE_VOID)
        stmt_add(p, &inner, STMT_EXPR, place)->value = temporary_finish(p, call);
    else
        value = temporary_finish(p, expr_convert(p, call, result, "the value that is returned"));
    if (lifetime_any(p->scope, p->body->parent)) {
        kernel_expr *before = NULL;
        value = value ? expr_once(p, value, &before) : NULL;
        if (before)
            stmt_add(p, &inner, STMT_EXPR, place)->value = before;
        lifetime_leave(p, p->body->parent, NULL, &inner);
    }
    stmt_add(p, &inner, STMT_RETURN, place)->value = value;
    s->body = inner.first;
}

static void add_failure(parser *p, stmt_list *out, kernel_place place, const char *message)
{
    kernel_string *s = kernel_arena_get(p->arena, sizeof *s + strlen(message) + 1);
    s->bytes = (uint32_t)strlen(message);
    memcpy(s->text, message, s->bytes + 1);
    kernel_expr *string = expr_new(
        p, EXPR_STRING, place,
        type_pointer(p->types, type_qualify(p->types, type_word_of(p, WORD_CHAR), TYPE_CONST)));
    string->as.text = s;
    stmt_add(p, out, STMT_EXPR, place)->value =
        expr_builtin(p, place, BUILTIN_TRAP, type_word_of(p, WORD_VOID), 1, &string);
    if (p->current->result->kind == TYPE_VOID)
        return;
    const kernel_type *result = p->current->function->result;
    stmt_add(p, out, STMT_RETURN, place)->value = zero_of(p, result);
}

/* "number == one of n" */
static kernel_expr *is_number(parser *p, kernel_expr *number, uint64_t n, kernel_place place)
{
    kernel_expr *one = expr_new(p, EXPR_CONST, place, number->type);
    one->value.integer = n;
    return expr_op(p, place, OP_EQ, number, one);
}

static void pointer_cases(parser *p, stmt_list *out, const function_decl *d)
{
    const kernel_place place = d->place;
    const uint32_t n = p->current->n_parameters;
    for (const pointed *to = p->pointed; to; to = to->next) {
        if (to->type != d->called)
            continue;
        kernel_expr **args = kernel_arena_get(p->arena, (n + 1) * sizeof *args);
        uint32_t n_args = 0;
        const kernel_instance *target = to->instance;
        if (target->decl->is_method) /* of a lambda */
            args[n_args++] =
                expr_var(p, place, temporary_new(p, target->parameters[0].type->of->plain, place));
        for (uint32_t i = 1; i < n; i++)
            args[n_args++] = parameter_value(p, i, place);
        kernel_expr *pointer = expr_value(p, parameter_value(p, 0, place));
        add_case(p, out, is_number(p, pointer, to->number, place),
                 call_instance(p, to->instance, place, args, n_args), place);
    }
    add_failure(p, out, place,
                parser_format(p,
                              "a call through a pointer of type '%s' that does not point to a "
                              "__device__ function whose address the device code takes",
                              type_name(p, type_pointer(p->types, d->called))));
}

/* ---- classes with virtual functions ----------------------------------------------------------------- */

static kernel_name *vptr_name(parser *p) { return name_of(p, "ig_vptr"); }

void layout_vptr(parser *p, kernel_struct *s)
{
    s->not_pod = true;
    layout_member(p, s, vptr_name(p), type_word_of(p, WORD_ULONG), s->place);
}

bool has_vptr(parser *p, const kernel_type *type)
{
    const kernel_member *path[8];
    return type->kind == TYPE_STRUCT && type->record->syntax &&
           type_member_find(type->record, vptr_name(p), path);
}

static bool is_base(const kernel_member *m)
{
    return !m->name && m->type->kind == TYPE_STRUCT && m->type->record->source_name;
}

bool has_virtual_end(const kernel_type *type)
{
    const kernel_struct *s = type->record;
    if (s->syntax && s->syntax->virtual_end)
        return true;
    for (uint32_t i = 0; i < s->n_members; i++)
        if (is_base(&s->members[i]) && has_virtual_end(s->members[i].type))
            return true;
    return false;
}

static const kernel_type *class_of(const function_decl *f)
{
    return f->parameters[0].type->of->plain;
}

/* The function of the class itself that has the name and the parameters of f. */
static function_decl *own_like(parser *p, const kernel_type *type, const function_decl *f)
{
    const scope *in = type_members(p, type, f->place);
    const symbol *y = in ? symbol_here(in, f->name) : NULL;
    for (function_decl *g = y && y->kind == SYMBOL_FUNCTION ? y->as.functions : NULL; g;
         g = g->next) {
        bool same = !g->used && g->is_method && !g->n_params && g->n_parameters == f->n_parameters;
        for (uint32_t i = 0; same && i < f->n_parameters; i++)
            same = i ? g->parameters[i].type->plain == f->parameters[i].type->plain
                     : g->parameters[0].type->of->quals == f->parameters[0].type->of->quals;
        if (same)
            return g;
    }
    return NULL;
}

static bool base_has_virtual(parser *p, const kernel_type *type, const function_decl *f)
{
    const kernel_struct *s = type->record;
    for (uint32_t i = 0; i < s->n_members; i++) {
        if (!is_base(&s->members[i]))
            continue;
        const function_decl *g = own_like(p, s->members[i].type->plain, f);
        if ((g && g->flags & IS_VIRTUAL) || base_has_virtual(p, s->members[i].type, f))
            return true;
    }
    return false;
}

static bool is_virtual(parser *p, function_decl *f)
{
    if (!f->is_method || f->n_params || f->role || f->used || class_of(f)->kind != TYPE_STRUCT)
        return false;
    if (!(f->flags & IS_VIRTUAL) && has_vptr(p, class_of(f)) && base_has_virtual(p, class_of(f), f))
        f->flags |= IS_VIRTUAL;
    return f->flags & IS_VIRTUAL;
}

/* True if the class of an object is the type of the expression. */
static bool is_exact(const kernel_expr *e)
{
    return e->kind == EXPR_VAR || (e->kind == EXPR_MEMBER && e->as.member->name);
}

kernel_instance *virtual_instance(parser *p, kernel_instance *i, kernel_expr **args, uint32_t n)
{
    if (!n || !is_virtual(p, i->decl) || is_exact(args[0]))
        return i;
    function_decl *d = dispatcher(p, ROLE_VIRTUAL, class_of(i->decl), i->decl, i->decl->place);
    return instance_get(p, d, (template_list){0}, d->place);
}

kernel_expr *virtual_end(parser *p, kernel_expr *object)
{
    const kernel_type *type = object->type->plain;
    if (is_exact(object) || !has_virtual_end(type))
        return NULL;
    function_decl *end = implicit_end(p, type);
    function_decl *d = dispatcher(p, ROLE_END_OF, type, end, type->record->place);
    return call_functions(p, d, object->place, NULL, 0, &object, 1, false);
}

static uint64_t class_number(parser *p, const kernel_type *type, uint64_t offset)
{
    return number_of(
        parser_format(p, "class %s %llu", type_name(p, type), (unsigned long long)offset));
}

/* Sets the vptrs of `part`, which is at an offset in an object of the class. */
static void set_vptrs(parser *p, stmt_list *out, const kernel_type *type, kernel_expr *part,
                      uint64_t offset)
{
    const kernel_struct *s = part->type->record;
    for (uint32_t i = 0; i < s->n_members; i++) {
        const kernel_member *m = &s->members[i];
        const bool is_vptr = m->name == vptr_name(p);
        if (!is_vptr && !(is_base(m) && has_vptr(p, m->type)))
            continue;
        kernel_expr *e = expr_node(p, EXPR_MEMBER, part->place, m->type->plain, part, NULL);
        e->as.member = m;
        if (!is_vptr) {
            set_vptrs(p, out, type, e, offset + m->offset);
            continue;
        }
        kernel_expr *value =
            expr_integer(p, part->place, m->type, class_number(p, type, offset + m->offset));
        stmt_add(p, out, STMT_EXPR, part->place)->value =
            expr_node(p, EXPR_ASSIGN, part->place, m->type->plain, e, value);
    }
}

void vptrs_set(parser *p, stmt_list *out, kernel_expr *self)
{
    const kernel_type *type = self->type->plain;
    if (!has_vptr(p, type))
        return;
    set_vptrs(p, out, type, writable(p, self), 0);
    for (const made_class *c = p->classes; c; c = c->next)
        if (c->type == type)
            return;
    const made_class made = {type, p->classes};
    p->classes = kernel_arena_copy(p->arena, &made, sizeof made);
    p->n_targets++;
}

/* The function that a virtual call of `slot` means for a class, and the offset of its own class. */
static function_decl *overrider(parser *p, const kernel_type *type, function_decl *slot,
                                uint64_t *offset)
{
    function_decl *f = own_like(p, type, slot);
    const kernel_member *path[8];
    if (f)
        return f;
    const kernel_struct *s = type->record;
    for (uint32_t i = 0; i < s->n_members; i++) {
        const kernel_member *m = &s->members[i];
        if (!is_base(m) || base_path(m->type, class_of(slot), path) < 0)
            continue;
        const uint64_t before = *offset;
        *offset += m->offset;
        f = overrider(p, m->type->plain, slot, offset);
        if (f)
            return f;
        *offset = before;
    }
    return NULL;
}

/* The offsets of all bases `base` of a class. */
static uint32_t base_offsets(const kernel_type *type, const kernel_type *base, uint64_t at,
                             uint64_t *out, uint32_t n)
{
    enum { BASES_MOST = 16 };
    if (type->plain == base) {
        if (n < BASES_MOST)
            out[n++] = at;
        return n;
    }
    for (uint32_t i = 0; i < type->record->n_members; i++) {
        const kernel_member *m = &type->record->members[i];
        if (is_base(m))
            n = base_offsets(m->type, base, at + m->offset, out, n);
    }
    return n;
}

/* The address of `this`, moved by some bytes, as a pointer to a type. */
static kernel_expr *moved_this(parser *p, const kernel_type *to, int64_t bytes, kernel_place place)
{
    kernel_expr *self = expr_address(p, place, parameter_value(p, 0, place));
    const unsigned quals = self->type->of->quals;
    if (bytes) {
        self = expr_node(p, EXPR_CAST, place, type_pointer(p->types, type_word_of(p, WORD_CHAR)),
                         self, NULL);
        self = expr_node(p, EXPR_BINARY, place, self->type, self,
                         expr_integer(p, place, type_word_of(p, WORD_LONG), (uint64_t)bytes));
        self->op = OP_OFFSET;
    }
    const kernel_type *type = type_pointer(p->types, type_qualify(p->types, to, quals));
    return self->type == type ? self : expr_node(p, EXPR_CAST, place, type, self, NULL);
}

/* Adds the case of a class whose base `called` is at an offset. `others`: the classes that are handled already are those
 * before it in the list. */
static void class_case(parser *p, stmt_list *out, const function_decl *d, const kernel_type *type,
                       uint64_t offset)
{
    const kernel_place place = d->place;
    uint64_t own = 0;
    const bool ends = d->role == ROLE_END_OF;
    function_decl *f = ends ? implicit_end(p, type) : overrider(p, type, d->slot, &own);
    if (!f || (!f->body && !ends && f->flags & IS_VIRTUAL && f->is_pure))
        return; /* an abstract class */
    const uint32_t n = p->current->n_parameters;
    kernel_expr **args = kernel_arena_get(p->arena, n * sizeof *args);
    args[0] = expr_deref(
        p, place, moved_this(p, ends ? type : class_of(f), (int64_t)own - (int64_t)offset, place));
    for (uint32_t i = 1; i < n; i++)
        args[i] = parameter_value(p, i, place);
    kernel_expr *vptr =
        expr_value(p, expr_member(p, place, parameter_value(p, 0, place), vptr_name(p)));
    kernel_expr *condition = is_number(p, vptr, class_number(p, type, offset), place);
    kernel_instance *i = instance_get(p, f, (template_list){0}, place);
    kernel_expr *call = call_instance(p, i, place, args, n);
    if (ends)
        call =
            expr_comma(p, call, moved_this(p, type_word_of(p, WORD_VOID), -(int64_t)offset, place));
    add_case(p, out, condition, call, place);
}

static void class_cases(parser *p, stmt_list *out, const function_decl *d)
{
    for (const made_class *c = p->classes; c; c = c->next) {
        uint64_t at[16];
        const uint32_t n = base_offsets(c->type, d->called, 0, at, 0);
        for (uint32_t i = 0; i < n; i++)
            class_case(p, out, d, c->type, at[i]);
    }
    const char *what = d->role == ROLE_END_OF ? "destructor" : d->slot->name->text;
    add_failure(p, out, d->place,
                parser_format(p,
                              "a call of the virtual function '%s::%s' of an object that no "
                              "device code has constructed",
                              type_name(p, d->called), what));
}

void dispatch_statements(parser *p, stmt_list *out)
{
    const function_decl *d = p->current->decl;
    if (d->role == ROLE_POINTER)
        pointer_cases(p, out, d);
    else
        class_cases(p, out, d);
}

bool is_dispatcher(const function_decl *f) { return f->role >= ROLE_POINTER; }

bool dispatch_parse(parser *p)
{
    bool any = false;
    for (function_decl *d = p->dispatchers; d; d = d->next_kernel) {
        kernel_instance *i = d->instances;
        if (!i || !i->function || d->n_targets == p->n_targets + 1)
            continue;
        d->n_targets = p->n_targets + 1;
        kernel_function *f = i->function;
        f->locals = NULL;
        f->n_locals = 0;
        i->parsed = false;
        instance_parse(p, i);
        any = true;
    }
    return any;
}

void function_pointers_finish(parser *p)
{
    const kernel_type *number = type_word_of(p, WORD_ULONG);
    for (const kernel_type *f = p->types->functions; f; f = f->next)
        for (int quals = 0; f->pointer && quals < 4; quals++) {
            kernel_type *t = (kernel_type *)f->pointer->qualified[quals];
            if (!t)
                continue;
            t->kind = number->kind;
            t->word = number->word;
            t->of = NULL;
        }
}
