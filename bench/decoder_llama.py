"""llama.cpp for bench/decoder, by the package llama-cpp-python, which must be built on this machine (its wheels lack instructions).

decoder_llama.py speed MODEL THREADS PROMPT TOKENS      milliseconds of a prompt and of a generation, the means of five runs
decoder_llama.py cpu MODEL THREADS PROMPT TOKENS        the same in CPU time of all threads, of two runs
decoder_llama.py perplexity MODEL THREADS CONTEXT TEXT  with the windows of ingot perplexity
decoder_llama.py greedy MODEL THREADS N OUT PROMPT...   N tokens after each prompt; OUT: their logits (.npz)

Prints a JSON value.
"""
import ctypes
import json
import sys
import time

import llama_cpp as cpp
import numpy as np


class Text:
    """The tokens of one text."""

    def __init__(self, path, threads, context):
        self.quiet = cpp.llama_log_callback(lambda *_: None)
        cpp.llama_log_set(self.quiet, ctypes.c_void_p(0))
        cpp.llama_backend_init()
        self.model = cpp.llama_model_load_from_file(path.encode(), cpp.llama_model_default_params())
        self.vocab = cpp.llama_model_get_vocab(self.model)
        self.size = cpp.llama_vocab_n_tokens(self.vocab)
        params = cpp.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = context
        params.n_threads = params.n_threads_batch = threads
        self.context = cpp.llama_init_from_model(self.model, params)
        self.batch = cpp.llama_batch_init(context, 0, 1)
        self.length = 0

    def clear(self):
        cpp.llama_memory_clear(cpp.llama_get_memory(self.context), True)
        self.length = 0

    def add(self, ids, all_logits=False):
        """Logits of the last token, or of each one; they are valid until the next call."""
        b = self.batch
        b.n_tokens = len(ids)
        for i, token in enumerate(ids):
            b.token[i], b.pos[i], b.n_seq_id[i], b.seq_id[i][0] = int(token), self.length + i, 1, 0
            b.logits[i] = all_logits or i + 1 == len(ids)
        if cpp.llama_decode(self.context, b) != 0:
            raise SystemExit("llama_decode failed")
        self.length += len(ids)
        rows = len(ids) if all_logits else 1
        return np.ctypeslib.as_array(cpp.llama_get_logits(self.context), (rows, self.size))

    def tokens(self, text):
        data = text.encode()
        ids = (cpp.llama_token * (len(data) + 8))()
        return list(ids[:cpp.llama_tokenize(self.vocab, data, len(data), ids, len(ids), True, False)])


def speed(path, threads, prompt, tokens, clock=time.perf_counter, runs=5):
    text = Text(path, threads, prompt)
    ids = [i * 7919 % text.size for i in range(prompt)]

    def ms(parts):
        text.clear()
        start = clock()
        for part in parts:
            text.add(part)
        return 1e3 * (clock() - start)
    works = [ids], [[token] for token in ids[:tokens]]
    return [np.mean([ms(work) for _ in range(runs + 1)][1:]) for work in works]


def cpu(path, threads, prompt, tokens):
    return speed(path, threads, prompt, tokens, time.process_time, 2)


def losses(logits, ids):
    wide = logits.astype(np.float64)
    most = wide.max(1)
    return np.log(np.exp(wide - most[:, None]).sum(1)) + most - wide[np.arange(len(ids)), ids]


def perplexity(path, threads, context, file):
    text = Text(path, threads, context)
    with open(file, encoding="utf-8") as f:
        ids = text.tokens(f.read())
    first, scores = ids[0] if cpp.llama_vocab_get_add_bos(text.vocab) else None, []
    for at in range(0, len(ids) - context + 1, context):
        window = ids[at:at + context]
        window[0] = window[0] if first is None else first
        text.clear()
        logits = text.add(window, True)
        scores.append(losses(logits[context // 2 - 1:-1], window[context // 2:]))
    return float(np.exp(np.mean(scores)))


def greedy(path, threads, n, out, *prompts):
    text = Text(path, threads, 512)
    results, logits = [], {}
    for i, prompt in enumerate(prompts):
        ids, rows = text.tokens(prompt), []
        text.clear()
        part, first = ids, len(ids)
        while len(ids) < first + n:
            rows.append(text.add(part)[0].copy())
            part = [int(rows[-1].argmax())]
            ids = ids + part
        results.append([first, ids])
        logits[str(i)] = np.array(rows)
    np.savez(out, **logits)
    return results


if __name__ == "__main__":
    kind, model, count, *rest = sys.argv[1:]
    rest[0] = int(rest[0])
    if kind in ("speed", "cpu"):
        rest[1] = int(rest[1])
    print(json.dumps({"speed": speed, "cpu": cpu, "perplexity": perplexity, "greedy": greedy}[kind](model, int(count), *rest)))
