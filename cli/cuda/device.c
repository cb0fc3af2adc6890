/* The device side of a file: a walk over declarations that blanks the host's. */
#include "cuda/device.h"

#include "cuda/headers.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

/* Types of the host's library, which `using namespace std` makes visible, and of CUDA's host interface. */
static const char library[] =
    "FILE GLuint MPI_Comm any atomic basic_string bitset chrono condition_variable "
    "cublasHandle_t cublasStatus_t cudaArray_t cudaDeviceProp cudaFuncAttributes "
    "cudaGraphExec_t cudaGraph_t cudaMemPool_t cudaPointerAttributes cudnnHandle_t "
    "cudnnStatus_t cufftHandle cufftResult curandGenerator_t cusolverDnHandle_t "
    "cusparseHandle_t cusparseStatus_t default_random_engine deque duration duration_cast "
    "exception forward_list fstream function future high_resolution_clock ifstream ios iostream "
    "istream istringstream list map microseconds milliseconds mt19937 multimap multiset mutex "
    "nanoseconds normal_distribution ofstream optional ostream ostringstream priority_queue "
    "promise pthread_mutex_t pthread_t queue random_device runtime_error set shared_ptr stack "
    "steady_clock streambuf string string_view stringbuf stringstream system_clock thread "
    "time_point timespec timeval uniform_int_distribution uniform_real_distribution unique_ptr "
    "unordered_map unordered_set variant vector weak_ptr";
/* Words with parentheses that are not functions. */
static const char conversions[] =
    "alignof bool char decltype double float int long short sizeof signed unsigned size_t";
static const char namespaces[] = "cooperative_groups cub cuda cute cutlass nvcuda std thrust";
/* Names of std:: that NVRTC provides. */
static const char std_names[] = "forward initializer_list move";
/* Headers, or folders of headers with a final slash; '*' stands for any ending. */
static const char headers[] =
    "cooperative_groups.h cooperative_groups/ crt/ cub/ cuComplex.h cuda/ cuda_awbarrier* "
    "cuda_bf16.h cuda_fp* cuda_pipeline* curand_kernel.h curand_* cute/ cutlass/ "
    "math_constants.h mma.h nv/";

/* Marks the names of a text. For those in its namespace std, adds the names that macros compose to `composed`. */
static void mark_names(rewrite_job *job, const char *text, unsigned flags, str *composed)
{
    cuda_tokens s = {0};
    int end = -1;
    if (!cuda_tokens_read(job->names, text, strlen(text), &s))
        return;
    for (int i = 0; i < s.code.n; i++) {
        const cuda_token *t = &s.code.at[i];
        if (composed && t->keyword == KEYWORD_namespace && token_is(&t[1], "std"))
            end = t[2].pair;
        if (i < end || !composed)
            name_mark(t->name, flags);
        if (i < end && t->name)
            str_printf(composed, "%s_t %s_v ", t->name->text, t->name->text);
    }
}

void device_names(rewrite_job *job)
{
    str composed = {0};
    mark_names(job, library, NAMES_LIBRARY, NULL);
    mark_names(job, conversions, NAMES_CONVERSION, NULL);
    mark_names(job, namespaces, NAMES_SPACE, NULL);
    mark_names(job, std_names, NAMES_DEVICE_STD, NULL);
    for (int i = 0; cuda_header_at(i).name; i++)
        if (strcmp(cuda_header_at(i).name, "ingot_nvrtc.h") == 0)
            mark_names(job, cuda_header_at(i).text, NAMES_DEVICE_STD, &composed);
    mark_names(job, composed.s, NAMES_DEVICE_STD, NULL);
    str_free(&composed);
}

bool device_has_header(const char *name, size_t bytes)
{
    for (const char *h = headers; *h; h += strcspn(h, " "), h += *h == ' ') {
        const size_t n = strcspn(h, " "), same = n - (h[n - 1] == '*');
        const bool begins = h[n - 1] == '/' || h[n - 1] == '*';
        if (bytes >= same && memcmp(name, h, same) == 0 && (begins || bytes == n))
            return true;
    }
    return false;
}

static bool is_member(const cuda_token *t)
{
    return t[-1].kind == TOKEN_DOT || t[-1].kind == TOKEN_ARROW;
}

