#pragma once
// Everything the Text page shows about its documents: counts, weights, four likenesses of every pair, and the transport
// plan of one.  The models are those of core/text.
#include <memory>
#include <string>
#include <vector>

#include "core/text/statistics/similarity.h"
#include "core/text/statistics/tf_idf.h"
#include "core/text/statistics/word_movers.h"
#include "viewer/plots/matrix_view.h"

namespace locus {

/// What the page asks; nothing else changes a number.
struct TextQuery {
    std::string documents;    // one per line; lines of white space are none
    bool stop_words = false;  // counted like any other word
    Index topics = 2;
    Cell pair;  // of the plan
    bool operator==(const TextQuery&) const = default;
};

/// What depends on the documents alone.
struct TextTables {
    std::vector<std::string> lines;   // as written
    std::vector<Document> documents;  // their words, in lower case
    Index left_out = 0;               // lines beyond what is compared
    BagOfWords bag;
    Matrix<double> counts, tf, weights;    // [documents, words]; weights = tf * idf
    std::vector<Index> df;                 // [words]
    RowVector<double> idf;                 // [words]
    Matrix<double> by_counts, by_weights;  // cosines, [documents, documents]
    Matrix<double> distances;              // word mover's; NaN where a document has no word
    bool relaxed = false;                  // too much text for the exact distances: the relaxed ones
    std::vector<PlacedWords> placed;       // per document; vectors of length 1
    Index taught_by = 0;                   // sentences that are not the reader's
};

struct Travel {
    Cell move;  // word of the first, word of the second document
    double flow = 0, distance = 0;
};

/// How the words of one document travel to the other's.
struct TravelPlan {
    std::string unavailable;  // one sentence; the rest is then empty
    Cell pair;
    bool relaxed = false;  // every word to its nearest one, from the side where that costs more
    WordMovers movers;
    std::vector<Travel> moves;            // as travels() lists them
    RowVector<double> leaving, arriving;  // flow of every word of the first, of the second document
    double centroids = 0;
    RelaxedWordMovers bound;
};

struct TextStudy {
    TextQuery query;
    std::uint64_t serial = 0;
    std::string error;  // one sentence; the rest is then empty
    std::shared_ptr<const TextTables> tables;
    LatentSemantics space;        // of the counts
    Matrix<double> by_topics;     // cosines in it
    std::vector<bool> in_topics;  // false for a document that no topic touches: it has no direction, not even its own
    TravelPlan plan;

    Index documents() const { return tables ? static_cast<Index>(tables->lines.size()) : 0; }
    /// "not in these 2 topics" where one of the two documents is not in them, else nothing.
    std::string outside_topics(Cell pair) const;
    const PlacedWords& words_of(Index document) const { return tables->placed.at(static_cast<std::size_t>(document)); }
};

/// One side of a cosine: a_w * b_w / (|a| |b|).
struct CosinePart {
    Index word = 0;
    double a = 0, b = 0, share = 0;
};
/// The words both rows have, the largest share first; shares add up to the cosine.
std::vector<CosinePart> cosine_parts(const Matrix<double>& rows, Cell pair);

/// Where something flows, the most costly first; flow * distance adds up to the plan's distance.
std::vector<Travel> travels(const WordMovers& movers);

/// Answers questions, and keeps what the next one is likely to need again.
class TextStudies {
public:
    /// Never throws: a refusal becomes TextStudy::error.  nullptr where poll_work() ended it.  One call at a time.
    std::shared_ptr<const TextStudy> answer(const TextQuery& query);

private:
    std::shared_ptr<const TextTables> tables_;
    TextQuery asked_;  // what they answer
    std::uint64_t serial_ = 0;
};

}  // namespace locus
