#pragma once
// The only door to GLFW and OpenGL.
#include <imgui.h>

#include <cstdint>
#include <string>
#include <vector>

#include "viewer/plots/colour_map.h"

struct GLFWwindow;

namespace locus::view {

/// A picture of 8-bit pixels, top row first.
struct Picture {
    int width = 0, height = 0;
    std::vector<Rgba> pixels;
};

/// One window with an OpenGL 3.3 context and an ImGui context.
class Window {
public:
    /// Throws Error(unreadable) in one sentence if there is no display or no OpenGL 3.3.
    Window(int width, int height, bool visible);
    ~Window();
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    bool should_close() const;
    void close();
    /// Pixels per unit of 1/96 inch, as the screen says.
    float content_scale() const;
    /// Sleeps until there is input, wake() is called, or the time is over; 0 returns at once.
    void wait_events(double seconds);
    /// Ends wait_events from any thread.
    static void wake();
    void begin_frame();
    /// Draws the frame; `copy`, if given, receives its pixels.
    void end_frame(ImU32 background, Picture* copy = nullptr);
    /// Uploads the font atlas anew.
    void fonts_changed();
    /// Paths dropped on the window since the last call.
    std::vector<std::string> take_dropped();
    double seconds() const;

private:
    Picture read_back() const;

    GLFWwindow* window_ = nullptr;
    std::vector<std::string> dropped_;
};

/// A texture with sharp cell edges; freed with its owner, which must not outlive the window.
class Texture {
public:
    Texture() = default;
    Texture(int width, int height, const std::vector<Rgba>& pixels);
    ~Texture();
    Texture(Texture&& other) noexcept;
    Texture& operator=(Texture&& other) noexcept;

    ImTextureID id() const;
    explicit operator bool() const { return name_ != 0; }

private:
    unsigned name_ = 0;
};

/// Writes a PNG, whole or not at all.  Throws Error(unreadable) that names the file.
void write_png(const std::string& file, const Picture& picture);

}  // namespace locus::view
