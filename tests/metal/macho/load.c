/* Runs a macOS program for arm64 on Linux for aarch64, with the Metal simulator in place of Apple's frameworks: a test of
 * the code as it is compiled for Apple's calling convention.
 *
 *   macho_run SIMULATOR.so PROGRAM [ARGUMENT...]
 *
 * The program is a Mach-O file that imports only libSystem and has classic rebase and bind opcodes, as lld writes them
 * for macOS 11. libsystem.c has what its functions are here. */
#define _GNU_SOURCE
#include "macho.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum {
    MAGIC = 0xfeedfacf, CPU_ARM64 = 0x0100000c, LC_SEGMENT_64 = 0x19, LC_DYLD_INFO_ONLY = (int)0x80000022,
    LC_MAIN = (int)0x80000028, SEGMENTS_MOST = 16,
    SECTION_INITIALIZERS = 0x09, SECTION_TLV = 0x13, SECTION_TLV_DATA = 0x11, SECTION_TLV_ZERO = 0x12
};

typedef struct header {
    uint32_t magic, cpu, subtype, type, commands, bytes, flags, reserved;
} header;
typedef struct command {
    uint32_t kind, bytes;
} command;
typedef struct segment {
    command head;
    char name[16];
    uint64_t address, size, offset, file_size;
    uint32_t protection_most, protection, sections, flags;
} segment;
typedef struct section {
    char name[16], segment[16];
    uint64_t address, size;
    uint32_t offset, align, relocations, n_relocations, flags, reserved[3];
} section;
typedef struct dyld_info {
    command head;
    uint32_t rebase, rebase_size, bind, bind_size, weak, weak_size, lazy, lazy_size, exports, exports_size;
} dyld_info;
typedef struct entry_point {
    command head;
    uint64_t entry, stack;
} entry_point;

static struct {
    const uint8_t *file;
    char *base;   /* where address `low` is */
    uint64_t low, high, entry;
    const segment *segments[SEGMENTS_MOST];
    int n;
    const dyld_info *info;
} m;

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "macho_run: %s %s\n", what, which);
    exit(3);
}

static uint64_t number(const uint8_t **p)
{
    uint64_t v = 0;
    int shift = 0;
    do {
        v |= (uint64_t)(**p & 127) << shift;
        shift += 7;
    } while (*(*p)++ & 128);
    return v;
}

static char *place(uint64_t address) { return m.base + (address - m.low); }

static void rebase(const uint8_t *p, const uint8_t *end)
{
    char *at = NULL;
    while (p < end) {
        const int op = *p & 0xf0, small = *p & 15;
        uint64_t n = 1, skip = 0;
        p++;
        switch (op) {
        case 0x00: return;
        case 0x10: continue;
        case 0x20: at = place(m.segments[small]->address) + number(&p); continue;
        case 0x30: at += number(&p); continue;
        case 0x40: at += small * 8; continue;
        case 0x50: n = (uint64_t)small; break;
        case 0x60: n = number(&p); break;
        case 0x70: skip = number(&p); break;
        case 0x80:
            n = number(&p);
            skip = number(&p);
            break;
        default: fail("cannot read the rebase opcodes of", "the program");
        }
        for (; n; n--) {
            uint64_t v;
            memcpy(&v, at, 8);
            v += (uint64_t)m.base - m.low;
            memcpy(at, &v, 8);
            at += 8 + skip;
        }
    }
}

