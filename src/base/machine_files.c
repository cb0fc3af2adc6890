/* Facts about the machine from Linux's system files: cgroup limits, CPU name, caches, memory.
 *
 * Everything read here is untrusted text (sysfile.h); text that does not parse counts as absent. Nothing
 * here depends on the system that it runs on, so the tests can feed it any tree of files.
 */
#include "base/machine.h"
#include "base/sysfile.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPUS_MOST = 8192 };

/* ---- cgroups --------------------------------------------------------------------------------- */

/* Limits of a cgroup. Each limit has a reader, which tightens it by the values of one more cgroup. */
typedef struct cgroup_limits {
    double cpu_quota;           /* 0 = no limit */
    int64_t memory_limit_bytes; /* INT64_MAX = no limit */
    int64_t memory_left_bytes;
} cgroup_limits;

typedef void (*cgroup_reader)(const char *dir, bool v2, cgroup_limits *limits);

/* Is `name` in the comma-separated list? The list ends at a NUL or at `end`. */
static bool list_has(const char *list, char end, const char *name)
{
    const size_t length = strlen(name);
    for (const char *item = list;; item++) {
        const size_t item_length = strcspn(item, end == ':' ? ",:" : ",");
        if (item_length == length && strncmp(item, name, length) == 0)
            return true;
        item += item_length;
        if (*item != ',')
            return false;
    }
}

/* Finds this process's cgroup in /proc/self/cgroup, whose lines are "id:controllers:path". The
 * controller "" stands for version 2. */
static bool cgroup_find_path(const char *root, const char *controller, char *path, size_t size)
{
    FILE *file = sysfile_open(root, "/proc/self/cgroup");
    if (!file)
        return false;
    char line[SYSFILE_LINE_SIZE];
    bool found = false;
    while (!found && sysfile_next(file, line, sizeof line)) {
        const char *controllers = strchr(line, ':');
        const char *rest = controllers ? strchr(++controllers, ':') : NULL;
        if (!rest || rest[1] != '/' || !list_has(controllers, ':', controller))
            continue;
        found = sysfile_path(path, size, rest + 1, "");
    }
    fclose(file);
    return found;
}

typedef struct mount_row {
    char *root, *point, *type, *options;
} mount_row;

/* Undoes the octal escapes (\040 is a blank) of /proc/self/mountinfo, in place. */
static void mount_unescape(char *text)
{
    char *out = text;
    while (*text != '\0') {
        int code = 0, digits = 0;
        if (*text == '\\')
            for (; digits < 3 && text[1 + digits] >= '0' && text[1 + digits] <= '7'; digits++)
                code = code * 8 + (text[1 + digits] - '0');
        if (digits == 3 && code > 0 && code < 256) {
            *out++ = (char)code;
            text += 4;
        } else {
            *out++ = *text++;
        }
    }
    *out = '\0';
}

/* Splits "id parent dev root point options [tags] - type source options"; false if the line differs. */
static bool mount_parse(char *line, mount_row *row)
{
    char *save, *field[6];
    for (int i = 0; i < 6; i++)
        if (!(field[i] = strtok_r(i == 0 ? line : NULL, " ", &save)))
            return false;
    for (char *tag;;) {
        if (!(tag = strtok_r(NULL, " ", &save)))
            return false;
        if (strcmp(tag, "-") == 0)
            break;
    }
    char *type = strtok_r(NULL, " ", &save);
    char *source = strtok_r(NULL, " ", &save);
    char *options = strtok_r(NULL, " ", &save);
    if (!type || !source || !options)
        return false;
    *row = (mount_row){field[3], field[4], type, options};
    mount_unescape(row->root);
    mount_unescape(row->point);
    return true;
}

