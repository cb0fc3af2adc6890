"""The source of functions for ingot.cuda: from files, from `python -c`, from lines typed at the prompt, or given as text."""
import inspect
import itertools
import linecache
import os
import re
import sys
import textwrap

from ._cuda_expressions import UnsupportedError

_number = itertools.count(1)


def _command():
    """The text after -c on Python's command line, or None."""
    words = iter(sys.orig_argv[1:])
    for word in words:
        if not word.startswith("-") or word == "--":
            return None
        if word.startswith("--"):
            if word == "--check-hash-based-pycs":
                next(words, None)
            continue
        for k, letter in enumerate(word[1:], 1):
            if letter == "c":
                return word[k + 1:] or next(words, None)
            if letter == "m":
                return None
            if letter in "WX":  # the rest of the word, or the next one, is its value
                if not word[k + 1:]:
                    next(words, None)
                break
    return None


def _from_command(function):
    """The lines of a function that stands in the text of `python -c`, and the number of the first one; or None."""
    text = _command() if function.__code__.co_filename == "<string>" and function.__module__ == "__main__" else None
    return _in_program(function, text) or _in_program(function, textwrap.dedent(text)) if text else None


def _in_program(function, text):
    """The lines of a function of a program, and the number of the first one; None if the program has another function there."""
    code = function.__code__
    try:
        compiled = compile(text, code.co_filename, "exec", dont_inherit=True)
    except SyntaxError:
        return None
    if any(c.co_name == code.co_name and c.co_firstlineno == code.co_firstlineno and c.co_code == code.co_code for c in _codes(compiled)):
        first = code.co_firstlineno
        return inspect.getblock(text.splitlines(keepends=True)[first - 1:]), first
    return None


def _from_input(function):
    """The same for a function that was read from standard input: from a file, or typed at the prompt, if readline keeps the lines. Python
    3.13 keeps those of the prompt itself."""
    code, readline = function.__code__, sys.modules.get("readline")
    if code.co_filename != "<stdin>":
        return None
    if not (readline and sys.stdin and sys.stdin.isatty()):
        try:
            return _in_program(function, os.pread(0, os.fstat(0).st_size, 0).decode())
        except (OSError, ValueError, AttributeError):  # a pipe
            return None
    lines = [f"{readline.get_history_item(i)}\n" for i in range(1, readline.get_current_history_length() + 1)]
    for at in reversed(range(len(lines))):
        if re.match(rf"\s*def\s+{re.escape(code.co_name)}\b", lines[at]):
            block = inspect.getblock(lines[at:])
            try:
                compiled = compile(textwrap.dedent("".join(block)), "<stdin>", "exec", dont_inherit=True)
            except SyntaxError:
                continue
            if any((c.co_name, c.co_code, c.co_names) == (code.co_name, code.co_code, code.co_names) for c in _codes(compiled)):
                return block, 1
    return None


def _codes(code):
    for c in code.co_consts:
        if isinstance(c, type(code)):
            yield c
            yield from _codes(c)


def lines_of(function):
    """The lines of a function and the number of the first one."""
    found = _from_command(function) or _from_input(function)
    if found:
        return found
    try:
        return inspect.getsourcelines(function)
    except (OSError, TypeError):
        where = function.__code__.co_filename
        raise UnsupportedError(
            f"kernel {function.__name__}: its source is needed, and Python keeps none for functions from {where}. Put the function "
            f'into a file, or give its text: {function.__name__} = cuda.jit("def {function.__name__}(...): ...")') from None


def function_of(text, names):
    """The function that a text defines. names: what it can use."""
    file = f"<kernel {next(_number)}>"
    text = textwrap.dedent(text)
    names = dict(names)
    before = dict(names)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec", dont_inherit=True), names)
    made = [f for name, f in names.items() if callable(f) and before.get(name) is not f and hasattr(f, "__code__")]
    if not made:
        raise ValueError("the text of a kernel defines a function: def name(...): ...")
    return made[-1]
