/* The table of decoder architectures. Biases and norms of query and key need no column: they are used if they are there. */
#include "lib/decoder/decoder.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

/* phi3: ffn_up has twice as many rows. */
#define FILE_NAMES \
    [ROLE_EMBEDDING] = "token_embd", [ROLE_POSITIONS] = "position_embd", \
    [ROLE_OUT_NORM] = "output_norm", [ROLE_OUT] = "output", \
    [ROLE_ATTENTION_NORM] = "blk.%d.attn_norm", [ROLE_QUERY] = "blk.%d.attn_q", \
    [ROLE_KEY] = "blk.%d.attn_k", [ROLE_VALUE] = "blk.%d.attn_v", \
    [ROLE_QUERY_KEY_VALUE] = "blk.%d.attn_qkv", [ROLE_QUERY_NORM] = "blk.%d.attn_q_norm", \
    [ROLE_KEY_NORM] = "blk.%d.attn_k_norm", [ROLE_SINKS] = "blk.%d.attn_sinks", \
    [ROLE_ATTENTION_OUT] = "blk.%d.attn_output", [ROLE_GATE] = "blk.%d.ffn_gate", \
    [ROLE_UP] = "blk.%d.ffn_up", [ROLE_GATE_UP] = "blk.%d.ffn_up", \
    [ROLE_DOWN] = "blk.%d.ffn_down", [ROLE_INNER_AFTER] = "blk.%d.post_ffw_norm", \
    [ROLE_ROUTER] = "blk.%d.ffn_gate_inp", [ROLE_EXPERT_GATE] = "blk.%d.ffn_gate_exps", \
    [ROLE_EXPERT_UP] = "blk.%d.ffn_up_exps", [ROLE_EXPERT_DOWN] = "blk.%d.ffn_down_exps", \
    [ROLE_ROPE_FACTORS] = "rope_freqs", [ROLE_ROPE_LONG] = "rope_factors_long", \
    [ROLE_ROPE_SHORT] = "rope_factors_short"

static const role_names roles_gguf = {{
    FILE_NAMES,
    [ROLE_ATTENTION_AFTER] = "blk.%d.post_attention_norm",
    [ROLE_INNER_NORM] = "blk.%d.ffn_norm",
}};

static const role_names roles_gguf_gpt_oss = {{
    FILE_NAMES,
    [ROLE_INNER_NORM] = "blk.%d.post_attention_norm",
}};

#define LAYER "model.layers.%d."
#define LLAMA_NAMES \
    [ROLE_EMBEDDING] = "model.embed_tokens", [ROLE_OUT_NORM] = "model.norm", \
    [ROLE_OUT] = "lm_head", [ROLE_ATTENTION_NORM] = LAYER "input_layernorm", \
    [ROLE_QUERY] = LAYER "self_attn.q_proj", [ROLE_KEY] = LAYER "self_attn.k_proj", \
    [ROLE_VALUE] = LAYER "self_attn.v_proj", [ROLE_QUERY_KEY_VALUE] = LAYER "self_attn.qkv_proj", \
    [ROLE_QUERY_NORM] = LAYER "self_attn.q_norm", [ROLE_KEY_NORM] = LAYER "self_attn.k_norm", \
    [ROLE_ATTENTION_OUT] = LAYER "self_attn.o_proj", [ROLE_GATE] = LAYER "mlp.gate_proj", \
    [ROLE_UP] = LAYER "mlp.up_proj", [ROLE_GATE_UP] = LAYER "mlp.gate_up_proj", \
    [ROLE_DOWN] = LAYER "mlp.down_proj"

static const role_names roles_llama = {{
    LLAMA_NAMES,
    [ROLE_INNER_NORM] = LAYER "post_attention_layernorm",
}};

static const role_names roles_phi3 = {{
    [ROLE_EMBEDDING] = "model.embed_tokens",
    [ROLE_OUT_NORM] = "model.norm",
    [ROLE_OUT] = "lm_head",
    [ROLE_ATTENTION_NORM] = LAYER "input_layernorm",
    [ROLE_QUERY_KEY_VALUE] = LAYER "self_attn.qkv_proj",
    [ROLE_ATTENTION_OUT] = LAYER "self_attn.o_proj",
    [ROLE_INNER_NORM] = LAYER "post_attention_layernorm",
    [ROLE_GATE_UP] = LAYER "mlp.gate_up_proj",
    [ROLE_DOWN] = LAYER "mlp.down_proj",
}};

static const role_names roles_gemma = {{
    LLAMA_NAMES,
    [ROLE_ATTENTION_AFTER] = LAYER "post_attention_layernorm",
    [ROLE_INNER_NORM] = LAYER "pre_feedforward_layernorm",
    [ROLE_INNER_AFTER] = LAYER "post_feedforward_layernorm",
}};

static const role_names roles_mixtral = {{
    LLAMA_NAMES,
    [ROLE_INNER_NORM] = LAYER "post_attention_layernorm",
    [ROLE_ROUTER] = LAYER "block_sparse_moe.gate",
    [ROLE_EXPERT_GATE] = LAYER "block_sparse_moe.experts.%d.w1",
    [ROLE_EXPERT_UP] = LAYER "block_sparse_moe.experts.%d.w3",
    [ROLE_EXPERT_DOWN] = LAYER "block_sparse_moe.experts.%d.w2",
}};

