// --device cuda where the CUDA library is missing, is none, or was built from other sources: one sentence and status 4.
#include <catch2/catch.hpp>

#include "tests/conformance/shim_case.h"
#include "tests/run_program.h"
#include "tests/temporary_folder.h"

namespace locus::test::test_cuda_library {

namespace {

/// What a copy of the program says in a folder of its own, beside the files that lie there.
Outcome trace_in(const TemporaryFolder& folder) {
    const fs::path program = folder / "locus-trace";
    fs::copy_file(fs::path(LOCUS_BINARY_DIR) / "bin/locus-trace", program, fs::copy_options::overwrite_existing);
    return run_file(program, {"--model", "tiny-v3", "--text", "a", "--device", "cuda"});
}

void check_refused(const Outcome& outcome, const std::string& why) {
    CHECK(outcome.status == 4);
    CHECK(outcome.sentences() == 1);
    CHECK_THAT(outcome.err, Catch::Contains("CUDA: no CUDA device can be used") &&
                                Catch::Contains("liblocus_cuda.so") && Catch::Contains(why) &&
                                Catch::Contains("--device cpu"));
}

}  // namespace

TEST_CASE("cuda library: where it is missing the sentence names the file and how it is built", "[cli]") {
    check_refused(trace_in(TemporaryFolder()), "locus_cuda_backend");
}

TEST_CASE("cuda library: a file that is none is refused", "[cli]") {
    const TemporaryFolder folder;
    write_file(folder / "liblocus_cuda.so", "no library");
    check_refused(trace_in(folder), "opening the library failed");
}

TEST_CASE("cuda library: one that was built from other sources is refused before it is used", "[cli]") {
    if (!installed("cc")) return;
    const TemporaryFolder folder;
    write_file(folder / "other.c",
               "const char* locus_cuda_interface(void) { return \"other sources\"; }\n"
               "const void* locus_cuda_library(void) { return 0; }\n");
    REQUIRE(shell("cc -shared -fPIC -o " + quoted((folder / "liblocus_cuda.so").string()) + " " +
                  quoted((folder / "other.c").string()))
                .status == 0);
    check_refused(trace_in(folder), "built from other sources");
}

}  // namespace locus::test::test_cuda_library
