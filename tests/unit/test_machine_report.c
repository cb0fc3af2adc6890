/* The report of simulated machines: each disturbance, guest and absent device, and nothing if a machine provides no
 * information. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/machine/report.h"
#include "support/tree.h"

static machine_report report;

static bool has_none(const char *name)
{
    (void)name;
    return false;
}

static bool has_cuda(const char *name) { return strcmp(name, "cuda") == 0; }

static const ig_machine *read_report(bool (*has)(const char *))
{
    memset(&report, 0, sizeof report);
    machine_report_read(&report, tree_root(), has);
    return &report.facts;
}

static const ig_finding *find(const char *subject)
{
    const ig_machine *m = read_report(has_none);
    for (int i = 0; i < m->n_findings; i++)
        if (strcmp(m->findings[i].subject, subject) == 0)
            return &m->findings[i];
    return NULL;
}

/* The subject's row has this severity, and its text contains part. */
static void assert_finding(const char *subject, ig_severity severity, const char *part)
{
    const ig_finding *f = find(subject);
    assert_non_null(f);
    assert_non_null(strstr(f->what, part));
    assert_int_equal(f->severity, severity);
    if (severity == IG_WARNING)
        assert_non_null(f->remedy);
}

static void test_nothing_known(void **state)
{
    (void)state;
    const ig_machine *m = read_report(has_none);
    assert_non_null(m->system);
    assert_non_null(m->arch);
    assert_null(m->distribution);
    assert_null(m->virtual_machine);
    assert_null(m->container);
    assert_int_equal(m->n_findings, 1); /* only the finding that no guest was found */
    assert_finding("virtual", IG_FINE, "no virtual machine");
}

static void test_power(void **state)
{
    (void)state;
#define SUPPLY "/sys/class/power_supply/"
    tree_put(SUPPLY "AC/type", "Mains\n");
    tree_put(SUPPLY "AC/online", "1\n");
    assert_finding("power", IG_FINE, "mains");
    tree_put(SUPPLY "AC/online", "0\n");
    tree_put(SUPPLY "mouse/type", "Battery\n");
    tree_put(SUPPLY "mouse/scope", "Device\n");
    tree_put(SUPPLY "mouse/status", "Discharging\n");
    assert_null(find("power"));
    tree_put(SUPPLY "BAT0/type", "Battery\n");
    tree_put(SUPPLY "BAT0/status", "Discharging\n");
    assert_finding("power", IG_WARNING, "battery");
    tree_put(SUPPLY "BAT0/status", "Full\n");
    tree_put(SUPPLY "AC/online", "1\n");
    assert_finding("power", IG_FINE, "mains");
}

static void test_saving(void **state)
{
    (void)state;
#define CLOCK "/sys/devices/system/cpu/cpu0/cpufreq/"
    static const struct {
        const char *driver, *governor, *wish, *profile;
        ig_severity severity;
        const char *part;
    } rows[] = {
        {"acpi-cpufreq", "performance", "", "", IG_FINE, "not saved"},
        {"acpi-cpufreq", "powersave", "", "", IG_WARNING, "saves power"},
        {"acpi-cpufreq", "schedutil", "", "", IG_NOTE, "'schedutil'"},
        {"intel_pstate", "powersave", "balance_performance", "", IG_FINE, "not saved"},
        {"intel_pstate", "powersave", "power", "", IG_WARNING, "saves power"},
        {"amd-pstate-epp", "performance", "", "low-power", IG_WARNING, "'low-power'"},
    };
    assert_null(find("saving"));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tree_put(CLOCK "scaling_driver", rows[i].driver);
        tree_put(CLOCK "scaling_governor", rows[i].governor);
        tree_put(CLOCK "energy_performance_preference", rows[i].wish);
        tree_put("/sys/firmware/acpi/platform_profile", rows[i].profile);
        assert_finding("saving", rows[i].severity, rows[i].part);
    }
}

static void test_clock(void **state)
{
    (void)state;
#define THROTTLE "/thermal_throttle/core_throttle_count"
    assert_null(find("clock"));
    tree_put("/sys/devices/system/cpu/cpu0" THROTTLE, "0\n");
    tree_put("/sys/devices/system/cpu/cpu1" THROTTLE, "0\n");
    assert_finding("clock", IG_FINE, "no core");
    tree_put("/sys/devices/system/cpu/cpu1" THROTTLE, "17\n");
    assert_finding("clock", IG_NOTE, "17 times");
    tree_put(CLOCK "cpuinfo_max_freq", "4000000\n");
    tree_put(CLOCK "scaling_max_freq", "4000000\n");
    assert_finding("clock", IG_NOTE, "17 times");
    tree_put(CLOCK "scaling_max_freq", "1500000\n");
    assert_finding("clock", IG_WARNING, "1.5 of 4.0 GHz");
}

