/* ingot onnx: runs, checks and measures ONNX models. Each word after the verb is a separate command. */
#include "onnx/onnx.h"

#include <string.h>

#include <ingot.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} parts[] = {{"bench", onnx_bench}, {"export", onnx_export}, {"info", onnx_info},
             {"run", onnx_run},     {"test", onnx_test},     {"verify", onnx_verify}};

int verb_onnx(int argc, char **argv)
{
    const option options[] = {{0}};
    const command c = {"onnx", "bench|export|info|run|test|verify ...",
                       "Runs ONNX models on any device.\n\n"
                       "  ingot onnx info model.onnx         what a model is made of\n"
                       "  ingot onnx run model.onnx x=x.npy -o y.npz\n"
                       "  ingot onnx bench model.onnx        the time of a run\n"
                       "  ingot onnx export net.safetensors -o net.onnx\n"
                       "  ingot onnx verify model.onnx       compares each node with f64\n"
                       "  ingot onnx test FOLDER             runs test folders of ONNX\n\n"
                       "ingot onnx run --help shows the options of one of them; all have --json.",
                       options};
    for (size_t i = 0; argc > 1 && i < sizeof parts / sizeof *parts; i++)
        if (strcmp(argv[1], parts[i].name) == 0)
            return parts[i].run(argc - 1, argv + 1);
    const int code = options_read(&c, &argc, argv);
    if (code >= 0)
        return code;
    nearest near = nearest_to(argc > 0 ? argv[0] : "");
    str t = {0};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        nearest_offer(&near, parts[i].name);
    if (argc > 0)
        str_printf(&t, "there is no command '%s'", argv[0]);
    else
        str_puts(&t, "a command is missing; see ingot onnx --help");
    if (argc > 0)
        str_did_you_mean(&t, &near);
    say(&c, "%s", t.s);
    str_free(&t);
    return EXIT_USAGE;
}
