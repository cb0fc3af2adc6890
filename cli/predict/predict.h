/* The parts of ingot predict: a network takes samples and gives rows of numbers; results prints and saves them. */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include "../cli.h"

#include <ingot.h>

typedef struct predict_settings {
    const char *output, *labels, *mean, *std;
    int64_t top;
    bool json;
    engine_options engine;
} predict_settings;

/* How an image becomes a sample: (byte / 255 - mean) / deviation for each channel. */
typedef struct image_scale {
    bool known;
    double mean[3], deviation[3];
} image_scale;

/* A network, whoever trained it. */
typedef struct network {
    const command *command;
    int64_t shape[IG_MAX_NDIM]; /* of a sample; -1: any length */
    int ndim;
    int64_t batch;                   /* samples in each run; 0: any number */
    bool values;                     /* it predicts numbers and has no classes */
    int64_t outputs;                 /* numbers in a row; 0: not known before the first run */
    image_scale scale;               /* of images, if it takes them */
    const char **names;              /* of the classes, or NULL */
    const struct encoding *encoding; /* of tables; NULL: their rows are samples */
    ig_onnx_value *said; /* the labels of the last run as texts, or NULL; row i has the label i */
    /* Applies it to x (n, ...). Returns probabilities or values (n, outputs) in f32; NULL on failure. */
    ig_array *(*run)(struct network *n, ig_array *x);
    /* Loads an image as a sample; NULL: image_sample does. */
    ig_array *(*load)(struct network *n, const char *path);
    void (*close)(struct network *n);
    void *at; /* of the functions above */
} network;

/* Open a network of ingot train, a folder of ingot train vision, and an ONNX model. Return -1, or the exit code after reporting an
 * error. Call network.close, unless it is NULL, in both cases. */
int trained_open(network *n, const char *path);
int vision_network_open(network *n, const char *folder);
int onnx_open(network *n, const char *path, const predict_settings *set);

#define IMAGE_OPTIONS(mean, std) \
    { \
        "--mean", 0, \
        "LIST",   option_text, \
        &(mean),  "images for ONNX: subtracted from pixels of 0 to 1 (0.485,0.456,0.406)"}, \
    { \
        "--std", 0, "LIST", option_text, &(std), \
            "images for ONNX: then divides them (0.229,0.224,0.225)" \
    }

/* Loads an image as a sample of the network; NULL on failure. */
ig_array *image_sample(const network *n, const char *path);
bool is_image(const char *path);
/* Sets n->scale for an ONNX model whose input has this dtype; mean and std as on the command line, or NULL. Returns -1, or the
 * exit code after reporting an error. */
int image_scale_find(network *n, ig_dtype dtype, const char *mean, const char *std);

/* ---- results.c ---- */

typedef struct results {
    const network *network;
    const predict_settings *set;
    float *kept; /* rows of all samples, for -o */
    int64_t n, outputs;
} results;

/* Prints n rows, or keeps them for -o. */
void results_add(results *r, const float *rows, int64_t n);
/* Saves the rows to the file of -o. Returns the exit code. */
int results_save(const command *c, const results *r);

#endif
