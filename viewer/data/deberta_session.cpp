#include "viewer/data/deberta_session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "viewer/data/polling_operations.h"

namespace locus {

namespace {

constexpr Index kWords = 10;
constexpr Index kClasses = 10;

constexpr const char* kNoHead = "This checkpoint has no masked-word head, so there are no words to show.";
constexpr const char* kNoDecoder =
    "This model has no enhanced mask decoder: it needs a table of absolute positions that the input does not use "
    "already, and two layers or more.";

/// The pairs that a mask over tokens or pairs leaves visible; empty where it hides nothing.
Mask visible_pairs(const ModelInput& input) {
    const Index length = input.length();
    if (input.mask.empty()) return {};
    Mask visible(length, length);
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j)
            visible(i, j) =
                input.mask.rank() == 3 ? input.mask[i * length + j] != 0 : input.mask[i] != 0 && input.mask[j] != 0;
    return visible;
}

}  // namespace

std::string attention_stages(const DebertaConfig& config, Index layer) {
    std::string globs;
    std::vector<std::string> stems = {"q", "k", "c2c", "scores", "probs"};
    if (config.terms.c2p) stems.insert(stems.end(), {"k_r", "c2p"});
    if (config.terms.p2c) stems.insert(stems.end(), {"q_r", "p2c"});
    for (const std::string& stem : stems) globs += "layer." + std::to_string(layer) + "." + stem + ",";
    globs.pop_back();
    return globs;
}

const Tensor<float>* Answer::stage(const std::string& stem) const {
    const Stage* found = trace.find("layer." + std::to_string(request.layer) + "." + stem);
    return found ? &found->as<float>() : nullptr;
}

HeadTensors<float> head_tensors(const Answer& answer, const std::string& prefix, Index head) {
    const auto stage = [&](const char* stem) -> Matrix<float> {
        const Stage* found = answer.trace.find(prefix + stem);
        if (!found) return {};
        return found->as<float>().matrix(head);
    };
    return {stage(".q"), stage(".k"), stage(".k_r"), stage(".q_r"), answer.visible, answer.options.masked_row};
}

DebertaSession::DebertaSession(const std::string& model, std::uint64_t first_serial)
    : ModelSession(model, Family::deberta),
      deberta_(open_deberta<float>(checkpoint(), polling_operations<float>())),
      serial_(first_serial) {}

ModelInput DebertaSession::written_input_of(const Request& request) const {
    return ModelSession::input_of(request.text, request.tokens, request.mask);
}

ModelInput DebertaSession::input_of(const Request& request) const {
    ModelInput input = written_input_of(request);
    mask_tokens(input, request.masked);
    return input;
}

Trace DebertaSession::run(const Deberta<float>& model, const ModelInput& input, const DebertaOptions& options,
                          const StageFilter& stages) const {
    if (!over_) {
        layer_ = 0;
        return model.forward(input, options, stages, [this] {  // asked before every layer, and after the last
            ++layer_;
            return stop_ && stop_();
        });
    }
    if (run_ == passes_.size()) passes_.push_back(std::make_unique<DebertaSteps<float>>(model, input, options, stages));
    DebertaSteps<float>& pass = *passes_[run_];
    while (pass.step()) {
        layer_ = pass.layer();
        throw_if_cancelled(stop_);
        if (over_()) throw Paused();
    }
    ++run_;
    return pass.trace();
}

std::string DebertaSession::progress() const {
    const Index layer = layer_, layers = config().num_hidden_layers;
    if (layer == 0) return "";
    if (layer > layers) return has_decoder() ? "mask decoder" : "words";
    return "layer " + std::to_string(layer) + " of " + std::to_string(layers);
}

