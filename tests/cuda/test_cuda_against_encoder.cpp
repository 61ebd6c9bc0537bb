// The whole encoder that ours and others are given: numbers, files and the truth.  No device is needed.
#include <catch2/catch.hpp>

#include <fstream>
#include <set>

#include "core/io/safetensors.h"
#include "core/models/deberta.h"
#include "core/models/deberta_weights.h"
#include "cuda/fused/half_types.h"
#include "tests/bench/cuda/encoder_problem.h"
#include "tests/max_abs.h"
#include "tests/temporary_folder.h"

namespace locus::test::test_cuda_against_encoder {

using namespace locus::bench;
using nlohmann::ordered_json;

namespace {

const ordered_json kSmall = {{"num_hidden_layers", 2},       {"vocab_size", 50},        {"hidden_size", 24},
                             {"num_attention_heads", 3},     {"intermediate_size", 40}, {"position_buckets", 4},
                             {"max_position_embeddings", 16}};

}  // namespace

TEST_CASE("emulation: the encoder to compare is deberta-v3-base unless told otherwise", "[emulation]") {
    const EncoderProblem whole(1, 3);
    CHECK(whole.config().num_hidden_layers == 12);
    CHECK(whole.config().attention_head_size == 64);
    CHECK(whole.config().position_buckets == 256);
    CHECK(whole.config().max_relative_positions == 512);
    CHECK(whole.config().share_att_key);
    CHECK(whole.config().norm_rel_ebd);
    CHECK(whole.config().terms.c2p);
    CHECK(whole.config().terms.p2c);
    CHECK_FALSE(whole.config().position_biased_input);
    CHECK(*whole.weights()->shape("embeddings.word_embeddings.weight") == Shape{128100, 768});
    const EncoderProblem small(2, 9, kSmall);
    CHECK(small.config().attention_head_size == 8);
    CHECK(small.config().max_relative_positions == 16);
    CHECK(small.config_json()["hidden_size"] == 24);
    CHECK(small.config_json()["layer_norm_eps"] == whole.config_json()["layer_norm_eps"]);
}

TEST_CASE("emulation: its weights and ids lie in the files as they are here, in numbers that bfloat16 has",
          "[emulation]") {
    const EncoderProblem problem(2, 9, kSmall);
    const test::TemporaryFolder folder;
    const auto sums = problem.write(folder.path());
    const TensorFile file = open_safetensors(folder / "model.safetensors");
    const auto expected = expected_deberta_tensors(problem.config());
    CHECK(file.entries.size() == expected.size());
    CHECK(sums.size() == expected.size() + 1);
    std::set<float> firsts;
    for (const auto& [name, shape] : expected) {
        INFO(name);
        const TensorEntry* entry = file.find(name);
        REQUIRE(entry);
        CHECK(entry->shape == shape);
        const Tensor<float> stored = read_tensor<float>(*entry);
        const Matrix<float> here = problem.weights()->rows_f32(name, 0, shape.at(0));
        CHECK(std::equal(here.data(), here.data() + here.size(), stored.data(), stored.data() + stored.size()));
        CHECK(sums.at(name) == crc32(stored.data(), static_cast<std::size_t>(stored.size()) * sizeof(float)));
        for (Index n = 0; n < stored.size(); ++n) {
            CHECK(cuda::to_float(cuda::from_float<cuda::Bfloat16>(stored[n])) == stored[n]);
            CHECK(std::abs(stored[n] - (name.ends_with("LayerNorm.weight") ? 1 : 0)) <= 0.036f);  // 0.0346, rounded
        }
        if (!name.ends_with("LayerNorm.weight")) firsts.insert(stored[0]);
        // The middle rows alone are the middle rows of all.
        if (shape.at(0) > 2) CHECK(problem.weights()->rows_f32(name, 1, 2) == here.middleRows(1, 2));
    }
    CHECK(firsts.size() > expected.size() / 2);  // tensors differ from one another
    std::vector<std::int64_t> ids(18);
    std::ifstream(folder / "ids", std::ios::binary).read(reinterpret_cast<char*>(ids.data()), 18 * 8);
    CHECK(std::equal(ids.begin(), ids.end(), problem.input().tokens.data()));
    CHECK(sums.at("ids") == crc32(ids.data(), 18 * 8));
    CHECK(std::set<std::int64_t>(ids.begin(), ids.end()).size() > 9);
    CHECK(*std::max_element(ids.begin(), ids.end()) < 50);
    CHECK_THROWS_AS(problem.write(folder / "nowhere"), Error);
}

TEST_CASE("emulation: the truth about a sample is the readable pass in float64", "[emulation]") {
    const EncoderProblem problem(3, 21, kSmall);  // longer than the buckets reach
    const Trace trace =
        Deberta<double>(problem.config(), problem.weights()).forward(problem.input(), EncoderProblem::options());
    const Tensor<double>& rows = trace.at("layer.1.output").as<double>();
    Tensor<float> rounded(rows.shape());
    for (Index n = 0; n < rows.size(); ++n) rounded[n] = static_cast<float>(rows[n]);
    for (const Index sample : {0, 1, 2}) {
        const HeadRows<double> truth = problem.truth(sample);
        REQUIRE(truth.at("hidden").size() == 21 * 24);
        const Eigen::Map<const Matrix<double>> found(truth.at("hidden").data(), 21, 24);
        // Rows of a norm, a few large, from sums of at most 40 terms in another order; then rounded to float32 once.
        CHECK(test::max_abs(found - rows.matrix(sample)) < 1e-13);
        CHECK(relative_error(EncoderProblem::sample_of(rounded, sample), truth) <= 0x1p-24);
        CHECK(relative_error(EncoderProblem::sample_of(rounded, (sample + 1) % 3), truth) > 0.1);
    }
}

}  // namespace locus::test::test_cuda_against_encoder
