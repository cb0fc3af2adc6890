/* The next token of a text on the fake CUDA driver: from the fourth token on, a step is two copies to the device, one launch of one
 * graph, of which no node changes, and one copy of the logits. In math mode same, logits have the CPU's bits. */
#include "support/cuda.h"
#include "support/unit.h"

#include <string.h>

#include "lib/decoder/decoder.h"

static const char *const fixture = "tests/support/tiny_llama.gguf";
enum { PROMPT = 4, STEPS = 12, VOCABULARY_MOST = 1024, DIRECT = 3, CALLS = 20 };

static float want[STEPS][VOCABULARY_MOST];

/* Adds a prompt and then tokens one by one. */
static void run(const char *device, float to[STEPS][VOCABULARY_MOST], bool counts)
{
    ig_set_device(device);
    decoder *d = decoder_open(fixture);
    session *s = d ? session_new(d, PROMPT + STEPS) : NULL;
    const int32_t prompt[PROMPT] = {5, 17, 40, 7};
    if (!s || !session_add(s, prompt, PROMPT))
        fail_msg("%s", ig_error(NULL));
    const size_t bytes = (size_t)d->config.vocabulary * sizeof(float);
    for (int i = 0; i < STEPS; i++) {
        const int32_t id = 3 + 11 * i;
        const long launches = fake.count(FAKE_LAUNCHES), graphs = fake.count(FAKE_GRAPHS),
                   updates = fake.count(FAKE_UPDATES), calls = fake.count(FAKE_CALLS);
        const float *logits = session_add(s, &id, 1);
        assert_non_null(logits);
        memcpy(to[i], logits, bytes);
        if (counts && i >= DIRECT) {
            assert_int_equal(fake.count(FAKE_LAUNCHES), launches);
            assert_int_equal(fake.count(FAKE_GRAPHS), graphs + 1);
            assert_int_equal(fake.count(FAKE_UPDATES), updates);
            assert_true(fake.count(FAKE_CALLS) - calls <= CALLS); /* for any number of layers */
        }
    }
    session_free(s);
    decoder_close(d);
}

static void a_step_is_one_graph(void **unused)
{
    (void)unused;
    static float got[STEPS][VOCABULARY_MOST];
    ig_set_math(IG_MATH_SAME);
    run("cpu", want, false);
    run("cuda:0", got, true);
    ig_set_math(IG_MATH_STRICT);
    assert_memory_equal(got, want, sizeof got);
}

/* The default mode. The matrices are too small for kernels/contract_vector.cu, which test_vector_product.c tests. */
static void a_step_in_the_default_mode_is_one_graph(void **unused)
{
    (void)unused;
    static float got[STEPS][VOCABULARY_MOST];
    run("cuda:0", got, true);
    double error = 0, sum = 0;
    for (int i = 0; i < STEPS * VOCABULARY_MOST; i++) {
        const double a = got[i / VOCABULARY_MOST][i % VOCABULARY_MOST];
        const double b = want[i / VOCABULARY_MOST][i % VOCABULARY_MOST];
        error += (a - b) * (a - b);
        sum += b * b;
    }
    assert_true(error < 1e-3 * sum);
}

int main(int argc, char **argv)
{
    (void)argc;
    cuda_prepare(argv[0]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_step_is_one_graph, cuda_test_begin, cuda_test_end),
        cmocka_unit_test_setup_teardown(a_step_in_the_default_mode_is_one_graph, cuda_test_begin,
                                        cuda_test_end),
    };
    return cmocka_run_group_tests(tests, cuda_begin, cuda_end);
}
