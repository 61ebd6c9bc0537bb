#include "viewer/data/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "core/io/model_request.h"

namespace locus {

namespace {

constexpr Index kWords = 10;

/// n of sqrt(n d), as the dialect counts (spec 2.4).
int divisor_terms(const DebertaConfig& config, const DebertaOptions& options) {
    if (options.count_listed_names && config.version == 1 && config.relative_attention)
        return 1 + static_cast<int>(config.listed_terms);
    return config.terms.count();
}

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

Session::Session(const std::string& model, std::uint64_t first_serial)
    : opened_as_(model),
      checkpoint_(open_checkpoint(resolve_model(model))),
      model_(open_deberta<float>(checkpoint_)),
      serial_(first_serial) {
    const std::filesystem::path folder = std::filesystem::absolute(checkpoint_.folder).lexically_normal();
    name_ = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
    try {
        tokenizer_ = open_tokenizer(checkpoint_.folder);
    } catch (const Error& error) {
        if (error.fault() != Fault::unsupported) throw;
        no_tokenizer_ = error.what();
    }
}

void Session::check(const Request& request) const {
    if (request.tokens.empty() && !tokenizer_) throw Error(Fault::unsupported, no_tokenizer_);
}

ModelInput Session::input_of(const Request& request) const {
    ModelInput input = unmasked_input_of(request);
    mask_tokens(input, request.masked);
    return input;
}

ModelInput Session::unmasked_input_of(const Request& request) const {
    check(request);
    if (request.tokens.empty()) return input_of_texts({request.text}, *tokenizer_, Family::deberta);
    ModelRequest by_ids;
    by_ids.tokens = request.tokens;
    by_ids.mask = request.mask;
    return prepare_input(by_ids, checkpoint_.folder, Family::deberta, {"tokens", "mask"}).segments.front();
}

Trace Session::run(const ModelInput& input, const DebertaOptions& options, const std::string& stages) const {
    return model_.forward(input, options, StageFilter(stages), stop_);
}

std::shared_ptr<const Answer> Session::answer(const Request& request, const CancelToken& stop) const {
    const auto start = std::chrono::steady_clock::now();
    stop_ = stop;
    auto answer = std::make_shared<Answer>();
    answer->request = request;
    answer->serial = ++serial_;
    try {
        fill(*answer);
        answer->warnings = model_.warnings();
    } catch (const Error& error) {
        answer->error = error.what();
        answer->fault = error.fault();
    } catch (const Cancelled&) {
        return nullptr;
    } catch (const std::bad_alloc&) {
        answer->error = "this text needs more memory than there is, expected a shorter one";
        answer->fault = Fault::unsupported;
    }
    answer->milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return answer;
}

void Session::fill(Answer& answer) const {
    const Request& request = answer.request;
    const ModelInput written = unmasked_input_of(request);
    ModelInput input = written;
    mask_tokens(input, request.masked);
    answer.options = DebertaOptions::of(request.dialect);
    answer.divisor_terms = divisor_terms(config(), answer.options);
    answer.visible = visible_pairs(input);
    if (config().relative_attention) answer.line = model_.bucket_line(input.length(), answer.options);
    if (request.compare)
        answer.compare = compare(request);
    else if (request.decoder)
        fill_decoder(answer, input);
    else
        fill_attention(answer, input);
    name_tokens(answer, written);
    name_masked(answer, written);
}

void Session::name_tokens(Answer& answer, const ModelInput& input) const {
    Tokens known;
    if (tokenizer_ && answer.request.tokens.empty()) known = tokenizer_->encode(answer.request.text);
    for (Index t = 0; t < input.length(); ++t) {
        const auto at = static_cast<std::size_t>(t);
        const std::int64_t id = input.tokens[t];
        const std::string piece = !known.pieces.empty() ? known.pieces[at]
                                  : tokenizer_          ? tokenizer_->piece(id)
                                                        : std::to_string(id);
        const std::string shown = display_piece(piece);
        const bool special = !known.special.empty() ? known.special[at]
                                                    : piece.size() > 2 && piece.front() == '[' && piece.back() == ']';
        answer.labels.push_back(shown.empty() ? piece : shown);
        answer.behind.emplace_back();
        answer.continues.push_back(tokenizer_ && !special && t > 0 && shown == piece && !answer.special.back());
        answer.special.push_back(special);
    }
}

void Session::fill_decoder(Answer& answer, const ModelInput& input) const {
    DecoderAnswer& decoder = answer.decoder;
    std::string stages = attention_stages(config(), answer.request.layer);
    const bool has_words = model_.has_head() && !input.mask_positions.empty();
    if (!model_.has_head())
        decoder.no_words = "This checkpoint has no masked-word head, so there are no words to show.";
    else if (!tokenizer_)
        decoder.no_words = "This folder has no tokenizer that Locus reads, so no token is known to be [MASK].";
    else if (input.mask_positions.empty())
        decoder.no_words = "Write [MASK] into the sentence and the words it may hide appear here.";
    DebertaOptions options = answer.options;
    if (!model_.has_decoder()) {
        decoder.unavailable =
            "This model has no enhanced mask decoder: it needs a table of absolute positions that the input does not "
            "use already, and two layers or more.";
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
        if (model_.has_head()) stages += ",mlm.transform";
        if (has_words) stages += ",mlm.logits_at_positions";
    }
    answer.trace = run(input, options, stages);
    if (decoder.unavailable.empty()) {
        const auto strength = static_cast<float>(answer.request.strength);
        decoder.absolute = model_.absolute_rows(input.length()) * strength;
        decoder.hidden =
            answer.trace.at("layer." + std::to_string(config().num_hidden_layers - 2) + ".output").as<float>().rows();
    }
    if (!has_words) return;
    options.decoder = MaskDecoder::none;
    const auto alone = best_words(run(input, options, "mlm.logits_at_positions"));
    const auto with = decoder.unavailable.empty() ? best_words(answer.trace) : std::vector<std::vector<Word>>();
    const auto biased = answer.request.at_input && decoder.unavailable.empty() ? words_with_biased_input(input, options)
                                                                               : std::vector<std::vector<Word>>();
    for (std::size_t n = 0; n < alone.size(); ++n)
        decoder.masks.push_back({input.mask_positions[static_cast<Index>(2 * n + 1)],
                                 with.empty() ? std::vector<Word>() : with[n], alone[n],
                                 biased.empty() ? std::vector<Word>() : biased[n]});
}

std::vector<std::vector<Word>> Session::words_with_biased_input(const ModelInput& input, DebertaOptions options) const {
    if (!biased_) {
        DebertaConfig config = model_.config();
        config.position_biased_input = true;
        biased_.emplace(config, checkpoint_.weights);
    }
    return best_words(biased_->forward(input, options, StageFilter("mlm.logits_at_positions"), stop_));
}

std::vector<std::vector<Word>> Session::best_words(const Trace& trace) const {
    const auto logits = trace.at("mlm.logits_at_positions").as<float>().rows();
    std::vector<std::vector<Word>> all;
    for (Index n = 0; n < logits.rows(); ++n) {
        std::vector<Index> order(static_cast<std::size_t>(logits.cols()));
        std::iota(order.begin(), order.end(), 0);
        const auto top = static_cast<std::ptrdiff_t>(std::min(kWords, logits.cols()));
        std::partial_sort(order.begin(), order.begin() + top, order.end(),
                          [&](Index a, Index b) { return logits(n, a) > logits(n, b); });
        const double largest = logits(n, order.front());
        const double sum = (logits.row(n).cast<double>().array() - largest).exp().sum();
        std::vector<Word>& words = all.emplace_back();
        for (std::ptrdiff_t at = 0; at < top; ++at) {
            const Index id = order[static_cast<std::size_t>(at)];
            const std::string piece = tokenizer_ ? tokenizer_->piece(id) : std::to_string(id);
            const std::string shown = display_piece(piece);
            words.push_back({shown.empty() ? piece : shown, std::exp(logits(n, id) - largest) / sum, logits(n, id)});
        }
    }
    return all;
}

}  // namespace locus
