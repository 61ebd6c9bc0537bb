// A rehearsed port has one mistake and everything else right: the kit must see just that.
#include <catch2/catch.hpp>

#include <algorithm>

#include "core/conformance/kit/kit_check.h"
#include "core/conformance/kit/kit_rehearse.h"
#include "core/io/safetensors.h"
#include "tests/conformance/kit_fixture.h"

namespace locus::test::test_kit_rehearse {

namespace {

CheckResult check_folder(const fs::path& dumps) {
    CheckOptions options;
    options.candidate = dumps.string();
    options.today = "2026-11-21";
    return check_kit(
        KitFixture::kit(), [&](const KitCase& one) { return read_dump(dumps, one.id); }, options);
}

std::vector<std::string> failing(const Report& report) {
    std::vector<std::string> ids;
    for (const CaseReport& one : report.cases)
        if (one.verdict == Verdict::fail) ids.push_back(one.id);
    return ids;
}

}  // namespace

TEST_CASE("kit rehearse: what is changed fails, everything else passes, and most of it is named", "[kit][rehearse]") {
    for (const int number : {1, 4, 16, 26, 32, 39, 45, 60, 66, 71}) {
        INFO("mistake " << number);
        const TemporaryFolder folder;
        const Rehearsal done = rehearse(KitFixture::kit(), {number, 0}, folder / "dumps");
        CHECK(done.number == number);
        REQUIRE_FALSE(done.wrong.empty());
        const CheckResult result = check_folder(folder / "dumps");
        CHECK_FALSE(result.refusal);
        CHECK(failing(result.report) == done.wrong);
        bool named = false;
        for (const CaseReport& one : result.report.cases) {
            INFO(one.id);
            named = named || (one.diagnosis && one.diagnosis->named && one.diagnosis->named->mistake == number);
        }
        CHECK(named);
    }
}

TEST_CASE("kit rehearse: what a case gives is never changed, only what it asks for", "[kit][rehearse]") {
    const KitCase& term = KitFixture::one("L1/p2c_t5_k9");
    const Variant& swapped = mistake_of(1).variants.front();
    const MistakenPass pass = rehearse_case(KitFixture::kit(), term, swapped);
    CHECK(pass.trace.names() == reference_of(term).names());
    REQUIRE(pass.changed.size() == 1);
    CHECK(pass.changed.front().name == "layer.0.p2c");

    const MistakenPass untouched = rehearse_case(KitFixture::kit(), KitFixture::one("L1/rope_interleaved"), swapped);
    CHECK(untouched.changed.empty());
    const Trace right = reference_of(KitFixture::one("L1/rope_interleaved"));
    for (const Stage& stage : right.stages())
        for (Index n = 0; n < stage.size(); ++n) REQUIRE(untouched.trace.at(stage.name).at(n) == stage.at(n));
}

TEST_CASE("kit rehearse: an unknown mistake and a full folder are refused, and nothing is left", "[kit][rehearse]") {
    const TemporaryFolder folder;
    CHECK_THROWS_WITH(rehearse(KitFixture::kit(), {99, 0}, folder / "dumps"), Catch::Contains("99"));
    CHECK_THROWS_WITH(rehearse(KitFixture::kit(), {1, 9}, folder / "dumps"), Catch::Contains("1 way"));
    CHECK(folder.count() == 0);
    write_bytes(folder / "kept", "x");
    CHECK_THROWS_WITH(rehearse(KitFixture::kit(), {1, 0}, folder.path()), Catch::Contains("a new or empty folder"));
    CHECK(folder.count() == 1);
}

}  // namespace locus::test::test_kit_rehearse
