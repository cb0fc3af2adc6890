/* The memory of a device: blocks are reused, the budget holds, and if the driver is out of memory, cached blocks are
 * released before the next attempt. First with a simulated driver, then with arrays on PoCL. */
#include "support/opencl.h"

#include "engine/backend/pool.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- a driver with a fixed number of bytes ---- */

static struct {
    uint64_t room, held;
    size_t size[64];
    int gets, gives, waits;
    uint64_t busy; /* the block that commands use; 0: none */
} fake;

static ig_status fake_get(void *device, size_t bytes, uint64_t *at, bool *full)
{
    (void)device;
    fake.gets++;
    *full = fake.held + bytes > fake.room;
    if (*full)
        return IG_ERR_MEMORY;
    *at = 1;
    while (fake.size[*at])
        ++*at;
    fake.size[*at] = bytes;
    fake.held += bytes;
    return IG_OK;
}

static void fake_give(void *device, uint64_t at)
{
    (void)device;
    assert_true(fake.size[at] > 0);
    fake.held -= fake.size[at];
    fake.size[at] = 0;
    fake.gives++;
}

static void fake_wait(void *device)
{
    (void)device;
    fake.waits++;
    fake.busy = 0;
}

static bool fake_busy(void *device, uint64_t at)
{
    (void)device;
    return at == fake.busy;
}

static const pool_driver fake_driver = {fake_get, fake_give, fake_wait, NULL, NULL};

static memory_pool pool_new(uint64_t room, uint64_t total)
{
    memset(&fake, 0, sizeof fake);
    fake.room = room;
    return (memory_pool){.driver = &fake_driver, .name = "fake:0", .total = total};
}

static void blocks_are_reused(void **unused)
{
    (void)unused;
    memory_pool p = pool_new(1 << 20, 1 << 20);
    pool_block *a = pool_take(&p, 5000), *b = pool_take(&p, 0);
    assert_non_null(a);
    assert_non_null(b);
    assert_true(a->bytes >= 5000 && a->bytes <= 5000 * 9 / 8 && b->bytes > 0);
    const uint64_t at = a->at, used = p.used;
    pool_put(&p, a);
    assert_int_equal(p.used + p.cached, used);
    a = pool_take(&p, 5010);
    assert_int_equal(a->at, at);
    assert_int_equal(fake.gets, 2);
    assert_int_equal(p.peak, used);
    pool_put(&p, a);
    pool_put(&p, b);
    pool_trim(&p);
    assert_int_equal(p.used + p.cached + fake.held, 0);
}

static void kept_blocks_make_room(void **unused)
{
    (void)unused;
    memory_pool p = pool_new(8192, 1 << 20);
    pool_block *a = pool_take(&p, 4096), *b = pool_take(&p, 4096);
    pool_put(&p, a);
    a = pool_take(&p, 2048); /* a cached block fills the driver's memory */
    assert_non_null(a);
    assert_int_equal(fake.waits, 1);
    assert_int_equal(fake.gives, 1);
    assert_null(pool_take(&p, 8192));
    assert_error(IG_ERR_MEMORY, "fake:0: a buffer needs 8192 bytes (8 KiB), but ");
    pool_put(&p, a);
    pool_put(&p, b);
    pool_trim(&p);
    assert_int_equal(fake.held, 0);
}

static void the_limit_is_kept(void **unused)
{
    (void)unused;
    memory_pool p = pool_new(1 << 20, 1 << 20);
    p.limit_set = 8192;
    assert_int_equal(pool_limit(&p), 8192);
    assert_int_equal(pool_admit(&p, 8192, "this"), IG_OK);
    pool_block *a = pool_take(&p, 4096), *b = pool_take(&p, 4096);
    assert_null(pool_take(&p, 1));
    assert_error(
        IG_ERR_MEMORY,
        "a buffer needs 512 bytes (512 bytes), but 0 bytes are free and the limit is 8 KiB");
    assert_int_equal(pool_admit(&p, 1, "this"), IG_ERR_MEMORY);
    assert_error(IG_ERR_MEMORY, "this needs 1 bytes");
    pool_put(&p, a);
    a = pool_take(&p, 2048); /* cached blocks count, and are released first */
    assert_non_null(a);
    assert_true(fake.held <= 8192);
    assert_null(pool_take(&p, SIZE_MAX - 5));
    assert_error(IG_ERR_MEMORY, "needs");
    pool_put(&p, a);
    pool_put(&p, b);
    pool_trim(&p);
}

/* Blocks are never rounded up beyond the driver's limit, and the cache is limited. */
static void sizes_have_bounds(void **unused)
{
    (void)unused;
    memory_pool p = pool_new(1 << 20, 1 << 20);
    p.block_most = 9001;
    p.cached_most = 600;
    pool_block *a = pool_take(&p, 9001), *b = pool_take(&p, 512);
    assert_int_equal(a->bytes, 9001);
    pool_put(&p, a);
    assert_int_equal(p.cached, 0);
    pool_put(&p, b);
    assert_int_equal(p.cached, 512);
    assert_int_equal(fake.held, 512);
    pool_trim(&p);
}

