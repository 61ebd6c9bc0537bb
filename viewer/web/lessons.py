"""The lessons as pages for a browser, made of what each prints under --json, which tests/lessons/golden keeps, and of the first
lines of its source."""
import html
import json
import math
import re

TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title} · Locus</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="lessons.css">
</head>
<body>
{body}
</body>
</html>
"""
STEPS = 9  # of colour, on either side of nothing
WIDTH, HEIGHT, MARGIN = 620, 240, 70  # of a plot, in pixels


def escaped(text):
    return html.escape(text.replace("\x1f", " "))


def paragraphs(text):
    """Lines join to a paragraph; those that begin with a blank stay as they are."""
    made, words, shown = [], [], []

    def close():
        if words:
            made.append(f"<p>{escaped(' '.join(words))}</p>")
        if shown:
            made.append(f"<pre>{escaped(chr(10).join(shown))}</pre>")
        words.clear()
        shown.clear()

    for line in text.split("\n"):
        indented = line.startswith(" ")
        if not line or bool(shown if not indented else words):
            close()
        if line:
            (shown if indented else words).append(line)
    close()
    return "\n".join(made)


def as_number(cell):
    """JSON has no nan."""
    return cell if isinstance(cell, (int, float)) else math.nan


def shade(value, largest):
    """The class of a cell: n9 is the most negative, p9 the most positive."""
    if not math.isfinite(value) or largest == 0:
        return ""
    step = round(STEPS * abs(value) / largest)
    return f' class="{"n" if value < 0 else "p"}{step}"' if step else ""


def largest_of(matrices):
    return max((abs(as_number(cell)) for rows in matrices for row in rows for cell in row if math.isfinite(as_number(cell))),
               default=0)


def matrix(title, rows, largest, form="%.3g", labels=(), group=0, coloured=True):
    lines = []
    for i, row in enumerate(rows):
        label = f"<th>{escaped(labels[i])}</th>" if i < len(labels) else ""
        cells = []
        for j, cell in enumerate(row):
            gap = '<td class="gap"></td>' if group and j and j % group == 0 else ""
            value = as_number(cell)
            written = escaped((form % value).strip().replace("-", "\u2212"))
            cells.append(f"{gap}<td{shade(value, largest) if coloured else ''}>{written}</td>")
        lines.append(f"<tr>{label}{''.join(cells)}</tr>")
    return (f'<figure><figcaption>{escaped(title)}</figcaption><div class="wide"><table class="matrix">' + "\n".join(lines) +
            "</table></div></figure>")


def table(title, rows):
    head = "".join(f"<th>{escaped(cell)}</th>" for cell in rows[0])
    body = "\n".join("<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:])
    return (f'<figure><figcaption>{escaped(title)}</figcaption><div class="wide"><table><tr>{head}</tr>\n{body}'
            "</table></div></figure>")


def bars(title, values, form):
    largest = max((abs(as_number(value)) for value in values.values()), default=0) or 1
    rows = []
    for label, value in values.items():
        long = 300 * abs(as_number(value)) / largest
        rows.append(f"<tr><th>{escaped(label)}</th><td>{escaped((form % as_number(value)).strip())}</td><td>"
                    f'<svg width="300" height="12"><rect width="{long:.1f}" height="12"/></svg></td></tr>')
    return f'<figure><figcaption>{escaped(title)}</figcaption><table class="bars">' + "\n".join(rows) + "</table></figure>"


def curves(title, lines, x_axis, y_axis):
    xs = lines["x"]
    named = [(name, [as_number(y) for y in ys]) for name, ys in lines.items() if name != "x"]
    heights = [y for _, ys in named for y in ys if math.isfinite(y)]
    low, high, left, right = min(heights), max(heights), min(xs), max(xs)
    if 0 < low < high / 2:
        low = 0

    def place(x, y):
        return (f"{MARGIN + (x - left) / ((right - left) or 1) * WIDTH:.1f},"
                f"{10 + (high - y) / ((high - low) or 1) * HEIGHT:.1f}")

    drawn, legend = [], []
    for n, (name, ys) in enumerate(named):
        points = " ".join(place(x, y) for x, y in zip(xs, ys) if math.isfinite(y))
        drawn.append(f'<polyline class="curve{n % 6}" points="{points}"/>')
        legend.append(f'<tspan class="curve{n % 6}" dx="14">{escaped(name)}</tspan>')
    marks = "".join(f'<text class="tick" x="{MARGIN - 8}" y="{10 + share * HEIGHT + 4}" text-anchor="end">'
                    f"{high - share * (high - low):.3g}</text>" for share in (0, 0.5, 1))
    marks += "".join(f'<text class="tick" x="{MARGIN + share * WIDTH}" y="{HEIGHT + 28}" text-anchor="{side}">'
                     f"{left + share * (right - left):.4g}</text>" for share, side in ((0, "start"), (1, "end")))
    return (f"<figure><figcaption>{escaped(title)}</figcaption>"
            f'<svg viewBox="0 0 {MARGIN + WIDTH + 10} {HEIGHT + 60}" role="img">'
            f'<path class="axis" d="M{MARGIN} 10v{HEIGHT}h{WIDTH}"/>{"".join(drawn)}{marks}'
            f'<text class="tick" x="{MARGIN + WIDTH / 2}" y="{HEIGHT + 28}" text-anchor="middle">{escaped(x_axis)}</text>'
            f'<text x="{MARGIN}" y="{HEIGHT + 52}">{escaped(y_axis)}:{"".join(legend)}</text></svg></figure>')


def piece(part, printed):
    """One part of a lesson, as Lesson::Record::keep says it."""
    if "say" in part:
        return paragraphs(part["say"])
    if "claim" in part:
        claim = printed["claims"][part["claim"]]
        return f'<p class="claim">{"✓" if claim["holds"] else "✗"} {escaped(claim["claim"])} <span>({escaped(claim["numbers"])})</span></p>'
    if "correction" in part:
        one = printed["corrections"][part["correction"]]
        return (f'<dl><dt>{escaped(one["source"])} prints</dt><dd><code>{escaped(one["printed"])}</code></dd>'
                f'<dt>it should be</dt><dd><code>{escaped(one["right"])}</code></dd></dl>')
    if "matrix" in part:
        rows = printed["matrices"][part["matrix"]]
        return matrix(part["matrix"], rows, largest_of([rows]), part["format"], group=part["group"], coloured=part["signed"])
    if "heatmaps" in part:
        rows = [printed["matrices"][title] for title in part["heatmaps"]]
        side = [matrix(title, one, largest_of(rows), labels=part["rows"] or ()) for title, one in zip(part["heatmaps"], rows)]
        return '<div class="beside">' + "\n".join(side) + "</div>"
    if "table" in part:
        return table(part["table"], printed["tables"][part["table"]])
    if "bars" in part:
        return bars(part["bars"], printed["bars"][part["bars"]], part["format"])
    return curves(part["curves"], printed["curves"][part["curves"]], part["x"], part["y"])


def quiz(questions):
    if not questions:
        return ""
    items = []
    for one in questions:
        choices = "".join(f"<li>{escaped(choice)}</li>" for choice in one.get("choices", []))
        answer = one["choices"][ord(one["answer"]) - ord("a")] if choices else f'{one["answer"]:.6g}'
        items.append(f'<details><summary>{escaped(one["question"])}</summary>' + (f"<ul>{choices}</ul>" if choices else "") +
                     f'<p>{escaped(answer)}. {escaped(one["because"])}</p></details>')
    return "<h2>What you may be asked</h2>\n" + "\n".join(items)


def head_of(source):
    """Number, title, question, page and state of the viewer ("" where no page shows it)."""
    text = source.read_text(encoding="utf-8")
    number, title = re.match(r"// Lesson (\d+): (.*)", text).groups()
    question = re.search(r"^// Question: (.*)", text, re.M).group(1)
    page = re.search(r"^// Before: .*Page: ([a-z-]+)", text, re.M).group(1)
    state = re.search(r"^// Show: (.*)", text, re.M)
    link = "" if page == "none" else f"page={page}" + (f"&{state.group(1)}" if state else "")
    return number, title, question, page, link


def page_of(head, printed, following):
    number, title, question, page, link = head
    shown = f'<p class="show"><a href="../#{escaped(link)}">Show me: page {page}</a></p>' if link else ""
    body = [f'<p class="path"><a href="index.html">Lessons</a></p>', f"<h1>{number} {escaped(title)}</h1>",
            f'<p class="question">{escaped(question)}</p>', shown]
    body += [piece(part, printed) for part in printed["parts"]]
    body += [shown, quiz(printed["quiz"]), f'<p class="sources">{escaped(printed["sources"])}</p>']
    if following:
        body.append(f'<p><a href="{following[0]}.html">Next: {escaped(following[1])}</a></p>')
    return TEMPLATE.format(title=f"{number} {escaped(title)}", body="\n".join(filter(None, body)))


def write_lessons(source, target, style):
    """SOURCE/lessons become pages in TARGET."""
    target.mkdir()
    heads = [head_of(file) for file in sorted((source / "lessons").glob("[0-9]*.cpp"))]
    items = []
    for n, head in enumerate(heads):
        number, title, question = head[:3]
        printed = json.loads((source / f"tests/lessons/golden/{number}.json").read_text(encoding="utf-8"))
        following = heads[n + 1] if n + 1 < len(heads) else None
        (target / f"{number}.html").write_text(page_of(head, printed, following), encoding="utf-8")
        items.append(f'<li value="{int(number)}"><a href="{number}.html">{escaped(title)}</a><br>{escaped(question)}</li>')
    body = ('<p class="path"><a href="../">The viewer</a></p>\n<h1>Lessons</h1>\n<p>Each is a short program that proves the '
            "numbers it prints; ./locus lesson N runs it on a desktop, with --quiz it asks you.</p>\n<ol>\n" + "\n".join(items) +
            "\n</ol>")
    (target / "index.html").write_text(TEMPLATE.format(title="Lessons", body=body), encoding="utf-8")
    shades = "".join(f".{side}{step} {{ background: {colour}{round(step * 200 / STEPS):02x}; }}\n"
                     for side, colour in (("n", "#2f6fd0"), ("p", "#d0432f")) for step in range(1, STEPS + 1))
    (target / "lessons.css").write_text(style.read_text() + shades)
