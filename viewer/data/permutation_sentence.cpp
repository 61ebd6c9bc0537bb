#include "viewer/data/permutation_sentence.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "viewer/plots/chances.h"

namespace locus {

namespace {

bool holds_letter(const std::string& word) {
    if (!word.empty() && word.front() == '<') return false;
    return std::any_of(word.begin(), word.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte >= 0x80 || std::isalnum(byte) != 0;
    });
}

/// Hidden pairs of a row of cards, as perm_mask has them: a given token's query row is its content row.
Mask hidden_pairs(const CardRow& cards) {
    StreamVisibility visible = visibility_of(cards);
    for (const Index i : given_of(cards)) visible.query.row(i) = visible.content.row(i);
    return visible.query.unaryExpr([](std::uint8_t sees) { return static_cast<std::uint8_t>(sees == 0); });
}

CardRow reversed_cards(CardRow cards) {
    std::reverse(std::find(cards.begin(), cards.end(), kDivider) + 1, cards.end());
    return cards;
}

ModelInput input_of(const PermutationRequest& request, const CardRow& cards) {
    const std::vector<std::int64_t>& tokens = request.sentence->tokens();
    const auto length = static_cast<Index>(tokens.size());
    ModelInput input;
    input.tokens = IndexTensor({1, length}, tokens);
    if (request.segments) input.token_types = IndexTensor({1, length}, request.sentence->types());
    const TwoStreamHiding hiding = request.sentence->hiding(cards);
    if (!hiding.padding.empty()) {
        input.mask = IndexTensor({1, length});
        for (Index t = 0; t < length; ++t) input.mask[t] = !hiding.padding[static_cast<std::size_t>(t)];
    }
    const Mask& hidden = hiding.permutation;
    input.perm_mask = IndexTensor({1, length, length});
    for (Index n = 0; n < hidden.size(); ++n) input.perm_mask[n] = hidden.data()[n];
    const std::vector<Index> targets = predicted_of(cards);
    if (targets.empty()) return input;
    input.target_mapping = IndexTensor({1, static_cast<Index>(targets.size()), length});
    for (std::size_t p = 0; p < targets.size(); ++p)
        input.target_mapping[static_cast<Index>(p) * length + targets[p]] = 1;
    return input;
}

std::vector<TargetChance> chances_in(const PermutationRequest& request, const CardRow& cards, const Trace& trace) {
    std::vector<TargetChance> chances;
    const Stage* logits = trace.find("lm.logits");
    const std::vector<Index> targets = predicted_of(cards);
    for (std::size_t p = 0; logits && p < targets.size(); ++p) {
        const std::vector<double> all = chances_of(logits->as<float>(), static_cast<Index>(p));
        const std::int64_t own = request.sentence->tokens()[static_cast<std::size_t>(targets[p])];
        const std::int64_t best = likeliest(all, 1).front();
        chances.push_back({targets[p], all[static_cast<std::size_t>(own)], request.sentence->word_of(best),
                           all[static_cast<std::size_t>(best)]});
    }
    return chances;
}

}  // namespace

PermutationSentence::PermutationSentence(std::shared_ptr<const ModelSession> opened, const ModelChoice& choice)
    : opened_(std::move(opened)), built_in_(choice == ModelChoices().xlnet) {
    const ModelInput input = opened_->input_of(choice);
    tokens_ = input.tokens.values();
    words_ = opened_->words_of(choice, input);
    LOCUS_CHECK(!tokens_.empty(), "the text is empty, expected at least one word");
    const Index known = sizes().words;
    for (const std::int64_t id : tokens_)
        LOCUS_CHECK(id >= 0 && id < known, "tokens holds " + std::to_string(id) + ", expected ids below " +
                                               std::to_string(known) + ", as many as " + name() + " knows");
    if (input.mask.size() > 0)
        for (const std::int64_t shown : input.mask.values()) padding_.push_back(shown == 0);
    if (opened_->tokenizer()) mask_id_ = opened_->tokenizer()->mask_id().value_or(-1);
    std::int64_t sentence = 0;
    for (const std::string& word : words_) {
        types_.push_back(word == "<cls>" ? 2 : sentence);
        if (word == "<sep>") ++sentence;
    }
}

bool PermutationSentence::is_mask(Index position) const {
    return mask_id_ >= 0 && tokens_.at(static_cast<std::size_t>(position)) == mask_id_;
}

TwoStreamHiding PermutationSentence::hiding(const CardRow& cards) const {
    const XlnetConfig& config = model().config();
    return {0, config.direction, config.same_length, hidden_pairs(cards), padding_};
}

std::string PermutationSentence::hides_more() const {
    std::string more;
    if (model().config().direction == Direction::unidirectional)
        more = "This model reads from left to right: in any order, nothing to the right of a word is seen.";
    if (std::find(padding_.begin(), padding_.end(), true) != padding_.end())
        more += std::string(more.empty() ? "" : " ") + "Padding is seen by nothing but itself.";
    return more;
}

