#pragma once
// One opened model of any family, and the sessions of the pages that show one of another family than DeBERTa: model and
// sentence are opened and run on a thread beside the window, and what prevents it becomes one sentence.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/io/model_request.h"
#include "viewer/data/worker.h"
#include "viewer/state/state.h"

namespace locus {

/// A model with its files open, and its tokenizer where there is one.  DebertaSession adds what the pages of the opened
/// DeBERTa ask; the other families' sentences (RotarySentence, MemoryText, PermutationSentence) hold one of these.
class ModelSession {
public:
    /// A folder or a built-in name.  Throws as open_checkpoint and open_model do, and Error(unsupported) for a model of
    /// another family than is wanted.
    ModelSession(const std::string& model, Family family);

    /// The folder's own name.
    const std::string& name() const { return name_; }
    /// The folder or name that it was opened by, as other programs take it.
    const std::string& opened_as() const { return opened_as_; }
    const Checkpoint& checkpoint() const { return checkpoint_; }
    const Model<float>& model() const { return *model_; }
    /// nullptr where the folder has none that Locus reads.
    const Tokenizer* tokenizer() const { return tokenizer_.get(); }
    /// True if there is a [MASK] that a token can be replaced by.
    bool can_mask() const { return tokenizer_ && tokenizer_->mask_id(); }

    /// The input of a text, or of token ids "1,2,3" with a mask "1,1,0", which win over the text when not empty.
    /// Throws Error(usage) for an empty text or a damaged list, Error(unsupported) for a text without a tokenizer.
    ModelInput input_of(const std::string& text, const std::string& tokens, const std::string& mask) const;
    ModelInput input_of(const ModelChoice& choice) const { return input_of(choice.text, choice.tokens, choice.mask); }
    /// One per token of input_of(choice), as label_of_piece has them; numbers where there is no tokenizer.
    std::vector<std::string> words_of(const ModelChoice& choice, const ModelInput& input) const;
    std::string word_of(std::int64_t id) const { return readable_piece(tokenizer(), id); }

protected:
    /// Throws Error(unsupported) where a text is asked for and there is no tokenizer.
    void require_tokenizer() const;

private:
    std::string opened_as_, name_;
    Checkpoint checkpoint_;
    std::unique_ptr<Model<float>> model_;
    std::unique_ptr<Tokenizer> tokenizer_;
    std::string no_tokenizer_;  // why there is none
};

/// The name of the piece that stands for what the vocabulary lacks, "[UNK]" or "<unk>", where this is its id; else
/// nothing.
std::string unknown_name(const Tokenizer* tokenizer, std::int64_t id);

/// A piece of a text as a person reads it; where the model reads the unknown piece in its place, that is said after it:
/// "漢 [UNK]".
std::string label_of_piece(const Tokenizer* tokenizer, std::int64_t id, const std::string& piece);

/// Throws Error(memory) that names the weights, what they take as float32 and `room`, in bytes, where that is less;
/// reads no values.
void check_room(const WeightSource& weights, double room);

/// Which layer a trace holds: -1 for all, where their matrices of [Tq,Tk], `cells` together, are not too many, else the
/// wished one alone.
Index traced_layer(Index cells, Index wished, Index layers);

/// A choice with its model opened: what `FamilySession` makes, for callers that can wait.
/// Sentence needs `static constexpr Family kFamily` and a constructor from (std::shared_ptr<const ModelSession>, const
/// ModelChoice&) that throws Error.
template <class Sentence>
std::shared_ptr<const Sentence> open_sentence(const ModelChoice& choice) {
    return std::make_shared<const Sentence>(std::make_shared<const ModelSession>(choice.model, Sentence::kFamily),
                                            choice);
}

/// What a worker makes of a choice.
template <class Sentence>
struct FamilyAnswer {
    ModelChoice request;
    std::shared_ptr<const Sentence> sentence;  // nullptr: `error` says why
    std::string error;
    Fault fault = Fault::usage;
};

/// Keeps up with a choice: a changed model is opened, a changed text run, the last good sentence shown meanwhile.
template <class Sentence>
class FamilySession {
public:
    /// `answered` is called from the worker's thread: it wakes the window.
    explicit FamilySession(std::function<void()> answered)
        : source_([this](const ModelChoice& choice) { return make(choice); }, std::move(answered)) {}

    /// Once a frame.
    void update(const ModelChoice& choice) { source_.update(choice); }
    /// The newest that could be made; nullptr before the first.
    const Sentence* shown() const { return source_.shown() ? source_.shown()->sentence.get() : nullptr; }
    /// The same for who runs it on a thread of its own.
    std::shared_ptr<const Sentence> share() const { return source_.shown() ? source_.shown()->sentence : nullptr; }
    /// Changes whenever shown() does, from 1.
    std::uint64_t serial() const { return source_.serial(); }
    /// Why the newest choice cannot be shown: one sentence, or nothing.
    const std::string& error() const { return source_.error(); }
    Fault fault() const { return source_.fault(); }
    /// As AnswerSource::stop.
    bool stop() { return source_.stop(); }
    /// True if what is shown, or error(), belongs to this choice.
    bool settled(const ModelChoice& choice) const { return source_.settled(choice); }

private:
    /// On the worker's thread, which alone uses `opened_`.
    std::shared_ptr<const FamilyAnswer<Sentence>> make(const ModelChoice& choice) {
        auto answer = std::make_shared<FamilyAnswer<Sentence>>();
        answer->request = choice;
        try {
            if (!opened_ || opened_->opened_as() != choice.model) {
                opened_ = nullptr;  // two models need not fit into memory
                opened_ = std::make_shared<const ModelSession>(choice.model, Sentence::kFamily);
            }
            answer->sentence = std::make_shared<const Sentence>(opened_, choice);
        } catch (const Error& error) {
            answer->error = error.what();
            answer->fault = error.fault();
        } catch (const std::bad_alloc&) {
            answer->error = "this text needs more memory than there is, expected a shorter one";
            answer->fault = Fault::memory;
        }
        return answer;
    }

    std::shared_ptr<const ModelSession> opened_;
    AnswerSource<ModelChoice, FamilyAnswer<Sentence>> source_;  // last: its thread ends before what it uses
};

/// The family of a model folder or a built-in name; its weights are not looked at.  Throws Error(unreadable) where
/// there is no model and Error(unsupported) for a family that Locus does not compute.
Family family_of_model(const std::string& model);

/// The choice of a page; nullptr for pages of the opened DeBERTa and for those without a model.
ModelChoice* choice_of_page(State& state, const std::string& page);

/// Puts a model of any family but DeBERTa on its page and opens that page.  Tokens are ids of the model before, so they
/// give way to the text.  Returns false, and changes nothing, for a DeBERTa.  Throws as family_of_model.
bool show_model(State& state, const std::string& model);

/// The sentence that the shown page is about, or its token ids: what the text box edits.
std::string& edited_sentence(State& state);

}  // namespace locus
