"""Options of tokenizers that change the ids: what the slow classes read in tokenizer_config.json, and parts of tokenizer.json.

  python hf_tokenizer_options.py --tokenizers ../tokenizers --out ../tokenizers

options/folders.json  a list of {"name", "base": a folder beside it whose files come first, or null, "files": what is put over them,
                      "cases"}; class and options are in the files, pieces are those that tokenize() returns
options/signs.json    {"tokenizer": a tokenizer.json with a piece for every sign, "parts": a list of {"name", "fields": its fields with
                      other values, "cases"}}; pieces hold the frame too
RoFormer needs rjieba (0.2.2).
"""
import argparse
import json
import os
import shutil
import string
import tempfile

import transformers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers
from transformers import BertTokenizer, DebertaV2Tokenizer, GPT2Tokenizer, RoFormerTokenizer, RoFormerTokenizerFast, XLNetTokenizer

from hf_tokenizers import TEXTS, dump, fresh, write_json

transformers.logging.set_verbosity_error()
SMALL = ("tokenizer_config.json", "added_tokens.json", "special_tokens_map.json")
HAN = [t for t in TEXTS["dev"] if any("\u3005" <= c <= "\u3007" or "\u3400" <= c <= "\u9fff" for c in t)]
WORDS = ["the café [MASK]", "Привет мир", "x²", "ﬁne", "ไทย", "C++ and c#, C# or c++: AT&T's", "abc++11 ATT&T c+ +c##", "don't a-b_c 3.14% #tag", "x\r\n\ny\u3000z",
         "über Ünïcode É e\u0301", "ÀÉÎ İstanbul ΣΑΣ ǅ", "a" * 101, "b" * 101, "and " + "b" * 101 + "."]


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def folder_of(tokenizers, base, files):
    folder = tempfile.mkdtemp()
    for name in os.listdir(os.path.join(tokenizers, base)) if base else []:
        if not name.startswith(("case", "pairs")):
            shutil.copy(os.path.join(tokenizers, base, name), folder)
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    return folder


def slow_case(tokenizers, name, cls, base, files, texts, add=()):
    """`add`: words that the tokenizer gets before it is saved; its small files then go over those of the base."""
    files = dict(files)
    folder = folder_of(tokenizers, base, files)
    if add:
        tokenizer = cls.from_pretrained(folder)
        tokenizer.add_tokens(list(add))
        saved = tempfile.mkdtemp()
        tokenizer.save_pretrained(saved)
        files.update({small: text_of(os.path.join(saved, small)) for small in SMALL if os.path.exists(os.path.join(saved, small))})
        folder = folder_of(tokenizers, base, files)
    again = cls.from_pretrained(folder)
    rows = [{"text": t, "ids": again(t)["input_ids"], "pieces": again.tokenize(t)} for t in texts]
    return {"name": name, "base": base, "files": files, "cases": rows}


def config(cls, **options):
    return {"tokenizer_config.json": json.dumps({"tokenizer_class": cls, **options})}


SIGNS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "c#", "c++", "AT&T", "at", "&", "t", "c", "+", "#", "##+", "café", "caf", "é", "##é", "e", "##e", "cafe", "and", "É",
         "İ", "²", "x", "x²", "a", "##a", "b" * 101, "b", "##b", "don", "don't", "'", "3", ".", "14", "##14", "3.14", "ﬁne", "fine", "ﬁ", "ne", ","]


