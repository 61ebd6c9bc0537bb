#include "core/cli/request.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/cli/program.h"
#include "core/io/safetensors.h"
#include "core/text/utf8.h"

namespace locus::cli {

namespace {

IndexTensor parse_list(const std::string& option, const std::string& text) {
    std::vector<std::int64_t> values;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t comma = std::min(text.find(',', from), text.size());
        std::int64_t value = 0;
        const char* end = text.data() + comma;
        const auto result = std::from_chars(text.data() + from, end, value);
        LOCUS_CHECK(result.ec == std::errc{} && result.ptr == end && comma > from,
                    option + " is \"" + text + "\", expected whole numbers separated by commas");
        values.push_back(value);
        from = comma + 1;
    }
    const auto count = static_cast<Index>(values.size());
    return {{1, count}, std::move(values)};
}

/// Where the tokens are [MASK], if the folder's tokenizer has one.
IndexTensor find_masks(const IndexTensor& tokens, std::optional<std::int64_t> mask_id) {
    std::vector<std::int64_t> places;
    for (Index n = 0; mask_id && n < tokens.size(); ++n)
        if (tokens[n] == *mask_id) {
            places.push_back(n / tokens.extent(1));
            places.push_back(n % tokens.extent(1));
        }
    const auto count = static_cast<Index>(places.size() / 2);
    return count == 0 ? IndexTensor() : IndexTensor({count, 2}, std::move(places));
}

PreparedInput read_input_file(const std::string& path) {
    PreparedInput prepared;
    const TensorFile file = open_safetensors(path);
    for (const TensorEntry& entry : file.entries) {
        IndexTensor* target = entry.name == "tokens"        ? &prepared.input.tokens
                              : entry.name == "mask"        ? &prepared.input.mask
                              : entry.name == "token_types" ? &prepared.input.token_types
                              : entry.name == "labels"      ? &prepared.input.labels
                                                            : nullptr;
        if (target)
            *target = read_tensor<std::int64_t>(entry);
        else
            prepared.ignored.push_back(entry.name);
    }
    if (prepared.input.tokens.rank() != 2)
        throw Error(Fault::unreadable,
                    path + ": " + (file.find("tokens") ? "tokens is not [B, T]" : "no tensor named tokens"));
    return prepared;
}

/// The tokenizer's mask id, or nothing where a folder has no tokenizer that Locus reads.
std::optional<std::int64_t> mask_id_of(const std::filesystem::path& folder) {
    try {
        return open_tokenizer(folder)->mask_id();
    } catch (const Error& error) {
        if (error.fault() == Fault::unsupported) return std::nullopt;
        throw;
    }
}

}  // namespace

std::string readable_text(const CLI::App& app, const std::string& text) {
    RepairedText repaired = repair_utf8(text);
    if (repaired.replaced > 0)
        say(app, "warning: the text is not UTF-8: " + std::to_string(repaired.replaced) +
                     (repaired.replaced == 1 ? " place" : " places") + " replaced by U+FFFD");
    return repaired.text;
}

ModelInput input_of_texts(const std::vector<std::string>& texts, const Tokenizer& tokenizer) {
    std::vector<Tokens> encoded;
    std::size_t longest = 0;
    for (const std::string& text : texts) {
        LOCUS_CHECK(text.find_first_not_of(" \t\r\n") != std::string::npos,
                    "the text is empty, expected at least one word");
        encoded.push_back(tokenizer.encode(text));
        longest = std::max(longest, encoded.back().ids.size());
    }
    for (const Tokens& tokens : encoded)
        LOCUS_CHECK(tokens.ids.size() == longest || tokenizer.pad_id(),
                    "the texts have " + std::to_string(tokens.ids.size()) + " and " + std::to_string(longest) +
                        " tokens and the model has no padding token, expected texts of one length");
    const Shape shape = {static_cast<Index>(texts.size()), static_cast<Index>(longest)};
    ModelInput input;
    input.tokens = IndexTensor(shape);
    IndexTensor mask(shape);
    bool padded = false;
    for (std::size_t b = 0; b < encoded.size(); ++b)
        for (std::size_t t = 0; t < longest; ++t) {
            const std::size_t padding = longest - encoded[b].ids.size();
            const std::size_t from = tokenizer.pads_left() ? t - padding : t;  // wraps round in front of the text
            const bool real = from < encoded[b].ids.size();
            const auto at = static_cast<Index>(b * longest + t);
            input.tokens[at] = real ? encoded[b].ids[from] : *tokenizer.pad_id();
            mask[at] = real;
            padded = padded || !real;
        }
    if (padded) input.mask = mask;
    input.mask_positions = find_masks(input.tokens, tokenizer.mask_id());
    return input;
}

PreparedInput prepare_input(const Request& request, const std::filesystem::path& folder) {
    const int given = int{!request.texts.empty()} + int{!request.tokens.empty()} + int{!request.input_file.empty()};
    LOCUS_CHECK(given == 1, "expected exactly one of --text, --tokens and --input, found " + std::to_string(given));
    LOCUS_CHECK(request.mask.empty() || !request.tokens.empty(), "--mask goes with --tokens only");
    if (!request.texts.empty()) return {input_of_texts(request.texts, *open_tokenizer(folder)), {}};
    PreparedInput prepared;
    if (!request.tokens.empty()) {
        prepared.input.tokens = parse_list("--tokens", request.tokens);
        if (!request.mask.empty()) prepared.input.mask = parse_list("--mask", request.mask);
    } else {
        prepared = read_input_file(request.input_file);
    }
    prepared.input.mask_positions = find_masks(prepared.input.tokens, mask_id_of(folder));
    return prepared;
}

}  // namespace locus::cli
