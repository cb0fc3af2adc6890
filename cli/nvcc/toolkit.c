/* A folder that build tools take for CUDA's: bin/nvcc starts this command, include has our headers, and the libraries of
 * lib64 are libingot under CUDA's names. */
#include "nvcc/nvcc.h"

#include "bench/child.h"
#include "cuda/folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes a folder inside; it may exist. */
static int make_folder(const nvcc_job *j, const char *root, const char *name)
{
    str path = {0};
    str_printf(&path, "%s%s%s", root, *name ? "/" : "", name);
    const int code = mkdir(path.s, 0777) == 0 || errno == EEXIST
                         ? -1
                         : folder_cannot(j->c, "make the folder", path.s);
    str_free(&path);
    return code;
}

static int link_to(const nvcc_job *j, const char *root, const char *name, const char *target)
{
    str path = {0};
    str_printf(&path, "%s/%s", root, name);
    unlink(path.s);
    const int code =
        symlink(target, path.s) == 0 ? -1 : folder_cannot(j->c, "make the link", path.s);
    str_free(&path);
    return code;
}

/* The libraries. An archive without members stands for code that is part of another library. */
static int link_libraries(const nvcc_job *j, const char *root)
{
    static const char *const shared[] = {"lib64/libcudart.so", "lib64/libcuda.so",
                                         "lib64/libnvrtc.so"};
    static const char empty[] = "!<arch>\n";
    const char *library = j->tools.library.s, *slash = strrchr(library, '/');
    char *real = realpath(library, NULL); /* programs ask for it by its name with the version */
    str archive = {0}, own = {0};
    str_printf(&archive, "%.*s/libingot.a", (int)(slash - library), library);
    str_printf(&own, "lib64/%s", real ? strrchr(real, '/') + 1 : slash + 1);
    int code = folder_write(j->c, root, "lib64/libcudadevrt.a", empty, sizeof empty - 1, 0666);
    if (code < 0)
        code = folder_write(j->c, root, "lib64/libnvidia-ml.a", empty, sizeof empty - 1, 0666);
    for (size_t i = 0; code < 0 && i < sizeof shared / sizeof *shared; i++)
        code = link_to(j, root, shared[i], library);
    if (code < 0)
        code = link_to(j, root, own.s, real ? real : library);
    if (code < 0)
        code = link_to(j, root, "lib64/libcudart_static.a",
                       access(archive.s, R_OK) == 0 ? archive.s : library);
    if (code < 0)
        code = link_to(j, root, "lib", "lib64");
    str_free(&archive);
    str_free(&own);
    free(real);
    return code;
}

static int write_files(const nvcc_job *j, const char *root, const char *self)
{
    static const char version[] =
        "{\n   \"cuda\" : {\n      \"name\" : \"Ingot's replacement of CUDA\",\n"
        "      \"version\" : \"12.0.0\"\n   }\n}\n";
    str include = {0}, script = {0};
    str_printf(&include, "%s/include", root);
    str_printf(&script,
               "#!/bin/sh\n# nvcc for build tools; see 'ingot nvcc --help'.\n"
               "INGOT_TOOLKIT='%s' exec '%s' nvcc \"$@\"\n",
               root, self);
    int code = folder_write_headers(j->c, include.s, false);
    if (code < 0)
        code = folder_write(j->c, root, "bin/nvcc", script.s, script.n, 0777);
    if (code < 0)
        code = folder_write(j->c, root, "version.json", version, sizeof version - 1, 0666);
    str_free(&include);
    str_free(&script);
    return code;
}

int nvcc_write_toolkit(nvcc_job *j)
{
    static const char *const folders[] = {"", "bin", "include", "lib64", "nvvm", "nvvm/libdevice"};
    int code = -1;
    for (size_t i = 0; code < 0 && i < sizeof folders / sizeof *folders; i++)
        code = make_folder(j, j->toolkit, folders[i]);
    char *root = code < 0 ? realpath(j->toolkit, NULL) : NULL, *self = child_self();
    if (code < 0 && (!root || !self))
        code = folder_cannot(j->c, "find", root ? "this command" : j->toolkit);
    if (code < 0)
        code = write_files(j, root, self);
    if (code < 0)
        code = link_libraries(j, root);
    free(root);
    free(self);
    return code < 0 ? EXIT_FINE : code;
}
