/* Counting allocator. Blocks are counted per thread, because they are frequent. The bytes of array data are
 * counted for the process, because the budget limits them. Only the list of kept blocks has a lock. */
#include "base/memory.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/size.h"
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static _Thread_local struct {
    int64_t allocations, live, fail_at;
    bool watched; /* frees the thread's kept blocks when it ends */
} mine;

static atomic_int_fast64_t ended_live; /* of threads that have ended */
static atomic_uint_fast64_t data_used, data_peak, limit_set;

static void watch_thread(void);

/* True if this allocation is the one that a test chose to fail. */
static bool refused(void)
{
    if (++mine.allocations != mine.fail_at)
        return false;
    mine.fail_at = 0;
    return true;
}

static void *counted(void *block, size_t bytes)
{
    if (!block)
        FAIL_NULL(IG_ERR_MEMORY, "out of memory: the system refused %zu bytes", bytes);
    if (!mine.watched)
        watch_thread();
    mine.live++;
    return block;
}

static void uncount(void) { mine.live--; }

void *memory_get(size_t bytes)
{
    return counted(refused() ? NULL : malloc(bytes ? bytes : 1), bytes);
}

void *memory_new(size_t bytes)
{
    return counted(refused() ? NULL : calloc(1, bytes ? bytes : 1), bytes);
}

void *memory_resize(void *block, size_t bytes)
{
    if (!block)
        return memory_get(bytes);
    void *moved = refused() ? NULL : realloc(block, bytes ? bytes : 1);
    if (!moved)
        FAIL_NULL(IG_ERR_MEMORY, "out of memory: the system refused %zu bytes", bytes);
    return moved;
}

void memory_free(void *block)
{
    if (!block)
        return;
    uncount();
    free(block);
}

bool memory_room(void *list, int n, int *room, size_t size)
{
    if (n < *room)
        return true;
    const int64_t more = 2 * (int64_t)*room + 16;
    if (more > INT_MAX) {
        ig_fail(IG_ERR_MEMORY, "out of memory: a list has more than %d elements", *room);
        return false;
    }
    void *at;
    memcpy(&at, list, sizeof at);
    at = memory_resize(at, (size_t)more * size);
    if (!at)
        return false;
    memcpy(list, &at, sizeof at);
    *room = (int)more;
    return true;
}

