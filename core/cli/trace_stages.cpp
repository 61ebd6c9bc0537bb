#include "core/cli/trace_stages.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/stages.h"
#include "core/text/text_table.h"

namespace locus::cli {

using Json = nlohmann::ordered_json;

namespace {

/// Families whose formula of a stage may be another one than DeBERTa's.
constexpr std::pair<Scheme, const char*> kOtherFamilies[] = {
    {Scheme::rotary, "roformer"}, {Scheme::transformer_xl, "transfo-xl"}, {Scheme::two_stream, "xlnet"}};

std::string axes_of(const StageDescription& stage) {
    std::string text;
    for (const std::string& axis : stage.axes) text += (text.empty() ? "" : " ") + axis;
    return text;
}

}  // namespace

std::string stages_as_table() {
    std::vector<std::vector<std::string>> rows = {{"stage", "axes", "formula"}};
    for (const std::string& name : known_stages()) {
        const StageDescription stage = *describe_stage(name);
        rows.push_back({name, axes_of(stage), stage.formula});
        for (const auto& [scheme, family] : kOtherFamilies)
            if (const auto other = describe_stage(name, scheme); other->formula != stage.formula)
                rows.push_back({std::string("  ") + family, axes_of(*other), other->formula});
    }
    return text_table(rows, {false, false, false}) +
           "\nIn place of 0: the layer, memory or pass.  emd.0.q, emd.0.c2c, ... are those of a layer, of a pass of\n"
           "the mask decoder; layer.0.g.q, ... those of XLNet's query stream; grad.layer.0.q, ... gradients of the\n"
           "loss.  B texts, H heads, T tokens (Tq of queries, Tk of keys), d numbers of a head, D of a token, E of a\n"
           "word vector, F inside the feed-forward network, 2k rows of the relative table, R rows of sinusoids, M of\n"
           "memory, N targets, C classes or clusters, V words.\n";
}

Json stages_as_json() {
    Json stages = Json::array();
    for (const std::string& name : known_stages()) {
        const StageDescription stage = *describe_stage(name);
        Json one = {{"name", name},
                    {"axes", stage.axes},
                    {"formula", stage.formula},
                    {"meaning", stage.meaning},
                    {"source", stage.source}};
        for (const auto& [scheme, family] : kOtherFamilies)
            if (const auto other = describe_stage(name, scheme); other->formula != stage.formula)
                one["others"][family] = {{"axes", other->axes}, {"formula", other->formula}, {"source", other->source}};
        stages.push_back(std::move(one));
    }
    return stages;
}

}  // namespace locus::cli
