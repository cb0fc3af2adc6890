/* Requests in OpenAI's form, read and checked. */
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H

#include "base/text.h"
#include "lib/decoder/decoder.h"

enum { STOPS_MOST = 16 };

typedef enum asked_kind { ASKED_CHAT, ASKED_COMPLETION, ASKED_EMBEDDINGS } asked_kind;

typedef struct asked {
    asked_kind kind;
    char *messages; /* of a chat: a JSON array for the template */
    char *prompt;   /* of a completion */
    size_t prompt_bytes;
    ig_text *inputs; /* of embeddings; each is owned */
    int n_inputs, inputs_room;
    int64_t tokens; /* -1: as many as fit */
    sampling sampling;
    char *stops[STOPS_MOST];
    int n_stops;
    grammar *grammar;
    bool stream, usage, logprobs, seeded, ignores_end;
} asked;

/* A mistake in a request: its field, and what is wrong. */
typedef struct mistake {
    char field[96], problem[256];
} mistake;

/* Reads a body. `usual` has the defaults. False after a mistake, or with an error pending. Call asked_free in any case. */
bool asked_read(asked *a, asked_kind kind, const sampling *usual, ig_text body, mistake *m);
void asked_free(asked *a);

#endif