/* The rest of `path` below the directory `top`, as "" or "/..."; NULL if it is not below. */
static const char *path_below(const char *path, const char *top)
{
    size_t length = strlen(top);
    if (length == 1 && top[0] == '/')
        length = 0;
    if (strncmp(path, top, length) != 0)
        return NULL;
    path += length;
    if (*path != '\0' && *path != '/')
        return NULL;
    return strcmp(path, "/") == 0 ? "" : path;
}

/* Finds the directory of cgroup `path`. The first *top_length characters of `dir` are the mount point,
 * which is the topmost visible ancestor. In a container, the process's cgroup may be the mount point
 * itself, while /proc/self/cgroup names it from the host's root. So a path that is not below the mount's
 * root means the mount point. */
static bool cgroup_find_dir(const char *root, const char *controller, const char *path, char *dir,
                            size_t size, size_t *top_length)
{
    FILE *file = sysfile_open(root, "/proc/self/mountinfo");
    if (!file)
        return false;
    const char *type = controller[0] ? "cgroup" : "cgroup2";
    char line[SYSFILE_LINE_SIZE];
    mount_row row;
    bool found = false, exact = false;
    while (!exact && sysfile_next(file, line, sizeof line)) {
        if (!mount_parse(line, &row) || strcmp(row.type, type) != 0)
            continue;
        if (controller[0] && !list_has(row.options, '\0', controller))
            continue;
        const char *below = strstr(path, "/..") ? NULL : path_below(path, row.root);
        if (found && !below)
            continue;
        char point[SYSFILE_PATH_SIZE], full[SYSFILE_PATH_SIZE];
        if (!sysfile_path(point, sizeof point, root, row.point))
            continue;
        if (!sysfile_path(full, sizeof full, point, below ? below : ""))
            continue;
        if (!sysfile_path(dir, size, full, ""))
            continue;
        *top_length = strlen(point);
        found = true;
        exact = below != NULL;
    }
    fclose(file);
    return found;
}

/* "quota period" or "max period" in version 2, two files in version 1. */
static void cgroup_read_cpu(const char *dir, bool v2, cgroup_limits *limits)
{
    int64_t quota = 0, period = 100000;
    if (v2) {
        char line[64];
        const char *end;
        if (!sysfile_line(dir, "/cpu.max", line, sizeof line))
            return;
        if (!sysfile_number(line, &end, &quota) || (*end != '\0' && *end != ' '))
            return;
        if (*end == ' ' && !sysfile_number(end, NULL, &period))
            return;
    } else {
        if (!sysfile_int(dir, "/cpu.cfs_quota_us", &quota))
            return;
        if (!sysfile_int(dir, "/cpu.cfs_period_us", &period))
            return;
    }
    if (quota <= 0 || period <= 0)
        return;
    const double cpus = (double)quota / (double)period;
    if (limits->cpu_quota == 0 || cpus < limits->cpu_quota)
        limits->cpu_quota = cpus;
}

static bool cgroup_memory_limit(const char *dir, bool v2, int64_t *bytes)
{
    /* Version 1 writes a number close to INT64_MAX for no limit. */
    return sysfile_int(dir, v2 ? "/memory.max" : "/memory.limit_in_bytes", bytes) &&
           *bytes < INT64_MAX / 2;
}

static void cgroup_read_limit(const char *dir, bool v2, cgroup_limits *limits)
{
    int64_t bytes;
    if (cgroup_memory_limit(dir, v2, &bytes) && bytes < limits->memory_limit_bytes)
        limits->memory_limit_bytes = bytes;
}

static void cgroup_read_left(const char *dir, bool v2, cgroup_limits *limits)
{
    int64_t bytes, used, cached;
    if (!cgroup_memory_limit(dir, v2, &bytes))
        return;
    if (!sysfile_int(dir, v2 ? "/memory.current" : "/memory.usage_in_bytes", &used))
        used = 0;
    const char *key = v2 ? "inactive_file" : "total_inactive_file";
    if (!sysfile_keyed(dir, "/memory.stat", key, &cached))
        cached = 0;
    const int64_t held = used > cached ? used - cached : 0;
    const int64_t left = bytes > held ? bytes - held : 0;
    if (left < limits->memory_left_bytes)
        limits->memory_left_bytes = left;
}

