#pragma once
// The recorded cases of tests/oracle that slips are tried on.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/conformance/toy/mutation.h"
#include "tests/oracle_cases.h"

namespace locus::conformance::toy {

inline Range range_of(const test::Case& one) {
    Range range;
    range.name = one.name();
    range.model_folder = one.model.string();
    range.hugging_face = one.dialect() == Dialect::hf;
    range.model = ModelFolder::open(range.model_folder);
    range.segments = test::read_segments(one.folder / "inputs.safetensors", one.folder / "trace.safetensors");
    range.recorded = read_trace(one.folder / "trace.safetensors");
    const auto exact = one.folder / "trace_exact.safetensors";
    if (test::fs::exists(exact))
        range.sharp = read_trace(exact);
    else if (one.json["tolerance"].get<double>() <= 1e-11)
        range.sharp = range.recorded;
    else  // rounded to float32 here and there by the code that was recorded
        range.sharp = test::open_case_model<double>(range.model_folder)->forward(range.segments, one.dialect());
    return range;
}

/// Two samples of eight tokens on a table of sixteen rows: reshaped by tokens, every sample gets rows of its own.
inline Range divided_table() {
    Range range;
    range.name = "T = 8 on hf_deberta_v2_short's model";
    range.model_folder = (test::kOracle / "hf_deberta_v2_short" / "model").string();
    range.hugging_face = true;
    range.model = ModelFolder::open(range.model_folder);
    ModelInput input;
    input.tokens = IndexTensor({2, 8}, {3, 17, 4, 25, 11, 6, 19, 2, 8, 21, 5, 14, 1, 28, 9, 12});
    range.segments = {input};
    range.sharp = range.recorded = test::open_case_model<double>(range.model_folder)->forward({input}, Dialect::hf);
    return range;
}

/// All small recorded cases of a family, and one of Locus' own whose table divides into samples (mistake 14).
inline std::vector<Range> ranges_of(Family family) {
    const std::map<Family, std::vector<std::string>> beginnings = {{Family::deberta, {"hf_deberta_", "ms_deberta_"}},
                                                                   {Family::roformer, {"hf_roformer"}},
                                                                   {Family::transformer_xl, {"txl_"}},
                                                                   {Family::xlnet, {"hf_xlnet_"}}};
    std::vector<Range> ranges;
    for (const auto& entry : test::fs::directory_iterator(test::kOracle))
        for (const std::string& beginning : beginnings.at(family))
            if (entry.path().filename().string().starts_with(beginning))
                ranges.push_back(
                    range_of({entry.path(), entry.path() / "model", test::read_json(entry.path() / "case.json")}));
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.name < b.name; });
    if (family == Family::deberta) ranges.push_back(divided_table());
    return ranges;
}

}  // namespace locus::conformance::toy
