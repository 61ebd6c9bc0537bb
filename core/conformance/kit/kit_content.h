#pragma once
// A case before it is written: its tensors, and what case.json says of them.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/models/dialect.h"
#include "core/models/model.h"
#include "core/trace.h"

namespace locus::conformance {

struct CaseContent {
    std::string id;  // "L1/p2c_t9_k3"; what stands before the slash is its level
    Family family = Family::deberta;
    std::string why;  // one sentence
    Dialect dialect = Dialect::official;
    double accuracy = 0;
    std::string cut_from;                                              // the whole case it is a part of
    nlohmann::ordered_json source;                                     // who computed the reference
    nlohmann::ordered_json config = nlohmann::ordered_json::object();  // parameters beside the tensors
    std::vector<std::string> notes;
    Trace inputs, reference;
    std::filesystem::path model;  // folder to copy; empty if it needs none
};

/// Who computed what Locus computed in double precision.
nlohmann::ordered_json computed_by_locus();

/// L0: index tensors, exact.
std::vector<CaseContent> index_cases();
/// The index tensor of an L0 case under another dialect; nothing changes where dialects agree.
Trace index_reference(const nlohmann::ordered_json& config, Dialect dialect);

/// L3: whole tiny models, as other people's code computed them.  `oracle`: the folder of recorded cases.
std::vector<CaseContent> recorded_cases(const std::filesystem::path& oracle);
/// L1 and L2: single terms and layers, cut out of the whole models.
std::vector<CaseContent> term_cases(const std::vector<CaseContent>& whole);
std::vector<CaseContent> layer_cases(const std::vector<CaseContent>& whole);
/// L1 and L3: backward passes that other people's autograd recorded.  `oracle`: the folder of recorded cases.
std::vector<CaseContent> gradient_cases(const std::filesystem::path& oracle);
/// q_rot and k_rot of the half-split layout, which no model of these families has, from q and k of a RoFormer.
CaseContent half_split_case(const CaseContent& roformer);
/// Linear attention, bidirectional and causal, and with denominators as small as their bound.  `oracle`: the folder of
/// recorded cases, whose grads_blocks holds what torch computed.
std::vector<CaseContent> linear_cases(const std::filesystem::path& oracle);
/// Queries and keys of a second step, turned behind the prefix of the first.
CaseContent cached_rotation_case();
/// Texts longer than the tiles of a GPU's kernels; no size is a multiple of a tile.
std::vector<CaseContent> tile_cases();
/// Disentangled attention with H = 5, once square and once with fewer queries than keys: sizes that nobody recorded.
std::vector<CaseContent> own_terms();

}  // namespace locus::conformance
