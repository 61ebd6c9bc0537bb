#include "viewer/data/memory_text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/models/relative_heads.h"
#include "viewer/plots/chances.h"

namespace locus {

namespace {

constexpr Index kUsualSegment = 24;

/// The newest `memory` rows of every layer.
SegmentMemory<float> newest(const SegmentMemory<float>& all, Index memory) {
    SegmentMemory<float> kept;
    for (const Tensor<float>& rows : all) kept.push_back(slice_rows(rows, rows.extent(1) - memory, rows.extent(1)));
    return kept;
}

}  // namespace

/// What the segments before one hand on to it, and what it says without that.
struct MemoryText::Before {
    Index length = 0, segment = 0;
    SegmentMemory<float> memory;
    Tensor<float> logits;
};

MemoryText::MemoryText(std::shared_ptr<const ModelSession> opened, const ModelChoice& choice)
    : opened_(std::move(opened)) {
    const ModelInput input = opened_->input_of(choice);
    tokens_ = input.tokens.values();
    words_ = opened_->words_of(choice, input);
    LOCUS_CHECK(!tokens_.empty(), "the text is empty, expected at least one word");
    const Index known = sizes().words;
    for (const std::int64_t id : tokens_)
        LOCUS_CHECK(id >= 0 && id < known, "tokens holds " + std::to_string(id) + ", expected ids below " +
                                               std::to_string(known) + ", as many as " + name() + " knows");
}

Index MemoryText::usual_segment() const {
    return std::min(kUsualSegment, (static_cast<Index>(tokens_.size()) + 1) / 2);
}

ModelInput MemoryText::input_of(Index begin, Index count) const {
    ModelInput input;
    input.tokens = IndexTensor({1, count}, {tokens_.begin() + begin, tokens_.begin() + begin + count});
    return input;
}

std::shared_ptr<const MemoryText::Before> MemoryText::before(Index length, Index segment) const {
    const std::lock_guard lock(guard_);
    if (before_ && before_->length == length && before_->segment == segment) return before_;
    auto made = std::make_shared<Before>();
    made->length = length;
    made->segment = segment;
    Trace nothing(StageFilter::none());
    for (Index s = 0; s < segment; ++s)
        made->memory = model().run_segment(input_of(s * length, length), made->memory, Dialect::reference, "", nothing);
    const Index count = std::min(length, static_cast<Index>(tokens_.size()) - segment * length);
    Trace alone(StageFilter("lm.logits"));
    model().run_segment(input_of(segment * length, count), {}, Dialect::reference, "", alone);
    if (const Stage* stage = alone.find("lm.logits")) made->logits = stage->as<float>();
    before_ = made;
    return made;
}

void MemoryAnswer::run() {
    const MemoryText& sentence = *request.sentence;
    const auto words = static_cast<Index>(sentence.tokens().size());
    const Index wished = request.segment_tokens > 0 ? request.segment_tokens : sentence.usual_segment();
    const Index size = std::clamp<Index>(wished, 1, words);
    segments = (words + size - 1) / size;
    segment = std::clamp<Index>(request.segment, 0, segments - 1);
    begin = segment * size;
    length = std::min(size, words - begin);
    const auto before = sentence.before(size, segment);
    longest = before->memory.empty() ? 0 : before->memory.front().extent(1);
    memory = std::clamp<Index>(request.memory, 0, longest);
    const ModelSizes sizes = sentence.sizes();
    const Index cells = length * keys() * sizes.heads * sizes.layers;
    layer = traced_layer(cells, request.layer, sizes.layers);
    const std::string at = layer < 0 ? "layer.*." : "layer." + std::to_string(layer) + ".";
    std::string stages = "lm.logits";
    for (const char* stem : {"q", "k", "r_k", "bd_raw", "scores", "probs"}) stages += "," + at + stem;
    trace = Trace(StageFilter(stages), Scheme::transformer_xl);
    sentence.model().run_segment(sentence.input_of(begin, length), newest(before->memory, memory), Dialect::reference,
                                 "", trace);
    logits_without = before->logits;
    warnings = sentence.model().warnings();
    has_head = sentence.model().has_head();
    next.assign(sentence.tokens().begin() + begin + 1, sentence.tokens().begin() + std::min(begin + length + 1, words));
    if (!has_head) return;
    for (Index i = 0; i < static_cast<Index>(next.size()); ++i) {
        loss -= std::log(probability_of_next(i, true)) / static_cast<double>(next.size());
        loss_without -= std::log(probability_of_next(i, false)) / static_cast<double>(next.size());
    }
}

std::shared_ptr<const MemoryAnswer> MemoryAnswer::make(const MemoryRequest& request) {
    auto answer = std::make_shared<MemoryAnswer>();
    answer->request = request;
    try {
        answer->run();
    } catch (const Error& error) {
        answer->error = error.what();
    } catch (const std::bad_alloc&) {
        answer->error = "this segment needs more memory than there is, expected fewer tokens in a segment";
    }
    return answer;
}

Matrix<float> MemoryAnswer::stage(Index at_layer, const char* stem, Index head) const {
    const Stage* found = trace.find("layer." + std::to_string(at_layer) + "." + stem);
    if (!found) return {};
    return found->as<float>().matrix(head);
}

RelativeHeadTensors<float> MemoryAnswer::head(Index at_layer, Index head) const {
    const TransformerXl<float>& model = request.sentence->model();
    const TransformerXlLayer<float>& weights = model.layer(at_layer);
    RelativeHeadTensors<float> tensors;
    tensors.q = stage(at_layer, "q", head);
    tensors.k = stage(at_layer, "k", head);
    tensors.r_k = stage(at_layer, "r_k", head);
    tensors.u = weights.content_bias.row(head);
    tensors.v = weights.position_bias.row(head);
    tensors.first = keys() - 1;
    tensors.memory = memory;
    tensors.positions.resize(static_cast<std::size_t>(length));
    std::iota(tensors.positions.begin(), tensors.positions.end(), Index(0));
    tensors.mask = transformer_xl_mask(length, memory, model.config().same_length, model.config().mem_len);
    return tensors;
}

const Tensor<float>& MemoryAnswer::logits(bool with_memory) const {
    return with_memory ? trace.at("lm.logits").as<float>() : logits_without;
}

std::vector<WordGuess> MemoryAnswer::guesses(Index i, std::size_t count, bool with_memory) const {
    const std::vector<double> chances = chances_of(logits(with_memory), i);
    std::vector<WordGuess> best;
    for (const std::int64_t id : likeliest(chances, count))
        best.push_back({request.sentence->word_of(id), chances[static_cast<std::size_t>(id)]});
    return best;
}

double MemoryAnswer::probability_of_next(Index i, bool with_memory) const {
    const auto id = static_cast<std::size_t>(next.at(static_cast<std::size_t>(i)));
    return chances_of(logits(with_memory), i).at(id);
}

}  // namespace locus
