#pragma once
// The catalogue in words, as others read it: assets/mistakes.json and `locus check --catalogue`.
#include <string>

namespace locus::conformance {

/// One JSON object that core/io/mistake_list.h reads; ends with a newline.
std::string catalogue_json();
/// A line per mistake: number, name, lesson.
std::string catalogue_text();

}  // namespace locus::conformance
