#pragma once
// From files and --text to documents of words.
#include <string>
#include <vector>

#include "core/text/statistics/words.h"

namespace CLI {
class App;
}

namespace locus::cli {

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

/// FILE..., --text, --lines, --whole, --keep-case and --stop-words of a command.
void add_corpus_options(CLI::App& command, CorpusRequest& request);

/// Reads everything.  A single file has one document per line, several have one each; lines without a word are no
/// documents.  What is not UTF-8 becomes U+FFFD and is reported as a warning of `app`.
/// Throws Error(usage) if nothing was given or no word is left, Error(unreadable) for a file that cannot be read, is
/// UTF-16 or has no word, Error(unsupported) for one above 1 GiB.
Corpus read_corpus(const CLI::App& app, const CorpusRequest& request);

/// A file's text in UTF-8, "-" for standard input; repairs and refuses as above.
std::string read_text(const CLI::App& app, const std::string& file);

}  // namespace locus::cli
