// What is drawn, and into what: textures, framebuffers, pictures read back.
#include <utility>

#include "core/check.h"
#include "viewer/export/picture_file.h"
#include "viewer/ui/window_parts.h"

namespace locus {

Texture::~Texture() {
    if (name_ != 0) glDeleteTextures(1, &name_);
}

Texture::Texture(Texture&& other) noexcept : name_(std::exchange(other.name_, 0)) {}

Texture& Texture::operator=(Texture&& other) noexcept {
    std::swap(name_, other.name_);
    return *this;
}

void Texture::upload(const Pixels& pixels) {
    if (name_ == 0) glGenTextures(1, &name_);
    glBindTexture(GL_TEXTURE_2D, name_);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, pixels.width, pixels.height, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                 pixels.rgba.data());
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
}

// ImTextureID is a pointer in older versions of Dear ImGui and an integer in newer ones: only this cast means both.
ImTextureID Texture::id() const { return (ImTextureID) static_cast<std::intptr_t>(name_); }

Window::Parts::Framebuffer Window::Parts::make_framebuffer(int width, int height) {
    Framebuffer made;
    glGenTextures(1, &made.colour);
    glBindTexture(GL_TEXTURE_2D, made.colour);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glGenFramebuffers(1, &made.name);
    glBindFramebuffer(GL_FRAMEBUFFER, made.name);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, made.colour, 0);
    if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
        throw Error(Fault::unreadable, "the graphics driver cannot draw a picture of " + std::to_string(width) + " x " +
                                           std::to_string(height) + " pixels");
    return made;
}

void Window::present(ImU32 background, const std::vector<FlatPanel>& panels) {
    ImGui::Render();
    if (parts_->frames++ % parts_->paint_every != 0) return;
    const std::optional<PictureSetup>& picture = parts_->picture;
    int& width = parts_->setup.width;
    int& height = parts_->setup.height;
    if (!parts_->off_screen()) glfwGetFramebufferSize(parts_->window, &width, &height);
    const bool transparent = picture && picture->transparent;
    const auto clear = [&](ImU32 rgba) {
        const ImVec4 colour = ImGui::ColorConvertU32ToFloat4(rgba);
        if (transparent)
            glClearColor(0, 0, 0, 0);
        else
            glClearColor(colour.x, colour.y, colour.z, 1);
        glClear(GL_COLOR_BUFFER_BIT);
    };
    const int pixels_high = picture ? picture->height : height;
    glViewport(0, 0, picture ? picture->width : width, pixels_high);
    clear(background);
    glEnable(GL_SCISSOR_TEST);
    const ImVec2 density = ImGui::GetIO().DisplayFramebufferScale;
    for (const FlatPanel& panel : panels) {
        const auto x0 = static_cast<int>(panel.min.x * density.x), x1 = static_cast<int>(panel.max.x * density.x);
        const auto y0 = static_cast<int>(panel.min.y * density.y), y1 = static_cast<int>(panel.max.y * density.y);
        glScissor(x0, pixels_high - y1, x1 - x0, y1 - y0);
        clear(panel.colour);
    }
    glDisable(GL_SCISSOR_TEST);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    if (parts_->off_screen())
        glFinish();
    else
        glfwSwapBuffers(parts_->window);
}

Pixels Window::Parts::pixels(int width, int height) const {
    Pixels read{width, height, {}};
    const std::size_t stride = static_cast<std::size_t>(width) * 4;
    std::vector<std::uint8_t> upside_down(stride * static_cast<std::size_t>(height));
    if (!off_screen()) glReadBuffer(GL_FRONT);
    glPixelStorei(GL_PACK_ALIGNMENT, 4);
    glReadPixels(0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, upside_down.data());
    for (int y = height - 1; y >= 0; --y) {
        const auto row = upside_down.begin() + static_cast<std::ptrdiff_t>(stride) * y;
        read.rgba.insert(read.rgba.end(), row, row + static_cast<std::ptrdiff_t>(stride));
    }
    return read;
}

Pixels Window::read_pixels() const {
    Pixels read = parts_->pixels(parts_->setup.width, parts_->setup.height);
    make_opaque(read);
    return read;
}

void Window::begin_picture(const PictureSetup& setup) {
    try {
        parts_->aside = Parts::make_framebuffer(setup.width, setup.height);
    } catch (const Error&) {
        glBindFramebuffer(GL_FRAMEBUFFER, parts_->headless.name);
        throw;
    }
    parts_->picture = setup;
}

Pixels Window::end_picture() {
    Pixels drawn = parts_->pixels(parts_->picture->width, parts_->picture->height);
    if (parts_->picture->transparent)
        divide_by_opacity(drawn);
    else
        make_opaque(drawn);
    glDeleteFramebuffers(1, &parts_->aside.name);
    glDeleteTextures(1, &parts_->aside.colour);
    parts_->aside = {};
    parts_->picture.reset();
    glBindFramebuffer(GL_FRAMEBUFFER, parts_->headless.name);
    return drawn;
}

void Window::resize(int width, int height) {
    if (!parts_->setup.headless) return glfwSetWindowSize(parts_->window, width, height);
    glDeleteFramebuffers(1, &parts_->headless.name);
    glDeleteTextures(1, &parts_->headless.colour);
    parts_->setup.width = width;
    parts_->setup.height = height;
    parts_->headless = Parts::make_framebuffer(width, height);
}

}  // namespace locus
