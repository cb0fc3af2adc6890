/* Timelines: their content, that they are JSON, when they are rejected, and that any thread may record, begin and end
 * at any time. tests/test_trace.py checks how their spans nest. */
#include "support/folder.h"

#include "base/json.h"
#include "base/trace.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Parses the whole file strictly; returns the number of events with this name. */
static int count_events(const char *path, const char *name)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    const size_t bytes = (size_t)ftell(file);
    rewind(file);
    char *content = malloc(bytes);
    assert_non_null(content);
    assert_int_equal(fread(content, 1, bytes, file), bytes);
    fclose(file);
    json_reader r;
    json_text key, value;
    int n = 0;
    json_begin(&r, content, bytes);
    json_open_object(&r);
    while (json_next_key(&r, &key)) {
        if (!json_text_is(key, "traceEvents")) {
            json_skip(&r);
            continue;
        }
        json_open_array(&r);
        while (json_next_item(&r)) {
            json_open_object(&r);
            while (json_next_key(&r, &key))
                if (json_text_is(key, "name") && json_read_text(&r, &value))
                    n += json_text_is(value, name);
                else
                    json_skip(&r);
        }
    }
    if (json_end(&r) != IG_OK)
        fail_msg("%s: %s", path, r.problem);
    free(content);
    return n;
}

/* Large enough for the pool. */
static void compute(int i)
{
    ig_scope_begin();
    ig_array *x = ig_normal(ig_key((uint64_t)i, NULL), IG_SHAPE(300, 300), IG_F32, NULL, NULL);
    ig_array *y = ig_sum(ig_exp(ig_matmul(x, x)), IG_NONE, IG_DTYPE_NONE, false);
    assert_int_equal(ig_eval(&y, 1), IG_OK);
    ig_scope_end();
}

static void test_content(void **state)
{
    (void)state;
    const char *path = folder_path("t.json");
    compute(0);
    assert_int_equal(ig_trace_begin(path), IG_OK);
    assert_int_equal(folder_entries(), 0); /* it only checked the path */
    ig_shutdown();                         /* ends it; forgets the schedule */
    assert_int_equal(count_events(path, "eval"), 0);
    assert_int_equal(ig_trace_begin(path), IG_OK);
    compute(0);
    compute(1);
    assert_int_equal(ig_trace_end(), IG_OK);
    assert_int_equal(ig_trace_end(), IG_OK); /* nothing to end */
    compute(2);
    assert_int_equal(count_events(path, "eval"), 2);
    assert_int_equal(count_events(path, "order"), 2);
    static const char *const once[] = {"fuse", "emit", "plan", "compile"};
    for (int i = 0; i < 4; i++)
        assert_int_equal(count_events(path, once[i]), 1); /* the second is from the cache */
    assert_true(count_events(path, "memory") >= 4);
    assert_int_equal(folder_entries(), 1);
}

static void test_refused(void **state)
{
    (void)state;
    assert_int_equal(ig_trace_begin(NULL), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "a path is missing");
    assert_int_equal(ig_trace_begin(folder_path("no/where")), IG_ERR_FILE);
    assert_error(IG_ERR_FILE, "it cannot be written");
    assert_int_equal(ig_trace_begin(folder_itself()), IG_ERR_FILE);
    assert_error(IG_ERR_FILE, "it cannot be written");
    assert_int_equal(ig_trace_begin(folder_path("a")), IG_OK);
    assert_int_equal(ig_trace_begin(folder_path("b")), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "end it first");
    assert_int_equal(ig_trace_end(), IG_OK);
    assert_int_equal(folder_entries(), 1);
    /* An existing file stays until the new one is complete, and a device is written directly. */
    folder_put(folder_path("a"), "old", 3);
    assert_int_equal(ig_trace_begin(folder_path("a")), IG_OK);
    assert_int_equal(folder_get(folder_path("a")), 3);
    assert_int_equal(ig_trace_end(), IG_OK);
    assert_true(folder_get(folder_path("a")) > 3);
    assert_int_equal(ig_trace_begin("/dev/null"), IG_OK);
    assert_int_equal(ig_trace_end(), IG_OK);
}

static void test_full(void **state)
{
    (void)state;
    const char *path = folder_path("t.json");
    const int room = 5000, extra = 5;
    const int64_t usual = trace_room;
    trace_room = room;
    assert_int_equal(ig_trace_begin(path), IG_OK);
    for (int i = 0; i < room + extra; i++)
        trace_memory(1);
    assert_int_equal(ig_trace_end(), IG_OK);
    trace_room = usual;
    assert_int_equal(count_events(path, "memory"), room);
    assert_int_equal(count_events(path, "the timeline is full: later events were dropped"), 1);
}

/* More names than there is room for. */
static void test_names(void **state)
{
    (void)state;
    const char *path = folder_path("t.json");
    char label[200];
    memset(label, 'x', sizeof label);
    assert_int_equal(ig_trace_begin(path), IG_OK);
    for (int i = 0; i < 3000; i++) {
        snprintf(label + 180, sizeof label - 180, "\"\n%d", i);
        trace_end_program(trace_begin(), "cpu", label, &(trace_cost){1, 2, 3});
    }
    assert_int_equal(ig_trace_end(), IG_OK);
    const int unnamed = count_events(path, "a program");
    assert_true(unnamed > 1000 && unnamed < 3000);
}

static void test_fork(void **state)
{
    (void)state;
    if (getenv("IG_TEST_EMULATED")) /* qemu-user cannot start threads in a child of fork */
        skip();
    const char *path = folder_path("t.json");
    assert_int_equal(ig_trace_begin(path), IG_OK);
    compute(0);
    const pid_t child = fork();
    if (child == 0) {
        compute(1);
        _exit(ig_trace_end() == IG_OK && access(path, F_OK) != 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(ig_trace_end(), IG_OK);
    assert_int_equal(count_events(path, "eval"), 1);
}

static atomic_bool stop;

static void *keep_computing(void *arg)
{
    for (int i = 0; !atomic_load(&stop); i++)
        compute((int)(intptr_t)arg + i % 3);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    const int rounds = getenv("IG_TEST_QUICK") ? 4 : 20;
    pthread_t threads[3];
    atomic_store(&stop, false);
    for (intptr_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, keep_computing, (void *)i), 0);
    for (int i = 0; i < rounds; i++) {
        assert_int_equal(ig_trace_begin(folder_path("t.json")), IG_OK);
        compute(i);
        assert_int_equal(ig_trace_end(), IG_OK);
        assert_true(count_events(folder_path("t.json"), "eval") >= 1);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

#define FOLDER_TEST(function) cmocka_unit_test_setup_teardown(function, folder_begin, folder_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(test_content), FOLDER_TEST(test_refused), FOLDER_TEST(test_full),
        FOLDER_TEST(test_fork),    FOLDER_TEST(test_threads), FOLDER_TEST(test_names),
    };
    ig_set_threads(3);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
