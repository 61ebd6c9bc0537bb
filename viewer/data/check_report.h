#pragma once
// What a check of a port found out, as the pages show it: read from the file that `locus kit check --json` or
// `locus check --json` wrote, or judged by this program.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/trace.h"

namespace locus {

namespace conformance {
struct Report;
}

enum class StageState { pass, fail, not_reported };

/// One stage of a case.
struct ReportedStage {
    std::string name;
    StageState state = StageState::not_reported;
    std::string reason;        // why it fails
    std::vector<Index> index;  // of the worst value; empty if none was compared
    double expected = 0, found = 0, allowed = 0;
    Index wrong = 0, size = 0;
};

struct ReportedMistake {
    int number = 0;
    std::string name, how, betrays, lesson;
    double residual = 0;
    std::optional<int> runner_up;  // 0: the right formula
    double runner_up_residual = 0;
    bool runner_up_is_bound = false;  // it was given up early and leaves at least that much
};

/// A stage that is wrong by itself, not because of what it is made of.
struct WrongByItself {
    std::string stage;
    int mistake = 0;      // of the catalogue; 0: none explains it
    std::string name;     // of the mistake
    std::string pattern;  // what the difference looks like: "every value is 0.5 times what it should be"
    std::string saved;    // that the port computes it rightly and saves other numbers; empty where it is not so
    /// "mistake 39", "other numbers saved", or "no mistake of the catalogue".
    std::string in_words() const;
};

struct ReportedCase {
    std::string id;                              // empty for a pair of files
    std::string family;                          // as the kit spells it; empty for a pair of files
    std::string verdict;                         // "pass", "fail", "not reported", "waived"
    std::string refusal, waiver;                 // one sentence, or empty
    std::filesystem::path reference, candidate;  // dumps; empty where the report names none
    std::vector<ReportedStage> stages;           // in the order of a model, also those that were not reported
    std::string first;                           // the first wrong stage; empty if there is none
    std::optional<ReportedMistake> mistake;
    std::vector<WrongByItself> by_themselves;  // in the order of a model, the first wrong stage among them
    std::string right_once_repaired;           // "yes", "no", "unknown"; empty where an older report does not say
    std::string pattern;
    std::string doubt;  // why the reference itself may be the wrong one; empty where it is not doubted
    std::vector<std::string> would_narrow;
    std::vector<std::string> tokens;  // of the sample with the worst cell; may be empty

    /// nullptr if there is none.
    const ReportedStage* find(const std::string& stage) const;
    /// What is said of numbers that were saved in place of the first wrong stage; empty where nothing is.
    std::string saved_first() const;
    bool has_dumps() const { return !reference.empty() && !candidate.empty(); }
    Index count(StageState state) const;
    /// Adds stages that were not reported; all are in the order of a model then.
    void add_silent(const std::vector<std::string>& missing);
};

struct CheckReport {
    std::filesystem::path file;
    bool pass = false;
    std::vector<std::string> errors;
    std::vector<ReportedCase> cases;

    /// The case to open: the first that fails and has dumps, else the first that fails, else the first with dumps.
    std::size_t opening() const;
};

/// Paths of dumps are taken from the report's folder where they are not absolute.
/// Throws Error(unreadable) for a file that is missing, no JSON, or JSON of something else; the sentence names file and
/// field.
CheckReport read_check_report(const std::filesystem::path& file);

/// The same of a report that is still in memory; `file` is where it was written to.
CheckReport check_report_of(const conformance::Report& report, const std::filesystem::path& file);

/// True if these are the stages that the report judged: they still hold the two values that it printed of the worst
/// cell.  A dump may have been written anew since.
bool is_judged_by(const ReportedStage& reported, const Stage& reference, const Stage& candidate);

}  // namespace locus
