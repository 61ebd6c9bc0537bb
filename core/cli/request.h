#pragma once
// From --model, --text, --tokens, --mask, --input to a model and its input.
#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/io/checkpoint.h"
#include "core/models/deberta.h"
#include "core/text/tokenizer.h"

namespace locus::cli {

/// The text with U+FFFD in place of bytes that are not UTF-8; one line on stderr says how many there were.
std::string readable_text(const CLI::App& app, const std::string& text);

/// What the user asked for.
struct Request {
    std::string model = "tiny-v3";
    std::vector<std::string> texts;
    std::string tokens, mask;  // "1,2,3"
    std::string input_file;
};

/// The input, and what is needed to talk about it.
struct PreparedInput {
    ModelInput input;
    std::vector<std::string> ignored;  // names in the input file that this family does not use
};

/// One or several texts, padded to the longest on the side the tokenizer says, with a mask where lengths differ and the
/// places of [MASK].  Throws Error(usage) for empty text, and for different lengths where there is no padding token.
ModelInput input_of_texts(const std::vector<std::string>& texts, const Tokenizer& tokenizer);

/// Input from exactly one of texts, tokens, input_file.  Throws Error(usage) if none or several are given, a list is
/// not one of whole numbers, or the text is empty; Error(unreadable) for a damaged input file.
PreparedInput prepare_input(const Request& request, const std::filesystem::path& folder);

/// Opens the model of a folder.
template <class Scalar>
Deberta<Scalar> open_deberta(const Checkpoint& checkpoint) {
    return Deberta<Scalar>(parse_deberta_config(checkpoint.config_json, checkpoint.config_file.string()),
                           checkpoint.weights);
}

}  // namespace locus::cli
