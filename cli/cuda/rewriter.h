/* The state of the rewriter, shared by its files: rewrite.c walks over the tokens of a file, declare.c reads
 * declarations, stub.c turns kernels into stubs, launch.c rewrites launches and lambdas. */
#ifndef CLI_CUDA_REWRITER_H
#define CLI_CUDA_REWRITER_H

#include "cuda/declare.h"
#include "cuda/device.h"
#include "cuda/rewrite.h"
#include "cuda/scan.h"

enum { DEPTH_MOST = 256 };

typedef enum scope_kind { SCOPE_NAMESPACE, SCOPE_CLASS, SCOPE_BODY } scope_kind;

typedef struct scope {
    scope_kind kind;
    const scan_token *name; /* the first word of a namespace's name, or NULL */
    const scan_token *last; /* its last word: `namespace a::b {` opens two */
} scope;

typedef struct rewriter {
    rewrite_job *job;
    const char *path;
    scan s;
    const char *copied; /* the text before it is already in out */
    str out;
    scope scopes[DEPTH_MOST];
    int depth;
    int begin;                     /* the first token of the current declaration */
    bool is_unit, is_c, uses_cuda; /* as in struct rewritten */
    int number;                    /* of the file */
    const char *text;              /* the whole text */
    int function, body; /* the first token of the current function, and its '{'; -1: none */
    size_t before;      /* the start of the function in out */
    str closures;       /* structs of lambdas for the device, appended to the unit's text */
    int n_closures;
    device_include *includes; /* in the order of the text */
    int n_includes;
} rewriter;

/* Replaces [from, to) by text, and keeps its line breaks. */
void rewriter_edit(rewriter *r, const char *from, const char *to, const char *text, bool directive);
/* Adds `ns::` for each enclosing namespace. */
void rewriter_add_namespaces(const rewriter *r, str *out);

/* Replaces a kernel's body by its stub; registers variables after their declaration. */
void stub_kernel(rewriter *r, const declaration *d);
void stub_variables(rewriter *r, const declaration *d);

/* True if the mark occurs three times in a row: "<<<". */
bool launch_three(const scan *s, int i, char mark);
/* Rewrites the launch whose "<<<" is at i; returns its last token. */
int launch_rewrite(rewriter *r, int i);
/* Rewrites the lambda whose '[' is at i if it is for a kernel; returns its last token, or i. */
int launch_lambda(rewriter *r, int i);

#endif
