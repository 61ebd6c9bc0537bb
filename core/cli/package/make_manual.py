"""Manual pages and completions of the programs: make_manual.py PROGRAMS OUT VERSION

Everything is read off what `locus-VERB --help` prints, which CLI11 makes of the table of options.
"""
import gzip
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

programs, out, version = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
VERBS = ["view", "trace", "check", "kit", "fill", "classify", "train", "tokens", "rope", "text"]
OPTION = re.compile(r"^  ((?:-\w,)?--?[a-z][\w-]*(?:,--[\w-]+)*)( .*)?$")


def help_of(verb, *before):
    shown = subprocess.run([programs / f"locus-{verb}", *before, "--help"], capture_output=True, text=True, check=True)
    return shown.stdout


def parts(text):
    """What the program does, and its options: (names, kind of value, explanation)."""
    description, _, rest = text.partition("Usage:")
    options = []
    for line in rest.splitlines():
        found = OPTION.match(line)
        if found:
            rest_of_line = found.group(2) or ""
            # One blank before the kind of its value, several before the explanation.
            kind, _, said = rest_of_line.strip().partition("  ")
            if rest_of_line.startswith("  "):
                kind, said = "", rest_of_line.strip()
            options.append([found.group(1).split(","), kind, said.strip()])
        elif options and line.startswith("       ") and line.strip():
            options[-1][2] = (options[-1][2] + " " + line.strip()).strip()
        elif not line.startswith(" "):
            continue
    return description.strip(), options


def subcommands(text):
    _, _, listed = text.partition("Subcommands:")
    return re.findall(r"^  ([a-z]\S*)", listed, re.M)


def roff(text):
    return text.replace("\\", "\\e").replace("-", "\\-").replace("\n.", "\n\\&.").replace("\n'", "\n\\&'")


def page(verb, description, options):
    first, *rest = description.splitlines() or [""]
    lines = [f'.TH LOCUS\\-{verb.upper()} 1 "" "Locus {version}" "User Commands"', ".SH NAME",
             f"locus\\-{verb} \\- {roff(first.rstrip('.'))}", ".SH SYNOPSIS", f".B locus {verb}", "[\\fIOPTION\\fR]..."]
    if rest:
        lines += [".SH DESCRIPTION", ".nf", *(roff(line) or "." for line in rest), ".fi"]
    lines.append(".SH OPTIONS")
    for names, kind, said in options:
        lines += [".TP", ", ".join(f"\\fB{roff(name)}\\fR" for name in names) + (f" {roff(kind)}" if kind else ""), roff(said) or "\\&"]
    lines += [".SH EXIT STATUS",
              "0 fine, 1 a mismatch, 2 wrong usage, 3 unreadable or not writable, 4 unsupported, 70 too little memory."]
    return "\n".join(lines) + "\n"


def packed(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


table = {}
for verb in VERBS:
    text = help_of(verb)
    description, options = parts(text)
    words = subcommands(text)
    table[verb] = (words, sorted({name for names, _, _ in options for name in names if name.startswith("--")}))
    packed(out / f"man1/locus-{verb}.1.gz", page(verb, description, options))
verbs = "\n".join(f".TP\n.B locus {verb}\nsee\n.BR locus\\-{verb} (1)" for verb in VERBS)
packed(out / "man1/locus.1.gz", f'.TH LOCUS 1 "" "Locus {version}" "User Commands"\n.SH NAME\nlocus \\- every term of '
       f"position\\-aware attention\n.SH SYNOPSIS\n.B locus\n\\fIVERB\\fR [\\fIOPTION\\fR]...\n.SH VERBS\n{verbs}\n")
root = Path(__file__).resolve().parents[3]
released = date.fromisoformat(re.search(r"^date-released: (\S+)", (root / "CITATION.cff").read_text(), re.MULTILINE)[1])
maintainer = re.search(r'CPACK_PACKAGE_CONTACT "(.*)"', (root / "core/cli/package/install.cmake").read_text())[1]
packed(out / "changelog.gz", f"locus ({version}) unstable; urgency=medium\n\n  * Release {version}.\n\n"
       f" -- {maintainer}  {released:%a, %d %b %Y} 00:00:00 +0000\n")

cases = "\n".join(f"        {verb}) words='{' '.join(words + options)}' ;;" for verb, (words, options) in table.items())
(out / "locus.bash").write_text(f"""# bash completion of locus
_locus() {{
    local words current=${{COMP_WORDS[COMP_CWORD]}}
    case ${{COMP_WORDS[1]}} in
{cases}
        *) words='{' '.join(VERBS)}' ;;
    esac
    [ "$COMP_CWORD" -gt 1 ] || words='{' '.join(VERBS)}'
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    [ "${{#COMPREPLY[@]}}" -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}}
complete -o filenames -F _locus locus
""")
cases = "\n".join(f"    {verb}) compadd -- {' '.join(words + options)}; _files ;;" for verb, (words, options) in table.items())
(out / "_locus").write_text(f"""#compdef locus
if (( CURRENT == 2 )); then
  compadd {' '.join(VERBS)}
else
  case $words[2] in
{cases}
  esac
fi
""")
lines = [f"complete -c locus -n __fish_use_subcommand -f -a '{' '.join(VERBS)}'"]
for verb, (words, options) in table.items():
    when = f"-n '__fish_seen_subcommand_from {verb}'"
    lines += [f"complete -c locus {when} -l {option[2:]}" for option in options]
    if words:
        lines.append(f"complete -c locus {when} -a '{' '.join(words)}'")
(out / "locus.fish").write_text("\n".join(lines) + "\n")