StreamVisibility PermutationSentence::visible(const CardRow& cards) const {
    TwoStreamMasks masks = two_stream_masks(static_cast<Index>(words_.size()), hiding(cards));
    for (const Index i : given_of(cards)) masks.query.row(i).setZero();
    return {std::move(masks.content), std::move(masks.query)};
}

CardRow PermutationSentence::usual_cards() const {
    const auto length = static_cast<Index>(words_.size());
    std::vector<Index> targets;
    if (built_in_) targets = {3, 5};
    for (Index t = 0; t < length; ++t)
        if (is_mask(t)) targets.push_back(t);
    for (Index t = length - 1; t >= 0 && targets.empty(); --t)
        if (holds_letter(words_[static_cast<std::size_t>(t)])) targets = {t};
    if (targets.size() == 1 && !is_mask(targets.front()))
        for (Index t = targets.front() - 1; t >= 0 && targets.size() < 2; --t)
            if (holds_letter(words_[static_cast<std::size_t>(t)])) targets.insert(targets.begin(), t);
    return cards_of_targets(targets, length);
}

Index PermutationAnswer::row_of(Stream stream, Index position) const {
    if (stream == Stream::content) return position < length() ? position : -1;
    const std::vector<Index> targets = predicted_of(request.cards);
    const auto found = std::find(targets.begin(), targets.end(), position);
    return found == targets.end() ? -1 : static_cast<Index>(found - targets.begin());
}

Matrix<float> PermutationAnswer::stage(Stream stream, Index at_layer, const char* stem, Index head) const {
    const Stage* found =
        trace.find("layer." + std::to_string(at_layer) + (stream == Stream::query ? ".g." : ".") + stem);
    if (!found) return {};
    return found->as<float>().matrix(head);
}

RelativeHeadTensors<float> PermutationAnswer::head(Stream stream, Index at_layer, Index head) const {
    const XlnetLayer<float>& weights = request.sentence->model().layer(at_layer);
    const std::vector<std::int64_t>& types = request.sentence->types();
    RelativeHeadTensors<float> tensors;
    tensors.q = stage(stream, at_layer, "q", head);
    tensors.k = stage(Stream::content, at_layer, "k", head);
    tensors.r_k = stage(Stream::content, at_layer, "r_k", head);
    tensors.u = weights.content_bias.row(head);
    tensors.v = weights.position_bias.row(head);
    tensors.first = length();
    tensors.masked_row = XlnetOptions::of(request.dialect).masked_row;
    tensors.positions = predicted_of(request.cards);
    if (stream == Stream::content) {
        tensors.positions.resize(static_cast<std::size_t>(length()));
        std::iota(tensors.positions.begin(), tensors.positions.end(), Index(0));
    }
    const TwoStreamMasks masks = two_stream_masks(length(), hiding);
    tensors.mask.resize(static_cast<Index>(tensors.positions.size()), length());
    for (std::size_t p = 0; p < tensors.positions.size(); ++p)
        tensors.mask.row(static_cast<Index>(p)) =
            (stream == Stream::query ? masks.query : masks.content).row(tensors.positions[p]);
    if (!request.segments) return tensors;
    tensors.s = weights.segment_bias.row(head);
    tensors.segments = weights.segments.matrix(head);
    tensors.key_ids = types;
    for (const Index position : tensors.positions)
        tensors.query_ids.push_back(types[static_cast<std::size_t>(position)]);
    return tensors;
}

void PermutationAnswer::run() {
    const Xlnet<float>& model = request.sentence->model();
    const ModelSizes sizes = model.sizes();
    const bool predicts = !predicted_of(request.cards).empty();
    hiding = request.sentence->hiding(request.cards);
    has_head = model.has_head();
    const Index cells = length() * length() * sizes.heads * sizes.layers;
    layer = traced_layer(cells, request.layer, sizes.layers);
    const std::string at = layer < 0 ? "layer.*." : "layer." + std::to_string(layer) + ".";
    std::string stages = at + "k," + at + "r_k";
    for (const char* stem : {"q", "scores", "probs"}) {
        stages += "," + at + stem;
        if (predicts && layer >= 0) stages += "," + at + "g." + stem;  // "*" covers them
    }
    if (has_head && predicts) stages += ",lm.logits";
    trace = model.forward({input_of(request, request.cards)}, request.dialect, StageFilter(stages));
    warnings = model.warnings();
    if (!has_head || !predicts) return;
    chances = chances_in(request, request.cards, trace);
    const CardRow backwards = reversed_cards(request.cards);
    if (backwards == request.cards) return;
    reversed = chances_in(request, backwards,
                          model.forward({input_of(request, backwards)}, request.dialect, StageFilter("lm.logits")));
}

std::shared_ptr<const PermutationAnswer> PermutationAnswer::make(const PermutationRequest& request) {
    auto answer = std::make_shared<PermutationAnswer>();
    answer->request = request;
    try {
        answer->run();
    } catch (const Error& error) {
        answer->error = error.what();
    } catch (const std::bad_alloc&) {
        answer->error = "this sentence needs more memory than there is, expected a shorter one";
    }
    return answer;
}

}  // namespace locus