/* Reads this process's cgroup and every ancestor, because every ancestor's limit applies. Version 2 has one
 * hierarchy for everything, version 1 has one per controller; a machine may have both. */
static cgroup_limits cgroup_read(const char *root, const char *v1_controller, cgroup_reader reader)
{
    cgroup_limits limits = {0, INT64_MAX, INT64_MAX};
    const char *const controllers[] = {"", v1_controller};
    for (int i = 0; i < 2; i++) {
        char path[SYSFILE_PATH_SIZE], dir[SYSFILE_PATH_SIZE];
        size_t top;
        if (!cgroup_find_path(root, controllers[i], path, sizeof path))
            continue;
        if (!cgroup_find_dir(root, controllers[i], path, dir, sizeof dir, &top))
            continue;
        for (;;) {
            reader(dir, i == 0, &limits);
            char *slash = strrchr(dir, '/');
            if (!slash || (size_t)(slash - dir) < top)
                break;
            *slash = '\0';
        }
    }
    return limits;
}

double machine_read_quota(const char *root)
{
    return cgroup_read(root, "cpu", cgroup_read_cpu).cpu_quota;
}

int64_t machine_read_memory_limit(const char *root)
{
    return cgroup_read(root, "memory", cgroup_read_limit).memory_limit_bytes;
}

int64_t machine_read_memory_left(const char *root)
{
    return cgroup_read(root, "memory", cgroup_read_left).memory_left_bytes;
}

/* ---- CPU name, caches and memory from Linux's files ------------------------------------------ */

typedef struct arm_part {
    unsigned implementer, part;
    const char *name;
} arm_part;

static const arm_part arm_parts[] = {
    {0x41, 0xd03, "Cortex-A53"},
    {0x41, 0xd04, "Cortex-A35"},
    {0x41, 0xd05, "Cortex-A55"},
    {0x41, 0xd07, "Cortex-A57"},
    {0x41, 0xd08, "Cortex-A72"},
    {0x41, 0xd09, "Cortex-A73"},
    {0x41, 0xd0a, "Cortex-A75"},
    {0x41, 0xd0b, "Cortex-A76"},
    {0x41, 0xd0c, "Neoverse-N1"},
    {0x41, 0xd0d, "Cortex-A77"},
    {0x41, 0xd40, "Neoverse-V1"},
    {0x41, 0xd41, "Cortex-A78"},
    {0x41, 0xd42, "Cortex-A78AE"},
    {0x41, 0xd44, "Cortex-X1"},
    {0x41, 0xd46, "Cortex-A510"},
    {0x41, 0xd47, "Cortex-A710"},
    {0x41, 0xd48, "Cortex-X2"},
    {0x41, 0xd49, "Neoverse-N2"},
    {0x41, 0xd4a, "Neoverse-E1"},
    {0x41, 0xd4b, "Cortex-A78C"},
    {0x41, 0xd4d, "Cortex-A715"},
    {0x41, 0xd4e, "Cortex-X3"},
    {0x41, 0xd4f, "Neoverse-V2"},
    {0x41, 0xd80, "Cortex-A520"},
    {0x41, 0xd81, "Cortex-A720"},
    {0x41, 0xd82, "Cortex-X4"},
    {0x41, 0xd83, "Neoverse-V3AE"},
    {0x41, 0xd84, "Neoverse-V3"},
    {0x41, 0xd85, "Cortex-X925"},
    {0x41, 0xd87, "Cortex-A725"},
    {0x41, 0xd8e, "Neoverse-N3"},
    {0x43, 0x0a1, "ThunderX"},
    {0x43, 0x0af, "ThunderX2"},
    {0x46, 0x001, "A64FX"},
    {0x48, 0xd01, "Kunpeng-920"},
    {0x4e, 0x004, "NVIDIA Carmel"},
    {0x51, 0x001, "Oryon"},
    {0x51, 0xc00, "Falkor"},
    {0x61, 0x022, "Apple M1 (E)"},
    {0x61, 0x023, "Apple M1 (P)"},
    {0x61, 0x024, "Apple M1 Pro (E)"},
    {0x61, 0x025, "Apple M1 Pro (P)"},
    {0x61, 0x028, "Apple M1 Max (E)"},
    {0x61, 0x029, "Apple M1 Max (P)"},
    {0x61, 0x032, "Apple M2 (E)"},
    {0x61, 0x033, "Apple M2 (P)"},
    {0x6d, 0xd49, "Azure Cobalt 100"},
    {0xc0, 0xac3, "AmpereOne"},
    {0xc0, 0xac4, "AmpereOne-A"},
};

