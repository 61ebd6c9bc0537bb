#include "core/cli/text_commands.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unordered_set>

#include "core/cli/program.h"
#include "core/io/input_file.h"
#include "core/text/corpus/text_file.h"
#include "core/text/statistics/words.h"
#include "core/text/text_table.h"

namespace locus::cli {

void add_top(Command& command, CommonOptions& options, const std::string& what) {
    command.option("--top", options.top, what + "; 0 for all").within(0, 1000000000).shows_default();
}

void print(const Json& json) { std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n'; }

void print(const CommonOptions& options, const Json& json, const Rows& rows, const std::vector<bool>& numbers) {
    if (options.json)
        print(json);
    else
        std::cout << text_table(rows, numbers);
}

namespace {

std::string read_bytes_of(const std::string& file) {
    if (file == "-") return read_all(std::cin, "standard input");
    const std::string name = printable(file);
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored))
        throw Error(Fault::unreadable, name + ": is a folder, expected a text file");
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw Error(Fault::unreadable, name + ": cannot be opened: " + std::strerror(errno));
    return read_all(stream, name);
}

std::vector<std::string> split_lines(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        lines.push_back(std::move(line));
    }
    return lines;
}

std::unordered_set<std::string> read_stop_words(const Command& program, const CorpusRequest& request) {
    if (request.stop_words.empty()) return {};
    if (request.stop_words == "english") return english_stop_words();
    const Document words = split_words(normalise_text(read_text(program, request.stop_words), request.keep_case));
    return {words.begin(), words.end()};
}

/// Adds one document; false if there is not one word in it.
bool add_document(Corpus& corpus, const std::string& name, const std::string& text, const CorpusRequest& request) {
    std::string normalised = normalise_text(text, request.keep_case);
    Document words = split_words(normalised);
    if (words.empty()) return false;
    corpus.names.push_back(name);
    corpus.texts.push_back(std::move(normalised));
    corpus.documents.push_back(std::move(words));
    return true;
}

void add_file(const Command& program, Corpus& corpus, const std::string& file, const CorpusRequest& request) {
    const std::string text = read_text(program, file), name = file == "-" ? "standard input" : printable(file);
    const std::size_t before = corpus.size();
    if (request.lines || (request.files.size() == 1 && !request.whole)) {
        const std::vector<std::string> lines = split_lines(text);
        for (std::size_t n = 0; n < lines.size(); ++n)
            add_document(corpus, name + ":" + std::to_string(n + 1), lines[n], request);
    } else {
        add_document(corpus, name, text, request);
    }
    if (corpus.size() == before) throw Error(Fault::unreadable, name + ": has no words, expected text");
}

}  // namespace

namespace {

void add_corpus_options(Command& command, CorpusRequest& request) {
    command.option("files", request.files,
                   "text files; a single one has a document per line, several have one each; - reads the standard "
                   "input");
    command.option("--text", request.texts, "a document given here; may be repeated").one_value_each();
    const Option lines = command.flag("--lines", request.lines, "every line of every file is a document");
    command.flag("--whole", request.whole, "every file is one document, also a single one").excludes(lines);
    command.flag("--keep-case", request.keep_case, "\"Car\" and \"car\" are two words");
    command.option("--stop-words", request.stop_words, "leave these words out: \"english\", or a file of words")
        .not_empty();
}

}  // namespace

void add_common(Command& command, CommonOptions& options) {
    add_corpus_options(command, options.corpus);
    command.flag("--json", options.json, "print JSON");
}

std::string read_text(const Command& program, const std::string& file) {
    const std::string bytes = read_bytes_of(file), name = file == "-" ? "standard input" : printable(file);
    check_not_utf16(bytes, name);
    // A byte order mark is no part of the first word.
    RepairedText repaired = repair_utf8(bytes.starts_with("\xEF\xBB\xBF") ? bytes.substr(3) : bytes);
    if (repaired.replaced > 0)
        say(program, "warning: " + name + ": " + std::to_string(repaired.replaced) +
                         (repaired.replaced == 1 ? " place is" : " places are") + " not UTF-8, read as U+FFFD");
    return std::move(repaired.text);
}

Corpus read_corpus(const Command& program, const CorpusRequest& request) {
    LOCUS_CHECK(!request.files.empty() || !request.texts.empty(), "no documents, expected files or --text");
    Corpus corpus;
    for (const std::string& file : request.files) add_file(program, corpus, file, request);
    for (std::size_t n = 0; n < request.texts.size(); ++n) {
        const RepairedText repaired = repair_utf8(request.texts[n]);
        const std::string name = "text " + std::to_string(n + 1);
        if (repaired.replaced > 0)
            say(program, "warning: " + name + ": " + std::to_string(repaired.replaced) +
                             (repaired.replaced == 1 ? " place is" : " places are") + " not UTF-8, read as U+FFFD");
        LOCUS_CHECK(add_document(corpus, name, repaired.text, request), name + ": has no words, expected text");
    }
    const std::unordered_set<std::string> unwanted = read_stop_words(program, request);
    // The built-in words are in lower case and meant in any; those of a file are meant as they are written.
    const bool any_case = request.keep_case && request.stop_words == "english";
    for (Document& document : corpus.documents)
        std::erase_if(document, [&](const std::string& word) {
            return unwanted.contains(any_case ? normalise_text(word) : word);
        });
    LOCUS_CHECK(std::any_of(corpus.documents.begin(), corpus.documents.end(),
                            [](const Document& document) { return !document.empty(); }),
                "the documents hold stop words only, expected others too");
    return corpus;
}

}  // namespace locus::cli
