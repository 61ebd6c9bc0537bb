#pragma once
// A file of texts, one a line, as the programs run them: in packs that pass the model together, with progress.
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/models/model_input.h"
#include "core/trace.h"

namespace locus::cli {

class Command;

struct NumberedLine {
    Index number = 0;  // in the file, from 1
    std::string text;
};

/// The lines of a file that are not blank, readable as readable_text makes them.
/// Throws Error(unreadable) for a file that cannot be read or has no such line.
std::vector<NumberedLine> read_numbered_lines(const Command& program, const std::string& file);

/// "questions.txt: line 3"
std::string place_of(const std::string& file, const NumberedLine& line);

/// Checks every input before the first is computed: f(n) throws what is wrong with number n, and the sentence gets the
/// line's place in front.  What is wrong with a line is the file's fault, except that it lacks the stages asked for.
template <class Check>
void check_lines(const std::string& file, const std::vector<NumberedLine>& lines, Check f) {
    for (std::size_t n = 0; n < lines.size(); ++n) try {
            f(n);
        } catch (const Error& error) {
            const std::string sentence = error.what();
            const bool of_file = error.fault() == Fault::usage && !sentence.starts_with("stages:");
            throw Error(of_file ? Fault::unreadable : error.fault(), place_of(file, lines[n]) + ": " + sentence);
        }
}

/// Consecutive inputs that pass the model together: as many as have 2,048 tokens where all take the fast path, which
/// takes_fast_path tells of each; else one, for stages inside layers are computed text by text and their memory need be
/// that of one.  -> the first of each pack, and the number of inputs at the end.
std::vector<std::size_t> packs_of(const std::vector<ModelInput>& inputs,
                                  const std::function<bool(const ModelInput&)>& takes_fast_path);

/// Runs every input for these stages, those of a pack together; found(first, traces) comes after each pack, traces
/// being those of inputs first, first + 1, ...
/// A Net is a Model, whose Switches are a Dialect, or a Deberta with its DebertaOptions.
template <class Net, class Switches, class Found>
void forward_in_packs(const Net& model, const std::vector<ModelInput>& inputs, const Switches& switches,
                      const StageFilter& wanted, const Found& found) {
    const std::vector<std::size_t> packs =
        packs_of(inputs, [&](const ModelInput& input) { return model.takes_fast_path(input, switches, wanted); });
    for (std::size_t pack = 0; pack + 1 < packs.size(); ++pack) {
        const std::vector<ModelInput> some(inputs.begin() + static_cast<std::ptrdiff_t>(packs[pack]),
                                           inputs.begin() + static_cast<std::ptrdiff_t>(packs[pack + 1]));
        std::vector<Trace> traces = model.forward_texts(some, switches, wanted);
        found(packs[pack], traces);
    }
}

/// Throws Error(unreadable) where standard output takes no more: the lines that follow need not be computed.
void need_output();

/// "120 of 400 lines, 0:41 to go" on stderr: a line that renews itself on a terminal, elsewhere one every ten seconds.
class CountProgress {
public:
    /// what: "lines".
    CountProgress(const Command& program, std::size_t count, std::string what);
    /// So many of them are done.
    void done(std::size_t count);
    /// Takes the line from the terminal, where a result comes next.
    void clear();

private:
    const Command& program_;
    std::size_t count_;
    std::string what_;
    bool terminal_, shown_ = false;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now(), said_ = begin_;
};

}  // namespace locus::cli
