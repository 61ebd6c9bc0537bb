#pragma once
// locus kit mistake: what a port with a mistake of the catalogue would dump, and which mistakes a model can show.
#include <string>

#include "core/io/model_request.h"

namespace locus::conformance {

struct MistakeRequest {
    ModelRequest input;
    std::string mistake;  // "7" or "7.2"; empty: list them
    std::string stages, precision = "f32", dialect = "reference", out;
    bool list = false, json = false;
};

/// Makes the pass of a port with the mistake and writes it, if it is asked to; returns what is to be printed.
/// Throws what prepare_input, Model::forward and chosen_way throw, Error(unreadable) for a file that cannot be written.
std::string run_mistake(const MistakeRequest& request);

}  // namespace locus::conformance
