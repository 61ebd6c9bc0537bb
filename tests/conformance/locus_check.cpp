// locus check: does a candidate hold the same stages as a reference?
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/cli/program.h"
#include "core/compare.h"
#include "core/io/safetensors.h"

namespace {

using namespace locus;
using Json = nlohmann::ordered_json;

Json cell(const StageVerdict& verdict) {
    Json json = {{"stage", verdict.name}, {"reason", verdict.reason}};
    const bool compared = verdict.worst >= 0;
    json["index"] = compared ? Json(verdict.worst_index) : Json();
    json["expected"] = compared ? cli::json_number(verdict.expected) : Json();
    json["found"] = compared ? cli::json_number(verdict.found) : Json();
    return json;
}

Json as_json(const Comparison& comparison, const std::optional<Tolerance>& fixed) {
    Json stages = Json::array();
    for (const StageVerdict& verdict : comparison.stages) {
        Json stage = cell(verdict);
        stage["pass"] = verdict.pass;
        stage["max_difference"] = cli::json_number(verdict.max_difference);
        stage["allowed"] = cli::json_number(verdict.allowed);
        stage["rtol"] = verdict.tolerance.relative;
        stage["atol"] = verdict.tolerance.absolute;
        stage["wrong"] = verdict.wrong;
        stage["size"] = verdict.size;
        stages.push_back(stage);
    }
    Json bound = {{"derived", !fixed}};
    if (fixed) bound.update({{"rtol", fixed->relative}, {"atol", fixed->absolute}});
    return {{"pass", comparison.pass()},
            {"tolerance", bound},
            {"first", comparison.first() ? cell(*comparison.first()) : Json()},
            {"diagnosis", nullptr},
            {"stages", stages},
            {"missing", comparison.missing},
            {"unexpected", comparison.unexpected}};
}

/// Two numbers with as many digits as it takes to tell them apart.
std::string expected_and_found(double expected, double found) {
    char texts[2][40];
    for (const int digits : {6, 9, 17}) {
        std::snprintf(texts[0], sizeof texts[0], "%.*g", digits, expected);
        std::snprintf(texts[1], sizeof texts[1], "%.*g", digits, found);
        if (std::string(texts[0]) != texts[1]) break;
    }
    return std::string("expected ") + texts[0] + ", found " + texts[1];
}

std::string as_text(const Comparison& comparison, const std::optional<Tolerance>& fixed) {
    const std::string bound = fixed
                                  ? "tolerance: rtol " + cli::number(fixed->relative) + ", atol " +
                                        cli::number(fixed->absolute) + ", the same for every stage\n"
                                  : std::string("tolerance: derived from dtype and reduction length, stage by stage\n");
    std::vector<std::vector<std::string>> rows = {{"stage", "max difference", "allowed", "verdict"}};
    for (const StageVerdict& verdict : comparison.stages)
        rows.push_back({verdict.name, verdict.worst >= 0 ? cli::number(verdict.max_difference) : "-",
                        cli::number(verdict.allowed), verdict.pass ? "ok" : "WRONG: " + verdict.reason});
    std::string text = bound + cli::table(rows, {false, true, true, false});
    if (!comparison.missing.empty())
        text += std::to_string(comparison.missing.size()) + " stages of the reference not reported\n";
    if (!comparison.unexpected.empty())
        text += std::to_string(comparison.unexpected.size()) + " stages not in the reference\n";
    const StageVerdict* first = comparison.first();
    if (!first) return text + "pass: " + std::to_string(comparison.stages.size()) + " stages inside the tolerance\n";
    text += "first wrong stage: " + first->name + ", " + first->reason;
    if (first->worst >= 0)
        text +=
            "; worst cell " + to_string(first->worst_index) + ": " + expected_and_found(first->expected, first->found);
    return text + "\n";
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app(
        "Compares two traces stage by stage, in model order.\n"
        "  locus check reference.safetensors candidate.safetensors\n"
        "A value passes if |found - expected| <= atol + rtol * max |expected| of its stage.  Without --rtol and --atol "
        "the\n"
        "bound is what rounding explains: 2 eps (4 + sqrt n), eps of the coarser dtype, n the length of all sums up to "
        "the\n"
        "stage.  The candidate may hold any of the stages, at least one.  NaN, wrong shape and wrong dtype never "
        "pass.\n"
        "Exit status: 0 inside, 1 mismatch, 2 wrong usage or nothing in common, 3 unreadable, 4 unsupported.",
        "locus check");
    std::string reference_file, candidate_file;
    std::optional<double> rtol, atol;
    bool json = false;
    app.add_option("reference", reference_file, "what is right")->required();
    app.add_option("candidate", candidate_file, "what is to be judged")->required();
    app.add_option("--rtol", rtol, "relative to the largest value of the stage")->check(CLI::NonNegativeNumber);
    app.add_option("--atol", atol, "absolute")->check(CLI::NonNegativeNumber);
    app.add_flag("--json", json, "print JSON");
    return cli::run_program(app, argc, argv, [&] {
        std::map<std::string, std::string> stored;
        const Trace reference = read_trace(reference_file);
        const Trace candidate = read_trace(candidate_file, &stored);
        std::optional<Tolerance> fixed;
        if (rtol || atol) fixed = Tolerance{rtol.value_or(0), atol.value_or(0)};
        const Comparison comparison = compare(reference, candidate, fixed, stored);
        std::cout << (json ? as_json(comparison, fixed).dump(2) + "\n" : as_text(comparison, fixed));
        return comparison.pass() ? 0 : 1;
    });
}
