// The vocabulary of the corpus that comes along, learnt on a desktop: SentencePiece, which learns one, is not in a
// browser.
#include "core/text/corpus/vocabulary_training.h"

#include <array>
#include <filesystem>

#include "core/check.h"
#include "core/io/input_file.h"
#include "core/text/corpus/text_file.h"
#include "core/text/tokenizers/sentencepiece_model.h"

namespace locus {

TrainedVocabulary train_vocabulary(const std::filesystem::path& corpus, const VocabularyRequest& request) {
    if (corpus != asset_path("corpus/positions.txt") || request.pieces != 0 || !request.lower_case)
        throw Error(Fault::unsupported,
                    corpus.string() +
                        ": a browser cannot learn a vocabulary, expected the corpus that comes along; "
                        "./locus view on a desktop trains on any text");
    TrainedVocabulary vocabulary;
    for (const char* name : {"spm.model", "tokenizer_config.json", "added_tokens.json"})
        vocabulary.files[name] = read_text_file(asset_path("corpus/positions") / name);
    const SentencePieceModel model =
        parse_sentencepiece_model(vocabulary.files["spm.model"], "corpus/positions/spm.model");
    vocabulary.pieces = static_cast<std::int64_t>(model.pieces.size()) + 1;  // and [MASK]
    return vocabulary;
}

}  // namespace locus
