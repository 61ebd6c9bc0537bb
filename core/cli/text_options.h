#pragma once
// What the commands of locus text share: the options every one has, and how results are printed.
#include <CLI/CLI.hpp>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/cli/corpus.h"
#include "core/tensor.h"

namespace locus::cli {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

struct CommonOptions {
    CorpusRequest corpus;
    Index top = 10;
    bool json = false;
};

/// The options of a command, a struct that extends CommonOptions, with those of the corpus and --json added.
template <class Options>
std::shared_ptr<Options> add_common(CLI::App& command) {
    auto options = std::make_shared<Options>();
    add_corpus_options(command, options->corpus);
    command.add_flag("--json", options->json, "print JSON");
    return options;
}

void add_top(CLI::App& command, CommonOptions& options, const std::string& what);

/// The first `top` items, all for 0.
template <class Item>
void keep_top(std::vector<Item>& items, Index top) {
    if (top > 0 && static_cast<Index>(items.size()) > top) items.resize(static_cast<std::size_t>(top));
}

/// On standard output; names of files that are not UTF-8 lose what is not.
void print(const Json& json);

/// A heading and its rows as a table, or the JSON.
void print(const CommonOptions& options, const Json& json, const Rows& rows, const std::vector<bool>& numbers);

}  // namespace locus::cli
