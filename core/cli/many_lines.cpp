#include "core/cli/many_lines.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "core/text/corpus/text_file.h"
#include "core/text/tokenizers/unicode.h"

namespace locus::cli {

std::vector<NumberedLine> read_numbered_lines(const Command& program, const std::string& file) {
    std::vector<NumberedLine> lines;
    Index number = 0, replaced = 0, first = 0;
    const bool piped = file == "-";
    const std::string name = piped ? "standard input" : file;
    const std::string bytes = piped ? read_all(std::cin, name) : read_text_file(file);
    check_not_utf16(bytes, name);
    for (const std::string& line : lines_of(bytes)) {
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        RepairedText repaired = repair_utf8(line);
        if (repaired.replaced > 0 && replaced == 0) first = number;
        replaced += repaired.replaced;
        lines.push_back({number, std::move(repaired.text)});
    }
    if (lines.empty()) throw Error(Fault::unreadable, name + ": no line with a word, expected a text on each line");
    if (replaced > 0)
        say(program, "warning: " + name + " is not UTF-8: " + std::to_string(replaced) +
                         (replaced == 1 ? " place" : " places") + " replaced by U+FFFD, first in line " +
                         std::to_string(first));
    return lines;
}

void TextLines::check_each(const std::function<void(std::size_t n)>& f) const {
    for (std::size_t n = 0; n < lines.size(); ++n) try {
            f(n);
        } catch (const Error& error) {
            const std::string sentence = error.what();
            const bool of_file = error.fault() == Fault::usage && !sentence.starts_with("stages:");
            throw Error(of_file ? Fault::unreadable : error.fault(), place(n) + ": " + sentence);
        }
}

TextLines read_text_lines(const Command& program, const std::string& file,
                          const std::function<ModelInput(const std::string& text)>& make) {
    TextLines texts{file == "-" ? "standard input" : file, read_numbered_lines(program, file), {}};
    texts.check_each([&](std::size_t n) { texts.inputs.push_back(make(texts.lines[n].text)); });
    return texts;
}

std::vector<std::size_t> packs_of(const std::vector<ModelInput>& inputs,
                                  const std::function<bool(const ModelInput&)>& takes_fast_path) {
    const bool together = std::all_of(inputs.begin(), inputs.end(), takes_fast_path);
    constexpr Index kTokens = 2048;  // enough rows for the products, few enough for a line now and then
    std::vector<std::size_t> firsts = {0};
    Index tokens = 0;
    for (std::size_t n = 0; n < inputs.size(); ++n) {
        if (n > firsts.back() && (!together || tokens + inputs[n].tokens.size() > kTokens)) {
            firsts.push_back(n);
            tokens = 0;
        }
        tokens += inputs[n].tokens.size();
    }
    firsts.push_back(inputs.size());
    return firsts;
}

void need_output() {
    std::cout.flush();
    if (!std::cout) throw Error(Fault::unreadable, "standard output cannot be written");
}

CountProgress::CountProgress(const Command& program, std::size_t count, std::string what)
    : program_(program), count_(count), what_(std::move(what)), terminal_(::isatty(STDERR_FILENO) == 1) {}

void CountProgress::done(std::size_t count) {
    const auto now = std::chrono::steady_clock::now();
    if (std::chrono::duration<double>(now - said_).count() < (terminal_ ? 0.2 : 10) && count < count_) return;
    if (count == count_) {
        clear();
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
        std::cerr << "\r" << program_.name() << ": " << sentence << "\033[K" << std::flush;
    else
        say(program_, sentence);
    shown_ = terminal_;
}

void CountProgress::clear() {
    if (shown_) std::cerr << "\r\033[K" << std::flush;
    shown_ = false;
}

}  // namespace locus::cli
