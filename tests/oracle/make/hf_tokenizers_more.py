"""More tokenizer truth: XLNet, RoBERTa, tokenizer.json of BERT and DeBERTa v1, and tokenizer.json part by part.

  python hf_tokenizers_more.py --tokenizers ../tokenizers --trained TRAINED --out ../tokenizers

TRAINED holds tiny_xlnet_trained, tiny_roformer_trained and tiny_txl_trained.
xlnet/           XLNetTokenizer (slow) on the trained model's spiece.model
roberta/         RobertaTokenizer (slow) on the pieces of bpe/ under RoBERTa's names, with a space put in front
bpe_fast/        bpe/ as DebertaTokenizerFast converts it to tokenizer.json
wordpiece_fast/  wordpiece/ as BertTokenizerFast converts it
json_parts/      parts.json: a list of {"name", "tokenizer": what tokenizer.json would hold, "cases"}, one per component
roformer/, txl/  vocabularies of the trained models; cases.json is what their case.json and inputs.safetensors record
"""
import argparse
import json
import os
import shutil

import transformers
from safetensors.numpy import load_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers  # noqa: F401
from transformers import BertTokenizerFast, DebertaTokenizerFast, RobertaTokenizer, XLNetTokenizer

from hf_tokenizers import TEXTS, about, cases, dump, fresh, write_json, write_list

transformers.logging.set_verbosity_error()
ALL = TEXTS["dev"] + ["12,000 and 3, or x2,y", "``quoted'' text", "𝚺𝚨𝚺 ﷺ™ Ⅻ", "\u0378 unassigned", "two\u3000wide  blanks ", "ÀÉ\nÎ"]
SOME = ["A new store opened beside the new mall.", "I'm sure they'll say: \"we've done it!\" (twice).", "HELLO, World! 123 4567 3.14 1,000",
        "발 없는 말이 천리 간다.", "我喜欢学习机器学习。", "ｱｲｳ full ＡＢＣ１２３！ width", "I love it 😀👍🏽", "Café déjà vu naïve Ångström",
        "e\u0301\u0323 a\u0308 n\u0303", "ÀÉÎ ÖÜß İstanbul ΑΣ ΣΑΣ ǅ Ω", "tab\there\nnew line\r\nend", "", " ", "  leading  and  trailing  ",
        "the  <mask>  is", "a<mask>b <mask>", "an added word, addedword or Added", "...!!!???", "a-b_c/d\\e --", "a\u00a0b\u3000c\u2028d\x0be\x85f",
        "1e-5 Ⅻ½²", "x" * 120, "▁ ▁▁ under", "nul\u0000inside"]


def xlnet(out, trained):
    folder = fresh(out, "xlnet")
    model = os.path.join(trained, "tiny_xlnet_trained", "model")
    for name in ("spiece.model", "tokenizer_config.json", "config.json"):
        shutil.copy(os.path.join(model, name), folder)
    slow = XLNetTokenizer.from_pretrained(folder)
    rows = [{"text": t, "ids": slow(t)["input_ids"], "pieces": slow.tokenize(t)} for t in ALL]
    write_list(os.path.join(folder, "cases.json"), rows)
    about(folder, "XLNetTokenizer", "SentencePiece as XLNet prepares its text; <sep> <cls> stand at the end.", [
        "White space runs become one blank, `` and '' become \", accents are stripped after NFKD, then lower case.",
        "A piece that ends in a digit and a comma is cut again, the comma by itself."], rows, "dev")


def roberta(out, source):
    folder = fresh(out, "roberta")
    with open(os.path.join(source, "bpe", "vocab.json"), encoding="utf-8") as f:
        vocab = json.load(f)
    names = {"[CLS]": "<s>", "[PAD]": "<pad>", "[SEP]": "</s>", "[UNK]": "<unk>", "[MASK]": "<mask>"}
    with open(os.path.join(folder, "vocab.json"), "w", encoding="utf-8") as f:
        json.dump({names.get(piece, piece): index for piece, index in vocab.items()}, f, ensure_ascii=False)
    shutil.copy(os.path.join(source, "bpe", "merges.txt"), folder)
    slow = RobertaTokenizer(os.path.join(folder, "vocab.json"), os.path.join(folder, "merges.txt"), add_prefix_space=True)
    slow.save_pretrained(folder)
    slow = RobertaTokenizer.from_pretrained(folder)
    rows = cases(slow, [t.replace("[MASK]", "<mask>").replace("[SEP]", "</s>") for t in ALL])
    write_list(os.path.join(folder, "cases.json"), rows)
    about(folder, "RobertaTokenizer", "Byte-level BPE framed as RoBERTa does it, names and flags read from the files.",
          ["add_prefix_space: one blank goes in front of a text that does not begin with white space."], rows, "dev")


