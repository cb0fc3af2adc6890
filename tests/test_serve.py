"""ingot serve against its answers alone: many clients, clients that leave, and bodies that are wrong.

BUILD names the build, INGOT the command. With IG_TEST_ALL=1 also the Python package openai, if it is there.
"""
import concurrent.futures
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
from support.tally import attempt, check, finish, skip

BUILD = os.environ.get("BUILD", "build")
INGOT = os.environ.get("INGOT", os.path.join(BUILD, "ingot"))
MODEL = os.path.join(os.path.dirname(__file__), "support/tiny_llama.gguf")
PLACE = tempfile.TemporaryDirectory(prefix="ingot-serve-")
TEMPLATE = os.path.join(PLACE.name, "chat.jinja")
with open(TEMPLATE, "w", encoding="utf-8") as file:
    file.write("{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}[assistant]")


class Server:
    """A running server; its port is in the first line of its messages."""

    def __init__(self, *options):
        self.process = subprocess.Popen([INGOT, "serve", "--model", MODEL, "--port", "0", "--template", TEMPLATE, *options],
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        if "libmicrohttpd" in line:
            skip("all", "libmicrohttpd is not there")
            finish()
        self.port = int(line.rsplit(":", 1)[1].strip(" /\n")) if "listening" in line else 0
        check(f"the server starts {options}", self.port, line)

    def ask(self, path, body=None, method=None, headers=()):
        """The status and the text of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        connection.request(method or ("POST" if body is not None else "GET"), path, data, dict(headers))
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        return reply.status, text

    def metric(self, name):
        rows = dict(line.split() for line in self.ask("/metrics")[1].splitlines() if not line.startswith("#"))
        return int(rows["ingot_" + name])

    def quiet(self):
        """Waits until no request runs or waits."""
        for _ in range(200):
            if self.metric("requests_running") == 0 and self.metric("requests_queued") == 0:
                return True
            time.sleep(0.05)
        return False

    def end(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(60)
        check("the server ends", code == 0, f"{code} {self.process.stderr.read()}")


def question(i):
    """A request that differs from the others, of a few kinds."""
    rng = random.Random(i)
    words = " ".join(rng.choice(["cats", "dogs", "the", "sun", "and", "a", "tree"]) for _ in range(rng.randrange(1, 30)))
    body = {"max_tokens": rng.randrange(1, 30), "seed": i, "temperature": rng.choice([0, 1.5]), "ignore_eos": True}
    if i % 3 == 0:
        return "/v1/completions", {**body, "prompt": words, "stream": i % 2 == 0}
    if i % 7 == 1:
        body["grammar"] = 'root ::= [a-z]{3} " " [0-9]+ "!"'
    return "/v1/chat/completions", {**body, "messages": [{"role": "user", "content": words}], "stream": i % 2 == 0}


def text_of(body, reply):
    """The text of a whole answer, or of a stream."""
    if not body["stream"]:
        choice = json.loads(reply)["choices"][0]
        return choice["message"]["content"] if "message" in choice else choice["text"]
    events = [line[6:] for line in reply.splitlines() if line.startswith("data: ")]
    assert events.pop() == "[DONE]", reply
    choices = [json.loads(event)["choices"][0] for event in events]
    return "".join(c["delta"].get("content", "") if "delta" in c else c["text"] for c in choices)


def leave(server, i):
    """Sends a request and closes the connection at once, or after some bytes of the answer."""
    path, body = question(i)
    data = json.dumps({**body, "max_tokens": 200, "stream": i % 2 == 0}).encode()
    with socket.create_connection(("127.0.0.1", server.port)) as s:
        s.sendall(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data[: None if i % 5 else 20])
        if i % 3 and i % 5 and i % 2 == 0:
            s.recv(10)


def test_many(server):
    """Clients get the answers that they get alone, while others leave."""
    questions = [question(i) for i in range(64)]
    alone = [text_of(body, server.ask(path, body)[1]) for path, body in questions]
    check("answers differ", len(set(alone)) > 40, len(set(alone)))
    with concurrent.futures.ThreadPoolExecutor(80) as pool:
        leaving = [pool.submit(leave, server, i) for i in range(16)]
        replies = list(pool.map(lambda q: server.ask(*q), questions))
        for task in leaving:
            task.result()
    for i, ((status, reply), (_, body), expected) in enumerate(zip(replies, questions, alone)):
        got = text_of(body, reply) if status == 200 else reply
        check(f"client {i}", got == expected, f"{got!r}, alone {expected!r}")
    check("clients that leave free their places", server.quiet())
    check("clients that leave are counted", server.metric("requests_left_total") > 0)
    status, reply = server.ask(*questions[1])
    check("the same answer afterwards", status == 200 and text_of(questions[1][1], reply) == alone[1])


MISTAKES = [
    ("/v1/chat/completions", "{", None), ("/v1/chat/completions", "[]", None), ("/v1/chat/completions", "{}", "messages"),
    ("/v1/chat/completions", {"messages": []}, "messages"), ("/v1/chat/completions", {"messages": "hi"}, "messages"),
    ("/v1/chat/completions", {"messages": [{"content": "x"}]}, "messages[0].role"),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": 4}]}, "messages[0].content"),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0]"),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x " * 3000}]}, "messages"),
    ("/v1/completions", {"prompt": ["a"]}, "prompt"), ("/v1/completions", {"prompt": "a", "temperature": "hot"}, "temperature"),
    ("/v1/completions", {"prompt": "a", "top_p": 2}, "top_p"), ("/v1/completions", {"prompt": "a", "max_tokens": -1}, "max_tokens"),
    ("/v1/completions", {"prompt": "a", "stop": ""}, "stop"), ("/v1/completions", {"prompt": "a", "n": 2}, "n"),
    ("/v1/completions", {"prompt": "a", "stream": 1}, "stream"), ("/v1/completions", {"prompt": "a", "tools": []}, "tools"),
    ("/v1/completions", {"prompt": "a", "grammar": "root ::= b"}, "grammar"),
    ("/v1/completions", {"prompt": "a", "response_format": {"type": "xml"}}, "response_format.type"),
    ("/v1/completions", {"prompt": "a", "response_format": {"type": "json_schema", "json_schema": {"schema": {"pattern": "x"}}}},
     "response_format.json_schema.schema"),
    ("/v1/embeddings", {"input": []}, "input"), ("/v1/embeddings", {"input": [1]}, "input"),
]


def test_mistakes(server):
    for path, body, name in MISTAKES:
        status, text = server.ask(path, body)
        error = json.loads(text)["error"]
        check(f"mistake {path} {body}"[:100], status == 400 and error["param"] == name and error["message"], text)
    rng = random.Random(3)
    valid = json.dumps(question(1)[1]).encode()
    for i in range(100):  # changed bytes are a mistake, or another request
        data = bytearray(valid)
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(data))
            data[at : at + rng.randrange(3)] = bytes(rng.randrange(256) for _ in range(rng.randrange(3)))
        status, text = server.ask("/v1/chat/completions", bytes(data))
        check(f"changed body {i}", status in (200, 400), f"{status} {bytes(data)} {text}")
    for path, method, expected in [("/", "GET", 200), ("/health", "GET", 200), ("/v1/models", "GET", 200), ("/v1/models", "POST", 405),
                                   ("/etc/passwd", "GET", 404), ("/../x", "GET", 404), ("/v1/chat/completions", "GET", 405)]:
        status, text = server.ask(path, "" if method == "POST" else None, method)
        check(f"{method} {path}", status == expected, f"{status} {text[:200]}")
    for name, value in [("Origin", "http://elsewhere.example"), ("Host", "elsewhere.example"), ("Host", "localhost.elsewhere.example"),
                        ("Host", "127.elsewhere.example:80"), ("Host", "[::1].elsewhere.example")]:
        check(f"a foreign {name} {value}", server.ask("/v1/models", headers={name: value})[0] == 403)
    for host in ["127.0.0.2", "127.0.0.1:99", "LocalHost:99", "localhost", "[::1]", "[::1]:99"]:
        check(f"its own name {host}", server.ask("/v1/models", headers={"Host": host})[0] == 200)
    check("its own origin", server.ask("/v1/models", headers={"Origin": f"http://127.0.0.1:{server.port}"})[0] == 200)
    check("the page needs no network", "http" not in server.ask("/")[1].replace('http-equiv', ''))


def test_forms(server):
    body = {"messages": [{"role": "user", "content": "the sun and a tree"}], "max_tokens": 5, "logprobs": True, "ignore_eos": True}
    reply = json.loads(server.ask("/v1/chat/completions", body)[1])
    logprobs = reply["choices"][0]["logprobs"]["content"]
    check("logprobs", len(logprobs) == 5 and all(item["logprob"] <= 0 for item in logprobs), reply)
    check("usage", reply["usage"]["completion_tokens"] == 5 and reply["choices"][0]["finish_reason"] == "length", reply)
    parts = {**body, "messages": [{"role": "user", "content": [{"type": "text", "text": "the sun"}, {"type": "text", "text": " and a tree"}]}]}
    again = json.loads(server.ask("/v1/chat/completions", parts)[1])
    check("content in parts", again["choices"][0]["message"] == reply["choices"][0]["message"], again)
    check("the prompt is in the cache", again["usage"]["prompt_tokens_details"]["cached_tokens"] == again["usage"]["prompt_tokens"] - 1, again)
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "y"]}}, "required": ["a", "b"]}
    for i in range(5):
        form = {"type": "json_schema", "json_schema": {"name": "s", "schema": schema}}
        chosen = json.loads(server.ask("/v1/chat/completions", {**body, "max_tokens": 150, "response_format": form, "seed": i,
                                                                "temperature": 1})[1])["choices"][0]
        value = json.loads(chosen["message"]["content"]) if chosen["finish_reason"] == "stop" else {"a": 1, "b": "x"}
        check(f"schema {i}", isinstance(value["a"], int) and value["b"] in "xy", chosen)
    rows = json.loads(server.ask("/v1/embeddings", {"input": ["cats", "the sun", "cats"]})[1])["data"]
    vectors = [row["embedding"] for row in rows]
    check("embeddings", vectors[0] == vectors[2] != vectors[1] and abs(sum(x * x for x in vectors[1]) - 1) < 1e-5, str(rows)[:300])


def test_limits():
    server = Server("--key", "secret", "--queue", "1", "--texts", "1", "--body", "2000", "--name", "small")
    check("no key", server.ask("/v1/models")[0] == 401)
    check("a wrong key", server.ask("/v1/models", headers={"Authorization": "Bearer secreT"})[0] == 401)
    key = {"Authorization": "Bearer secret"}
    status, text = server.ask("/v1/models", headers=key)
    check("the key", status == 200 and json.loads(text)["data"][0]["id"] == "small", text)
    check("health needs no key", server.ask("/health")[0] == 200)
    check("a long body", server.ask("/v1/completions", {"prompt": "x" * 2000}, headers=key)[0] == 413)
    body = {"prompt": "the sun", "max_tokens": 200, "ignore_eos": True}
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        statuses = [reply[0] for reply in pool.map(lambda _: server.ask("/v1/completions", body, headers=key), range(12))]
    check("a full queue", set(statuses) == {200, 503}, statuses)
    server.end()
    done = subprocess.run([INGOT, "serve", "--model", MODEL, "--address", "nowhere"], capture_output=True, text=True, check=False)
    check("a wrong address", done.returncode and "'nowhere' is not an address" in done.stderr, done.stderr)


def test_file():
    """The prompts of a file have the answers that they have alone, in order."""
    path = os.path.join(PLACE.name, "prompts")
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(" ".join(["cats", "the sun", "and a tree"][i % 3 :] * (i + 1)) + "\n" for i in range(9))
    command = [INGOT, "generate", "--model", MODEL, "--file", path, "--tokens", "12", "--ignore-end", "--temperature", "1"]
    alone, many = [subprocess.run([*command, "--texts", n], capture_output=True, check=False) for n in ("1", "4")]
    check("prompts of a file", many.returncode == 0 and many.stdout == alone.stdout and many.stdout.count(b"\n") >= 9, many.stderr)


def test_openai(server):
    try:
        import openai
    except ImportError:
        return skip("openai", "the Python package openai is not there")
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none")
    messages = [{"role": "user", "content": "cats and dogs"}]
    whole = client.chat.completions.create(model="x", messages=messages, max_tokens=8)
    stream = client.chat.completions.create(model="x", messages=messages, max_tokens=8, stream=True)
    check("openai: streams", "".join(c.choices[0].delta.content or "" for c in stream) == whole.choices[0].message.content)
    check("openai: models", client.models.list().data[0].owned_by == "ingot")
    check("openai: embeddings", len(client.embeddings.create(model="x", input="a", encoding_format="float").data) == 1)
    try:
        client.completions.create(model="x", prompt="a", temperature=-1)
        check("openai: mistakes", False)
    except openai.BadRequestError as error:
        check("openai: mistakes", error.param == "temperature", error)


main = Server()
for test in (test_many, test_mistakes, test_forms) + ((test_openai,) if os.environ.get("IG_TEST_ALL") else ()):
    attempt(test.__name__, test, main)
main.end()
attempt("limits", test_limits)
attempt("file", test_file)
finish()
