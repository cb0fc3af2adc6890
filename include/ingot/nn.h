/* Networks: models, layers, optimizers. */
#ifndef INGOT_NN_H
#define INGOT_NN_H

#include "ingot/array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A model holds the named parameters of a network and the state of training. Layers are functions: the
 * first call with a name creates the parameters of the layer ("fc.weight", "fc.bias") from the key of the
 * model; later calls use them. So the forward function is the whole description:
 *
 *     ig_array *net(ig_model *m, ig_array *x)
 *     {
 *         x = ig_relu(ig_nn_linear(m, "hidden", x, 128, true));
 *         return ig_nn_linear(m, "out", x, 10, true);
 *     }
 *
 * A new parameter has the dtype of x, or f32 if x is not a float. A call whose shapes do not match the
 * existing parameters fails. A model must be used by one thread at a time. */
typedef struct ig_model ig_model;

IG_API ig_model *ig_model_new(uint64_t seed);
IG_API void ig_model_free(ig_model *m);

/* Selects training (the default) or inference: dropout and batch_norm differ. Also discards what layers
 * have recorded for the next step: new statistics of batch_norm, and the count of dropout's calls. */
IG_API void ig_model_train(ig_model *m, bool training);

/* Mixed precision: from now on layers compute in dtype (IG_BF16, or IG_F32 to end it), while parameters, the state of
 * optimizers and checkpoints stay f32. Layers convert a float x to dtype. Parameters are returned as copies in dtype, which
 * belong to the open scope; an evaluation makes each copy once. Compute losses in f32: ig_astype(logits, IG_F32). */
IG_API ig_status ig_model_mixed(ig_model *m, ig_dtype dtype);

/* How the elements of a new parameter are drawn. */
typedef enum ig_init {
    IG_INIT_ZEROS,
    IG_INIT_ONES,
    IG_INIT_UNIFORM, /* in [-scale, scale) */
    IG_INIT_NORMAL   /* mean 0, deviation scale */
} ig_init;

/* The parameter of that name. The first call creates it, from its own key. For layers that are not in
 * this header. The array belongs to the model and is valid until the next step or load. With mixed precision and dtype f32 it
 * is a copy in the other dtype. */
IG_API ig_array *ig_model_param(ig_model *m, const char *name, ig_ints shape, ig_dtype dtype,
                                ig_init init, double scale);

/* The parameters in the order of their creation, then the state that is not trained (running statistics of
 * batch_norm). ig_model_get returns NULL without an error if there is no such name. */
IG_API int ig_model_count(const ig_model *m);
IG_API const char *ig_model_name(const ig_model *m, int i);
IG_API ig_array *ig_model_get(const ig_model *m, const char *name);
/* Copies value, which has the same shape and dtype, into the model. */
IG_API ig_status ig_model_set(ig_model *m, const char *name, ig_array *value);
IG_API bool ig_model_is_trained(const ig_model *m, int i);

/* x (..., in) @ weight.T + bias; weight is (out, in). Drawn as PyTorch does: uniform in
 * +-1 / sqrt(in). */
IG_API ig_array *ig_nn_linear(ig_model *m, const char *name, ig_array *x, int64_t out, bool bias);
/* Convolution of x (N, C, L), (N, C, H, W) or (N, C, D, H, W); kernel, stride, padding: one number or
 * one for each axis. */
IG_API ig_array *ig_nn_conv(ig_model *m, const char *name, ig_array *x, int64_t out, ig_ints kernel,
                            ig_ints stride, ig_ints padding, bool bias);
/* The same with groups: each output is computed from in / groups channels. With as many groups as channels it is a depthwise
 * convolution. */
IG_API ig_array *ig_nn_group_conv(ig_model *m, const char *name, ig_array *x, int64_t out,
                                  ig_ints kernel, ig_ints stride, ig_ints padding, int64_t groups,
                                  bool bias);
/* The transposed convolution, which makes images larger: the gradient of a convolution with respect to its input. The weight
 * is (in, out, kernel...). A stride s gives (size - 1) * s - 2 * padding + kernel + output_padding elements. */
IG_API ig_array *ig_nn_conv_transpose(ig_model *m, const char *name, ig_array *x, int64_t out,
                                      ig_ints kernel, ig_ints stride, ig_ints padding,
                                      ig_ints output_padding, bool bias);
/* The patches of images (N, C, H, W) as rows (N, patches, width), by a convolution whose stride is its size. */
IG_API ig_array *ig_nn_patches(ig_model *m, const char *name, ig_array *x, int64_t width,
                               int64_t patch);
/* Rows of a (count, width) table; drawn from the normal distribution. */
IG_API ig_array *ig_nn_embedding(ig_model *m, const char *name, ig_array *indices, int64_t count,
                                 int64_t width);
