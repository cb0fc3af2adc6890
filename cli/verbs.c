/* The table of verbs. Not in main.c, because tests of verbs link without it. */
#include "cli.h"

const verb verbs[] = {
    {"answer", verb_answer, "finds the answer to a question in a text"},
    {"bench", verb_bench,
     "measures this machine: checked results, times with confidence intervals"},
    {"classify", verb_classify, "prints the label of texts by a model folder"},
    {"compare", verb_compare, "compares two results: what is faster, and what is only noise"},
    {"devices", verb_devices, "lists the devices of this machine, and why others are missing"},
    {"doctor", verb_doctor, "finds what disturbs measurements on this machine"},
    {"embed", verb_embed, "prints the vectors of texts by a model folder"},
    {"eval", verb_eval, "array calculator: every op, from the shell"},
    {"fill", verb_fill, "prints the words that fit a gap in a text"},
    {"onnx", verb_onnx, "runs ONNX models, and checks and measures them"},
    {"ops", verb_ops, "lists the ops and their arguments"},
    {"predict", verb_predict, "applies a trained network to samples"},
    {"report", verb_report, "writes a result as an HTML page"},
    {"run", verb_run, "runs a CUDA C kernel or a whole CUDA program"},
    {"selftest", verb_selftest, "runs everything that shows whether a device works, for a report"},
    {"tokens", verb_tokens, "prints how a model's tokenizer splits texts"},
    {"train", verb_train, "trains a network"},
    {"translate", verb_translate, "prints a CUDA C kernel as OpenCL C, Metal or plain CUDA C"},
    {"verify", verb_verify,
     "checks every op, dtype and layout on this machine against exact results"},
    {"man", verb_man, "prints the manual page"},
    {"completion", verb_completion, "prints a completion script for a shell"},
    {0},
};