/* True if the next token shows that the word is a type, not a declared name. */
static bool is_type(const cuda_token *t)
{
    return t[1].kind == TOKEN_NAME || token_angles(&t[1]) || token_in(&t[1], "* & && : ::") ||
           (t[1].kind == TOKEN_SEMICOLON && t[-1].kind == TOKEN_ASSIGN);
}

/* True if one of the tokens needs the host's library, or a type that was blanked. */
static bool needs_host(const cuda_list *s, int from, int to)
{
    for (int i = from; i <= to; i++) {
        const cuda_token *t = &s->at[i];
        const unsigned flags = name_flags(t);
        const bool qualified = t[-1].kind == TOKEN_SCOPE;
        if (t->kind != TOKEN_NAME || is_member(t))
            continue;
        if (qualified && token_is(&t[-2], "std") && !(flags & NAMES_DEVICE_STD))
            return true;
        if (flags & NAMES_LIBRARY && !qualified && !(flags & NAMES_DEVICE) && is_type(t))
            return true;
        if (flags & NAMES_HOST_TYPE)
            return true;
    }
    return false;
}

/* True if a value needs a function or a variable that the device does not have. */
static bool calls_host(const cuda_list *s, int from, int to)
{
    for (int i = from; i < to; i++) {
        const cuda_token *t = &s->at[i];
        const unsigned flags = name_flags(t);
        if (t->kind != TOKEN_NAME || is_member(t))
            continue;
        if (t->keyword == KEYWORD_new || flags & NAMES_HOST_VALUE)
            return true;
        if (t[1].kind == TOKEN_LPAREN && !(flags & (NAMES_CONVERSION | NAMES_MACRO | NAMES_DEVICE)))
            return true;
    }
    return false;
}

/* ---- edits ---- */

static bool split_members(const rewriter *p, int brace);

static void blank_text(const rewriter *p, const char *from, const char *to)
{
    for (char *c = p->device + (from - p->text); from < to; from++, c++)
        *c = *c == '\n' ? '\n' : ' ';
}

/* Blanks the tokens, but neither comments nor directives between them. */
static void blank(const rewriter *p, int from, int to)
{
    for (int i = from; i <= to; i++)
        blank_text(p, p->s->at[i].at, p->s->at[i].end);
}

/* Turns the body of a function into a semicolon. */
static void blank_body(const rewriter *p, const declaration *d)
{
    const int from = d->colon >= 0 ? d->colon : d->body;
    blank(p, from, d->end);
    p->device[p->s->at[from].at - p->text] = ';';
}

/* ---- declarations ---- */

static void mark(const rewriter *p, int token, unsigned flags)
{
    if (token >= 0)
        name_mark(p->s->at[token].name, flags);
}

/* Blanks a type or an alias that the device does not have, and marks its name. */
static void drop_type(const rewriter *p, const declaration *d)
{
    mark(p, d->name, NAMES_HOST_TYPE);
    if (d->end > d->begin)
        mark(p, d->end - 1, NAMES_HOST_TYPE); /* typedef ... name; */
    blank(p, d->begin, d->end);
}

static bool is_word(const rewriter *p, int i, int keyword)
{
    return p->s->at[i].keyword == keyword;
}

static void split_class(const rewriter *p, const declaration *d)
{
    const int close = p->s->at[d->body].pair;
    mark(p, d->name, NAMES_DEVICE);
    if ((d->colon >= 0 && needs_host(p->s, d->colon, d->body)) || !split_members(p, d->body)) {
        drop_type(p, d);
        return;
    }
    const bool keeps = d->flags & (IS_DEVICE | IS_CONSTANT | IS_MANAGED | IS_SHARED) ||
                       is_word(p, d->first, KEYWORD_typedef);
    if (!keeps && close + 1 < d->end) /* variables of the host */
        blank(p, close + 1, d->end - 1);
}

static void split_function(const rewriter *p, const declaration *d)
{
    const bool keeps = d->flags & (IS_GLOBAL | IS_DEVICE) ||
                       (d->flags & IS_CONSTEXPR && !needs_host(p->s, d->begin, d->end));
    mark(p, d->name, keeps ? NAMES_DEVICE : NAMES_HOST_VALUE);
    if (!keeps)
        blank(p, d->begin, d->end);
}