char *memory_text(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = memory_get(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

void ig_free(void *text) { memory_free(text); }

/* ---- pieces: small blocks with short lives ---- */

/* Sanitizers must see each allocation. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REUSES_PIECES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define REUSES_PIECES 0
#endif
#endif
#ifndef REUSES_PIECES
#define REUSES_PIECES 1
#endif

/* Sizes are powers of two from PIECE on. A thread keeps at most BIN_BYTES of each size. */
enum { PIECE = 64, BINS = 11, PIECE_MOST = PIECE << (BINS - 1), BIN_BYTES = 256 << 10 };

typedef struct piece {
    struct piece *next;
} piece;

static _Thread_local struct {
    piece *first[BINS];
    int n[BINS];
} bins;

static void bins_empty(void)
{
    for (int i = 0; i < BINS; i++)
        while (bins.first[i]) {
            piece *p = bins.first[i];
            bins.first[i] = p->next;
            free(p);
        }
    memset(bins.n, 0, sizeof bins.n);
}

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

static void thread_end(void *unused)
{
    (void)unused;
    bins_empty();
    atomic_fetch_add(&ended_live, mine.live);
    mine.live = 0;
    mine.watched = false; /* another destructor may allocate again */
}

static void thread_begin(void) { pthread_key_create(&thread_key, thread_end); }

static void watch_thread(void)
{
    pthread_once(&thread_once, thread_begin);
    pthread_setspecific(thread_key, &mine);
    mine.watched = true;
}

static int bin_of(size_t bytes)
{
    const size_t more = bytes > PIECE ? (bytes - 1) / PIECE : 0;
    return more ? (int)(8 * sizeof(long long)) - __builtin_clzll(more) : 0;
}

static void *piece_take(size_t bytes)
{
    const int bin = bin_of(bytes);
    piece *p = bins.first[bin];
    if (!p)
        return aligned_alloc(PIECE, (size_t)PIECE << bin);
    bins.first[bin] = p->next;
    bins.n[bin]--;
    return p;
}

static void piece_put(void *block, size_t bytes)
{
    const int bin = bin_of(bytes);
    if (!REUSES_PIECES || ((size_t)bins.n[bin] << bin) * PIECE >= BIN_BYTES) {
        free(block);
        return;
    }
    if (!mine.watched)
        watch_thread();
    piece *p = block;
    p->next = bins.first[bin];
    bins.first[bin] = p;
    bins.n[bin]++;
}

void *memory_piece_get(size_t bytes)
{
    return counted(refused() ? NULL : piece_take(bytes), bytes);
}

void memory_piece_free(void *block, size_t bytes)
{
    uncount();
    piece_put(block, bytes);
}

/* ---- array data and its budget ---- */

uint64_t ig_memory_limit(void)
{
    const uint64_t limit = atomic_load(&limit_set), asked = limit ? limit : size_limit_asked();
    return asked ? asked : (uint64_t)machine_get()->memory_limit_bytes;
}

ig_status ig_set_memory_limit(uint64_t bytes)
{
    atomic_store(&limit_set, bytes);
    return IG_OK;
}

uint64_t ig_memory_used(void) { return atomic_load(&data_used); }
uint64_t ig_memory_peak(void) { return atomic_load(&data_peak); }

ig_status memory_admit(uint64_t bytes, const char *what)
{
    uint64_t used = atomic_load(&data_used), limit = ig_memory_limit();
    if (bytes <= limit && used <= limit - bytes)
        return IG_OK;
    char needed[SIZE_ROOM], most[SIZE_ROOM], in_use[SIZE_ROOM];
    FAIL(IG_ERR_MEMORY,
         "%s needs %s, but the memory limit is %s and %s are in use; release arrays or raise the "
         "limit (ig_set_memory_limit, --memory-limit) to at least %llu bytes",
         what, size_text(bytes, needed), size_text(limit, most), size_text(used, in_use),
         (unsigned long long)(bytes + used));
}

/* A block of array data: a header with its size, then the data. */
typedef struct data_head {
    size_t room; /* bytes of data that fit */
    struct data_head *next;
} data_head;

/* The data is followed by a TAIL for whole vectors: loops may read, but never write, past the last element. */
enum { HEAD = 64, TAIL = 64, HUGE_PAGE = 2 << 20, KEEP_FROM = 64 << 10 };

/* Large blocks are kept for the next array of about their size: asking the system for memory and
 * touching it for the first time costs more than most programs that fill it. KEEP_ANY blocks are kept whatever their size. More,
 * up to KEEP_MOST, are kept as long as arrays and kept blocks together take no more than arrays took at their peak: a step of
 * a training replaces all parameters and moments at once. */
enum { KEEP_ANY = 16, KEEP_MOST = 1024 };
static struct {
    pthread_mutex_t lock;
    data_head *first; /* newest first */
    int n;
    uint64_t bytes;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The size of a block for `bytes` bytes of data, in whole cache lines. A large block begins at a huge page. It need not
 * end at one: the rest of that page would be resident too. */
static size_t block_bytes(size_t bytes) { return (HEAD + bytes + TAIL + HEAD - 1) / HEAD * HEAD; }

/* Takes the first kept block that is large enough but not much larger; NULL if there is none. */
static data_head *kept_take(size_t bytes)
{
    const size_t least = block_bytes(bytes) - HEAD - TAIL;
    data_head *found = NULL;
    if (pthread_mutex_trylock(&kept.lock) != 0)
        return NULL; /* busy, or held by a thread that does not exist in a forked child */
    for (data_head **at = &kept.first; *at && !found; at = &(*at)->next)
        if ((*at)->room >= least && (*at)->room - least <= bytes / 4) {
            found = *at;
            *at = found->next;
            kept.n--;
            kept.bytes -= found->room;
            break;
        }
    pthread_mutex_unlock(&kept.lock);
    return found;
}

/* How many of the kept blocks stay, newest first; with the lock. */
static int kept_count(int most)
{
    const uint64_t used = atomic_load(&data_used), peak = atomic_load(&data_peak);
    const uint64_t room = peak > used ? peak - used : 0;
    if (kept.n <= KEEP_ANY || (kept.n <= most && kept.bytes <= room))
        return kept.n < most ? kept.n : most;
    uint64_t bytes = 0;
    int n = 0;
    for (const data_head *b = kept.first; b && n < most; b = b->next, n++) {
        bytes += b->room;
        if (n >= KEEP_ANY && bytes > room)
            break;
    }
    return n;
}

/* Keeps a block (may be NULL), and frees the oldest ones beyond `most` or beyond the peak. */
static void kept_put(data_head *block, int most)
{
    data_head *old = NULL;
    if (pthread_mutex_trylock(&kept.lock) != 0) {
        free(block);
        return;
    }
    if (block) {
        block->next = kept.first;
        kept.first = block;
        kept.n++;
        kept.bytes += block->room;
    }
    const int stay = kept_count(most);
    if (kept.n > stay) {
        data_head **at = &kept.first;
        for (int i = 0; i < stay; i++)
            at = &(*at)->next;
        old = *at;
        *at = NULL;
        kept.n = stay;
        for (const data_head *b = old; b; b = b->next)
            kept.bytes -= b->room;
    }
    pthread_mutex_unlock(&kept.lock);
    while (old) {
        data_head *next = old->next;
        free(old);
        old = next;
    }
}

void memory_trim(void)
{
    kept_put(NULL, 0);
    bins_empty();
}

static data_head *block_from_system(size_t bytes)
{
    const size_t whole = block_bytes(bytes);
    const bool large = whole > 2 * HUGE_PAGE;
    void *place = NULL;
    if (whole <= PIECE_MOST)
        place = piece_take(whole);
    else if (posix_memalign(&place, large ? HUGE_PAGE : HEAD, whole) != 0)
        place = NULL;
    data_head *block = place;
    if (!block)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (large)
        madvise(block, whole, MADV_HUGEPAGE); /* a hint */
#endif
    block->room = whole - HEAD - TAIL;
    return block;
}

static void count_used(size_t bytes)
{
    uint64_t used = atomic_fetch_add_explicit(&data_used, bytes, memory_order_relaxed) + bytes;
    uint64_t peak = atomic_load_explicit(&data_peak, memory_order_relaxed);
    while (used > peak && !atomic_compare_exchange_weak(&data_peak, &peak, used))
        ;
}

void *memory_counted_resize(void *block, size_t held, size_t bytes, const char *what)
{
    if (bytes > held && memory_admit(bytes - held, what) != IG_OK)
        return NULL;
    void *moved = memory_resize(block, bytes);
    if (moved && bytes >= held)
        count_used(bytes - held);
    else if (moved)
        atomic_fetch_sub_explicit(&data_used, held - bytes, memory_order_relaxed);
    return moved;
}

void memory_counted_free(void *block, size_t held)
{
    if (block)
        atomic_fetch_sub_explicit(&data_used, held, memory_order_relaxed);
    memory_free(block);
}

void *memory_data_get(size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        FAIL_NULL(IG_ERR_MEMORY, "out of memory: %zu bytes are more than can be addressed", bytes);
    if (memory_admit(bytes, "this array") != IG_OK)
        return NULL;
    data_head *block = NULL;
    if (!refused()) {
        block = bytes >= KEEP_FROM ? kept_take(bytes) : NULL;
        if (!block)
            block = block_from_system(bytes);
        if (!block) { /* the kept blocks may hold the memory that is missing */
            memory_trim();
            block = block_from_system(bytes);
        }
    }
    if (!counted(block, bytes))
        return NULL;
    count_used(bytes);
    return (char *)block + HEAD;
}

void memory_data_free(void *data, size_t bytes)
{
    if (!data)
        return;
    data_head *block = (data_head *)((char *)data - HEAD);
    const size_t whole = block->room + HEAD + TAIL;
    atomic_fetch_sub_explicit(&data_used, bytes, memory_order_relaxed);
    uncount();
    if (block->room >= KEEP_FROM)
        kept_put(block, KEEP_MOST);
    else if (whole <= PIECE_MOST)
        piece_put(block, whole);
    else
        free(block);
}

/* ---- for tests ---- */

void memory_fail_at(int64_t n) { mine.fail_at = n ? mine.allocations + n : 0; }

int64_t memory_count(void) { return mine.allocations; }
int64_t memory_live(void) { return atomic_load(&ended_live) + mine.live; }
