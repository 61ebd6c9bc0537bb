#pragma once
// A file of texts, one a line, as the programs run them: in packs that pass the model together, with progress.
#include <chrono>
#include <string>
#include <vector>

#include "core/models/model_input.h"

namespace locus::cli {

class Command;

struct NumberedLine {
    Index number = 0;  // in the file, from 1
    std::string text;
};

/// The lines of a file that are not blank, readable as readable_text makes them.
/// Throws Error(unreadable) for a file that cannot be read or has no such line.
std::vector<NumberedLine> read_numbered_lines(const Command& program, const std::string& file);

/// Consecutive inputs that pass the model together: one, or as many as have 2,048 tokens.  -> the first of each pack,
/// and the number of inputs at the end.
std::vector<std::size_t> packs_of(const std::vector<ModelInput>& inputs);

/// "120 of 400 lines, 0:41 to go" on stderr: a line that renews itself on a terminal, elsewhere one every ten seconds.
class CountProgress {
public:
    /// what: "lines".
    CountProgress(const Command& program, std::size_t count, std::string what);
    /// So many of them are done.
    void done(std::size_t count);

private:
    const Command& program_;
    std::size_t count_;
    std::string what_;
    bool terminal_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now(), said_ = begin_;
};

}  // namespace locus::cli
