#include "viewer/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "core/cli/request.h"
#include "core/io/checkpoint.h"
#include "viewer/window.h"

namespace locus::view {

/// A model that stays open while only the text changes.
struct Session::Opened {
    std::string name;
    Checkpoint checkpoint;
    Deberta<float> model;
    std::unique_ptr<Tokenizer> tokenizer;  // nullptr: token ids only
};

namespace {

constexpr int kWordsShown = 5;

std::vector<Guess> best_words(const Eigen::Ref<const RowVector<float>>& logits, const Tokenizer* tokenizer) {
    std::vector<Index> order(static_cast<std::size_t>(logits.size()));
    std::iota(order.begin(), order.end(), 0);
    const auto end = order.begin() + std::min<std::ptrdiff_t>(kWordsShown, logits.size());
    std::partial_sort(order.begin(), end, order.end(), [&](Index a, Index b) { return logits[a] > logits[b]; });
    const double maximum = logits.maxCoeff();
    const double sum = (logits.cast<double>().array() - maximum).exp().sum();
    std::vector<Guess> words;
    for (auto id = order.begin(); id != end; ++id)
        words.push_back({tokenizer ? display_piece(tokenizer->piece(*id)) : std::to_string(*id),
                         std::exp(logits[*id] - maximum) / sum});
    return words;
}

/// Pieces and their kind, for the chips.
void describe_tokens(const Request& request, const Tokenizer* tokenizer, const ModelInput& input, Snapshot& snapshot) {
    if (request.tokens.empty() && tokenizer) {
        const Tokens tokens = tokenizer->encode(request.text);
        for (const std::string& piece : tokens.pieces) snapshot.pieces.push_back(display_piece(piece));
        snapshot.special = tokens.special;
        return;
    }
    for (const std::int64_t id : input.tokens.values()) {
        snapshot.pieces.push_back(tokenizer ? display_piece(tokenizer->piece(id)) : std::to_string(id));
        snapshot.special.push_back(false);
    }
}

void predict_words(const Deberta<float>& model, const ModelInput& input, DebertaOptions options,
                   const Tokenizer* tokenizer, Snapshot& snapshot) {
    if (!model.has_head() || input.mask_positions.empty()) return;
    const StageFilter wanted("mlm.logits_at_positions");
    const bool decodes = snapshot.has_decoder;
    const Trace with = decodes ? model.forward(input, options, wanted) : Trace();
    options.decoder = MaskDecoder::none;
    const Trace without = model.forward(input, options, wanted);
    const auto plain = without.at("mlm.logits_at_positions").as<float>().rows();
    for (Index n = 0; n < plain.rows(); ++n) {
        MaskGuesses guesses{input.mask_positions[2 * n + 1], {}, best_words(plain.row(n), tokenizer)};
        if (decodes)
            guesses.with_decoder = best_words(with.at("mlm.logits_at_positions").as<float>().rows().row(n), tokenizer);
        snapshot.guesses.push_back(std::move(guesses));
    }
}

}  // namespace

HeadTensors<float> Snapshot::head_tensors(Index head) const {
    HeadTensors<float> tensors;
    tensors.q = head_stage("q", head);
    tensors.k = head_stage("k", head);
    tensors.k_r = head_stage("k_r", head);
    tensors.q_r = head_stage("q_r", head);
    return tensors;
}

Matrix<float> Snapshot::head_stage(const std::string& stem, Index head) const {
    const Stage* stage = trace.find("layer." + std::to_string(request.layer) + "." + stem);
    return stage ? Matrix<float>(stage->as<float>().matrix(head)) : Matrix<float>();
}

int Snapshot::divisor_terms() const {
    if (options.count_listed_names && config.version == 1 && config.relative_attention)
        return 1 + static_cast<int>(config.listed_terms);
    return config.terms.count();
}

Session::Session() : worker_([this] { work(); }) {}

Session::~Session() {
    {
        const std::lock_guard lock(guard_);
        stop_ = true;
    }
    changed_.notify_all();
    worker_.join();
}

void Session::ask(const Request& request) {
    {
        const std::lock_guard lock(guard_);
        pending_ = request;
    }
    changed_.notify_all();
}

std::shared_ptr<const Snapshot> Session::latest() const {
    const std::lock_guard lock(guard_);
    return latest_;
}

bool Session::busy() const {
    const std::lock_guard lock(guard_);
    return running_ || pending_.has_value();
}

void Session::work() {
    std::unique_lock lock(guard_);
    for (;;) {
        changed_.wait(lock, [this] { return stop_ || pending_; });
        if (stop_) return;
        const Request request = *pending_;
        pending_.reset();
        running_ = true;
        lock.unlock();
        auto snapshot = run(request);
        lock.lock();
        running_ = false;
        latest_ = std::move(snapshot);
        Window::wake();
    }
}

std::shared_ptr<const Snapshot> Session::run(const Request& request) {
    const auto start = std::chrono::steady_clock::now();
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->request = request;
    snapshot->version = ++versions_;
    try {
        if (!opened_ || opened_->name != request.model) {
            opened_.reset();
            Checkpoint checkpoint = open_checkpoint(resolve_model(request.model));
            Deberta<float> model = cli::open_deberta<float>(checkpoint);
            std::unique_ptr<Tokenizer> tokenizer;
            try {
                tokenizer = open_tokenizer(checkpoint.folder);
            } catch (const Error& error) {
                if (request.tokens.empty()) throw;  // without a tokenizer only ids can be shown
            }
            opened_ = std::make_unique<Opened>(
                Opened{request.model, std::move(checkpoint), std::move(model), std::move(tokenizer)});
        }
        const Deberta<float>& model = opened_->model;
        cli::Request wanted;
        wanted.tokens = request.tokens;
        if (request.tokens.empty()) wanted.texts = {request.text};
        const ModelInput input = cli::prepare_input(wanted, opened_->checkpoint.folder).input;
        snapshot->config = model.config();
        LOCUS_CHECK(request.layer < snapshot->config.num_hidden_layers,
                    "layer is " + std::to_string(request.layer) + ", the model has layers 0 to " +
                        std::to_string(snapshot->config.num_hidden_layers - 1));
        snapshot->options = DebertaOptions::of(request.dialect);
        snapshot->options.absolute_strength = request.absolute_strength;
        snapshot->has_decoder = model.has_decoder() && snapshot->options.decoder != MaskDecoder::none &&
                                input.length() <= snapshot->config.max_position_embeddings;
        describe_tokens(request, opened_->tokenizer.get(), input, *snapshot);
        const std::string layer = "layer." + std::to_string(request.layer);
        std::string stages = layer + ".*";
        if (snapshot->has_decoder)
            stages += ",layer." + std::to_string(snapshot->config.num_hidden_layers - 2) +
                      ".output,emd.query.0,emd.?.probs,emd.?.output,mlm.transform";
        snapshot->trace = model.forward(input, snapshot->options, StageFilter(stages));
        if (snapshot->config.relative_attention) snapshot->line = model.bucket_line(input.length(), snapshot->options);
        if (snapshot->has_decoder) snapshot->absolute = model.absolute_rows(input.length());
        predict_words(model, input, snapshot->options, opened_->tokenizer.get(), *snapshot);
    } catch (const std::exception& error) {
        *snapshot = Snapshot();
        snapshot->request = request;
        snapshot->version = versions_;
        snapshot->error = error.what();
        if (const auto* ours = dynamic_cast<const Error*>(&error)) snapshot->fault = ours->fault();
    }
    snapshot->milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return snapshot;
}

}  // namespace locus::view