/* Norms over the last axis, with weight (and bias). */
IG_API ig_array *ig_nn_layer_norm(ig_model *m, const char *name, ig_array *x, double eps);
IG_API ig_array *ig_nn_rms_norm(ig_model *m, const char *name, ig_array *x, double eps);
/* Normalizes by channel (axis 1): with the statistics of the batch in training, with running statistics in
 * inference. Each step moves the running statistics ("running_mean", "running_var") towards the batch's by
 * the fraction momentum, for example 0.1. group_norm normalizes groups of channels and has no running
 * statistics. */
IG_API ig_array *ig_nn_batch_norm(ig_model *m, const char *name, ig_array *x, double momentum,
                                  double eps);
IG_API ig_array *ig_nn_group_norm(ig_model *m, const char *name, ig_array *x, int64_t groups,
                                  double eps);
/* ig_dropout in training, with another key for each call and step; x itself in inference. */
IG_API ig_array *ig_nn_dropout(ig_model *m, ig_array *x, double p);
/* Multi-head attention of x (N, T, width) to context (N, S, width; NULL: x itself). mask as for
 * ig_scaled_dot_product_attention, broadcast to (N, heads, T, S); may be NULL. Its parts are the linear
 * layers "query", "key", "value" and "out". */
IG_API ig_array *ig_nn_attention(ig_model *m, const char *name, ig_array *x, ig_array *context,
                                 int64_t heads, ig_array *mask, bool is_causal);
/* Attention of x (N, T, width) to itself, in which heads / kv_heads heads of queries share a head of keys and values. rope_base:
 * queries and keys get rotary positions with this base, such as 10000; 0: none. Its parts are "q_proj", "k_proj", "v_proj" and
 * "o_proj", without biases. */
IG_API ig_array *ig_nn_grouped_attention(ig_model *m, const char *name, ig_array *x, int64_t heads,
                                         int64_t kv_heads, double rope_base, ig_array *mask,
                                         bool is_causal);
/* The feed-forward network of Llama: down_proj(silu(gate_proj(x)) * up_proj(x)), without biases. */
IG_API ig_array *ig_nn_swiglu(ig_model *m, const char *name, ig_array *x, int64_t hidden);
/* Layers of an LSTM over x (T, N, width): the outputs (T, N, hidden) of the last one. h and c: NULL, or `layers` states (N, hidden)
 * each, NULL for zeros, which become the last ones. The weights have PyTorch's names ("weight_ih_l0", ...). */
IG_API ig_array *ig_nn_lstm(ig_model *m, const char *name, ig_array *x, int64_t hidden,
                            int64_t layers, ig_array **h, ig_array **c);

/* Optimizers. An optimizer keeps its state for each parameter, in f32 (f64 for f64 parameters), and serves
 * one model. The formulas are PyTorch's: sgd adds weight_decay to the gradients, adamw and lion subtract it
 * from the parameters. NULL on failure. */
typedef struct ig_optimizer ig_optimizer;

IG_API ig_optimizer *ig_sgd(double lr, double momentum, bool nesterov, double weight_decay);
IG_API ig_optimizer *ig_adam(double lr, double beta1, double beta2, double eps);
IG_API ig_optimizer *ig_adamw(double lr, double beta1, double beta2, double eps,
                              double weight_decay);
IG_API ig_optimizer *ig_rmsprop(double lr, double alpha, double eps, double momentum);
IG_API ig_optimizer *ig_lion(double lr, double beta1, double beta2, double weight_decay);
IG_API void ig_optimizer_free(ig_optimizer *o);

/* Learning rate schedules. The rate grows linearly over the first `warmup` steps. After that it is constant.
 * Or it falls to the fraction `last` of its value until step `total`, along a cosine or a line. Or it is
 * multiplied by `factor` every `every` steps. Warmup can be combined with one of the other three; setting
 * another one replaces it. */
IG_API ig_status ig_schedule_warmup(ig_optimizer *o, int64_t warmup);
IG_API ig_status ig_schedule_cosine(ig_optimizer *o, int64_t total, double last);
IG_API ig_status ig_schedule_linear(ig_optimizer *o, int64_t total, double last);
IG_API ig_status ig_schedule_step(ig_optimizer *o, int64_t every, double factor);
/* Scales gradients down to max_norm if their norm over all parameters is larger; 0: never. */
IG_API ig_status ig_optimizer_clip(ig_optimizer *o, double max_norm);
/* Weight decay changes only parameters with at least ndim axes. 0, the default: all. 2: no biases and norms. */
IG_API ig_status ig_optimizer_decay_ndim(ig_optimizer *o, int ndim);
/* The learning rate of the next step, and the number of steps made so far. */
IG_API double ig_optimizer_rate(const ig_optimizer *o);
IG_API int64_t ig_optimizer_steps(const ig_optimizer *o);

/* One training step: computes the gradients of loss with respect to all parameters of the model and updates
 * the parameters, in one evaluation. Every parameter must influence the loss. Writes the loss to value (may
 * be NULL). The n arrays of also (the accuracy, for example) are evaluated in the same run. The old arrays of
 * the parameters may be overwritten, so arrays that depend on them must be evaluated in this call, not later.
 * On failure model and optimizer do not change. */
