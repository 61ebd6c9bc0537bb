#pragma once
// Everything the screen remembers, by name: what --set, scripts, undo and the settings file speak of.
#include <functional>
#include <string>
#include <vector>

#include "viewer/state/state.h"

namespace locus {

/// "rope.m": one value of State as text, there and back.
struct StateField {
    std::string name;
    std::function<std::string(const State&)> get;
    /// Throws Error(usage) that names the field, the value and what was expected.
    std::function<void(State&, const std::string&)> set;
};

/// All of them, in the order of State; whether the list of keys is open and the like are not among them.
const std::vector<StateField>& state_fields();

/// Throws Error(usage) for a name that no field has.
const StateField& state_field(const std::string& name);

/// "rope.m=7".  Throws as StateField::set, and where there is no "=".
void set_field(State& state, const std::string& name_and_value);

/// name=value of every field in which `state` differs from `other`.
std::vector<std::string> changed_fields(const State& state, const State& other = {});

}  // namespace locus