static void split_variable(const rewriter *p, const declaration *d)
{
    token_piece one;
    const unsigned flags = d->flags | (d->flags >> WITHIN & QUALIFIERS);
    const bool is_constant =
        flags & (IS_CONST | IS_CONSTEXPR) && !is_word(p, d->first, KEYWORD_extern) &&
        !needs_host(p->s, d->begin, d->end) && !calls_host(p->s, d->begin, d->end);
    if (is_constant || flags & (IS_DEVICE | IS_CONSTANT | IS_MANAGED | IS_SHARED))
        return;
    for (int i = d->first; i < d->end;) {
        i = token_next_piece(p->s, i, d->end, &one);
        mark(p, one.name, NAMES_HOST_VALUE);
    }
    blank(p, d->begin, d->end);
}

/* using, typedef, enum, declarations of types, assertions. */
static bool is_type_only(const rewriter *p, const declaration *d)
{
    return d->flags & IS_ENUM ||
           token_in(&p->s->at[d->first], "using typedef static_assert namespace") ||
           (d->flags & IS_CLASS && d->name == d->end - 1 && d->name <= d->first + 1);
}

static void split_type(const rewriter *p, const declaration *d)
{
    const cuda_token *t = &p->s->at[d->first];
    bool keeps = !needs_host(p->s, d->begin, d->end);
    if (t->keyword == KEYWORD_using && t[1].keyword == KEYWORD_namespace)
        keeps = name_flags(&t[2]) & NAMES_SPACE &&
                (!token_is(&t[2], "std") || t[3].kind == TOKEN_SEMICOLON);
    if (!keeps)
        drop_type(p, d);
}

/* ---- scopes ---- */

static void split_method(const rewriter *p, const declaration *d)
{
    const bool is_destructor = d->name > 0 && p->s->at[d->name - 1].kind == TOKEN_TILDE;
    if (d->flags & (IS_GLOBAL | IS_DEVICE) || (d->value > d->params && d->body < 0)) /* = default */
        return;
    const int last = d->colon >= 0 ? d->colon : d->body >= 0 ? d->body : d->end;
    if (needs_host(p->s, d->begin, last) || d->flags & IS_HOST ||
        (is_destructor && !(d->flags & IS_VIRTUAL)) || (d->flags & IS_FRIEND && d->body >= 0))
        blank(p, d->begin, d->end);
    else if (d->body >= 0 && !(d->flags & (IS_CONSTEXPR | IS_VIRTUAL)))
        blank_body(p, d);
}

/* Blanks the host's members of a class. Returns false if the class needs the host's library. */
static bool split_members(const rewriter *p, int brace)
{
    const int end = p->s->at[brace].pair;
    for (int i = brace + 1; i < end;) {
        const int next = declare_between(p->s, i);
        if (next > i) {
            i = next;
            continue;
        }
        const declaration d = declare_read(p->s, i, end);
        if (d.flags & IS_CLASS && d.body >= 0 && d.params < 0) {
            if (!split_members(p, d.body))
                return false;
        } else if (d.params >= 0) {
            split_method(p, &d);
        } else if (is_type_only(p, &d)) {
            split_type(p, &d);
        } else if (needs_host(p->s, d.begin, d.end)) {
            return false;
        }
        i = d.end + 1;
    }
    return true;
}

void device_declaration(const rewriter *p, const declaration *d)
{
    if (d->flags & IS_MACRO) {
        if (!(d->flags & (IS_GLOBAL | IS_DEVICE | IS_CONSTANT)))
            blank(p, d->begin, d->end);
    } else if (d->params >= 0 && !is_type_only(p, d)) {
        split_function(p, d);
    } else if (d->flags & IS_CLASS && d->body >= 0) {
        split_class(p, d);
    } else if (is_type_only(p, d)) {
        split_type(p, d);
    } else {
        split_variable(p, d);
    }
}

void device_text(const rewriter *p, const cuda_tokens *s, const int *files, str *out)
{
    const char *copied = p->device;
    for (int i = 0; i < s->n_directives; i++) {
        const cuda_token *t = s->directives[i].at;
        if (!token_is(&t[0], "include") || t[1].kind != TOKEN_STRING)
            continue;
        if (files[i] >= 0) {
            const char *from = p->device + (t[1].at - p->text);
            str_add(out, copied, (size_t)(from - copied));
            str_printf(out, "\"%s\"", p->job->files[files[i]].name);
            copied = p->device + (t[1].end - p->text);
        } else if (!device_has_header(t[1].at + 1, (size_t)(t[1].end - t[1].at) - 2)) {
            blank_text(p, t[0].at, t[1].end); /* '#' remains */
        }
    }
    str_puts(out, copied);
}
