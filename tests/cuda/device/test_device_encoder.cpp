// The encoder that stays on the device, on a device, against the reference pass in float64.
#include "tests/cuda/device/has_device.h"
#include "tests/cuda/encoder_cases.h"

namespace locus::test::test_device_encoder {

using cuda::Bfloat16;
using cuda::Half;
using cuda::ProductsBy;

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
                // Recorded launches give the same bits, however often they run.
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

TEST_CASE("emulation: without a device the encoder throws one sentence", "[emulation][blocks]") {
    if (cuda::available()) return;
    const DebertaConfig config = small_config();
    const auto weights = random_weights(config, 5);
    for (const ProductsBy by : {ProductsBy::own, ProductsBy::cublas})
        CHECK_THROWS_WITH(cuda::FastEncoder<Half>(config, weights, by), Catch::StartsWith("CUDA: "));
}

}  // namespace locus::test::test_device_encoder
