// locus text similar and lsa: documents beside each other.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/cli/many_lines.h"
#include "core/cli/program.h"
#include "core/cli/text_commands.h"
#include "core/io/input_file.h"
#include "core/text/corpus/small_corpus.h"
#include "core/text/statistics/similarity.h"
#include "core/text/statistics/tf_idf.h"
#include "core/text/statistics/word_movers.h"
#include "core/text/text_table.h"

namespace locus::cli {

namespace {

constexpr std::size_t kMostCompared = 5000;    // their matrix takes 200 MB
constexpr std::size_t kMostMoved = 1000;       // half a million transports
constexpr Index kMostDecomposed = 20'000'000;  // values of the document-term matrix, 160 MB

struct ComparingOptions : CommonOptions {
    std::string by = "tfidf", measure = "cosine";
    Index topics = 2;
};

void add_weights(Command& command, ComparingOptions& options) {
    command.option("--by", options.by, "what a document is made of: counts, tf (shares), tfidf")
        .one_of({"counts", "tf", "tfidf"})
        .shows_default();
}

SparseRows weights_of(const BagOfWords& bag, const std::string& by) {
    if (by == "counts") return bag.counts;
    return by == "tf" ? term_frequencies(bag.counts) : tf_idf(bag.counts);
}

struct Couple {
    std::size_t a, b;
    double value;
};

/// All pairs of documents, the most alike first.
std::vector<Couple> couples_of(const Matrix<double>& values, bool small_is_alike) {
    std::vector<Couple> couples;
    for (Index a = 0; a < values.rows(); ++a)
        for (Index b = a + 1; b < values.cols(); ++b)
            couples.push_back({static_cast<std::size_t>(a), static_cast<std::size_t>(b), values(a, b)});
    std::stable_sort(couples.begin(), couples.end(), [&](const Couple& left, const Couple& right) {
        return small_is_alike ? left.value < right.value : left.value > right.value;
    });
    return couples;
}

int print_similar(const Corpus& corpus, const ComparingOptions& options) {
    LOCUS_CHECK(corpus.size() >= 2, "one document, expected two or more to compare");
    if (corpus.size() > kMostCompared)
        throw Error(Fault::unsupported, std::to_string(corpus.size()) + " documents, at most " +
                                            std::to_string(kMostCompared) + " are compared at once");
    const SparseRows weights = weights_of(bag_of_words(corpus.documents), options.by);
    const bool cosine = options.measure == "cosine";
    std::vector<Couple> couples =
        couples_of(cosine ? cosine_similarities(weights) : euclidean_distances(weights), !cosine);
    keep_top(couples, options.top);
    Rows rows = {{"document", "document", options.measure}};
    Json pairs = Json::array();
    for (const Couple& couple : couples) {
        rows.push_back({corpus.names[couple.a], corpus.names[couple.b], format_number(couple.value)});
        pairs.push_back({{"a", corpus.names[couple.a]}, {"b", corpus.names[couple.b]}, {"value", couple.value}});
    }
    print(options, {{"by", options.by}, {"measure", options.measure}, {"pairs", pairs}}, rows, {false, false, true});
    return 0;
}

/// Words of one topic, the heaviest first, whatever their sign.
std::vector<Index> heaviest_words(const LatentSemantics& space, Index topic, Index top) {
    std::vector<Index> words(static_cast<std::size_t>(space.words.rows()));
    std::iota(words.begin(), words.end(), 0);
    std::stable_sort(words.begin(), words.end(), [&](Index a, Index b) {
        return std::abs(space.words(a, topic)) > std::abs(space.words(b, topic));
    });
    keep_top(words, top);
    return words;
}

int print_topics(const Corpus& corpus, const ComparingOptions& options) {
    const BagOfWords bag = bag_of_words(corpus.documents);
    if (bag.counts.rows() > kMostDecomposed / bag.counts.cols())
        throw Error(Fault::unsupported, std::to_string(bag.counts.rows()) + " documents of " +
                                            std::to_string(bag.counts.cols()) +
                                            " words are too many to decompose at once, expected at most " +
                                            std::to_string(kMostDecomposed) + " pairs of both");
    const Matrix<double> weights = weights_of(bag, options.by);
    const LatentSemantics space = latent_semantics(weights, options.topics);
    Rows topic_rows = {{"topic", "strength", "share", "words"}}, document_rows = {{"document"}};
    std::vector<bool> document_numbers(static_cast<std::size_t>(options.topics) + 1, true);
    document_numbers[0] = false;
    Json topics = Json::array(), documents = Json::array();
    for (Index topic = 0; topic < options.topics; ++topic) {
        std::string shown;
        Json words = Json::array();
        for (const Index word : heaviest_words(space, topic, options.top)) {
            const double weight = space.words(word, topic);
            shown += (shown.empty() ? "" : ", ") + bag.words.word(word) + " " + format_number(weight);
            words.push_back({{"word", bag.words.word(word)}, {"weight", weight}});
        }
        topic_rows.push_back({std::to_string(topic + 1), format_number(space.strengths[topic]),
                              format_number(space.shares[topic]), shown});
        topics.push_back({{"strength", space.strengths[topic]}, {"share", space.shares[topic]}, {"words", words}});
        document_rows[0].push_back("topic " + std::to_string(topic + 1));
    }
    for (Index row = 0; row < space.documents.rows(); ++row) {
        const std::string& name = corpus.names[static_cast<std::size_t>(row)];
        document_rows.push_back({name});
        for (Index topic = 0; topic < options.topics; ++topic)
            document_rows.back().push_back(format_number(space.documents(row, topic)));
        const RowVector<double> place = space.documents.row(row);
        documents.push_back({{"name", name}, {"place", std::vector<double>(place.begin(), place.end())}});
    }
    if (options.json)
        print({{"by", options.by}, {"topics", topics}, {"documents", documents}});
    else
        std::cout << text_table(topic_rows, {true, true, true, false}) << '\n'
                  << text_table(document_rows, document_numbers);
    return 0;
}

}  // namespace

TextCommand add_similarity(const Command& program, Command& command) {
    const auto options = add_common<ComparingOptions>(command);
    add_weights(command, *options);
    command.option("--measure", options->measure, "cosine, or euclid (a distance: small is alike)")
        .one_of({"cosine", "euclid"})
        .shows_default();
    options->top = 20;
    add_top(command, *options, "how many pairs");
    return [&program, options] { return print_similar(read_corpus(program, options->corpus), *options); };
}

TextCommand add_latent_semantics(const Command& program, Command& command) {
    const auto options = add_common<ComparingOptions>(command);
    add_weights(command, *options);
    command.option("--topics", options->topics, "how many topics, at most as many as documents and as words")
        .within(1, 1000000)
        .shows_default();
    options->top = 5;
    add_top(command, *options, "how many words of a topic");
    return [&program, options] { return print_topics(read_corpus(program, options->corpus), *options); };
}

// locus text wmd: how far words must travel from one document to another.

namespace {

struct MoverOptions : CommonOptions {
    std::string vectors;
};

WordVectors read_needed(const std::string& file, const Corpus& corpus) {
    WordList wanted;
    for (const Document& document : corpus.documents)
        for (const std::string& word : document) wanted.add(word);
    const std::string name = printable(file);
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored))
        throw Error(Fault::unreadable, name + ": is a folder, expected a file of word vectors");
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw Error(Fault::unreadable, name + ": cannot be opened: " + std::strerror(errno));
    return read_word_vectors(stream, name, wanted);
}

