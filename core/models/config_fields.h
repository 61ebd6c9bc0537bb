#pragma once
// The fields of a config.json, each refused by name when it is wrong.
#include <string>
#include <vector>

#include "core/json_text.h"
#include "core/models/activation.h"

namespace locus {

class ConfigFields : public JsonFields {
public:
    /// The names of all tensors of all layers are made before the first is looked for.
    static constexpr Index kMostLayers = 10'000;

    /// Parses the text of a config.json; `location` is the file's name, for messages.
    /// Throws Error(unreadable) if it is not one JSON object.
    ConfigFields(const std::string& text, const std::string& location) : JsonFields(parse(text, location)) {}

    /// The first of these names that is there, else the first: what one model calls d_model others call hidden_size,
    /// and transformers reads both.
    std::string either(const std::string& name, const std::string& other) const {
        return !has(name) && has(other) ? other : name;
    }

    /// "has no mem_len, and 0 is taken: transformers would take 1600", added to `said` where the field is not there at
    /// all; null is a value of its own.
    void note_absent(const std::string& name, const std::string& taken, const std::string& elsewhere,
                     std::vector<std::string>& said) const {
        if (has(name) || is_null(name)) return;
        said.push_back("config.json has no " + name + ", and " + taken + " is taken: transformers would take " +
                       elsewhere);
    }

    /// Throws Error(unsupported) for a name that Locus does not know.
    Activation activation(const std::string& name, const std::string& fallback) const {
        Activation activation;
        if (parse_activation(text(name, fallback), activation)) return activation;
        throw_unreadable(name, kActivationNames, Fault::unsupported);
    }
};

}  // namespace locus
