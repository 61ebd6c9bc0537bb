"""Two texts as one input (premise and hypothesis, question and passage): ids and token types, as transformers makes them.

  python hf_tokenizer_pairs.py --tokenizers ../tokenizers

Writes pairs.json, a list of {"first", "second" (null: one text alone), "ids", "types"}, into every folder of a tokenizer
that knows pairs, and json_parts/pairs.json, a list of {"name", "post_processor", "cases"}: what a tokenizer.json may say
of pairs, each put into wordpiece_fast/tokenizer.json.
"""
import argparse
import json
import os

import transformers
from tokenizers import Tokenizer, processors
from transformers import (BertTokenizer, BertTokenizerFast, DebertaTokenizer, DebertaTokenizerFast, DebertaV2Tokenizer,
                          DebertaV2TokenizerFast, RobertaTokenizer, XLNetTokenizer)

from hf_tokenizers import write_list

transformers.logging.set_verbosity_error()
PAIRS = [("A man plays the guitar.", "Somebody makes music."), ("who opened the store?", "A new store opened beside the new mall."),
         ("the {mask} is red.", "it is not {mask}"), ("a", "b"), ("Café déjà vu", "발 없는 말이 천리 간다."), ("我喜欢", "学习 12,000"),
         ("  blanks around  ", " and here "), ("ends in a digit 3,", "4, begins with one"), ("", "nothing first"), ("nothing second", " "), ("one alone", None)]  # "" is no second text to the fast ones
SLOW = {"spm": DebertaV2Tokenizer, "bpe": DebertaTokenizer, "wordpiece": BertTokenizer, "roberta": RobertaTokenizer, "xlnet": XLNetTokenizer}
FAST = {"spm_fast": DebertaV2TokenizerFast, "bpe_fast": DebertaTokenizerFast, "wordpiece_fast": BertTokenizerFast}


def rows_of(encode, mask):
    rows = []
    for first, second in PAIRS:
        first, second = first.format(mask=mask), second and second.format(mask=mask)
        ids, types = encode(first, second)
        assert len(ids) == len(types)
        rows.append({"first": first, "second": second, "ids": ids, "types": types})
    return rows


def with_transformers(tokenizer):
    def encode(first, second):
        made = tokenizer(first, second, return_token_type_ids=True)
        return made["input_ids"], made["token_type_ids"]
    return rows_of(encode, tokenizer.mask_token)


def processors_of_pairs(cls, sep):
    special = [("[CLS]", cls), ("[SEP]", sep)]
    template = processors.TemplateProcessing
    yield "bert", processors.BertProcessing(("[SEP]", sep), ("[CLS]", cls))
    yield "roberta", processors.RobertaProcessing(("[SEP]", sep), ("[CLS]", cls), trim_offsets=False, add_prefix_space=False)
    yield "template, types as XLNet has them", template("$A [SEP] [CLS]:2", "$A:0 [SEP]:0 $B:1 [SEP]:1 [CLS]:2", special)
    yield "template, the second text first", template("[CLS] $A", "[CLS]:0 $B:1 [SEP]:1 $A:0", special)
    yield "bytes, then a template", processors.Sequence([processors.ByteLevel(), template("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:3 [SEP]:3", special)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizers", required=True)
    folder = parser.parse_args().tokenizers
    for name, cls in SLOW.items():
        write_list(os.path.join(folder, name, "pairs.json"), with_transformers(cls.from_pretrained(os.path.join(folder, name))))
    for name, cls in FAST.items():
        more = {"do_lower_case": True} if name == "spm_fast" else {}
        write_list(os.path.join(folder, name, "pairs.json"),
                   with_transformers(cls(tokenizer_file=os.path.join(folder, name, "tokenizer.json"), **more)))
    parts = []
    base = os.path.join(folder, "wordpiece_fast", "tokenizer.json")
    tokenizer = Tokenizer.from_file(base)
    for name, processor in processors_of_pairs(tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")):
        tokenizer.post_processor = processor
        again = Tokenizer.from_str(tokenizer.to_str())

        def encode(first, second):
            made = again.encode(first) if second is None else again.encode(first, second)
            return made.ids, made.type_ids
        parts.append({"name": name, "post_processor": json.loads(tokenizer.to_str())["post_processor"], "cases": rows_of(encode, "[MASK]")})
    write_list(os.path.join(folder, "json_parts", "pairs.json"), parts)


if __name__ == "__main__":
    main()
