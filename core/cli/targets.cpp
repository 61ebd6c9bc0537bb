#include "core/cli/targets.h"

#include <algorithm>

namespace locus::cli {

void predict_masks(ModelInput& input) {
    if (input.mask_positions.empty()) return;
    const Index batch = input.batch(), length = input.length();
    std::vector<std::vector<Index>> places(static_cast<std::size_t>(batch));
    for (Index n = 0; n < input.mask_positions.extent(0); ++n)
        places[static_cast<std::size_t>(input.mask_positions[2 * n])].push_back(input.mask_positions[2 * n + 1]);
    std::size_t most = 0;
    for (const std::vector<Index>& of_sample : places) most = std::max(most, of_sample.size());
    const auto targets = static_cast<Index>(most);
    input.perm_mask = IndexTensor({batch, length, length});
    input.target_mapping = IndexTensor({batch, targets, length});
    for (Index b = 0; b < batch; ++b) {
        const std::vector<Index>& of_sample = places[static_cast<std::size_t>(b)];
        for (std::size_t p = 0; p < of_sample.size(); ++p) {
            input.perm_mask.matrix(b).col(of_sample[p]).setOnes();
            input.target_mapping.matrix(b)(static_cast<Index>(p), of_sample[p]) = 1;
        }
    }
}

namespace {

/// Where the pieces of a word stand in the text.
std::vector<Index> find_word(const ModelInput& input, const std::string& word, const Tokenizer& tokenizer) {
    const Tokens encoded = tokenizer.encode(word);
    std::vector<std::int64_t> pieces;
    for (std::size_t n = 0; n < encoded.ids.size(); ++n)
        if (!encoded.special[n]) pieces.push_back(encoded.ids[n]);
    const auto& tokens = input.tokens.values();
    const auto found = std::search(tokens.begin(), tokens.end(), pieces.begin(), pieces.end());
    LOCUS_CHECK(!pieces.empty() && found != tokens.end(),
                "--order names \"" + word + "\", expected words of the text separated by commas");
    std::vector<Index> places;
    for (std::size_t n = 0; n < pieces.size(); ++n) places.push_back(found - tokens.begin() + static_cast<Index>(n));
    return places;
}

}  // namespace

std::vector<Index> predict_in_order(ModelInput& input, const std::vector<std::string>& words,
                                    const Tokenizer& tokenizer) {
    LOCUS_CHECK(input.batch() == 1, "--order goes with one text");
    std::vector<Index> order;
    for (const std::string& word : words)
        for (const Index place : find_word(input, word, tokenizer)) {
            LOCUS_CHECK(std::find(order.begin(), order.end(), place) == order.end(),
                        "--order names \"" + word + "\" twice, expected every word once");
            order.push_back(place);
        }
    const Index length = input.length(), targets = std::ssize(order);
    input.perm_mask = IndexTensor({1, length, length});
    input.target_mapping = IndexTensor({1, targets, length});
    for (Index p = 0; p < targets; ++p) {
        const Index place = order[static_cast<std::size_t>(p)];
        input.perm_mask.matrix().col(place).setOnes();
        for (Index later = p + 1; later < targets; ++later)
            input.perm_mask.matrix()(order[static_cast<std::size_t>(later)], place) = 0;
        input.target_mapping.matrix()(p, place) = 1;
    }
    return order;
}

}  // namespace locus::cli