/// Every document with the vectors of its words; one warning names those that have none.  `file` is empty where the
/// vectors were learned here.
std::vector<PlacedWords> place_all(const Command& program, const Corpus& corpus, const std::string& file) {
    const WordVectors vectors = file.empty() ? learn_word_vectors(corpus.documents) : read_needed(file, corpus);
    std::vector<PlacedWords> placed;
    for (std::size_t n = 0; n < corpus.size(); ++n) {
        placed.push_back(place_words(corpus.documents[n], vectors));
        LOCUS_CHECK(!placed[n].words.empty(), corpus.names[n] + ": none of its words has a vector in " +
                                                  printable(file) + ", expected one or more");
        const std::vector<std::string>& unknown = placed[n].unknown;
        if (unknown.empty()) continue;
        std::string list;
        for (std::size_t word = 0; word < std::min<std::size_t>(unknown.size(), 10); ++word)
            list += (word ? ", " : "") + unknown[word];
        say(program, "warning: " + corpus.names[n] + ": words without a vector are left out: " + list +
                         (unknown.size() > 10 ? " and " + std::to_string(unknown.size() - 10) + " more" : ""));
    }
    return placed;
}

struct Move {
    std::string from, to;
    double share, distance;
};

/// What travels, the most costly first.
std::vector<Move> moves_of(const WordMovers& movers, const PlacedWords& a, const PlacedWords& b) {
    std::vector<Move> moves;
    for (Index i = 0; i < movers.flow.rows(); ++i)
        for (Index j = 0; j < movers.flow.cols(); ++j)
            if (movers.flow(i, j) > 0)
                moves.push_back({a.words[static_cast<std::size_t>(i)].text, b.words[static_cast<std::size_t>(j)].text,
                                 movers.flow(i, j), movers.costs(i, j)});
    std::stable_sort(moves.begin(), moves.end(), [](const Move& left, const Move& right) {
        return left.share * left.distance > right.share * right.distance;
    });
    return moves;
}

