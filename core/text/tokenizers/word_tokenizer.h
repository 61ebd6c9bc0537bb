#pragma once
// Whole words, as Transformer-XL reads them: vocab.txt, one word per line.
// Source: kimiyoung/transformer-xl pytorch/utils/vocabulary.py.
#include <memory>

#include "core/text/tokenizers/tokenizer.h"
#include "core/text/tokenizers/tokenizer_files.h"

namespace locus {

/// <eos> text: the official code ends every line with <eos>, so a text begins behind one.  Words are what stands
/// between white space; a word that the vocabulary lacks gives up the punctuation at its ends, every mark a word of its
/// own ("letter." is "letter" and "."), and is <unk> if that does not help.  lower_case or do_lower_case of
/// tokenizer_config.json lowers the text.  There is neither a mask nor a padding token unless a file names one.
/// Throws Error(unreadable) that names the file and the line or the missing token.
std::unique_ptr<Tokenizer> open_word_tokenizer(const TokenizerFiles& files);

}  // namespace locus
