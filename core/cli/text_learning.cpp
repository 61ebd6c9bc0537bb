// locus text vectors and order: what neighbours teach, and in which order words may be asked for.
#include <algorithm>
#include <charconv>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/cli/program.h"
#include "core/cli/text_commands.h"
#include "core/io/atomic_file.h"
#include "core/io/write_target.h"
#include "core/positions/factorisation_order.h"
#include "core/text/statistics/factorisation.h"
#include "core/text/statistics/similarity.h"
#include "core/text/statistics/skip_gram.h"
#include "core/text/statistics/words.h"
#include "core/text/text_table.h"

namespace locus::cli {

namespace {

struct LearningOptions : CommonOptions {
    SkipGramOptions training;
    std::string out;
};

/// word2vec's text format, every number so that it reads back as the same one.
void write_vectors(const std::string& file, const WordVectors& vectors) {
    write_atomic_file(file, [&](const ByteSink& write) {
        std::string line = std::to_string(vectors.vectors.rows()) + " " + std::to_string(vectors.vectors.cols()) + "\n";
        write(line.data(), line.size());
        for (Index row = 0; row < vectors.vectors.rows(); ++row) {
            line = vectors.words.word(row);
            for (const double value : vectors.vectors.row(row)) {
                char text[32];
                line += " " + std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
            }
            line += '\n';
            write(line.data(), line.size());
        }
    });
}

struct Neighbour {
    Index word;
    double cosine;
};

std::vector<Neighbour> nearest_to(Index word, const Matrix<double>& vectors, Index top) {
    std::vector<Neighbour> neighbours;
    for (Index other = 0; other < vectors.rows(); ++other)
        if (other != word)
            neighbours.push_back({other, cosine_similarity<double>(vectors.row(word), vectors.row(other))});
    std::stable_sort(neighbours.begin(), neighbours.end(),
                     [](const Neighbour& a, const Neighbour& b) { return a.cosine > b.cosine; });
    keep_top(neighbours, top);
    return neighbours;
}

int print_neighbours(const SkipGram& model, const LearningOptions& options) {
    Rows rows = {{"word", "nearest words, with their cosine"}};
    Json words = Json::array();
    for (Index word = 0; word < model.vectors.words.size(); ++word) {
        std::string shown;
        Json nearest = Json::array();
        for (const Neighbour& one : nearest_to(word, model.vectors.vectors, options.top)) {
            shown += (shown.empty() ? "" : ", ") + model.vectors.words.word(one.word) + " " + format_number(one.cosine);
            nearest.push_back({{"word", model.vectors.words.word(one.word)}, {"cosine", one.cosine}});
        }
        rows.push_back({model.vectors.words.word(word), shown});
        words.push_back({{"word", model.vectors.words.word(word)}, {"nearest", nearest}});
    }
    print(options, {{"losses", model.losses}, {"words", words}}, rows, {false, false});
    return 0;
}

/// "3,2,4,1"
std::vector<Index> parse_order(const std::string& text) {
    std::vector<Index> order;
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    while (true) {
        Index position = 0;
        const auto [stop, error] = std::from_chars(at, end, position);
        LOCUS_CHECK(error == std::errc() && (stop == end || *stop == ','),
                    "the order is \"" + text + "\", expected whole numbers with commas between, such as 3,2,4,1");
        order.push_back(position);
        if (stop == end) return order;
        at = stop + 1;
    }
}

struct OrderOptions {
    std::string order, sentence;
    Index memory = 0;
    bool json = false;
};

int print_order(const OrderOptions& options) {
    const std::vector<Index> order = parse_order(options.order);
    check_order(order);
    std::vector<Index> from_zero;
    for (const Index position : order) from_zero.push_back(position - 1);
    const Visibility content_sees = content_visibility(from_zero), query_sees = query_visibility(from_zero);
    Document words = split_words(normalise_text(repair_utf8(options.sentence).text, true));
    if (options.sentence.empty())
        for (std::size_t n = 1; n <= order.size(); ++n) words.push_back("x" + std::to_string(n));
    Rows rows = {{"word", "content", "query"}};
    Json content = Json::array(), query = Json::array(), sentences = Json::array();
    LOCUS_CHECK(words.size() == order.size(), "the sentence has " + std::to_string(words.size()) +
                                                  " words and the order " + std::to_string(order.size()) +
                                                  " positions, expected as many");
    for (Index i = 0; i < content_sees.rows(); ++i) {
        const auto row_of = [&](const Visibility& sees) {
            std::vector<int> row(static_cast<std::size_t>(options.memory), 1);  // everyone sees the memory
            row.insert(row.end(), sees.row(i).begin(), sees.row(i).end());
            return row;
        };
        const auto digits = [](const std::vector<int>& row) {
            std::string text;
            for (const int one : row) text += one ? '1' : '0';
            return text;
        };
        rows.push_back({words[static_cast<std::size_t>(i)], digits(row_of(content_sees)), digits(row_of(query_sees))});
        content.push_back(row_of(content_sees));
        query.push_back(row_of(query_sees));
    }
    for (const Index target : order) sentences.push_back(describe_prediction(order, target, words, options.memory));
    if (options.json) {
        print({{"order", order}, {"content", content}, {"query", query}, {"sentences", sentences}});
        return 0;
    }
    std::cout << text_table(rows, {false, false, false}) << '\n';
    for (const Json& sentence : sentences) std::cout << sentence.get<std::string>() << '\n';
    return 0;
}

}  // namespace

TextCommand add_skip_gram(const Command& program, Command& command) {
    const auto options = add_common<LearningOptions>(command);
    SkipGramOptions& training = options->training;
    const auto size = [&](const char* name, Index& value, const char* what) {
        command.option(name, value, what).within(1, 1000000).shows_default();
    };
    size("--width", training.width, "numbers per word");
    size("--window", training.window, "neighbours on each side");
    size("--negatives", training.negatives, "words of noise per neighbour");
    size("--epochs", training.epochs, "times through the documents");
    command.option("--seed", training.seed, "where the random numbers begin").shows_default();
    command.option("--out", options->out, "write the vectors here, in word2vec's text format").not_empty();
    options->top = 3;
    add_top(command, *options, "how many neighbours of each word");
    return [&program, options] {
        check_apart({options->out}, options->corpus.files);
        const SkipGram model = train_skip_gram(read_corpus(program, options->corpus).documents, options->training);
        if (!options->out.empty()) write_vectors(options->out, model.vectors);
        return print_neighbours(model, *options);
    };
}

TextCommand add_prediction_order(const Command&, Command& command) {
    const auto options = std::make_shared<OrderOptions>();
    command.option("order", options->order, "positions as they are predicted, such as 3,2,4,1").required();
    command.option("--sentence", options->sentence, "the words that stand there");
    command.option("--memory", options->memory, "words of the segment before, which all see")
        .within(0, 100000)
        .shows_default();
    command.flag("--json", options->json, "print JSON");
    command.footer(
        "1 where the word of the row sees the word of the column; content sees itself, query must guess it.");
    return [options] { return print_order(*options); };
}

}  // namespace locus::cli