def slow(tokenizers):
    roformer = {"config.json": '{"model_type": "roformer"}'}
    words = [t for t in TEXTS["dev"] if t not in HAN] + WORDS
    cases = lambda *args, **more: slow_case(tokenizers, *args, **more)
    yield cases("RoFormer, lower case", RoFormerTokenizer, "wordpiece", {**config("RoFormerTokenizer", do_lower_case=True), **roformer}, words)
    yield cases("RoFormer, cased, without accents", RoFormerTokenizer, "wordpiece",
                {**config("RoFormerTokenizer", do_lower_case=False, strip_accents=True), **roformer}, words)
    yield cases("RoFormer, words that the vocabulary has as they stand", RoFormerTokenizer, None,
                {"vocab.txt": "\n".join(SIGNS) + "\n", **config("RoFormerTokenizer", do_lower_case=False), **roformer}, WORDS)
    yield cases("RoFormer, the vocabulary of the trained one", RoFormerTokenizer, "roformer", {}, WORDS[:1])
    added = ["NewWord", AddedToken("KeptWord", normalized=False), AddedToken("Einzeln", single_word=True)]
    texts = ["a NewWord here", "a newword here", "NEWWORD", "KeptWord keptword", "the [MASK] NewWord[SEP]x [mask]", "Einzeln einzeln xEinzeln", "İ NEWWORDİ", "A\nNEWWORD B"]
    yield cases("added words, BERT", BertTokenizer, "wordpiece", config("BertTokenizer", do_lower_case=True), texts, add=added)
    yield cases("added words, BERT with case", BertTokenizer, "wordpiece", config("BertTokenizer", do_lower_case=False), texts, add=added)
    yield cases("added words, RoFormer", RoFormerTokenizer, "wordpiece", {**config("RoFormerTokenizer", do_lower_case=True), **roformer}, texts, add=added)
    yield cases("added words, DeBERTa v2 in lower case", DebertaV2Tokenizer, "spm", config("DebertaV2Tokenizer", do_lower_case=True), texts, add=added)
    yield cases("added words, XLNet", XLNetTokenizer, "xlnet", config("XLNetTokenizer", do_lower_case=True),
                [t.replace("[MASK]", "<mask>").replace("[SEP]", "<sep>") for t in texts], add=added)
    decoder = {str(n): {"content": name, "lstrip": False, "normalized": normal, "rstrip": False, "single_word": False, "special": special}
               for n, (name, normal, special) in enumerate([("NewWord", True, False), ("KeptWord", False, False), ("Einzeln", False, True), ("XEinzeln", True, True)], 2000)}
    yield cases("added words with capitals in the file, BERT", BertTokenizer, "wordpiece",
                config("BertTokenizer", do_lower_case=True, added_tokens_decoder=decoder), texts + ["XEinzeln"])
    yield cases("added words that only added_tokens.json names, BERT", BertTokenizer, "wordpiece",
                {**config("BertTokenizer", do_lower_case=True), "added_tokens.json": json.dumps({"NewWord": 2000})}, texts)
    yield cases("split_by_punct", DebertaV2Tokenizer, "spm", config("DebertaV2Tokenizer", split_by_punct=True), TEXTS["dev"])
    bpe = {"vocab.json": json.dumps({"<|endoftext|>": 0, "a": 1, "b": 2, "Ġ": 3, "Ġa": 4, "ab": 5, "Ġab": 6, "ĉ": 7}, ensure_ascii=False),
           "merges.txt": "#version: 0.2\nĠ a\na b\nĠa b\n"}
    yield cases("a blank in front of any text", GPT2Tokenizer, None, {**bpe, **config("GPT2Tokenizer", add_prefix_space=True)}, ["", " ", "ab", " ab", "\tab", "a b"])
    yield cases("RoFormer as tokenizer.json", RoFormerTokenizerFast, "wordpiece_fast", {**config("RoFormerTokenizer", do_lower_case=True), **roformer}, words)
    chinese = folder_of(None, None, {"vocab.txt": "\n".join(SIGNS + ["今天", "今", "天"]) + "\n", **config("RoFormerTokenizer", do_lower_case=True), **roformer})
    saved = tempfile.mkdtemp()
    RoFormerTokenizerFast.from_pretrained(chinese).save_pretrained(saved)  # names BERT's pre-tokenizer, the class puts jieba in its place
    yield cases("RoFormer as tokenizer.json with Chinese words", RoFormerTokenizerFast, None,
                {file: text_of(os.path.join(saved, file)) for file in ("tokenizer.json", "tokenizer_config.json")}, WORDS)


def signs(normalizer, pre):
    """A piece for every sign, so that the cuts show: "##" stands where none was made."""
    letters = sorted(set(string.printable + "▁²¼½éßαＡ_\u200d€⏅„‘ª٣ĊčĠ") - set(string.whitespace))
    vocabulary = ["<unk>", "<mask>"] + letters + ["##" + one for one in letters]
    t = Tokenizer(models.WordPiece({piece: n for n, piece in enumerate(vocabulary)}, unk_token="<unk>"))
    if normalizer:
        t.normalizer = normalizer
    if pre:
        t.pre_tokenizer = pre
    t.add_special_tokens([AddedToken("<mask>", normalized=False)])
    return t


COMMON = json.loads(signs(None, None).to_str())
COMMON.pop("decoder")


def json_case(name, tokenizer, texts):
    state = json.loads(tokenizer.to_str())
    state.pop("decoder")
    again = Tokenizer.from_str(json.dumps({**state, "decoder": None}))
    rows = []
    for text in texts:
        encoding = again.encode(text)
        rows.append({"text": text, "ids": encoding.ids, "pieces": encoding.tokens})
    return {"name": name, "fields": {key: value for key, value in state.items() if value != COMMON[key]}, "cases": rows}


