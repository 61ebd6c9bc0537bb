#pragma once
// The opened DeBERTa, and what it answers: one trace per request.
#include <atomic>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/attention/disentangled.h"
#include "core/io/classes.h"
#include "viewer/data/comparison.h"
#include "viewer/data/deberta_steps.h"
#include "viewer/data/mistake_source.h"
#include "viewer/data/model_session.h"
#include "viewer/plots/head_terms.h"

namespace locus {

/// Globs of the stages of a layer that a head is explained by.
std::string attention_stages(const DebertaConfig& config, Index layer);

/// What the screen wants to know.  Everything that changes a number is in here, and nothing else.
struct Request {
    std::string text;          // a sentence, or ...
    std::string tokens, mask;  // ... "1,2,3" and "1,1,0"; they win over the text when not empty
    Dialect dialect = Dialect::official;
    Index layer = 0;
    bool decoder = false;                                  // also the mask decoder and the words
    double strength = 1;                                   // of I in the decoder's query
    bool at_input = false;                                 // also the words with I at the input instead, as in BERT
    std::optional<CompareRequest> compare = std::nullopt;  // nothing else but these two sides
    std::vector<Index> masked = {};  // tokens replaced by [MASK]; those that the text does not have are left out
    bool overview = false;           // also every head of every layer, in short
    std::string stage = {};          // also this one, or the nearest that the model has

    bool operator==(const Request&) const = default;
};

using Word = Guess;

/// The best words for one [MASK].
struct MaskWords {
    Index position = 0;
    std::vector<Word> with_decoder, last_layer, at_input;
};

struct DecoderAnswer {
    std::string unavailable;         // one sentence where the model has no decoder; the rest is then empty
    Matrix<float> absolute, hidden;  // I times its strength and H, [T,D]
    std::vector<MaskWords> masks;
    std::string no_words;          // one sentence where there is no head or no [MASK]
    std::vector<Classes> classes;  // of a fine-tuned model: ten at most of the text, of a token, of an answer's ends
    std::string classes_warning;   // of their names; empty where all is well
};

/// Every head of every layer: heads of layer 0 first.
struct Overview {
    Index layers = 0, heads = 0;
    std::vector<HeadSummary> all;
    const HeadSummary& at(Index layer, Index head) const { return all[static_cast<std::size_t>(layer * heads + head)]; }
};

struct Answer {
    Request request;
    std::uint64_t serial = 0;  // of the answer, so that pictures know when to follow
    std::string error;         // one sentence; the rest is then empty
    Fault fault = Fault::usage;
    std::vector<std::string> warnings;

    std::vector<std::string> labels;  // one per token, as a person reads it
    std::vector<bool> special;        // [CLS], [SEP], [MASK], ...
    std::vector<bool> continues;      // goes on with the word of the token before
    std::vector<std::string> behind;  // what [MASK] stands in for at request; empty elsewhere
    std::vector<bool> unknown;        // the model reads [UNK] in place of this piece of the text
    std::vector<std::string> stages;  // names that Request::stage may ask for
    std::string shown_stage;          // the one that came; empty where none was asked for
    std::shared_ptr<const Overview> overview;
    Mask visible;                            // [T,T] or empty: everything
    Trace trace;                             // layer.{l}.*; with the decoder also emd.* and mlm.*
    std::optional<RelativeBuckets> buckets;  // none in a model without relative positions
    DebertaOptions options;
    int divisor_terms = 1;  // n of sqrt(n d)
    DecoderAnswer decoder;
    CompareAnswer compare;
    double milliseconds = 0;

    Index length() const { return static_cast<Index>(labels.size()); }
    /// Stage of the shown layer, e.g. "c2p"; nullptr where the model has no such term.
    const Tensor<float>* stage(const std::string& stem) const;
};

/// What one head's cells are made of, for explain_cell: `prefix` is "layer.3", or "emd.0" for a pass of the decoder.
/// Matrices that the trace does not hold stay empty.
HeadTensors<float> head_tensors(const Answer& answer, const std::string& prefix, Index head);

class DebertaSession : public ModelSession {
public:
    /// Opens a folder or a built-in model.  Answers are numbered from `first_serial` + 1, so that two sessions need not
    /// share numbers.  Throws as ModelSession, parse_deberta_config and Deberta do.
    explicit DebertaSession(const std::string& model, std::uint64_t first_serial = 0);

    const DebertaConfig& config() const { return deberta_.config(); }
    bool has_decoder() const { return deberta_.has_decoder() && deberta_.has_head(); }
    /// Why the mask decoder tells no words, whatever the sentence is: one sentence; empty where it can.
    std::string decoder_missing() const;

