/* The Objective-C runtime as far as a C program uses it: selectors, messages, reference counts, autorelease pools, and
 * the classes NSObject, NSString and NSError. */
#define _GNU_SOURCE
#include "sim.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALIVE = 0x4a6c6976, DEAD = 0x64656164, SELECTORS_MOST = 512 };

EXPORT SEL sel_registerName(const char *name);
EXPORT id objc_getClass(const char *name);
EXPORT void *objc_autoreleasePoolPush(void);
EXPORT void objc_autoreleasePoolPop(void *token);
void (*sim_lookup(id self, SEL selector))(void);

void sim_die(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("metalsim: failed assertion: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    abort();
}

int64_t sim_setting(sim_setting_name name)
{
    static const struct {
        const char *name;
        int64_t usual;
    } rows[SIM_SETTINGS] = {
        [SIM_ORDER] = {"METALSIM_ORDER", 0},       [SIM_TWICE] = {"METALSIM_TWICE", 0},
        [SIM_FAMILY] = {"METALSIM_FAMILY", 1007},
        [SIM_MEMORY_MIB] = {"METALSIM_MEMORY_MIB", 8192}, [SIM_BUFFER_MIB] = {"METALSIM_BUFFER_MIB", 4096},
        [SIM_THREADS] = {"METALSIM_THREADS", SIM_THREADS_MOST}, [SIM_NO_DEVICE] = {"METALSIM_NO_DEVICE", 0},
        [SIM_FAIL_AT] = {"METALSIM_FAIL_AT", 0},   [SIM_FAIL_BUFFER] = {"METALSIM_FAIL_BUFFER", 0},
        [SIM_LEAKS] = {"METALSIM_LEAKS", 0},       [SIM_COUNT] = {"METALSIM_COUNT", 0},
        [SIM_RECORD] = {"METALSIM_RECORD", 0},    [SIM_PRODUCT_MS] = {"METALSIM_PRODUCT_MS", 0},
        [SIM_FLUSH] = {"METALSIM_FLUSH", 0},       [SIM_RACES] = {"METALSIM_RACES", 0},
        [SIM_FLAGS] = {"METALSIM_FLAGS", -1},
    };
    const char *text = getenv(rows[name].name);
    return text && *text ? strtoll(text, NULL, 0) : rows[name].usual;
}

/* ---- selectors and messages ---- */

static const char *selectors[SELECTORS_MOST];
static int n_selectors;

SEL sel_registerName(const char *name)
{
    for (int i = 0; i < n_selectors; i++)
        if (strcmp(selectors[i], name) == 0)
            return selectors[i];
    REQUIRE(n_selectors < SELECTORS_MOST, "more than %d selectors", SELECTORS_MOST);
    return selectors[n_selectors++] = strdup(name);
}

static const sim_method *find_in(const sim_method *m, SEL selector)
{
    while (m && m->name && m->selector != selector)
        m++;
    return m && m->name ? m : NULL;
}

/* A class is an object of its own, whose isa is NULL here. */
static const sim_method *find(id self, SEL selector)
{
    const bool is_class = self->isa == NULL;
    const sim_method *m = NULL;
    for (sim_class *c = is_class ? (sim_class *)self : self->isa; c && !m; c = c->super)
        m = find_in(is_class ? c->statics : c->methods, selector);
    return m;
}

static const char *name_of(id o) { return o->isa ? o->isa->name : ((sim_class *)o)->name; }

/* Called by objc_msgSend (switch.S) with a receiver that is not nil: the code to jump to. */
void (*sim_lookup(id self, SEL selector))(void)
{
    bool known = false;
    for (int i = 0; i < n_selectors; i++)
        known |= selectors[i] == selector;
    REQUIRE(known, "a selector that sel_registerName did not return");
    REQUIRE(self->magic != DEAD, "message %s sent to a deallocated %s", selector, name_of(self));
    REQUIRE(self->magic == ALIVE, "message %s sent to %p, which is not an object", selector, (void *)self);
    const sim_method *m = find(self, selector);
    REQUIRE(m, "-[%s %s]: unrecognized selector sent to %p", name_of(self), selector, (void *)self);
    void (*fault)(void) = m->fails == NEVER ? NULL : sim_fault(m);
    return fault ? fault : m->code;
}

/* ---- objects ---- */

static sim_class *classes, object_class;

static void intern(sim_method *m)
{
    for (; m && m->name; m++)
        m->selector = sel_registerName(m->name);
}

void sim_class_add(sim_class *c)
{
    c->head = (sim_object){NULL, ALIVE, 1};
    c->super = c == &object_class ? NULL : &object_class;
    intern(c->methods);
    intern(c->statics);
    c->next = classes;
    classes = c;
}

id sim_new(sim_class *c)
{
    id o = calloc(1, c->bytes);
    REQUIRE(o, "the simulator has no memory");
    *o = (sim_object){c, ALIVE, 1};
    c->alive++;
    return o;
}

id sim_retain(id o)
{
    if (!o)
        return o;
    REQUIRE(o->magic == ALIVE, "retain of a deallocated object");
    o->refs++;
    return o;
}

/* The memory of a dead object is kept, so that a later use is seen. */
void sim_release(id o)
{
    if (!o)
        return;
    REQUIRE(o->magic == ALIVE, "release of a deallocated object");
    if (--o->refs)
        return;
    if (o->isa->destroy)
        o->isa->destroy(o);
    o->isa->alive--;
    o->magic = DEAD;
}

void *sim_as(id o, const sim_class *c, const char *what)
{
    REQUIRE(o, "%s: nil, but a %s is needed", what, c->name);
    REQUIRE(o->magic == ALIVE && o->isa == c, "%s: a %s is needed", what, c->name);
    return o;
}

/* ---- autorelease pools ---- */

typedef struct pool {
    struct pool *up;
    id *object;
    int n, room;
} pool;

static _Thread_local pool *innermost;

void *objc_autoreleasePoolPush(void)
{
    pool *p = calloc(1, sizeof *p);
    REQUIRE(p, "the simulator has no memory");
    p->up = innermost;
    return innermost = p;
}

void objc_autoreleasePoolPop(void *token)
{
    bool last = false;
    while (!last) {
        pool *p = innermost;
        REQUIRE(p, "objc_autoreleasePoolPop of a pool that was not pushed by this thread");
        for (int i = p->n; i-- > 0;)
            sim_release(p->object[i]);
        innermost = p->up;
        last = p == token;
        free(p->object);
        free(p);
    }
}

id sim_autorelease(id o)
{
    if (!o)
        return o;
    REQUIRE(innermost, "a %s is autoreleased, but this thread has no pool: it leaks", name_of(o));
    if (innermost->n == innermost->room) {
        innermost->room = innermost->room ? 2 * innermost->room : 16;
        innermost->object = realloc(innermost->object, (size_t)innermost->room * sizeof(id));
        REQUIRE(innermost->object, "the simulator has no memory");
    }
    return innermost->object[innermost->n++] = o;
}

/* ---- NSObject, NSString, NSError ---- */

typedef struct string {
    sim_object head;
    char *text;
} string;

typedef struct error {
    sim_object head;
    id text;
    long code;
} error;

static id object_retain(id o, SEL s) { return (void)s, sim_retain(o); }
static void object_release(id o, SEL s) { (void)s, sim_release(o); }
static id object_autorelease(id o, SEL s) { return (void)s, sim_autorelease(o); }
static id object_init(id o, SEL s) { return (void)s, o; }
static id object_alloc(id c, SEL s) { return (void)s, sim_new((sim_class *)c); }
static sim_method object_methods[] = {METHOD("retain", object_retain, NEVER), METHOD("release", object_release, NEVER),
                                      METHOD("autorelease", object_autorelease, NEVER),
                                      METHOD("init", object_init, NEVER), METHODS_END};
static sim_method object_statics[] = {METHOD("alloc", object_alloc, AS_NIL), METHODS_END};
static sim_class object_class = {
    .name = "NSObject", .bytes = sizeof(sim_object), .methods = object_methods, .statics = object_statics};

static void string_destroy(id o) { free(((string *)o)->text); }
static const char *string_utf8(id o, SEL s) { return (void)s, ((string *)o)->text; }
static id string_with(id c, SEL s, const char *text, uint64_t encoding)
{
    (void)c;
    REQUIRE(text && encoding == 4, "%s: NULL, or an encoding other than UTF-8", s);
    return sim_string(text);
}
static sim_method string_methods[] = {METHOD("UTF8String", string_utf8, NEVER), METHODS_END};
static sim_method string_statics[] = {METHOD("stringWithCString:encoding:", string_with, AS_NIL), METHODS_END};
static sim_class string_class = {.name = "NSString",
                                 .bytes = sizeof(string),
                                 .destroy = string_destroy,
                                 .methods = string_methods,
                                 .statics = string_statics};

id sim_string(const char *s)
{
    string *o = (string *)sim_new(&string_class);
    o->text = strdup(s);
    REQUIRE(o->text, "the simulator has no memory");
    return sim_autorelease(&o->head);
}

const char *sim_string_text(id o, const char *what)
{
    return ((const string *)sim_as(o, &string_class, what))->text;
}

static void error_destroy(id o) { sim_release(((error *)o)->text); }
static id error_description(id o, SEL s) { return (void)s, ((error *)o)->text; }
static int64_t error_code(id o, SEL s) { return (void)s, ((error *)o)->code; }
static sim_method error_methods[] = {METHOD("localizedDescription", error_description, AS_NIL),
                                     METHOD("code", error_code, NEVER), METHODS_END};
static sim_class error_class = {.name = "NSError",
                                .bytes = sizeof(error),
                                .destroy = error_destroy,
                                .methods = error_methods};

id sim_error(long code, const char *text)
{
    error *e = (error *)sim_new(&error_class);
    e->code = code;
    e->text = sim_retain(sim_string(text));
    return sim_autorelease(&e->head);
}

id objc_getClass(const char *name)
{
    for (sim_class *c = classes; c; c = c->next)
        if (!c->hidden && strcmp(c->name, name) == 0)
            return &c->head;
    return NULL;
}

__attribute__((constructor(101))) static void begin(void)
{
    sim_class_add(&object_class);
    sim_class_add(&string_class);
    sim_class_add(&error_class);
}

/* Objects that are alive when the process ends are leaks. */
__attribute__((destructor)) static void end(void)
{
    int leaks = 0;
    for (const sim_class *c = classes; c && sim_setting(SIM_LEAKS); c = c->next) {
        if (c->alive)
            fprintf(stderr, "metalsim: %d %s leaked\n", c->alive, c->name);
        leaks += c->alive;
    }
    if (leaks) {
        fflush(NULL);
        _exit(86);
    }
}
