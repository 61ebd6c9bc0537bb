#pragma once
// The seam of the platform: a window or a picture, keys, textures.  Nothing else in Locus includes GLFW or OpenGL.
#include <imgui.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "viewer/plots/colour_map.h"
#include "viewer/state/settings.h"
#include "viewer/ui/key_press.h"

namespace locus {

/// An image on the graphics card.  Needs a living Window.
class Texture {
public:
    Texture() = default;
    ~Texture();
    Texture(Texture&& other) noexcept;
    Texture& operator=(Texture&& other) noexcept;

    /// Texels stay sharp squares.
    void upload(const Pixels& pixels);
    bool empty() const { return name_ == 0; }
    ImTextureID id() const;

private:
    unsigned name_ = 0;
};

struct WindowSetup {
    std::string title = "Locus";
    int width = 1280, height = 800;
    bool headless = false;  // draws into a picture of exactly width x height; no window appears
    std::optional<WindowPlace> place =
        std::nullopt;  // where it was, if that is still on a monitor; wins over width and height
    /// Called when the display goes away, from within the platform's code, which then ends the program: it must not
    /// draw, and does best to leave the program itself.
    std::function<void()> lost = {};
};

/// A rectangle of one colour in window units.  A processor that draws clears much faster than it fills.
struct FlatPanel {
    ImVec2 min, max;
    ImU32 colour = 0;
};

/// A picture drawn aside: nothing of it is seen in the window.
struct PictureSetup {
    int width = 0, height = 0;  // in pixels
    float density = 1;          // pixels per design pixel
    bool transparent = false;   // no background, no panels
};

class Window {
public:
    struct Parts;

    /// Throws Error(unreadable) if there is no display or no OpenGL 3.3.
    explicit Window(const WindowSetup& setup);
    ~Window();
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    bool should_close() const;
    /// Sleeps until something happens, at most `seconds`; 0 only looks.
    void wait(double seconds);
    /// True once if there was input, a new size or a wake-up since the last call.
    bool take_activity();
    std::vector<KeyPress> take_keys();
    /// Paths that were dropped on the window since the last call.
    std::vector<std::filesystem::path> take_drops();
    /// Where the window is; nothing for a picture, and while it fills the screen.
    std::optional<WindowPlace> place() const;
    /// Who draws: "llvmpipe ..." is the processor.
    std::string renderer() const;
    /// Window units per design pixel: 2 on a display with twice the density.
    float content_scale() const;

    /// Of the window, in its units.
    ImVec2 size() const;

    void begin_frame();
    /// Shows what was drawn since begin_frame, over the background and the panels that lie on it.
    void present(ImU32 background, const std::vector<FlatPanel>& panels = {});
    /// Gives up what was drawn since begin_frame.
    void discard_frame();
    /// After the font atlas was rebuilt.  Not between begin_frame and present.
    void reload_fonts();
    /// The picture that was presented last.
    Pixels read_pixels() const;

    /// Frames go into a picture instead, which the mouse does not touch, until end_picture returns what was presented
    /// last.  Throws Error(unreadable) where the graphics driver cannot draw one as large.
    void begin_picture(const PictureSetup& setup);
    Pixels end_picture();

    /// Ends wait() from any thread.
    static void wake();

    /// Somebody who plays a script: what follows arrives where real input does, with the next frame.
    void point_at(ImVec2 at);
    void hold_button(bool right, bool down);
    void turn_wheel(float steps);
    void hold_modifiers(bool ctrl, bool shift, bool down);
    void play_key(const KeyPress& press, bool down);
    /// Every later frame seems to take this long, whatever the clock says; 0: the clock again.
    void set_frame_time(double seconds);
    /// Of so many frames only one is painted: the others are made and given up.
    void paint_every(int frames);
    /// Of a picture without a window.
    void resize(int width, int height);

private:
    std::unique_ptr<Parts> parts_;
};

}  // namespace locus
