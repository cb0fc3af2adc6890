/* The parts of a row of the op table that Python shows: its docstring with a signature, and the names of its results. */
#include "common.h"
#include <stdio.h>
#include <string.h>

/* "name(x, axis=None)\n--\n\ndoc", which inspect.signature reads. The kinds of parameters are left out. */
const char *op_doc(const ig_op *op, bool places)
{
    char text[2048];
    size_t n = (size_t)snprintf(text, sizeof text, "%s(", op->name);
    const char *s = op->signature;
    while (*s && n < sizeof text - 64) {
        const size_t name = strcspn(s, ":");
        n += (size_t)snprintf(text + n, sizeof text - n, "%.*s", (int)name, s);
        s += name;
        const size_t rest = strcspn(s, ",");
        const char *given = memchr(s, '=', rest);
        if (given) {
            const char *value = given + 2;
            const size_t length = (size_t)(s + rest - value);
            const bool dtype = strstr(s, ": dtype") == s && strncmp(value, "None", 4) != 0;
            n += (size_t)snprintf(text + n, sizeof text - n, dtype ? "='%.*s'" : "=%.*s",
                                  (int)length, value);
        }
        s += rest;
        s += strspn(s, ", ");
        if (*s)
            n += (size_t)snprintf(text + n, sizeof text - n, ", ");
    }
    snprintf(text + n, sizeof text - n, "%s)\n--\n\n%s%s", places ? ", *, device=None" : "",
             op->doc, op->doc[strlen(op->doc) - 1] == '.' ? "" : ".");
    return strdup(text);
}

PyTypeObject *op_results(const ig_op *op, int *n_results)
{
    enum { MAX_NAMES = 8 };
    PyStructSequence_Field fields[MAX_NAMES + 1] = {{NULL, NULL}};
    char *names = strdup(op->results), *rest = names, title[96];
    int n = 0;
    for (char *name; names && n < MAX_NAMES && (name = strtok_r(rest, " ", &rest));)
        fields[n++].name = name;
    snprintf(title, sizeof title, "ingot.%s_result", op->name);
    char *kept = strdup(title); /* Python keeps the pointers */
    PyStructSequence_Desc desc = {kept, "The results of an op.", fields, n};
    *n_results = n;
    return names && kept ? PyStructSequence_NewType(&desc) : NULL;
}
