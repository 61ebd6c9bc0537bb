#include "core/cli/many_lines.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "core/cli/program.h"
#include "core/cli/words.h"
#include "core/text/corpus/text_file.h"

namespace locus::cli {

std::vector<NumberedLine> read_numbered_lines(const Command& program, const std::string& file) {
    std::vector<NumberedLine> lines;
    Index number = 0;
    for (const std::string& line : lines_of(read_text_file(file))) {
        ++number;
        if (line.find_first_not_of(" \t") != std::string::npos) lines.push_back({number, readable_text(program, line)});
    }
    if (lines.empty()) throw Error(Fault::unreadable, file + ": no line with a word, expected a text on each line");
    return lines;
}

std::vector<std::size_t> packs_of(const std::vector<ModelInput>& inputs) {
    constexpr Index kTokens = 2048;  // enough rows for the products, few enough for a line now and then
    std::vector<std::size_t> firsts = {0};
    Index tokens = 0;
    for (std::size_t n = 0; n < inputs.size(); ++n) {
        if (n > firsts.back() && tokens + inputs[n].tokens.size() > kTokens) {
            firsts.push_back(n);
            tokens = 0;
        }
        tokens += inputs[n].tokens.size();
    }
    firsts.push_back(inputs.size());
    return firsts;
}

CountProgress::CountProgress(const Command& program, std::size_t count, std::string what)
    : program_(program), count_(count), what_(std::move(what)), terminal_(::isatty(STDERR_FILENO) == 1) {}

void CountProgress::done(std::size_t count) {
    const auto now = std::chrono::steady_clock::now();
    if (std::chrono::duration<double>(now - said_).count() < (terminal_ ? 0.2 : 10) && count < count_) return;
    if (count == count_) {
        if (terminal_ && said_ != begin_) std::cerr << "\r\033[K" << std::flush;
        return;
    }
    said_ = now;
    const double spent = std::chrono::duration<double>(now - begin_).count();
    const auto left = static_cast<long>(spent / static_cast<double>(count) * static_cast<double>(count_ - count));
    const std::string seconds = std::to_string(left % 60);
    const std::string sentence = std::to_string(count) + " of " + std::to_string(count_) + " " + what_ + ", " +
                                 std::to_string(left / 60) + ":" + std::string(2 - seconds.size(), '0') + seconds +
                                 " to go";
    if (terminal_)
        std::cerr << "\r" << program_.name() << ": " << sentence << "   " << std::flush;
    else
        say(program_, sentence);
}

}  // namespace locus::cli
