// The encoder that stays on the device: its very steps and kernels run on the host, and itself on a device, against the
// reference pass in float64.
#include <catch2/catch.hpp>

#include <cmath>
#include <random>

#include "core/models/deberta.h"
#include "cuda/encoder/encoder.h"
#include "cuda/encoder/encoder_pass.h"
#include "tests/cuda/emulated_backend.h"
#include "tests/cuda/model_cases.h"
#include "tests/cuda/near.h"
#include "tests/max_abs.h"
#include "tests/random_model.h"

namespace locus::test::test_cuda_deberta_blocks {

using cuda::Bfloat16;
using cuda::Half;
using cuda::ProductsBy;
using cuda::SampleRows;

namespace {

template <class Scalar>
constexpr const char* kDtype = std::is_same_v<Scalar, float>  ? "F32"
                               : std::is_same_v<Scalar, Half> ? "F16"
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
std::vector<GivenModel> recorded_models() {
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
ModelInput two_samples(Index tokens, bool pads, bool holes = false) {
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

std::vector<GivenModel> random_models() {
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
            config.hidden_size = config.embedding_size = 96, config.attention_head_size = 32,
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

    /// Rows that nobody made are not compared.
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

template <class Scalar>
class OnHost {
public:
    explicit OnHost(const GivenModel& one)
        : pass_(std::make_unique<cuda::DebertaBlocksPass<Scalar, EmulatedBackend>>(
              backend_, DebertaWeights<float>(one.config, one.weights))) {}
    Tensor<float> last_output(const ModelInput& input, const DebertaOptions& options, SampleRows rows) {
        pass_->prepare(input, options, rows);
        pass_->run();
        const Scalar* found = pass_->hidden().data();
        return cuda::spread_rows(std::vector<Scalar>(found, found + pass_->hidden().size()), pass_->batch(),
                                 pass_->sizes());
    }
    bool guards_held() {
        pass_.reset();
        return backend_.guards_held();
    }

private:
    EmulatedBackend backend_;
    std::unique_ptr<cuda::DebertaBlocksPass<Scalar, EmulatedBackend>> pass_;
};

/// Does a sample show a token again after it hid one?
bool has_holes(const ModelInput& input) {
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
    const Tensor<float> padded = encoder.last_output(one.input, one.options, SampleRows::padded);
    reference.check(padded, kDtype<Scalar>);
    if (one.input.mask.empty()) return;
    if (!has_holes(one.input))
        reference.check(encoder.last_output(one.input, one.options, SampleRows::packed), kDtype<Scalar>,
                        one.input.mask);
    CHECK(encoder.last_output(one.input, one.options, SampleRows::padded).values() == padded.values());
}

template <class Scalar>
void check_on_host(const std::vector<GivenModel>& models) {
    for (const GivenModel& one : models) {
        OnHost<Scalar> encoder(one);
        check_model<Scalar>(one, encoder);
        CHECK(encoder.guards_held());
    }
}

/// Numbers around zero as sums of a product, a bias and a residual.
template <class Scalar, int numbers>
void check_norm(int rows, int channels) {
    INFO(rows << " rows of " << channels);
    std::mt19937 random(3);
    const int row = cuda::round_up(channels, cuda::kRowStep);
    const Rounded<Scalar> product(rows, row, 1, random), residual(rows, row, 1, random);
    const Rounded<float> bias(1, channels, 1, random), weight(1, channels, 1, random), shift(1, channels, 1, random);
    std::vector<std::uint8_t> keeps, shows;
    for (int n = 0; n < rows; ++n) keeps.push_back(n % 3 != 1), shows.push_back(n % 4 != 2);
    Guarded<Scalar> out(static_cast<std::size_t>(rows * row));
    const cuda::SummedRows<Scalar> source{
        product.narrow.data(), bias.narrow.data(), residual.narrow.data(), keeps.data(), row, channels};
    constexpr double kEps = 1e-3;
    run_norm_rows<numbers>(cuda::NormRowsArguments<Scalar, cuda::SummedRows<Scalar>>{
        source, weight.narrow.data(), shift.narrow.data(), shows.data(), out.data(), rows, channels, row, float(kEps)});
    Matrix<double> summed = residual.wide.leftCols(channels);
    summed.rowwise() += RowVector<double>(bias.wide.row(0));
    for (int n = 0; n < rows; ++n)
        if (keeps[static_cast<std::size_t>(n)]) summed.row(n) += product.wide.row(n).head(channels);
    Matrix<double> expected =
        layer_norm<double>(summed, Norm<double>{weight.wide.row(0), shift.wide.row(0)}, double{float(kEps)});
    int wrong = 0;
    for (int n = 0; n < rows; ++n)
        for (int c = 0; c < row; ++c) {
            const double found = cuda::to_float(out.data()[n * row + c]);
            const bool empty = c >= channels || !shows[static_cast<std::size_t>(n)];
            // Mean and variance are sums of as many; numbers and their sizes stay below 20, single channels apart.
            const double allowed =
                empty ? 0
                      : kRoundoff<Scalar> * std::abs(expected(n, c)) + (channels + 8) * 0x1p-24 * 20 / std::sqrt(kEps);
            wrong += !(std::abs(found - (empty ? 0 : expected(n, c))) <= allowed);
        }
    CHECK(wrong == 0);
    CHECK(out.guards_hold());
}

}  // namespace

TEMPLATE_TEST_CASE("emulation: norms of sums are layer norms, hidden rows zeros, and nothing behind the channels",
                   "[emulation][blocks]", float, Half, Bfloat16) {
    for (const int rows : {1, 4, 5})
        for (const int channels : {1, 7, 8, 12, 36, 192, 255, 256}) check_norm<TestType, 8>(rows, channels);
    check_norm<TestType, 16>(3, 500);
    check_norm<TestType, 24>(6, 768);
    check_norm<TestType, 32>(2, 1024);
    check_norm<TestType, 64>(3, 1536);
    check_norm<TestType, 64>(1, 2048);
}

TEMPLATE_TEST_CASE("emulation: random models through the steps of the device's encoder give the reference's last rows",
                   "[emulation][blocks]", float, Half, Bfloat16) {
    check_on_host<TestType>(random_models());
}

TEMPLATE_TEST_CASE(
    "emulation: recorded models through the steps of the device's encoder give the reference's last rows",
    "[emulation][blocks]", float, Half, Bfloat16) {
    std::vector<GivenModel> models = recorded_models();
    // Lane after lane takes its time; two layers of the trained one have every step twice.
    for (GivenModel& one : models) one.config.num_hidden_layers = std::min<Index>(one.config.num_hidden_layers, 2);
    check_on_host<TestType>(models);
}

TEST_CASE("emulation: an encoder on the device takes other lengths and dialects, one after the other",
          "[emulation][blocks]") {
    GivenModel one{"lengths", small_config(), nullptr, {}};
    one.config.max_position_embeddings = 128;
    one.config.position_buckets = 8;
    one.config.max_relative_positions = 40;
    one.weights = random_weights(one.config, 5);
    OnHost<float> kept(one);
    for (const Index tokens : {9, 60, 12})
        for (const Dialect dialect : {Dialect::official, Dialect::hf}) {
            one.input = two_samples(tokens, false);
            one.options = DebertaOptions::of(dialect);
            OnHost<float> fresh(one);
            CHECK(kept.last_output(one.input, one.options, SampleRows::padded).values() ==
                  fresh.last_output(one.input, one.options, SampleRows::padded).values());
        }
    CHECK(kept.guards_held());
}

TEST_CASE("emulation: room grows for a longer sample and for more samples, with fewer rows than before",
          "[emulation][blocks]") {
    const GivenModel one{"room", small_config(), random_weights(small_config(), 5), {}};
    OnHost<float> kept(one);
    for (const auto& [batch, tokens] : std::vector<std::pair<Index, Index>>{{2, 9}, {1, 17}, {6, 2}})
        for (const SampleRows rows : {SampleRows::padded, SampleRows::packed}) {
            ModelInput input;
            input.tokens =
                IndexTensor({batch, tokens}, std::vector<std::int64_t>(static_cast<std::size_t>(batch * tokens), 7));
            OnHost<float> fresh(one);
            CHECK(kept.last_output(input, one.options, rows).values() ==
                  fresh.last_output(input, one.options, rows).values());
        }
    CHECK(kept.guards_held());
}

TEST_CASE("emulation: packed rows of a sample without a visible token, and of none at all", "[emulation][blocks]") {
    GivenModel one{"empty", small_config(), random_weights(small_config(), 5), two_samples(7, true)};
    OnHost<float> encoder(one);
    const Tensor<float> whole = encoder.last_output(one.input, one.options, SampleRows::packed);
    for (Index n = 0; n < 7; ++n) one.input.mask[7 + n] = 0;
    const Tensor<float> first = encoder.last_output(one.input, one.options, SampleRows::packed);
    CHECK(first.matrix(0) == whole.matrix(0));
    CHECK(first.matrix(1).isZero(0));
    for (Index n = 0; n < 7; ++n) one.input.mask[n] = 0;
    CHECK(encoder.last_output(one.input, one.options, SampleRows::packed).rows().isZero(0));
    CHECK(encoder.guards_held());
}

namespace {

template <class Work>
std::string refusal(Work work) {
    try {
        work();
    } catch (const Error& error) {
        return std::to_string(error.exit_status()) + " " + error.what();
    }
    return "computed";
}

}  // namespace

TEST_CASE("emulation: the device's encoder refuses what it does not compute, in one sentence", "[emulation][blocks]") {
    using Catch::Contains;
    const DebertaConfig config = small_config();
    GivenModel one{"refusals", config, random_weights(config, 5), two_samples(9, true)};
    OnHost<float> encoder(one);
    const auto refused = [&](auto change, SampleRows rows = SampleRows::padded) {
        ModelInput input = one.input;
        DebertaOptions options;
        change(input, options);
        return refusal([&] { encoder.last_output(input, options, rows); });
    };
    CHECK_THAT(refused([](auto&, auto& options) { options = DebertaOptions::of(Dialect::paper); }),
               Contains("4 CUDA: ") && Contains("row (i,j) for p2c"));
    CHECK_THAT(refused([](auto&, auto& options) { options = DebertaOptions::of(Dialect::hf); }),
               Contains("4 CUDA: ") && Contains("without context"));
    CHECK_THAT(refused([](auto& input, auto&) {
                   input.mask = IndexTensor({2, 9, 9}, std::vector<std::int64_t>(162, 1));
               }),
               Contains("4 CUDA: ") && Contains("hides pairs"));
    CHECK_THAT(refused([](auto& input, auto&) { input.mask[3] = 0; }, SampleRows::packed),
               Contains("4 CUDA: sample 0 hides a token"));
    CHECK_THAT(refused([](auto& input, auto&) { input.tokens[0] = 37; }), Contains("2 ") && Contains("37"));
    const auto model = [](auto change) {
        DebertaConfig other = small_config();
        change(other);
        return refusal([&] { cuda::check_blocks_model(other); });
    };
    CHECK_THAT(model([](auto& c) { c.talking_head = true; }), Contains("4 CUDA: ") && Contains("talking heads"));
    CHECK_THAT(model([](auto& c) { c.terms = {false, false, false}; }), Contains("with c2p or p2c"));
    CHECK_THAT(model([](auto& c) { c.attention_head_size = 264; }), Contains("264"));
    CHECK_THAT(model([](auto& c) { c.hidden_size = 2056; }), Contains("2056"));
    if (cuda::available()) return;
    for (const ProductsBy by : {ProductsBy::own, ProductsBy::cublas})
        CHECK(refusal([&] { cuda::FastEncoder<Half>(config, one.weights, by); }).starts_with("4 CUDA: "));
}

TEMPLATE_TEST_CASE("cuda: whole encoders that stay on the device give the reference's last rows", "[cuda][blocks]",
                   float, Half, Bfloat16) {
    if (!has_device()) return;
    for (const ProductsBy by : {ProductsBy::own, ProductsBy::cublas})
        for (const auto& models : {random_models(), recorded_models()})
            for (const GivenModel& one : models) {
                INFO(cuda::name_of(by));
                std::unique_ptr<cuda::FastEncoder<TestType>> encoder;
                try {
                    encoder = std::make_unique<cuda::FastEncoder<TestType>>(one.config, one.weights, by);
                } catch (const Error& error) {
                    if (by == ProductsBy::own) throw;
                    std::cout << "skipped: " << error.what() << std::endl;
                    return;
                }
                check_model<TestType>(one, *encoder);
                // Recorded launches leave the same bits, however often they run.
                const Tensor<float> launched = encoder->last_output(one.input, one.options);
                encoder->prepare(one.input, one.options);
                for (int round = 0; round < 2; ++round) {
                    CHECK(encoder->replay() > 0);
                    CHECK(encoder->output().values() == launched.values());
                }
                CHECK(encoder->run() > 0);
                CHECK(encoder->output().values() == launched.values());
                check_model<TestType>(one, *encoder);
            }
}

}  // namespace locus::test::test_cuda_deberta_blocks
