// Every fuzz target on the files that are kept for it: seeds, from which libFuzzer starts, and regressions, which once
// broke something.  Neither clang nor libFuzzer is needed for that.
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "tests/damage.h"
#include "tests/files.h"
#include "tests/fuzz/fuzz_target.h"

namespace locus::test::test_fuzz_targets {

namespace {

const fs::path kFuzz = fs::path(LOCUS_SOURCE_DIR) / "tests/fuzz";

std::vector<fs::path> files_of(const FuzzTarget& target, const std::string& kind) {
    std::vector<fs::path> files;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(kFuzz / kind / target.name, none)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

TEST_CASE("fuzz: every target reads some of its seeds, and refuses others", "[fuzz]") {
    for (const FuzzTarget& target : fuzz_targets()) {
        const TemporaryFolder folder;
        std::size_t read = 0, refused = 0;
        for (const fs::path& file : files_of(target, "seeds")) {
            INFO(target.name << ", " << file.filename().string());
            ++(accepts(target, read_bytes(file), folder.path()) ? read : refused);
        }
        INFO(target.name << ": " << read << " read, " << refused << " refused");
        CHECK(read >= 1);  // else the format has changed, and the seeds are of no use
        CHECK((refused >= 1 || target.name == "settings"));
    }
}

TEST_CASE("fuzz: a refusal that leaves a draft, or is no sentence, is a find", "[fuzz]") {
    const TemporaryFolder folder;
    const auto is_found = [&](void (*read)(std::string_view, const fs::path&)) {
        try {
            return accepts({"a reader", read}, "bytes", folder.path());  // nobody accepts them
        } catch (const BrokenPromise&) {
            return true;
        }
    };
    CHECK_FALSE(is_found([](std::string_view, const fs::path&) { throw Error(Fault::unreadable, "a.bin: is cut"); }));
    CHECK(is_found([](std::string_view, const fs::path&) { throw Error(Fault::unreadable, ""); }));
    CHECK(is_found([](std::string_view, const fs::path&) { throw Error(Fault::unreadable, std::string(2000, 'a')); }));
    CHECK(is_found([](std::string_view, const fs::path& own) {
        fuzz_file(own, ".a.bin.part-7", "half");
        throw Error(Fault::unreadable, "a.bin: is cut");
    }));
}

TEST_CASE("fuzz: what was once found stays repaired", "[fuzz]") {
    std::size_t files = 0;
    for (const FuzzTarget& target : fuzz_targets()) {
        const TemporaryFolder folder;
        for (const fs::path& file : files_of(target, "regressions")) {
            INFO(target.name << ", " << file.filename().string());
            CHECK_NOTHROW(accepts(target, read_bytes(file), folder.path()));
            ++files;
        }
    }
    CHECK(files >= 1);
}

TEST_CASE("fuzz: seeds and regressions belong to a target and are small", "[fuzz]") {
    std::uintmax_t bytes = 0;
    for (const char* kind : {"seeds", "regressions"})
        for (const auto& entry : fs::directory_iterator(kFuzz / kind)) {
            CHECK(fuzz_target(entry.path().filename().string()).read != nullptr);
            for (const auto& file : fs::directory_iterator(entry)) bytes += file.file_size();
        }
    CHECK(bytes <= 2'000'000);
}

TEST_CASE("fuzz: damaged seeds are read or refused by every target", "[fuzz]") {
    std::mt19937 generator(90);
    for (const FuzzTarget& target : fuzz_targets()) {
        const TemporaryFolder folder;
        for (const fs::path& file : files_of(target, "seeds")) {
            const std::string sound = read_bytes(file);
            for (int round = 0; round < 8; ++round) {
                const std::string damaged = damage(sound, generator);
                INFO(target.name << ", " << file.filename().string() << ", round " << round);
                CHECK_NOTHROW(accepts(target, damaged, folder.path()));
            }
        }
    }
}

}  // namespace locus::test::test_fuzz_targets
