#include "tests/bench/cuda/against.h"

#include <cmath>

#include "tests/bench/cuda/measures.h"

namespace locus::bench {

namespace {

using nlohmann::ordered_json;

bool is_rival(const ordered_json& way) {
    constexpr double kWrong = 0.1;
    return way.contains("ms") && way.value("positions", false) && way["error"].is_number() &&
           way["error"].get<double>() <= kWrong;
}

std::string error_text(const ordered_json& way) {
    if (!way.contains("error")) return "-";
    if (!way["error"].is_number() || !std::isfinite(way["error"].get<double>())) return "not finite";
    char text[32];
    std::snprintf(text, sizeof text, "%.1e", way["error"].get<double>());
    return text;
}

}  // namespace

ordered_json ratios(const ordered_json& ways, double best, double hugging_face, double disentangled_flash) {
    ordered_json found = ordered_json::array();
    const ordered_json& ours = ways[0];
    const auto add = [&](const std::string& of, const ordered_json* to, double goal) {
        ordered_json one = {{"of", of}};
        if (to) one["to"] = (*to)["name"];
        if (goal > 0) one["goal"] = goal;
        if (to && ours.contains("ms")) {
            one["value"] = (*to)["ms"].get<double>() / ours["ms"].get<double>();
            if (goal > 0) one["met"] = one["value"].get<double>() >= goal;
        } else {
            one["not_measured"] = ours.contains("ms") ? "no such peer was measured" : "ours were not measured";
        }
        if (to || goal > 0) found.push_back(one);
    };
    const ordered_json* fastest = nullptr;
    const auto named = [&](const std::string& name) -> const ordered_json* {
        for (const ordered_json& way : ways)
            if (way["name"] == name && is_rival(way)) return &way;
        return nullptr;
    };
    for (std::size_t n = 1; n < ways.size(); ++n)
        if (is_rival(ways[n]) && (!fastest || ways[n]["ms"] < (*fastest)["ms"])) fastest = &ways[n];
    add("best peer", fastest, best);
    add("Hugging Face eager", named("Hugging Face eager"), hugging_face);
    add("disentangled-flash", named("disentangled-flash"), disentangled_flash);
    return found;
}

std::string against_table(const ordered_json& measured) {
    std::string text;
    for (const ordered_json& row : measured["rows"]) {
        text += row["what"].get<std::string>() + ", " + row["precision"].get<std::string>() + ", B " +
                std::to_string(row["B"].get<int>()) + ", T " + std::to_string(row["T"].get<int>()) +
                (row.contains("positions") ? ", " + row["positions"].get<std::string>() : "") +
                (row.contains("not_measured") ? ": " + row["not_measured"].get<std::string>() : "") + "\n";
        if (!row.contains("ways")) continue;
        std::vector<std::vector<std::string>> rows = {{"  who", "ms", "error", "ours are faster by", "how"}};
        for (const ordered_json& way : row["ways"]) {
            const std::string name = way["name"];
            const ordered_json& ours = row["ways"][0];
            const bool known = way.contains("ms"), rehearsal = measured["rehearsal"];
            const std::string faster = known && ours.contains("ms") && name != "ours" && !rehearsal
                                           ? text_of(way["ms"].get<double>() / ours["ms"].get<double>(), 2) + " x"
                                           : "-";
            rows.push_back({"  " + name,
                            !known      ? std::string("not measured")
                            : rehearsal ? "runs"
                                        : text_of(way["ms"], 3),
                            error_text(way), faster, known ? way.value("how", "") : way.value("not_measured", "")});
        }
        text += columns(rows);
        for (const ordered_json& one : row.value("ratios", ordered_json::array())) {
            if (!one.contains("goal")) continue;
            const std::string to = one.value("to", one["of"].get<std::string>()), of = one["of"];
            text += "  goal: " + text_of(one["goal"], 1) + " x " + of +
                    (one.contains("value") ? ": " + text_of(one["value"], 2) + " x" + (of == to ? "" : " " + to) +
                                                 (one["met"].get<bool>() ? ", met" : ", MISSED")
                                           : std::string(": not measured")) +
                    "\n";
        }
        text += "\n";
    }
    return text;
}

}  // namespace locus::bench