def fast(out, source, name, cls):
    folder = fresh(out, name + "_fast")
    converted = cls.from_pretrained(os.path.join(source, name))
    converted.backend_tokenizer.save(os.path.join(folder, "tokenizer.json"))
    shutil.copy(os.path.join(source, name, "tokenizer_config.json"), folder)
    again = cls(tokenizer_file=os.path.join(folder, "tokenizer.json"))
    rows = [{"text": t, "ids": again(t)["input_ids"], "pieces": again.tokenize(t)} for t in ALL]
    write_list(os.path.join(folder, "cases.json"), rows)
    about(folder, cls.__name__ + " (tokenizer.json)", f"{name}/ as the Rust library runs it.", [], rows, "dev")


SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]


def train(model, trainer, normalizer=None, pre=None):
    t = Tokenizer(model)
    if normalizer:
        t.normalizer = normalizer
    if pre:
        t.pre_tokenizer = pre
    t.train_from_iterator([s for s in SOME if "<mask>" not in s] * 2 + TEXTS["dev"], trainer)
    return t


def bpe(normalizer=None, pre=None, **options):
    return train(models.BPE(unk_token="<unk>", **options), trainers.BpeTrainer(vocab_size=420, special_tokens=SPECIAL, limit_alphabet=60,
                 show_progress=False, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()) if options.get("byte_fallback") else []),
                 normalizer, pre)


def wordpiece(normalizer=None, pre=None):
    return train(models.WordPiece(unk_token="<unk>"), trainers.WordPieceTrainer(vocab_size=300, special_tokens=SPECIAL, show_progress=False),
                 normalizer, pre)


def unigram(normalizer=None, pre=None):
    return train(models.Unigram(), trainers.UnigramTrainer(vocab_size=300, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False),
                 normalizer, pre)


def with_bytes(t):
    """The same model with a piece <0x00> ... <0xFF> for every byte and byte_fallback on."""
    state = json.loads(t.to_str())
    model = state["model"]
    extra = [f"<0x{b:02X}>" for b in range(256)]
    if model["type"] == "Unigram":
        model["vocab"] += [[piece, -9.0] for piece in extra]
    else:
        model["vocab"].update({piece: len(model["vocab"]) + n for n, piece in enumerate(extra)})
    model["byte_fallback"] = True
    return Tokenizer.from_str(json.dumps(state))


def parts():
    n, p = normalizers, pre_tokenizers
    blanks = p.WhitespaceSplit()
    yield "lowercase, nfd, strip accents", wordpiece(n.Sequence([n.Lowercase(), n.NFD(), n.StripAccents()]), blanks), None
    yield "nfc", bpe(n.NFC(), blanks), None
    yield "nfkd", wordpiece(n.NFKD(), p.Whitespace()), None
    yield "nfkc, strip, prepend, replace", unigram(n.Sequence([n.NFKC(), n.Strip(), n.Prepend("▁"), n.Replace(" ", "▁")])), None
    yield "replace by expression", unigram(n.Replace(Regex(r"\s+"), " "), p.Metaspace()), None
    yield "bert normalizer without lower case", wordpiece(n.BertNormalizer(lowercase=False, strip_accents=True, handle_chinese_chars=False),
                                                         p.BertPreTokenizer()), None
    yield "bert normalizer without cleaning", wordpiece(n.BertNormalizer(clean_text=False, lowercase=True, strip_accents=False),
                                                        p.BertPreTokenizer()), None
    yield "byte level with a space in front", bpe(None, p.ByteLevel(add_prefix_space=True)), processors.RobertaProcessing(("</s>", 3), ("<s>", 2))
    yield "byte level without expression", bpe(None, p.Sequence([p.Digits(individual_digits=True),
                                               p.ByteLevel(add_prefix_space=False, use_regex=False)])), processors.BertProcessing(("</s>", 3), ("<s>", 2))
    yield "byte level as normalizer", bpe(n.ByteLevel(), p.Split("Ġ", "merged_with_next")), None
    yield "punctuation, contiguous", wordpiece(None, p.Sequence([blanks, p.Punctuation("contiguous")])), None
    yield "punctuation, merged with the previous", wordpiece(None, p.Sequence([blanks, p.Punctuation("merged_with_previous")])), None
    yield "punctuation, merged with the next", wordpiece(None, p.Sequence([blanks, p.Punctuation("merged_with_next")])), None
    yield "digits together", wordpiece(None, p.Sequence([p.Digits(), blanks])), None
    yield "split by expression", bpe(None, p.Sequence([p.Split(Regex(r"[^\S\n]+|\d{1,3}"), "isolated"), p.CharDelimiterSplit("e")])), None
    yield "split by expression, inverted", bpe(None, p.Split(Regex(r"\w+|[^\w\s]+"), "removed", invert=True)), None
    yield "metaspace first", unigram(None, p.Metaspace(prepend_scheme="first")), None
    yield "metaspace never, no split", unigram(None, p.Metaspace(prepend_scheme="never", split=False)), \
        processors.TemplateProcessing(single="$A </s> <s>", special_tokens=[("<s>", 2), ("</s>", 3)])
    yield "unigram with bytes", with_bytes(unigram(None, p.Metaspace())), None
    yield "bpe with bytes", with_bytes(bpe(None, blanks)), None
    yield "bpe, unknown characters fused", bpe(None, blanks, fuse_unk=True), None
    yield "bpe, whole words first", bpe(None, blanks, ignore_merges=True), None
    yield "bpe without a cut", bpe(n.Lowercase()), processors.Sequence([processors.ByteLevel(), processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 2), ("</s>", 3)])])


