/* Conditions that disturb measurements: battery, reduced clock, other processes, limits, virtual machines.
 *
 * Each check covers one subject and adds at most one row. On Linux a check reads only files, so tests can give
 * it any tree. */
#include "base/machine.h"
#include "lib/machine/report.h"
#include "base/sysfile.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

/* ---- power and clock ---- */

/* On battery if a battery discharges; else on mains if another supply is on. */
static void check_power(machine_report *r, const char *root)
{
    static const char supplies[] = "/sys/class/power_supply";
    DIR *folder = sysfile_folder(root, supplies);
    const char *entry;
    bool mains = false, drained = false;
    while ((entry = sysfile_entry(folder))) {
        char path[512], type[32], line[32];
        int64_t online;
        snprintf(path, sizeof path, "%s/%s/type", supplies, entry);
        if (!sysfile_line(root, path, type, sizeof type))
            continue;
        snprintf(path, sizeof path, "%s/%s/online", supplies, entry);
        mains =
            mains || (strcmp(type, "Battery") != 0 && sysfile_int(root, path, &online) && online);
        snprintf(path, sizeof path, "%s/%s/scope", supplies, entry);
        if (strcmp(type, "Battery") != 0 || sysfile_exists(root, path))
            continue; /* a scope: the battery of a mouse */
        snprintf(path, sizeof path, "%s/%s/status", supplies, entry);
        drained = drained ||
                  (sysfile_line(root, path, line, sizeof line) && strcmp(line, "Discharging") == 0);
    }
    if (drained)
        report_finding(r, IG_WARNING, "power", "runs on battery", "plug it in");
    else if (mains)
        report_finding(r, IG_FINE, "power", "runs on mains", NULL);
}

#define CPU0_CLOCK "/sys/devices/system/cpu/cpu0/cpufreq/"

/* True for drivers whose usual governor is "powersave", which then does not keep the clock low. */
static bool governs_itself(const char *root)
{
    char driver[32] = "";
    sysfile_line(root, CPU0_CLOCK "scaling_driver", driver, sizeof driver);
    return strcmp(driver, "intel_pstate") == 0 || strcmp(driver, "amd-pstate-epp") == 0;
}

static void check_saving(machine_report *r, const char *root)
{
    static const char remedy[] = "cpupower frequency-set -g performance";
    char profile[32] = "", governor[32] = "", wish[32] = "";
    sysfile_line(root, "/sys/firmware/acpi/platform_profile", profile, sizeof profile);
    sysfile_line(root, CPU0_CLOCK "scaling_governor", governor, sizeof governor);
    sysfile_line(root, CPU0_CLOCK "energy_performance_preference", wish, sizeof wish);
    const bool itself = governs_itself(root);
    if (strcmp(profile, "low-power") == 0 || strcmp(profile, "quiet") == 0)
        report_finding(r, IG_WARNING, "saving",
                       report_words(r, "the platform's profile is '%s'", profile),
                       "powerprofilesctl set performance");
    else if (strcmp(governor, "powersave") == 0 && (!itself || strcmp(wish, "power") == 0))
        report_finding(r, IG_WARNING, "saving", "the governor saves power", remedy);
    else if (governor[0] && strcmp(governor, "performance") != 0 && !itself)
        report_finding(r, IG_NOTE, "saving",
                       report_words(r, "the clock follows the load (governor '%s')", governor),
                       remedy);
    else if (governor[0] || profile[0])
        report_finding(r, IG_FINE, "saving", "power is not saved", NULL);
}

static void check_clock(machine_report *r, const char *root)
{
    int64_t most, now, count, throttled = 0;
    if (sysfile_int(root, CPU0_CLOCK "cpuinfo_max_freq", &most) &&
        sysfile_int(root, CPU0_CLOCK "scaling_max_freq", &now) && now < most) {
        report_finding(r, IG_WARNING, "clock",
                       report_words(r, "the clock is held to %.1f of %.1f GHz", (double)now / 1e6,
                                    (double)most / 1e6),
                       "let it cool, or cpupower frequency-set -u the highest clock");
        return;
    }
    bool known = false;
    for (int cpu = 0; cpu < MACHINE_MAX_THREADS; cpu++) {
        char path[128];
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count", cpu);
        if (!sysfile_int(root, path, &count))
            break;
        known = true;
        throttled = count > throttled ? count : throttled;
    }
    if (throttled > 0)
        report_finding(r, IG_NOTE, "clock",
                       report_words(r,
                                    "a core was throttled by its heat %lld times since the start",
                                    (long long)throttled),
                       "measure in a cool place, with rests");
    else if (known)
        report_finding(r, IG_FINE, "clock", "no core was throttled by its heat", NULL);
}

/* ---- limits and neighbours ---- */

static void check_quota(machine_report *r, const char *root)
{
    const double quota = machine_read_quota(root);
    if (quota > 0)
        report_finding(
            r, IG_WARNING, "quota",
            report_words(r, "the cgroup allows %.2f CPUs and stops what runs longer", quota),
            "measure outside of the container, or raise its limit (docker run --cpus)");
    else if (sysfile_exists(root, "/proc/self/cgroup"))
        report_finding(r, IG_FINE, "quota", "no quota of CPU time", NULL);
}

