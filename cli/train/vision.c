/* ingot train vision: see vision.h. The samples are images. */
#include "vision.h"

#include "photos.h"
#include "train.h"
#include "vision_net.h"

#include <stdlib.h>
#include <string.h>

typedef struct vision_training {
    train_loop loop;
    const char *name, *config, *data;
    bool plain; /* no augmentation */
    bool no_flip;
    double least; /* the least share of an image's area that a random part has */
    vision_config net;
    photos photos;
    photo_loader *train, *test;
} vision_training;

/* ---- data and loss --------------------------------------------------------------------------- */

static int vision_find(void *at)
{
    vision_training *t = at;
    train_loop *l = &t->loop;
    str why = {0};
    if (!vision_config_read(&t->net, t->name, t->config, &why)) {
        say(l->command, "--model %s%s%s: %s", t->name, t->config ? " --config " : "",
            t->config ? t->config : "", why.s);
        str_free(&why);
        return EXIT_USAGE;
    }
    const int code = photos_find(l->command, &t->photos, t->data, l->hold);
    if (code >= 0)
        return code;
    t->net.classes = t->photos.classes;
    t->photos.classes = (name_list){0};
    l->samples = t->photos.train.files.n;
    l->held = t->photos.test.files.n;
    l->units = l->samples;
    l->units_each = 1;
    const photo_crops random = {!t->plain, t->least, !t->no_flip, l->seed}, middle = {0};
    t->train = photo_loader_new(&t->photos.train, &random, t->net.side, l->batch, ig_threads());
    if (t->train && l->held)
        t->test = photo_loader_new(&t->photos.test, &middle, t->net.side, l->batch, ig_threads());
    return t->train && (t->test || !l->held) ? -1 : fail_library(l->command);
}

/* The loss of a batch; *right, unless NULL, gets the number of images that are classified correctly. */
static ig_array *loss_of(vision_training *t, photo_loader *from, const loop_batch *b,
                         ig_array **right)
{
    ig_array *x, *labels;
    if (!photo_loader_take(from, b, &x, &labels))
        return NULL;
    ig_array *logits = vision_logits(t->loop.net, &t->net, x, NULL);
    if (right)
        *right = count_right(logits, labels);
    return ig_cross_entropy(logits, labels, -1, NULL);
}

static ig_array *vision_loss(void *at, const loop_batch *b)
{
    vision_training *t = at;
    return loss_of(t, t->train, b, NULL);
}

static void vision_expect(void *at, const loop_batch *b)
{
    vision_training *t = at;
    photo_loader_expect(t->train, b);
}

/* Batch i of the test. */
static loop_batch test_batch(const vision_training *t, int64_t i, int64_t *list)
{
    const int64_t first = i * t->loop.batch, left = t->loop.held - first;
    const int64_t n = left < t->loop.batch ? left : t->loop.batch;
    for (int64_t k = 0; k < n; k++)
        list[k] = first + k;
    return (loop_batch){list, n, 0, first};
}

static bool vision_test(void *at, loop_score *score)
{
    vision_training *t = at;
    const int64_t batches = (t->loop.held + t->loop.batch - 1) / t->loop.batch;
    int64_t *list = heap_get(2 * sizeof *list * (size_t)t->loop.batch);
    double sum = 0, right = 0;
    bool fine = true;
    for (int64_t i = 0; i < batches && fine; i++) {
        const loop_batch b = test_batch(t, i, list);
        const loop_batch next = test_batch(t, i + 1, list + t->loop.batch);
        ig_array *hits;
        if (ig_scope_begin() != IG_OK)
            break;
        ig_array *loss = loss_of(t, t->test, &b, &hits);
        if (i + 1 < batches)
            photo_loader_expect(t->test, &next);
        ig_array *both[] = {loss, hits};
        fine = loss && ig_eval(both, 2) == IG_OK;
        sum += fine ? ig_item(loss) * (double)b.n : 0;
        right += fine ? ig_item(hits) : 0;
        ig_scope_end();
    }
    free(list);
    *score = (loop_score){sum / (double)t->loop.held, right / (double)t->loop.held};
    return fine;
}

/* ---- the model ------------------------------------------------------------------------------- */

static ig_optimizer *vision_optimizer(void *at)
{
    const train_loop *l = &((vision_training *)at)->loop;
    return vision_is_transformer(&((vision_training *)at)->net)
               ? ig_adamw(l->lr, 0.9, 0.999, 1e-8, l->decay)
               : ig_sgd(l->lr, 0.9, false, l->decay);
}

static ig_status vision_make(void *at)
{
    vision_training *t = at;
    train_loop *l = &t->loop;
    double flops = 0;
    bool fresh = false;
    ig_status status = vision_build(l->net, &t->net, &flops);
    if (status == IG_OK && l->model)
        status = vision_load(l->net, &t->net, l->model, &fresh);
    if (fresh && !l->quiet)
        say(l->command, "%s has another number of classes; the last layer starts anew", l->model);
    l->flops = 3 * flops; /* the gradients of x and of the weights take as many each */
    return status;
}

static void vision_settings(void *at, str *s)
{
    const vision_training *t = at;
    str_printf(s, "--model %s\n", vision_name(&t->net));
    vision_sizes_write(&t->net, s);
    str_printf(s, "\nimages %lld of %lld classes\n--hold %a\n", (long long)t->loop.samples,
               (long long)t->net.classes.n, t->loop.hold);
    str_printf(s, "--least %a%s%s\n--dropout %a\n", t->least, t->plain ? " --plain" : "",
               t->no_flip ? " --no-flip" : "", t->net.dropout);
}

