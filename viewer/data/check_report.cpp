#include "viewer/data/check_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/io/input_file.h"
#include "core/stages.h"
#include "viewer/plots/stage_slice.h"

namespace locus {

namespace {

using Json = nlohmann::json;

/// An object of the report that knows where it stands, so that a refusal can name the field.
struct Node {
    const std::filesystem::path& file;
    const Json& json;
    std::string where;  // "cases[0].first"

    [[noreturn]] void throw_unreadable(const std::string& key, const std::string& expected) const {
        throw Error(Fault::unreadable, printable(file.string()) + ": the report's field " +
                                           (where.empty() ? "" : where + ".") + key +
                                           " is missing or of another kind, " + "expected " + expected);
    }
    const Json* find(const char* key) const {
        if (!json.is_object()) return nullptr;
        const auto at = json.find(key);
        return at == json.end() || at->is_null() ? nullptr : &*at;
    }
    std::string text(const char* key) const {
        const Json* value = find(key);
        if (!value || !value->is_string()) throw_unreadable(key, "text");
        return value->get<std::string>();
    }
    std::string text_or_nothing(const char* key) const { return find(key) ? text(key) : ""; }
    bool truth(const char* key) const {
        const Json* value = find(key);
        if (!value || !value->is_boolean()) throw_unreadable(key, "true or false");
        return value->get<bool>();
    }
    /// "nan", "inf" and "-inf" are numbers as well; nothing is NaN.
    double number(const char* key) const {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        const Json* value = find(key);
        if (!value) return nan;
        if (value->is_number()) return value->get<double>();
        if (*value == "nan") return nan;
        if (*value == "inf" || *value == "-inf") return (*value == "inf" ? 1 : -1) * HUGE_VAL;
        throw_unreadable(key, "a number");
    }
    Index whole(const char* key) const {
        const Json* value = find(key);
        if (!value || !value->is_number_integer()) throw_unreadable(key, "a whole number");
        return value->get<Index>();
    }
    std::vector<std::string> texts(const char* key) const {
        std::vector<std::string> all;
        const Json* list = find(key);
        if (!list) return all;
        for (const Json& one : *list) {
            if (!list->is_array() || !one.is_string()) throw_unreadable(key, "a list of texts");
            all.push_back(one.get<std::string>());
        }
        return all;
    }
    std::vector<Node> nodes(const char* key) const {
        const Json* list = find(key);
        if (!list || !list->is_array()) throw_unreadable(key, "a list");
        std::vector<Node> all;
        for (const Json& one : *list)
            all.push_back(
                {file, one, (where.empty() ? "" : where + ".") + key + "[" + std::to_string(all.size()) + "]"});
        return all;
    }
    std::optional<Node> node(const char* key) const {
        const Json* value = find(key);
        if (!value) return std::nullopt;
        return Node{file, *value, (where.empty() ? "" : where + ".") + key};
    }
};

ReportedStage read_stage(const Node& node) {
    ReportedStage stage;
    stage.name = node.text("stage");
    stage.state = node.truth("pass") ? StageState::pass : StageState::fail;
    stage.reason = node.text_or_nothing("reason");
    stage.expected = node.number("expected");
    stage.found = node.number("found");
    stage.allowed = node.number("allowed");
    stage.wrong = node.whole("wrong");
    stage.size = node.whole("size");
    if (const Json* index = node.find("index")) {
        for (const Json& at : *index) {
            if (!index->is_array() || !at.is_number_integer())
                node.throw_unreadable("index", "a list of whole numbers");
            stage.index.push_back(at.get<Index>());
        }
    }
    return stage;
}

ReportedMistake read_mistake(const Node& node) {
    ReportedMistake mistake;
    mistake.number = static_cast<int>(node.whole("mistake"));
    mistake.name = node.text("name");
    mistake.how = node.text_or_nothing("how");
    mistake.lesson = node.text_or_nothing("lesson");
    mistake.residual = node.number("residual");
    if (node.find("runner_up")) mistake.runner_up = static_cast<int>(node.whole("runner_up"));
    mistake.runner_up_residual = node.number("runner_up_residual");
    mistake.runner_up_is_bound = node.find("runner_up_is_bound") && node.truth("runner_up_is_bound");
    mistake.betrays = node.text_or_nothing("betrays");
    return mistake;
}

ReportedCase read_case(const Node& node) {
    ReportedCase one;
    one.id = node.text_or_nothing("id");
    one.family = node.text_or_nothing("family");
    one.verdict = node.find("verdict") ? node.text("verdict") : node.truth("pass") ? "pass" : "fail";
    one.refusal = node.text_or_nothing("refusal");
    one.waiver = node.text_or_nothing("waiver");
    one.pattern = node.text_or_nothing("pattern");
    one.doubt = node.text_or_nothing("doubt");
    one.would_narrow = node.texts("would_narrow");
    one.tokens = node.texts("tokens");
    const auto dump = [&](const char* key) {
        const std::filesystem::path path = node.text_or_nothing(key);
        return path.empty() ? path : (node.file.parent_path() / path).lexically_normal();
    };
    one.reference = dump("reference_file");
    one.candidate = dump("candidate_file");
    for (const Node& stage : node.nodes("stages")) one.stages.push_back(read_stage(stage));
    one.add_silent(node.texts("missing"));
    if (const auto first = node.node("first")) {
        one.first = first->text("stage");
        if (!one.find(one.first))
            first->throw_unreadable("stage", "one of the case's stages, found " + printable(one.first));
    }
    if (const auto diagnosis = node.node("diagnosis")) one.mistake = read_mistake(*diagnosis);
    one.right_once_repaired = node.text_or_nothing("right_once_repaired");
    for (const Node& found : node.find("diagnoses") ? node.nodes("diagnoses") : std::vector<Node>()) {
        if (found.find("first_at")) continue;  // the same mistake at a further layer
        WrongByItself wrong{found.text("stage"), 0, found.text_or_nothing("name"), found.text_or_nothing("pattern"),
                            found.text_or_nothing("saved")};
        if (found.find("mistake")) wrong.mistake = static_cast<int>(found.whole("mistake"));
        one.by_themselves.push_back(std::move(wrong));
    }
    return one;
}

}  // namespace

std::string ReportedCase::saved_first() const {
    for (const WrongByItself& wrong : by_themselves)
        if (wrong.stage == first) return wrong.saved;
    return "";
}

std::string WrongByItself::in_words() const {
    if (mistake == 0 && !saved.empty()) return "other numbers saved";
    return mistake == 0 ? "no mistake of the catalogue" : "mistake " + std::to_string(mistake);
}

const ReportedStage* ReportedCase::find(const std::string& stage) const {
    const auto at = std::find_if(stages.begin(), stages.end(), [&](const auto& one) { return one.name == stage; });
    return at == stages.end() ? nullptr : &*at;
}

void ReportedCase::add_silent(const std::vector<std::string>& missing) {
    for (const std::string& name : missing) {
        ReportedStage silent;
        silent.name = name;
        stages.push_back(silent);
    }
    std::stable_sort(stages.begin(), stages.end(),
                     [](const ReportedStage& a, const ReportedStage& b) { return stage_comes_before(a.name, b.name); });
}

Index ReportedCase::count(StageState state) const {
    return std::count_if(stages.begin(), stages.end(), [&](const auto& one) { return one.state == state; });
}

std::size_t CheckReport::opening() const {
    const auto find = [&](auto&& wanted) {
        return static_cast<std::size_t>(std::find_if(cases.begin(), cases.end(), wanted) - cases.begin());
    };
    const auto fails = [](const ReportedCase& one) { return one.verdict == "fail"; };
    for (const std::size_t n : {find([&](const auto& one) { return fails(one) && one.has_dumps(); }), find(fails),
                                find([](const auto& one) { return one.has_dumps(); })})
        if (n < cases.size()) return n;
    return 0;
}

CheckReport read_check_report(const std::filesystem::path& file) {
    const Json json = read_json_file(file);
    const Node root{file, json, ""};
    CheckReport report;
    report.file = file;
    const bool of_kit = root.find("cases") != nullptr;
    if (of_kit && root.text("format") != "locus-report") root.throw_unreadable("format", "\"locus-report\"");
    report.pass = root.truth("pass");
    report.errors = root.texts("errors");
    if (of_kit)
        for (const Node& one : root.nodes("cases")) report.cases.push_back(read_case(one));
    else
        report.cases.push_back(read_case(root));
    if (report.cases.empty()) root.throw_unreadable("cases", "at least one case");
    return report;
}

bool is_judged_by(const ReportedStage& reported, const Stage& reference, const Stage& candidate) {
    if (reported.state == StageState::not_reported || reported.index.empty()) return true;  // nothing was printed
    const auto holds = [&](const Stage& stage, double value) {
        const auto place = place_of(stage, reported.index);
        if (!place) return false;
        const double here = matrix_of(stage, place->sample, place->head)(place->cell.i, place->cell.j);
        return here == value || (std::isnan(here) && std::isnan(value));
    };
    return holds(reference, reported.expected) && holds(candidate, reported.found);
}

}  // namespace locus
