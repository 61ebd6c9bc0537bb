#pragma once
// A port that makes one mistake of the catalogue: what each mistake changes first with a model and an input, and the
// whole pass of such a port.  `locus kit mistake` prints it, the viewer's Compare page shows it.
#include <string>
#include <vector>

#include "core/conformance/diagnosis/mistaken_pass.h"
#include "core/conformance/kit/mistake_effect.h"
#include "core/io/model_request.h"

namespace locus::conformance {

/// The right pass of what was asked for: the model opened, text or tokens made into its input.
/// Throws what prepare_input and Model::forward throw; Cancelled.
RightPass right_pass_of(const ModelRequest& request, Dialect dialect, const CancelToken& stop = {});

/// What every mistake of the pass's family does, in the order of their numbers.  Throws Cancelled, asked before every
/// stage.
std::vector<MistakeEffect> mistake_effects(const RightPass& right, const CancelToken& stop = {});

/// The pass of a port that makes the mistake.
struct MistakenPort {
    int number = 0, way = 0;  // way from 1
    std::string name, how;
    MistakenPass pass;
};
/// Throws what chosen_way throws; Cancelled, asked before every stage.
MistakenPort make_mistake(const RightPass& right, const MistakeChoice& choice, const CancelToken& stop = {});

/// The stages that a filter keeps, numbers in float32 unless `exact`.
Trace as_dumped(const Trace& pass, bool exact, const StageFilter& wanted = {});

/// What `locus kit mistake` was asked for.
struct MistakeRequest {
    ModelRequest input;
    std::string mistake;  // "7" or "7.2"; empty: list them
    std::string stages, precision = "f32", dialect = "reference", out;
    bool list = false, json = false;
};

/// Lists the mistakes, or makes one and writes its pass where a file is named; returns what is to be printed.
/// Throws Error(usage) for options that do not go together, Error(unreadable) for a file that cannot be written, and
/// what right_pass_of and make_mistake throw.
std::string run_mistake(const MistakeRequest& request);

}  // namespace locus::conformance
