// locus text bow and tfidf: how often each word occurs, and what that says.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/cli/program.h"
#include "core/cli/text_commands.h"
#include "core/text/statistics/ngrams.h"
#include "core/text/statistics/tf_idf.h"
#include "core/text/statistics/words.h"
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
    const std::string base = options.idf == "scikit-learn" ? "e" : options.base;  // which that form takes in any case
    print(options, {{"idf", options.idf}, {"log", base}, {"documents", documents}}, rows,
          {false, false, true, true, true, true});
    return 0;
}

}  // namespace

TextCommand add_bag_of_words(const Command& program, Command& command) {
    const auto options = add_common<CountingOptions>(command);
    return [&program, options] {
        const Corpus corpus = read_corpus(program, options->corpus);
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

TextCommand add_tf_idf(const Command& program, Command& command) {
    const auto options = add_common<CountingOptions>(command);
    command
        .option("--idf", options->idf,
                "plain log(N/df), as-printed log(N/df + 1), df-plus-one log(N/(df + 1)), scikit-learn "
                "ln((N + 1)/(df + 1)) + 1")
        .one_of({"plain", "as-printed", "df-plus-one", "scikit-learn"})
        .shows_default();
    command.option("--log", options->base, "base of the logarithm: 10, e, 2 (scikit-learn: always e)")
        .one_of({"10", "e", "2"})
        .shows_default();
    add_top(command, *options, "how many words of each document");
    return [&program, options] { return print_tf_idf(read_corpus(program, options->corpus), *options); };
}

// locus text ngrams, next and suggest: neighbours, of words and of characters.

namespace {

struct NgramOptions : CommonOptions {
    Index n = 2;
    bool characters = false;
};

/// The corpus as words only, most frequent first.
std::vector<Counted> known_words(const Corpus& corpus) {
    Document all;
    for (const Document& document : corpus.documents) all.insert(all.end(), document.begin(), document.end());
    return count_each(all);
}

/// A word that the user gave, spelt as the corpus is.
Document words_of(const std::string& text, bool keep_case) {
    return split_words(normalise_text(repair_utf8(text).text, keep_case));
}

}  // namespace

TextCommand add_ngrams(const Command& program, Command& command) {
    const auto options = add_common<NgramOptions>(command);
    command.option("-n", options->n, "how many in a row").within(1, 1000000).shows_default();
    command.flag("--characters", options->characters, "characters instead of words; white space counts as one");
    options->top = 20;
    add_top(command, *options, "how many n-grams");
    return [&program, options] {
        const Corpus corpus = read_corpus(program, options->corpus);
        std::vector<std::string> grams;
        for (std::size_t n = 0; n < corpus.size(); ++n)
            for (std::string& gram : options->characters ? character_ngrams(corpus.texts[n], options->n)
                                                         : word_ngrams(corpus.documents[n], options->n))
                grams.push_back(std::move(gram));
        std::vector<Counted> counted = count_each(grams);
        const std::size_t distinct = counted.size();
        sort_by_count(counted);
        keep_top(counted, options->top);
        Rows rows = {{"n-gram", "count", "share"}};
        Json list = Json::array();
        for (const Counted& one : counted) {
            const double share = static_cast<double>(one.count) / static_cast<double>(grams.size());
            const std::string shown = options->characters ? "\"" + one.text + "\"" : one.text;
            rows.push_back({shown, std::to_string(one.count), format_number(share)});
            list.push_back({{"text", one.text}, {"count", one.count}, {"share", share}});
        }
        print(*options, {{"n", options->n}, {"total", grams.size()}, {"distinct", distinct}, {"ngrams", list}}, rows,
              {false, true, true});
        return 0;
    };
}

TextCommand add_next_word(const Command& program, Command& command) {
    auto words = std::make_shared<std::string>();
    command.option("words", *words, "the words in front, e.g. \"how are\"; \"\" for the shares of single words")
        .required();
    const auto options = add_common<NgramOptions>(command);
    add_top(command, *options, "how many words");
    return [&program, words, options] {
        const Document context = words_of(*words, options->corpus.keep_case);
        LOCUS_CHECK(words->empty() || !context.empty(),
                    "\"" + *words + "\" is 0 words, expected one or more, or \"\" for the shares of single words");
        const Corpus corpus = read_corpus(program, options->corpus);
        const NextWordTable following(corpus.documents, static_cast<Index>(context.size()) + 1);
        std::vector<NextWord> next = following.after(context);
        LOCUS_CHECK(!next.empty(), "nothing follows \"" + *words + "\" in these documents");
        keep_top(next, options->top);
        Rows rows = {{"next", "count", "probability"}};
        Json list = Json::array();
        for (const NextWord& one : next) {
            rows.push_back({one.word, std::to_string(one.count), format_number(one.probability)});
            list.push_back({{"word", one.word}, {"count", one.count}, {"probability", one.probability}});
        }
        print(*options, {{"after", context}, {"next", list}}, rows, {false, true, true});
        return 0;
    };
}

TextCommand add_suggestions(const Command& program, Command& command) {
    auto word = std::make_shared<std::string>();
    command.option("word", *word, "the word in doubt").required();
    const auto options = add_common<NgramOptions>(command);
    command.option("-n", options->n, "characters in a row").within(1, 1000).shows_default();
    add_top(command, *options, "how many words");
    return [&program, word, options] {
        const Document asked = words_of(*word, options->corpus.keep_case);
        LOCUS_CHECK(asked.size() == 1, "\"" + *word + "\" is " + std::to_string(asked.size()) + " words, expected one");
        const std::vector<Counted> known = known_words(read_corpus(program, options->corpus));
        const std::vector<std::string> unknown = unknown_ngrams(asked[0], known, options->n);
        std::vector<Suggestion> suggestions = suggest_words(asked[0], known, options->n);
        keep_top(suggestions, options->top);
        Rows rows = {{"word", "similarity", "count"}};
        Json list = Json::array();
        for (const Suggestion& one : suggestions) {
            rows.push_back({one.word, format_number(one.similarity), std::to_string(one.count)});
            list.push_back({{"word", one.word}, {"similarity", one.similarity}, {"count", one.count}});
        }
        if (options->json) {
            print({{"word", asked[0]}, {"unknown", unknown}, {"suggestions", list}});
            return 0;
        }
        std::string never;
        for (const std::string& gram : unknown) never += (never.empty() ? "" : " ") + gram;
        if (!unknown.empty()) std::cout << "in no known word: " << never << '\n';
        std::cout << (suggestions.empty() ? "no known word shares anything with it\n"
                                          : text_table(rows, {false, true, true}));
        return 0;
    };
}

}  // namespace locus::cli