def json_parts(out):
    folder = fresh(out, "json_parts")
    rows = []
    for number, (name, t, post) in enumerate(parts()):
        if post:
            t.post_processor = post
        t.add_special_tokens([AddedToken("<mask>", lstrip=number % 2 == 0, rstrip=number % 3 == 0, normalized=False)])
        t.add_tokens([AddedToken("added", single_word=number % 2 == 0, normalized=number % 3 != 0)])
        again = Tokenizer.from_str(t.to_str())
        lines = []
        for text in SOME:
            encoding = again.encode(text)
            lines.append({"text": text, "ids": encoding.ids, "pieces": encoding.tokens})
        state = json.loads(t.to_str())
        state.pop("decoder", None)
        rows.append({"name": name, "tokenizer": state, "cases": lines})
        print(name, t.get_vocab_size(), lines[0]["pieces"][:12])
    with open(os.path.join(folder, "parts.json"), "w", encoding="utf-8") as f:
        f.write("[\n")
        for k, row in enumerate(rows):
            f.write(('{"name": %s,\n "tokenizer": %s,\n "cases": [\n' % (dump(row["name"]), dump(row["tokenizer"]))) +
                    ",\n".join("  " + dump(line) for line in row["cases"]) + "]}" + (",\n" if k + 1 < len(rows) else "\n"))
        f.write("]\n")
    with open(os.path.join(folder, "parts.json"), encoding="utf-8") as f:
        assert json.load(f) == rows
    about(folder, "tokenizers.Tokenizer", "Every normalizer, pre-tokenizer, model option and frame of tokenizer.json at least once.",
          ["pieces hold the frame too; an added token that takes blanks with it shows them in its piece."], rows, "dev")


def trained_vocabulary(out, trained, name, files):
    source, folder = os.path.join(trained, f"tiny_{name}_trained"), fresh(out, name)
    for file in files:
        shutil.copy(os.path.join(source, "model", file), folder)
    with open(os.path.join(source, "case.json"), encoding="utf-8") as f:
        case = json.load(f)
    inputs = load_file(os.path.join(source, "inputs.safetensors"))
    if "tokens" in inputs:
        rows = [{"text": text, "ids": [int(i) for i in ids[:len(pieces)]], "pieces": pieces}
                for text, ids, pieces in zip(case["sentences"], inputs["tokens"], case["tokens"])]
    else:  # one story in segments
        whole = case["sentences"][0]
        assert whole.endswith("letter.") and case["tokens"][-1][-1] == "letter"  # the segments leave out the last full stop
        rows = [{"text": whole[:-1], "ids": [int(i) for s in range(len(case["tokens"])) for i in inputs[f"tokens.{s}"][0]],
                 "pieces": sum(case["tokens"], [])}]
    write_list(os.path.join(folder, "cases.json"), rows)
    with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as f:
        json.dump({"family": "tokenizer", "source": case["source"], "why": f"The words of tiny_{name}_trained as its case records them.",
                   "probes": {"texts": len(rows)}, "tolerance": 0, "generator": "make/hf_tokenizers_more.py",
                   "notes": [note for note in case["notes"] if note.startswith("Tokens:")] + ["pieces hold the frame too."]}, f, indent=2)
        f.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizers", required=True)
    parser.add_argument("--trained", required=True)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    xlnet(args.out, args.trained)
    roberta(args.out, args.tokenizers)
    fast(args.out, args.tokenizers, "bpe", DebertaTokenizerFast)
    fast(args.out, args.tokenizers, "wordpiece", BertTokenizerFast)
    json_parts(args.out)
    trained_vocabulary(args.out, args.trained, "roformer", ["vocab.txt", "tokenizer_config.json", "config.json"])
    trained_vocabulary(args.out, args.trained, "txl", ["vocab.txt", "config.json"])


if __name__ == "__main__":
    main()