static void arm_part_name(unsigned implementer, unsigned part, char *name, size_t size)
{
    for (size_t i = 0; i < sizeof arm_parts / sizeof arm_parts[0]; i++)
        if (arm_parts[i].implementer == implementer && arm_parts[i].part == part) {
            snprintf(name, size, "%s", arm_parts[i].name);
            return;
        }
    snprintf(name, size, "ARM part %#x of implementer %#x", part, implementer);
}

/* The value of a "key : value" line of /proc/cpuinfo; NULL if the line has another key. */
static const char *cpuinfo_value(const char *line, const char *key)
{
    const size_t length = strlen(key);
    if (strncmp(line, key, length) != 0)
        return NULL;
    line += length + strspn(line + length, " \t");
    return *line == ':' ? line + 1 : NULL;
}

/* The first "model name" is the name. ARM gives a part number for each core instead: their distinct names
 * are joined. */
static void read_cpu_name(const char *root, char *cpu, size_t size)
{
    FILE *file = sysfile_open(root, "/proc/cpuinfo");
    if (!file)
        return;
    char line[SYSFILE_LINE_SIZE], name[64], joined[128] = "";
    const char *value;
    unsigned long implementer = 0, part, last_part = 0;
    while (sysfile_next(file, line, sizeof line)) {
        if ((value = cpuinfo_value(line, "model name")) || (value = cpuinfo_value(line, "uarch"))) {
            sysfile_trim(joined, sizeof joined, value);
            break;
        }
        if ((value = cpuinfo_value(line, "CPU implementer")))
            implementer = strtoul(value, NULL, 0);
        if (!(value = cpuinfo_value(line, "CPU part")))
            continue;
        part = strtoul(value, NULL, 0);
        if (part == last_part)
            continue;
        last_part = part;
        arm_part_name((unsigned)implementer, (unsigned)part, name, sizeof name);
        const size_t used = strlen(joined);
        if (!strstr(joined, name) && used + strlen(name) + 3 < sizeof joined)
            snprintf(joined + used, sizeof joined - used, "%s%s", used ? " + " : "", name);
    }
    fclose(file);
    if (joined[0])
        snprintf(cpu, size, "%s", joined);
}

/* Reads a size such as "64K" or "32M". */
static bool read_cache_size(const char *dir, int64_t *bytes)
{
    char line[64];
    const char *end;
    if (!sysfile_line(dir, "/size", line, sizeof line))
        return false;
    if (!sysfile_number(line, &end, bytes) || *bytes > INT64_MAX >> 20)
        return false;
    if (*end == 'K')
        *bytes <<= 10;
    if (*end == 'M')
        *bytes <<= 20;
    return true;
}

