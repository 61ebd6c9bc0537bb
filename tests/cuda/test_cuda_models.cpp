// Whole models through the GPU kernels give the CPU's stages, under the same names, with the same numbers as far as
// rounding allows.  The CPU in float64 is the reference.
#include "core/compare.h"
#include "cuda/reference/reference_operations.h"
#include "tests/cuda/host_backend.h"
#include "tests/cuda/model_cases.h"
#include "tests/cuda/near.h"
#include "tests/cuda/reference_checks.h"

namespace locus::test::test_cuda_models {

namespace {

template <class Scalar>
void check_stages(const Operations<Scalar>& operations) {
    for (const ModelCase& one : model_cases())
        for (const Dialect dialect : kDialects) {
            INFO(one.name << ", " << to_string(dialect));
            const Trace reference = open_model_on(one, cpu_operations<double>())->forward(one.segments(), dialect);
            const Trace found = open_model_on(one, operations)->forward(one.segments(), dialect);
            REQUIRE(found.names() == reference.names());
            for (const Stage& expected : reference.stages()) {
                INFO(expected.name);
                const Stage& stage = found.at(expected.name);
                const bool whole = std::string(expected.dtype()) == "I64";
                CHECK(deviation(expected, stage) <=
                      (whole ? 0 : derived_tolerance(reference, expected, stage).relative));
            }
        }
}

/// Asked for the last stage alone, a pass may compute its terms in another order; the result is the same.
template <class Scalar>
void check_ends(const Operations<Scalar>& operations) {
    for (const ModelCase& one : model_cases()) {
        INFO(one.name);
        const auto model = open_model_on(one, operations);
        const Trace whole = model->forward(one.segments(), Dialect::reference);
        const std::string last = whole.stages().back().name;
        const Trace end = model->forward(one.segments(), Dialect::reference, StageFilter(last));
        CHECK(deviation(whole.at(last), end.at(last)) == 0);
    }
}

}  // namespace

TEMPLATE_TEST_CASE("cuda emulation: whole models through the element kernels give the CPU's stages", "[emulation]",
                   float, double) {
    check_models<TestType>(cuda::ReferenceOperations<TestType, HostBackend>());
}

}  // namespace locus::test::test_cuda_models

namespace locus::test {

template <class Scalar>
void check_models(const Operations<Scalar>& operations) {
    test_cuda_models::check_stages(operations);
    test_cuda_models::check_ends(operations);
}

template void check_models<float>(const Operations<float>&);
template void check_models<double>(const Operations<double>&);

}  // namespace locus::test
