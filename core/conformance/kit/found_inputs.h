#pragma once
// What a recorded pass was given, where nobody said it: in the traces themselves, or beside the reference.
#include <optional>
#include <string>
#include <vector>

#include "core/conformance/diagnosis/evidence.h"

namespace locus::conformance {

struct FoundInputs {
    std::vector<ModelInput> segments;  // empty: none was found that fits
    std::string where;                 // "inputs.safetensors beside the reference"
    std::string not_used;  // what was found and belongs to another pass, or cannot be read, one clause; mostly empty
};

/// The dialect that a trace file names in its metadata; that of Locus where it names none that is known.
Dialect dialect_said(const std::string& file);

/// Looks, in this order, at "inputs" in the metadata of the reference and of the candidate, at inputs.safetensors
/// beside the reference, and at "tokens" in either metadata.  What is found is used only if the reference agrees: its
/// embeddings and the zeros of its probabilities must be those of these tokens and masks.  Never throws for what is
/// found, which nobody asked for.
/// `dialect` as contradiction() has it.
FoundInputs find_inputs(const std::string& reference_file, const std::string& candidate_file,
                        const TraceView& reference, const std::shared_ptr<const ModelFolder>& model, Dialect& dialect);

/// True if find_inputs() has something to look at, whether it fits or not: what a check without a model need not ask
/// for.
bool says_inputs(const std::string& reference_file, const std::string& candidate_file, const TraceView& reference);

/// The family whose own stages the reference holds; nothing where those that it holds are of several.
std::optional<Family> family_shown(const TraceView& reference);

/// One clause on a stage of the reference that a model of this family does not have; empty where there is none.
std::string other_family(const TraceView& reference, const ModelFolder& model);

/// One clause on how the reference contradicts these inputs; empty where it does not.  `dialect`: what the reference is
/// thought to follow; where it agrees by another one alone, that one is put there.
std::string contradiction(const TraceView& reference, const std::shared_ptr<const ModelFolder>& model,
                          const std::vector<ModelInput>& segments, Dialect& dialect);

}  // namespace locus::conformance
