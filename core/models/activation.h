#pragma once
// Activation functions by the names of config.json.
#include <string>

namespace locus {

enum class Activation {
    gelu,       // x Phi(x), exact: DeBERTa of all versions
    gelu_tanh,  // 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    relu,
    tanh,
};

/// gelu, gelu_python; gelu_new, gelu_fast, gelu_pytorch_tanh; relu; tanh.  Returns false for any other name.
bool parse_activation(const std::string& name, Activation& activation);

}  // namespace locus
