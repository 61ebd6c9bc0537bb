#include "core/conformance/kit/token_labels.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/io/model_request.h"
#include "core/io/safetensors.h"
#include "core/json_text.h"
#include "core/stages.h"
#include "core/text/tokenizers/tokenizer.h"

namespace locus::conformance {

namespace {

using Samples = std::vector<std::vector<std::string>>;

/// [["a","new"]] or [[6,56]] under this key of a file's metadata; empty for anything else.
Samples lists_in(const std::string& file, const std::string& key) {
    Samples samples;
    try {
        for (const auto& [name, value] : open_safetensors(file).metadata) {
            if (name != key) continue;
            const nlohmann::json lists = parse_json(value, key);
            if (!lists.is_array()) return {};
            for (const nlohmann::json& list : lists) {
                std::vector<std::string>& words = samples.emplace_back();
                if (!list.is_array()) return {};
                for (const nlohmann::json& word : list) {
                    if (!word.is_string() && !word.is_number_integer()) return {};
                    words.push_back(word.is_string() ? word.get<std::string>() : word.dump());
                }
            }
        }
    } catch (const Error&) {  // no safetensors file, or metadata of somebody else's: then there are no names
        return {};
    }
    return samples;
}

/// Pieces as a person reads them; of a model without a tokenizer they were recorded as ids.
RecordedTokens as_read(Samples pieces) {
    bool in_words = false;
    for (std::vector<std::string>& sample : pieces)
        for (std::string& piece : sample) {
            if (const std::string shown = display_piece(piece); !shown.empty()) piece = shown;
            in_words = in_words || piece.find_first_not_of("0123456789") != std::string::npos;
        }
    return {std::move(pieces), in_words};
}

/// The tokenizer that lies with the model; nullptr where there is none that can be read, as names are no verdict.
std::unique_ptr<Tokenizer> tokenizer_of(const std::string& folder) {
    if (folder.empty()) return nullptr;
    try {
        return open_tokenizer(folder);
    } catch (const Error&) {
        return nullptr;
    }
}

/// Is there an axis that has one place per token?
bool fits(const ShownStage& shown, std::size_t tokens) {
    for (std::size_t axis = 0; axis < shown.axes.size() && axis < shown.expected.shape().size(); ++axis)
        if (shown.axes[axis].starts_with('T') && shown.expected.shape()[axis] == static_cast<Index>(tokens))
            return true;
    return false;
}

}  // namespace

RecordedTokens recorded_tokens(const std::string& reference_file, const std::string& candidate_file) {
    const Samples ids = lists_in(reference_file, "tokens"), ids_of_candidate = lists_in(candidate_file, "tokens");
    if (Samples pieces = lists_in(reference_file, "pieces"); !pieces.empty()) return as_read(std::move(pieces));
    if (ids.empty() || ids_of_candidate.empty() || ids == ids_of_candidate)
        if (Samples pieces = lists_in(candidate_file, "pieces"); !pieces.empty()) return as_read(std::move(pieces));
    return {ids.empty() ? ids_of_candidate : ids, false};
}

void name_tokens(ShownStage& shown, const StageVerdict& verdict, const std::vector<ModelInput>& segments,
                 const std::string& model_folder, const RecordedTokens& recorded) {
    if (shown.axes.empty() || shown.axes.front() != "B" || verdict.worst_index.empty()) return;
    const Index sample = verdict.worst_index.front();
    const auto segment = static_cast<std::size_t>(segment_of(verdict.name));
    const bool is_given = segment < segments.size() && sample < segments[segment].batch();
    const auto tokenizer = is_given ? tokenizer_of(model_folder) : nullptr;
    if (!tokenizer && sample < std::ssize(recorded.samples)) {
        const std::vector<std::string>& named = recorded.samples[static_cast<std::size_t>(sample)];
        // Recorded are the tokens of all segments together, which says nothing of one of several.
        if (fits(shown, named.size()) && (!is_given || segments[segment].length() == std::ssize(named))) {
            shown.tokens = named;
            shown.in_words = recorded.in_words;
            return;
        }
    }
    if (!is_given) return;
    const ModelInput& input = segments[segment];
    for (Index t = 0; t < input.length(); ++t)
        shown.tokens.push_back(readable_piece(tokenizer.get(), input.tokens[sample * input.length() + t]));
    shown.in_words = tokenizer != nullptr;
}

}  // namespace locus::conformance
