#include "viewer/ui/fonts.h"

#include <imgui_freetype.h>

#include <cmath>

#include "core/check.h"
#include "viewer/ui/characters.h"

namespace locus {

namespace {

/// A font file, and which face of it.
struct Candidate {
    const char* path;
    int number = 0;
};

/// nullptr where there is none that can be read.
std::unique_ptr<MappedFile> opened(const char* path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return nullptr;
    try {
        return std::make_unique<MappedFile>(path);
    } catch (const Error&) {
        return nullptr;
    }
}

}  // namespace

Fonts::Fonts() {
    find_files();
    others_.ascent = 0.93f;
    others_.line = 1.164f;
    mono_.ascent = mono_strong_.ascent = 1.02f;
    mono_.line = mono_strong_.line = 1.32f;
    cjk_.ascent = 1.16f;
    cjk_.line = 1.448f;
    for (ImWchar c = 0x20; c < 0x7f; ++c) characters_.insert(c);
    for (ImWchar c = 0xa0; c < 0x100; ++c) characters_.insert(c);
    characters_.insert(0xfffd);
    fonts_.resize(static_cast<std::size_t>(Face::count));
}

void Fonts::find_files() {
    // The first that is there, unless it is in use already: a better one may have arrived since.
    const auto find = [this](File& file, std::initializer_list<Candidate> candidates) {
        for (const Candidate& one : candidates) {
            if (file.bytes && file.bytes->path() == one.path) return;
            std::unique_ptr<MappedFile> bytes = opened(one.path);
            if (!bytes) continue;
            file.bytes = std::move(bytes);
            file.number = one.number;
            stale_ = true;
            return;
        }
    };
    find(inter_, {{"/usr/share/fonts/opentype/inter/Inter-Regular.otf"},
                  {"/usr/share/fonts/truetype/inter/Inter-Regular.ttf"},
                  {"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"}});
    find(semibold_, {{"/usr/share/fonts/opentype/inter/Inter-SemiBold.otf"},
                     {"/usr/share/fonts/truetype/inter/Inter-SemiBold.ttf"},
                     {"/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf"}});
    find(mono_, {{"/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-Regular.ttf"},
                 {"/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"}});
    find(mono_strong_, {{"/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-SemiBold.ttf"},
                        {"/usr/share/fonts/truetype/dejavu/DejaVuSansMono-Bold.ttf"}});
    // The collection starts with the Japanese face, the Korean one is second; the last two are of a browser, where
    // signs come before letters.
    find(cjk_, {{"/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc", 1},
                {"/usr/share/fonts/noto-cjk/NotoSansCJK-Regular.ttc", 1},
                {"/usr/share/fonts/opentype/noto/NotoSansCJKkr-Regular.otf"},
                {"/usr/share/fonts/opentype/noto/NotoSansCJKkr-Signs.otf"}});
    // Hebrew, Arabic, Georgian, Armenian and many signs; Arabic letters are drawn in their separate forms.
    find(others_, {{"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"},
                   {"/usr/share/fonts/dejavu/DejaVuSans.ttf"},
                   {"/usr/share/fonts/TTF/DejaVuSans.ttf"}});
}

void Fonts::require(std::string_view text) {
    while (!text.empty()) {
        const char32_t character = take_character(text);
        if (character < 0x80 || character > 0xffff) continue;
        if (characters_.insert(static_cast<ImWchar>(character)).second) stale_ = true;
    }
}

void Fonts::add(ImFontAtlas& atlas, const File& file, float em, bool merge) {
    ImFontConfig config;
    config.MergeMode = merge;
    if (file.missing()) {
        if (merge) return;
        config.SizePixels = std::round(em * scale_);
        atlas.AddFontDefault(&config);
        return;
    }
    config.FontDataOwnedByAtlas = false;
    config.FontNo = file.number;
    config.OversampleH = config.OversampleV = 1;
    // The atlas only reads the bytes, but takes them without const.
    atlas.AddFontFromMemoryTTF(const_cast<std::byte*>(file.bytes->data()), static_cast<int>(file.bytes->size()),
                               em * file.line * scale_, &config, ranges_.Data);
}

bool Fonts::update(float scale) {
    if (!stale_ && scale == scale_) return false;
    scale_ = scale;
    stale_ = false;
    ranges_.clear();
    for (auto at = characters_.begin(); at != characters_.end();) {
        const ImWchar first = *at;
        ImWchar last = first;
        while (++at != characters_.end() && *at == last + 1) last = *at;
        ranges_.push_back(first);
        ranges_.push_back(last);
    }
    ranges_.push_back(0);
    ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
    atlas.Clear();
#if IMGUI_VERSION_NUM < 19200
    atlas.FontBuilderIO = ImGuiFreeType::GetBuilderForFreeType();
    atlas.FontBuilderFlags = ImGuiFreeTypeBuilderFlags_LightHinting;
#endif
    for (std::size_t face = 0; face < fonts_.size(); ++face) {
        const float em = kFaces[face].em;
        const File& first = file_of(static_cast<Face>(face));
        add(atlas, first.missing() ? inter_ : first, em, false);
        fonts_[face] = atlas.Fonts.back();
        add(atlas, inter_, em, true);
        add(atlas, cjk_, em, true);
        add(atlas, others_, em, true);
    }
    ImGui::GetIO().FontDefault = fonts_[static_cast<std::size_t>(Face::ui)];
    atlas.Build();
    return true;
}

const Fonts::File& Fonts::file_of(Face face) const {
    switch (kFaces[static_cast<std::size_t>(face)].family) {
        case 'm':
            return mono_;
        case 'b':
            return mono_strong_;
        case 's':
            return semibold_;
        default:
            return inter_;
    }
}

bool Fonts::has(Face face, char32_t character) const {
    if (has_no_shape(character)) return false;
    return character <= 0xffff && font(face)->FindGlyphNoFallback(static_cast<ImWchar>(character));
}

bool Fonts::has_all(Face face, std::string_view text) const {
    while (!text.empty()) {
        const char32_t character = take_character(text);
        if (!has(face, character) || runs_left(character)) return false;
    }
    return true;
}

template <class Plain, class Boxed>
void Fonts::split(Face face, std::string_view text, Plain plain, Boxed box) const {
    if (has_all(face, text)) return plain(text);
    const std::string drawn = visual_order(text);
    std::string_view rest = drawn, whole = drawn;
    std::size_t from = 0;
    while (!rest.empty()) {
        const std::size_t at = drawn.size() - rest.size();
        const char32_t character = take_character(rest);
        if (has(face, character)) continue;
        if (at > from) plain(whole.substr(from, at - from));
        box(character);
        from = drawn.size() - rest.size();
    }
    if (from < drawn.size()) plain(whole.substr(from));
}

float Fonts::width(Face face, std::string_view text) const {
    float width = 0;
    split(
        face, text,
        [&](std::string_view part) {
            width += font(face)->CalcTextSizeA(size(face), 1e9f, 0, part.data(), part.data() + part.size()).x;
        },
        [&](char32_t character) { width += box_width(face, character); });
    return width;
}

void Fonts::draw(ImDrawList& list, Face face, ImVec2 at, ImU32 colour, std::string_view text) const {
    split(
        face, text,
        [&](std::string_view part) {
            list.AddText(font(face), size(face), at, colour, part.data(), part.data() + part.size());
            at.x += font(face)->CalcTextSizeA(size(face), 1e9f, 0, part.data(), part.data() + part.size()).x;
        },
        [&](char32_t character) {
            draw_box(list, face, at, colour, character);
            at.x += box_width(face, character);
        });
}

float Fonts::box_width(Face face, char32_t character) const {
    // Two rows of digits, each a little smaller than the letters around.
    const float columns = hex_of(character).size() > 4 ? 3 : 2;
    return std::ceil(kFaces[static_cast<std::size_t>(face)].em * scale_ * (0.43f * columns + 0.34f));
}

void Fonts::draw_box(ImDrawList& list, Face face, ImVec2 at, ImU32 colour, char32_t character) const {
    const float em = kFaces[static_cast<std::size_t>(face)].em * scale_;
    const float baseline = at.y + ascent(face), wide = box_width(face, character);
    const float left = std::floor(at.x + 0.06f * em), right = std::floor(at.x + wide - 0.06f * em);
    const float top = std::floor(baseline - 1.02f * em), bottom = std::floor(baseline + 0.28f * em);
    const ImU32 pale = (colour & ~IM_COL32_A_MASK) | (colour >> IM_COL32_A_SHIFT) * 6 / 10 << IM_COL32_A_SHIFT;
    list.AddRect({left + 0.5f, top + 0.5f}, {right - 0.5f, bottom - 0.5f}, pale, 0, 0, 1);
    const std::string digits = hex_of(character);
    const std::size_t columns = digits.size() > 4 ? 3 : 2;
    const std::string padded = std::string(2 * columns - std::min(digits.size(), 2 * columns), '0') + digits;
    // Ten design pixels in text of fourteen: there the digits are drawn as they were made.
    constexpr float kUiEm = kFaces[static_cast<std::size_t>(Face::ui)].em;
    ImFont* small = font(Face::mono_tiny);
    const float high = size(Face::mono_tiny) * kFaces[static_cast<std::size_t>(face)].em / kUiEm;
    const float advance = (right - left - 0.16f * em) / static_cast<float>(columns);
    for (std::size_t n = 0; n < padded.size(); ++n) {
        const ImVec2 extent = small->CalcTextSizeA(high, 1e9f, 0, &padded[n], &padded[n] + 1);
        const float x = left + 0.08f * em + advance * (static_cast<float>(n % columns) + 0.5f) - extent.x / 2;
        const float middle = top + (bottom - top) * (n / columns == 0 ? 0.28f : 0.72f);
        list.AddText(small, high, {std::floor(x + 0.5f), std::floor(middle - extent.y / 2 + 0.5f)}, colour, &padded[n],
                     &padded[n] + 1);
    }
}

float Fonts::size(Face face) const { return kFaces[static_cast<std::size_t>(face)].em * file_of(face).line * scale_; }

float Fonts::ascent(Face face) const {
    return std::ceil(kFaces[static_cast<std::size_t>(face)].em * file_of(face).ascent * scale_);
}

float Fonts::cap_height(Face face) const { return kFaces[static_cast<std::size_t>(face)].em * 0.727f * scale_; }

}  // namespace locus
