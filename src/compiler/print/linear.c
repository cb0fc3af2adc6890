/* Values of the threads of two warps: see linear.h. */
#include "compiler/print/linear.h"

linear linear_constant(int64_t x)
{
    linear r = {.known = true};
    for (int t = 0; t < THREADS; t++)
        r.at[t] = x;
    return r;
}

linear linear_term(const void *of, int64_t v)
{
    return (linear){.known = true, .n = 1, .terms = {{of, v, 1}}};
}

linear linear_thread(int threads)
{
    linear r = {.known = true};
    for (int t = 0; t < THREADS; t++)
        r.at[t] = t % threads;
    return r;
}

linear linear_add(linear a, const linear *b, int64_t factor)
{
    a.known = a.known && b->known;
    for (int t = 0; t < THREADS; t++)
        a.at[t] += factor * b->at[t];
    for (int i = 0; i < b->n && a.known; i++) {
        const term *t = &b->terms[i];
        int k = 0;
        while (k < a.n && (a.terms[k].of != t->of || a.terms[k].version != t->version))
            k++;
        if (k == TERMS)
            return (linear){0};
        if (k == a.n)
            a.terms[a.n++] = (term){t->of, t->version, 0};
        a.terms[k].factor += factor * t->factor;
        if (!a.terms[k].factor)
            a.terms[k] = a.terms[--a.n];
    }
    return a;
}

linear linear_scaled(const linear *a, int64_t factor)
{
    if (factor > INT32_MAX || factor < INT32_MIN)
        return (linear){0};
    return linear_add(linear_constant(0), a, factor);
}

int64_t linear_slope(const linear *a)
{
    const int64_t slope = a->at[1] - a->at[0];
    for (int t = 2; t < THREADS; t++)
        if (a->at[t] - a->at[t - 1] != slope)
            return 0;
    return slope;
}

bool linear_is_one(const linear *a)
{
    for (int t = 1; t < THREADS; t++)
        if (a->at[t] != a->at[0])
            return false;
    return true;
}

/* a op b for one thread; false: unknown. */
static bool compute(kernel_operator op, int64_t a, int64_t b, int64_t *out)
{
    const bool small = a >= 0 && a <= INT32_MAX && b >= 0 && b <= INT32_MAX;
    switch (op) {
    case OP_AND: *out = a & b; break;
    case OP_OR: *out = a | b; break;
    case OP_XOR: *out = a ^ b; break;
    case OP_MUL: *out = a * b; break;
    case OP_SHL: *out = b < 31 ? a << b : 0; break;
    case OP_SHR: *out = b < 31 ? a >> b : 0; break;
    case OP_DIV: *out = b ? a / b : 0; break;
    case OP_REM: *out = b ? a % b : 0; break;
    case OP_EQ: *out = a == b; return true;
    case OP_NE: *out = a != b; return true;
    case OP_LT: *out = a < b; return true;
    case OP_LE: *out = a <= b; return true;
    case OP_GT: *out = a > b; return true;
    case OP_GE: *out = a >= b; return true;
    default: return false;
    }
    return small && ((op != OP_DIV && op != OP_REM) || b);
}

linear linear_by_threads(kernel_operator op, const linear *a, const linear *b)
{
    linear r = {.known = a->known && b->known && !a->n && !b->n};
    for (int t = 0; t < THREADS && r.known; t++)
        r.known = compute(op, a->at[t], b->at[t], &r.at[t]);
    return r;
}

linear linear_choose(const linear *c, const linear *a, const linear *b)
{
    const linear apart = linear_add(*a, b, -1);
    linear r = *a;
    r.known = c->known && !c->n && apart.known && !apart.n;
    for (int t = 0; t < THREADS; t++)
        r.at[t] = c->at[t] ? a->at[t] : b->at[t];
    return r;
}