static const role_names roles_qwen_moe = {{
    LLAMA_NAMES,
    [ROLE_INNER_NORM] = LAYER "post_attention_layernorm",
    [ROLE_ROUTER] = LAYER "mlp.gate",
    [ROLE_EXPERT_GATE] = LAYER "mlp.experts.%d.gate_proj",
    [ROLE_EXPERT_UP] = LAYER "mlp.experts.%d.up_proj",
    [ROLE_EXPERT_DOWN] = LAYER "mlp.experts.%d.down_proj",
}};

static const role_names roles_gpt_oss = {{
    LLAMA_NAMES,
    [ROLE_INNER_NORM] = LAYER "post_attention_layernorm",
    [ROLE_SINKS] = LAYER "self_attn.sinks",
    [ROLE_ROUTER] = LAYER "mlp.router",
    [ROLE_EXPERT_GATE_UP] = LAYER "mlp.experts.gate_up_proj",
    [ROLE_EXPERT_DOWN] = LAYER "mlp.experts.down_proj",
}};

static const role_names roles_gpt2 = {{
    [ROLE_EMBEDDING] = "transformer.wte",
    [ROLE_POSITIONS] = "transformer.wpe",
    [ROLE_OUT_NORM] = "transformer.ln_f",
    [ROLE_OUT] = "lm_head",
    [ROLE_ATTENTION_NORM] = "transformer.h.%d.ln_1",
    [ROLE_QUERY_KEY_VALUE] = "transformer.h.%d.attn.c_attn",
    [ROLE_ATTENTION_OUT] = "transformer.h.%d.attn.c_proj",
    [ROLE_INNER_NORM] = "transformer.h.%d.ln_2",
    [ROLE_UP] = "transformer.h.%d.mlp.c_fc",
    [ROLE_DOWN] = "transformer.h.%d.mlp.c_proj",
}};

static const role_names roles_gpt_neox = {{
    [ROLE_EMBEDDING] = "gpt_neox.embed_in",
    [ROLE_OUT_NORM] = "gpt_neox.final_layer_norm",
    [ROLE_OUT] = "embed_out",
    [ROLE_ATTENTION_NORM] = "gpt_neox.layers.%d.input_layernorm",
    [ROLE_QUERY_KEY_VALUE] = "gpt_neox.layers.%d.attention.query_key_value",
    [ROLE_ATTENTION_OUT] = "gpt_neox.layers.%d.attention.dense",
    [ROLE_INNER_NORM] = "gpt_neox.layers.%d.post_attention_layernorm",
    [ROLE_UP] = "gpt_neox.layers.%d.mlp.dense_h_to_4h",
    [ROLE_DOWN] = "gpt_neox.layers.%d.mlp.dense_4h_to_h",
}};

static const architecture architectures[] = {
    {"llama", "llama", &roles_llama, .neighbours = true, .activation = "silu", .gated = true},
    {"llama", "mistral", &roles_llama, .neighbours = true, .activation = "silu", .gated = true,
     .window = WINDOW_ALL},
    {"llama", "mixtral", &roles_mixtral, .neighbours = true, .activation = "silu", .gated = true,
     .window = WINDOW_ALL},
    {"qwen2", "qwen2", &roles_llama, .activation = "silu", .gated = true},
    {"qwen3", "qwen3", &roles_llama, .activation = "silu", .gated = true},
    {"qwen3moe", "qwen3_moe", &roles_qwen_moe, .activation = "silu", .gated = true},
    {"gpt-oss", "gpt_oss", &roles_gpt_oss, .in_files = &roles_gguf_gpt_oss, .activation = "silu",
     .gated = true, .limit = 7, .window = WINDOW_ALTERNATE},
    {"gemma2", "gemma2", &roles_gemma, .adds_one = true, .scales_embedding = true,
     .activation = "gelu_pytorch_tanh", .gated = true, .window = WINDOW_ALTERNATE, .tied = true,
     .attention_cap = 50, .logit_cap = 30},
    {"gemma3", "gemma3_text", &roles_gemma, .adds_one = true, .scales_embedding = true,
     .activation = "gelu_pytorch_tanh", .gated = true, .window = WINDOW_SIX, .tied = true},
    {"phi3", "phi3", &roles_phi3, .activation = "silu", .gated = true, .window = WINDOW_ALL},
    {"gpt2", "gpt2", &roles_gpt2, .layer_norm = true, .transposed = true,
     .activation = "gelu_pytorch_tanh", .tied = true},
    {"gptneox", "gpt_neox", &roles_gpt_neox, .layer_norm = true, .parallel = true,
     .heads_together = true, .activation = "gelu"},
};

enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

const role_names *roles_in_files(const architecture *a)
{
    return a->in_files ? a->in_files : &roles_gguf;
}

const architecture *architecture_by_name(ig_text name)
{
    for (int i = 0; i < ARCHITECTURES; i++)
        if (strlen(architectures[i].name) == name.bytes &&
            memcmp(architectures[i].name, name.at, name.bytes) == 0)
            return &architectures[i];
    return NULL;
}

const architecture *architecture_by_type(const char *model_type)
{
    for (int i = 0; i < ARCHITECTURES; i++)
        if (strcmp(architectures[i].model_type, model_type) == 0)
            return &architectures[i];
    return NULL;
}

const char *architecture_list(void)
{
    char *out = thread_text();
    size_t n = 0;
    for (int i = 0; out && i < ARCHITECTURES && n < THREAD_TEXT_BYTES; i++)
        n += (size_t)snprintf(out + n, THREAD_TEXT_BYTES - n, i ? ", %s" : "%s",
                              architectures[i].model_type);
    return out ? out : "";
}
