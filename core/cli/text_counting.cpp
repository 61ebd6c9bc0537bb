// locus text bow and tfidf: how often each word occurs, and what that says.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>

#include "core/cli/program.h"
#include "core/cli/text_commands.h"
#include "core/cli/text_options.h"
#include "core/text/statistics/tf_idf.h"
#include "core/text/text_table.h"

namespace locus::cli {

namespace {

constexpr std::size_t kMostColumns = 8;  // more documents than this are listed one below the other

struct CountingOptions : CommonOptions {
    std::string idf = "plain", base = "10";
};

/// A count in full: six digits would round a million.
std::string whole(double count) { return std::to_string(static_cast<Index>(count)); }

Rows counts_as_rows(const BagOfWords& bag, const std::vector<std::string>& names) {
    Rows rows;
    if (names.size() > kMostColumns) {
        rows.push_back({"document", "word", "count"});
        for (Index row = 0; row < bag.counts.rows(); ++row)
            for (SparseRows::InnerIterator cell(bag.counts, row); cell; ++cell)
                rows.push_back({names[static_cast<std::size_t>(row)], bag.words.word(cell.col()), whole(cell.value())});
        return rows;
    }
    rows.push_back({"word"});
    rows.front().insert(rows.front().end(), names.begin(), names.end());
    const Matrix<double> counts = bag.counts;
    for (Index word = 0; word < counts.cols(); ++word) {
        rows.push_back({bag.words.word(word)});
        for (Index row = 0; row < counts.rows(); ++row) rows.back().push_back(whole(counts(row, word)));
    }
    return rows;
}

struct Weight {
    Index word;
    double count, tf, idf, tf_idf;
};

/// The words of one document, the most telling first.
std::vector<Weight> weights_of(const SparseRows& counts, const SparseRows& tf, const RowVector<double>& idf,
                               Index document) {
    std::vector<Weight> weights;
    SparseRows::InnerIterator count(counts, document);
    for (SparseRows::InnerIterator cell(tf, document); cell; ++cell, ++count)
        weights.push_back({cell.col(), count.value(), cell.value(), idf[cell.col()], cell.value() * idf[cell.col()]});
    std::stable_sort(weights.begin(), weights.end(),
                     [](const Weight& a, const Weight& b) { return a.tf_idf > b.tf_idf; });
    return weights;
}

int print_tf_idf(const Corpus& corpus, const CountingOptions& options) {
    static const std::map<std::string, Idf> forms = {{"plain", Idf::plain},
                                                     {"as-printed", Idf::as_printed},
                                                     {"df-plus-one", Idf::df_plus_one},
                                                     {"scikit-learn", Idf::scikit_learn}};
    static const std::map<std::string, LogBase> bases = {
        {"10", LogBase::ten}, {"e", LogBase::natural}, {"2", LogBase::two}};
    const BagOfWords bag = bag_of_words(corpus.documents);
    const RowVector<double> idf =
        inverse_document_frequencies(bag.counts, forms.at(options.idf), bases.at(options.base));
    const SparseRows tf = term_frequencies(bag.counts);
    Rows rows = {{"document", "word", "count", "tf", "idf", "tf-idf"}};
    Json documents = Json::array();
    for (std::size_t document = 0; document < corpus.size(); ++document) {
        std::vector<Weight> weights = weights_of(bag.counts, tf, idf, static_cast<Index>(document));
        keep_top(weights, options.top);
        Json words = Json::array();
        for (const Weight& weight : weights) {
            const std::string& word = bag.words.word(weight.word);
            rows.push_back({corpus.names[document], word, whole(weight.count), format_number(weight.tf),
                            format_number(weight.idf), format_number(weight.tf_idf)});
            words.push_back({{"word", word},
                             {"count", static_cast<Index>(weight.count)},
                             {"tf", weight.tf},
                             {"idf", weight.idf},
                             {"tf_idf", weight.tf_idf}});
        }
        documents.push_back({{"name", corpus.names[document]}, {"words", words}});
    }
    print(options, {{"idf", options.idf}, {"log", options.base}, {"documents", documents}}, rows,
          {false, false, true, true, true, true});
    return 0;
}

}  // namespace

TextCommand add_bag_of_words(const CLI::App& app, CLI::App& command) {
    const auto options = add_common<CountingOptions>(command);
    return [&app, options] {
        const Corpus corpus = read_corpus(app, options->corpus);
        const BagOfWords bag = bag_of_words(corpus.documents);
        if (!options->json) {
            const Rows rows = counts_as_rows(bag, corpus.names);
            std::vector<bool> numbers(rows.front().size(), true);
            numbers[0] = false;
            numbers[1] = corpus.size() <= kMostColumns;
            std::cout << text_table(rows, numbers);
            return 0;
        }
        Json documents = Json::array();
        for (Index row = 0; row < bag.counts.rows(); ++row) {
            Json counts = Json::object();
            for (SparseRows::InnerIterator cell(bag.counts, row); cell; ++cell)
                counts[bag.words.word(cell.col())] = static_cast<Index>(cell.value());
            documents.push_back({{"name", corpus.names[static_cast<std::size_t>(row)]}, {"counts", counts}});
        }
        print({{"words", bag.words.words()}, {"documents", documents}});
        return 0;
    };
}

TextCommand add_tf_idf(const CLI::App& app, CLI::App& command) {
    const auto options = add_common<CountingOptions>(command);
    command
        .add_option("--idf", options->idf,
                    "plain log(N/df), as-printed log(N/df + 1), df-plus-one log(N/(df + 1)), scikit-learn "
                    "ln((N + 1)/(df + 1)) + 1")
        ->check(CLI::IsMember({"plain", "as-printed", "df-plus-one", "scikit-learn"}))
        ->capture_default_str();
    command.add_option("--log", options->base, "base of the logarithm: 10, e, 2 (scikit-learn: always e)")
        ->check(CLI::IsMember({"10", "e", "2"}))
        ->capture_default_str();
    add_top(command, *options, "how many words of each document");
    return [&app, options] { return print_tf_idf(read_corpus(app, options->corpus), *options); };
}

}  // namespace locus::cli