def parts():
    n, p = normalizers, pre_tokenizers
    first = p.Metaspace(prepend_scheme="first")
    blanks = ["the <mask> <mask> opened", "", " ", "   ", " ab ", "ab  ", "  ab", " <mask> ab", "<mask> ab", "\u2003ab\u2003 c"]
    yield json_case("strip, right side only", signs(n.Strip(left=False, right=True), p.Metaspace()), blanks)
    yield json_case("strip, left side only", signs(n.Strip(left=True, right=False), p.Metaspace()), blanks)
    yield json_case("strip, neither side", signs(n.Strip(left=False, right=False), p.Metaspace()), blanks)
    yield json_case("metaspace first", signs(None, first), blanks)
    yield json_case("metaspace first behind white space", signs(None, p.Sequence([p.WhitespaceSplit(), first])), blanks)
    yield json_case("metaspace first behind words of BERT", signs(None, p.Sequence([p.BertPreTokenizer(), first])), blanks + ["\u2003", ".ab"])
    yield json_case("metaspace first behind a cut", signs(None, p.Sequence([p.Split("-", "removed"), first])), ["-ab", "a-b", "--ab", "<mask>-ab", "-"])
    yield json_case("metaspace first behind strip", signs(n.Strip(), first), blanks)
    yield json_case("metaspace first behind strip, right side only", signs(n.Strip(left=False, right=True), p.Sequence([p.ByteLevel(add_prefix_space=False), first])),
                    ["\nab", "\r\nab", " ab", "ab\n", "\n"])
    yield json_case("metaspace first behind cleaning", signs(n.BertNormalizer(lowercase=True), first), blanks + ["\u0007ab", "\u0301ab", "Éab"])
    yield json_case("metaspace first behind bytes", signs(None, p.Sequence([p.ByteLevel(add_prefix_space=True), first])), ["ab", " ab", "ab cd"])
    marks = ["a$b,c", "1+1=2 <a> ~`^|", "€5 ⏅x „q‘", "x²_y\u200dz ª٣ ½", "αβ.γ é!", "a\n$b"]
    for rx in (r"[[:punct:]]", r"[^[:punct:]]+", r"[[:^punct:]]+", r"[[:punct:]a-c]+", r"\w+", r"\W", r"[\w.]+", r"[^\w]", r"[\W]", r"[a\W]+", r"\\w|[\]\w]", r"[[:alpha:]]+"):
        yield json_case("expression " + rx, signs(None, p.Split(Regex(rx), "isolated")), marks + ["a\\w]b"])
    for behaviour in ("isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"):
        yield json_case("empty matches, " + behaviour, signs(None, p.Split(Regex("(?=[A-Z])|x*"), behaviour)), ["aBcD", "axxb", "Ax", "xxA", "x", ""])
    yield json_case("empty matches, inverted", signs(None, p.Split(Regex("(?=[A-Z])"), "isolated", invert=True)), ["aBcD", "AB", ""])
    for rx in ("x*", "(?=[A-Z])", "$", "^", "q|$"):
        yield json_case("empty matches replaced, " + rx, signs(n.Replace(Regex(rx), "_"), None), ["axxb", "aBc", "xx", "a", "", "q"])
    blank = signs(None, p.WhitespaceSplit())
    blank.add_special_tokens([AddedToken("x", rstrip=True, normalized=False)])
    blank.add_tokens([AddedToken(" y", normalized=False), AddedToken("  z", normalized=False)])
    yield json_case("an added token that begins with a blank behind one that takes blanks", blank, ["x y", "x  y", "x z", "x  z", "a y x yx", "x y y"])


def write(path, value, rows):
    """`value` is the list of rows, or holds it under "parts"."""
    with open(path, "w", encoding="utf-8") as f:
        f.write("[\n" if value is rows else '{"tokenizer": %s,\n "parts": [\n' % dump(value["tokenizer"]))
        for k, row in enumerate(rows):
            head = ", ".join(f'"{key}": {dump(value)}' for key, value in row.items() if key != "cases")
            f.write("{" + head + ",\n \"cases\": [\n" + ",\n".join("  " + dump(line) for line in row["cases"]) + "]}" + (",\n" if k + 1 < len(rows) else "\n"))
        f.write("]\n" if value is rows else "]}\n")
    with open(path, encoding="utf-8") as f:
        assert json.load(f) == value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizers", required=True)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    folder = fresh(args.out, "options")
    folders, fields = list(slow(args.tokenizers)), list(parts())
    write(os.path.join(folder, "folders.json"), folders, folders)
    write(os.path.join(folder, "signs.json"), {"tokenizer": COMMON, "parts": fields}, fields)
    write_json(os.path.join(folder, "case.json"), {
        "family": "tokenizer", "source": {"library": "huggingface transformers", "version": transformers.__version__, "class": "as tokenizer_config.json says"},
        "why": "Options that change the ids: jieba of RoFormer, lower case before added words, split_by_punct, a blank in front, and parts of tokenizer.json.",
        "probes": {name: sum(len(row["cases"]) for row in part) for name, part in (("folders", folders), ("signs", fields))}, "tolerance": 0, "generator": "make/hf_tokenizer_options.py",
        "notes": ["folders.json: pieces as tokenize() returns them; tokenizer.json of RoFormer is RoFormerTokenizerFast's, which cuts with jieba.", "signs.json: pieces hold the frame too."]})


if __name__ == "__main__":
    main()
