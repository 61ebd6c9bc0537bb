#pragma once
// WordPiece as BERT and RoFormer use it: vocab.txt.
// Source: transformers tokenization_bert.py, tokenization_roformer.py.
#include <memory>

#include "core/text/tokenizers/tokenizer.h"
#include "core/text/tokenizers/tokenizer_files.h"

namespace locus {

/// [CLS] text [SEP], or the names that the files give; lower case unless a file says do_lower_case: false.
/// RoFormer cuts Chinese into words with jieba where the vocabulary has such words: with one like that, a text with Han
/// characters is refused by encode() with Error(unsupported).
/// Throws Error(unreadable) that names the file and the line, Error(unsupported) for do_basic_tokenize: false and for
/// never_split.
std::unique_ptr<Tokenizer> open_wordpiece(const TokenizerFiles& files);

}  // namespace locus
