"""Chat templates against the Python package jinja2, with the settings and functions of transformers.

Templates with the constructs of published ones, and random templates from a grammar, are rendered by tests/unit/chat_tool
and by jinja2: texts must be equal, and where jinja2 fails, Ingot must fail. INGOT_TEMPLATES is the number of random templates;
the arguments are template files to compare in addition.
"""
import copy
import datetime
import json
import os
import random
import subprocess
import sys
import warnings

sys.path.insert(0, os.path.dirname(__file__))
from support.tally import check, finish, skip

BUILD = os.environ.get("BUILD", "build")
TOOL = os.path.join(BUILD, "tests/unit/chat_tool")
RANDOM = int(os.environ.get("INGOT_TEMPLATES", "400"))
NOW = 1700000000
warnings.simplefilter("ignore")  # Python's about the code that jinja2 makes

try:
    import jinja2
    import jinja2.ext
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError:
    skip("all", "the Python package jinja2 is not there")
    finish()


class Generation(jinja2.ext.Extension):
    """The tag of transformers that marks the text of the model."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_text"), [], [], body).set_lineno(line)

    def _text(self, caller):
        return caller()


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.TemplateError(message)


ENVIRONMENT = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                            extensions=[Generation, jinja2.ext.loopcontrols])
ENVIRONMENT.filters["tojson"] = tojson
ENVIRONMENT.globals["raise_exception"] = raise_exception
ENVIRONMENT.globals["strftime_now"] = lambda form: datetime.datetime.fromtimestamp(NOW).strftime(form)


def expected(source, variables):
    try:
        return ENVIRONMENT.from_string(source).render(**copy.deepcopy(variables)), ""
    except Exception as error:  # of any kind: the template fails
        return None, f"{type(error).__name__}: {error}"


def rendered(cases):
    """For each template with variables: the text (None after a failure), the error, and the ranges of data."""
    given = b""
    for source, variables in cases:
        parts = source.encode(), json.dumps(variables, ensure_ascii=False).encode()
        given += b"%d %d %d\n" % (len(parts[0]), len(parts[1]), NOW) + parts[0] + parts[1]
    done = subprocess.run([TOOL], input=given, capture_output=True, check=False)
    out, at, results = done.stdout, 0, []
    while at < len(out):
        end = out.index(b"\n", at)
        head = out[at:end].split()
        text = out[end + 1:end + 1 + int(head[1])].decode()
        at = out.index(b"\n", end + 1 + int(head[1])) + 1
        ranges = out[end + 1 + int(head[1]):at].split()
        results.append((text, "", ranges) if head[0] == b"ok" else (None, text, []))
    results += [(None, "chat_tool ended: " + done.stderr[-500:].decode(), [])] * (len(cases) - len(results))
    return results


# ---- templates with the constructs of published ones ------------------------------------------------

TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "The weather <b>", "parameters": {
        "type": "object", "required": ["city"], "properties": {
            "city": {"type": "string", "description": "The city", "enum": ["Paris", "Z\u00fcrich"]},
            "days": {"type": ["integer", "null"], "default": 3}}}}}]
CALL = {"id": "call_1", "type": "function",
        "function": {"name": "get_weather", "arguments": {"city": "Paris", "f": 1.5, "b": True, "n": None, "l": ["a", 1]}}}
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": True}
CONVERSATIONS = [
    {**TOKENS, "messages": [{"role": "user", "content": "Hi there"}]},
    {**TOKENS, "messages": [{"role": "system", "content": " Be nice. "}, {"role": "user", "content": "Hi 'x' \"y\" \u00e9\n"},
                            {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello!\n"}, {"role": "user", "content": "Bye"}]},
    {**TOKENS, "tools": TOOLS, "messages": [
        {"role": "user", "content": "Weather?"}, {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "name": "get_weather", "content": "{\"temp\": 3}"}, {"role": "tool", "content": "sunny"}]},
    {**TOKENS, "messages": [{"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image"}]}]},
    {**TOKENS, "messages": [{"role": "assistant", "content": "first"}], "add_generation_prompt": False},
    {"messages": []},
]
TEMPLATES = [
    # ChatML
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    # roles that must alternate; a system message in front of the first one of the user
    """{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content'] | trim %}
    {%- set rest = messages[1:] %}
{%- else %}
    {%- set rest = messages %}
{%- endif %}
{{- bos_token }}
{%- for m in rest %}
    {%- if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('roles must alternate') }}
    {%- endif %}
    {%- if m.role == 'user' and loop.first and system is defined %}
        {{- '[INST] ' ~ system ~ '\n\n' ~ m.content ~ ' [/INST]' }}
    {%- elif m.role == 'user' %}{{ '[INST] ' + m.content + ' [/INST]' }}
    {%- else %}{{ ' ' + m.content | trim + ' ' + eos_token }}{% endif %}
{% endfor %}
""",
    # tools as JSON, namespaces, reasoning that is cut out of older answers
    """{%- macro show(tool, indent=2) %}
{{ tool.function.name }}:
    {{- tool | tojson(indent=indent) }}
{% endmacro %}
{%- if tools %}
# Tools
{% for tool in tools %}
{{ show(tool) }}
{{- tool.function.parameters.properties | dictsort | map('first') | join(', ') }}
{% endfor %}
{% endif -%}
{%- set ns = namespace(last=-1, seen=[]) %}
{%- for m in messages[::-1] %}
    {%- set i = (messages | length - 1) - loop.index0 %}
    {%- if ns.last < 0 and m.role == "user" and m.content is string and not m.content.startswith('<tool') %}
        {%- set ns.last = i %}
    {%- endif %}
{%- endfor %}
{%- for m in messages %}
    {%- if m.content is string %}{% set content = m.content %}{% else %}{% set content = '' %}{% endif %}
    {%- if '</think>' in content %}
        {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
        {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
    {%- endif %}
    {%- if loop.index0 > ns.last or loop.last %}{{ '<think>' ~ (thought or 'none') ~ '</think>' }}{% endif %}
    {{- '<|' + m.role + '|>' + content }}
    {%- for call in m.tool_calls or [] %}
        {%- if call.function is defined %}{% set call = call.function %}{% endif %}
<call>{"name": "{{ call.name }}", "arguments": {{ call.arguments | tojson }}}
        {%- for key, value in call.arguments.items() %}
{{ key }}={{ value if value is string else value | tojson | safe }};
        {%- endfor %}
    {%- endfor %}
    {%- if m.role == 'tool' and (loop.last or messages[loop.index0 + 1].role != 'tool') %}</results>{% endif %}
{% endfor %}
{{- strftime_now("%d %b %Y") }}""",
    # content in parts; loop controls; generation; default, selectattr, block set, filter block, call block
    """{% macro wrap(kind) %}<{{ kind }}>{{ caller(kind | upper) }}</{{ kind }}>{% endmacro %}
{% for m in messages %}
  {% if m.content is none %}{% continue %}{% endif %}
  {% if m.content is not string and m.content is iterable %}
    {% for part in m.content | selectattr('type', 'equalto', 'text') | list %}{{ part['text'] }}{% endfor %}
    {{ m.content | rejectattr('type', 'in', ['text']) | map(attribute='type') | list }}
  {% else %}
    {% set text %}{{ m.content }} {% endset %}
    {% generation %}{{ text | trim | replace('e', 'E') | default('x', true) }}{% endgeneration %}
  {% endif %}
  {% call(name) wrap(m.role) %}{{ name }}:{{ loop.index }}/{{ loop.length }}{% endcall %}
  {% filter upper | trim %} done {{ m.role }} {% endfilter %}
  {% if loop.index > 2 %}{% break %}{% endif %}
{% else %}
nothing
{% endfor %}
{# a comment #}
{% raw %}{{ raw }}{% endraw %}
{% with a = 1, b = [2, 3] %}{{ a + b[1] }}{{ b | tojson }}{% endwith %}
{{ {'a': 1, 'b': [none, true, 1.0, 'x\\'y']} }} {{ ('a', 1) }} {{ 7 // 2 }} {{ -7 % 3 }} {{ 2 ** 10 }} {{ 1 / 3 }}
""",
]

# ---- random templates --------------------------------------------------------------------------------

VARIABLES = {"a": 3, "b": -7, "f": 2.5, "s": "Hello World", "t": "  x\ny\t", "e": "", "u": "\u00e9\u4e00 \U0001f600 stra\u00dfe",
             "l": [3, 1, 2], "m": ["b", "A", "c", "a"], "n": None, "y": True, "d": {"k": 1, "z": "w", "items": [1]},
             "o": [{"x": 1, "n": "B"}, {"x": 2, "n": "a"}, {"n": "c"}], "nested": [[1, [2]], {"q": {"r": "deep"}}],
             "data_token": "</s>"}
FILTERS = ["upper", "lower", "trim", "length", "first", "last", "list", "join", "join(', ')", "tojson", "string", "int", "float",
           "default('D')", "default('D', true)", "sort", "reverse", "unique", "capitalize", "title", "abs", "round", "round(1)",
           "sum", "min", "max", "items", "dictsort", "replace('l', 'LL')", "indent(2)", "indent(width=3, first=true)", "safe",
           "map('upper')", "map(attribute='n')", "selectattr('x')", "selectattr('x', 'defined')", "rejectattr('x', 'gt', 1)",
           "select('number')", "reject('string')", "sort(reverse=true)", "sort(attribute='n')", "tojson(indent=2)", "count",
           "list | length", "map('length')", "center(9)", "wordcount", "truncate(6)", "escape", "unique | list", "reverse | list",
           "tojson(separators=(',', ':'), sort_keys=true)", "tojson(ensure_ascii=true)", "map('int') | list", "items | list",
           "selectattr('n', 'in', 'ab') | map(attribute='x') | list", "format(1)", "trim('H')", "e", "string | length"]
TESTS = ["defined", "undefined", "none", "string", "number", "mapping", "iterable", "sequence", "true", "false", "boolean",
         "integer", "float", "odd", "even", "divisibleby(3)", "in l", "eq 3", "equalto('a')", "lower", "upper", "sameas none",
         "ne 1", "gt 1", "callable", "escaped"]
METHODS = ["strip()", "lstrip()", "rstrip()", "upper()", "lower()", "title()", "capitalize()", "split()", "split('l')",
           "split('l', 1)", "rsplit(' ', 1)", "startswith('H')", "endswith('d')", "replace('o', '0')", "replace('', '-')",
           "splitlines()", "find('o')", "count('l')", "join(m)", "get('k')", "get('q', 5)", "items()", "keys()", "values()",
           "items() | list", "format(1, 2)", "partition('o')", "index(1)", "zfill(5)", "ljust(6)", "isdigit()", "isalpha()",
           "strip('Hd')", "k", "items", "x", "0", "q", "append(1)", "removeprefix('He')", "isspace()", "rfind('o')", "copy()",
           "swapcase()", "find('o', 5)", "count('')", "split(none, 1)", "rsplit()", "isupper()"]


def expression(r, depth):
    def inner():
        return expression(r, depth - 1)
    if depth <= 0 or r.random() < 0.25:
        return r.choice([r.choice(list(VARIABLES) + ["missing", "i", "loop.index", "ns.v"]), str(r.randint(-4, 12)), "1.5", "'a'",
                         "'<x>'", "\"it's\"", "''", "true", "none", "'l'", "1e3", "'A\\n\\u00e9'", "[1, 'b']", "(1, 2)", "{'k': 2}"])
    kind = r.randint(0, 15)
    if kind <= 3:
        return f"{inner()} | {r.choice(FILTERS)}"
    if kind <= 5:
        return f"({inner()}).{r.choice(METHODS)}"
    if kind == 6:
        return f"({inner()} is {r.choice(['', 'not '])}{r.choice(TESTS)})"
    if kind <= 8:
        op = r.choice(["+", "-", "*", "/", "//", "%", "~", "~", "+"])
        return f"({inner()} {op} {inner()})"
    if kind == 9:
        return f"({inner()} {r.choice(['==', '!=', '<', '>', '<=', '>=', 'in', 'not in'])} {inner()})"
    if kind == 10:
        return f"({inner()} {r.choice(['and', 'or'])} {inner()})"
    if kind == 11:
        return f"({inner()} if {inner()} else {inner()})" if r.random() < 0.8 else f"({inner()} if {inner()})"
    if kind == 12:
        return f"({inner()})[{r.choice(['0', '-1', '1:', ':2', '::-1', '1:-1', ':-1', repr('k'), '9', '::2', '-2:', inner()])}]"
    if kind == 13:
        return r.choice([f"not {inner()}", f"-({inner()})", f"[{inner()}, {inner()}]", f"{{'p': {inner()}}}", f"range({r.randint(-2, 5)})",
                         f"dict(a={inner()})", f"f1({inner()})", f"f1({inner()}, q={inner()})"])
    return f"({inner()})"


SPACES = ["", " ", "\n", "  \n  ", "\n    ", "x", " y ", "\n\n", "\t\n"]


def statements(r, depth, loops=0):
    out = ""
    for _ in range(r.randint(1, 3)):
        o, c = r.choice(["{%", "{%", "{%-", "{%+"]), r.choice(["%}", "%}", "-%}", "+%}"])
        out += r.choice(SPACES)
        kind = r.randint(0, 11) if depth > 0 else r.randint(0, 4)
        if kind <= 3:
            out += f"{r.choice(['{{', '{{', '{{-'])} {expression(r, 3)} {r.choice(['}}', '}}', '-}}'])}"
        elif kind == 4:
            out += r.choice([f"{o} set {r.choice(['a', 's', 'i', 'w', 'ns.v'])} = {expression(r, 2)} {c}", f"{{#{r.choice(['', '-'])} c #}}"])
        elif kind <= 6:
            out += f"{o} if {expression(r, 2)} {c}{statements(r, depth - 1, loops)}"
            if r.random() < 0.4:
                out += f"{o} elif {expression(r, 1)} {c}{statements(r, depth - 1, loops)}"
            if r.random() < 0.5:
                out += f"{o} else {c}{statements(r, depth - 1, loops)}"
            out += f"{o} endif {c}"
        elif kind <= 8:
            target = r.choice(["i", "i", "i, j", "s"])
            over = r.choice(["l", "m", "d", "d.items()", "range(3)", "s", "o", "l | reverse", expression(r, 2)])
            test = r.choice(["", "", f" if {expression(r, 1)}"])
            out += f"{o} for {target} in {over}{test} {c}{statements(r, depth - 1, loops + 1)}"
            out += r.choice(["", "", "{% if loop.index > 1 %}{% break %}{% endif %}", "{% if i %}{% continue %}{% endif %}z",
                             "{{ loop.last }}{{ loop.revindex0 }}{{ loop.previtem }}"])
            if r.random() < 0.2:
                out += f"{o} else {c}{statements(r, depth - 1, loops)}"
            out += f"{o} endfor {c}"
        elif kind == 9:
            out += f"{o} set {r.choice(['w', 's'])} {r.choice(['', '| upper', '| trim '])}{c}{statements(r, depth - 1)}{o} endset {c}"
        elif kind == 10:
            out += r.choice([f"{o} filter trim {c}{statements(r, depth - 1)}{o} endfilter {c}",
                             f"{o} with w = {expression(r, 1)} {c}{statements(r, depth - 1)}{o} endwith {c}",
                             f"{o} raw {c}{{{{ x }}}}  {o} endraw {c}"])
        else:
            out += f"{o} macro f1(p, q={expression(r, 1)}) {c}{statements(r, depth - 1)}{o} endmacro {c}"
    return out + r.choice(SPACES)


# Not compared: values that are shown with their addresses; numbers beyond 64 bits; failures in iterators that are not read;
# slices of constants that have none, which jinja2 computes in advance as undefined.
LEFT_OUT = ["generator object", " object at 0x", "<bound method", "<built-in"]
BOUNDED = ["does not fit in 64 bits", "cannot be shown", "has no items", "has no slices", "needs a dict"]


def compare(name, cases):
    wrong, errors = 0, 0
    for (source, variables), got in zip(cases, rendered(cases)):
        text, why = expected(source, variables)
        if text is None:
            errors += 1
        if text is None and got[0] is None:
            continue
        if text is not None and (any(word in text for word in LEFT_OUT) or any(word in got[1] for word in BOUNDED)):
            continue
        if text != got[0]:
            wrong += 1
            if wrong <= int(os.environ.get("INGOT_SHOWN", "3")):
                print(f"--- {name}\n{source}\n  expected {text!r} {why}\n  got      {got[0]!r} {got[1]}", flush=True)
    check(name, wrong == 0, f"{wrong} of {len(cases)} differ")
    return errors


def main():
    for i, template in enumerate(TEMPLATES):
        failed = compare(f"template {i}", [(template, c) for c in CONVERSATIONS])
        check(f"template {i}: most conversations", failed <= len(CONVERSATIONS) - 2, f"{failed} fail")
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            source = file.read()
        compare(os.path.basename(path), [(source, c) for c in CONVERSATIONS])
    r = random.Random(int(os.environ.get("INGOT_SEED", "1")))
    head = "{% set ns = namespace(v=1) %}"
    cases = [("{{ " + expression(r, 4) + " }}" if k % 2 else head + statements(r, 3), VARIABLES) for k in range(RANDOM)]
    failed = compare("random templates", cases)
    check("random templates: some succeed", failed < RANDOM * 0.9, f"{failed} of {RANDOM} fail")


main()
finish()
