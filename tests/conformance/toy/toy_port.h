#pragma once
// Toy ports: every family once more, in plain loops, as a porter would write it; and the mistakes they make.
// Nothing of core's attention is used here: weights come through core/io, switches through core's parsers.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/models/model.h"
#include "core/trace.h"

namespace locus::conformance::toy {

/// A mistake of the catalogue, made on purpose.  0: none.
struct Injection {
    int mistake = 0;
    int variant = 0;
    std::vector<std::pair<int, int>> more = {};  // further mistakes of the same port
    bool is(int number) const {
        return mistake == number ||
               std::any_of(more.begin(), more.end(), [&](const auto& each) { return each.first == number; });
    }
    bool is(int number, int which) const {
        return (mistake == number && variant == which) ||
               std::find(more.begin(), more.end(), std::pair(number, which)) != more.end();
    }
};

/// How a dot product adds up; all of these are right.
enum class Summation { forward, reversed, pairwise, fma };

struct ToyOptions {
    bool hugging_face = false;  // uniform rows where nothing is visible, no clamp before the buckets, no mask decoder
    Injection injected;
    Summation summation = Summation::forward;
};

/// Runs the port of the family that the folder's configuration names, all segments, and returns every stage.
/// Throws what open_checkpoint and the parsers throw.
template <class Scalar>
Trace run_toy(const std::string& model_folder, const std::vector<ModelInput>& segments, const ToyOptions& options);

extern template Trace run_toy<float>(const std::string&, const std::vector<ModelInput>&, const ToyOptions&);
extern template Trace run_toy<double>(const std::string&, const std::vector<ModelInput>&, const ToyOptions&);

}  // namespace locus::conformance::toy
