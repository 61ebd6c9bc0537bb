#pragma once
// The catalogue of mistakes in words only, read from assets/mistakes.json, for lessons and pages.
#include <filesystem>
#include <string>
#include <vector>

namespace locus {

/// One mistake of the catalogue in words.  Its formulas stand in core/conformance/mistakes.
struct MistakeEntry {
    int number = 0;                        // 1 ... 143
    std::string name;                      // "p2c reads row delta(j,i), as the paper prints it"
    std::string symptom, betrays;          // what the porter sees; how to recognise it
    std::string evidence;                  // where it happened; may be empty
    std::string lesson;                    // "09"; may be empty
    std::vector<std::string> families;     // "deberta", "roformer", "transformer_xl", "xlnet"
    std::vector<std::string> first_wrong;  // how the stages that it makes wrong first are called in a layer: "p2c"
    std::vector<std::string> ways;         // ways to make it, where there are several
};

/// The entries of a file as `locus check --catalogue --json` prints it, in the order of their numbers.
/// Throws Error(unreadable) that names the file and the field.
std::vector<MistakeEntry> read_mistake_list(const std::filesystem::path& file);
/// assets/mistakes.json of this source tree.
std::filesystem::path mistake_list_file();

/// Throws Error(usage) if no entry has the number.
const MistakeEntry& entry_of(const std::vector<MistakeEntry>& entries, int number);

}  // namespace locus