    /// Throws Error(unsupported) where a text is asked for and the folder has no tokenizer.
    void check(const Request& request) const {
        if (request.tokens.empty()) require_tokenizer();
    }
    /// Tokens of the request, the masked ones replaced.  Throws Error(usage) for an empty text or a damaged list.
    ModelInput input_of(const Request& request) const;
    /// Runs the model.  A refusal becomes Answer::error; nothing comes back once `stop` says yes.  One call at a time.
    /// Throws nothing but Paused, once `over` says yes: the same call goes on where this one was.
    std::shared_ptr<const Answer> answer(const Request& request, const CancelToken& stop = {},
                                         const SliceEnd& over = {}) const;
    /// Where the pass under way is: "layer 5 of 12"; empty where none is.  May be asked from any thread.
    std::string progress() const;

private:
    void fill(Answer& answer) const;
    void name_tokens(Answer& answer, const ModelInput& input) const;
    void fill_attention(Answer& answer, const ModelInput& input) const;
    std::shared_ptr<const Overview> overview(const ModelInput& input, const DebertaOptions& options,
                                             const Mask& visible) const;
    std::shared_ptr<const Overview> known_overview(const Request& request, const ModelInput& input,
                                                   const Answer& answer) const;
    ModelInput written_input_of(const Request& request) const;
    void name_masked(Answer& answer, const ModelInput& written) const;
    void mask_tokens(ModelInput& input, const std::vector<Index>& positions) const;
    void fill_decoder(Answer& answer, const ModelInput& input) const;
    std::vector<std::vector<Word>> words_at_masks(const Trace& trace) const;
    std::vector<std::vector<Word>> words_with_biased_input(const ModelInput& input, DebertaOptions options) const;
    CompareAnswer compare(const Request& request) const;
    void fill_comparison(CompareAnswer& answer, const Request& request) const;
    /// A side that is a pass: whose it is, and of what.
    struct Pass {
        const DebertaSession* session = nullptr;
        Request request;
        ModelInput input;
        std::optional<SideMistake> mistake;
    };
    std::optional<Pass> pass_of(const CompareSide& side, const Request& request) const;
    std::vector<std::string> stage_names(const CompareSide& side, const std::optional<Pass>& pass) const;
    const Trace& trace_of(const CompareSide& side, const std::string& stage, std::optional<Pass>& pass,
                          Trace& own) const;
    std::vector<std::string> words_of_side(const Pass& pass) const;
    const DebertaSession* maker_of(const OpenedDump& dump, const std::optional<Pass>& other) const;
    void name_tokens_of_dump(CompareAnswer& answer, const OpenedDump& dump, const std::optional<Pass>& other) const;
    const OpenedDump& dump(const std::string& file) const;
    const DebertaSession& session_of(const std::string& model) const;
    const MadeMistake& made(const MistakeQuery& query, const CompareSide& side) const;
    Trace run(const Deberta<float>& model, const ModelInput& input, const DebertaOptions& options,
              const StageFilter& stages) const;

    Deberta<float> deberta_;                      // the same weights as model(), with the options that only DeBERTa has
    mutable std::optional<Deberta<float>> fast_;  // the same, whole layers by the fast path: for pictures of all heads
    mutable std::optional<Deberta<double>> exact_;  // once a side asks for f64
    mutable std::optional<Deberta<float>> on_device_;
    mutable std::optional<Deberta<double>> exact_on_device_;
    mutable std::optional<Deberta<float>> biased_;  // the same weights with I at the input, once it is asked for
    mutable std::list<OpenedDump> dumps_;           // the last few, the newest at the end
    struct KeptMistake {
        MistakeQuery query;
        std::string mistake;
        bool exact = false;
        MadeMistake made;
    };
    mutable std::list<KeptMistake> mistakes_;                                            // the last few, as dumps_
    mutable std::list<std::pair<std::string, std::unique_ptr<DebertaSession>>> others_;  // models of single sides
    mutable std::uint64_t serial_;
    mutable CancelToken stop_;  // of the call that is under way
    mutable SliceEnd over_;     // the same
    // An answer in slices makes its passes again from the first at every call; those that it has made wait here.
    mutable std::vector<std::unique_ptr<DebertaSteps<float>>> passes_;
    mutable std::size_t run_ = 0;      // passes of this call
    mutable double milliseconds_ = 0;  // of the calls that paused
    mutable Request passes_of_;
    mutable std::atomic<Index> layer_ = 0;  // of the pass under way, counted from 1; 0: none, one more: what follows
    mutable Request overview_of_;           // what overview_ answers; only what changes it is set
    mutable std::shared_ptr<const Overview> overview_;
};

}  // namespace locus
