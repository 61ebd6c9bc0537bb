// What the Attention page asks for: one layer, a stage by name, all heads in short; and [MASK] in place of tokens.
#include <algorithm>
#include <utility>

#include "viewer/data/deberta_session.h"

namespace locus {

namespace {

/// Layers that one pass keeps for the overview: their terms and probabilities take at most this many values.
constexpr Index kKeptValues = Index{64} << 20;

std::vector<std::string> overview_stems(const DebertaConfig& config) {
    std::vector<std::string> stems = {"c2c", "probs"};
    if (config.terms.c2p) stems.emplace_back("c2p");
    if (config.terms.p2c) stems.emplace_back("p2c");
    return stems;
}

Matrix<float> head_of(const Trace& trace, const std::string& name, Index head) {
    const Stage* stage = trace.find(name);
    return stage ? Matrix<float>(stage->as<float>().matrix(head)) : Matrix<float>();
}

}  // namespace

void DebertaSession::mask_tokens(ModelInput& input, const std::vector<Index>& positions) const {
    if (positions.empty() || !can_mask()) return;
    const std::int64_t mask_id = *tokenizer()->mask_id();
    for (const Index t : positions)
        if (t >= 0 && t < input.length()) input.tokens[t] = mask_id;
    std::vector<std::int64_t> places;
    for (Index t = 0; t < input.length(); ++t)
        if (input.tokens[t] == mask_id) places.insert(places.end(), {0, t});
    const auto count = static_cast<Index>(places.size() / 2);
    if (count > 0) input.mask_positions = IndexTensor({count, 2}, std::move(places));
}

void DebertaSession::name_masked(Answer& answer, const ModelInput& written) const {
    if (!can_mask()) return;
    const std::int64_t mask_id = *tokenizer()->mask_id();
    for (const Index t : answer.request.masked) {
        if (t < 0 || t >= written.length() || written.tokens[t] == mask_id) continue;
        const auto at = static_cast<std::size_t>(t);
        answer.behind[at] = std::exchange(answer.labels[at], tokenizer()->piece(mask_id));
        answer.special[at] = true;
        answer.continues[at] = false;
    }
}

void DebertaSession::fill_attention(Answer& answer, const ModelInput& input) const {
    const Request& request = answer.request;
    answer.stages = deberta_.stage_names(input, answer.options);
    std::string wanted = attention_stages(config(), request.layer);
    if (!request.stage.empty()) {
        answer.shown_stage = nearest_stage(request.stage, answer.stages);
        wanted += "," + answer.shown_stage;
    }
    answer.trace = run(input, answer.options, wanted);
    if (request.overview) answer.overview = known_overview(request, input, answer);
}

std::shared_ptr<const Overview> DebertaSession::known_overview(const Request& request, const ModelInput& input,
                                                               const Answer& answer) const {
    Request key{request.text, request.tokens, request.mask, request.dialect};
    key.masked = request.masked;
    if (!overview_ || overview_of_ != key) {
        overview_ = overview(input, answer.options, answer.visible);
        overview_of_ = key;
    }
    return overview_;
}

std::shared_ptr<const Overview> DebertaSession::overview(const ModelInput& input, const DebertaOptions& options,
                                                         const Mask& visible) const {
    auto all = std::make_shared<Overview>();
    all->layers = config().num_hidden_layers;
    all->heads = config().num_attention_heads;
    const std::vector<std::string> stems = overview_stems(config());
    const Index one_layer = all->heads * static_cast<Index>(stems.size()) * input.length() * input.length();
    const Index at_once = std::clamp<Index>(kKeptValues / std::max<Index>(1, one_layer), 1, all->layers);
    for (Index first = 0; first < all->layers; first += at_once) {
        const Index last = std::min(first + at_once, all->layers);
        std::string wanted;
        for (Index layer = first; layer < last; ++layer)
            for (const std::string& stem : stems)
                wanted += (wanted.empty() ? "layer." : ",layer.") + std::to_string(layer) + "." + stem;
        const Trace trace = run(input, options, wanted);
        for (Index layer = first; layer < last; ++layer)
            for (Index head = 0; head < all->heads; ++head) {
                const auto part = [&](const char* stem) {
                    return head_of(trace, "layer." + std::to_string(layer) + stem, head);
                };
                all->all.push_back(summarise_head({part(".c2c"), part(".c2p"), part(".p2c")}, part(".probs"), visible));
            }
    }
    return all;
}

}  // namespace locus
