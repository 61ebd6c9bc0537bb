#pragma once
// A vocabulary of word pieces learnt from a text.  Kudo 2018, "Subword regularization": the unigram model, as
// SentencePiece trains it and DeBERTa v3 uses it.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace locus {

struct VocabularyRequest {
    std::int64_t pieces = 0;  // [PAD], [CLS], [SEP], [UNK] and [MASK] among them; 0: as many as the text gives, to 8000
    bool lower_case = true;
};

/// The files of a tokenizer: name -> bytes.
using TokenizerBytes = std::map<std::string, std::string>;

struct TrainedVocabulary {
    std::int64_t pieces = 0;  // ids are 0 [PAD], 1 [CLS], 2 [SEP], 3 [UNK], then the words, and [MASK] as the last
    TokenizerBytes files;     // spm.model, tokenizer_config.json, added_tokens.json, as DeBERTa v3 lays them out
};

/// Learns from a file of sentences, one a line; the same file gives the same bytes.
/// Throws Error(usage) that names the most or least the text can give where `pieces` is outside, and what
/// read_corpus_text() throws.
TrainedVocabulary train_vocabulary(const std::filesystem::path& corpus, const VocabularyRequest& request = {});

}  // namespace locus
