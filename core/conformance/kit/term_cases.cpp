// L1: single terms, cut out of whole models that other people's code ran.
#include <algorithm>

#include "core/conformance/kit/cases.h"

namespace locus::conformance {

namespace {

std::vector<Cut> disentangled_cuts() {
    const std::string l0 = "layer.0.", index = "/relative.index";
    std::vector<Cut> cuts = {
        {"c2c_t9", "ms_deberta_clamp", l0, {"q", "k"}, {"c2c"}, {}, {}, "Content to content, raw: no scale, no mask."}};
    const auto pair = [&](const std::string& sizes, const std::string& from, const std::string& why) {
        cuts.push_back({"c2p_" + sizes,
                        from,
                        l0,
                        {"q", "k_r", index},
                        {"c2p"},
                        {},
                        {},
                        "c2p[i,j] = q_i . k_r[delta(i,j)]: " + why});
        cuts.push_back({"p2c_" + sizes,
                        from,
                        l0,
                        {"k", "q_r", index},
                        {"p2c"},
                        {},
                        {},
                        "p2c[i,j] = k_j . q_r[delta(i,j)], not delta(j,i): " + why});
    };
    pair("t5_k9", "ms_deberta_clamp_short", "fewer tokens than the span.");
    pair("t9_k3", "ms_deberta_clamp", "both ends of the table are shared.");
    pair("t21_b8", "ms_deberta_v3_long", "log buckets, longer than max_position.");
    return cuts;
}

std::vector<Cut> disentangled_steps() {
    const std::string l0 = "layer.0.";
    std::vector<Cut> cuts;
    const auto add = [&](Cut cut) { cuts.push_back(std::move(cut)); };
    add({"scores_three_terms",
         "ms_deberta_v3_emd",
         l0,
         {"c2c", "c2p", "p2c"},
         {"scores"},
         {},
         {{"terms", 3}, {"head_width", 4}},
         "One division by sqrt(3 d) after the sum of three raw terms."});
    add({"scores_two_terms",
         "hf_deberta_v2_c2p_only",
         l0,
         {"c2c", "c2p"},
         {"scores"},
         {},
         {{"terms", 2}, {"head_width", 8}},
         "Two terms: the divisor is sqrt(2 d)."});
    add({"softmax_masked",
         "ms_deberta_v3_emd",
         l0,
         {"scores", "/mask"},
         {"probs"},
         {},
         {{"mask", "outer product"}},
         "Hidden keys get exactly 0, and so do all keys of a hidden query (official)."});
    add({"softmax_masked_hf",
         "hf_deberta_v2_unshared",
         l0,
         {"scores", "/mask"},
         {"probs"},
         {},
         {{"mask", "outer product"}},
         "A mask with a hole; rows of hidden queries are uniform over all keys (Hugging Face)."});
    add({"context_joined",
         "ms_deberta_clamp",
         l0,
         {"probs", "v"},
         {"context"},
         {},
         {},
         "probs v, heads joined as [T, H d] and not as [T, d H]."});
    return cuts;
}

std::vector<Cut> block_cuts() {
    const std::string l0 = "layer.0.";
    std::vector<Cut> cuts;
    const auto add = [&](Cut cut) { cuts.push_back(std::move(cut)); };
    add({"gelu_erf",
         "ms_deberta_v3_emd",
         l0,
         {"attention"},
         {"ffn_act"},
         {{"weight", "encoder.layer.0.intermediate.dense.weight"}, {"bias", "encoder.layer.0.intermediate.dense.bias"}},
         {{"activation", "gelu, exact (erf)"}},
         "The erf form of GELU, not the tanh form."});
    add({"norm_post",
         "ms_deberta_v3_emd",
         l0,
         {"ffn", "attention"},
         {"output"},
         {{"weight", "encoder.layer.0.output.LayerNorm.weight"}, {"bias", "encoder.layer.0.output.LayerNorm.bias"}},
         {{"eps", 1e-7}},
         "norm(ffn + attention): biased variance, eps 1e-7 inside the root."});
    return cuts;
}

std::vector<Cut> rotary_cuts() {
    return {{"rope_interleaved",
             "hf_roformer",
             "layer.0.",
             {"q", "k"},
             {"/rotary.sin", "/rotary.cos", "q_rot", "k_rot"},
             {},
             {{"base", 10000}, {"layout", "interleaved"}},
             "Pairs (2t, 2t+1) turn by m base^(-2t/d); position 0 does not turn."},
            {"rope_scores",
             "hf_roformer",
             "layer.0.",
             {"q_rot", "k_rot"},
             {"scores"},
             {},
             {{"head_width", 8}},
             "q_rot . k_rot / sqrt(d)."},
            {"softmax_keys_only",
             "hf_roformer_mask3d",
             "layer.0.",
             {"scores", "/mask"},
             {"probs"},
             {},
             {{"mask", "keys per query"}},
             "A mask per query, and one query that sees nothing."}};
}

std::vector<Cut> transformer_xl_cuts() {
    const std::string s1 = "segment.1.layer.0.";
    return {{"txl_positions",
             "txl_basic",
             s1,
             {},
             {"/segment.1.positions.r"},
             {},
             {{"keys", 10}, {"width", 10}},
             "Rows sin | cos of the distances K-1 ... 0, in falling order."},
            {"txl_ac",
             "txl_basic",
             s1,
             {"q", "k"},
             {"ac"},
             {{"u", "r_w_bias"}},
             {},
             "(q_i + u) . k_j over memory and segment."},
            {"txl_bd",
             "txl_basic",
             s1,
             {"q", "r_k"},
             {"bd_raw", "bd"},
             {{"v", "r_r_bias"}},
             {{"memory", 5}},
             "(q_i + v) . r_k and its shift; cells that the mask hides are 0."},
            {"txl_bd_no_memory",
             "txl_basic",
             "segment.0.layer.0.",
             {"q", "r_k"},
             {"bd_raw", "bd"},
             {{"v", "r_r_bias"}},
             {{"memory", 0}},
             "The shift of a segment without memory."},
            {"txl_probs",
             "txl_basic",
             s1,
             {"ac", "bd"},
             {"scores", "probs"},
             {},
             {{"memory", 5}, {"head_width", 4}},
             "(ac + bd) / sqrt(d), future keys hidden."},
            {"txl_probs_same_length",
             "txl_same_length",
             "segment.2.layer.0.",
             {"ac", "bd"},
             {"scores", "probs"},
             {},
             {{"memory", 7}, {"head_width", 4}, {"same_length", true}},
             "The same number of keys for every query."}};
}

std::vector<Cut> xlnet_cuts() {
    const std::string attention = "layer.0.rel_attn.";
    const std::vector<std::pair<std::string, std::string>> biases = {{"u", attention + "r_w_bias"},
                                                                     {"v", attention + "r_r_bias"},
                                                                     {"s", attention + "r_s_bias"},
                                                                     {"seg_embed", attention + "seg_embed"}};
    return {{"xlnet_h",
             "hf_xlnet_bi",
             "layer.0.",
             {"q", "k", "r_k", "/perm_mask", "/input_mask", "/token_types"},
             {"ac", "bd_raw", "bd", "ef", "scores", "probs"},
             biases,
             {{"head_width", 4}},
             "Content stream: sees itself, positions on both sides, segments."},
            {"xlnet_g",
             "hf_xlnet_bi",
             "layer.0.",
             {"g.q", "k", "r_k", "/perm_mask", "/input_mask", "/token_types", "/target_mapping"},
             {"g.ac", "g.bd_raw", "g.bd", "g.ef", "g.scores", "g.probs"},
             biases,
             {{"head_width", 4}},
             "Query stream: P rows that do not see their own token; fewer rows than tokens.  A row of target_mapping "
             "that is "
             "all 0 stands for no token: all its stages are 0."},
            {"xlnet_bd_memory",
             "hf_xlnet_mems",
             "segment.1.layer.0.",
             {"q", "r_k"},
             {"bd_raw"},
             {{"v", attention + "r_r_bias"}},
             {{"memory", 4}},
             "Position term over K + T rows, before the shift."}};
}

}  // namespace

std::vector<CaseContent> term_cases(const std::vector<CaseContent>& whole) {
    std::vector<CaseContent> cases;
    for (const auto& cuts :
         {disentangled_cuts(), disentangled_steps(), block_cuts(), rotary_cuts(), transformer_xl_cuts(), xlnet_cuts()})
        for (const Cut& cut : cuts) cases.push_back(cut_case(whole, cut, "L1", false));
    const auto roformer =
        std::find_if(whole.begin(), whole.end(), [](const CaseContent& one) { return one.id == "L3/hf_roformer"; });
    LOCUS_CHECK(roformer != whole.end(), "kit: there is no whole case hf_roformer");
    cases.push_back(half_split_case(*roformer));
    cases.push_back(cached_rotation_case());
    for (std::vector<CaseContent>& made : std::vector{own_terms(), tile_cases()})
        std::move(made.begin(), made.end(), std::back_inserter(cases));
    return cases;
}

// L2: single layers, cut out of whole models that other people's code ran.

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
