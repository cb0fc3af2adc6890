/* A model folder for tests: a tiny BERT with a classification head. */
#ifndef SUPPORT_TEXT_FOLDER_H
#define SUPPORT_TEXT_FOLDER_H

#include <stdbool.h>

/* The tokenizer.json in it: WordPiece of nine tokens. */
extern const char text_folder_tokenizer[];

/* Writes config.json, tokenizer.json and model.safetensors into a folder that exists. False on failure. */
bool text_folder_make(const char *folder);

#endif
