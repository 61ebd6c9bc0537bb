#include "viewer/data/training_look.h"

#include <algorithm>
#include <limits>

#include "core/io/model_request.h"
#include "core/models/deberta.h"
#include "viewer/plots/chances.h"
#include "viewer/plots/head_terms.h"

namespace locus {

namespace {

constexpr const char* kStages = "layer.*.q,layer.*.k,layer.*.q_r,layer.*.k_r,layer.*.c2c,layer.*.c2p,layer.*.p2c";

struct HiddenSentence {
    ModelInput input;
    std::vector<Index> masks, hidden;
};

/// The tokens with [MASK] in place of those that are hidden.
HiddenSentence hide(ModelInput input, const std::vector<Index>& masked, std::int64_t mask_id) {
    HiddenSentence all{std::move(input), {}, {}};
    std::vector<std::int64_t> places;
    for (Index t = 0; t < all.input.length(); ++t) {
        const std::int64_t id = all.input.tokens[t];
        const bool chosen = std::binary_search(masked.begin(), masked.end(), t);
        if (id != mask_id && !chosen) continue;
        all.masks.push_back(t);
        all.hidden.push_back(id == mask_id ? -1 : static_cast<Index>(id));
        all.input.tokens[t] = mask_id;
        places.insert(places.end(), {0, t});
    }
    all.input.mask_positions = {};
    if (!places.empty()) {
        const auto count = static_cast<Index>(places.size() / 2);
        all.input.mask_positions = IndexTensor({count, 2}, std::move(places));
    }
    return all;
}

void name_tokens(TrainingLook& look, const Tokens& tokens, const std::string& mask) {
    Answer& sentence = look.sentence;
    const Tokenizer* tokenizer = look.query.subject->tokenizer.get();
    for (std::size_t t = 0; t < tokens.ids.size(); ++t) {
        const std::string& piece = tokens.pieces[t];
        const auto at = std::find(look.masks.begin(), look.masks.end(), static_cast<Index>(t));
        const bool stands_in =
            at != look.masks.end() && look.hidden[static_cast<std::size_t>(at - look.masks.begin())] >= 0;
        const std::string label = label_of_piece(tokenizer, tokens.ids[t], tokens.text(t));
        sentence.labels.push_back(stands_in ? mask : label);
        sentence.unknown.push_back(!stands_in && !unknown_name(tokenizer, tokens.ids[t]).empty());
        sentence.behind.push_back(stands_in ? label : std::string());
        sentence.continues.push_back(t > 0 && !tokens.special[t] && !tokens.special[t - 1] &&
                                     display_piece(piece) == piece);
        sentence.special.push_back(stands_in || tokens.special[t]);
    }
}

std::shared_ptr<const SnapshotLook> look_at(const CourseSubject& subject,
                                            const std::shared_ptr<const Parameters<float>>& values,
                                            const ModelInput& input) {
    const Deberta<float> model(subject.config, weights_of<float>(values, "the snapshot"));
    const bool hides = !input.mask_positions.empty();
    auto look = std::make_shared<SnapshotLook>();
    Trace trace = model.forward(input, DebertaOptions::of(Dialect::official),
                                StageFilter(std::string(kStages) + (hides ? ",mlm.logits_at_positions" : "")));
    if (hides) {
        const auto& logits = trace.at("mlm.logits_at_positions").as<float>();
        for (Index n = 0; n < logits.rows().rows(); ++n) look->chances.push_back(chances_of(logits, n));
    }
    look->trace = std::move(trace);
    return look;
}

Matrix<float> head_of(const SnapshotLook& look, Index layer, const char* stem, Index head) {
    return look.trace.at("layer." + std::to_string(layer) + "." + stem).as<float>().matrix(head);
}

void add_curves(CurveHistory& animation, const ConstView<float>& contents, const ConstView<float>& table,
                const RelativeBuckets& buckets) {
    Matrix<float> tokens = distance_products(contents, table, buckets, kCurveReach);
    animation.means.push_back(mean_of_rows(tokens));
    animation.low = std::min(animation.low, static_cast<double>(tokens.minCoeff()));
    animation.high = std::max(animation.high, static_cast<double>(tokens.maxCoeff()));
    animation.tokens.push_back(std::move(tokens));
}

}  // namespace

std::string TrainingLook::word(Index id) const { return readable_piece(query.subject->tokenizer.get(), id); }

std::vector<Word> TrainingLook::words(std::size_t snapshot, std::size_t mask, std::size_t count) const {
    const std::vector<double>& all = snapshots.at(snapshot)->chances.at(mask);
    std::vector<Word> best;
    for (const std::int64_t id : likeliest(all, count))
        best.push_back({word(id), id, 0, all[static_cast<std::size_t>(id)]});
    return best;
}

std::vector<double> TrainingLook::chances(std::size_t mask, Index id) const {
    std::vector<double> all;
    for (const auto& look : snapshots) all.push_back(look->chances.at(mask).at(static_cast<std::size_t>(id)));
    return all;
}

Index TrainingLook::followed(std::size_t mask) const {
    if (hidden.at(mask) >= 0) return hidden[mask];
    return static_cast<Index>(likeliest(snapshots.back()->chances.at(mask), 1).front());
}

std::shared_ptr<const TrainingLook> TrainingLooks::answer(const LookQuery& query, const CancelToken& stop) {
    auto look = std::make_shared<TrainingLook>();
    look->query = query;
    look->serial = ++serial_;
    try {
        fill(*look, stop);
        kept_ = look;
    } catch (const Error& error) {
        look->error = error.what();
        look->fault = error.fault();
    } catch (const Cancelled&) {
        return nullptr;
    } catch (const std::bad_alloc&) {
        look->error = "this text needs more memory than there is, expected a shorter one";
        look->fault = Fault::memory;
    }
    return look;
}

void TrainingLooks::fill(TrainingLook& look, const CancelToken& stop) {
    const LookQuery& query = look.query;
    const CourseSubject& subject = *query.subject;
    const Tokenizer& tokenizer = *subject.tokenizer;
    const std::int64_t mask_id = subject.config.vocab_size - 1;
    ModelInput input = input_of_texts({query.text}, tokenizer, Family::deberta);
    LOCUS_CHECK(input.length() <= subject.config.max_position_embeddings,
                "the sentence has " + std::to_string(input.length()) + " tokens, expected at most " +
                    std::to_string(subject.config.max_position_embeddings));
    const HiddenSentence sentence = hide(std::move(input), query.masked, tokenizer.mask_id().value_or(mask_id));
    look.masks = sentence.masks;
    look.hidden = sentence.hidden;
    name_tokens(look, tokenizer.encode(query.text), tokenizer.piece(mask_id));
    look.buckets = RelativeBuckets::logarithmic(kCurveReach + 1, kCurveReach + 1, subject.config.position_buckets,
                                                subject.config.max_relative_positions, OffsetClamp::official);
    const bool same = kept_ && kept_->query.subject == query.subject && kept_->query.text == query.text &&
                      kept_->query.masked == query.masked;
    for (const auto& values : query.snapshots) {
        std::shared_ptr<const SnapshotLook> known;
        for (std::size_t n = 0; same && n < kept_->snapshots.size(); ++n)
            if (kept_->query.snapshots[n] == values) known = kept_->snapshots[n];
        if (!known) {
            throw_if_cancelled(stop);
            known = look_at(subject, values, sentence.input);
        }
        look.snapshots.push_back(std::move(known));
    }
}

Index peak_of(const std::vector<double>& curve) {
    return static_cast<Index>(std::max_element(curve.begin(), curve.end()) - curve.begin()) - kCurveReach;
}

HeadHistory head_history(const TrainingLook& look, Index layer, Index head) {
    HeadHistory animation;
    constexpr std::array<const char*, 3> kTerms = {"c2c", "c2p", "p2c"};
    for (const auto& one : look.snapshots) {
        for (std::size_t n = 0; n < kTerms.size(); ++n)
            animation.widest[n] = std::max(
                animation.widest[n], static_cast<double>(head_of(*one, layer, kTerms[n], head).cwiseAbs().maxCoeff()));
        add_curves(animation.c2p, head_of(*one, layer, "q", head), head_of(*one, layer, "k_r", head), *look.buckets);
        add_curves(animation.p2c, head_of(*one, layer, "k", head), head_of(*one, layer, "q_r", head), *look.buckets);
    }
    return animation;
}

}  // namespace locus
