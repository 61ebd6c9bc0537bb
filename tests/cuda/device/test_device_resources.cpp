// What the compiler made of the kernels; read from this very program, so no device is needed.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <set>

#include "core/check.h"
#include "tests/bench/cuda/cubin.h"

namespace locus::test::test_device_resources {

using namespace locus::bench;

TEST_CASE("emulation: every tensor core kernel is compiled for both architectures and keeps its numbers in registers",
          "[emulation]") {
    const std::vector<KernelResources> all = kernel_resources("/proc/self/exe");
    std::set<std::string> forward, backward, products, hopper, hopper_backward;
    for (const KernelResources& one : all) {
        INFO(one.kernel << " for " << one.architecture);
        CHECK((one.registers > 0 && one.registers <= 255));
        if (one.kernel.starts_with("fused_forward_kernel<")) forward.insert(one.kernel + " " + one.architecture);
        if (one.kernel.starts_with("fused_backward_kernel<") || one.kernel.starts_with("table_gradients_kernel<"))
            backward.insert(one.kernel + " " + one.architecture);
        if (one.kernel.starts_with("tensor_product_kernel<")) products.insert(one.kernel + " " + one.architecture);
        if (one.kernel.starts_with("hopper_forward_kernel<")) hopper.insert(one.kernel + " " + one.architecture);
        if (one.kernel.starts_with("hopper_backward_kernel<")) hopper_backward.insert(one.kernel);
        const bool fast = one.kernel.starts_with("fused_") || one.kernel.starts_with("tensor_product_kernel<");
        if ((fast && one.architecture == "sm_90") || one.kernel.starts_with("hopper_")) CHECK(one.stack_bytes == 0);
    }
    CHECK(forward.size() == 2 * 3 * 2);       // formats, tiles, architectures
    CHECK(backward.size() == 2 * 2 * 3 * 2);  // formats, around queries and keys, two tiles and tables, architectures
    CHECK(products.size() == 2 * 2 * 2);      // formats, tiles, architectures
    CHECK(hopper.size() == 2 * 2);            // formats, tiles, for one architecture alone
    CHECK(hopper_backward.size() == 2 * 2 * 2);  // formats, tiles, around queries and keys
    CHECK(forward.count("fused_forward_kernel<Half, 64, 128, 64> sm_90") == 1);
    CHECK(hopper.count("hopper_forward_kernel<Bfloat16, 64, 128> sm_90") == 1);
}

TEST_CASE("emulation: device code that is cut short, or no program, is refused in one sentence", "[emulation]") {
    const auto refusal = [](const std::filesystem::path& file) {
        try {
            kernel_resources(file);
        } catch (const Error& error) {
            return std::to_string(error.exit_status()) + " " + error.what();
        }
        return std::string("read");
    };
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "locus-cubin-test";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "text") << "no program at all";
    CHECK(refusal(folder / "text") == "3 " + (folder / "text").string() + ": is no ELF file");
    CHECK(refusal(folder / "missing").starts_with("3 "));
    std::filesystem::copy_file("/proc/self/exe", folder / "cut", std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(folder / "cut", std::filesystem::file_size(folder / "cut") / 2);
    CHECK_THAT(refusal(folder / "cut"), Catch::Contains("cut short"));
    std::filesystem::remove_all(folder);
}

}  // namespace locus::test::test_device_resources
