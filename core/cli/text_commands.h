#pragma once
// What the commands of locus text share: from files and --text to documents of words, the options that every command
// has, and how results are printed; then the commands, one function each.
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "core/text/statistics/words.h"

namespace locus::cli {

class Command;

struct CorpusRequest {
    std::vector<std::string> files, texts;
    bool lines = false, whole = false, keep_case = false;
    std::string stop_words;  // empty, "english", or a file
};

struct Corpus {
    std::vector<std::string> names;   // "a.txt", "a.txt:3", "text 1"
    std::vector<std::string> texts;   // normalised
    std::vector<Document> documents;  // their words, without stop words

    std::size_t size() const { return documents.size(); }
};

/// Reads everything.  A single file has one document per line, several have one each; lines without a word are no
/// documents.  What is not UTF-8 becomes U+FFFD and is reported as a warning of `program`.
/// Throws Error(usage) if nothing was given or no word is left, Error(unreadable) for a file that cannot be read, is
/// UTF-16 or has no word, Error(unsupported) for one above 1 GiB.
Corpus read_corpus(const Command& program, const CorpusRequest& request);

/// A file's text in UTF-8, "-" for standard input; repairs and refuses as above.
std::string read_text(const Command& program, const std::string& file);

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

struct CommonOptions {
    CorpusRequest corpus;
    Index top = 10;
    bool json = false;
};

/// FILE..., --text, --lines, --whole, --keep-case, --stop-words and --json of a command.
void add_common(Command& command, CommonOptions& options);

/// The options of a command, a struct that extends CommonOptions, with the common ones added.
template <class Options>
std::shared_ptr<Options> add_common(Command& command) {
    auto options = std::make_shared<Options>();
    add_common(command, *options);
    return options;
}

void add_top(Command& command, CommonOptions& options, const std::string& what);

/// The first `top` items, all for 0.
template <class Item>
void keep_top(std::vector<Item>& items, Index top) {
    if (top > 0 && static_cast<Index>(items.size()) > top) items.resize(static_cast<std::size_t>(top));
}

/// On standard output; names of files that are not UTF-8 lose what is not.
void print(const Json& json);

/// A heading and its rows as a table, or the JSON.
void print(const CommonOptions& options, const Json& json, const Rows& rows, const std::vector<bool>& numbers);

/// What a command does once its options are parsed; returns the exit status.
using TextCommand = std::function<int()>;

// Each adds the command's options and returns what it does with them.  `program` is locus text itself: warnings carry
// its name.
TextCommand add_bag_of_words(const Command& program, Command& command);
TextCommand add_tf_idf(const Command& program, Command& command);
TextCommand add_ngrams(const Command& program, Command& command);
TextCommand add_next_word(const Command& program, Command& command);
TextCommand add_suggestions(const Command& program, Command& command);
TextCommand add_similarity(const Command& program, Command& command);
TextCommand add_latent_semantics(const Command& program, Command& command);
TextCommand add_word_movers(const Command& program, Command& command);
TextCommand add_skip_gram(const Command& program, Command& command);
TextCommand add_prediction_order(const Command& program, Command& command);

}  // namespace locus::cli
