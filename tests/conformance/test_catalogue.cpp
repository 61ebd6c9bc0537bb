// Every entry of the catalogue makes numbers of its own on recorded cases, and is found by them.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "core/io/safetensors.h"
#include "tests/conformance/diagnosis.h"
#include "tests/conformance/equivalents.h"
#include "tests/oracle_cases.h"

using namespace locus;
using namespace locus::conformance;

namespace {

/// One recorded DeBERTa case with everything a diagnosis may look at.
struct Recorded {
    std::string name;
    Trace reference;
    std::shared_ptr<const ModelFolder> model;
    std::vector<ModelInput> segments;
};

const std::vector<Recorded>& recorded() {
    static const std::vector<Recorded> all = [] {
        std::vector<Recorded> cases;
        for (const test::Case& one : test::cases_of({"hf_deberta", "ms_deberta"}, "tiny_v3_trained", "tiny-v3")) {
            const auto exact = one.folder / "trace_exact.safetensors", rounded = one.folder / "trace.safetensors";
            cases.push_back({one.name(), read_trace(std::filesystem::exists(exact) ? exact : rounded),
                             ModelFolder::open(one.model.string()),
                             test::read_segments(one.folder / "inputs.safetensors", rounded)});
        }
        return cases;
    }();
    return all;
}

std::string stem_of(const std::string& name) { return name.starts_with("layer.0.") ? name.substr(8) : "/" + name; }

/// Values as a float32 port would write them.
Stage as_port(const Stage& like, const Tensor<double>& values) {
    Stage stage = like;
    if (std::string(like.dtype()) == "I64") {
        IndexTensor whole(values.shape());
        for (Index n = 0; n < values.size(); ++n) whole[n] = static_cast<std::int64_t>(values[n]);
        stage.values = whole;
    } else {
        Tensor<float> rounded(values.shape());
        for (Index n = 0; n < values.size(); ++n) rounded[n] = static_cast<float>(values[n]);
        stage.values = rounded;
    }
    return stage;
}

/// A port that makes this mistake in layer 0 and reports these stages; nothing if the mistake cannot be made here.
std::optional<Trace> port_with(const Recorded& one, const Variant& variant, const std::vector<std::string>& stems) {
    const Trace silent;
    const Evidence evidence{one.reference, silent, one.model, one.segments};
    const Replay replay(evidence, "layer.0.", variant.formulas);
    Trace port;
    try {
        for (const Stage& stage : one.reference.stages()) {
            const std::string stem = stem_of(stage.name);
            if (std::find(stems.begin(), stems.end(), stem) == stems.end()) continue;
            port.add(as_port(stage, replay.touches(stem) ? replay(stem) : widened(stage)));
        }
    } catch (const NotEnough&) {
        return std::nullopt;
    } catch (const Error&) {
        return std::nullopt;
    }
    return port;
}

const std::vector<std::string> kAll = {
    "/relative.index", "q",     "k",           "v",      "q_r", "k_r", "c2c", "c2p", "p2c", "scores",
    "scores_mixed",    "probs", "probs_mixed", "context"};

/// What became of one port: nothing wrong to see, no name, the right one, or another.
enum class Outcome { unseen, unnamed, named, other };

struct Found {
    Outcome outcome = Outcome::unseen;
    std::string sentence;
};

Found outcome_of(const Recorded& one, const Trace& port, int number) {
    const Comparison comparison = compare(one.reference, port);
    const StageVerdict* first = comparison.first();
    if (!first) return {};
    const Diagnosis found = diagnose({one.reference, port, one.model, one.segments}, comparison, *first);
    std::string sentence = first->name + ": ";
    if (found.named) sentence += "named " + std::to_string(found.named->mistake) + " " + found.named->how;
    for (const int same : found.equivalent) sentence += " = " + std::to_string(same);
    if (found.runner_up)
        sentence += "; runner up " + std::to_string(found.runner_up->mistake) + " " + found.runner_up->how + " " +
                    std::to_string(found.runner_up->residual);
    if (!found.judged.empty())
        sentence += "; best " + std::to_string(found.judged[0].mistake) + " " + found.judged[0].how + " " +
                    std::to_string(found.judged[0].residual) + " allowed " + std::to_string(found.judged[0].allowed);
    if (!found.named) return {Outcome::unnamed, sentence};
    const bool tie = std::find(found.equivalent.begin(), found.equivalent.end(), number) != found.equivalent.end();
    if (found.named->mistake == number) return {Outcome::named, sentence};
    return {tie || equivalent(found.named->mistake, number) ? Outcome::unnamed : Outcome::other,
            sentence + (tie ? " TIE" : "")};
}

}  // namespace

TEST_CASE("explore", "[.explore]") {
    for (const Mistake& mistake : catalogue())
        for (std::size_t v = 0; v < mistake.variants.size(); ++v) {
            const Variant& variant = mistake.variants[v];
            for (const auto& stems : {kAll, std::vector<std::string>{"scores"}, std::vector<std::string>{"probs"}}) {
                std::map<Outcome, int> count;
                std::string notes;
                for (const Recorded& one : recorded()) {
                    const auto port = port_with(one, variant, stems);
                    if (!port || port->stages().empty()) continue;
                    const Found found = outcome_of(one, *port, mistake.number);
                    ++count[found.outcome];
                    if (found.outcome == Outcome::other || found.outcome == Outcome::unnamed)
                        notes += "      " + one.name + ": " + found.sentence + "\n";
                }
                printf("%2d.%zu %-45s %s: unseen %d unnamed %d named %d other %d\n%s", mistake.number, v,
                       variant.how.c_str(), stems.size() > 1 ? "all" : stems[0].c_str(), count[Outcome::unseen],
                       count[Outcome::unnamed], count[Outcome::named], count[Outcome::other], notes.c_str());
            }
        }
}
