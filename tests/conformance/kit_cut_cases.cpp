// L1 and L2: single terms and single layers, cut out of whole models that other people's code ran.
#include <algorithm>

#include "core/io/checkpoint.h"
#include "core/positions/rotary.h"
#include "tests/conformance/kit_content.h"

namespace locus::conformance {

namespace {

using Json = nlohmann::ordered_json;

/// What to take from a whole case.  Names begin behind `scope`, or are whole behind a slash.
struct Cut {
    std::string name, from, scope;
    std::vector<std::string> inputs, outputs;  // outputs empty: every stage of the scope that is not an input
    std::vector<std::pair<std::string, std::string>> weights;  // name among the inputs, name in the checkpoint
    Json config;
    std::string why;
};

std::string whole_name(const Cut& cut, const std::string& name) {
    return name.starts_with('/') ? name.substr(1) : cut.scope + name;
}

Stage weight_stage(const WeightSource& weights, const std::string& as, const std::string& name) {
    const std::optional<Shape> shape = weights.shape(name);
    LOCUS_CHECK(shape, weights.location() + " has no tensor " + name);
    const Matrix<double> rows = weights.rows_f64(name, 0, shape->front());
    Stage stage;
    stage.name = as;
    stage.formula = name;
    stage.values = Tensor<double>(*shape, std::vector<double>(rows.data(), rows.data() + rows.size()));
    return stage;
}

CaseContent cut_case(const std::vector<CaseContent>& whole, const Cut& cut, const std::string& level, bool with_model) {
    const auto from =
        std::find_if(whole.begin(), whole.end(), [&](const CaseContent& one) { return one.id == "L3/" + cut.from; });
    LOCUS_CHECK(from != whole.end(), "kit: there is no whole case " + cut.from);
    CaseContent content;
    content.id = level + "/" + cut.name;
    content.family = from->family;
    content.why = cut.why;
    content.dialect = from->dialect;
    content.accuracy = from->accuracy;
    content.cut_from = from->id;
    content.source = from->source;
    if (!cut.config.is_null()) content.config = cut.config;
    if (with_model) content.model = from->model;
    // A name is a stage of the whole case, or one of the inputs of its model.
    std::vector<std::string> given;
    for (const std::string& input : cut.inputs) {
        const std::string name = whole_name(cut, input);
        given.push_back(name);
        const Stage* stage = from->reference.find(name);
        content.inputs.add(stage ? *stage : from->inputs.at(name));
    }
    if (!cut.weights.empty()) {
        const Checkpoint checkpoint = open_checkpoint(from->model);
        for (const auto& [as, name] : cut.weights) content.inputs.add(weight_stage(*checkpoint.weights, as, name));
    }
    for (const std::string& output : cut.outputs) content.reference.add(from->reference.at(whole_name(cut, output)));
    if (cut.outputs.empty())
        for (const Stage& stage : from->reference.stages())
            if (stage.name.starts_with(cut.scope) && std::find(given.begin(), given.end(), stage.name) == given.end())
                content.reference.add(stage);
    return content;
}

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
             "Query stream: P rows that do not see their own token; fewer rows than tokens."},
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
    for (const auto& cuts : {disentangled_cuts(), rotary_cuts(), transformer_xl_cuts(), xlnet_cuts()})
        for (const Cut& cut : cuts) cases.push_back(cut_case(whole, cut, "L1", false));
    const auto roformer =
        std::find_if(whole.begin(), whole.end(), [](const CaseContent& one) { return one.id == "L3/hf_roformer"; });
    LOCUS_CHECK(roformer != whole.end(), "kit: there is no whole case hf_roformer");
    cases.push_back(half_split_case(*roformer));
    return cases;
}

std::vector<CaseContent> layer_cases(const std::vector<CaseContent>& whole) {
    const std::vector<std::string> disentangled = {"/embeddings.output", "/relative.index", "/relative.table", "/mask"};
    const std::string l0 = "layer.0.", l1 = "layer.1.";
    const std::vector<Cut> cuts = {
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
    std::vector<CaseContent> cases;
    for (const Cut& cut : cuts) cases.push_back(cut_case(whole, cut, "L2", true));
    return cases;
}

CaseContent half_split_case(const CaseContent& roformer) {
    CaseContent content;
    content.id = "L1/rope_half_split";
    content.family = Family::roformer;
    content.why = "Pairs (t, t + d/2), as GPT-NeoX and Llama turn them; a RoFormer does not.";
    content.dialect = Dialect::reference;
    content.source = computed_by_locus();
    content.config = {{"base", 10000}, {"layout", "half-split"}};
    for (const char* name : {"layer.0.q", "layer.0.k"}) content.inputs.add(roformer.reference.at(name));
    const auto& q = content.inputs.at("layer.0.q").as<double>();
    std::vector<double> theta;
    for (Index t = 0; 2 * t < q.extent(3); ++t)
        theta.push_back(std::pow(10000.0, -2.0 * static_cast<double>(t) / static_cast<double>(q.extent(3))));
    const RotaryTable<double> table = rotary_table<double>(theta, 0, q.extent(2));
    for (const auto& [from, to] : {std::pair{"layer.0.q", "layer.0.q_rot"}, {"layer.0.k", "layer.0.k_rot"}}) {
        Tensor<double> turned = content.inputs.at(from).as<double>();
        for (Index at = 0; at < turned.extent(0) * turned.extent(1); ++at)
            turned.matrix(at) = rotate<double>(turned.matrix(at), table, RotaryLayout::half_split);
        content.reference.add<double>(to, turned);
    }
    return content;
}

}  // namespace locus::conformance
