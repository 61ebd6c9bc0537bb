// L1: linear attention with rotary positions, and a rotation after a cached prefix.
#include <fstream>

#include "core/attention/linear.h"
#include "core/conformance/kit/cases.h"
#include "core/io/safetensors.h"
#include "core/models/layers.h"
#include "core/products.h"

namespace locus::conformance {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// phi_q ... weights from q, k and mask of content.inputs.
void compute_features(CaseContent& content, bool causal) {
    const auto& q = content.inputs.at("layer.0.q").as<double>();
    const auto& k = content.inputs.at("layer.0.k").as<double>();
    const IndexTensor& mask = content.inputs.at("mask").as<std::int64_t>();
    const Index heads = q.extent(1), length = q.extent(2);
    const auto table = rotary_table<double>(inverse_frequencies(q.extent(3)), 0, length);
    Tensor<double> phi_q(q.shape()), phi_k(q.shape()), phi_q_rot(q.shape()), phi_k_rot(q.shape());
    Tensor<double> denominator({q.extent(0), heads, length}), weights({q.extent(0), heads, length, length});
    for (Index at = 0; at < q.extent(0) * heads; ++at) {
        std::vector<bool> visible;
        for (Index j = 0; j < length; ++j) visible.push_back(mask[at / heads * length + j] != 0);
        phi_q.matrix(at) = positive_features<double>(q.matrix(at));
        phi_k.matrix(at) = positive_features<double>(k.matrix(at));
        for (Index j = 0; j < length; ++j)
            if (mask[at / heads * length + j] == 0) phi_k.matrix(at).row(j).setZero();
        phi_q_rot.matrix(at) = rotate<double>(phi_q.matrix(at), table, RotaryLayout::interleaved);
        phi_k_rot.matrix(at) = rotate<double>(phi_k.matrix(at), table, RotaryLayout::interleaved);
        weights.matrix(at) = linear_attention_weights<double>(
            q.matrix(at), k.matrix(at), table, RotaryLayout::interleaved, LinearForm::paper, causal, visible);
        for (Index i = 0; i < length; ++i) {
            double sum = 0;
            for (Index j = 0; j < (causal ? i + 1 : length); ++j)
                sum += phi_q.matrix(at).row(i).dot(phi_k.matrix(at).row(j));
            denominator[at * length + i] = std::max(sum, 1e-6);
        }
    }
    Trace& out = content.reference;
    out.add<double>("layer.0.phi_q", std::move(phi_q));
    out.add<double>("layer.0.phi_k", std::move(phi_k));
    out.add<double>("layer.0.phi_q_rot", std::move(phi_q_rot));
    out.add<double>("layer.0.phi_k_rot", std::move(phi_k_rot));
    out.add<double>("layer.0.denominator", std::move(denominator));
    out.add<double>("layer.0.weights", std::move(weights));
}

CaseContent linear_case(const std::string& name, bool causal, const std::string& why) {
    CaseContent content;
    content.id = "L1/" + name;
    content.family = Family::roformer;
    content.dialect = Dialect::reference;
    content.why = why;
    content.source = computed_by_locus();
    content.config = {{"kind", "linear_attention"},  {"causal", causal}, {"base", 10000},
                      {"layout", "interleaved"},     {"phi", "elu + 1"}, {"head_width", 4},
                      {"smallest_denominator", 1e-6}};
    content.notes = {"No division by sqrt(d).  Keys that mask [B,T] hides have phi_k = 0.  context is weights v.",
                     "A port that never writes weights down reports the other stages."};
    return content;
}

/// Inputs and context by torch; the stages between them by Locus.
CaseContent recorded_case(const fs::path& folder, const std::string& name, bool causal, const std::string& why) {
    CaseContent content = linear_case(name, causal, why);
    std::ifstream file(folder / "case.json");
    const Json json = Json::parse(file, nullptr, false);
    if (!json.is_object() || !json.contains("source"))
        throw Error(Fault::unreadable,
                    (folder / "case.json").string() + ": no JSON object with \"source\", expected a recorded case");
    content.source = json.at("source");
    content.source["class"] = "linear attention written out in torch; stages before context: locus";
    content.accuracy = json.at("tolerance").get<double>();
    const Trace inputs = read_trace(folder / "inputs.safetensors"), trace = read_trace(folder / "trace.safetensors");
    for (const char* stem : {"q", "k", "v"})
        content.inputs.add<double>(std::string("layer.0.") + stem, inputs.at(name + "." + stem).as<double>());
    content.inputs.add(mask_stage(inputs.at(name + ".mask").as<std::int64_t>()));
    compute_features(content, causal);
    content.reference.add<double>("layer.0.context", join_heads(trace.at(name + ".y").as<double>()));
    return content;
}

/// Queries and keys around -5 and one query at -14: products are of the size of their bound.
CaseContent small_case() {
    CaseContent content = linear_case("linear_attention_small", false,
                                      "Denominators of the size of their bound 1e-6: where eps stands shows.");
    Numbers numbers(64);
    for (const char* stem : {"layer.0.q", "layer.0.k"}) {
        Tensor<double> values = numbers.tensor({2, 3, 7, 4});
        for (Index n = 0; n < values.size(); ++n) values[n] -= n / 4 % 7 == 3 && stem[8] == 'q' ? 14 : 5;
        content.inputs.add<double>(stem, std::move(values));
    }
    content.inputs.add<double>("layer.0.v", numbers.tensor({2, 3, 7, 4}));
    IndexTensor mask({2, 7});
    for (Index n = 0; n < mask.size(); ++n) mask[n] = n < 12;
    content.inputs.add(mask_stage(std::move(mask)));
    compute_features(content, false);
    const auto& v = content.inputs.at("layer.0.v").as<double>();
    Tensor<double> split(v.shape());
    for (Index at = 0; at < 6; ++at)
        split.matrix(at) = times<double>(content.reference.at("layer.0.weights").as<double>().matrix(at), v.matrix(at));
    content.reference.add<double>("layer.0.context", join_heads(split));
    return content;
}

}  // namespace

