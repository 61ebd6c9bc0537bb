#pragma once
// A matrix on screen that can leave the program: its numbers, and what its rows and columns are.
#include <optional>
#include <string>
#include <vector>

#include "core/attention/softmax.h"
#include "core/trace.h"
#include "viewer/plots/colour_map.h"

namespace locus {

struct NamedMatrix {
    std::string id;                       // as in --region: "c2p"
    std::string title;                    // as on screen
    std::string part;                     // of the stage: "head 3"; empty: all of it
    Stage stage;                          // [rows, cols]; named as in a trace wherever it is a stage of one
    std::vector<std::string> rows, cols;  // labels; empty: counted from 0
    Mask visible;                         // [rows, cols] or empty
    MapKind map = MapKind::diverging;
    std::optional<ValueRange> range;  // none: symmetric about 0

    Index height() const { return stage.shape()[0]; }
    Index width() const { return stage.shape()[1]; }
};

/// A copy of the values under the name of a stage; axes, formula and source as the trace knows them.
NamedMatrix named_matrix(const std::string& id, const std::string& title, const std::string& stage,
                         const ConstView<float>& values, Scheme scheme = Scheme::disentangled);
NamedMatrix named_matrix(const std::string& id, const std::string& title, const std::string& stage,
                         const ConstView<double>& values, Scheme scheme = Scheme::disentangled);

/// One sample and head of a stage, under its own name, in its own type, bit for bit.
NamedMatrix named_slice(const std::string& id, const std::string& title, const Stage& stage, Index sample = 0,
                        Index head = 0);

/// The matrix that a --region names, by its id or by its stage; nullptr if there is none.
const NamedMatrix* find_matrix(const std::vector<NamedMatrix>& matrices, const std::string& name);

}  // namespace locus
