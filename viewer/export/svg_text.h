#pragma once
// Small pieces of SVG: numbers, colours, words, bytes.
#include <imgui.h>

#include <string>

namespace locus {

/// Two decimals at most, no zeros at the end: "12.5", "3".
std::string svg_number(double value);
/// ` fill="#4f8ff7" fill-opacity="0.35"`; `role` is fill or stroke.
std::string svg_colour(const char* role, ImU32 colour);
/// ` name="12.5"`
std::string svg_attribute(const char* name, double value);
std::string base64(const std::string& bytes);

}  // namespace locus
