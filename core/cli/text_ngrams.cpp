// locus text ngrams, next and suggest: neighbours, of words and of characters.
#include <iostream>
#include <memory>

#include "core/cli/program.h"
#include "core/cli/text_commands.h"
#include "core/cli/text_options.h"
#include "core/text/statistics/ngrams.h"
#include "core/text/statistics/words.h"
#include "core/text/text_table.h"

namespace locus::cli {

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

TextCommand add_ngrams(const CLI::App& app, CLI::App& command) {
    const auto options = add_common<NgramOptions>(command);
    command.add_option("-n", options->n, "how many in a row")->check(CLI::Range(1, 1000000))->capture_default_str();
    command.add_flag("--characters", options->characters, "characters instead of words; white space counts as one");
    options->top = 20;
    add_top(command, *options, "how many n-grams");
    return [&app, options] {
        const Corpus corpus = read_corpus(app, options->corpus);
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

TextCommand add_next_word(const CLI::App& app, CLI::App& command) {
    auto words = std::make_shared<std::string>();
    command.add_option("words", *words, "the words in front, e.g. \"how are\"")->required();
    const auto options = add_common<NgramOptions>(command);
    add_top(command, *options, "how many words");
    return [&app, words, options] {
        const Document context = words_of(*words, options->corpus.keep_case);
        const Corpus corpus = read_corpus(app, options->corpus);
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

TextCommand add_suggestions(const CLI::App& app, CLI::App& command) {
    auto word = std::make_shared<std::string>();
    command.add_option("word", *word, "the word in doubt")->required();
    const auto options = add_common<NgramOptions>(command);
    command.add_option("-n", options->n, "characters in a row")->check(CLI::Range(1, 1000))->capture_default_str();
    add_top(command, *options, "how many words");
    return [&app, word, options] {
        const Document asked = words_of(*word, options->corpus.keep_case);
        LOCUS_CHECK(asked.size() == 1, "\"" + *word + "\" is " + std::to_string(asked.size()) + " words, expected one");
        const std::vector<Counted> known = known_words(read_corpus(app, options->corpus));
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