static void test_quota(void **state)
{
    (void)state;
    tree_put("/proc/self/cgroup", "0::/a\n");
    assert_finding("quota", IG_FINE, "no quota");
    tree_put("/proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    tree_put("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    assert_finding("quota", IG_WARNING, "1.50 CPUs");
}

static void test_other_work(void **state)
{
    (void)state;
    assert_null(find("load"));
    tree_put("/proc/loadavg", "x\n");
    assert_null(find("load"));
    tree_put("/proc/loadavg", "0.00 0.10 0.20 1/99 7\n");
    assert_finding("load", IG_FINE, "load 0.0");
    tree_put("/proc/loadavg", "9999.5 1 1 1/99 7\n");
    assert_finding("load", IG_WARNING, "load 9999.5");
    /* A short run; a sleeping process; not a process; a running process with a confusing name. */
    tree_put("/proc/10/stat", "10 (sh) R 1 1 1 0 -1 4 5 0 1 0 3 4 0 0 20 0 1\n");
    tree_put("/proc/11/stat", "11 (idle) S 1 1 1 0 -1 4 5 0 1 0 90000 4 0 0 20 0 1\n");
    tree_put("/proc/12/stat", "12 junk\n");
    tree_put("/proc/13/stat", "13 (cut off) R 1\n");
    assert_finding("processes", IG_FINE, "no other process");
    tree_put("/proc/14/stat", "14 (a (b) R) R 1 1 1 0 -1 4 5 0 1 0 5000000 4 0 0 20 0 1\n");
    const ig_finding *f = find("processes");
    assert_non_null(strstr(f->what, "1 other process is computing now: a (b) R"));
    assert_true(f->severity != IG_FINE);
}

static void test_memory(void **state)
{
    (void)state;
    tree_put("/proc/meminfo", "SwapTotal: 8192 kB\nSwapFree: 8192 kB\n");
    assert_finding("swap", IG_FINE, "nothing");
    tree_put("/proc/meminfo", "SwapTotal: 8192 kB\nSwapFree: 5632 kB\n");
    assert_finding("swap", IG_NOTE, "2.5 MiB");
    tree_put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    assert_finding("pages", IG_FINE, "huge pages");
    tree_put("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
    assert_finding("pages", IG_NOTE, "off");
}

static void assert_guest(const char *machine, const char *container)
{
    const ig_machine *m = read_report(has_none);
    if (machine)
        assert_string_equal(m->virtual_machine, machine);
    else
        assert_null(m->virtual_machine);
    if (container)
        assert_string_equal(m->container, container);
    else
        assert_null(m->container);
}

static void test_guests(void **state)
{
    (void)state;
    tree_put("/proc/cpuinfo", "processor : 0\nflags : fpu hypervisors sse2\n");
    assert_guest(NULL, NULL);
    tree_put("/proc/cpuinfo", "processor : 0\nflags : fpu sse2 hypervisor avx\n");
    assert_guest("an unnamed hypervisor", NULL);
    tree_put("/sys/class/dmi/id/sys_vendor", "QEMU\n");
    assert_guest("QEMU", NULL);
    tree_put("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    tree_put("/proc/1/cgroup", "12:cpu:/\n0::/kubepods/pod7\n");
    assert_guest("Amazon EC2", "Kubernetes");
    assert_finding("virtual", IG_NOTE, "Amazon EC2");
    tree_put("/sys/class/dmi/id/product_name", "c7g.metal\n");
    tree_put("/.dockerenv", "");
    assert_guest(NULL, "Docker");
    tree_put("/etc/os-release", "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
    assert_string_equal(read_report(has_none)->distribution, "Debian GNU/Linux 12 (bookworm)");
}

static void assert_absent(const char *name, const char *part, const char *remedy)
{
    const ig_machine *m = read_report(has_none);
    for (int i = 0; i < m->n_absent; i++) {
        const ig_absent *a = &m->absent[i];
        if (strcmp(a->name, name) != 0)
            continue;
        assert_non_null(strstr(a->why, part));
        assert_true((a->remedy != NULL) == (remedy != NULL));
        if (remedy)
            assert_non_null(strstr(a->remedy, remedy));
        return;
    }
    fail_msg("no row for %s", name);
}

static void test_absent(void **state)
{
    (void)state;
    const ig_machine *m = read_report(has_none);
    assert_int_equal(m->n_absent, 1);
    m = read_report(has_cuda);
    assert_int_equal(m->n_absent, 0);
#if !defined(__APPLE__)
    assert_absent("cuda", "/dev/nvidia0 is absent", NULL);
    tree_put("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
    tree_put("/sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
    assert_absent("cuda", "an NVIDIA GPU is on the bus", "nvidia-driver");
    tree_put("/dev/nvidia0", "");
    tree_put("/proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22\n");
    assert_absent("cuda", "driver 550.54.14 is here, but libcuda.so.1 was not found", "libcuda1");
    tree_put("/usr/lib/libcuda.so.1", "");
    assert_absent("cuda", "and libcuda.so.1 loads", NULL);
#endif
}

/* Names longer than any buffer must not affect the rest. */
static void test_long_texts(void **state)
{
    (void)state;
    char line[3000] = "14 (";
    memset(line + 4, 'x', sizeof line - 5);
    line[sizeof line - 1] = '\0';
    tree_put("/proc/14/stat", line);
    tree_put("/sys/class/dmi/id/sys_vendor", line);
    tree_put("/etc/os-release", "PRETTY_NAME=");
    tree_put("/proc/loadavg", line);
    tree_put(CLOCK "scaling_governor", line);
    const ig_machine *m = read_report(has_none);
    assert_null(m->distribution);
    assert_int_equal(m->n_absent, 1);
    for (int i = 0; i < m->n_findings; i++)
        assert_true(strlen(m->findings[i].what) < 200);
}

static void test_here(void **state)
{
    (void)state;
    ig_machine *m = ig_machine_get();
    assert_non_null(m);
    assert_non_null(m->system);
    assert_true(m->n_findings > 0 && m->n_findings < REPORT_FINDINGS);
    for (int i = 0; i < m->n_findings; i++)
        assert_true(m->findings[i].subject && m->findings[i].what);
    ig_free(m);
}

#define TREE_TEST(function) cmocka_unit_test_setup_teardown(function, tree_begin, tree_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(test_nothing_known), TREE_TEST(test_power),       TREE_TEST(test_saving),
        TREE_TEST(test_clock),         TREE_TEST(test_quota),       TREE_TEST(test_other_work),
        TREE_TEST(test_memory),        TREE_TEST(test_guests),      TREE_TEST(test_absent),
        TREE_TEST(test_long_texts),    cmocka_unit_test(test_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
