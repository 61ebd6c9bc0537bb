// A pass in steps against the whole pass.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/random_model.h"
#include "viewer/data/deberta_steps.h"

namespace locus::test::test_deberta_steps {

namespace {

std::vector<std::pair<std::string, DebertaConfig>> configs() {
    std::vector<std::pair<std::string, DebertaConfig>> all;
    for (const char* name : {"plain", "convolution", "c2p alone", "p2c alone", "shared keys", "absolute positions"}) {
        DebertaConfig config = small_config();
        const std::string one = name;
        if (one == "convolution") config.conv_kernel_size = 3;
        if (one == "c2p alone") config.terms.p2c = false;
        if (one == "p2c alone") config.terms.c2p = false;
        config.share_att_key = one == "shared keys";
        config.position_biased_input = one == "absolute positions";
        all.emplace_back(one, config);
    }
    return all;
}

ModelInput masked_input() {
    ModelInput input = tokens_input({1, 5, 4, 9, 12, 7, 2});
    input.mask_positions = IndexTensor({2, 2}, {0, 2, 0, 4});
    return input;
}

DebertaOptions options_with(MaskDecoder decoder) {
    DebertaOptions options = DebertaOptions::of(Dialect::official);
    options.decoder = decoder;
    return options;
}

/// Whether two traces hold the same stages in the same order, to the last bit.
bool same(const Trace& a, const Trace& b) {
    if (a.names() != b.names()) return false;
    for (const Stage& stage : a.stages()) {
        const Stage& other = b.at(stage.name);
        if (other.shape() != stage.shape()) return false;
        for (Index n = 0; n < stage.size(); ++n)
            if (other.at(n) != stage.at(n)) return false;
    }
    return true;
}

}  // namespace

TEST_CASE("deberta_steps: every stage is that of the whole pass, to the last bit", "[deberta][law]") {
    const ModelInput input = masked_input();
    int compared = 0;
    for (const auto& [name, config] : configs())
        for (const MaskDecoder decoder : {MaskDecoder::none, MaskDecoder::official, MaskDecoder::pre_norm}) {
            const auto weights = random_weights(config, 4);
            if (name == "plain") add_classifier(*weights, config.hidden_size);
            const Deberta<float> model(config, weights);
            const DebertaOptions options = options_with(decoder);
            std::vector<std::string> wanted = model.stage_names(input, options);
            wanted.insert(wanted.end(), {"*", "layer.1.*", "layer.?.output"});
            for (const std::string& stages : wanted) {
                INFO(name << ", decoder " << static_cast<int>(decoder) << ", stages " << stages);
                DebertaSteps<float> steps(model, input, options, StageFilter(stages));
                while (steps.step()) ++compared;
                CHECK(same(model.forward(input, options, StageFilter(stages)), steps.trace()));
                CHECK_FALSE(steps.step());
            }
        }
    CHECK(compared > 1000);
}

TEST_CASE("deberta_steps: a layer is several steps, and the pass says where it is", "[deberta]") {
    const Deberta<float> model(small_config(), random_weights(small_config(), 4));
    DebertaSteps<float> steps(model, masked_input(), options_with(MaskDecoder::official));
    std::vector<Index> said;
    int count = 0;
    do {
        if (said.empty() || said.back() != steps.layer()) said.push_back(steps.layer());
        ++count;
    } while (steps.step());
    CHECK(said == std::vector<Index>{1, 2, 3});
    CHECK(count > 12);
}

TEST_CASE("deberta_steps: no further than to the last stage that is wanted", "[deberta]") {
    const Deberta<float> model(small_config(), random_weights(small_config(), 4));
    const auto count_of = [&](const char* stages) {
        DebertaSteps<float> steps(model, masked_input(), options_with(MaskDecoder::none), StageFilter(stages));
        int count = 0;
        while (steps.step()) ++count;
        return count;
    };
    CHECK(count_of("embeddings.output") == 1);
    CHECK(count_of("layer.0.q") < count_of("layer.1.q"));
    CHECK(count_of("layer.1.q") < count_of("mlm.logits"));
}

TEST_CASE("deberta_steps: what the whole pass refuses is refused before any step", "[deberta]") {
    const Deberta<float> model(small_config(), random_weights(small_config(), 4));
    const DebertaOptions options = options_with(MaskDecoder::official);
    CHECK_THROWS_AS(DebertaSteps<float>(model, masked_input(), options, StageFilter("layer.9.q")), Error);
    CHECK_THROWS_AS(DebertaSteps<float>(model, tokens_input({1, 99}), options), Error);
    const ModelInput longer = tokens_input(std::vector<std::int64_t>(17, 3));  // the absolute table has 16 rows
    CHECK_THROWS_AS(DebertaSteps<float>(model, longer, options), Error);
}

}  // namespace locus::test::test_deberta_steps
