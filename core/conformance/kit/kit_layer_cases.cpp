// L2: single layers, cut out of whole models that other people's code ran.
#include "core/conformance/kit/kit_cut.h"

namespace locus::conformance {

namespace {

std::vector<Cut> disentangled_layers() {
    const std::vector<std::string> disentangled = {"/embeddings.output", "/relative.index", "/relative.table", "/mask"};
    const std::string l0 = "layer.0.";
    return {
        {"deberta_v3",
         "ms_deberta_v3_emd",
         l0,
         disentangled,
         {},
         {},
         {},
         "A layer of v3: log buckets, shared projections, padded sample."},
        {"deberta_clamp", "ms_deberta_clamp", l0, disentangled, {}, {}, {}, "T > 2k, own position projections."},
        {"deberta_clamp_short", "ms_deberta_clamp_short", l0, disentangled, {}, {}, {}, "T < k."},
        {"deberta_v2_conv",
         "ms_deberta_v2_conv_emd",
         l0,
         disentangled,
         {},
         {},
         {},
         "The layer with the convolution beside it."},
        {"deberta_v1",
         "hf_deberta_v1",
         l0,
         disentangled,
         {},
         {},
         {},
         "Version 1: packed projection per head, no bias on keys."},
        {"deberta_v1_talking_head",
         "hf_deberta_v1_talking_head",
         l0,
         disentangled,
         {},
         {},
         {},
         "Heads are mixed before the mask and after the softmax."},
    };
}

std::vector<Cut> other_layers() {
    const std::string l0 = "layer.0.", l1 = "layer.1.";
    return {
        {"roformer",
         "hf_roformer",
         l1,
         {"/layer.0.output", "/rotary.sin", "/rotary.cos", "/mask"},
         {},
         {},
         {},
         "A rotary layer, mask on keys alone."},
        {"transformer_xl",
         "txl_basic",
         "segment.1.layer.0.",
         {"/segment.1.embeddings.output", "/segment.1.positions.r", "/segment.0.memory.0"},
         {},
         {},
         {},
         "A layer over memory and segment."},
        {"xlnet",
         "hf_xlnet_bi",
         l0,
         {"/embeddings.output", "/positions.r", "/perm_mask", "/input_mask", "/token_types", "/target_mapping"},
         {},
         {{"mask_emb", "mask_emb"}},
         {},
         "Both streams of a layer."},
        {"xlnet_memory",
         "hf_xlnet_mems",
         "segment.1.layer.0.",
         {"/segment.1.embeddings.output", "/segment.1.positions.r", "/segment.0.memory.0", "/perm_mask.1",
          "/token_types.1", "/target_mapping.1"},
         {},
         {},
         {},
         "Both streams with memory."},
    };
}

}  // namespace

std::vector<CaseContent> layer_cases(const std::vector<CaseContent>& whole) {
    std::vector<CaseContent> cases;
    for (const auto& cuts : {disentangled_layers(), other_layers()})
        for (const Cut& cut : cuts) cases.push_back(cut_case(whole, cut, "L2", true));
    return cases;
}

}  // namespace locus::conformance
