#pragma once
// The typefaces by their role, with the sizes that the screen and a vector figure share, and the atlas they are drawn
// from: characters are added to it when they are first shown.
#include <imgui.h>
#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/input_file.h"

namespace locus {

/// A role on screen; sizes are em heights in design pixels.
enum class Face {
    ui,           // Inter 14
    title,        // Inter semibold 13
    brand,        // Inter semibold 16
    label,        // Inter 12: row labels
    tiny,         // Inter 10.5: subscripts of ui
    mono,         // JetBrains Mono 12.5: every number
    mono_strong,  // the same, semibold: a result
    mono_small,   // JetBrains Mono 11: subtitles, legends, axes
    mono_tiny,    // JetBrains Mono 10: subscripts of formula
    formula,      // JetBrains Mono 14
    count
};

struct FaceSize {
    char family;  // i Inter, s semibold, m mono, b mono semibold
    float em;
};

inline constexpr std::array<FaceSize, static_cast<std::size_t>(Face::count)> kFaces = {{{'i', 14},
                                                                                        {'s', 13},
                                                                                        {'s', 16},
                                                                                        {'i', 12},
                                                                                        {'i', 10.5f},
                                                                                        {'m', 12.5f},
                                                                                        {'b', 12.5f},
                                                                                        {'m', 11},
                                                                                        {'m', 10},
                                                                                        {'m', 14}}};

class Fonts {
public:
    /// Looks for Inter, JetBrains Mono and Noto Sans CJK where systems keep fonts; a missing one is replaced by another
    /// of them, in the end by the font inside Dear ImGui.
    Fonts();

    /// Looks once more for what was missing; a font that is there now is used after the next update().
    void find_files();
    /// Makes sure that every character of a UTF-8 text is there after the next update().
    void require(std::string_view text);
    /// Rebuilds the atlas if characters are missing or the scale changed; true if it did.  Not during a frame.
    bool update(float scale);

    /// True if update() would rebuild for missing characters.
    bool stale() const { return stale_; }

    /// Width of a line, in window units.  A character that no font has is as wide as its box.
    float width(Face face, std::string_view text) const;
    /// One line from its upper left corner.  A character that no font has, or that has no shape, is a small box with
    /// its number; letters of a right-to-left script are in visual order.
    void draw(ImDrawList& list, Face face, ImVec2 at, ImU32 colour, std::string_view text) const;

    ImFont* font(Face face) const { return fonts_[static_cast<std::size_t>(face)]; }
    /// Height that Dear ImGui calls the size of the font, in window units.
    float size(Face face) const;
    /// From the top of a line to its baseline, in window units.
    float ascent(Face face) const;
    /// Height of a capital letter, in window units.
    float cap_height(Face face) const;

private:
    struct File {
        std::unique_ptr<MappedFile> bytes;
        int number = 0;        // of the face inside a collection
        float ascent = 0.97f;  // per em
        float line = 1.21f;    // ascent + descent per em: what Dear ImGui scales to the size
        bool missing() const { return !bytes; }
    };
    void add(ImFontAtlas& atlas, const File& file, float em, bool merge);
    const File& file_of(Face face) const;
    bool has(Face face, char32_t character) const;
    bool has_all(Face face, std::string_view text) const;
    float box_width(Face face, char32_t character) const;
    void draw_box(ImDrawList& list, Face face, ImVec2 at, ImU32 colour, char32_t character) const;
    /// What can be drawn as it is goes to `plain`, characters without a glyph to `box`.
    template <class Plain, class Boxed>
    void split(Face face, std::string_view text, Plain plain, Boxed box) const;

    File inter_, semibold_, mono_, mono_strong_, cjk_, others_;
    std::set<ImWchar> characters_;
    ImVector<ImWchar> ranges_;
    std::vector<ImFont*> fonts_;
    float scale_ = 0;
    bool stale_ = true;
};

}  // namespace locus
