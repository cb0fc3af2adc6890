/* The output of nvcc that build tools read: CMake takes CUDA's folder and the command that links from -v, and PyTorch takes
 * the version from --version. */
#include "nvcc/nvcc.h"

#include <stdlib.h>
#include <string.h>

#include <ingot.h>

const char *nvcc_toolkit(void)
{
    const char *folder = getenv("INGOT_TOOLKIT");
    return folder && *folder ? folder : NULL;
}

void nvcc_say_version(void)
{
    printf("nvcc: NVIDIA (R) Cuda compiler driver (replaced by ingot nvcc, Ingot %s)\n"
           "Cuda compilation tools, release 12.0, V12.0.0\n"
           "Build ingot_%s\n",
           ig_version(), ig_version());
}

void nvcc_say_environment(const nvcc_job *j)
{
    const char *toolkit = nvcc_toolkit(), *path = getenv("PATH");
    const char *library = j->tools.library.s, *slash = strrchr(library, '/');
    str libraries = {0};
    if (toolkit)
        str_printf(&libraries, "%s/lib64", toolkit);
    else
        str_add(&libraries, library, (size_t)(slash - library));
    if (toolkit)
        text_printf(stderr,
                    "#$ _HERE_=%s/bin\n#$ _THERE_=%s/bin\n#$ TOP=%s\n"
                    "#$ NVVMIR_LIBRARY_DIR=%s/nvvm/libdevice\n#$ INCLUDES=\"-I%s/include\"\n",
                    toolkit, toolkit, toolkit, toolkit, toolkit);
    text_printf(stderr, "#$ _SPACE_= \n#$ _CUDART_=cudart\n#$ PATH=%s\n", path ? path : "");
    text_printf(stderr, "#$ LIBRARIES=  -L%s\n#$ CUDAFE_FLAGS=\n#$ PTXAS_FLAGS=\n", libraries.s);
    str_free(&libraries);
}

void nvcc_say_command(const nvcc_job *j, const char *const *words)
{
    str t = {0};
    (void)j;
    str_puts(&t, "#$");
    for (; *words; words++) {
        const bool plain = !strpbrk(*words, "\"'\\$&;()<>*?#`") &&
                           (!strchr(*words, ' ') || strncmp(*words, "-arch ", 6) == 0);
        if (plain)
            str_printf(&t, " %s", *words);
        else { /* as a shell reads it */
            str_puts(&t, " '");
            for (const char *c = *words; *c; c++)
                str_printf(&t, *c == '\'' ? "'\\''" : "%c", *c);
            str_puts(&t, "'");
        }
    }
    str_puts(&t, "\n");
    text_print(stderr, t.s);
    str_free(&t);
}
