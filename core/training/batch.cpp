#include "core/training/batch.h"

#include <string>

#include "core/models/deberta.h"

namespace locus {

namespace {

template <class Number>
void check_count(const std::vector<Number>& values, const char* what, std::size_t rows) {
    LOCUS_CHECK(values.empty() || values.size() == rows, "batch: " + std::string(what) + " has " +
                                                             std::to_string(values.size()) + " entries, expected " +
                                                             std::to_string(rows) + " like tokens");
}

void check_ids(const std::vector<std::int64_t>& ids, const char* what, Index vocab_size) {
    for (const std::int64_t id : ids)
        LOCUS_CHECK(id >= 0 && id < vocab_size,
                    "batch: " + std::string(what) + " holds " + std::to_string(id) +
                        ", expected ids from 0 to vocab_size - 1 = " + std::to_string(vocab_size - 1));
}

void check_starts(const PackedBatch& batch) {
    LOCUS_CHECK(batch.sentences() > 0 && batch.starts.front() == 0 && batch.starts.back() == batch.rows(),
                "batch: starts has " + std::to_string(batch.starts.size()) + " numbers" +
                    (batch.starts.empty() ? std::string()
                                          : ", from " + std::to_string(batch.starts.front()) + " to " +
                                                std::to_string(batch.starts.back())) +
                    ", expected from 0 to the " + std::to_string(batch.rows()) + " rows of tokens");
    for (Index b = 0; b < batch.sentences(); ++b)
        LOCUS_CHECK(batch.length(b) > 0, "batch: sentence " + std::to_string(b) + " has " +
                                             std::to_string(batch.length(b)) + " tokens, expected at least one");
}

}  // namespace

void check_batch(const PackedBatch& batch, Index vocab_size) {
    check_starts(batch);
    check_ids(batch.tokens, "tokens", vocab_size);
    check_ids(batch.labels, "labels", vocab_size);
    check_count(batch.labels, "labels", batch.tokens.size());
    check_count(batch.visible, "visible", batch.tokens.size());
    check_count(batch.types, "types", batch.tokens.size());
    LOCUS_CHECK(batch.masks.empty() || static_cast<Index>(batch.masks.size()) == batch.sentences(),
                "batch: there are " + std::to_string(batch.masks.size()) + " masks, expected one for each of the " +
                    std::to_string(batch.sentences()) + " sentences");
    for (Index b = 0; b < static_cast<Index>(batch.masks.size()); ++b) {
        const Mask& mask = batch.masks[static_cast<std::size_t>(b)];
        const Index length = batch.length(b);
        LOCUS_CHECK(mask.size() == 0 || (mask.rows() == length && mask.cols() == length),
                    "batch: the mask of sentence " + std::to_string(b) + " has shape " +
                        to_string({mask.rows(), mask.cols()}) + ", expected " + to_string({length, length}));
    }
}

PackedBatch packed_batch(const ModelInput& input) {
    PackedBatch batch;
    batch.tokens = input.tokens.values();
    batch.labels = input.labels.values();
    batch.types = input.token_types.values();
    for (Index b = 0; b <= input.batch(); ++b) batch.starts.push_back(b * input.length());
    if (input.mask.empty()) return batch;
    batch.masks = pair_masks(input);
    const RowVector<float> visible = visible_tokens<float>(input);
    for (const float one : visible) batch.visible.push_back(one != 0);
    return batch;
}

}  // namespace locus
