#pragma once
// What the files of the window share; for them alone.
#define GL_GLEXT_PROTOTYPES
#define GLFW_INCLUDE_GLCOREARB
#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <optional>
#include <vector>

#include "viewer/ui/window.h"

namespace locus {

struct Window::Parts {
    GLFWwindow* window = nullptr;
    WindowSetup setup;
    std::vector<KeyPress> keys;
    std::vector<std::filesystem::path> drops;
    std::atomic<bool> activity = true;
    struct Framebuffer {
        unsigned name = 0, colour = 0;
    };
    Framebuffer headless;
    std::optional<PictureSetup> picture;  // that is drawn instead
    Framebuffer aside;                    // what it is drawn into
    // Of a script: where its pointer is, what it holds down.
    std::optional<ImVec2> pointer;
    bool held[2] = {};
    bool plays_key = false;  // the key that arrives is in `keys` already
    /// A key that goes down or up, or a character.
    struct KeyEvent {
        int key, scancode, action, mods;
        unsigned character;
    };
    std::deque<KeyEvent> waiting;  // for the next frame
    std::vector<int> unseen;       // went down since the last frame
    double frame_time = 0;
    int paint_every = 1, frames = 0;

    static Framebuffer make_framebuffer(int width, int height);
    /// Draws into something that is no window.
    bool off_screen() const { return setup.headless || picture; }
    Pixels pixels(int width, int height) const;
    void listen();
    void queue_keys();
    void take(const KeyEvent& event);
    bool hides(const KeyEvent& event) const;
    void pass_on(const KeyEvent& event);
    void pass_on_waiting();
    void keys_were_seen();
};

}  // namespace locus
