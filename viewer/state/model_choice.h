#pragma once
// Which model and which sentence the page of a family shows; the defaults make its point without a click.
#include <string>

namespace locus {

/// A model folder or a built-in name, and a text of its own or the ids of its tokens.
struct ModelChoice {
    std::string model;
    std::string text;
    std::string tokens, mask;  // "1,2,3" and "1,1,0"; they win over the text when not empty

    bool operator==(const ModelChoice&) const = default;
};

/// One choice per family that is not DeBERTa.
struct ModelChoices {
    ModelChoice roformer{"tiny-roformer", "a new [MASK] opened beside the new [MASK].", "", ""};
    ModelChoice transformer_xl{
        "tiny-txl",
        "tom went to the bakery with a letter . lucy was at the museum . at the bakery , tom bought some cheese "
        ". the cheese was for lucy . then tom left the bakery and carried the cheese home . lucy asked tom about the "
        "letter .",
        "", ""};
    ModelChoice xlnet{"tiny-xlnet", "the capital of france is paris.", "", ""};
};

}  // namespace locus
