#include "core/conformance/diagnosis/stage_scope.h"

#include <cctype>

#include "core/stages.h"

namespace locus::conformance {

namespace {

/// The gradient of `of`: in the scope of what is computed after it, since that is what it follows from.
std::pair<std::string, std::string> scope_and_stem_of_gradient(const std::string& of) {
    const auto [scope, stem] = scope_and_stem(of);
    if (stem == "memory") return {"", "/grad." + of};
    if (of == "embeddings.output") return {"layer.0.", "grad.x"};
    if (of == "emd.query.0") return {"emd.0.", "grad.x_q"};
    if (stem == "output") {
        const bool decodes = scope.starts_with("emd.");
        const int next = number_in_name(scope, decodes ? 4 : 6) + 1;
        if (decodes) return {"emd." + std::to_string(next) + ".", "grad.x_q"};
        if (scope.starts_with("layer.") && !scope.ends_with(".g."))
            return {"layer." + std::to_string(next) + ".", "grad.x"};
    }
    if (!stem.starts_with('/')) return {scope, "grad." + stem};
    // A parameter of a layer: "#" for its number.
    const std::string before = "encoder.layer.";
    const std::size_t found = of.find(before);
    if (found == std::string::npos || (found > 0 && of[found - 1] != '.')) return {"", "/grad." + of};
    const std::size_t digit = found + before.size();
    std::size_t end = digit;
    while (end < of.size() && std::isdigit(static_cast<unsigned char>(of[end]))) ++end;
    if (end == digit || end == of.size() || of[end] != '.') return {"", "/grad." + of};
    return {"layer." + of.substr(digit, end - digit) + ".", "grad." + of.substr(0, digit) + "#" + of.substr(end)};
}

}  // namespace

std::pair<std::string, std::string> scope_and_stem(const std::string& name) {
    if (name.starts_with("grad.")) return scope_and_stem_of_gradient(name.substr(5));
    const std::size_t start = name.starts_with("segment.") ? name.find('.', 8) + 1 : 0;
    const auto numbered = [&](const std::string& group) {
        const std::size_t digit = start + group.size();
        return name.compare(start, group.size(), group) == 0 && digit < name.size() &&
               std::isdigit(static_cast<unsigned char>(name[digit]));
    };
    if (numbered("memory."))
        return {name.substr(0, start) + "layer." + name.substr(start + std::string("memory.").size()) + ".", "memory"};
    for (const char* group : {"layer.", "emd."}) {
        if (!numbered(group)) continue;
        std::size_t end = name.find('.', start + std::string(group).size()) + 1;
        if (name.compare(end, 2, "g.") == 0) end += 2;
        return {name.substr(0, end), name.substr(end)};
    }
    return {name.substr(0, start), "/" + name.substr(start)};
}

}  // namespace locus::conformance
