#pragma once
// A script: what a user does in the viewer and what must be seen then, as a JSON file.
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "viewer/plots/matrix_view.h"
#include "viewer/ui/key_press.h"

namespace locus {

/// Where the pointer goes.
struct CellPlace {
    std::string matrix;
    Cell cell;
};
struct ItemPlace {
    std::string item;
    double x = 0.5, y = 0.5;  // shares of its width and height
};
struct TextPlace {
    std::string text;
};
struct PointPlace {
    double x = 0, y = 0;  // window units
};
struct Nowhere {};
using Place = std::variant<Nowhere, CellPlace, ItemPlace, TextPlace, PointPlace>;

struct SetAction {
    std::string name_and_value;  // as of --set
};
struct HoverAction {
    Place at;
};
/// With the left button unless `right`; held meanwhile: ctrl, shift.
struct ClickAction {
    Place at;
    bool right = false, twice = false, ctrl = false, shift = false;
};
struct DragAction {
    Place from, to;
    bool right = false, ctrl = false, shift = false;
};
struct WheelAction {
    Place at;
    double steps = 0;  // positive: away from the hand
};
struct KeyAction {
    KeyPress key;
};
struct TypeAction {
    std::string text;
};
struct WaitAction {
    std::optional<double> seconds;  // nothing: until all is answered and still
};
struct DropAction {
    std::string path;  // of a file or a folder that lands on the window
};
struct ResizeAction {
    int width = 0, height = 0;
};
struct ScreenshotAction {
    std::filesystem::path file;
};
struct PrintAction {
    std::string what;  // values, fields, texts, items, matrices or faults
};
struct FieldAssertion {
    std::string name, is;
};
struct TextAssertion {
    std::string text;
    bool absent = false;
};
struct ValueAssertion {
    std::string name;
    double is = 0, within = 0;
};
/// Nothing is cut off, nothing overlaps, every place that reacts to the mouse can be reached.
struct LayoutAssertion {};

using Action = std::variant<SetAction, HoverAction, ClickAction, DragAction, WheelAction, KeyAction, TypeAction,
                            WaitAction, DropAction, ResizeAction, ScreenshotAction, PrintAction, FieldAssertion,
                            TextAssertion, ValueAssertion, LayoutAssertion>;

struct Script {
    std::string file;                        // as messages name it
    std::optional<std::string> size, model;  // as --size and the model of the command line
    std::optional<double> scale;
    std::vector<Action> actions;
};

/// Throws Error(unreadable) where the file is no JSON object, and Error(usage) that names the file, the number of the
/// action (from 1), the field and what was expected.
Script read_script(const std::filesystem::path& file);
Script parse_script(std::string_view text, const std::string& file);

}  // namespace locus