static void read_caches(const char *root, machine_facts *facts)
{
    int64_t *const sizes[] = {NULL, &facts->cache_l1d_bytes, &facts->cache_l2_bytes,
                              &facts->cache_l3_bytes};
    for (int i = 0; i < 8; i++) {
        char dir[SYSFILE_PATH_SIZE], tail[64], type[32];
        int64_t level, bytes, line_bytes;
        snprintf(tail, sizeof tail, "/sys/devices/system/cpu/cpu0/cache/index%d", i);
        if (!sysfile_path(dir, sizeof dir, root, tail))
            return;
        if (!sysfile_line(dir, "/type", type, sizeof type))
            return;
        if (strcmp(type, "Instruction") == 0)
            continue;
        if (!sysfile_int(dir, "/level", &level) || level < 1 || level > 3)
            continue;
        if (read_cache_size(dir, &bytes))
            *sizes[level] = bytes;
        if (sysfile_int(dir, "/coherency_line_size", &line_bytes))
            facts->cache_line_bytes = line_bytes;
    }
}

/* Takes the next range from a list such as "0-3,8"; false at its end. */
static bool list_range(const char **list, int64_t *first, int64_t *last)
{
    if (!sysfile_number(*list, list, first))
        return false;
    *last = *first;
    if (**list == '-' && !sysfile_number(*list + 1, list, last))
        return false;
    *list += **list == ',';
    return *first <= *last && *last < CPUS_MOST;
}

static int count_list(const char *root, const char *path)
{
    char line[SYSFILE_LINE_SIZE];
    const char *list = line;
    int64_t first, last, n = 0;
    if (sysfile_line(root, path, line, sizeof line))
        while (list_range(&list, &first, &last))
            n += last - first + 1;
    return (int)n;
}

/* Reads the number in `file` of each online CPU; returns how many have one. */
static int read_of_cpus(const char *root, const char *file, int64_t numbers[static CPUS_MOST])
{
    char line[SYSFILE_LINE_SIZE], path[128];
    const char *list = line;
    int64_t first, last;
    int n = 0;
    if (!sysfile_line(root, "/sys/devices/system/cpu/online", line, sizeof line))
        return 0;
    while (n < CPUS_MOST && list_range(&list, &first, &last))
        for (int64_t cpu = first; cpu <= last && n < CPUS_MOST; cpu++) {
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", (int)cpu, file);
            if (!sysfile_int(root, path, &numbers[n]))
                return n;
            n++;
        }
    return n;
}

void machine_read_cores(const char *root, int *performance, int *efficiency)
{
    static const char *const measures[] = {"cpu_capacity", "cpufreq/cpuinfo_max_freq"};
    const int online = count_list(root, "/sys/devices/system/cpu/online");
    const int fast = count_list(root, "/sys/devices/cpu_core/cpus");
    const int slow = count_list(root, "/sys/devices/cpu_atom/cpus");
    int64_t speed[CPUS_MOST], best = 0;
    *performance = fast && slow ? fast : online;
    *efficiency = fast && slow ? slow : 0;
    for (int i = 0; i < 2 && best == 0 && !(fast && slow); i++) {
        const int n = read_of_cpus(root, measures[i], speed);
        if (n == 0 || n != online)
            continue;
        for (int k = 0; k < n; k++)
            best = speed[k] > best ? speed[k] : best;
        for (int k = 0; k < n; k++)
            *efficiency += speed[k] < best - best / 3;
        *performance = n - *efficiency;
    }
}

/* Reads a line of /proc/meminfo, which counts in KiB. */
static bool read_meminfo(const char *root, const char *key, int64_t *bytes)
{
    int64_t kib;
    if (!sysfile_keyed(root, "/proc/meminfo", key, &kib) || kib > INT64_MAX >> 10)
        return false;
    *bytes = kib << 10;
    return true;
}

void machine_read_files(const char *root, machine_facts *facts)
{
    read_cpu_name(root, facts->cpu, sizeof facts->cpu);
    read_caches(root, facts);
    read_meminfo(root, "MemTotal", &facts->memory_bytes);
}

int64_t machine_read_memory_free(const char *root)
{
    int64_t bytes;
    if (read_meminfo(root, "MemAvailable", &bytes) || read_meminfo(root, "MemFree", &bytes))
        return bytes;
    return 0;
}
