#include "core/conformance/kit/kit_first_divergence.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/conformance/kit/kit_depends.h"

namespace locus::conformance {

namespace {

/// What was said about each stage: true right, false wrong, absent nothing.
std::map<std::string, bool> verdicts_of(const Comparison& comparison) {
    std::map<std::string, bool> verdicts;
    for (const StageVerdict& stage : comparison.stages) verdicts[stage.name] = stage.pass;
    return verdicts;
}

const std::vector<std::string>& made_of(const KitCase& one, const std::string& stage) {
    static const std::vector<std::string> nothing;
    const auto found = one.depends.find(stage);
    return found == one.depends.end() ? nothing : found->second;
}

/// Everything a stage follows from, itself included, through the stages that `passes` lets through.
template <class Passes>
void collect(const KitCase& one, const std::string& stage, Passes passes, std::set<std::string>& found) {
    if (!passes(stage) || !found.insert(stage).second) return;
    for (const std::string& from : made_of(one, stage)) collect(one, from, passes, found);
}

/// How many places are left on average, times the number of places, if these stages were reported, too.
std::size_t places_left(const KitCase& one, const std::set<std::string>& suspects,
                        const std::vector<std::string>& reported) {
    // A mistake at a suspect makes wrong what follows from it; suspects that give the same verdicts stay together.
    std::map<std::vector<bool>, std::size_t> groups;
    std::vector<std::set<std::string>> behind;
    for (const std::string& stage : reported) {
        behind.emplace_back();
        collect(
            one, stage, [&](const std::string& name) { return suspects.contains(name); }, behind.back());
    }
    for (const std::string& suspect : suspects) {
        std::vector<bool> wrong;
        for (const auto& stages : behind) wrong.push_back(stages.contains(suspect));
        ++groups[wrong];
    }
    std::size_t squares = 0;
    for (const auto& [wrong, size] : groups) squares += size * size;
    return squares;
}

}  // namespace

KitCase case_of(const Trace& reference) {
    KitCase one;
    one.stages = reference.names();
    for (const std::string& stage : one.stages) one.depends[stage] = depends_of(stage, one.stages);
    return one;
}

std::vector<std::string> first_wrong(const KitCase& one, const Comparison& comparison) {
    const std::map<std::string, bool> verdicts = verdicts_of(comparison);
    std::vector<std::string> roots;
    for (const StageVerdict& stage : comparison.stages) {
        if (stage.pass) continue;
        std::set<std::string> behind;
        collect(
            one, stage.name, [](const std::string&) { return true; }, behind);
        behind.erase(stage.name);
        const bool blocked = std::any_of(behind.begin(), behind.end(), [&](const std::string& name) {
            const auto verdict = verdicts.find(name);
            return verdict != verdicts.end() && !verdict->second;
        });
        if (!blocked) roots.push_back(stage.name);
    }
    return roots;
}

std::vector<std::string> would_narrow(const KitCase& one, const Comparison& comparison, const std::string& wrong) {
    const std::map<std::string, bool> verdicts = verdicts_of(comparison);
    std::set<std::string> suspects;
    collect(
        one, wrong, [&](const std::string& name) { return name == wrong || !verdicts.contains(name); }, suspects);
    std::vector<std::string> chosen;
    std::size_t left = suspects.size() * suspects.size();
    // In the order of a pass, so that of two that help equally the earlier one is named.
    while (chosen.size() < 2) {
        std::string best;
        for (const std::string& stage : one.stages) {
            if (stage == wrong || !suspects.contains(stage)) continue;
            std::vector<std::string> tried = chosen;
            tried.push_back(stage);
            const std::size_t places = places_left(one, suspects, tried);
            if (places >= left) continue;
            left = places;
            best = stage;
        }
        if (best.empty()) break;
        chosen.push_back(best);
    }
    return chosen;
}

}  // namespace locus::conformance