std::shared_ptr<const Answer> DebertaSession::answer(const Request& request, const CancelToken& stop,
                                                     const SliceEnd& over) const {
    const auto start = std::chrono::steady_clock::now();
    const auto milliseconds = [&] {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    };
    stop_ = stop;
    over_ = over;
    run_ = 0;
    if (passes_of_ != request) {
        passes_.clear();
        passes_of_ = request;
        milliseconds_ = 0;
        layer_ = 0;
    }
    auto answer = std::make_shared<Answer>();
    answer->request = request;
    answer->serial = ++serial_;
    try {
        fill(*answer);
        answer->warnings = deberta_.warnings();
    } catch (const Error& error) {
        answer->error = error.what();
        answer->fault = error.fault();
    } catch (const Cancelled&) {
        layer_ = 0;
        return nullptr;
    } catch (const std::bad_alloc&) {
        answer->error = "this text needs more memory than there is, expected a shorter one";
        answer->fault = Fault::memory;
    } catch (const Paused&) {
        milliseconds_ += milliseconds();
        throw;
    }
    answer->milliseconds = std::exchange(milliseconds_, 0) + milliseconds();
    passes_.clear();
    layer_ = 0;
    return answer;
}

void DebertaSession::fill(Answer& answer) const {
    const Request& request = answer.request;
    const ModelInput written = written_input_of(request);
    ModelInput input = written;
    mask_tokens(input, request.masked);
    answer.options = DebertaOptions::of(request.dialect);
    answer.divisor_terms = deberta_divisor_terms(config(), answer.options);
    answer.visible = visible_pairs(input);
    if (config().relative_attention) answer.buckets = deberta_.relative_buckets(input.length(), answer.options);
    if (request.compare)
        answer.compare = compare(request);
    else if (request.decoder)
        fill_decoder(answer, input);
    else
        fill_attention(answer, input);
    name_tokens(answer, written);
    name_masked(answer, written);
    if (request.decoder && deberta_.classifier()) {
        const ClassNames names = class_names(checkpoint());
        answer.decoder.classes = classes_in(answer.trace, 0, names, answer.labels, kClasses);
        answer.decoder.classes_warning = names.warning;
    }
}

void DebertaSession::name_tokens(Answer& answer, const ModelInput& input) const {
    Tokens known;
    if (tokenizer() && answer.request.tokens.empty())
        known = encode_text(answer.request.text, *tokenizer(), Family::deberta);  // as the input was made
    for (Index t = 0; t < input.length(); ++t) {
        const auto at = static_cast<std::size_t>(t);
        const std::int64_t id = input.tokens[t];
        const std::string piece = !known.pieces.empty() ? known.pieces[at]
                                  : tokenizer()         ? tokenizer()->piece(id)
                                                        : std::to_string(id);
        const std::string shown = display_piece(piece);
        const bool special = !known.special.empty() ? known.special[at]
                                                    : piece.size() > 2 && piece.front() == '[' && piece.back() == ']';
        answer.labels.push_back(label_of_piece(tokenizer(), id, known.pieces.empty() ? piece : known.text(at)));
        answer.unknown.push_back(!unknown_name(tokenizer(), id).empty());
        answer.behind.emplace_back();
        answer.continues.push_back(tokenizer() && !special && t > 0 && shown == piece && !answer.special.back());
        answer.special.push_back(special);
    }
}

std::string DebertaSession::decoder_missing() const {
    if (!deberta_.has_decoder()) return kNoDecoder;
    return deberta_.has_head() ? "" : kNoHead;
}

