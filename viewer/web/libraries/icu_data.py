"""Keeps of ICU's tables what tokenizers use: icu_data.py icudt72l.dat OUT.dat

Left out are languages, encodings, collation, dictionaries and the rules that spell one script in another, which the lessons
alone use, on the machine where the site is made.  Words of Chinese, Japanese, Thai, Khmer, Lao and Burmese are broken by
dictionaries, so a text in these has other words in a browser.  icupkg refuses a package without them.
"""
import re
import struct
import sys

KEPT = re.compile(r"nfkc(_cf)?\.nrm|uemoji\.icu|ulayout\.icu|brkitr/(char|word)\.brk|brkitr/(root|res_index)\.res")


def items(package):
    """name -> bytes, of a file of the format CmnD: a header, a table of offsets, names, items."""
    header, = struct.unpack_from("<H", package)
    if package[2:4] != b"\xda\x27" or package[12:16] != b"CmnD":
        raise SystemExit("icu_data.py: the first file is no package of ICU data, little-endian")
    count, = struct.unpack_from("<I", package, header)
    places = [struct.unpack_from("<II", package, header + 4 + 8 * n) for n in range(count)]
    ends = [data for _, data in places[1:]] + [len(package) - header]
    for (name, data), end in zip(places, ends):
        begin = header + name
        yield package[begin:package.index(b"\0", begin)].decode(), package[header + data:header + end]


def packed(header, kept):
    """The same format again; every item begins on a multiple of 16."""
    names, offsets = b"", []
    table = 4 + 8 * len(kept)
    for name, _ in kept:
        offsets.append(table + len(names))
        names += name.encode() + b"\0"
    at = table + len(names)
    body = bytearray(struct.pack("<I", len(kept)))
    data, places = bytearray(), []
    at += -(len(header) + at) % 16
    for _, item in kept:
        places.append(at + len(data))
        data += item + b"\xaa" * (-len(item) % 16)
    for name, place in zip(offsets, places):
        body += struct.pack("<II", name, place)
    body += names
    return header + body + b"\xaa" * (at - len(body)) + data


package = open(sys.argv[1], "rb").read()
size, = struct.unpack_from("<H", package)
kept = [(name, data) for name, data in items(package) if KEPT.fullmatch(name.split("/", 1)[1])]
open(sys.argv[2], "wb").write(packed(package[:size], kept))
