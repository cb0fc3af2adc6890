/* The works in plain words. tests/unit/test_bench.c checks that each work of `ingot bench` has an entry. */
#include "bench/glossary.h"

#include <string.h>

/* clang-format off */
static const work_words entries[] = {
    {"matmul", "multiply matrices",
     "Product of two square matrices; the size is their side. The basic operation of neural networks."},
    {"matmul_batched", "multiply many small matrices",
     "Many independent products of small square matrices; count x side."},
    {"matmul_threads", "multiply matrices",
     "The product of matmul with 1, 2, 4, ... threads; side/threads."},
    {"attention", "compute attention",
     "Scaled dot-product attention, softmax(q kᵀ) v; heads x tokens x width."},
    {"conv", "convolve images",
     "3 x 3 convolution to as many channels as it reads; batch x channels x side."},
    {"transformer", "run a transformer block",
     "One block of a DistilBERT-sized transformer: attention, layer norms and the MLP; tokens x width."},
    {"chain", "run a fused chain of elementwise ops",
     "Six elementwise ops that are fused into one loop; the size is the number of elements."},
    {"chain_unfused", "run elementwise ops one by one",
     "The ops of chain, each evaluated by itself: the difference to chain is what fusion saves."},
    {"chain_threads", "run a fused chain of elementwise ops",
     "The work of chain with 1, 2, 4, ... threads; elements/threads."},
    {"copy", "copy memory",
     "Exchanges the two halves of an array: reads and writes each element once."},
    {"triad", "combine two arrays",
     "x + 3 y, as in the STREAM benchmark: two reads and one write for each element."},
    {"sum", "add up numbers",
     "The sum of all elements: one read for each element."},
    {"cumulative_sum", "compute running sums",
     "The running sum of all elements: each result depends on all elements before it."},
    {"softmax", "compute softmax",
     "Softmax of each row; rows x columns."},
    {"layer_norm", "normalize rows",
     "Layer norm of each row with weight and bias; rows x columns."},
    {"max_pool", "pool images",
     "The largest of each 2 x 2 pixels; batch x channels x side."},
    {"random_mean", "draw random numbers",
     "The mean of uniform random numbers that are drawn and added without being stored; rows x columns."},
    {"sort", "sort numbers",
     "Sorts random numbers; the size is how many."},
    {"gather", "read random elements",
     "Reads as many elements as the array has, at random positions: the latency of memory counts."},
    {"scatter_add", "add at random positions",
     "Adds as many elements as the array has, at random positions."},
    {"train_mlp", "train a small network",
     "One training step of a two-layer network with Adam; batch x inputs x hidden x classes."},
    {"train_digits", "train on digits",
     "One epoch of the convolutional network of 'ingot train digits'; the size is the number of images."},
    {"tokenizer", "split texts into tokens",
     "WordPiece tokens of lines of 12 words, with offsets; the size is the number of lines."},
    {"distilbert", "run DistilBERT",
     "The whole network with new parameters; batch x tokens."},
    {"prompt_q8", "read a prompt",
     "A language model of 135M parameters (Q8_0) reads a prompt; the size is the number of tokens."},
    {"generate_q8", "generate text",
     "A language model of 135M parameters (Q8_0) makes tokens one by one: each reads all weights; the size is the number of tokens."},
    {"prompt_q4", "read a prompt", "The same with weights of 4 bits (Q4_0)."},
    {"generate_q4", "generate text", "The same with weights of 4 bits (Q4_0)."},
    {"prompt", "read a prompt", "The language model of --model reads a prompt; the size is the number of tokens."},
    {"generate", "generate text", "The language model of --model makes tokens one by one; the size is the number of tokens."},
    {"launch", "launch small evaluations",
     "Ten ops on 64 elements: the cost of building, planning and starting an evaluation."},
    {"to_device", "copy to the device",
     "Copies an array from host memory to the device; the size is the number of elements."},
    {"from_device", "copy from the device",
     "Copies an array from the device to host memory; the size is the number of elements."},
    {"start", "start programs",
     "A whole process, from its start to the printed mean of a matrix product; the size is the side."},
    {"command", "run this command",
     "A command given with --cmd, from its start to its end."},
};
/* clang-format on */

const work_words *work_words_of(const char *name)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    return NULL;
}

/* Adds a verb in the third person: "copy" becomes "copies". */
static void third_person(str *t, const char *verb, size_t n)
{
    const char last = n ? verb[n - 1] : 0, before = n > 1 ? verb[n - 2] : 0;
    const bool hisses =
        last == 's' || last == 'x' || (last == 'h' && (before == 'c' || before == 's'));
    if (last == 'y' && !strchr("aeiou", before)) {
        str_add(t, verb, n - 1);
        str_puts(t, "ies");
    } else {
        str_add(t, verb, n);
        str_puts(t, hisses ? "es" : "s");
    }
}

void work_does(str *t, const char *name, bool third)
{
    const work_words *w = work_words_of(name);
    if (!w) {
        str_printf(t, third ? "does %s" : "do %s", name);
        return;
    }
    const size_t n = strcspn(w->does, " ");
    if (third)
        third_person(t, w->does, n);
    else
        str_add(t, w->does, n);
    str_puts(t, w->does + n);
}
