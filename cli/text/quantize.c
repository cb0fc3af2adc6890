/* ingot quantize: a GGUF file with smaller types of tensors. */
#include "common.h"

#include <sys/stat.h>

#include "lib/decoder/decoder.h"

static double megabytes(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? 1e-6 * (double)info.st_size : 0;
}

int verb_quantize(int argc, char **argv)
{
    const char *output = NULL, *type = "q4_k", *adapters = NULL;
    bool quiet = false;
    engine_options engine = {0};
    const option options[] = {
        {"--output", 'o', "FILE", option_text, &output, "the file to write: .gguf"},
        {"--type", 't', "TYPE", option_text, &type,
         "the type of matrices: f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q2_k, q3_k, q4_k, "
         "q5_k, "
         "q6_k, iq4_nl, iq4_xs or mxfp4 (q4_k)"},
        LORA_OPTION(adapters),
        FLAG("--quiet", &quiet, "prints nothing"),
        {"--threads", 0, "N", option_threads, &engine.threads, "threads of the CPU device"},
        {"--memory-limit", 0, "SIZE", option_memory, &engine.memory_limit,
         "bytes that arrays may hold (512MiB, 4GiB)"},
        {0}};
    const command c = {
        "quantize", "[options] FILE.gguf|DIR -o OUT.gguf",
        "Writes a GGUF file, or a model folder as a GGUF file, with other types of tensors. Norms\n"
        "and biases become f32; the tables of tokens get at least 6 bits; a matrix with short "
        "rows\n"
        "gets the next type that fits. --lora merges adapters into the matrices.\n\n"
        "  ingot quantize model-f16.gguf --type q4_k -o model-q4.gguf\n"
        "  ingot quantize DIR --type q8_0 -o model-q8.gguf",
        options};
    int code = options_read(&c, &argc, argv);
    if (code < 0)
        code = engine_apply(&c, &engine);
    if (code < 0 && (argc != 1 || !output)) {
        say(&c, "give one .gguf file or folder, and -o FILE; see 'ingot quantize --help'");
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = write_check(&c, "-o", output);
    if (code >= 0)
        return code;
    const double before = megabytes(argv[0]);
    if (decoder_quantize(argv[0], adapters, type, output) != IG_OK)
        return fail_library(&c);
    if (!quiet && before > 0)
        text_printf(stdout, "%s: %.1f MB, before %.1f MB\n", output, megabytes(output), before);
    else if (!quiet)
        text_printf(stdout, "%s: %.1f MB\n", output, megabytes(output));
    return EXIT_FINE;
}
