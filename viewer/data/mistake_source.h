#pragma once
// The bug zoo: what ports that make a mistake of the catalogue would compute.  The formulas live in another program,
// locus-kit, which is asked for them.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/cancel.h"
#include "core/io/mistake_list.h"
#include "core/models/dialect.h"
#include "core/trace.h"

namespace locus {

/// The pass in which a mistake is made.
struct ZooQuery {
    std::string model;         // as the viewer was given it
    std::string text;          // or ...
    std::string tokens, mask;  // ... these, where they are not empty
    Dialect dialect = Dialect::official;

    bool operator==(const ZooQuery&) const = default;
};

enum class ZooEffect { changes, nothing, impossible };

/// One way to make a mistake, and what it does first with this model and input.
struct ZooWay {
    std::string how;
    ZooEffect effect = ZooEffect::nothing;
    std::string stage;          // the first that differs
    Index wrong = 0, size = 0;  // cells of it
    std::string needs;          // where it cannot be made
};

struct ZooMistake {
    int number = 0;
    std::vector<ZooWay> ways;

    /// Index of the way to begin with: the first that changes something, else the first that can be made, else 0.
    std::size_t best_way() const;
    ZooEffect effect() const;
};

struct ZooList {
    ZooQuery query;
    std::string trouble;  // one sentence instead of mistakes
    std::vector<ZooMistake> mistakes;

    /// nullptr for a mistake that the model's family does not know.
    const ZooMistake* find(int number) const;
};

/// What was made of a pass.
struct MadeMistake {
    int number = 0, way = 0;  // way from 1
    std::string name, how;
    std::string first;                      // stage where it begins; empty: it changes nothing here
    Index wrong = 0, size = 0, stages = 0;  // cells of that stage; stages that differ in all
    Trace trace;
};

/// Asks `program` (locus-kit) which mistakes change what.  Never throws: a refusal becomes ZooList::trouble.
ZooList list_mistakes(const std::filesystem::path& program, const ZooQuery& query, const CancelToken& stop = {});

/// Has `program` make the pass of a port with mistake "7" or "7.2", and reads it.  Its file stands in a folder of its
/// own and is gone afterwards.  Throws Error(unsupported) with the program's own sentence, or how it ended.
MadeMistake make_mistake(const std::filesystem::path& program, const ZooQuery& query, const std::string& mistake,
                         bool exact, const CancelToken& stop = {});

/// "7.2" -> 7 and 2, "7" -> 7 and 0; nothing for anything else.
std::optional<std::pair<int, int>> parse_mistake(const std::string& text);

/// A heading of the list, and the mistakes below it.
struct ZooGroup {
    std::string title;
    std::vector<const MistakeEntry*> entries;
};
/// The entries whose number or words hold every word of `typed`, group by group; groups without any are left out.
/// Mistakes of other families than `family` come last, by family.
std::vector<ZooGroup> zoo_groups(const std::vector<MistakeEntry>& entries, const std::string& family,
                                 const std::string& typed);

}  // namespace locus
