#pragma once
// Where the pages of the other families get what they show: a model and a sentence, opened and run away from the
// window, and whatever stands in the way as one sentence.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/io/checkpoint.h"
#include "core/models/model.h"
#include "core/text/tokenizers/tokenizer.h"
#include "viewer/data/worker.h"
#include "viewer/state/state.h"

namespace locus {

/// A model of one family with its files open, and its tokenizer where there is one.
class ExhibitModel {
public:
    /// A folder or a built-in name.  Throws as open_checkpoint and open_model do, and Error(unsupported) for a model of
    /// another family than the page shows.
    ExhibitModel(const std::string& model, Family family);

    /// The folder's own name.
    const std::string& name() const { return name_; }
    const Checkpoint& checkpoint() const { return checkpoint_; }
    const Model<float>& model() const { return *model_; }
    /// nullptr where the folder has none that Locus reads.
    const Tokenizer* tokenizer() const { return tokenizer_.get(); }

    /// The tokens of a choice.  Throws Error(usage) for an empty text or a damaged list, Error(unsupported) for a text
    /// where there is no tokenizer.
    ModelInput input_of(const ExhibitChoice& choice) const;
    /// One per token, as a person reads them; numbers where there is no tokenizer.
    std::vector<std::string> words_of(const ModelInput& input) const;

private:
    std::string name_;
    Checkpoint checkpoint_;
    std::unique_ptr<Model<float>> model_;
    std::unique_ptr<Tokenizer> tokenizer_;
    std::string no_tokenizer_;  // why there is none
};

/// Which layer a trace holds: -1 for all, where their matrices of [Tq,Tk], `cells` together, are not too many, else the
/// wished one alone.
Index traced_layer(Index cells, Index wished, Index layers);

/// What a worker brings back.
template <class Exhibit>
struct ExhibitAnswer {
    ExhibitChoice choice;
    std::shared_ptr<const Exhibit> exhibit;  // nullptr: `error` says why
    std::string error;
    Fault fault = Fault::usage;
};

/// Follows a choice: a changed model is opened, a changed text run, the last good exhibit shown meanwhile.
/// Exhibit needs `static constexpr Family kFamily` and a constructor from (std::shared_ptr<const ExhibitModel>, const
/// ExhibitChoice&) that throws Error.
template <class Exhibit>
class ExhibitSource {
public:
    /// `answered` is called from the worker's thread: it wakes the window.
    explicit ExhibitSource(std::function<void()> answered) : answered_(std::move(answered)) {}

    /// Once a frame.
    void update(const ExhibitChoice& choice) {
        if (asked_ != choice) {
            asked_ = choice;
            if (!worker_) worker_.emplace([this](const ExhibitChoice& wished) { return make(wished); }, answered_);
            worker_->submit(choice);
        }
        const auto answer = worker_->take();
        if (!answer) return;
        answered_choice_ = answer->choice;
        error_ = answer->error;
        fault_ = answer->fault;
        if (!answer->exhibit) return;
        shown_ = answer->exhibit;
        ++serial_;
    }
    /// The newest that could be made; nullptr before the first.
    const Exhibit* shown() const { return shown_.get(); }
    /// The same for who runs it on a thread of its own.
    const std::shared_ptr<const Exhibit>& share() const { return shown_; }
    /// Changes whenever shown() does, from 1.
    std::uint64_t serial() const { return serial_; }
    /// Why the newest choice cannot be shown: one sentence, or nothing.
    const std::string& error() const { return error_; }
    Fault fault() const { return fault_; }
    /// True if what is shown, or trouble(), belongs to this choice.
    bool settled(const ExhibitChoice& choice) const { return answered_choice_ == choice; }

private:
    /// On the worker's thread, which alone uses `opened_`.
    std::shared_ptr<const ExhibitAnswer<Exhibit>> make(const ExhibitChoice& choice) {
        auto answer = std::make_shared<ExhibitAnswer<Exhibit>>();
        answer->choice = choice;
        try {
            if (!opened_ || opened_as_ != choice.model) {
                opened_ = nullptr;
                opened_ = std::make_shared<const ExhibitModel>(choice.model, Exhibit::kFamily);
                opened_as_ = choice.model;
            }
            answer->exhibit = std::make_shared<const Exhibit>(opened_, choice);
        } catch (const Error& error) {
            answer->error = error.what();
            answer->fault = error.fault();
        } catch (const std::bad_alloc&) {
            answer->error = "this text needs more memory than there is, expected a shorter one";
            answer->fault = Fault::unsupported;
        }
        return answer;
    }

    std::function<void()> answered_;
    std::shared_ptr<const ExhibitModel> opened_;
    std::string opened_as_;
    std::optional<ExhibitChoice> asked_, answered_choice_;
    std::shared_ptr<const Exhibit> shown_;
    std::uint64_t serial_ = 0;
    std::string error_;
    Fault fault_ = Fault::usage;
    std::optional<Worker<ExhibitChoice, ExhibitAnswer<Exhibit>>> worker_;  // last: ends before what it uses
};

/// The family of a model folder or a built-in name.  Throws Error(unreadable) where there is no model and
/// Error(unsupported) for a family that Locus does not compute.
Family family_of_model(const std::string& model);

/// The choice behind a page; nullptr for pages of the opened DeBERTa and for those without a model.
ExhibitChoice* choice_of_page(State& state, const std::string& page);

/// Puts a model of any family but DeBERTa on its page and turns to that page.  Tokens are ids of the model before, so
/// they give way to the text.  Returns false, and changes nothing, for a DeBERTa.  Throws as family_of_model.
bool show_model(State& state, const std::string& model);

/// The sentence that the shown page is about, or its token ids: what the text box edits.
std::string& edited_sentence(State& state);

}  // namespace locus
