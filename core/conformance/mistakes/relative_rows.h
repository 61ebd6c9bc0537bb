#pragma once
// Other rows of relative positions than the right ones, of Transformer-XL and XLNet: what several mistakes put in the
// place of positions.r.
#include <functional>
#include <vector>

#include "core/conformance/mistakes/catalogue.h"

namespace locus::conformance {

/// The distances of the rows as they are before clamp_len cuts them; clamp: 0 where nothing does.  reversed: of text
/// that is read backwards (bi_data), every sign changed.
struct RelativeDistances {
    std::vector<double> distances;
    double clamp = 0;
    bool reversed = false;

    /// Each cut to least ... most, where there is a clamp.
    std::vector<double> cut(double least, double most) const;
    std::vector<double> cut() const { return cut(-clamp, clamp); }
};

/// positions.r and positions.r_backward [R,D], of distances and the width D.
std::vector<Formula> relative_rows_by(std::function<Matrix<double>(const RelativeDistances&, Index width)> rows);

/// The same as [sin | cos] of these distances times these frequencies, D/2 of them for the width D.
std::vector<Formula> relative_rows_with(std::function<std::vector<double>(Index width)> frequencies);

/// The same by frequencies that depend on the candidate.
std::vector<Formula> relative_rows_with(std::function<std::vector<double>(const Replay& at, Index width)> frequencies);
/// theta_t of the candidate's own positions.r, [D/2], read off a row of distance 1 or -1.  Throws NotEnough.
std::vector<double> frequencies_found(const Replay& at);

/// Ways of mistake 65: i - j with the other sign, and clamp_len misread.
std::vector<Variant> other_signs_and_clamps();
/// A way of mistake 65: distances that begin elsewhere, where the candidate's own rows show it.
Variant other_beginning();

}  // namespace locus::conformance