static void bind(const uint8_t *p, const uint8_t *end)
{
    char *at = NULL;
    void *value = NULL;
    uint64_t addend = 0;
    while (p < end) {
        const int op = *p & 0xf0, small = *p & 15;
        uint64_t n = 1, skip = 0;
        p++;
        switch (op) {
        case 0x00: case 0x10: case 0x30: case 0x50: continue; /* the end of a lazy bind, libraries, the type */
        case 0x20: number(&p); continue;
        case 0x40:
            value = libsystem_find((const char *)p);
            if (!value)
                fail("there is nothing for", (const char *)p);
            p += strlen((const char *)p) + 1;
            continue;
        case 0x60: addend = number(&p); continue;
        case 0x70: at = place(m.segments[small]->address) + number(&p); continue;
        case 0x80: at += number(&p); continue;
        case 0x90: break;
        case 0xa0: skip = number(&p); break;
        case 0xb0: skip = (uint64_t)small * 8; break;
        case 0xc0:
            n = number(&p);
            skip = number(&p);
            break;
        default: fail("cannot read the bind opcodes of", "the program");
        }
        for (; n; n--) {
            const uint64_t v = (uint64_t)value + addend;
            memcpy(at, &v, 8);
            at += 8 + skip;
        }
    }
}

static void map_file(const char *path)
{
    struct stat st;
    const int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0)
        fail("cannot open", path);
    m.file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    const header *h = (const header *)m.file;
    if (m.file == MAP_FAILED || h->magic != MAGIC || h->cpu != CPU_ARM64)
        fail("not a Mach-O program for arm64:", path);
    m.low = UINT64_MAX;
    const char *c = (const char *)(h + 1);
    for (uint32_t i = 0; i < h->commands; i++, c += ((const command *)c)->bytes) {
        const segment *s = (const segment *)c;
        if (s->head.kind == LC_SEGMENT_64 && m.n < SEGMENTS_MOST) {
            m.segments[m.n++] = s;
            if (s->protection && s->address < m.low)
                m.low = s->address;
            if (s->protection && s->address + s->size > m.high)
                m.high = s->address + s->size;
        } else if (s->head.kind == (uint32_t)LC_DYLD_INFO_ONLY)
            m.info = (const dyld_info *)c;
        else if (s->head.kind == (uint32_t)LC_MAIN)
            m.entry = ((const entry_point *)c)->entry;
    }
    if (!m.info)
        fail("no classic fixups in", path);
}

/* Thread-local variables and initializers. */
static void visit_sections(bool late)
{
    for (int i = 0; i < m.n; i++) {
        const section *s = (const section *)(m.segments[i] + 1);
        for (uint32_t k = 0; k < m.segments[i]->sections; k++, s++) {
            const uint32_t kind = s->flags & 0xff;
            if (!late && kind == SECTION_TLV)
                tlv_variables(place(s->address), s->size);
            if (!late && (kind == SECTION_TLV_DATA || kind == SECTION_TLV_ZERO))
                tlv_template(place(s->address), s->size, kind == SECTION_TLV_DATA);
            if (late && kind == SECTION_INITIALIZERS)
                for (uint64_t f = 0; f < s->size / 8; f++)
                    ((void (**)(void))place(s->address))[f]();
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 3)
        fail("usage: macho_run", "SIMULATOR.so PROGRAM [ARGUMENT...]");
    sha3_begin();
    libsystem_begin(argv[1], argv[2]);
    map_file(argv[2]);
    m.base = mmap(NULL, m.high - m.low, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < m.n; i++)
        if (m.segments[i]->protection)
            memcpy(place(m.segments[i]->address), m.file + m.segments[i]->offset, m.segments[i]->file_size);
    rebase(m.file + m.info->rebase, m.file + m.info->rebase + m.info->rebase_size);
    bind(m.file + m.info->bind, m.file + m.info->bind + m.info->bind_size);
    bind(m.file + m.info->weak, m.file + m.info->weak + m.info->weak_size);
    bind(m.file + m.info->lazy, m.file + m.info->lazy + m.info->lazy_size);
    visit_sections(false);
    for (int i = 0; i < m.n; i++)
        if (m.segments[i]->protection)
            mprotect(place(m.segments[i]->address), m.segments[i]->size, (int)m.segments[i]->protection & 7);
    __builtin___clear_cache(m.base, m.base + (m.high - m.low));
    visit_sections(true);
    int (*start)(int, char **) = (int (*)(int, char **))(uintptr_t)(m.base + m.entry);
    const int code = start(argc - 2, argv + 2);
    fflush(NULL);
    exit(code);
}
