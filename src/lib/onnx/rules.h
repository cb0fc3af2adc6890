/* Macros for the rows of message rules, and the rules that several files use. */
#ifndef ONNX_RULES_H
#define ONNX_RULES_H

#include "lib/onnx/message.h"

#define COUNT(table) (int)(sizeof(table) / sizeof((table)[0]))
#define SEEN(seen, number) (((seen) >> (number)&1) != 0)

#define ONE(number, kind, type, field) \
    { \
        number, kind, false, offsetof(type, field), 0, #field, NULL \
    }
#define LIST(number, kind, type, field, n) \
    { \
        number, kind, true, offsetof(type, field), offsetof(type, n), #field, NULL \
    }
#define SUB(number, type, field, rule) \
    { \
        number, FIELD_MESSAGE, false, offsetof(type, field), 0, #field, rule \
    }
#define SUBS(number, type, field, n, rule) \
    { \
        number, FIELD_MESSAGE, true, offsetof(type, field), offsetof(type, n), #field, rule \
    }
#define JOIN(number, kind, type, field) \
    { \
        number, kind, true, offsetof(type, field), 0, #field, NULL \
    }

/* The fields of a rule that reads a message of a type by a table. */
#define OF(type, list) .bytes = sizeof(type), .fields = list, .n_fields = COUNT(list)

/* Defined in read_value.c, as are the rules of message.h. */
extern const message_rule onnx_pair_rule, onnx_type_rule, onnx_info_rule;

#endif
