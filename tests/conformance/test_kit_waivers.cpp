// A waiver covers what it names, as long as it says, and no longer than it is needed.
#include <catch2/catch.hpp>

#include "tests/conformance/kit_fixture.h"

namespace locus::test::test_kit_waivers {

namespace {

const std::string kId = "L1/p2c_t9_k3", kStage = "layer.0.p2c";

/// The report of a dump of one case, whose one stage is right or wrong.
Report report_with(std::vector<Waiver> waivers, bool wrong = true) {
    const Trace reference = reference_of(KitFixture::one(kId));
    Dump dump;
    dump.trace = wrong ? spoiled(reference, kStage,
                                 [](Tensor<double> values) {
                                     values[3] += 1;
                                     return values;
                                 })
                       : reference;
    dump.stored[kStage] = "F64";
    CheckOptions options;
    options.today = "2026-11-21";
    options.waivers = std::move(waivers);
    return check_kit(
               KitFixture::kit(),
               [&](const KitCase& one) { return one.id == kId ? std::optional(dump) : std::nullopt; }, options)
        .report;
}

Verdict verdict(const Report& report) {
    for (const CaseReport& one : report.cases)
        if (one.id == kId) return one.verdict;
    return Verdict::not_reported;
}

}  // namespace

TEST_CASE("waiver: what it names does not fail, and says why", "[kit]") {
    const Report report = report_with({{kId, kStage, "the chip cannot", "2026-11-21"}});
    CHECK(report.pass());
    CHECK(verdict(report) == Verdict::waived);
    for (const CaseReport& one : report.cases) CHECK((one.waiver == "the chip cannot") == (one.id == kId));
    CHECK_FALSE(report_with({}).pass());
}

TEST_CASE("waiver: expired, no longer needed or of nothing, it is an error", "[kit]") {
    const Report expired = report_with({{kId, kStage, "reason", "2026-11-20"}});
    CHECK(verdict(expired) == Verdict::fail);
    REQUIRE(expired.errors.size() == 1);
    CHECK(expired.errors[0].find("expired on 2026-11-20") != std::string::npos);

    const Report needless = report_with({{kId, kStage, "reason", "2027-01-31"}}, false);
    CHECK(verdict(needless) == Verdict::pass);
    CHECK_FALSE(needless.pass());
    REQUIRE(needless.errors.size() == 1);
    CHECK(needless.errors[0].find("no longer needed") != std::string::npos);

    for (const auto& [id, stage] : {std::pair<std::string, std::string>{"L1/p3c", kStage}, {kId, "layer.0.c2p"}}) {
        const Report strange = report_with({{id, stage, "reason", "2027-01-31"}});
        CHECK(verdict(strange) == Verdict::fail);
        REQUIRE(strange.errors.size() == 1);
        CHECK(strange.errors[0].find("the kit has no such") != std::string::npos);
    }
}

TEST_CASE("waiver: what follows from a waived stage is waived, what stands beside it is not", "[kit]") {
    const std::string id = "L2/deberta_clamp";
    const Trace reference = reference_of(KitFixture::one(id));
    const auto check = [&](const std::vector<std::string>& wrong) {
        Dump dump;
        for (const Stage& stage : reference.stages()) {
            Tensor<double> values = widened(stage);
            if (std::find(wrong.begin(), wrong.end(), stage.name) != wrong.end()) values[0] += 1;
            dump.trace.add(named(stage.name, values));
        }
        CheckOptions options;
        options.today = "2026-11-21";
        options.waivers = {{id, kStage, "reason", "2027-01-31"}};
        return check_case(KitFixture::kit(), KitFixture::one(id), dump, options);
    };
    CHECK(check({kStage, "layer.0.scores", "layer.0.output"}).verdict == Verdict::waived);
    const CaseReport beside = check({kStage, "layer.0.c2c", "layer.0.scores"});
    CHECK(beside.verdict == Verdict::fail);
    REQUIRE(beside.first);
    CHECK(beside.first->name == "layer.0.c2c");
}

TEST_CASE("waiver: a file that is no list of waivers is one sentence", "[kit]") {
    const TemporaryFolder folder;
    const auto sentence = [&](const std::string& text) {
        return refusal([&] { read_waivers(write_bytes(folder / "w.json", text)); });
    };
    const std::string good = R"([{"id":"a","stage":"b","reason":"c","expires":"2027-01-31"}])";
    CHECK(read_waivers(write_bytes(folder / "w.json", good)).front().expires == "2027-01-31");
    CHECK(read_waivers(write_bytes(folder / "w.json", "[]")).empty());
    CHECK(sentence("{}").find("no list of waivers") != std::string::npos);
    CHECK(sentence("[1").find("w.json") != std::string::npos);
    CHECK(sentence("[],\"x\":[]").find("no list of waivers") != std::string::npos);
    CHECK(sentence(R"([{"id":"a","stage":"b","expires":"2027-01-31"}])").find("waiver 1 has no \"reason\"") !=
          std::string::npos);
    CHECK(sentence(R"([{"id":"a","stage":"b","reason":"c","expires":"soon"}])").find("\"soon\"") != std::string::npos);
    CHECK(sentence(R"([{"id":"a","stage":"b","reason":"c","expires":"2027-02-30"}])").find("2027-02-30") !=
          std::string::npos);
    CHECK(today().size() == 10);
    CHECK(today() > "2026-01-01");
}

}  // namespace locus::test::test_kit_waivers
