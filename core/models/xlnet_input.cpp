// From perm_mask, target_mapping and input_mask to what each stream of each sample sees.
#include "core/models/xlnet_pass.h"

#include <numeric>

#include "core/positions/position_rows.h"

namespace locus {

void check_xlnet_input(const ModelInput& input, const XlnetConfig& config) {
    ModelInput plain = input;
    plain.labels = {};  // one per target here
    check_input(plain, config.vocab_size, 0);
    const Index batch = input.batch(), length = input.length();
    LOCUS_CHECK(input.mask.rank() != 3, "mask has shape " + to_string(input.mask.shape()) +
                                            ", expected [B, T]; who sees whom is said by perm_mask");
    LOCUS_CHECK(input.mask.empty() || input.input_mask.empty(),
                "both mask (1 = visible) and input_mask (1 = padding) are given, expected one of them");
    check_flags(input.input_mask, "input_mask", {batch, length});
    check_flags(input.perm_mask, "perm_mask", {batch, length, length});
    const IndexTensor& mapping = input.target_mapping;
    LOCUS_CHECK(mapping.empty() || (mapping.rank() == 3 && mapping.extent(0) == batch && mapping.extent(2) == length),
                "target_mapping has shape " + to_string(mapping.shape()) + ", expected [" + std::to_string(batch) +
                    ", P, " + std::to_string(length) + "]");
    const Shape targets = mapping.empty() ? input.tokens.shape() : Shape{batch, mapping.extent(1)};
    LOCUS_CHECK(input.labels.empty() || input.labels.shape() == targets,
                "labels has shape " + to_string(input.labels.shape()) + ", expected " + to_string(targets) +
                    ", one per target");
    LOCUS_CHECK(!config.bi_data || batch % 2 == 0,
                "the batch has " + std::to_string(batch) +
                    " samples, expected an even number: with bi_data the second half is reversed text");
}

Mask permutation_of(const ModelInput& input, Index b) {
    if (input.perm_mask.empty()) return {};
    return input.perm_mask.matrix(b).cast<std::uint8_t>();
}

std::vector<bool> padding_of(const ModelInput& input, Index b) {
    std::vector<bool> padding;
    const bool says_visible = !input.mask.empty();
    const IndexTensor& marks = says_visible ? input.mask : input.input_mask;
    if (marks.empty()) return padding;
    for (Index t = 0; t < input.length(); ++t) padding.push_back((marks[b * input.length() + t] != 0) != says_visible);
    return padding;
}

template <class Scalar>
typename Xlnet<Scalar>::Pass Xlnet<Scalar>::prepare(const ModelInput& input, Index memory,
                                                    const XlnetOptions& options) const {
    const Index length = input.length(), keys = memory + length;
    Pass pass;
    pass.options = options;
    pass.memory = memory;
    const auto rows = [&](bool reversed) {
        return sinusoidal_rows<Scalar>(xlnet_distances(length, keys, config_.direction, config_.clamp_len, reversed),
                                       config_.d_model, SinusoidLayout::concatenated);
    };
    pass.r = rows(false);
    if (config_.bi_data) pass.r_backward = rows(true);
    std::vector<Index> all(static_cast<std::size_t>(length));
    std::iota(all.begin(), all.end(), Index(0));
    for (Index b = 0; b < input.batch(); ++b) {
        TwoStreamMasks masks = two_stream_masks(
            length, {memory, config_.direction, config_.same_length, permutation_of(input, b), padding_of(input, b)});
        pass.tokens.push_back(all);
        if (!input.token_types.empty()) {
            const auto* first = input.token_types.data() + b * length;
            pass.types.emplace_back(first, first + length);
        }
        if (!input.target_mapping.empty()) {
            pass.targets.push_back(target_positions(input.target_mapping.matrix(b).template cast<double>()));
            Mask rows_of_targets(std::ssize(pass.targets.back()), keys);
            for (Index p = 0; p < rows_of_targets.rows(); ++p) {
                const Index token = pass.targets.back()[static_cast<std::size_t>(p)];
                if (token >= 0)
                    rows_of_targets.row(p) = masks.query.row(token);
                else
                    rows_of_targets.row(p).setZero();
            }
            pass.query.push_back(std::move(rows_of_targets));
        }
        pass.content.push_back(std::move(masks.content));
    }
    return pass;
}

template Xlnet<float>::Pass Xlnet<float>::prepare(const ModelInput&, Index, const XlnetOptions&) const;
template Xlnet<double>::Pass Xlnet<double>::prepare(const ModelInput&, Index, const XlnetOptions&) const;

}  // namespace locus
