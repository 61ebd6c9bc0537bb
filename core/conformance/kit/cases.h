#pragma once
// A case before it is written: its tensors, and what case.json says of them.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/cancel.h"
#include "core/models/dialect.h"
#include "core/models/model.h"
#include "core/positions/relative_buckets.h"
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
    std::filesystem::path model;       // folder to copy; empty if it needs none
    std::filesystem::path checkpoint;  // folder that is named instead of copied, as case.json will; may be empty
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
/// Queries and keys of a second step, rotated after the prefix of the first.
CaseContent cached_rotation_case();
/// Texts longer than the tiles of a GPU's kernels; no size is a multiple of a tile.
std::vector<CaseContent> tile_cases();
/// Disentangled attention with H = 5, once square and once with fewer queries than keys: sizes that were not recorded.
std::vector<CaseContent> own_terms();

/// L3: the first two layers of a checkpoint in its real sizes, computed in double precision: a short text, a padded
/// batch (Transformer-XL: two segments), long texts as far as the model has positions for them.  References are float32
/// and have 20 MB at most in all; where stages do not fit, outputs are kept before scores. Throws what open_checkpoint
/// and open_model throw; Cancelled, asked before every case.
std::vector<CaseContent> model_cases(const std::filesystem::path& folder, Dialect dialect, const CancelToken& stop);

// A part of a whole recorded case: what is given and what must follow from it.

/// What to take from a whole case.  Names begin after `scope`, or are whole after a slash.
struct Cut {
    std::string name, from, scope;
    std::vector<std::string> inputs, outputs;  // outputs empty: every stage of the scope that is not an input
    std::vector<std::pair<std::string, std::string>> weights;  // name among the inputs, name in the checkpoint
    nlohmann::ordered_json config;
    std::string why;
};

/// Cuts a case of a level out of the whole ones.  Throws Error(usage) for a case, a stage or a weight that is not
/// there.
CaseContent cut_case(const std::vector<CaseContent>& whole, const Cut& cut, const std::string& level, bool with_model);

// What the cases that Locus made up itself are put together from.

/// Seeded numbers between -1 and 1, the same on every machine.
class Numbers {
public:
    explicit Numbers(std::uint64_t seed) : state_(seed) {}
    Tensor<double> tensor(const Shape& shape) {
        Tensor<double> values(shape);
        for (Index n = 0; n < values.size(); ++n) {
            state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
            values[n] = static_cast<double>((state_ >> 33) % 2000001) / 1e6 - 1;
        }
        return values;
    }

private:
    std::uint64_t state_;
};

/// "mask" [B,Tq,Tk] or, of keys alone, [B,T]; 1 = visible.
Stage mask_stage(IndexTensor values);
/// layer.0.c2c ... layer.0.context from q, k, v, k_r, q_r and mask of content.inputs.
void compute_own_terms(CaseContent& content, const RelativeBuckets& buckets);

}  // namespace locus::conformance
