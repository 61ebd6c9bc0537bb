// A port with a mistake dumps what locus kit mistake writes: its number is found in it again.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <set>

#include "core/conformance/diagnosis/diagnosis.h"
#include "core/conformance/diagnosis/mistaken_pass.h"
#include "core/conformance/kit/check.h"
#include "core/conformance/kit/first_divergence.h"
#include "core/conformance/kit/rehearse.h"
#include "core/io/model_request.h"
#include "core/io/safetensors.h"
#include "tests/conformance/kit_fixture.h"
#include "tests/conformance/toy/injected_mistakes.h"
#include "tests/conformance/toy/recorded_ranges.h"
#include "tests/oracle_cases.h"
#include "tests/run_program.h"

namespace locus::test::test_mistaken_pass {

using namespace locus::conformance;

namespace {

RightPass pass_of(const std::string& model, const std::vector<std::string>& texts, Dialect dialect) {
    auto folder = ModelFolder::open(resolve_model(model).string());
    ModelRequest request;
    request.model = model;
    request.texts = texts;
    const auto names = open_model<double>(folder->config_json, folder->location, folder->source)->input_names();
    auto prepared = prepare_input(request, fs::path(folder->location).parent_path(), folder->family, names);
    return RightPass::of(std::move(folder), std::move(prepared.segments), dialect);
}

RightPass pass_of(const std::string& name) {
    const fs::path folder = kOracle / name;
    const Case one{folder, folder / "model", read_json(folder / "case.json")};
    return RightPass::of(ModelFolder::open(one.model.string()),
                         read_segments(one.folder / "inputs.safetensors", one.folder / "trace.safetensors"),
                         one.dialect());
}

bool is_of(const Mistake& mistake, Family family) {
    return std::find(mistake.families.begin(), mistake.families.end(), family) != mistake.families.end();
}

std::optional<MistakenPass> pass_with(const RightPass& right, const Variant& way) {
    try {
        return mistaken_pass(right, way);
    } catch (const NotEnough&) {
        return std::nullopt;
    }
}

const std::string kSentence = "a new [MASK] opened beside the new [MASK].";

Fault fault_of(const std::function<void()>& work, std::string& sentence) {
    try {
        work();
    } catch (const Error& error) {
        sentence = error.what();
        return error.fault();
    }
    FAIL("nothing was refused");
    return Fault::usage;
}

/// What `locus check` says of a dump: the first wrong stage that follows from right ones, and whose mistake it is.
struct Judged {
    std::string stage;
    std::optional<int> named;
    std::vector<int> same;
    bool is(int number) const {
        return named && (*named == number || std::find(same.begin(), same.end(), number) != same.end());
    }
};

Judged checked(const RightPass& right, const Trace& dump) {
    const Comparison comparison = compare(right.trace, dump);
    if (comparison.pass()) return {};
    const KitCase stages = case_of(right.trace);
    const std::vector<std::string> wrong = first_wrong(stages, comparison);
    const StageVerdict* first = comparison.first();
    for (const StageVerdict& verdict : comparison.stages)
        if (!wrong.empty() && verdict.name == wrong.front()) first = &verdict;
    const Diagnosis found =
        diagnose(Evidence{right.trace, dump, right.model, right.segments, right.dialect}, comparison, *first);
    Judged verdict{first->name, std::nullopt, found.equivalent};
    if (found.named) verdict.named = found.named->mistake;
    return verdict;
}

}  // namespace

TEST_CASE("mistaken pass: whatever mistake is made in a whole pass, its dump is called by its number",
          "[kit][mistakes]") {
    const auto [name, fewest] = GENERATE(table<std::string, std::size_t>({{"hf_deberta_v1", 30},
                                                                          {"ms_deberta_v2_conv_emd", 40},
                                                                          {"ms_deberta_v3_long", 40},
                                                                          {"hf_roformer_rotate_value", 15},
                                                                          {"txl_basic", 14},
                                                                          {"hf_xlnet_mems", 17}}));
    const RightPass right = pass_of(name);
    std::set<int> numbers;
    for (const Mistake& mistake : catalogue()) {
        if (!is_of(mistake, right.model->family)) continue;
        for (const Variant& way : mistake.variants) {
            const auto pass = pass_with(right, way);
            if (!pass || pass->changed.empty()) continue;
            numbers.insert(mistake.number);
            const Judged verdict = checked(right, pass->trace);
            INFO(name << ", mistake " << mistake.number << " (" << way.how << ") begins at "
                      << pass->changed.front().name << "; found at " << verdict.stage << ", named "
                      << verdict.named.value_or(0));
            CHECK(verdict.is(mistake.number));
        }
    }
    INFO(name << " shows " << numbers.size() << " mistakes");
    CHECK(numbers.size() >= fewest);
}

TEST_CASE("mistaken pass: toy ports in plain loops dump the very same, down to the last stage", "[kit][mistakes]") {
    // What a toy makes in another way than the catalogue: weights of its own (24), one of both sorts of padding rows
    // (33), the norms of the head left right (40, 98), a list that is only read wrong (51).
    const std::set<int> otherwise = {24, 33, 40, 51, 98};
    const auto [name, fewest] = GENERATE(table<std::string, int>({{"ms_deberta_v3_emd", 58},
                                                                  {"hf_deberta_v2_conv", 45},
                                                                  {"hf_roformer", 23},
                                                                  {"txl_basic", 14},
                                                                  {"hf_xlnet_mems", 22}}));
    const RightPass right = pass_of(name);
    const bool hugging_face = right.dialect == Dialect::hf;
    int same = 0;
    for (const toy::InjectedMistake& known : toy::injected_mistakes()) {
        const Mistake& mistake = mistake_of(known.injected.mistake);
        const bool here =
            std::find(known.families.begin(), known.families.end(), right.model->family) != known.families.end();
        if (!here || !known.no_name.empty() || !is_of(mistake, right.model->family)) continue;
        const std::string folder = (kOracle / name / "model").string();
        const Trace port = toy::run_toy<double>(folder, right.segments, {hugging_face, known.injected});
        if (compare(right.trace, port).pass() || otherwise.contains(mistake.number)) continue;
        // Nobody says what a query gets that a transposed perm_mask leaves without keys: uniform here, 0 there.
        if (mistake.number == 72 && known.injected.variant == 2) continue;
        // Over two tokens a norm leaves +1 and -1 of whatever two numbers there are: rounding grows with them.
        if (mistake.number == 127 && known.injected.variant == 2 && right.model->family == Family::xlnet) continue;
        // A random mask is read off the candidate; a whole pass made of formulas has none.
        if (mistake.number == 37 && known.injected.variant >= 2) continue;
        // Nor has it a formula for what a shorter memory makes of the keys of every later segment.
        if (mistake.number == 70 && known.injected.variant == 8) continue;
        // Nor has it an eps, a base, a factor or a matrix that only the candidate shows.
        const std::set<int> measured = {108, 109, 112};
        const int variant = known.injected.variant;
        if (measured.contains(mistake.number) || (mistake.number == 40 && variant == 7) ||
            (mistake.number == 61 && variant == 13) || (mistake.number == 65 && variant == 4) ||
            (mistake.number == 89 && variant >= 2) || (mistake.number == 90 && variant >= 2))
            continue;
        const bool found = std::any_of(mistake.variants.begin(), mistake.variants.end(), [&](const Variant& way) {
            const auto pass = pass_with(right, way);
            if (!pass) return false;
            const Comparison both = compare(port, pass->trace);
            return both.pass() && both.missing.size() == pass->left_out.size();
        });
        INFO(name << ", injected mistake " << known.injected.mistake << "." << known.injected.variant << ": "
                  << known.what);
        CHECK(found);
        same += found;
    }
    CHECK(same >= fewest);
}

TEST_CASE("mistaken pass: the paper's p2c as a mistake is the paper's dialect, stage by stage", "[kit][mistakes]") {
    const RightPass right = pass_of("tiny-v3", {kSentence}, Dialect::official);
    const MistakenPass pass = mistaken_pass(right, mistake_of(1).variants.front());
    const RightPass paper = pass_of("tiny-v3", {kSentence}, Dialect::paper);
    const Comparison both = compare(paper.trace, pass.trace);
    CHECK(both.pass());
    CHECK(both.missing.empty());
    CHECK(both.unexpected.empty());
    CHECK(pass.changed.front().name == "layer.0.p2c");
    CHECK(pass.changed.front().wrong > 700);
    // And where the paper is followed already there is nothing left to change.
    CHECK(mistaken_pass(paper, mistake_of(1).variants.front()).changed.empty());
}

TEST_CASE("mistaken pass: what stands before the mistake is the right pass's own, bit for bit", "[kit][mistakes]") {
    const RightPass right = pass_of("tiny-v3", {kSentence}, Dialect::hf);
    const MistakenPass pass = mistaken_pass(right, mistake_of(26).variants.front());
    CHECK(pass.trace.names() == right.trace.names());
    std::set<std::string> changed;
    for (const ChangedStage& stage : pass.changed) changed.insert(stage.name);
    for (const Stage& stage : right.trace.stages()) {
        INFO(stage.name);
        const Stage& found = pass.trace.at(stage.name);
        bool same = found.shape() == stage.shape();
        for (Index n = 0; same && n < stage.size(); ++n) same = found.at(n) == stage.at(n);
        CHECK(same != changed.contains(stage.name));
    }
    CHECK(first_change(right, mistake_of(26).variants.front()).front().name == pass.changed.front().name);
}

TEST_CASE("mistaken pass: a choice that cannot be made is refused in one sentence", "[kit][mistakes]") {
    const RightPass right = pass_of("tiny-v3", {kSentence}, Dialect::official);
    const auto refused = [&](const std::string& text, Fault fault, const std::string& words) {
        std::string sentence;
        INFO(text);
        CHECK(fault_of([&] { chosen_way(right, MistakeChoice::parse(text)); }, sentence) == fault);
        CHECK_THAT(sentence, Catch::Matchers::Contains(words));
    };
    refused("999", Fault::usage, "mistake 999 is not in the catalogue");
    refused("seven", Fault::usage, "the mistake is \"seven\", expected a number of the catalogue");
    refused("7.", Fault::usage, "the mistake is \"7.\"");
    refused("0", Fault::usage, "the mistake is \"0\"");
    refused("7.15", Fault::usage, "mistake 7.15 is not in the catalogue: mistake 7 is made in 14 ways");
    refused("56", Fault::usage, "mistake 56 is one of roformer, and this model is a deberta");
    refused(
        "129", Fault::unsupported,
        "mistake 129 cannot be made with this model and input: it needs a backward pass, and this one goes forward");
    refused("22", Fault::unsupported, "mistake 22 cannot be made with this model and input: it needs a packed");
}

TEST_CASE("locus kit mistake: its file is a dump that locus check names", "[kit][mistakes][cli]") {
    const TemporaryFolder folder;
    const std::string right = (folder / "right.safetensors").string(), wrong = (folder / "wrong.safetensors").string();
    REQUIRE(run("locus-trace", {"--model", "tiny-v3", "--text", kSentence, "--out", right}).status == 0);
    const Outcome made =
        run("locus-kit", {"mistake", "7.2", "--model", "tiny-v3", "--text", kSentence, "--out", wrong});
    CHECK(made.status == 0);
    CHECK_THAT(made.out,
               Catch::Matchers::Contains("mistake 7.2: the centre of the relative index is off by one (centre "
                                         "at k + 1)\nfirst stage that differs: relative.index, 144 of 144"));
    const Outcome check = run("locus-check", {right, wrong, "--model", "tiny-v3"});
    CHECK(check.status == 1);
    CHECK_THAT(check.out, Catch::Matchers::Contains("mistake 7"));
    std::map<std::string, std::string> said;
    for (const auto& [key, value] : open_safetensors(wrong).metadata) said[key] = value;
    CHECK(said["mistake"] == "7.2");
    CHECK(said["mistake_name"] == "the centre of the relative index is off by one");
    CHECK(said["dialect"] == "reference");
    CHECK(listing(folder / ".") == std::vector<std::string>{"right.safetensors", "wrong.safetensors"});
}

TEST_CASE("locus kit mistake: the list says what every mistake changes first with this model and input",
          "[kit][mistakes][cli]") {
    const Outcome listed = run("locus-kit", {"mistake", "--list", "--json", "--model", "tiny-v3", "--text", kSentence});
    REQUIRE(listed.status == 0);
    const auto json = nlohmann::json::parse(listed.out);
    CHECK(json["family"] == "deberta");
    std::map<int, nlohmann::json> by_number;
    for (const auto& mistake : json["mistakes"]) by_number[mistake["number"]] = mistake;
    CHECK_FALSE(by_number.contains(56));
    CHECK(by_number.at(1)["ways"][0]["state"] == "changes");
    CHECK(by_number.at(1)["ways"][0]["stage"] == "layer.0.p2c");
    CHECK(by_number.at(1)["ways"][0]["wrong"] == 792);
    CHECK(by_number.at(9)["ways"][0]["state"] == "changes nothing");  // the text is shorter than k
    CHECK(by_number.at(22)["ways"][0]["state"] == "cannot be made");
    CHECK(by_number.at(7)["ways"].size() == 14);
}

TEST_CASE("locus kit mistake: bad input is one sentence, and no file is left", "[kit][mistakes][cli]") {
    const TemporaryFolder folder;
    const std::string file = (folder / "x.safetensors").string();
    const auto refused = [&](std::vector<std::string> arguments, int status, const std::string& words) {
        arguments.insert(arguments.begin(), "mistake");
        const Outcome outcome = run("locus-kit", arguments);
        INFO(outcome.err);
        CHECK(outcome.status == status);
        CHECK(outcome.sentences() == 1);
        CHECK_THAT(outcome.err, Catch::Matchers::Contains(words));
        CHECK(listing(folder / ".").empty());
    };
    const std::string model = "--model", text = "--text", out = "--out";
    refused({"999", model, "tiny-v3", text, "a", out, file}, 2, "mistake 999 is not in the catalogue");
    refused({"56", model, "tiny-v3", text, "a", out, file}, 2, "one of roformer");
    refused({"22", model, "tiny-v3", text, "a", out, file}, 4, "cannot be made");
    refused({"7", model, "no-such-folder", text, "a", out, file}, 3, "no-such-folder");
    refused({"7", model, "tiny-v3", out, file}, 2, "expected");
    refused({model, "tiny-v3", text, "a"}, 2, "expected either the number of a mistake, before --text, or --list");
    refused({"--list", model, "tiny-v3", text, "a", out, file}, 2, "--list goes without --out");
    refused({"7", model, "tiny-v3", text, "a", "--stages", "layer.99.q", out, file}, 2, "layer.99.q matches no stage");
    refused({"7", model, "tiny-v3", text, "a", "--dialect", "french"}, 2, "dialect is \"french\"");
    refused({"7", model, "tiny-v3", text, "a", out, (folder / "no" / "x.safetensors").string()}, 3, "no");
}

// A rehearsed port has one mistake and everything else right: the kit must see just that.

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

TEST_CASE("mistaken pass: a term that is left out is left out where nobody reports anything", "[kit][mistakes]") {
    for (const auto& [model, ways] : {std::pair{"tiny-v3", 3}, {"tiny-txl", 1}, {"tiny-xlnet", 1}})
        for (int way = 1; way <= ways; ++way) {
            const std::string name = "86." + std::to_string(way + (ways == 1 ? 3 : 0));
            const Outcome made = run("locus-kit", {"mistake", name, "--model", model, "--text", "tom met a dog"});
            INFO(model << ", " << name << ": " << made.err);
            CHECK(made.status == 0);
            CHECK(made.out.find("first stage that differs: layer.0.scores") != std::string::npos);
        }
    const Outcome other = run("locus-kit", {"mistake", "86.4", "--model", "tiny-v3", "--text", "tom met a dog"});
    CHECK(other.status == 4);
    CHECK(other.err.find("it needs a Transformer-XL or an XLNet") != std::string::npos);
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
    CHECK_THROWS_WITH(rehearse(KitFixture::kit(), {999, 0}, folder / "dumps"), Catch::Contains("999"));
    CHECK_THROWS_WITH(rehearse(KitFixture::kit(), {1, 9}, folder / "dumps"), Catch::Contains("1 way"));
    CHECK(folder.count() == 0);
    write_bytes(folder / "kept", "x");
    CHECK_THROWS_WITH(rehearse(KitFixture::kit(), {1, 0}, folder.path()), Catch::Contains("a new or empty folder"));
    CHECK(folder.count() == 1);
}

}  // namespace locus::test::test_mistaken_pass
