#pragma once
// When a training is photographed: often at first, where everything changes, then evenly.
#include "core/tensor.h"

namespace locus {

/// Snapshots at steps 0, 1, 2, 4, 8, ... during the first sixteenth of a run, then one as each further sixteenth ends.
class SnapshotSchedule {
public:
    static constexpr int kParts = 16;

    /// Once per step, in order.  share: how much of the run is done, 0 ... 1, by steps or by time.
    bool due(Index step, double share);

private:
    int parts_ = 0;  // that have ended
};

}  // namespace locus
