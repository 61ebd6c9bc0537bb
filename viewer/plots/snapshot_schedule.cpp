#include "viewer/plots/snapshot_schedule.h"

#include <algorithm>
#include <cmath>

namespace locus {

bool SnapshotSchedule::due(Index step, double share) {
    // Sixteenths of whole numbers of steps are exact up to rounding.
    const int ended = static_cast<int>(std::floor(std::clamp(share, 0.0, 1.0) * kParts + 1e-9));
    const bool part_ends = ended > parts_;
    parts_ = std::max(parts_, ended);
    const bool doubles = step >= 0 && (step & (step - 1)) == 0;  // 0, 1, 2, 4, ...
    return part_ends || (doubles && ended == 0);
}

}  // namespace locus
