#pragma once
// From --model, --text, --tokens, --mask, --input, --segment to a model and its input.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/io/checkpoint.h"
#include "core/models/deberta.h"
#include "core/models/model.h"
#include "core/text/tokenizers/tokenizer.h"

namespace CLI {
class App;
}

namespace locus::cli {

/// The text with U+FFFD in place of bytes that are not UTF-8; one line on stderr says how many there were.
std::string readable_text(const CLI::App& app, const std::string& text);

/// What the user asked for.
struct Request {
    std::string model = "tiny-v3";
    std::vector<std::string> texts;
    std::string tokens, mask, labels;  // "1,2,3"
    std::string input_file;
    Index segment = 0;  // tokens per segment, memory handed on; 0: all in one
};

/// The input, and what is needed to talk about it.
struct PreparedInput {
    std::vector<ModelInput> segments;
    std::vector<std::string> ignored;  // names in the input file that this family does not use
};

/// One or several texts, padded to the longest on the side the tokenizer says, with a mask where lengths differ and the
/// places of [MASK]; in XLNet these become targets of the query stream, hidden from everyone.
/// Throws Error(usage) for empty text, and for different lengths where there is no padding token.
ModelInput input_of_texts(const std::vector<std::string>& texts, const Tokenizer& tokenizer, Family family);

/// Input from exactly one of texts, tokens, input_file.  Throws Error(usage) if none or several are given, a list is
/// not one of whole numbers, the text is empty, or several segments are asked of a family without memory;
/// Error(unreadable) for a damaged input file.
PreparedInput prepare_input(const Request& request, const std::filesystem::path& folder, Family family,
                            const std::vector<std::string>& input_names);

/// Cuts one sample into segments of `length` tokens.  Throws Error(usage) for a batch, or targets, or a mask.
std::vector<ModelInput> cut_segments(const ModelInput& input, Index length);

/// Opens the model of a folder, whichever family it is; `compute` does the arithmetic of its passes.
template <class Scalar>
std::unique_ptr<Model<Scalar>> open_model_of(const Checkpoint& checkpoint,
                                             const Operations<Scalar>& compute = cpu_operations<Scalar>()) {
    return open_model<Scalar>(checkpoint.config_json, checkpoint.config_file.string(), checkpoint.weights, compute);
}

/// Opens a DeBERTa, for options that only it has.
template <class Scalar>
Deberta<Scalar> open_deberta(const Checkpoint& checkpoint,
                             const Operations<Scalar>& compute = cpu_operations<Scalar>()) {
    return Deberta<Scalar>(parse_deberta_config(checkpoint.config_json, checkpoint.config_file.string()),
                           checkpoint.weights, compute);
}

}  // namespace locus::cli
