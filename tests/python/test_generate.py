"""Generators of text: streams, several answers at the same time, chats, grammars, and mistakes."""
import json
import os
import tempfile

from against import ROOT, check, finish, ig

MODEL = os.path.join(ROOT, "tests/support/tiny_llama.gguf")
PLACE = tempfile.TemporaryDirectory(prefix="ingot-generate-")
TEMPLATE = os.path.join(PLACE.name, "chat.jinja")
with open(TEMPLATE, "w", encoding="utf-8") as file:
    file.write("{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}")

model = ig.text.Generator(MODEL, texts=3, chat_template=TEMPLATE)
check("facts", model.architecture == "llama" and model.room == model.context == 256 and "llama" in repr(model), repr(model))

options = {"tokens": 12, "ignore_end": True}
alone = [model.generate(prompt, **options).text for prompt in ("cats", "the sun and", "a tree", "dogs")]
replies = model.generate(["cats", "the sun and", "a tree", "dogs"], **options)
streams = [iter(reply) for reply in replies]
pieces = ["".join(parts) for parts in zip(*[[next(stream) for stream in streams] for _ in range(2)])]
check("streams in turn", all(reply.text.startswith(piece) for reply, piece in zip(replies, pieces)), pieces)
check("several answers", [str(reply) for reply in replies] == alone, f"{replies} {alone}")
reply = replies[1]
check("tokens", len(reply.ids) == len(reply.logprobs) == 12 and max(reply.logprobs) <= 0 and reply.end == "length", reply.end)
again = [model.generate("a tree and the sun", **options)]
again[0].text  # to its end
again.append(model.generate("a tree and the sun", **options))
check("the cache of prompts", again[0].text == again[1].text and again[1].cached_tokens == again[1].prompt_tokens - 1 > 0,
      (again[1].cached_tokens, again[1].prompt_tokens))
check("a stream again", "".join(reply) == reply.text)

drawn = [model.generate("cats", temperature=50.0, seed=s, **options).text for s in (1, 1, 2, 3)]
check("seeds", drawn[0] == drawn[1] and len(set(drawn)) > 1, drawn)
stop = alone[0][3:5]
check("stop texts", model.generate("cats", stop=stop, **options).text == alone[0][: alone[0].index(stop)])
schema = {"type": "object", "properties": {"x": {"type": "boolean"}}, "required": ["x"], "additionalProperties": False}
shaped = model.generate("cats", schema=schema, tokens=200)
check("a schema", shaped.text and (shaped.end == "length" or json.loads(shaped.text)["x"] in (True, False)), repr(shaped))
check("a grammar", model.generate("cats", grammar='root ::= "yes" | "no"').text in ("yes", "no"))
check("a chat", model.chat("cats", **options).text == model.chat([{"role": "user", "content": "cats"}], **options).text)
vectors = model.embed(["cats", "the sun", "cats"])
check("vectors", vectors.shape == (3, model.width) and bool((vectors[0] == vectors[2]).all()) and model.embed("cats").shape == (model.width,))

first = iter(model.generate("the sun", tokens=100, ignore_end=True))
next(first)
del first  # ends the answer
check("after an answer that was left", model.generate("cats", **options).text == alone[0])

for name, call in {"line 1, column 10": lambda: model.generate("a", grammar="root ::= b"), "'pattern'": lambda: model.generate("a", schema={"pattern": ""}),
                   "room for 256": lambda: model.generate("cats " * 300), "top_p": lambda: model.generate("a", top_p=2.0),
                   "exclude": lambda: model.generate("a", grammar='root ::= "a"', schema={})}.items():
    try:
        call()
        check(name, False)
    except Exception as error:
        check(name, name in str(error), error)
finish()
