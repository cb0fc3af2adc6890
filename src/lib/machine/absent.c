/* Why a kind of device cannot be used, as far as files of the machine tell. Its backend reports other
 * reasons. */
#include "lib/machine/report.h"
#include "base/sysfile.h"

#include <dlfcn.h>
#include <string.h>

/* In a test's tree a library is a file; on the real machine, dlopen decides. */
static bool library_loads(const char *root, const char *name)
{
    if (root[0]) {
        char path[128];
        snprintf(path, sizeof path, "/usr/lib/%s", name);
        return sysfile_exists(root, path);
    }
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (library)
        dlclose(library);
    return library != NULL;
}

/* True if the PCI bus has a display controller of that vendor. */
static bool has_pci_gpu(const char *root, const char *vendor)
{
    static const char bus[] = "/sys/bus/pci/devices";
    DIR *folder = sysfile_folder(root, bus);
    const char *entry;
    bool found = false;
    while ((entry = sysfile_entry(folder))) {
        char path[512], line[32];
        snprintf(path, sizeof path, "%s/%s/vendor", bus, entry);
        if (!sysfile_line(root, path, line, sizeof line) || strcmp(line, vendor) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s/class", bus, entry);
        found =
            found || (sysfile_line(root, path, line, sizeof line) && strncmp(line, "0x03", 4) == 0);
    }
    return found;
}

/* "NVRM version: NVIDIA UNIX ... Kernel Module  550.54.14  Thu ...": the first word like a version. */
static bool nvidia_version(const char *root, char *version, size_t size)
{
    char line[256], *save;
    if (!sysfile_line(root, "/proc/driver/nvidia/version", line, sizeof line))
        return false;
    for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save))
        if (strspn(word, "0123456789.") == strlen(word) && strchr(word, '.')) {
            snprintf(version, size, "%s", word);
            return true;
        }
    return false;
}

static void why_cuda(machine_report *r, const char *root, ig_absent *row)
{
    char version[32] = "of unknown version";
    if (!sysfile_exists(root, "/dev/nvidia0")) {
        const bool gpu = has_pci_gpu(root, "0x10de");
        row->why = report_words(r, "%sno NVIDIA driver: /dev/nvidia0 is absent",
                                gpu ? "an NVIDIA GPU is on the bus, but " : "");
        row->remedy = gpu ? "apt-get install nvidia-driver" : NULL;
        return;
    }
    nvidia_version(root, version, sizeof version);
    const bool loads = library_loads(root, "libcuda.so.1");
    row->why = report_words(r, "an NVIDIA GPU with driver %s is here, %s", version,
                            loads ? "and libcuda.so.1 loads" : "but libcuda.so.1 was not found");
    row->remedy = loads ? NULL : "apt-get install libcuda1";
}

void report_add_absent(machine_report *r, const ig_absent *a)
{
    if (r->facts.n_absent == REPORT_ABSENT)
        return;
    ig_absent *row = &r->absent[r->facts.n_absent++];
    row->name = a->name;
    row->why = report_words(r, "%s", a->why);
    row->remedy = a->remedy ? report_words(r, "%s", a->remedy) : NULL;
}

void report_absent(machine_report *r, const char *root, bool (*has_backend)(const char *))
{
    static const struct {
        const char *name;
        void (*why)(machine_report *r, const char *root, ig_absent *row);
    } kinds[] = {{"cuda", why_cuda}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (has_backend(kinds[i].name))
            continue;
        ig_absent *row = &r->absent[r->facts.n_absent++];
        row->name = kinds[i].name;
        kinds[i].why(r, root, row);
    }
}
