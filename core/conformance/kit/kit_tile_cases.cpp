// L1: texts longer than a tile of 8, 16, 32 or 64, no size a multiple of one: what a GPU's kernel does at its edges.
#include "core/conformance/kit/kit_own_parts.h"

namespace locus::conformance {

namespace {

constexpr Index kLength = 70, kWidth = 4;

CaseContent tile_case(const std::string& name, const RelativeBuckets& line, Index rows, const std::string& why,
                      nlohmann::ordered_json config) {
    const Index heads = 2;
    CaseContent content;
    content.id = "L1/" + name;
    content.why = why;
    content.source = computed_by_locus();
    content.config = std::move(config);
    content.config["terms"] = 3;
    content.config["head_width"] = kWidth;
    Numbers numbers(static_cast<std::uint64_t>(rows));
    for (const char* stem : {"layer.0.q", "layer.0.k", "layer.0.v"})
        content.inputs.add<double>(stem, numbers.tensor({1, heads, kLength, kWidth}));
    for (const char* stem : {"layer.0.k_r", "layer.0.q_r"})
        content.inputs.add<double>(stem, numbers.tensor({heads, rows, kWidth}));
    IndexTensor visible({1, kLength, kLength});
    for (Index n = 0; n < visible.size(); ++n) visible[n] = n % kLength < kLength - 3;
    content.inputs.add(mask_stage(std::move(visible)));
    content.reference.add<std::int64_t>("relative.index", line.matrix());
    compute_own_terms(content, line);
    return content;
}

}  // namespace

std::vector<CaseContent> tile_cases() {
    const Index span = 37, buckets = 18, max_position = 64;
    return {tile_case("tiles_t70_k37", RelativeBuckets::clamped(kLength, kLength, span), 2 * span,
                      "Longer than a tile of 64, and than the span: far tiles are clamped, the last tile is not full.",
                      {{"span", span}}),
            tile_case("tiles_t70_b18",
                      RelativeBuckets::logarithmic(kLength, kLength, buckets, max_position, OffsetClamp::official),
                      2 * buckets, "The same with log buckets: a tile's rows are no run of the table.",
                      {{"position_buckets", buckets}, {"max_position", max_position}})};
}

}  // namespace locus::conformance
