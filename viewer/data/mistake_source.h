#pragma once
// Mistakes of the catalogue on the Compare page: what each of them changes here, the pass of a port that makes one, and
// the list that is searched.
#include <optional>
#include <string>
#include <vector>

#include "core/cancel.h"
#include "core/conformance/kit/mistake_effect.h"
#include "core/io/mistake_list.h"
#include "core/models/dialect.h"
#include "core/trace.h"

namespace locus {

/// The pass in which a mistake is made.
struct MistakeQuery {
    std::string model;         // as the viewer was given it
    std::string text;          // or ...
    std::string tokens, mask;  // ... these, where they are not empty
    Dialect dialect = Dialect::official;

    bool operator==(const MistakeQuery&) const = default;
};

struct MistakeEffects {
    MistakeQuery query;
    std::string error;  // one sentence instead of mistakes
    std::vector<conformance::MistakeEffect> mistakes;

    /// nullptr for a mistake that the model's family does not know.
    const conformance::MistakeEffect* find(int number) const;
};

/// What was made of a pass.
struct MadeMistake {
    int number = 0, way = 0;  // way from 1
    std::string name, how;
    std::string first;                      // stage where it begins; empty: it changes nothing here
    Index wrong = 0, size = 0, stages = 0;  // cells of that stage; stages that differ in all
    Trace trace;
};

/// Which mistakes change what.  Never throws: a refusal becomes MistakeEffects::error.
MistakeEffects list_mistakes(const MistakeQuery& query, const CancelToken& stop = {});

/// The pass of a port with mistake "7" or "7.2", in float32 unless `exact`.  Throws Error with one sentence where the
/// model, the input or the mistake is refused; Cancelled, within a layer of DeBERTa or a stage of the port.
MadeMistake make_mistake(const MistakeQuery& query, const std::string& mistake, bool exact,
                         const CancelToken& stop = {});

/// "7.2" -> 7 and 2, "7" -> 7 and 0; nothing for anything else.
std::optional<std::pair<int, int>> parse_mistake(const std::string& text);

/// Words of the catalogue with a full stop and a large first letter, which a name or a symbol keeps as it is:
/// "the index is mirrored" -> "The index is mirrored.", "k_r and q_r are exchanged" -> "k_r and q_r are exchanged."
std::string as_sentence(const std::string& words);

/// A heading of the list, and the mistakes below it.
struct MistakeGroup {
    std::string title;
    std::vector<const MistakeEntry*> entries;
};
/// The entries whose number or words hold every word of `typed`, group by group; groups without any are left out.
/// Mistakes of other families than `family` come last, by family.
std::vector<MistakeGroup> mistake_groups(const std::vector<MistakeEntry>& entries, const std::string& family,
                                         const std::string& typed);

}  // namespace locus
