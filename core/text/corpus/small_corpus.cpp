#include "core/text/corpus/small_corpus.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "core/text/statistics/skip_gram.h"

namespace locus {

namespace {

/// One slot after the other; the words of a slot stand for each other.
struct Grammar {
    std::vector<const char*> slots;
    std::size_t sentences;
};

const std::vector<Grammar> kGrammars = {
    {{"obama president", "speaks greets talks", "media press reporters", "illinois chicago"}, 36},
    {{"obama president", "signs vetoes", "law bill"}, 8},
    {{"wife daughters", "obama president", "white house"}, 4},
    {{"teacher mayor minister", "speaks greets talks", "children guests people"}, 27},
    {{"wind snow rain", "streets lake towers", "illinois chicago"}, 18},
    {{"media press reporters", "publish print", "news story"}, 12},
    {{"band singer orchestra", "gave played announced", "concert show song", "japan france korea"}, 40},
    {{"fans audience", "heard loved", "concert show song"}, 12},
    {{"temples food", "japan france korea"}, 6},
    {{"new used old", "car truck van", "price sale engine test"}, 30},
    {{"magazine readers", "review compare test", "new used old", "car truck van"}, 27},
    {{"friend neighbour", "helps comforts", "friend neighbour", "need trouble indeed"}, 24},
};

std::vector<std::string> words_of(const char* slot) {
    std::istringstream words(slot);
    return {std::istream_iterator<std::string>(words), {}};
}

}  // namespace

std::vector<Document> small_corpus() {
    std::vector<Document> corpus;
    for (const Grammar& grammar : kGrammars) {
        std::size_t all = 1;
        for (const char* slot : grammar.slots) all *= words_of(slot).size();
        for (std::size_t n = 0; n < grammar.sentences; ++n) {
            // Spread over all combinations; a mixed-radix number says which word each slot gives.
            std::size_t rest = n * all / grammar.sentences;
            Document sentence;
            for (auto slot = grammar.slots.rbegin(); slot != grammar.slots.rend(); ++slot) {
                const std::vector<std::string> words = words_of(*slot);
                sentence.insert(sentence.begin(), words[rest % words.size()]);
                rest /= words.size();
            }
            corpus.push_back(std::move(sentence));
        }
    }
    return corpus;
}

WordVectors learn_word_vectors(const std::vector<Document>& documents, const CancelToken& stop) {
    constexpr double kTrainingSteps = 300e3;  // pairs of neighbours, over all epochs
    std::vector<Document> corpus = small_corpus();
    corpus.insert(corpus.end(), documents.begin(), documents.end());
    double pairs = 0;  // of one epoch: two neighbours on each side
    for (const Document& document : corpus) pairs += 4.0 * static_cast<double>(document.size());
    SkipGramOptions options;
    options.epochs = std::clamp<Index>(static_cast<Index>(kTrainingSteps / pairs), 2, 80);
    WordVectors vectors = train_skip_gram(corpus, options, stop).vectors;
    for (Index row = 0; row < vectors.vectors.rows(); ++row) vectors.vectors.row(row).stableNormalize();
    return vectors;
}

}  // namespace locus
