"""The source of functions for ingot.cuda: from files, from `python -c`, or given as text."""
import inspect
import itertools
import linecache
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
    code, text = function.__code__, _command()
    if not text or code.co_filename != "<string>" or function.__module__ != "__main__":
        return None
    for text in (text, textwrap.dedent(text)):
        try:
            compiled = compile(text, "<string>", "exec", dont_inherit=True)
        except SyntaxError:
            continue
        if any(c.co_name == code.co_name and c.co_firstlineno == code.co_firstlineno and c.co_code == code.co_code
               for c in _codes(compiled)):
            first = code.co_firstlineno
            return inspect.getblock(text.splitlines(keepends=True)[first - 1:]), first
    return None


def _codes(code):
    for c in code.co_consts:
        if isinstance(c, type(code)):
            yield c
            yield from _codes(c)


def lines_of(function):
    """The lines of a function and the number of the first one."""
    found = _from_command(function)
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
