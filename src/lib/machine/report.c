/* The frame of the report, and the place where this process runs: system, virtual machine, container. */
#include "lib/machine/report.h"
#include "base/sysfile.h"

#include <stdarg.h>
#include <string.h>
#include <sys/utsname.h>

#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

/* ---- rows ---- */

const char *report_words(machine_report *r, const char *format, ...)
{
    char *const at = r->words + r->used;
    const size_t room = sizeof r->words - r->used;
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(at, room, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= room)
        return NULL;
    r->used += (size_t)n + 1;
    return at;
}

void report_finding(machine_report *r, ig_severity severity, const char *subject, const char *what,
                    const char *remedy)
{
    if (what && r->facts.n_findings < REPORT_FINDINGS)
        r->findings[r->facts.n_findings++] = (ig_finding){severity, subject, what, remedy};
}

/* ---- the system ---- */

/* PRETTY_NAME="Debian GNU/Linux 12 (bookworm)" of /etc/os-release. */
static const char *read_distribution(machine_report *r, const char *root)
{
    static const char key[] = "PRETTY_NAME=";
    FILE *file = sysfile_open(root, "/etc/os-release");
    char line[256];
    const char *found = NULL;
    while (file && !found && sysfile_next(file, line, sizeof line)) {
        if (strncmp(line, key, sizeof key - 1) != 0)
            continue;
        char *name = line + sizeof key - 1;
        name += *name == '"';
        name[strcspn(name, "\"")] = '\0';
        found = *name ? report_words(r, "%s", name) : NULL;
    }
    if (file)
        fclose(file);
    return found;
}

/* ---- virtual machines and containers ---- */

typedef struct sign {
    const char *file;
    const char *part; /* text in its first line; "": the file only has to exist */
    const char *name;
} sign;

/* The first match wins: names of hypervisors come first, indirect signs last. */
static const sign machine_signs[] = {
    {"/sys/class/dmi/id/product_name", ".metal", NULL}, /* not a guest, whatever the vendor */
    {"/sys/class/dmi/id/sys_vendor", "Amazon EC2", "Amazon EC2"},
    {"/sys/class/dmi/id/product_name", "Google Compute Engine", "Google Compute Engine"},
    {"/sys/class/dmi/id/sys_vendor", "DigitalOcean", "DigitalOcean"},
    {"/sys/class/dmi/id/sys_vendor", "Hetzner", "Hetzner Cloud"},
    {"/sys/class/dmi/id/sys_vendor", "OpenStack", "OpenStack"},
    {"/sys/class/dmi/id/product_name", "OpenStack", "OpenStack"},
    {"/sys/class/dmi/id/product_name", "Virtual Machine", "Hyper-V"},
    {"/sys/class/dmi/id/sys_vendor", "VMware", "VMware"},
    {"/sys/class/dmi/id/product_name", "VirtualBox", "VirtualBox"},
    {"/sys/class/dmi/id/sys_vendor", "Parallels", "Parallels"},
    {"/sys/class/dmi/id/product_name", "Apple Virtualization", "Apple Virtualization"},
    {"/sys/class/dmi/id/sys_vendor", "Xen", "Xen"},
    {"/sys/hypervisor/type", "xen", "Xen"},
    {"/sys/class/dmi/id/product_name", "KVM", "KVM"},
    {"/sys/class/dmi/id/sys_vendor", "QEMU", "QEMU"},
    {"/proc/device-tree/hypervisor/compatible", "kvm", "KVM"},
    {"/proc/device-tree/hypervisor/compatible", "xen", "Xen"},
    {"/proc/device-tree/compatible", "linux,dummy-virt", "KVM or QEMU"},
    {"/proc/device-tree/vmgenid/compatible", "", "an unnamed hypervisor"},
};

static const sign container_signs[] = {
    {"/.dockerenv", "", "Docker"},
    {"/run/.containerenv", "", "Podman"},
    {"/run/systemd/container", "lxc", "LXC"},
    {"/run/systemd/container", "nspawn", "systemd-nspawn"},
    {"/run/systemd/container", "", "a container"},
    {"/proc/1/cgroup", "kubepods", "Kubernetes"},
    {"/proc/1/cgroup", "docker", "Docker"},
    {"/proc/1/cgroup", "lxc", "LXC"},
};

/* True if a line of the file contains `part`. */
static bool file_has(const char *root, const char *path, const char *part)
{
    FILE *file = sysfile_open(root, path);
    char line[SYSFILE_LINE_SIZE];
    bool found = file && part[0] == '\0';
    while (file && !found && sysfile_next(file, line, sizeof line))
        found = strstr(line, part) != NULL;
    if (file)
        fclose(file);
    return found;
}

static const char *find_sign(const char *root, const sign *signs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (file_has(root, signs[i].file, signs[i].part))
            return signs[i].name;
    return NULL;
}

/* True if the "flags" of the first CPU contain this word. Only a guest of a hypervisor has "hypervisor". */
static bool cpu_flag(const char *root, const char *flag)
{
    FILE *file = sysfile_open(root, "/proc/cpuinfo");
    char line[SYSFILE_LINE_SIZE];
    bool found = false, seen = false;
    while (file && !seen && sysfile_next(file, line, sizeof line)) {
        seen = strncmp(line, "flags", 5) == 0;
        char *save, *word = seen ? strtok_r(line, " \t", &save) : NULL;
        for (; word && !found; word = strtok_r(NULL, " \t", &save))
            found = strcmp(word, flag) == 0;
    }
    if (file)
        fclose(file);
    return found;
}

static const char *find_virtual_machine(const char *root)
{
#if defined(__APPLE__)
    int guest = 0;
    size_t size = sizeof guest;
    if (sysctlbyname("kern.hv_vmm_present", &guest, &size, NULL, 0) == 0 && guest)
        return "Apple Virtualization";
#endif
    const char *found =
        find_sign(root, machine_signs, sizeof machine_signs / sizeof machine_signs[0]);
    if (found || file_has(root, machine_signs[0].file, machine_signs[0].part))
        return found;
    return cpu_flag(root, "hypervisor") ? "an unnamed hypervisor" : NULL;
}

/* System, distribution, processor, virtual machine, container. */
static void report_place(machine_report *r, const char *root)
{
    struct utsname name;
    ig_machine *m = &r->facts;
    if (uname(&name) == 0) {
        m->system = report_words(r, "%s %s", name.sysname, name.release);
        m->arch = report_words(r, "%s", name.machine);
    }
    m->distribution = read_distribution(r, root);
    m->virtual_machine = find_virtual_machine(root);
    m->container =
        find_sign(root, container_signs, sizeof container_signs / sizeof container_signs[0]);
}

void machine_report_read(machine_report *r, const char *root, bool (*has_backend)(const char *))
{
    r->facts.findings = r->findings;
    r->facts.absent = r->absent;
    report_place(r, root);
    report_disturbances(r, root);
    report_absent(r, root, has_backend);
}
