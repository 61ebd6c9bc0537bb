// The encoder that stays on the device: its very steps and kernels run on the host, against the reference pass in
// float64.
#include <catch2/catch.hpp>

#include <cmath>
#include <random>

#include "cuda/encoder/encoder_pass.h"
#include "tests/cuda/emulated_backend.h"
#include "tests/cuda/encoder_cases.h"

namespace locus::test::test_cuda_encoder {

using cuda::Half;
using cuda::SampleRows;

namespace {

template <class Scalar>
class OnHost {
public:
    explicit OnHost(const GivenModel& one)
        : pass_(std::make_unique<cuda::EncoderPass<Scalar, EmulatedBackend>>(
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
    std::unique_ptr<cuda::EncoderPass<Scalar, EmulatedBackend>> pass_;
};

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

TEMPLATE_TEST_CASE("emulation: norms of sums are layer norms, hidden rows zeros, and nothing after the channels",
                   "[emulation][blocks]", float, Half) {
    for (const int rows : {1, 4, 5})
        for (const int channels : {1, 7, 8, 12, 36, 192, 255, 256}) check_norm<TestType, 8>(rows, channels);
    if constexpr (std::is_same_v<TestType, Half>) {  // the sizes between differ in their number of registers alone
        check_norm<TestType, 16>(3, 500);
        check_norm<TestType, 24>(6, 768);
        check_norm<TestType, 32>(2, 1024);
    }
    check_norm<TestType, 64>(3, 1536);
    check_norm<TestType, 64>(1, 2048);
}

TEMPLATE_TEST_CASE("emulation: random models through the steps of the device's encoder give the reference's last rows",
                   "[emulation][blocks]", float, Half) {
    check_on_host<TestType>(random_models());
}

TEMPLATE_TEST_CASE(
    "emulation: recorded models through the steps of the device's encoder give the reference's last rows",
    "[emulation][blocks]", float, Half) {
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

TEST_CASE("emulation: buffers grow for a longer sample and for more samples, with fewer rows than before",
          "[emulation][blocks]") {
    const GivenModel one{"buffers", small_config(), random_weights(small_config(), 5), {}};
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
        return refusal([&] { cuda::check_encoder_model(other); });
    };
    CHECK_THAT(model([](auto& c) { c.talking_head = true; }), Contains("4 CUDA: ") && Contains("talking heads"));
    CHECK_THAT(model([](auto& c) { c.terms = {false, false, false}; }), Contains("with c2p or p2c"));
    CHECK_THAT(model([](auto& c) { c.attention_head_size = 264; }), Contains("264"));
    CHECK_THAT(model([](auto& c) { c.hidden_size = 2056; }), Contains("2056"));
}

}  // namespace locus::test::test_cuda_encoder
