// A mask that no mistake of the catalogue makes, read off the zeros of the stage.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "core/conformance/diagnosis/patterns.h"

namespace locus::conformance {

namespace {

/// Pairs of one kind: hidden that should be visible, or visible that should be hidden.
struct Pairs {
    std::vector<bool> chosen, possible;  // by flat index: pairs of that kind; those that could be
    Index count = 0, first = -1;

    void add(bool here, bool could_be) {
        if (here && first < 0) first = static_cast<Index>(chosen.size());
        count += here;
        chosen.push_back(here);
        possible.push_back(could_be);
    }
};

struct Masks {
    Pairs hidden, visible;
};

/// What is smaller becomes 0 in numbers like these, without a mask: halves end at 6e-8, normal ones at 6e-5.
double smallest_held(const Tensor<double>& values) {
    return narrowest_dtype(values) == "F16" ? 6.2e-5 : static_cast<double>(std::numeric_limits<float>::min());
}

/// Where the zeros of the two stages differ by more than what is allowed, or than what rounding to 0 explains.
Masks masks_of(const Compared& at) {
    const double least_found = smallest_held(at.found), least_right = smallest_held(at.right);
    Masks masks;
    for (Index n = 0; n < at.right.size(); ++n) {
        const bool hidden = at.found[n] == 0, should_be = at.right[n] == 0;
        masks.hidden.add(hidden && !should_be && (at.wrong(n) || std::abs(at.right[n]) > least_found), !should_be);
        masks.visible.add(!hidden && should_be && (at.wrong(n) || std::abs(at.found[n]) > least_right), should_be);
    }
    return masks;
}

/// Every row sums to 1 or holds nothing but zeros, as after a softmax; dropout makes zeros too.
bool are_probabilities(const Compared& at) {
    const Index keys = at.last();
    for (Index row = 0; row * keys < at.found.size(); ++row) {
        double sum = 0;
        for (Index j = 0; j < keys; ++j) {
            if (!(at.found[row * keys + j] >= 0)) return false;
            sum += at.found[row * keys + j];
        }
        if (sum != 0 && !(std::abs(sum - 1) <= static_cast<double>(keys) * at.allowed)) return false;
    }
    return true;
}

/// Pairs that both masks show are right; those of probabilities up to one factor for each row, its new sum.
bool others_are_right(const Compared& at, bool probabilities) {
    const Index keys = at.last();
    for (Index row = 0; row * keys < at.found.size(); ++row) {
        double dot = 0, square = 0;
        for (Index n = row * keys; n < (row + 1) * keys; ++n) {
            if (at.found[n] == 0) continue;
            dot += at.right[n] * at.found[n];
            square += at.right[n] * at.right[n];
        }
        const double factor = probabilities && square > 0 ? dot / square : 1;
        for (Index n = row * keys; n < (row + 1) * keys; ++n)
            if (at.found[n] != 0 && at.right[n] != 0 &&
                !(std::abs(at.found[n] - factor * at.right[n]) <= at.allowed * std::max(1.0, factor)))
                return false;
    }
    return true;
}

/// "36 pairs are hidden that should be visible (pairs with i < j)"; where they lie anywhere, the first.
std::string sentence_of(const Pairs& pairs, const std::string& words, const Compared& at, const ModelInput* input) {
    const auto all = std::count(pairs.possible.begin(), pairs.possible.end(), true);
    const std::string said = std::to_string(pairs.count) + (pairs.count == 1 ? " pair is " : " pairs are ") + words;
    if (pairs.count == static_cast<Index>(all)) return "all " + said;
    Tensor<double> none(at.right.shape()), chosen(at.right.shape());
    for (Index n = 0; n < chosen.size(); ++n) chosen[n] = pairs.chosen[static_cast<std::size_t>(n)];
    if (const auto cells = wrong_cells({none, chosen, 0.5, at.axes, at.memory, pairs.possible}, input))
        return said + " (" + cells->what + cells->rest + ")";
    return said + (pairs.count == 1 ? ", " : ", the first ") + place(pairs.first, at.right.shape());
}

}  // namespace

std::optional<std::string> pattern_of_mask(const Compared& at, const std::string& stem, const ModelInput* input) {
    static const std::set<std::string> hold_zeros = {"probs", "weights", "bd"};
    if (!at.has_pairs() || !hold_zeros.contains(stem)) return std::nullopt;
    if (!std::all_of(at.found.values().begin(), at.found.values().end(), [](double v) { return std::isfinite(v); }))
        return std::nullopt;
    const bool probabilities = stem != "bd";
    if (probabilities && !are_probabilities(at)) return std::nullopt;
    const Masks masks = masks_of(at);
    const auto differs = [&](Index n) { return at.wrong(n) && (at.found[n] == 0) != (at.right[n] == 0); };
    bool any = false;
    for (Index n = 0; n < at.right.size() && !any; ++n) any = differs(n);
    if (!any) return std::nullopt;
    const bool others = others_are_right(at, probabilities);
    if (!probabilities && !others) return std::nullopt;  // zeros that come from a shift
    std::string sentence = "another mask: ";
    if (masks.hidden.count) sentence += sentence_of(masks.hidden, "hidden that should be visible", at, input);
    if (masks.hidden.count && masks.visible.count) sentence += ", and ";
    if (masks.visible.count) sentence += sentence_of(masks.visible, "visible that should be hidden", at, input);
    if (!others) return sentence + "; other values are wrong too";
    return sentence +
           (probabilities ? "; the others are right but for the sum of their row" : "; the others are right");
}

}  // namespace locus::conformance
