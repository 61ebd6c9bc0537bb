#pragma once
// A file of texts, one a line, as the programs run them: in packs that pass the model together, with progress.
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "core/cli/program.h"
#include "core/models/model_input.h"
#include "core/trace.h"

namespace locus::cli {

struct NumberedLine {
    Index number = 0;  // in the file, from 1
    std::string text;
};

/// The lines of a file, or of the standard input for "-", that are not blank, readable as readable_text makes them.
/// Throws Error(unreadable) for a file that cannot be read, is UTF-16 or has no such line.
std::vector<NumberedLine> read_numbered_lines(const Command& program, const std::string& file);

/// The lines of a file as a model takes them.
struct TextLines {
    std::string file;
    std::vector<NumberedLine> lines;
    std::vector<ModelInput> inputs;  // one for each

    /// "questions.txt: line 3"
    std::string place(std::size_t n) const { return file + ": line " + std::to_string(lines[n].number); }
    /// f(n) for every line, before the first is computed: what it throws gets the line's place in front.  What is wrong
    /// with a line is the file's fault, except that it lacks the stages asked for.
    void check_each(const std::function<void(std::size_t n)>& f) const;
};

/// make(text) -> the input of a line; what it throws names the line.
TextLines read_text_lines(const Command& program, const std::string& file,
                          const std::function<ModelInput(const std::string& text)>& make);

/// Consecutive inputs that pass the model together: as many as have 2,048 tokens where all take the fast path, which
/// takes_fast_path tells of each; else one, for stages inside layers are computed text by text and their memory need be
/// that of one.  -> the first of each pack, and the number of inputs at the end.
std::vector<std::size_t> packs_of(const std::vector<ModelInput>& inputs,
                                  const std::function<bool(const ModelInput&)>& takes_fast_path);

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

/// Checks every line, then computes them for these stages, those of a pack together, with progress: show(n, trace)
/// comes in order.  Ends where nobody takes what is printed.
///
/// A Net is a Model, whose Switches are a Dialect, or a Deberta with its DebertaOptions.
template <class Net, class Switches, class Show>
void run_lines(const Command& program, const TextLines& texts, const Net& model, const Switches& switches,
               const StageFilter& wanted, const Show& show) {
    const std::vector<ModelInput>& inputs = texts.inputs;
    texts.check_each([&](std::size_t n) { model.check({inputs[n]}, switches, wanted); });
    const std::vector<std::size_t> packs =
        packs_of(inputs, [&](const ModelInput& input) { return model.takes_fast_path(input, switches, wanted); });
    CountProgress progress(program, inputs.size(), "lines");
    for (std::size_t pack = 0; pack + 1 < packs.size(); ++pack) {
        const std::size_t first = packs[pack], end = packs[pack + 1];
        std::vector<Trace> traces = model.forward_texts(
            {inputs.begin() + static_cast<std::ptrdiff_t>(first), inputs.begin() + static_cast<std::ptrdiff_t>(end)},
            switches, wanted);
        progress.clear();
        if (first == 0)
            for (const std::string& warning : model.warnings()) say(program, "warning: " + warning);
        for (std::size_t n = first; n < end; ++n) show(n, traces[n - first]);
        need_output();
        progress.done(end);
    }
}

}  // namespace locus::cli