/* The host writes to blocks of this driver: a block in use is taken only if nothing else fits, after a wait. */
static void busy_blocks_wait(void **unused)
{
    (void)unused;
    static const pool_driver driver = {fake_get, fake_give, fake_wait, NULL, fake_busy};
    memory_pool p = pool_new(1 << 20, 3 * 4096);
    p.driver = &driver;
    pool_block *a = pool_take(&p, 4096);
    const uint64_t first = fake.busy = a->at;
    pool_put(&p, a);
    a = pool_take(&p, 4096);
    assert_int_not_equal(a->at, first);
    assert_int_equal(fake.waits, 0);
    pool_block *b = pool_take(&p, 4096);
    assert_int_not_equal(b->at, first);
    pool_block *c = pool_take(&p, 4096);
    assert_non_null(c);
    assert_int_equal(c->at, first);
    assert_int_equal(fake.waits, 1);
    assert_int_equal(fake.gets, 3);
    pool_put(&p, a);
    pool_put(&p, b);
    pool_put(&p, c);
    pool_trim(&p);
    assert_int_equal(fake.held, 0);
}

static void every_allocation_fails(void **unused)
{
    (void)unused;
    const int64_t live = memory_live();
    memory_pool p = pool_new(1 << 20, 1 << 20);
    memory_fail_at(1);
    assert_null(pool_take(&p, 100));
    memory_fail_at(0);
    assert_error(IG_ERR_MEMORY, "out of memory");
    assert_int_equal(fake.held + p.used, 0);
    assert_int_equal(memory_live(), live);
}

/* ---- arrays ---- */

static ig_array *ones_on(const char *device, int64_t n)
{
    assert_int_equal(ig_set_device(device), IG_OK);
    ig_array *x = ig_add(ig_arange(0, (double)n, 1, IG_F32), ig_float(1));
    return ig_eval(&x, 1) == IG_OK ? x : NULL;
}

static void arrays_reuse_blocks(void **unused)
{
    (void)unused;
    enum { ELEMENTS = 1 << 16, BYTES = ELEMENTS * 4 };
    ig_memory_info before = {0}, now = {0};
    if (!opencl_device_or_skip(0))
        return;
    for (int i = 0; i < 5; i++) {
        ig_scope_begin();
        assert_non_null(ones_on("opencl:0", ELEMENTS));
        assert_int_equal(ig_device_memory("opencl:0", &now), IG_OK);
        assert_true(now.used >= BYTES && now.used < 3 * BYTES);
        if (i == 0)
            before = now;
        assert_int_equal(now.used, before.used);
        assert_true(now.used + now.cached <= before.used + BYTES / 8);
        ig_scope_end();
    }
    assert_int_equal(ig_device_memory("opencl:0", &now), IG_OK);
    assert_true(now.cached >= BYTES && now.used < BYTES && now.peak >= BYTES);
    assert_true(now.largest > 0 && now.limit > BYTES);
    ig_set_device("cpu");
    ig_shutdown();
}

static void a_limit_divides_arrays(void **unused)
{
    (void)unused;
    ig_memory_info info = {0};
    if (!opencl_device_or_skip(0))
        return;
    assert_int_equal(ig_set_device_memory_limit("opencl:0", 1 << 20), IG_OK);
    assert_int_equal(ig_device_memory("opencl:0", &info), IG_OK);
    assert_int_equal(info.limit, 1 << 20);
    ig_array *small_one = ones_on("opencl:0", 1 << 10);
    assert_non_null(small_one);
    /* More is computed block by block, and comes back to host memory. */
    ig_array *large_one = ones_on("opencl:0", 1 << 20);
    assert_non_null(large_one);
    assert_float_equal(ig_item(ig_max(large_one, IG_NONE, false)), 1048576, 0);
    assert_int_equal(ig_device_memory("opencl:0", &info), IG_OK);
    assert_true(info.used < 1 << 20);
    assert_int_equal(ig_set_memory_limit(ig_memory_used() + (2 << 20)), IG_OK);
    assert_null(ones_on("opencl:0", 1 << 20));
    assert_error(IG_ERR_MEMORY, "the smallest limit that works is");
    assert_int_equal(ig_set_memory_limit(0), IG_OK);
    assert_float_equal(ig_item(ig_max(small_one, IG_NONE, false)), 1024, 0);
    assert_int_equal(ig_set_device_memory_limit("opencl:0", 0), IG_OK);
    assert_non_null(ones_on("opencl:0", 1 << 20));
    assert_int_equal(ig_device_memory("nonsense:3", &info), IG_ERR_DEVICE);
    assert_error(IG_ERR_DEVICE, "nonsense:3");
    ig_set_device("cpu");
    ig_shutdown();
}

/* The CPU uses the budget of the process. */
static void the_cpu_shares_the_process(void **unused)
{
    (void)unused;
    ig_memory_info info = {0};
    assert_int_equal(ig_set_device_memory_limit("cpu", 12345678), IG_OK);
    assert_int_equal(ig_memory_limit(), 12345678);
    assert_int_equal(ig_device_memory("cpu", &info), IG_OK);
    assert_int_equal(info.limit, 12345678);
    assert_int_equal(info.used, ig_memory_used());
    assert_int_equal(ig_set_memory_limit(0), IG_OK);
}

int main(int argc, char **argv)
{
    (void)argc;
    opencl_prepare(argv[0]);
    setenv("POCL_DEVICES", "basic", 1);
#define TEST(f) cmocka_unit_test_setup_teardown(f, opencl_test_begin, opencl_test_end)
    const struct CMUnitTest tests[] = {
        TEST(blocks_are_reused),   TEST(kept_blocks_make_room),  TEST(the_limit_is_kept),
        TEST(sizes_have_bounds),   TEST(busy_blocks_wait),       TEST(every_allocation_fails),
        TEST(arrays_reuse_blocks), TEST(a_limit_divides_arrays), TEST(the_cpu_shares_the_process),
    };
    return cmocka_run_group_tests(tests, opencl_begin, opencl_end);
}
