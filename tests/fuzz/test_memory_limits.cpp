// Memory that cannot be had is exit status 70 and one sentence, wherever it is missing.
#include <sys/resource.h>
#include <unistd.h>

#include "tests/fuzz/writers.h"
#include "tests/kill_while_writing.h"
#include "tests/sanitizers.h"
#include "tests/viewer/run_view.h"

namespace locus::test::test_memory_limits {

namespace {

/// The program with so many KiB of address space.
Outcome run_in(std::size_t kib, const std::string& program, const std::vector<std::string>& arguments) {
    return run(program, arguments, "ulimit -c 0; ulimit -v " + std::to_string(kib) + "; ");
}

/// The least room, within a twelfth, in which `fits` holds.
template <class Fits>
std::size_t least_room(Fits fits) {
    std::size_t high = 16 << 10;
    while (!fits(high)) high *= 2;
    for (std::size_t low = high / 2; high - low > high / 12;) {
        const std::size_t middle = (low + high) / 2;
        (fits(middle) ? high : low) = middle;
    }
    return high;
}

/// From the room in which it says what it can do to the room in which it does it.  How often it was refused.
int check_program(const Writer& writer) {
    const std::size_t starts =
        least_room([&](std::size_t room) { return run_in(room, writer.program, {"--help"}).status == 0; });
    constexpr int kSteps = 8;
    int refused = 0, done = 0;
    const auto try_room = [&](std::size_t room) {
        const TemporaryFolder folder;
        writer.prepare(folder / "out");
        const auto old = snapshot(folder.path());
        const Outcome outcome = run_in(room, writer.program, writer.arguments(folder / "out"));
        INFO(writer.name << " in " << room << " KiB: " << outcome.status << " " << outcome.err);
        if (outcome.status == 0) {
            ++done;
            return true;
        }
        CHECK(outcome.status == 70);
        CHECK(outcome.sentences() == 1);
        CHECK_THAT(outcome.err, Catch::Contains("not enough memory"));
        if (writer.name != "train") CHECK(snapshot(folder.path()) == old);
        ++refused;
        return false;
    };
    std::size_t enough = starts;
    while (enough < (std::size_t{8} << 20) && !try_room(enough)) enough += enough / 3;
    for (int n = 1; n < kSteps; ++n) try_room(starts + (enough - starts) * static_cast<std::size_t>(n) / kSteps);
    INFO(writer.name << ": starts in " << starts << " KiB, needs at most " << enough << ", refused " << refused
                     << " times, done " << done << " times");
    CHECK(done >= 1);
    return refused;
}

}  // namespace

TEST_CASE("memory: what cannot be had is one sentence and status 70", "[fuzz][memory]") {
    if (kSanitized) {
        WARN("skipped: a sanitizer needs more address space than any limit leaves");
        return;
    }
    const WriterInputs inputs;
    std::vector<Writer> all = writers(inputs);
    const auto nothing = [](const fs::path&) {};
    all.push_back({"fill", "locus-fill",
                   [](const fs::path&) { return std::vector<std::string>{"the capital of france is [MASK]."}; }, false,
                   nothing});
    all.push_back({"tokens", "locus-tokens", [](const fs::path&) { return std::vector<std::string>{words(4000)}; },
                   false, nothing});
    int refused = 0;
    for (const Writer& writer : all)
        if (writer.name != "check --junit" && writer.name != "kit check --junit")  // as --html
            refused += check_program(writer);
    CHECK(refused >= 20);
}

TEST_CASE("memory: a picture that cannot be drawn is one sentence and status 70", "[fuzz][memory][viewer]") {
    if (kSanitized || !has_virtual_display()) {
        WARN("skipped: no limit on memory under this sanitizer, or no xvfb-run");
        return;
    }
    const TemporaryFolder folder;
    int refused = 0;
    bool drawn = false;
    for (std::size_t room = 300'000; !drawn && room < (std::size_t{8} << 20); room += room / 8) {
        const fs::path picture = folder / "picture.png";
        write_file(picture, "old");
        const Outcome outcome =
            view({"--screenshot", picture.string()}, {}, "ulimit -c 0; ulimit -v " + std::to_string(room) + "; ");
        INFO(room << " KiB: " << outcome.status << " " << outcome.err);
        if (outcome.status == 0) {
            CHECK(read_file(picture).starts_with("\x89PNG"));
            drawn = true;
            continue;
        }
        ++refused;
        CHECK(outcome.status == 70);
        CHECK(outcome.sentences() == 1);
        CHECK_THAT(outcome.err, Catch::Contains("not enough memory"));
        CHECK(read_file(picture) == "old");
        CHECK(snapshot(folder.path()).size() == 1);
    }
    CHECK(drawn);
    CHECK(refused >= 6);
}

}  // namespace locus::test::test_memory_limits
