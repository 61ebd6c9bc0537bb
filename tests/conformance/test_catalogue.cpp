// Every entry of the catalogue makes numbers of its own, and a port that makes them is called by its number.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/check.h"
#include "core/conformance/diagnosis/diagnosis.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/io/mistake_list.h"
#include "core/stages.h"
#include "tests/conformance/catalogue_ports.h"
#include "tests/conformance/recorded.h"
#include "tests/files.h"

namespace locus::test::test_catalogue {

using namespace locus::conformance;

namespace {

/// Entries whose ports are made here; others have tests of their own.
bool of_attention(const Mistake& mistake) { return mistake.number <= 37; }

/// What cannot be made from a recorded case alone: toy/ makes it.
bool made_elsewhere(int number, const std::string& how) {
    return number == 14 || number == 15 || number == 34 || how.find("no file holds") != std::string::npos ||
           how.find("one constant") != std::string::npos || how.find("dense layer") != std::string::npos ||
           how.find("random mask") != std::string::npos || how.ends_with("as the shift leaves it") ||
           how.starts_with("the feed-forward part times") || how.starts_with("bd ") || how.starts_with("ac ") ||
           how.starts_with("padding queries too, ") || how.starts_with("a mask of pairs ") ||  // of RoFormer
           how.starts_with("Transformer-XL: ");                                                // of the toy ports
}

/// Everything, the index alone, and the one late stage that the variant reaches.
std::vector<Stems> reports_of(const Variant& variant) {
    const Trace silent;
    const Evidence nothing{silent, silent, nullptr, {}};
    const Replay replay(nothing, "layer.0.", variant.formulas);
    const std::string late = replay.touches("scores") ? "scores" : replay.touches("probs") ? "probs" : "context";
    std::vector<Stems> reports = {every_stem(), {late}};
    if (replay.touches("/relative.index")) reports.push_back({"/relative.index"});
    return reports;
}

}  // namespace

TEST_CASE("catalogue: numbers are unique and rise, and every entry says all it has to", "[kit]") {
    int before = 0;
    for (const Mistake& mistake : catalogue()) {
        INFO(mistake.number);
        CHECK(mistake.number > before);
        before = mistake.number;
        CHECK_FALSE(mistake.name.empty());
        CHECK_FALSE(mistake.symptom.empty());
        CHECK_FALSE(mistake.betrays.empty());
        CHECK(mistake.lesson.size() == 2);
        CHECK_FALSE(mistake.families.empty());
        CHECK_FALSE(mistake.stems.empty());
        CHECK_FALSE(mistake.variants.empty());
        for (const Variant& variant : mistake.variants) CHECK((mistake.variants.size() == 1 || !variant.how.empty()));
    }
    for (int number = 1; number <= 37; ++number) CHECK(mistake_of(number).number == number);
}

TEST_CASE("catalogue: a port with a mistake is named by its number, or not at all", "[kit]") {
    std::set<std::pair<int, int>> ties;
    for (const Mistake& mistake : catalogue()) {
        if (!of_attention(mistake)) continue;
        bool alone = false;  // named without a tie, from everything and from one late stage
        for (const Variant& variant : mistake.variants) {
            if (made_elsewhere(mistake.number, variant.how)) continue;
            double largest = 0;
            bool found = false;
            for (const Stems& stems : reports_of(variant)) {
                bool named = false;
                for (const RecordedPort& one : recorded_ports()) {
                    // Hundreds of times as many pairs as in a short text: for what that does not show.
                    if (named && one.segments.front().length() > 100) continue;
                    const auto port = port_with(one, variant, stems);
                    if (!port) continue;
                    const PortOutcome outcome = outcome_of(one, *port);
                    if (!outcome.seen) continue;
                    INFO(mistake.number << " " << variant.how << " in " << one.name << " at " << outcome.stage
                                        << ", named " << outcome.named.value_or(0) << ": " << outcome.best);
                    CHECK((!outcome.named || outcome.is(mistake.number) || outcome.ties_with(mistake.number)));
                    largest = std::max(largest, std::isnan(outcome.size) ? 1e9 : outcome.size);
                    named = named || outcome.is(mistake.number) || outcome.ties_with(mistake.number);
                    found = found || named;
                    alone = alone || (outcome.is(mistake.number) && outcome.same.empty());
                    for (const int same : outcome.same)
                        if (outcome.named) ties.insert(std::minmax(*outcome.named, same));
                }
            }
            INFO(mistake.number << " " << variant.how);
            CHECK(largest > 100);
            CHECK(found);
        }
        INFO(mistake.number);
        CHECK((alone || made_elsewhere(mistake.number, "")));
    }
    // What ties on these cases is what diagnosis.cpp says, and nothing of it is made up.
    std::set<std::pair<int, int>> documented;
    for (const Equivalent& pair : equivalents()) documented.insert({pair.first, pair.second});
    for (const auto& [first, second] : ties) {
        INFO(first << " and " << second << " tie, but equivalents.cpp is silent");
        CHECK(documented.contains({first, second}));
    }
    for (const auto& [first, second] : documented) {
        if (second > 37) continue;  // their ports are made by other tests
        INFO(first << " and " << second << " never tie");
        CHECK(ties.contains({first, second}));
    }
}

// The catalogue in words is what lessons and pictures read: the file holds what the code says, entry by entry.

TEST_CASE("catalogue: assets/mistakes.json holds every mistake as the code has it", "[kit]") {
    std::ifstream file(std::string(LOCUS_SOURCE_DIR) + "/assets/mistakes.json");
    std::stringstream text;
    text << file.rdbuf();
    INFO("locus check --catalogue --json > assets/mistakes.json writes it anew");
    CHECK(text.str() == catalogue_json());

    const std::vector<MistakeEntry> entries = read_mistake_list(mistake_list_file());
    REQUIRE(entries.size() == catalogue().size());
    for (std::size_t n = 0; n < entries.size(); ++n) {
        CHECK(entries[n].number == catalogue()[n].number);
        CHECK(entries[n].name == catalogue()[n].name);
        CHECK(entries[n].symptom == catalogue()[n].symptom);
        CHECK(entries[n].betrays == catalogue()[n].betrays);
        CHECK(entries[n].evidence == catalogue()[n].evidence);
        CHECK(entries[n].lesson == catalogue()[n].lesson);
        CHECK(entries[n].families.size() == catalogue()[n].families.size());
        CHECK(entries[n].first_wrong == first_wrong_stages(catalogue()[n]));
    }
}

TEST_CASE("catalogue: the stages that go wrong first have names that a dump can have", "[kit]") {
    for (const Mistake& mistake : catalogue())
        for (std::string stage : first_wrong_stages(mistake)) {
            INFO(mistake.number << " " << stage);
            if (!stage.starts_with("grad.")) continue;  // of a forward pass it may be a link, such as the mask
            if (const std::size_t any = stage.find(".N."); any != std::string::npos) stage[any + 1] = '0';
            const bool is_of_layer = stage.find('.', 5) == std::string::npos;
            CHECK(describe_stage(is_of_layer ? "grad.layer.0." + stage.substr(5) : stage));
        }
    CHECK(first_wrong_stages(mistake_of(140)) == std::vector<std::string>{"grad.attention", "grad.output"});
}

TEST_CASE("catalogue: a list that is none is refused by file and field", "[kit][bad-input]") {
    const auto refusal = [](const std::string& text) -> std::string {
        const test::TemporaryFolder scratch;
        const std::filesystem::path file = scratch.path() / "mistakes.json";
        std::ofstream(file) << text;
        try {
            read_mistake_list(file);
        } catch (const Error& error) {
            CHECK(error.fault() == Fault::unreadable);
            return error.what();
        }
        return "";
    };
    CHECK(refusal("no JSON").find("mistakes.json") != std::string::npos);
    CHECK(refusal(R"({"version": "1.0"})").find("'mistakes' not found") != std::string::npos);
    CHECK(refusal(R"({"mistakes": [{"number": 1}]})").find("mistakes[0] is not an entry") != std::string::npos);
    CHECK(refusal(R"({"mistakes": [{"number": "one"}]})").find("type must be number") != std::string::npos);
    CHECK_THROWS_WITH(entry_of({}, 1), Catch::Contains("no mistake 1"));
}

// Every way to make mistakes 56 ... 77 and 82 ... 128 shows in a recorded case, and is named where it is made.

namespace {

/// The largest deviation of a stage from its recorded self under a variant, in units of what rounding explains.
double farthest(const Recorded& recorded, const Variant& variant) {
    double worst = 0;
    for (const Stage& stage : recorded.trace.stages()) {
        const auto [scope, stem] = scope_and_stem(stage.name);
        const Replay replay(recorded.evidence, scope, variant.formulas);
        if (!replay.touches(stem)) continue;
        try {
            const double missed = distance(replay.computed(stem), widened(stage));
            if (std::isfinite(missed)) worst = std::max(worst, missed / recorded.allowed(stage));
        } catch (const NotEnough&) {
        } catch (const Error&) {
        }
    }
    return worst;
}

/// 129 to 143 are of backward passes: test_injected_training.cpp makes them.
bool is_mine(int number) { return (number >= 56 && number <= 77) || (number >= 82 && number <= 128); }

/// What no whole model shows: toy/term_injected_mistakes.cpp makes it in single terms.
bool of_terms(int number, const std::string& how) {
    return number == 64 || how.find("second step") != std::string::npos ||
           how.find("where the model pairs t and t + d/2") != std::string::npos;
}

/// What is measured on a candidate, or needs an index or a switch that no recorded model has: test_fitted_numbers.cpp,
/// test_ignored_switches.cpp and the toy ports of test_injected_mistakes.cpp make it.
bool needs_a_candidate(int number, const std::string& how) {
    return number == 108 || number == 109 || number == 112 || how == "a base of its own" ||
           how == "by a factor of its own" || how == "from a number of its own" ||
           how == "relative sinusoids of a base of their own" || how.find(" of another width w") != std::string::npos ||
           how.ends_with(" alone stand elsewhere") || how == "no causal mask, although is_decoder is true" ||
           how.find(" in this layer alone") != std::string::npos || how.starts_with("a table of all positions") ||
           how.starts_with("what was remembered is dropped") ||  // another shape
           (number == 110 && how.find("where the model has") != std::string::npos);
}

}  // namespace

TEST_CASE("mistakes: every way to make 56 ... 77 and 82 ... 128 misses a recorded stage by far more than rounding",
          "[kit]") {
    std::map<Family, std::vector<std::unique_ptr<Recorded>>> cases;
    for (const Family family : {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet})
        cases[family] = recorded_cases(family);
    for (const Mistake& mistake : catalogue()) {
        if (!is_mine(mistake.number)) continue;
        for (const Variant& variant : mistake.variants) {
            if (of_terms(mistake.number, variant.how) || needs_a_candidate(mistake.number, variant.how)) continue;
            INFO(mistake.number << " " << mistake.name << ", " << variant.how);
            double worst = 0;
            for (const Family family : mistake.families)
                for (const auto& recorded : cases[family])
                    if (worst < 100) worst = std::max(worst, farthest(*recorded, variant));
            CHECK(worst >= 100);
        }
    }
}

}  // namespace locus::test::test_catalogue
