/* Files embedded in the command as bytes, by the assembler. Their paths are relative to the root of the
 * sources, where make runs. The Makefile lists which object embeds which file. */
#ifndef CLI_EMBED_H
#define CLI_EMBED_H

#ifdef __APPLE__
#define SECTION "__TEXT,__const"
#define SYMBOL(name) "_" name
#define HIDE(name) ".private_extern " SYMBOL(name) "\n"
#else
#define SECTION ".rodata"
#define SYMBOL(name) name
#define HIDE(name) ".hidden " SYMBOL(name) "\n"
#endif

/* Defines `name`, the bytes of a file with a zero byte after them, and `name_size`, their number. The number is
 * computed by the assembler, because Apple's linker may move symbols relative to each other. */
/* clang-format off */
#define INCLUDE_FILE(name, path) \
    __asm__(".pushsection " SECTION "\n" \
            ".balign 16\n" \
            ".globl " SYMBOL(name) "\n" HIDE(name) \
            SYMBOL(name) ":\n" \
            ".incbin \"" path "\"\n" \
            "1:\n" \
            ".byte 0\n" \
            ".balign 8\n" \
            ".globl " SYMBOL(name) "_size\n" HIDE(name "_size") \
            SYMBOL(name) "_size:\n" \
            ".quad 1b - " SYMBOL(name) "\n" \
            ".popsection\n")
/* clang-format on */

#endif