static void check_guest(machine_report *r, const char *root)
{
    (void)root;
    const char *guest = r->facts.virtual_machine;
    if (guest)
        report_finding(r, IG_NOTE, "virtual",
                       report_words(r, "a virtual machine (%s): others may share its cores", guest),
                       NULL);
    else
        report_finding(r, IG_FINE, "virtual", "no virtual machine was found", NULL);
}

static bool read_load(const char *root, double *load)
{
    char line[128];
    if (root[0] || sysfile_exists("", "/proc/loadavg")) {
        char *end = line;
        if (!sysfile_line(root, "/proc/loadavg", line, sizeof line))
            return false;
        *load = strtod(line, &end);
        return end != line;
    }
    return getloadavg(load, 1) == 1;
}

static void check_load(machine_report *r, const char *root)
{
    double load;
    const int cpus = machine_cpus();
    if (!read_load(root, &load))
        return;
    const bool busy = load > 0.5 * cpus;
    report_finding(r, busy ? IG_WARNING : IG_FINE, "load",
                   report_words(r, "load %.1f on %d CPU%s", load, cpus, cpus == 1 ? "" : "s"),
                   busy ? "wait, or stop other work" : NULL);
}

/* Sets *heavy if the process runs at this moment and has used at least a second of CPU time; processes with less come
 * and go. /proc/PID/stat is "7 (a name) R ..."; fields 14 and 15 are times in ticks. */
static bool read_process(const char *root, const char *id, char *name, size_t size, bool *heavy)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", id);
    if (!sysfile_line(root, path, line, sizeof line))
        return false;
    char *open = strchr(line, '('), *close = strrchr(line, ')');
    if (!open || !close || close < open || close[1] != ' ')
        return false;
    *close = '\0';
    snprintf(name, size, "%s", open + 1);
    const char *field = close + 2;
    const bool runs = *field == 'R';
    for (int i = 3; i < 14 && field; i++)
        field = (field = strchr(field, ' ')) ? field + 1 : NULL;
    int64_t user = 0, system = 0;
    if (field && sysfile_number(field, &field, &user))
        sysfile_number(field, &field, &system);
    *heavy = runs && user + system >= sysconf(_SC_CLK_TCK);
    return true;
}

/* Other processes that compute now. */
static void check_processes(machine_report *r, const char *root)
{
    char names[96] = "", own[24], name[64];
    int n = 0;
    bool known = false, heavy;
    snprintf(own, sizeof own, "%ld", root[0] ? 0L : (long)getpid());
    DIR *folder = sysfile_folder(root, "/proc");
    for (const char *entry; (entry = sysfile_entry(folder));) {
        if (strspn(entry, "0123456789") != strlen(entry) || strcmp(entry, own) == 0)
            continue;
        if (!read_process(root, entry, name, sizeof name, &heavy))
            continue;
        known = true;
        const size_t used = strlen(names);
        if (heavy && n++ < 3 && used + strlen(name) + 3 < sizeof names)
            snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
    }
    if (n > 0)
        report_finding(r, n < machine_cpus() ? IG_NOTE : IG_WARNING, "processes",
                       report_words(r, "%d other process%s computing now: %s%s", n,
                                    n == 1 ? " is" : "es are", names, n > 3 ? ", ..." : ""),
                       "stop other work");
    else if (known)
        report_finding(r, IG_FINE, "processes", "no other process is computing now", NULL);
}

/* ---- memory ---- */

static bool read_swap(const char *root, int64_t *used)
{
#if defined(__APPLE__)
    struct xsw_usage usage;
    size_t size = sizeof usage;
    if (!root[0] && sysctlbyname("vm.swapusage", &usage, &size, NULL, 0) == 0) {
        *used = (int64_t)usage.xsu_used;
        return true;
    }
#endif
    int64_t total, left;
    if (!sysfile_keyed(root, "/proc/meminfo", "SwapTotal", &total) ||
        !sysfile_keyed(root, "/proc/meminfo", "SwapFree", &left))
        return false;
    *used = total > left ? (total - left) * 1024 : 0;
    return true;
}

static void check_swap(machine_report *r, const char *root)
{
    int64_t used;
    if (!read_swap(root, &used))
        return;
    if (used > 0)
        report_finding(r, IG_NOTE, "swap",
                       report_words(r, "%.1f MiB are swapped out", (double)used / (1 << 20)),
                       "stop what needs the memory");
    else
        report_finding(r, IG_FINE, "swap", "nothing is swapped out", NULL);
}

static void check_pages(machine_report *r, const char *root)
{
    char line[64];
    if (!sysfile_line(root, "/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof line))
        return;
    if (strstr(line, "[never]"))
        report_finding(r, IG_NOTE, "pages", "huge pages are off: large arrays cost more to walk",
                       "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
    else
        report_finding(r, IG_FINE, "pages", "huge pages are available", NULL);
}

void report_disturbances(machine_report *r, const char *root)
{
    static void (*const checks[])(machine_report * r, const char *root) = {
        check_power, check_saving,    check_clock, check_quota, check_guest,
        check_load,  check_processes, check_swap,  check_pages,
    };
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        checks[i](r, root);
}
