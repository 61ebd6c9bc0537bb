#include "viewer/fonts.h"

#include <imgui_freetype.h>

#include <cmath>

#include "core/check.h"
#include "viewer/utf8.h"

namespace locus {

namespace {

std::unique_ptr<MappedFile> first_of(std::initializer_list<const char*> paths) {
    for (const char* path : paths) {
        std::error_code error;
        if (!std::filesystem::is_regular_file(path, error)) continue;
        try {
            return std::make_unique<MappedFile>(path);
        } catch (const Error&) {  // not readable: the next one
        }
    }
    return nullptr;
}

}  // namespace

Fonts::Fonts() {
    inter_.bytes = first_of({"/usr/share/fonts/opentype/inter/Inter-Regular.otf",
                             "/usr/share/fonts/truetype/inter/Inter-Regular.ttf",
                             "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"});
    semibold_.bytes = first_of({"/usr/share/fonts/opentype/inter/Inter-SemiBold.otf",
                                "/usr/share/fonts/truetype/inter/Inter-SemiBold.ttf",
                                "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf"});
    mono_.bytes = first_of({"/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-Regular.ttf",
                            "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"});
    mono_strong_.bytes = first_of({"/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-SemiBold.ttf",
                                   "/usr/share/fonts/truetype/dejavu/DejaVuSansMono-Bold.ttf"});
    cjk_.bytes = first_of({"/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
                           "/usr/share/fonts/noto-cjk/NotoSansCJK-Regular.ttc"});
    mono_.ascent = mono_strong_.ascent = 1.02f;
    mono_.line = mono_strong_.line = 1.32f;
    cjk_.ascent = 1.16f;
    cjk_.line = 1.448f;
    cjk_.number = 1;  // the collection starts with the Japanese face, the Korean one is second
    for (ImWchar c = 0x20; c < 0x7f; ++c) characters_.insert(c);
    for (ImWchar c = 0xa0; c < 0x100; ++c) characters_.insert(c);
    characters_.insert(0xfffd);
    fonts_.resize(static_cast<std::size_t>(Face::count));
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

float Fonts::size(Face face) const { return kFaces[static_cast<std::size_t>(face)].em * file_of(face).line * scale_; }

float Fonts::ascent(Face face) const {
    return std::ceil(kFaces[static_cast<std::size_t>(face)].em * file_of(face).ascent * scale_);
}

float Fonts::cap_height(Face face) const { return kFaces[static_cast<std::size_t>(face)].em * 0.727f * scale_; }

}  // namespace locus