void DebertaSession::fill_decoder(Answer& answer, const ModelInput& input) const {
    DecoderAnswer& decoder = answer.decoder;
    std::string stages = attention_stages(config(), answer.request.layer);
    const bool has_words = deberta_.has_head() && !input.mask_positions.empty();
    if (!deberta_.has_head())
        decoder.no_words = kNoHead;
    else if (!tokenizer())
        decoder.no_words = "This folder has no tokenizer that Locus reads, so no token is known to be [MASK].";
    else if (input.mask_positions.empty())
        decoder.no_words = "Write [MASK] into the sentence and the words it may hide appear here.";
    DebertaOptions options = answer.options;
    if (!deberta_.has_decoder()) {
        decoder.unavailable = kNoDecoder;
        options.decoder = MaskDecoder::none;
    } else if (input.length() > config().max_position_embeddings) {
        decoder.unavailable = std::to_string(input.length()) + " tokens are too many for the mask decoder: its table " +
                              "of absolute positions has " + std::to_string(config().max_position_embeddings) +
                              " rows.";
        options.decoder = MaskDecoder::none;
    } else {
        // Hugging Face never runs it; this page shows what is missed.
        options.decoder = MaskDecoder::official;
        options.absolute_strength = answer.request.strength;
        for (const char* stem : {"q", "k"}) stages += std::string(",emd.?.") + stem;
        if (config().terms.c2p) stages += ",emd.?.k_r";
        if (config().terms.p2c) stages += ",emd.?.q_r";
        stages += ",emd.query.0,emd.?.scores,emd.?.probs,emd.?.output,layer." +
                  std::to_string(config().num_hidden_layers - 2) + ".output";
        if (deberta_.has_head()) stages += ",mlm.transform";
        if (has_words) stages += ",mlm.logits_at_positions";
    }
    if (deberta_.classifier()) stages += ",classifier.*";
    answer.trace = run(deberta_, input, options, StageFilter(stages));
    if (decoder.unavailable.empty()) {
        const auto strength = static_cast<float>(answer.request.strength);
        decoder.absolute = deberta_.absolute_rows(input.length()) * strength;
        decoder.hidden =
            answer.trace.at("layer." + std::to_string(config().num_hidden_layers - 2) + ".output").as<float>().rows();
    }
    if (!has_words) return;
    options.decoder = MaskDecoder::none;
    const auto alone = words_at_masks(run(deberta_, input, options, StageFilter("mlm.logits_at_positions")));
    const auto with = decoder.unavailable.empty() ? words_at_masks(answer.trace) : std::vector<std::vector<Word>>();
    const auto biased = answer.request.at_input && decoder.unavailable.empty() ? words_with_biased_input(input, options)
                                                                               : std::vector<std::vector<Word>>();
    for (std::size_t n = 0; n < alone.size(); ++n)
        decoder.masks.push_back({static_cast<Index>(input.mask_positions[static_cast<Index>(2 * n + 1)]),
                                 with.empty() ? std::vector<Word>() : with[n], alone[n],
                                 biased.empty() ? std::vector<Word>() : biased[n]});
}

std::vector<std::vector<Word>> DebertaSession::words_with_biased_input(const ModelInput& input,
                                                                       DebertaOptions options) const {
    if (!biased_) {
        DebertaConfig config = deberta_.config();
        config.position_biased_input = true;
        biased_.emplace(config, checkpoint().weights);
    }
    return words_at_masks(run(*biased_, input, options, StageFilter("mlm.logits_at_positions")));
}

std::vector<std::vector<Word>> DebertaSession::words_at_masks(const Trace& trace) const {
    const auto logits = trace.at("mlm.logits_at_positions").as<float>().rows();
    std::vector<std::vector<Word>> all;
    for (Index n = 0; n < logits.rows(); ++n) all.push_back(best_words(logits.row(n), tokenizer(), kWords));
    return all;
}

// What the Attention page asks for: one layer, a stage by name, all heads in short; and [MASK] in place of tokens.

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
        answer.unknown[at] = answer.continues[at] = false;
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
    answer.trace = run(deberta_, input, answer.options, StageFilter(wanted));
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
    all->all.resize(static_cast<std::size_t>(all->layers * all->heads));
    // Heads come on several threads, each to a place of its own.
    const auto summarise = [&](const HeadOverview<float>& seen) {
        all->all[static_cast<std::size_t>(seen.layer * all->heads + seen.head)] =
            summarise_head({seen.c2c, seen.c2p, seen.p2c}, seen.probs, visible);
    };
    if (over_) {  // the fast path cannot pause
        visit_heads_by<float>([&](const StageFilter& stages) { return run(deberta_, input, options, stages); },
                              config(), input, summarise);
        return all;
    }
    if (!fast_) fast_.emplace(open_deberta<float>(checkpoint(), cpu_operations<float>(), ForwardPath::fast));
    fast_->visit_heads(input, options, summarise, stop_);
    return all;
}

}  // namespace locus
