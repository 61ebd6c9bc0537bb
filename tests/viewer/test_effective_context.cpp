// How far back a vector knows: as counted, and as the model itself shows when one word is changed.
#include "viewer/plots/effective_context.h"

#include <catch2/catch.hpp>

#include "core/io/checkpoint.h"
#include "core/models/transformer_xl.h"

namespace locus::test::test_effective_context {

TEST_CASE("effective context: grows by a segment with every layer", "[viewer][transformer-xl][golden]") {
    // Segments of 3, memory 3, the last token of the fifth segment: 3 + 2, and 3 more with each layer.
    CHECK(oldest_known(14, 4, 3, 3) == std::vector<Index>{14, 9, 6, 3, 0});
    CHECK(oldest_known(14, 4, 3, 0) == std::vector<Index>{14, 12, 12, 12, 12});
    CHECK(oldest_known(14, 3, 3, 1) == std::vector<Index>{14, 11, 8, 5});
    CHECK(oldest_known(2, 3, 3, 3) == std::vector<Index>{2, 0, 0, 0});
    CHECK_THROWS_WITH(oldest_known(2, 3, 0, 3), Catch::Contains("segments of at least 1"));
}

TEST_CASE("effective context: a changed word shows exactly where it is within reach", "[viewer][transformer-xl][law]") {
    const Checkpoint files = open_checkpoint(resolve_model("tiny-txl"));
    for (const Index memory : {1, 2, 3}) {
        TransformerXlConfig config = parse_transformer_xl_config(files.config_json, "config.json");
        config.mem_len = memory;
        const TransformerXl<float> model(config, files.weights);
        constexpr Index kSegment = 2, kSegments = 6, kLast = kSegment * kSegments - 1;
        const auto outputs = [&](Index changed) {
            std::vector<ModelInput> segments(kSegments);
            for (Index s = 0; s < kSegments; ++s) {
                segments[s].tokens = IndexTensor({1, kSegment});
                for (Index t = 0; t < kSegment; ++t) {
                    const Index at = s * kSegment + t;
                    segments[s].tokens[t] = (7 * at) % 60 + (at == changed ? 3 : 2);
                }
            }
            return model.forward(segments, Dialect::official, StageFilter("segment.5.layer.*.output"));
        };
        const Trace before = outputs(-1);
        const std::vector<Index> oldest = oldest_known(kLast, model.sizes().layers, kSegment, memory);
        for (Index changed = 0; changed <= kLast; ++changed) {
            const Trace after = outputs(changed);
            for (Index layer = 1; layer <= model.sizes().layers; ++layer) {
                const std::string name = "segment.5.layer." + std::to_string(layer - 1) + ".output";
                const bool same = before.at(name).as<float>().rows().row(kSegment - 1) ==
                                  after.at(name).as<float>().rows().row(kSegment - 1);
                INFO("memory " << memory << ", layer " << layer << ", word " << changed);
                CHECK(same == (changed < oldest[static_cast<std::size_t>(layer)]));
            }
        }
    }
}

}  // namespace locus::test::test_effective_context
