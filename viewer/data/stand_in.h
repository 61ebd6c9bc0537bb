#pragma once
// A page shows models of one family.  Where the user opened a model of another one, a built-in model stands in for it,
// and the screen has to say so.
#include <array>
#include <optional>
#include <string>

#include "core/models/model.h"
#include "viewer/state/state.h"

namespace locus {

inline constexpr std::array kFamilies = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet};

/// As people write it: "DeBERTa".
const char* written_name(Family family);

/// Whose models a page shows; nothing for pages without a model.
std::optional<Family> family_of_page(const std::string& page);

/// A built-in model in the place of the one that the user opened.
struct StandIn {
    std::string page;      // as --page
    Family needed, found;  // what the page shows, and what the user's model is
    std::string opened;    // the user's model, the last part of its path
    std::string shown;     // the built-in one

    /// "This page needs DeBERTa; the opened my-model is XLNet:" and "the built-in tiny-v3 is shown instead".
    std::string reason() const;
    std::string result() const;
    /// Both in one line that also stands alone.
    std::string sentence() const;
};

/// Nothing where the page shows what the user opened, or where nothing was opened.
std::optional<StandIn> stand_in_of(const State& state);

}  // namespace locus
