// locus text wmd: how far words must travel from one document to another.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "core/cli/program.h"
#include "core/cli/text_commands.h"
#include "core/cli/text_options.h"
#include "core/io/printable.h"
#include "core/text/statistics/word_movers.h"
#include "core/text/text_table.h"

namespace locus::cli {

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

/// Every document where its words lie; says which words lie nowhere.
std::vector<PlacedWords> place_all(const CLI::App& app, const Corpus& corpus, const WordVectors& vectors,
                                   const std::string& file) {
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
        say(app, "warning: " + corpus.names[n] + ": words without a vector are left out: " + list +
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

int print_movers(const CLI::App& app, const MoverOptions& options) {
    const Corpus corpus = read_corpus(app, options.corpus);
    LOCUS_CHECK(corpus.size() >= 2, "one document, expected two or more to compare");
    const std::vector<PlacedWords> placed =
        place_all(app, corpus, read_needed(options.vectors, corpus), options.vectors);
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

TextCommand add_word_movers(const CLI::App& app, CLI::App& command) {
    const auto options = add_common<MoverOptions>(command);
    command
        .add_option("--vectors", options->vectors,
                    "word vectors, word2vec's or GloVe's text format; only the needed words are kept")
        ->check(not_empty())
        ->required();
    command.footer(
        "relaxed: every word goes to its nearest one, whoever else goes there; the larger of both ways, never above "
        "the\n"
        "distance.  Two documents also show what travels where.  Usually taken with --stop-words english.");
    return [&app, options] { return print_movers(app, *options); };
}

}  // namespace locus::cli
