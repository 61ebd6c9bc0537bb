#pragma once
// Models that the encoder of cuda/encoder is given, on the host and on a device, and the rows that it must compute.
#include <catch2/catch.hpp>

#include "core/models/deberta.h"
#include "cuda/encoder/encoder.h"
#include "tests/cuda/model_cases.h"
#include "tests/cuda/near.h"
#include "tests/max_abs.h"
#include "tests/random_model.h"

namespace locus::test {

template <class Scalar>
constexpr const char* kDtype = std::is_same_v<Scalar, float>        ? "F32"
                               : std::is_same_v<Scalar, cuda::Half> ? "F16"
                                                                    : "BF16";

/// A model and what it is given.
struct GivenModel {
    std::string name;
    DebertaConfig config;
    std::shared_ptr<const WeightSource> weights;
    ModelInput input;
    DebertaOptions options = DebertaOptions::of(Dialect::reference);
};

/// The recorded models that the encoder takes; the two with talking heads or a mask of pairs are refused elsewhere.
inline std::vector<GivenModel> recorded_models() {
    std::vector<GivenModel> models;
    for (const ModelCase& one : model_cases()) {
        if (one.name.find("deberta") == std::string::npos && one.name != "tiny_v3_trained") continue;
        const Checkpoint checkpoint = open_checkpoint(one.model);
        const DebertaConfig config = parse_deberta_config(checkpoint.config_json, checkpoint.config_file.string());
        const ModelInput input = one.segments().front();
        if (config.talking_head || input.mask.rank() == 3) continue;
        models.push_back({one.name, config, checkpoint.weights, input});
    }
    return models;
}

/// Two samples; the second one has pads at its end and its beginning, or hides tokens here and there.
inline ModelInput two_samples(Index tokens, bool pads, bool holes = false) {
    std::vector<std::int64_t> ids, mask;
    for (Index n = 0; n < 2 * tokens; ++n) {
        ids.push_back((n * n + 3 * n) % 37);
        mask.push_back(n < tokens || (holes ? n % 5 != 2 : n % tokens > 1 && n % tokens < tokens - 3));
    }
    ModelInput input;
    input.tokens = IndexTensor({2, tokens}, std::move(ids));
    if (pads || holes) input.mask = IndexTensor({2, tokens}, std::move(mask));
    return input;
}

inline std::vector<GivenModel> random_models() {
    std::vector<GivenModel> all;
    for (const char* name :
         {"plain", "pads", "holes", "log buckets", "convolution", "convolution in groups", "version 1", "c2p alone",
          "p2c alone", "shared keys", "absolute positions", "wide heads"}) {
        GivenModel one{name, small_config(), nullptr, two_samples(37, false)};
        const std::string is = name;
        DebertaConfig& config = one.config;
        config.max_position_embeddings = 128;
        if (is == "pads" || is == "convolution" || is == "absolute positions") one.input = two_samples(37, true);
        if (is == "holes") one.input = two_samples(37, true, true);
        if (is == "log buckets") config.position_buckets = 8, config.max_relative_positions = 40;
        if (is.starts_with("convolution")) config.conv_kernel_size = 3;
        if (is == "convolution in groups") config.conv_groups = 2, config.conv_act = Activation::gelu;
        if (is == "version 1") config.version = 1, config.norm_rel_ebd = false;
        if (is == "c2p alone") config.terms.p2c = false;
        if (is == "p2c alone") config.terms.c2p = false;
        config.share_att_key = is == "shared keys";
        config.position_biased_input = is == "absolute positions";
        if (is == "wide heads")
            config.hidden_size = config.embedding_size = 192, config.attention_head_size = 64,
            config.intermediate_size = 72;
        one.weights = random_weights(config, 3);
        all.push_back(std::move(one));
    }
    return all;
}

/// The last layer's output of the reference pass, and how far rounding may take another one from it.
struct Reference {
    Trace trace;
    std::string stage;
    explicit Reference(const GivenModel& one)
        : trace(Deberta<double>(one.config, one.weights).forward(one.input, one.options)),
          stage("layer." + std::to_string(one.config.num_hidden_layers - 1) + ".output") {}

    /// Rows that are not computed are not compared.
    void check(const Tensor<float>& found, const char* dtype, const IndexTensor& only = {}) const {
        const Tensor<double>& expected = trace.at(stage).as<double>();
        REQUIRE(found.shape() == expected.shape());
        Trace candidate;
        candidate.add(stage, found);
        const double bound = derived_tolerance(trace, trace.at(stage), candidate.at(stage), {{stage, dtype}}).relative;
        const double allowed = bound * (1 + max_abs(expected.rows()));
        double worst = 0;
        for (Index n = 0; n < found.rows().rows(); ++n) {
            const bool hidden = !only.empty() && only[n] == 0;
            const Matrix<double> row = hidden ? Matrix<double>(Matrix<double>::Zero(1, found.rows().cols()))
                                              : Matrix<double>(expected.rows().row(n));
            const double error = max_abs(found.rows().row(n).cast<double>() - row);
            if (!(error <= worst)) worst = error;
        }
        INFO("largest difference " << worst << ", allowed " << allowed);
        CHECK(worst <= allowed);
    }
};

/// Does a sample show a token again after it hid one?
inline bool has_holes(const ModelInput& input) {
    if (input.mask.empty()) return false;
    for (Index b = 0; b < input.batch(); ++b) {
        int shown = 0;
        for (Index i = 0; i < input.length(); ++i) {
            const Index at = b * input.length() + i;
            shown += input.mask[at] != 0 && (i == 0 || input.mask[at - 1] == 0);
        }
        if (shown > 1) return true;
    }
    return false;
}

/// Padded, and where something is hidden packed, and padded again.
template <class Scalar, class Encoder>
void check_model(const GivenModel& one, Encoder& encoder) {
    INFO(one.name << ", " << kDtype<Scalar>);
    const Reference reference(one);
    const Tensor<float> padded = encoder.last_output(one.input, one.options, cuda::SampleRows::padded);
    reference.check(padded, kDtype<Scalar>);
    if (one.input.mask.empty()) return;
    if (!has_holes(one.input))
        reference.check(encoder.last_output(one.input, one.options, cuda::SampleRows::packed), kDtype<Scalar>,
                        one.input.mask);
    CHECK(encoder.last_output(one.input, one.options, cuda::SampleRows::padded).values() == padded.values());
}

}  // namespace locus::test
