/* The Objective-C runtime and Metal's messages, declared from the rows of messages.def, and functions that load them. A
 * message to nil returns 0. */
#ifndef METAL_OBJC_H
#define METAL_OBJC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct objc_object *id;
typedef struct objc_selector *SEL;
typedef uint64_t NSUInteger;
typedef int64_t NSInteger;
#if defined(__x86_64__)
typedef signed char BOOL;
#else
typedef bool BOOL;
#endif
typedef struct MTLSize {
    NSUInteger width, height, depth;
} MTLSize;
typedef struct NSRange {
    NSUInteger location, length;
} NSRange;

enum {
#define CONSTANT(name, value) name = value,
#include "engine/backend/metal/messages.def"
};

typedef struct objc_runtime {
#define RUNTIME(result, name, symbol, parameters) result(*name) parameters;
#include "engine/backend/metal/messages.def"
} objc_runtime;

/* The parameters of a row without their parentheses, for a prototype that starts with the receiver. */
#define OBJC_LIST(...) __VA_ARGS__

typedef struct objc_messages {
#define SEND0(result, name, selector) \
    struct { \
        result (*send)(id self, SEL op); \
        SEL op; \
    } name;
#define SEND(result, name, selector, parameters) \
    struct { \
        result (*send)(id self, SEL op, OBJC_LIST parameters); \
        SEL op; \
    } name;
#include "engine/backend/metal/messages.def"
} objc_messages;

/* Valid once objc_load has succeeded. */
extern objc_runtime objc;
extern objc_messages objc_message;

/* objc_send(commit, commands) is [commands commit]. */
#define objc_send(name, ...) \
    objc_message.name.send(OBJC_RECEIVER(__VA_ARGS__, ), \
                           objc_message.name.op OBJC_REST(__VA_ARGS__))
#define OBJC_RECEIVER(self, ...) self
#define OBJC_REST(self, ...) , ##__VA_ARGS__

/* Loads libobjc and the frameworks. IG_METAL is a library that has all functions, or "off". Returns NULL, or the reason
 * why there is no Metal; *remedy then says what would help. */
const char *objc_load(const char **remedy);

/* Loads MetalPerformanceShaders. False if it is missing. */
bool objc_load_mps(void);

/* The number of GPU cores, from the I/O registry; 0 if it is not known. library is IG_METAL, or NULL. */
int metal_core_count(const char *library);

#endif
