"""The console scripts: the programs of Locus, from inside the extension; `python -m locus_attention` lists them."""

import os
import signal
import sys
from typing import Dict, List, NoReturn, Optional

PROGRAMS: Dict[str, str] = {
    "check": "compares two traces; names the first wrong stage and the mistake behind it",
    "kit": "test cases for a port in any language, and the judgement of its tensors",
    "trace": "every stage of a forward or backward pass, as a table or a file",
    "fill": "the likeliest words for [MASK]; with Transformer-XL the next word",
    "classify": "the classes a fine-tuned model gives a text, a pair of texts or each token",
    "tokens": "token ids and pieces of a text",
}


def run(verb: str, arguments: Optional[List[str]] = None) -> int:
    """Runs a program with these arguments, or those of the command line; returns its exit status."""
    from . import _core

    # The programs know nothing of Python: Ctrl+C and a closed pipe end them at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.stdout.flush()
    given = []
    for number, argument in enumerate(sys.argv[1:] if arguments is None else arguments, 1):
        try:
            given.append(os.fsencode(argument).decode())
        except UnicodeError:
            print(f"locus {verb}: argument {number} is {ascii(argument)}, expected text in UTF-8", file=sys.stderr)
            return 2
    return int(_core.run_program(verb, given))


def check() -> NoReturn:
    sys.exit(run("check"))


def kit() -> NoReturn:
    sys.exit(_kit(sys.argv[1:]))


def trace() -> NoReturn:
    sys.exit(run("trace"))


def fill() -> NoReturn:
    sys.exit(run("fill"))


def classify() -> NoReturn:
    sys.exit(run("classify"))


def tokens() -> NoReturn:
    sys.exit(run("tokens"))


def _kit(arguments: List[str]) -> int:
    """locus-kit: what a kit is made of lies inside the package, so export goes through it."""
    asked = _export_of(arguments)
    if asked is None:
        return run("kit", arguments)
    from . import kit as kits
    from .errors import LocusError, UnreadableError, UnsupportedError

    try:
        done = kits.export(asked["folder"], model=asked.get("--for"), dialect=asked.get("--dialect", "hf"))
    except LocusError as error:
        print(f"locus kit: {error}", file=sys.stderr)
        return 3 if isinstance(error, UnreadableError) else 4 if isinstance(error, UnsupportedError) else 2
    print(f"{done.folder}: {done.cases} cases, {done.files} files, {done.bytes // 1000} kB; "
          "README.md says what to do with them")
    return 0


def _export_of(arguments: List[str]) -> Optional[Dict[str, str]]:
    """Folder and options of an export; None for anything else, of which the program itself tells what is wrong."""
    if arguments[:1] != ["export"]:
        return None
    asked: Dict[str, str] = {}
    left = arguments[1:]
    while left:
        name, equals, value = left.pop(0).partition("=")
        if name in ("--for", "--dialect"):
            if not equals and not left:
                return None
            asked[name] = value if equals else left.pop(0)
        elif name.startswith("-") or equals or "folder" in asked:
            return None
        else:
            asked["folder"] = name
    return asked if "folder" in asked and ("--for" in asked or "--dialect" not in asked) else None


def main(arguments: Optional[List[str]] = None) -> int:
    """python -m locus_attention [PROGRAM ARGUMENTS]"""
    arguments = sys.argv[1:] if arguments is None else arguments
    verb = arguments[0].removeprefix("locus-") if arguments else ""
    if verb in PROGRAMS:
        return _kit(arguments[1:]) if verb == "kit" else run(verb, arguments[1:])
    if arguments and arguments[0] not in ("-h", "--help"):
        print(f'locus_attention: there is no program "{arguments[0]}", expected {", ".join(PROGRAMS)}', file=sys.stderr)
        return 2
    for verb, meaning in PROGRAMS.items():
        print(f"locus-{verb:10}{meaning}")
    print("each takes --help; python -m locus_attention trace, or locus-trace, is the same program")
    return 0
