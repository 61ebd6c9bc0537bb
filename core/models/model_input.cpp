#include "core/models/model_input.h"

namespace locus {

namespace {

void check_ids(const IndexTensor& ids, const char* what, std::int64_t limit, const char* limit_name) {
    for (Index n = 0; n < ids.size(); ++n)
        LOCUS_CHECK(ids[n] >= 0 && ids[n] < limit, std::string(what) + " holds " + std::to_string(ids[n]) +
                                                       ", expected ids from 0 to " + limit_name +
                                                       " - 1 = " + std::to_string(limit - 1));
}

void check_like_tokens(const IndexTensor& values, const char* what, const Shape& expected) {
    LOCUS_CHECK(values.empty() || values.shape() == expected, std::string(what) + " has shape " +
                                                                  to_string(values.shape()) + ", expected " +
                                                                  to_string(expected) + " like tokens");
}

void check_mask(const IndexTensor& mask, const Shape& tokens) {
    const Shape square = {tokens[0], tokens[1], tokens[1]};
    LOCUS_CHECK(mask.empty() || mask.shape() == tokens || mask.shape() == square,
                "mask has shape " + to_string(mask.shape()) + ", expected " + to_string(tokens) + " like tokens, or " +
                    to_string(square));
    for (Index n = 0; n < mask.size(); ++n)
        LOCUS_CHECK(mask[n] == 0 || mask[n] == 1,
                    "mask holds " + std::to_string(mask[n]) + ", expected 0 (hidden) or 1 (visible)");
}

}  // namespace

void check_input(const ModelInput& input, Index vocab_size, Index type_vocab_size) {
    LOCUS_CHECK(input.tokens.rank() == 2 && !input.tokens.empty(),
                "tokens has shape " + to_string(input.tokens.shape()) + ", expected [B, T] with at least one token");
    const Shape shape = input.tokens.shape();
    check_ids(input.tokens, "tokens", vocab_size, "vocab_size");
    check_like_tokens(input.token_types, "token_types", shape);
    check_like_tokens(input.labels, "labels", shape);
    if (type_vocab_size > 0) check_ids(input.token_types, "token_types", type_vocab_size, "type_vocab_size");
    check_ids(input.labels, "labels", vocab_size, "vocab_size");
    check_mask(input.mask, shape);
    const Shape& places = input.mask_positions.shape();
    LOCUS_CHECK(input.mask_positions.empty() || (places.size() == 2 && places[1] == 2),
                "mask_positions has shape " + to_string(places) + ", expected [N, 2]: a sample and a token of it");
    for (Index n = 0; n < input.mask_positions.size(); n += 2)
        LOCUS_CHECK(input.mask_positions[n] >= 0 && input.mask_positions[n] < shape[0] &&
                        input.mask_positions[n + 1] >= 0 && input.mask_positions[n + 1] < shape[1],
                    "mask_positions holds (" + std::to_string(input.mask_positions[n]) + ", " +
                        std::to_string(input.mask_positions[n + 1]) + "), expected a place inside " + to_string(shape));
}

void check_flags(const IndexTensor& values, const std::string& what, const Shape& expected) {
    LOCUS_CHECK(values.empty() || values.shape() == expected,
                what + " has shape " + to_string(values.shape()) + ", expected " + to_string(expected));
    for (Index n = 0; n < values.size(); ++n)
        LOCUS_CHECK(values[n] == 0 || values[n] == 1,
                    what + " holds " + std::to_string(values[n]) + ", expected 0 or 1");
}

std::vector<Mask> pair_masks(const ModelInput& input) {
    const Index length = input.length();
    std::vector<Mask> masks(static_cast<std::size_t>(input.batch()));
    if (input.mask.empty()) return masks;
    for (Index b = 0; b < input.batch(); ++b) {
        Mask& mask = masks[static_cast<std::size_t>(b)];
        mask.resize(length, length);
        for (Index i = 0; i < length; ++i)
            for (Index j = 0; j < length; ++j)
                mask(i, j) = input.mask.rank() == 3
                                 ? input.mask[(b * length + i) * length + j] != 0
                                 : input.mask[b * length + i] != 0 && input.mask[b * length + j] != 0;
    }
    return masks;
}

std::vector<Mask> key_masks(const ModelInput& keys, Index queries, bool causal) {
    const Index length = keys.length();
    std::vector<Mask> masks(static_cast<std::size_t>(keys.batch()));
    if (keys.mask.empty() && !causal) return masks;
    const auto visible = [&](Index b, Index i, Index j) {
        if (keys.mask.empty()) return true;
        return keys.mask[keys.mask.rank() == 3 ? (b * length + i) * length + j : b * length + j] != 0;
    };
    for (Index b = 0; b < keys.batch(); ++b) {
        Mask& mask = masks[static_cast<std::size_t>(b)];
        mask.resize(queries, length);
        for (Index i = 0; i < queries; ++i)
            for (Index j = 0; j < length; ++j) mask(i, j) = (!causal || j <= i) && visible(b, i, j);
    }
    return masks;
}

template <class Scalar>
RowVector<Scalar> visible_tokens(const ModelInput& input) {
    if (input.mask.empty()) return {};
    const Index batch = input.batch(), length = input.length();
    RowVector<Scalar> visible = RowVector<Scalar>::Zero(batch * length);
    const Index queries = input.mask.rank() == 3 ? length : 1;
    for (Index b = 0; b < batch; ++b)
        for (Index i = 0; i < queries; ++i)
            for (Index j = 0; j < length; ++j)
                if (input.mask[(b * queries + i) * length + j] != 0) visible[b * length + j] = 1;
    return visible;
}

template RowVector<float> visible_tokens<float>(const ModelInput&);
template RowVector<double> visible_tokens<double>(const ModelInput&);

}  // namespace locus