int print_movers(const Command& program, const MoverOptions& options) {
    const Corpus corpus = read_corpus(program, options.corpus);
    LOCUS_CHECK(corpus.size() >= 2, "one document, expected two or more to compare");
    if (corpus.size() > kMostMoved)
        throw Error(Fault::unsupported, std::to_string(corpus.size()) + " documents, at most " +
                                            std::to_string(kMostMoved) + " are compared at once");
    const std::vector<PlacedWords> placed = place_all(program, corpus, options.vectors);
    CountProgress progress(program, placed.size() * (placed.size() - 1) / 2, "pairs");
    Rows rows = {{"document", "document", "distance", "relaxed", "from left", "from right", "centroids"}};
    Rows move_rows = {{"from", "to", "share", "distance", "cost"}};
    Json pairs = Json::array();
    for (std::size_t a = 0; a < placed.size(); ++a)
        for (std::size_t b = a + 1; b < placed.size(); ++b) {
            const WordMovers movers = word_movers_distance(placed[a], placed[b]);
            const RelaxedWordMovers relaxed = relaxed_word_movers_distance(placed[a], placed[b]);
            const double centroids = centroid_distance(placed[a], placed[b]);
            rows.push_back({corpus.names[a], corpus.names[b], format_number(movers.distance),
                            format_number(relaxed.larger()), format_number(relaxed.from_a),
                            format_number(relaxed.from_b), format_number(centroids)});
            Json plan = Json::array();
            for (const Move& move : moves_of(movers, placed[a], placed[b])) {
                plan.push_back(
                    {{"from", move.from}, {"to", move.to}, {"share", move.share}, {"distance", move.distance}});
                if (placed.size() == 2)
                    move_rows.push_back({move.from, move.to, format_number(move.share), format_number(move.distance),
                                         format_number(move.share * move.distance)});
            }
            pairs.push_back({{"a", corpus.names[a]},
                             {"b", corpus.names[b]},
                             {"distance", movers.distance},
                             {"relaxed", relaxed.larger()},
                             {"relaxed_from_a", relaxed.from_a},
                             {"relaxed_from_b", relaxed.from_b},
                             {"centroids", centroids},
                             {"plan", plan}});
            progress.done(pairs.size());
        }
    if (options.json) {
        print({{"pairs", pairs}});
        return 0;
    }
    std::cout << text_table(rows, {false, false, true, true, true, true, true});
    if (placed.size() == 2) std::cout << '\n' << text_table(move_rows, {false, false, true, true, true});
    return 0;
}

}  // namespace

TextCommand add_word_movers(const Command& program, Command& command) {
    const auto options = add_common<MoverOptions>(command);
    command
        .option("--vectors", options->vectors,
                "word vectors, word2vec's or GloVe's text format; only the needed words are kept; without it they "
                "are learned from the documents and some built-in sentences")
        .not_empty();
    command.footer(
        "relaxed: every word goes to its nearest one, however many others go there; the larger of both directions, "
        "never\n"
        "above the distance.  Two documents also show what travels where.  Usually taken with --stop-words english.\n"
        "Learned vectors (no --vectors) have seen few sentences: enough to compare short texts, not more.");
    return [&program, options] { return print_movers(program, *options); };
}

}  // namespace locus::cli
