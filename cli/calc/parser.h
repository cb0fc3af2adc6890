/* The parser's state and the functions that its files share: parse.c has values, operators.c expressions, statement.c statements. */
#ifndef CLI_PARSER_H
#define CLI_PARSER_H

#include "calc/syntax.h"

typedef struct parser {
    arena *memory;
    const char *source;
    const token *first, *now;
    int nesting;
    mistake *wrong;
} parser;

/* The children of an expression, in the order in which they are added. */
typedef struct child_list {
    expr *parent;
    expr *last;
} child_list;

expr *node_new(parser *p, expr_kind kind, span where);
/* Adds a copy of child to the parent's children, because an expression can be linked into only one list. False if
 * child is NULL or the tree becomes too deep. */
bool child_add(parser *p, child_list *c, const expr *child);

bool at_symbol(const parser *p, const char *symbol);
bool take_symbol(parser *p, const char *symbol);
bool at_word(const parser *p, const char *word);
bool take_word(parser *p, const char *word);
/* Takes an operator and the newlines after it; returns where the operator is. */
span take_operator(parser *p);
/* Reports that `what` was expected here; returns NULL. */
const expr *expected(parser *p, const char *what);
/* The depth of the tree that is being parsed is limited: false, with a mistake, if it is reached. */
bool nesting_begin(parser *p);

const expr *parse_postfix(parser *p);
const expr *parse_either(parser *p);
/* Parses an expression. */
const expr *parse_whole(parser *p);
/* A literal; takes its token. */
const expr *parse_literal(parser *p, value literal);
/* True if the token is a word of the language, such as for. */
bool is_keyword(const token *t);
/* Parses names, and adds them: i, or i, x. */
bool parse_targets(parser *p, child_list *targets);
/* Parses parameters up to a closing symbol, and adds them. */
bool parse_params(parser *p, child_list *params, const char *close);
/* left op right */
const expr *expr_operation(parser *p, expr_kind kind, const operation *op, span where,
                           const expr *left, const expr *right);
/* The operation of +=, **= and so on, or NULL. */
const operation *find_augmented(const parser *p);

#endif
