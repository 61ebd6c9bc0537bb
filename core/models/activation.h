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

/// What config.json may say, for messages.
inline constexpr const char* kActivationNames = "gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, relu or tanh";

/// gelu, gelu_python; gelu_new, gelu_fast, gelu_pytorch_tanh, gelu_python_tanh, gelu_accurate; relu; tanh.  Returns
/// false for any other name.
bool parse_activation(const std::string& name, Activation& activation);
/// A name that parse_activation reads.
const char* to_string(Activation activation);

}  // namespace locus
