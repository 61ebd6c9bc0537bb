"""Makes the folder that is opened in a browser: make_site.py BUILD ROOT SOURCE KIT OUT

BUILD holds locus-web.js, locus-web.wasm and locus-unpack.wasm, ROOT the libraries (for ICU's tables), SOURCE this source
tree, KIT a kit that was exported.  OUT is written anew.  Files are packed by what a page needs of them, and compressed
here, so that any server of static files will do.
"""
import hashlib
import json
import lzma
import shutil
import struct
import subprocess
import sys
from pathlib import Path

from lessons import write_lessons

build, root, source, kit, out = (Path(argument) for argument in sys.argv[1:6])
FONTS = Path("/usr/share/fonts")
HOME = "/locus/assets"
PLANES = 2  # bytes of a weight in the built-in models, F16


def planes(data):
    """Every second byte together, as locus.js joins them: the exponents of weights compress, their last bits do not."""
    each = len(data) // PLANES
    return b"".join(data[k:each * PLANES:PLANES] for k in range(PLANES)) + data[each * PLANES:]


def write_packed(name, data):
    """OUT/NAME-HASH.pack; the hash lets a browser keep it for ever."""
    # A dictionary as large as the data: models and kits hold the same tensor twice, megabytes apart.
    small = lzma.compress(data, check=lzma.CHECK_CRC32, filters=[
        {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": max(4096, len(data))}])
    file = f"{name}-{hashlib.sha256(small).hexdigest()[:10]}.pack"
    (out / file).write_bytes(small)
    return {"file": file, "bytes": len(small), "size": len(data)}


def write_pack(name, files):
    """files: path in the program's file system -> bytes."""
    table, body = [], b""
    for path, data in sorted(files.items()):
        weights = path.endswith("pytorch_model.bin")
        table.append({"path": path, "size": len(data), **({"planes": True} if weights else {})})
        body += planes(data) if weights else data
    head = json.dumps(table, separators=(",", ":")).encode()
    return write_packed(name, struct.pack("<I", len(head)) + head + body)


def folder(real, place):
    return {f"{place}/{file.relative_to(real)}": file.read_bytes() for file in real.rglob("*") if file.is_file()}


def model(name):
    files = folder(source / "assets/models" / name, f"{HOME}/models/{name}")
    return {path: data for path, data in files.items() if not path.endswith(("README.md", "NOTICE"))}


def subset(path, name, *options):
    """A font without tables that Locus does not use; OPTIONS say which characters are kept."""
    made = build / name
    subprocess.run([sys.executable, "-m", "fontTools.subset", str(FONTS / path), *options, "--layout-features=",
                    "--drop-tables+=GSUB,GPOS,GDEF,FFTM", f"--output-file={made}"], check=True)
    return made.read_bytes()


def font(path):
    # Light hinting, as the viewer asks for, is FreeType's own for TrueType: the instructions in the font serve nobody.
    hints = ["--no-hinting"] if path.endswith(".ttf") else []
    return {f"{FONTS}/{path}": subset(path, Path(path).name, "--unicodes=*", *hints)}


def noto(name, characters):
    listed = build / f"{name}.txt"
    listed.write_text("".join(sorted(characters)), encoding="utf-8")
    data = subset("opentype/noto/NotoSansCJK-Regular.ttc", f"{name}.otf", "--font-number=1", f"--text-file={listed}",
                  "--desubroutinize", "--no-hinting")
    return {f"{FONTS}/opentype/noto/NotoSansCJKkr-{name}.otf": data}


def signs():
    """What the first picture is drawn with of Noto Sans CJK: arrows, blocks, mathematics."""
    return {chr(code) for code in range(0x2000, 0x2e80)}


def letters():
    """The characters that the encodings of everyday Chinese, Japanese and Korean text have."""
    characters = set()
    for codec in ("gb2312", "shift_jis", "euc_kr"):
        for first in range(0x81, 0xff):
            for second in range(0x40, 0xff):
                try:
                    characters.update(bytes([first, second]).decode(codec))
                except UnicodeDecodeError:
                    continue
    return {c for c in characters if 0x2e7f < ord(c) < 0x10000}


shutil.rmtree(out, ignore_errors=True)
out.mkdir(parents=True)
latin = {}
for path in ("opentype/inter/Inter-Regular.otf", "opentype/inter/Inter-SemiBold.otf",
             "truetype/jetbrains-mono/JetBrainsMono-Regular.ttf", "truetype/jetbrains-mono/JetBrainsMono-SemiBold.ttf"):
    latin.update(font(path))
corpus = {f"{HOME}/corpus/positions.txt": (source / "assets/corpus/positions.txt").read_bytes(),
          **folder(source / "assets/corpus/positions", f"{HOME}/corpus/positions")}
packs = {
    "first": write_pack("first", {**model("tiny-v3"), **latin, **noto("Signs", signs()),
                                  "/icu/icudt72l.dat": (root / "share/icu/icudt72l.dat").read_bytes(),
                                  f"{HOME}/mistakes.json": (source / "assets/mistakes.json").read_bytes()}),
    "signs": write_pack("signs", font("truetype/dejavu/DejaVuSans.ttf")),
    "cjk": write_pack("cjk", noto("Regular", signs() | letters())),
    "corpus": write_pack("corpus", corpus),
    "kit": write_pack("kit", folder(kit, f"{HOME}/kit")),
    **{name: write_pack(name, model(name)) for name in ("tiny-roformer", "tiny-txl", "tiny-xlnet")},
}
others = ["tiny-roformer", "tiny-txl", "tiny-xlnet"]
manifest = {
    "program": write_packed("program", (build / "locus-web.wasm").read_bytes()),
    "script": write_packed("script", (build / "locus-web.js").read_bytes()),
    "packs": packs,
    # What a page of the viewer needs besides the first pack.
    "pages": {"start": others, "rope": ["tiny-roformer"], "transformer-xl": ["tiny-txl"], "permutation": ["tiny-xlnet"],
              "conformance": ["kit"], "training": ["corpus"]},
    # What is fetched once there is a picture, and what where a text has Chinese, Japanese or Korean letters.
    "later": ["signs"],
    "letters": "cjk",
    "pagesWithLetters": ["start", "transformer-xl", "permutation"],
}
(out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
for file in sorted((source / "viewer/web/page").iterdir()):
    shutil.copyfile(file, out / file.name)
shutil.copyfile(build / "locus-unpack.wasm", out / "unpack.wasm")
write_lessons(source, out / "lessons", out / "lessons.css")
(out / "lessons.css").unlink()

sizes = {file: file.stat().st_size for file in out.rglob("*") if file.is_file()}
first = sum(size for file, size in sizes.items() if file.parent == out and file.suffix != ".pack")
first += manifest["program"]["bytes"] + manifest["script"]["bytes"] + packs["first"]["bytes"]
print(f"{out}: {len(sizes)} files, {sum(sizes.values()) / 1e6:.1f} MB; {first / 1e6:.2f} MB before the first picture")