IG_API ig_status ig_step(ig_optimizer *o, ig_model *m, ig_array *loss, double *value,
                         ig_array *const *also, int n);
/* Describes the evaluation that ig_step would make, as ig_explain does. Computes nothing. */
IG_API char *ig_step_explain(ig_optimizer *o, ig_model *m, ig_array *loss, ig_array *const *also,
                             int n);

/* Adds the gradients of loss to those of the next ig_step, so that a step can have more samples than memory has room for:
 *
 *     for (int k = 0; k < 4; k++)
 *         loss = ig_divide(loss_of_samples(m, k), ig_float(4));
 *         status = k < 3 ? ig_step_add(o, m, loss, &value, NULL, 0) : ig_step(o, m, loss, &value, NULL, 0);
 *
 * The sums are f32 (f64 for f64) and are added to in place. value and also are as for ig_step. On failure the sums are
 * dropped. A step that fails drops them, too. */
IG_API ig_status ig_step_add(ig_optimizer *o, ig_model *m, ig_array *loss, double *value,
                             ig_array *const *also, int n);

/* Data-parallel steps. The samples of a step are divided into shards, and the ranks of the team (ingot/team.h) divide
 * the shards. Gradients are the sums of the shards' gradients in a fixed order, so all bits depend on the shards and
 * not on the number of ranks: one process computes the same. All ranks make the same calls, in a loop such as this:
 *
 *     int first, end;
 *     ig_shards_begin(o, m, 8, &first, &end);
 *     for (int k = first; k < end; k++)
 *         ig_shards_add(o, m, loss_of_samples(m, k * n / 8, (k + 1) * n / 8), 1.0 / 8, NULL, 0);
 *     ig_shards_step(o, m, &loss, NULL, 0);
 *
 * ig_shards_begin divides a step into 1 to 4096 shards; this rank has to add the shards [*first, *end), in this order.
 * If there are more ranks than shards, some have none. Dropout draws other keys in each shard, so layers must be called
 * after ig_shards_begin and after the preceding ig_shards_add.
 *
 * ig_shards_add evaluates the gradients of one shard's loss and multiplies them by weight, usually the shard's fraction
 * of the samples. also are n scalars of this shard, evaluated in the same run.
 *
 * ig_shards_step sums over all shards and updates the parameters of all ranks. *value (may be NULL) becomes the sum of
 * weight * loss, and sums[i] the sum of also[i]. batch_norm normalizes each shard by its own statistics; running
 * statistics move towards the mean of the shards' statistics by weight.
 *
 * In a team each rank keeps the optimizer's state of its part of the parameters only. ig_model_save with this optimizer
 * is then a call that all ranks make: rank 0 gets tensor after tensor from the others and writes the file. The file is the same
 * as with one process, and every number of ranks can load it. A rank without shards needs the parameters before the first
 * ig_shards_step: call the layers once in all ranks, or load the model. On failure the step is dropped, and the other ranks
 * fail as well. */
IG_API ig_status ig_shards_begin(ig_optimizer *o, ig_model *m, int shards, int *first, int *end);
IG_API ig_status ig_shards_add(ig_optimizer *o, ig_model *m, ig_array *loss, double weight,
                               ig_array *const *also, int n);
IG_API ig_status ig_shards_step(ig_optimizer *o, ig_model *m, double *value, double *sums, int n);

/* Divides the parameters of the model among the ranks, as the optimizer's state is: from now on each rank keeps its part
 * of them. Parameters are then divided arrays (ingot/team.h), which an evaluation gets from the ranks when it uses them.
 * All ranks call it before the first step, after layers have made the parameters or the model was loaded. Results and
 * checkpoints have the same bits as without it. With one process it does nothing. */
IG_API ig_status ig_shards_divide(ig_optimizer *o, ig_model *m);

/* The same sums for loops with their own optimizers. ig_shards_own: this rank computes the shards [*first, *end).
 * ig_shards_sum: terms lists n arrays for each of them, shard by shard, such as weighted gradients. sums[i], in all
 * ranks, is the sum of array i over all shards, computed in f32 (f64 for f64), with shape and dtype of like[i]. like
 * lists n arrays of real floats, such as the parameters; ranks without shards need their shapes. */
IG_API ig_status ig_shards_own(int shards, int *first, int *end);
IG_API ig_status ig_shards_sum(int shards, ig_array *const *like, int n, ig_array *const *terms,
                               ig_array **sums);

/* Saves the model, the optimizer (may be NULL) and a text (may be NULL) to a safetensors file, and loads
 * them. Loading checks every name, shape and dtype first and changes nothing if one is wrong. A model
 * without parameters takes all parameters of the file. */
IG_API ig_status ig_model_save(const ig_model *m, const ig_optimizer *o, const char *text,
                               const char *path);
IG_API ig_status ig_model_load(ig_model *m, ig_optimizer *o, const char *path);
/* The text in the file that the model was loaded from, valid until the next load; NULL if there is none. */
IG_API const char *ig_model_text(const ig_model *m);

#ifdef __cplusplus
}
#endif

#endif