static ig_status vision_write(void *at, const char *folder)
{
    const vision_training *t = at;
    return vision_save(t->loop.net, &t->net, ig_optimizer_steps(t->loop.optimizer), folder);
}

/* ---- the verb -------------------------------------------------------------------------------- */

static const loop_task vision_task = {.unit = "images",
                                      .open = vision_find,
                                      .build = vision_make,
                                      .optimizer = vision_optimizer,
                                      .settings = vision_settings,
                                      .loss = vision_loss,
                                      .expect = vision_expect,
                                      .test = vision_test,
                                      .save = vision_write};

/* The learning rate, the weight decay and the clipping that the networks' papers use, unless they are given. */
static void fill_in(vision_training *t)
{
    train_loop *l = &t->loop;
    const bool transformer = strncmp(t->name, "vit", 3) == 0;
    const double images = (double)(l->batch * l->accumulate);
    if (l->lr < 0)
        l->lr = transformer ? 1e-3 * images / 1024 : 0.1 * images / 256;
    if (l->decay < 0)
        l->decay = transformer ? 0.05 : 1e-4;
    if (l->clip < 0)
        l->clip = transformer ? 1 : 0;
}

static int run(vision_training *t, int argc)
{
    train_loop *l = &t->loop;
    const char *why = argc                    ? "it takes options only"
                      : !t->data              ? "--data is needed"
                      : l->resume && !l->save ? "--resume needs --save, whose checkpoint it "
                                                "continues"
                                              : NULL;
    if (why) {
        say(l->command, "%s; see 'ingot train vision --help'", why);
        return EXIT_USAGE;
    }
    fill_in(t);
    return loop_run(l);
}

int train_vision(int argc, char **argv)
{
    vision_training t = {.name = "resnet50",
                         .least = 0.08,
                         .loop = {LOOP_DEFAULTS, .task = &vision_task, .batch = 64, .epochs = 30,
                                  .lr = -1, .decay = -1, .clip = -1}};
    train_loop *l = &t.loop;
    const option options[] = {
        {"--data", 0, "DIR", option_text, &t.data,
         "a folder for each class of images, or train and val with such folders"},
        {"--model", 'm', "NAME", option_text, &t.name,
         "resnet18, 34, 50 or 101, vit-s16, vit-b16 or vit-l16 (resnet50)"},
        {"--config", 0, "SIZES", option_text, &t.config,
         "other sizes: side=64,width=16,layers=1,stem=3 (ResNet), side=64,patch=8 (ViT)"},
        {"--weights", 0, "PATH", option_text, &l->model,
         "starts with these weights: a folder of --save, or a .safetensors file of torchvision"},
        {"--batch", 0, "N", option_count, &l->batch, "images in memory at once (64)"},
        {"--epochs", 0, "N", option_count, &l->epochs,
         "passes over the data, without --steps (30)"},
        {"--lr", 0, "RATE", option_rate, &l->lr,
         "the largest learning rate (0.1 for 256 images a step; ViT: 0.001 for 1024)"},
        {"--last", 0, "SHARE", option_share, &l->last,
         "the share of it at the end of its cosine (0)"},
        {"--clip", 0, "NORM", option_rate, &l->clip, "the largest norm of the gradient (ViT: 1)"},
        {"--decay", 0, "SHARE", option_share, &l->decay,
         "the weight decay of matrices (0.0001; ViT: 0.05)"},
        {"--dropout", 0, "P", option_share, &t.net.dropout,
         "the probability of dropout in a ViT (0)"},
        {"--least", 0, "SHARE", option_share, &t.least,
         "the least share of an image that a random part has (0.08)"},
        FLAG("--no-flip", &t.no_flip, "flips no images"),
        FLAG("--plain", &t.plain, "takes the middle of each image, without random parts and flips"),
        {"--hold", 0, "SHARE", option_share, &l->hold,
         "holds back this share of each class, to test with at each checkpoint"},
        LOOP_OPTIONS(t.loop),
        {0}};
    const command c = {
        "train vision", "--data DIR [options]",
        "Trains a ResNet (by SGD with momentum) or a vision transformer (by AdamW) to classify "
        "images, "
        "with\n"
        "warm-up and a cosine. Threads decode, crop, resize and flip images while the device "
        "computes; the\n"
        "random numbers depend on --seed alone. With --dtype bf16, parameters and the optimizer's "
        "state stay\n"
        "f32. The folder of --save has model.safetensors with torchvision's names, config.json, "
        "with which\n"
        "'ingot predict DIR image.jpg' applies it, and a checkpoint, which --resume continues to "
        "the bit.\n"
        "Ctrl-C stops after the current step and saves.\n\n"
        "mpirun -n 4 ingot train vision --accumulate 8 ... divides the 8 batches of a step among "
        "4\n"
        "processes. Results have the same bits for every number of processes.\n\n"
        "  ingot train vision --model resnet50 --data photos --dtype bf16 --hold 0.1 --save run",
        options};
    l->command = &c;
    l->at = &t;
    int code = options_read(&c, &argc, argv);
    if (code < 0)
        code = run(&t, argc);
    photo_loader_free(t.train);
    photo_loader_free(t.test);
    loop_free(l);
    photos_free(&t.photos);
    vision_config_free(&t.net);
    return code;
}
