/* The tokens that a language model learns from: a file of numbers, or a text. */
#ifndef CLI_TRAIN_TOKEN_DATA_H
#define CLI_TRAIN_TOKEN_DATA_H

#include "../cli.h"

typedef struct token_data {
    const char *path;
    int64_t n;       /* tokens */
    int64_t words;   /* of the tokenizer, or 256 for bytes; 0: unknown */
    bool is_bytes;   /* the tokens are the bytes of a text */
    int32_t *ids;    /* of a text, else NULL */
    ig_store *store; /* of .npy and Zarr, else NULL */
    int file;        /* of .bin */
    int64_t head;    /* bytes before the first token of a .bin */
    int width;       /* bytes of a token of a .bin */
    void *room;      /* for tokens as the file has them */
    int64_t room_tokens;
} token_data;

/* Opens a file: a .bin of llm.c (a header, then u16 or u32) or without a header (u16, as nanoGPT writes it), an array of
 * integers in an .npy file or a Zarr store, or else a text. A text becomes tokens by the tokenizer, or is read as bytes if
 * the tokenizer is NULL. Returns -1, or the exit code after a message. Call token_data_close in both cases. */
int token_data_open(const command *c, token_data *d, const char *path, const ig_tokenizer *t);
void token_data_close(token_data *d);

/* Copies n tokens from number `first` on. False after a message: a token is not below `words`. */
bool token_data_read(const command *c, token_data *d, int64_t first, int64_t n, int64_t words,
                     int32_t *out);

/* The text of a tokenizer.json for bytes, which this program and other libraries read. */
void token_data_bytes_json(str *t);

#endif
