#pragma once
// Byte-level BPE as DeBERTa v1, RoBERTa and GPT-2 use it: vocab.json and merges.txt.
// Source: transformers tokenization_deberta.py, tokenization_roberta.py, tokenization_gpt2.py.
#include <memory>

#include "core/text/tokenizers/tokenizer.h"
#include "core/text/tokenizers/tokenizer_files.h"

namespace locus {

/// [CLS] text [SEP] if the vocabulary has [CLS], <s> text </s> if it has <s>, nothing around the text for a
/// GPT2Tokenizer; other names if a file gives them.  The mask takes the white space before it, unless a file says
/// otherwise.  do_lower_case is no option of this kind and has no effect, as in transformers.
/// Throws Error(unreadable) that names the file and the line or piece.
std::unique_ptr<Tokenizer> open_byte_bpe(const TokenizerFiles& files);

}  // namespace locus
