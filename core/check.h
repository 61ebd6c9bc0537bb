#pragma once
// How Locus refuses: one sentence, and the exit status a program ends with.
#include <stdexcept>
#include <string>

namespace locus {

/// Whose fault it was; the value is the exit status of every Locus program.
enum class Fault {
    usage = 2,        // a value the caller chose is wrong
    unreadable = 3,   // a file is missing, damaged, or cannot be written
    unsupported = 4,  // well formed, but outside what Locus does
    memory = 70,      // what was asked for needs more memory than there is
};

/// Text of any origin as one line that a terminal can show: each control character becomes '?'.
std::string one_line(std::string text);

/// Every refusal of Locus.  what() is one sentence that names the file, field or value and what was expected; what a
/// file or a user wrote may stand in it as it is, for the sentence is made one line here.
class Error : public std::runtime_error {
public:
    Error(Fault fault, const std::string& sentence) : std::runtime_error(one_line(sentence)), fault_(fault) {}
    Fault fault() const { return fault_; }
    int exit_status() const { return static_cast<int>(fault_); }

private:
    Fault fault_;
};

}  // namespace locus

/// Precondition of a public function: throws Error(usage) with the sentence if it does not hold.
/// The sentence is built only on failure: LOCUS_CHECK(a == b, "widths " + std::to_string(a) + " and ... differ").
#define LOCUS_CHECK(condition, sentence)                                                      \
    do {                                                                                      \
        if (!(condition)) throw ::locus::Error(::locus::Fault::usage, std::string(sentence)); \
    } while (false)
