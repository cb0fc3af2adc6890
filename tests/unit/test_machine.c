/* Facts about the machine: the parsers on simulated trees of system files, and on this machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/machine.h"
#include "support/tree.h"

static const char mount_v2[] = "30 20 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";

/* ---- cgroups --------------------------------------------------------------------------------- */

static void assert_limits(double quota, int64_t limit, int64_t left)
{
    assert_float_equal(machine_read_quota(tree_root()), quota, 1e-6);
    assert_int_equal(machine_read_memory_limit(tree_root()), limit);
    assert_int_equal(machine_read_memory_left(tree_root()), left);
}

static void test_no_files(void **state)
{
    (void)state;
    assert_limits(0, INT64_MAX, INT64_MAX);
    tree_put("/proc/self/cgroup", "0::/\n");
    assert_limits(0, INT64_MAX, INT64_MAX);
    tree_put("/proc/self/mountinfo", mount_v2);
    assert_limits(0, INT64_MAX, INT64_MAX);
}

static void test_v2_nested(void **state)
{
    (void)state;
    tree_put("/proc/self/cgroup", "0::/a/b/c\n");
    tree_put("/proc/self/mountinfo", mount_v2);
    tree_put("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    tree_put("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
    tree_put("/sys/fs/cgroup/a/cpu.max", "75000 50000\n");
    tree_put("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
    tree_put("/sys/fs/cgroup/a/b/memory.max", "1000000\n");
    tree_put("/sys/fs/cgroup/a/b/memory.current", "600000\n");
    tree_put("/sys/fs/cgroup/a/b/memory.stat", "anon 5\ninactive_file 200000\nactive_file 7\n");
    tree_put("/sys/fs/cgroup/a/memory.max", "5000000\n");
    tree_put("/sys/fs/cgroup/a/memory.current", "4900000\n");
    assert_limits(1.5, 1000000, 100000);
}

static void test_v2_own_root(void **state)
{
    (void)state;
    tree_put("/proc/self/cgroup", "0::/\n");
    tree_put("/proc/self/mountinfo", mount_v2);
    tree_put("/sys/fs/cgroup/cpu.max", "20000\n"); /* the period may be omitted */
    tree_put("/sys/fs/cgroup/memory.max", "4096\n");
    tree_put("/sys/fs/cgroup/memory.current", "8192\n"); /* over the limit */
    assert_limits(0.2, 4096, 0);
}

static void test_v1(void **state)
{
    (void)state;
    tree_put("/proc/self/cgroup",
             "9:name=systemd:/\n4:memory:/x/y\n3:cpuset:/\n1:cpu,cpuacct:/x\n");
    tree_put(
        "/proc/self/mountinfo",
        "31 20 0:26 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "32 20 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:4 - cgroup cgroup rw,cpu,cpuacct\n"
        "33 20 0:28 / /sys/fs/cgroup/mem\\040ory rw shared:5 master:1 - cgroup cgroup rw,memory\n");
    tree_put("/sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "1000\n");
    tree_put("/sys/fs/cgroup/cpuset/cpu.cfs_period_us", "1000000\n");
    tree_put("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "250000\n");
    tree_put("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
    tree_put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    tree_put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    tree_put("/sys/fs/cgroup/mem ory/x/y/memory.limit_in_bytes", "3000\n");
    tree_put("/sys/fs/cgroup/mem ory/x/y/memory.usage_in_bytes", "2500\n");
    tree_put("/sys/fs/cgroup/mem ory/x/y/memory.stat",
             "inactive_file 9\ntotal_inactive_file 500\n");
    tree_put("/sys/fs/cgroup/mem ory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_limits(2.5, 3000, 1000);
}

static void test_container(void **state)
{
    (void)state;
    /* The mount shows the container's own cgroup, which the host calls /docker/id. A mount of
     * another cgroup comes first. */
    tree_put("/proc/self/cgroup", "2:cpu:/docker/id/job\n0::/../../elsewhere\n");
    tree_put("/proc/self/mountinfo",
             "31 20 0:26 /docker/idle /other rw - cgroup cgroup rw,cpu\n"
             "32 20 0:26 /docker/id /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
             "30 20 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    tree_put("/other/cpu.cfs_quota_us", "1000\n");
    tree_put("/other/cpu.cfs_period_us", "100000\n");
    tree_put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
    tree_put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    tree_put("/sys/fs/cgroup/unified/memory.max", "777\n");
    assert_limits(3, 777, 777);
}

static void test_garbage_limits(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "\n",
                                        "max",
                                        "-1",
                                        "x y",
                                        "0 0",
                                        "1e5",
                                        "100000 0",
                                        "100000 x",
                                        "100000x",
                                        "-5 7",
                                        "0x10",
                                        "99999999999999999999 100000",
                                        "\xff\xfe"};
    tree_put("/proc/self/cgroup", "0::/a\n");
    tree_put("/proc/self/mountinfo", mount_v2);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tree_put("/sys/fs/cgroup/a/cpu.max", texts[i]);
        tree_put("/sys/fs/cgroup/a/memory.max", texts[i]);
        assert_limits(0, INT64_MAX, INT64_MAX);
    }
    tree_put("/sys/fs/cgroup/a/memory.max", "1000\n");
    tree_put("/sys/fs/cgroup/a/memory.current", "junk");
    tree_put("/sys/fs/cgroup/a/memory.stat", "inactive_file\ninactive_file x\ninactive_filed 5\n");
    assert_limits(0, 1000, 1000);
}

static void test_garbage_tables(void **state)
{
    (void)state;
    static const char *const lines[] = {"",
                                        "\n\n",
                                        ":",
                                        "0:",
                                        "0:/a",
                                        "0::a",
                                        "::::",
                                        "- - - - - -",
                                        "1 2 3 / /sys/fs/cgroup rw -",
                                        "1 2 3 4 5 6 7 8 9"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        tree_put("/proc/self/cgroup", lines[i]);
        tree_put("/proc/self/mountinfo", lines[i]);
        assert_limits(0, INT64_MAX, INT64_MAX);
    }
    /* Noise before the relevant lines: bytes of all kinds, and lines longer than any buffer. */
    enum { NOISE = 300000 };
    char *noise = malloc(NOISE + 200);
    assert_non_null(noise);
    for (int i = 0; i < NOISE; i++)
        noise[i] = (char)(i < NOISE / 2 ? i * 7 : '/');
    memcpy(noise + NOISE, "\n0::/a\n", 7);
    tree_put_bytes("/proc/self/cgroup", noise, NOISE + 7);
    noise[NOISE] = '\n';
    memcpy(noise + NOISE + 1, mount_v2, sizeof mount_v2 - 1);
    tree_put_bytes("/proc/self/mountinfo", noise, NOISE + sizeof mount_v2);
    tree_put("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
    assert_limits(2, INT64_MAX, INT64_MAX);
    tree_put_bytes("/sys/fs/cgroup/a/cpu.max", noise, NOISE);
    tree_put_bytes("/sys/fs/cgroup/a/memory.max", noise, NOISE);
    assert_limits(0, INT64_MAX, INT64_MAX);
    tree_put_bytes("/proc/cpuinfo", noise, NOISE);
    tree_put_bytes("/proc/meminfo", noise, NOISE);
    machine_facts facts = {0};
    machine_read_files(tree_root(), &facts);
    assert_string_equal(facts.cpu, "");
    assert_int_equal(facts.memory_bytes, 0);
    free(noise);
}

/* ---- CPU, caches, memory --------------------------------------------------------------------- */

static void assert_cpu(const char *cpuinfo, const char *name)
{
    machine_facts facts = {0};
    tree_put("/proc/cpuinfo", cpuinfo);
    machine_read_files(tree_root(), &facts);
    assert_string_equal(facts.cpu, name);
}

static void test_cpu_name(void **state)
{
    (void)state;
    machine_facts facts = {.cpu = "kept"};
    machine_read_files(tree_root(), &facts);
    assert_string_equal(facts.cpu, "kept");
    assert_cpu("processor\t: 0\nmodel name\t:  Intel(R)  Xeon(R)   CPU \nmodel name : other\n",
               "Intel(R) Xeon(R) CPU");
    assert_cpu("CPU implementer\t: 0x41\nCPU part\t: 0xd40\n\nCPU implementer\t: 0x41\n"
               "CPU part\t: 0xd40\n",
               "Neoverse-V1");
    assert_cpu("CPU implementer : 0x41\nCPU part : 0xd05\nCPU part : 0xd0b\nCPU part : 0xd05\n",
               "Cortex-A55 + Cortex-A76");
    assert_cpu("CPU implementer : 0x41\nCPU part : 0xfff\n", "ARM part 0xfff of implementer 0x41");
    assert_cpu("CPU part\nCPU implementer\nmodel name\n", "");
}

static void test_caches_and_memory(void **state)
{
    (void)state;
#define CACHE "/sys/devices/system/cpu/cpu0/cache/"
    tree_put(CACHE "index0/type", "Data\n");
    tree_put(CACHE "index0/level", "1\n");
    tree_put(CACHE "index0/size", "48K\n");
    tree_put(CACHE "index0/coherency_line_size", "64\n");
    tree_put(CACHE "index1/type", "Instruction\n");
    tree_put(CACHE "index1/level", "1\n");
    tree_put(CACHE "index1/size", "32K\n");
    tree_put(CACHE "index2/type", "Unified\n");
    tree_put(CACHE "index2/level", "2\n");
    tree_put(CACHE "index2/size", "2M\n");
    tree_put(CACHE "index3/type", "Unified\n");
    tree_put(CACHE "index3/level", "7\n");
    tree_put(CACHE "index3/size", "9M\n");
    tree_put("/proc/meminfo", "MemTotal:  2048 kB\nMemFree: 100 kB\nMemAvailable:    1024 kB\n");
    machine_facts facts = {.cache_l3_bytes = 5};
    machine_read_files(tree_root(), &facts);
    assert_int_equal(facts.cache_l1d_bytes, 48 << 10);
    assert_int_equal(facts.cache_l2_bytes, 2 << 20);
    assert_int_equal(facts.cache_l3_bytes, 5);
    assert_int_equal(facts.cache_line_bytes, 64);
    assert_int_equal(facts.memory_bytes, 2048 << 10);
    assert_int_equal(machine_read_memory_free(tree_root()), 1024 << 10);
    tree_put("/proc/meminfo", "MemFree: 100 kB\n");
    assert_int_equal(machine_read_memory_free(tree_root()), 100 << 10);
}

static void assert_cores(int performance, int efficiency)
{
    int fast, slow;
    machine_read_cores(tree_root(), &fast, &slow);
    assert_int_equal(fast, performance);
    assert_int_equal(slow, efficiency);
}

static void test_cores(void **state)
{
    (void)state;
#define CPU "/sys/devices/system/cpu/"
    assert_cores(0, 0);
    tree_put(CPU "online", "junk\n");
    assert_cores(0, 0);
    tree_put(CPU "online", "0-2,5\n");
    assert_cores(4, 0);
    /* By clock: a tenth less is the same kind of core, half is not. A core without a clock is unknown. */
    tree_put(CPU "cpu0/cpufreq/cpuinfo_max_freq", "5000000\n");
    tree_put(CPU "cpu1/cpufreq/cpuinfo_max_freq", "4500000\n");
    tree_put(CPU "cpu2/cpufreq/cpuinfo_max_freq", "2500000\n");
    assert_cores(4, 0);
    tree_put(CPU "cpu5/cpufreq/cpuinfo_max_freq", "2500000\n");
    assert_cores(2, 2);
    /* Capacity takes precedence over the clock. */
    tree_put(CPU "cpu0/cpu_capacity", "446\n");
    tree_put(CPU "cpu1/cpu_capacity", "446\n");
    tree_put(CPU "cpu2/cpu_capacity", "446\n");
    tree_put(CPU "cpu5/cpu_capacity", "1024\n");
    assert_cores(1, 3);
    tree_put("/sys/devices/cpu_core/cpus", "0-1\n");
    tree_put("/sys/devices/cpu_atom/cpus", "2,5\n");
    assert_cores(2, 2);
    tree_put("/sys/devices/cpu_core/cpus", "0-99999999999999999999\n");
    assert_cores(1, 3);
}

/* ---- threads and this machine ---------------------------------------------------------------- */

static void test_choose_threads(void **state)
{
    (void)state;
    static const struct {
        const char *env;
        int usable;
        double quota;
        int threads;
        const char *note; /* a part of it; NULL: none */
    } rows[] = {
        {NULL, 4, 0, 4, NULL},
        {NULL, 4, 1.5, 2, NULL},
        {NULL, 4, 0.1, 1, NULL},
        {NULL, 4, 3.0, 3, NULL},
        {NULL, 0, 0, 1, NULL},
        {NULL, 5000, 0, MACHINE_MAX_THREADS, NULL},
        {"", 4, 0, 4, NULL},
        {"1", 4, 0, 1, NULL},
        {"16", 4, 0, 16, NULL},
        {"0016", 4, 0, 16, NULL},
        {"16", 4, 2.5, 3, "lowered to 3"},
        {"1024", 4, 0, 1024, NULL},
        {"1025", 4, 0, 4, "ignored"},
        {"0", 4, 0, 4, "IG_NUM_THREADS=\"0\" is ignored"},
        {"-1", 4, 0, 4, "ignored"},
        {"+1", 4, 0, 4, "ignored"},
        {"2 ", 4, 0, 4, "ignored"},
        {"two", 4, 1, 1, "\"two\" is ignored"},
        {"4294967297", 4, 0, 4, "ignored"},
        {"\x1b[31m\n", 4, 0, 4, "\"?[31m?\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char note[160] = "old";
        const int threads =
            machine_choose_threads(rows[i].env, rows[i].usable, rows[i].quota, note, sizeof note);
        assert_int_equal(threads, rows[i].threads);
        if (rows[i].note)
            assert_non_null(strstr(note, rows[i].note));
        else
            assert_string_equal(note, "");
    }
    char tiny[8], *huge = malloc(100000);
    assert_non_null(huge);
    memset(huge, '7', 99999);
    huge[99999] = '\0';
    assert_int_equal(machine_choose_threads(huge, 3, 0, tiny, sizeof tiny), 3);
    assert_string_equal(tiny, "IG_NUM_");
    free(huge);
}

static void test_this_machine(void **state)
{
    (void)state;
    const machine_facts *facts = machine_get();
    assert_ptr_equal(machine_get(), facts);
    assert_true(facts->cores_logical >= 1 && facts->cores_usable >= 1);
    assert_true(machine_cpus() >= 1 && machine_cpus() <= facts->cores_usable);
    assert_true(machine_threads() >= 1);
    assert_true(facts->page_bytes >= 4096 && (facts->page_bytes & (facts->page_bytes - 1)) == 0);
    assert_true(facts->memory_bytes > 1 << 20);
    assert_true(facts->memory_limit_bytes > 0 && facts->memory_limit_bytes <= facts->memory_bytes);
    assert_true(machine_memory_available() > 0);
    assert_true(machine_memory_available() <= facts->memory_limit_bytes);
#if defined(__aarch64__)
    assert_non_null(strstr(facts->isa, "neon"));
#elif defined(__x86_64__)
    assert_non_null(strstr(facts->isa, "sse2"));
#endif
    print_message("%s; %s; %d of %d cores, %.0f GiB\n", facts->cpu, facts->isa, machine_cpus(),
                  facts->cores_logical, (double)facts->memory_limit_bytes / (1 << 30));
}

#define TREE_TEST(function) cmocka_unit_test_setup_teardown(function, tree_begin, tree_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(test_no_files),
        TREE_TEST(test_v2_nested),
        TREE_TEST(test_v2_own_root),
        TREE_TEST(test_v1),
        TREE_TEST(test_container),
        TREE_TEST(test_garbage_limits),
        TREE_TEST(test_garbage_tables),
        TREE_TEST(test_cpu_name),
        TREE_TEST(test_caches_and_memory),
        TREE_TEST(test_cores),
        cmocka_unit_test(test_choose_threads),
        cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
