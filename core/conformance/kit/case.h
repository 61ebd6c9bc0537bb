#pragma once
// One case of the kit: what a port is given, and what it must compute from it.
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/conformance/diagnosis/evidence.h"
#include "core/models/model.h"
#include "core/trace.h"

namespace locus::conformance {

inline constexpr const char* kKitFormat = "locus-kit";
inline constexpr const char* kKitVersion = "1.0";

/// case.json, parsed.
struct KitCase {
    std::filesystem::path folder;
    std::string id, level, family, why, cut_from;  // cut_from: the whole case that this one is a part of; may be empty
    Dialect dialect = Dialect::official;           // of the code that was recorded
    double accuracy = 0;  // how far the reference itself may be from exact numbers, of max(1, max |reference|)
    nlohmann::ordered_json config;
    std::map<std::string, std::vector<std::string>> depends;  // by stage
    std::vector<std::string> stages;                          // in the order of a pass

    std::filesystem::path checkpoint;  // of a kit for one checkpoint: the folder of the model, in the kit or elsewhere

    /// The folder of the model: its own, else the checkpoint; need not exist.
    std::filesystem::path model() const { return checkpoint.empty() ? folder / "model" : checkpoint; }
    bool has_model() const { return std::filesystem::exists(model() / "config.json"); }
};

/// The text of a case.json; nobody looks at the files beside it, and `id` stays empty.  Throws Error(unreadable) that
/// names the file and the field.
KitCase parse_case(std::string_view text, const std::filesystem::path& file);

/// kit.json, parsed; every file it names was found unchanged.
struct Kit {
    std::filesystem::path folder;
    std::string version, hash;  // hash of kit.json
    std::vector<KitCase> cases;

    /// nullptr if there is none.
    const KitCase* find(const std::string& id) const;
};

/// Opens a kit and checks every hash.  Throws Error(unreadable) for a folder that is no kit and for a file that is
/// missing or changed, Error(unsupported) for a kit of another version; each sentence names the file.
Kit open_kit(const std::filesystem::path& folder);

/// What the reference of a case holds; F64 and I64.
Trace reference_of(const KitCase& one);
/// The stages that a case is given beside model inputs: those of L1 and L2.
Trace inputs_of(const KitCase& one);
/// Names of those that a port takes as they are; index tables and masks it makes by itself.
std::set<std::string> given_to(const KitCase& one);

/// The accuracy of the case that a reference.safetensors of a kit belongs to; 0 for any other file.  Throws
/// Error(unreadable) for a case.json beside it that is damaged.
double accuracy_beside(const std::filesystem::path& reference_file);

/// The family of a name as case.json spells it.  Throws Error(usage) listing what there is.
Family family_named(const std::string& name);
Scheme scheme_of(Family family);
/// Tokens and masks of an input file; empty if it has no tokens.
std::vector<ModelInput> segments_in(const std::filesystem::path& file);

// Everything that is known about a case beside what a port says of it.

/// The model, its inputs, and all recorded stages of the whole case after those of this one.
struct Background {
    Trace reference;
    std::shared_ptr<const ModelFolder> model;
    std::vector<ModelInput> segments;
};

/// `reference`: the stages of the case as `dialect` makes them; they come first.
Background background_of(const Kit& kit, const KitCase& one, const Trace& reference, Dialect dialect);

// What a case expects of a port that follows another dialect than the recorded code.

/// The recorded reference where the dialect is the recorded one or changes nothing; else what Locus computes in double
/// precision from the case's model and inputs.  A part of a case whose given stages the dialect changes stays as it is
/// recorded: what follows from them is the same in every dialect.
Trace reference_under(const Kit& kit, const KitCase& one, Dialect dialect);

}  // namespace locus::conformance
