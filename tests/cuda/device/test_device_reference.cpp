// The readable kernels on a device: the checks that tests/cuda runs on the host.
#include <catch2/catch.hpp>

#include "tests/cuda/device/has_device.h"
#include "tests/cuda/reference_checks.h"

namespace locus::test::test_device_reference {

TEST_CASE("cuda: every operation on the device equals the CPU's", "[cuda]") {
    if (has_device()) check_operations(cuda::device_operations<float>());
}

TEST_CASE("cuda: the terms that stand alone equal the CPU's", "[cuda]") {
    if (has_device()) check_terms(cuda::device_terms<float>());
}

TEMPLATE_TEST_CASE("cuda: whole models on the device give the CPU's stages", "[cuda]", float, double) {
    if (has_device()) check_models<TestType>(cuda::device_operations<TestType>());
}

TEST_CASE("cuda: without a device every entry throws one sentence, status 4", "[emulation]") {
    if (cuda::available()) {
        CHECK(cuda::why_unavailable().empty());
        CHECK_FALSE(cuda::device_name().empty());
        return;
    }
    CHECK(cuda::why_unavailable().starts_with("no CUDA device ("));
    const auto refusal = [](auto call) {
        try {
            call();
        } catch (const Error& error) {
            return std::to_string(error.exit_status()) + " " + error.what();
        }
        return std::string("computed without a device");
    };
    for (const std::string& sentence :
         {refusal([] { cuda::device_operations<float>(); }), refusal([] { cuda::device_operations<double>(); }),
          refusal([] { cuda::device_terms<float>(); }), refusal([] { cuda::device_terms<double>(); })}) {
        CHECK_THAT(sentence, Catch::StartsWith("4 CUDA: no CUDA device ("));
        CHECK_THAT(sentence, Catch::Contains("--device cpu"));
    }
}

}  // namespace locus::test::test_device_reference