std::vector<CaseContent> linear_cases(const fs::path& oracle) {
    const fs::path folder = oracle / "grads_blocks";
    if (!fs::is_directory(folder))
        throw Error(Fault::unreadable,
                    folder.string() + ": no such folder, expected a recorded case of the source tree");
    return {recorded_case(folder, "linear_attention", false,
                          "phi stands before the rotation, and the denominator is not rotated."),
            recorded_case(folder, "linear_attention_causal", true, "The same, each query over the keys before it."),
            small_case()};
}

CaseContent cached_rotation_case() {
    const Index past = 4, length = 3;
    CaseContent content;
    content.id = "L1/rope_cache";
    content.family = Family::roformer;
    content.dialect = Dialect::reference;
    content.why = "The second step of a pass with a cache: its queries and keys do not start at position 0 again.";
    content.source = computed_by_locus();
    content.config = {
        {"kind", "rotary_cache"}, {"base", 10000}, {"layout", "interleaved"}, {"past", past}, {"head_width", 4}};
    content.notes = {"q are the queries of the second step, k the keys of both; query 0 stands at position 4."};
    Numbers numbers(63);
    const Shape of_q = {2, 3, length, 4}, of_k = {2, 3, past + length, 4};
    Tensor<double> q = numbers.tensor(of_q), k = numbers.tensor(of_k), scores({2, 3, length, past + length});
    content.inputs.add<double>("layer.0.q", q);
    content.inputs.add<double>("layer.0.k", k);
    const auto table = rotary_table<double>(inverse_frequencies(4), 0, past + length);
    for (Index at = 0; at < 6; ++at) {
        q.matrix(at) = rotate<double>(q.matrix(at), table.rows(past, length), RotaryLayout::interleaved);
        k.matrix(at) = rotate<double>(k.matrix(at), table, RotaryLayout::interleaved);
        scores.matrix(at) = times_transposed<double>(q.matrix(at), k.matrix(at)) / 2;
    }
    content.reference.add<double>("layer.0.q_rot", std::move(q));
    content.reference.add<double>("layer.0.k_rot", std::move(k));
    content.reference.add<double>("layer.0.scores", std::move(scores));
    return content;
}

}  // namespace locus::conformance
