// The window and its input by GLFW, the drawing by OpenGL 3.3 or WebGL 2: first the window itself, then what comes in
// (keys, pointer, dropped files, the input of a script), then what is drawn and into what.
#include "viewer/ui/window.h"

#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <cstdlib>
#include <deque>
#include <utility>

#include "core/check.h"
#include "viewer/export/picture_file.h"
#include "viewer/ui/window_platform.h"

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

namespace {

/// Neither Dear ImGui nor FreeType under it looks whether it was given memory, so what they ask for throws.
void let_imgui_throw() {
    ImGui::SetAllocatorFunctions([](std::size_t bytes, void*) { return ::operator new(bytes); },
                                 [](void* pointer, void*) { ::operator delete(pointer); });
}

}  // namespace

Window::Window(const WindowSetup& setup) : parts_(std::make_unique<Parts>()) {
    parts_->setup = setup;
    platform::check_room();
#ifdef GLFW_PLATFORM  // GLFW 3.4 also looks for Wayland, and where there is none its library complains
    if (!std::getenv("WAYLAND_DISPLAY") && glfwPlatformSupported(GLFW_PLATFORM_X11))
        glfwInitHint(GLFW_PLATFORM, GLFW_PLATFORM_X11);
#endif
    if (!glfwInit())
        throw Error(Fault::unreadable,
                    "there is no display to open a window on, expected DISPLAY to name one; "
                    "xvfb-run -a locus-view --screenshot FILE.png draws a page without");
    platform::hint_context();
    glfwWindowHint(GLFW_VISIBLE, setup.headless ? GLFW_FALSE : GLFW_TRUE);
    const bool placed = !setup.headless && setup.place && platform::on_a_monitor(*setup.place);
    // A remembered size is in pixels of its monitor already.
    platform::hint_scaled(!setup.headless && !placed);
    parts_->window = glfwCreateWindow(setup.headless ? 64 : setup.width, setup.headless ? 64 : setup.height,
                                      setup.title.c_str(), nullptr, nullptr);
    if (!parts_->window) {
        glfwTerminate();
        throw Error(Fault::unreadable, "the display offers no OpenGL 3.3 core profile, which the viewer draws with");
    }
    if (placed) {
        glfwSetWindowSize(parts_->window, setup.place->width, setup.place->height);
        glfwSetWindowPos(parts_->window, setup.place->x, setup.place->y);
    }
    platform::watch_display(setup.lost);
    glfwMakeContextCurrent(parts_->window);
    glfwSwapInterval(setup.headless ? 0 : 1);
    if (!setup.headless) glfwSetWindowSizeLimits(parts_->window, 800, 600, GLFW_DONT_CARE, GLFW_DONT_CARE);
    if (setup.headless) parts_->headless = Parts::make_framebuffer(setup.width, setup.height);
    parts_->listen();
    let_imgui_throw();
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    ImGui_ImplGlfw_InitForOpenGL(parts_->window, true);
    parts_->queue_keys();
    ImGui_ImplOpenGL3_Init(platform::shader_version());
    platform::attach(parts_->window, [parts = parts_.get()] { parts->activity = true; });
}

Window::~Window() {
    ImGui_ImplOpenGL3_Shutdown();
    ImGui_ImplGlfw_Shutdown();
    ImGui::DestroyContext();
    glfwDestroyWindow(parts_->window);
    glfwTerminate();
}

bool Window::should_close() const { return glfwWindowShouldClose(parts_->window); }

void Window::wait(double seconds) { platform::wait(seconds); }

std::optional<WindowPlace> Window::place() const {
    return parts_->setup.headless ? std::nullopt : platform::place(parts_->window);
}

std::string Window::renderer() const { return reinterpret_cast<const char*>(glGetString(GL_RENDERER)); }

float Window::content_scale() const {
    if (parts_->picture) return parts_->picture->density;
    if (parts_->setup.headless) return 1;
    return platform::content_scale(parts_->window);
}

ImVec2 Window::size() const {
    if (parts_->picture)
        return {static_cast<float>(parts_->picture->width), static_cast<float>(parts_->picture->height)};
    int width = parts_->setup.width, height = parts_->setup.height;
    if (!parts_->setup.headless) glfwGetWindowSize(parts_->window, &width, &height);
    return {static_cast<float>(width), static_cast<float>(height)};
}

void Window::begin_frame() {
    parts_->pass_on_waiting();
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    ImGuiIO& io = ImGui::GetIO();
    if (parts_->pointer) {
        io.MousePos = *parts_->pointer;
        for (int button = 0; button < 2; ++button) io.MouseDown[button] = parts_->held[button];
    }
    if (parts_->frame_time > 0) io.DeltaTime = static_cast<float>(parts_->frame_time);
    io.DeltaTime = std::max(io.DeltaTime, 1e-5f);  // a browser's clock may stand still between two frames
    if (parts_->off_screen()) {
        io.DisplaySize = size();
        io.DisplayFramebufferScale = {1, 1};
    }
    if (parts_->picture) {
        io.MousePos = {-FLT_MAX, -FLT_MAX};
        io.MouseWheel = 0;
#if IMGUI_VERSION_NUM >= 18700
        io.AddMousePosEvent(-FLT_MAX, -FLT_MAX);
#endif
    }
    ImGui::NewFrame();
    parts_->keys_were_seen();
}

void Window::discard_frame() { ImGui::EndFrame(); }

void Window::reload_fonts() {
#if IMGUI_VERSION_NUM < 19200  // newer versions keep the texture up to date by themselves
    ImGui_ImplOpenGL3_DestroyFontsTexture();
    ImGui_ImplOpenGL3_CreateFontsTexture();
#endif
}

void Window::wake() { platform::wake(); }

void Window::set_frame_time(double seconds) { parts_->frame_time = seconds; }

void Window::paint_every(int frames) { parts_->paint_every = frames; }

// What comes in: keys, pointer and dropped files, of the user or of a script.

namespace {

Window::Parts* parts_of(GLFWwindow* window) { return static_cast<Window::Parts*>(glfwGetWindowUserPointer(window)); }

constexpr std::pair<int, Key> kKeys[] = {{GLFW_KEY_LEFT, Key::left},
                                         {GLFW_KEY_RIGHT, Key::right},
                                         {GLFW_KEY_UP, Key::up},
                                         {GLFW_KEY_DOWN, Key::down},
                                         {GLFW_KEY_ESCAPE, Key::escape},
                                         {GLFW_KEY_SPACE, Key::space},
                                         {GLFW_KEY_ENTER, Key::enter},
                                         {GLFW_KEY_KP_ENTER, Key::enter},
                                         {GLFW_KEY_TAB, Key::tab},
                                         {GLFW_KEY_F12, Key::f12},
                                         {GLFW_KEY_HOME, Key::home},
                                         {GLFW_KEY_END, Key::end},
                                         {GLFW_KEY_BACKSPACE, Key::backspace},
                                         {GLFW_KEY_DELETE, Key::remove}};

/// Keys that are no characters, and characters together with ctrl, which arrive as no character.
bool translate(int key, int scancode, int mods, KeyPress& press) {
    press.ctrl = (mods & GLFW_MOD_CONTROL) != 0;
    press.shift = (mods & GLFW_MOD_SHIFT) != 0;
    for (const auto& [code, meaning] : kKeys)
        if (key == code) {
            press.key = meaning;
            return true;
        }
    press.character = press.ctrl ? static_cast<unsigned char>(platform::key_name(key, scancode)) : 0;
    return press.character != 0;
}

bool is_modifier(int key) { return key >= GLFW_KEY_LEFT_SHIFT && key <= GLFW_KEY_RIGHT_SUPER; }

/// True for a key that acts by going down, and not by the character that it writes.
bool is_stroke(const Window::Parts::KeyEvent& event) {
    return !is_modifier(event.key) && ((event.mods & GLFW_MOD_CONTROL) != 0 || event.key >= GLFW_KEY_ESCAPE);
}

}  // namespace

void Window::Parts::listen() {
    glfwSetWindowUserPointer(window, this);
    // Installed before Dear ImGui, whose callbacks call the ones they find.
    glfwSetKeyCallback(window, [](GLFWwindow* w, int key, int scancode, int action, int mods) {
        parts_of(w)->activity = true;
        KeyPress press;
        if (parts_of(w)->plays_key) return;
        if (action != GLFW_RELEASE && translate(key, scancode, mods, press)) parts_of(w)->keys.push_back(press);
    });
    glfwSetCharCallback(window, [](GLFWwindow* w, unsigned character) {
        parts_of(w)->activity = true;
        if (parts_of(w)->plays_key) return;
        if (character != ' ') parts_of(w)->keys.push_back({Key::character, character, false, false});
    });
    glfwSetCursorPosCallback(window, [](GLFWwindow* w, double, double) { parts_of(w)->activity = true; });
    glfwSetMouseButtonCallback(window, [](GLFWwindow* w, int, int, int) { parts_of(w)->activity = true; });
    glfwSetScrollCallback(window, [](GLFWwindow* w, double, double) { parts_of(w)->activity = true; });
    glfwSetCursorEnterCallback(window, [](GLFWwindow* w, int) { parts_of(w)->activity = true; });
    glfwSetWindowFocusCallback(window, [](GLFWwindow* w, int) { parts_of(w)->activity = true; });
    glfwSetFramebufferSizeCallback(window, [](GLFWwindow* w, int, int) { parts_of(w)->activity = true; });
    glfwSetWindowRefreshCallback(window, [](GLFWwindow* w) { parts_of(w)->activity = true; });
    glfwSetDropCallback(window, [](GLFWwindow* w, int count, const char** paths) {
        parts_of(w)->activity = true;
        parts_of(w)->drops.insert(parts_of(w)->drops.end(), paths, paths + count);
    });
}

// Before 1.87 Dear ImGui looked at keys once a frame: of those that went down and up between two frames, as in a slow
// one, it saw nothing, and of two strokes one.  So what would hide a stroke waits for the next frame, and what follows
// with it.
void Window::Parts::queue_keys() {
#if IMGUI_VERSION_NUM < 18700
    glfwSetKeyCallback(window, [](GLFWwindow* w, int key, int scancode, int action, int mods) {
        parts_of(w)->take({key, scancode, action, mods, 0});
    });
    glfwSetCharCallback(window, [](GLFWwindow* w, unsigned character) { parts_of(w)->take({0, 0, 0, 0, character}); });
#endif
}

void Window::Parts::take(const KeyEvent& event) {
    activity = true;
    if (!waiting.empty() || hides(event))
        waiting.push_back(event);
    else
        pass_on(event);
}

bool Window::Parts::hides(const KeyEvent& event) const {
    if (event.character) return false;
    if (event.action == GLFW_RELEASE) return std::find(unseen.begin(), unseen.end(), event.key) != unseen.end();
    return is_stroke(event) && std::any_of(unseen.begin(), unseen.end(), [](int key) { return !is_modifier(key); });
}

void Window::Parts::pass_on(const KeyEvent& event) {
    if (event.character) {
        ImGui_ImplGlfw_CharCallback(window, event.character);
        return;
    }
    if (event.action != GLFW_RELEASE && (is_stroke(event) || is_modifier(event.key))) unseen.push_back(event.key);
    ImGui_ImplGlfw_KeyCallback(window, event.key, event.scancode, event.action, event.mods);
}

void Window::Parts::pass_on_waiting() {
    while (!waiting.empty() && !hides(waiting.front())) {
        pass_on(waiting.front());
        waiting.pop_front();
    }
}

void Window::Parts::keys_were_seen() {
    unseen.clear();
    if (!waiting.empty()) activity = true;  // one more frame
}

bool Window::take_activity() { return parts_->activity.exchange(false); }

std::vector<KeyPress> Window::take_keys() { return std::exchange(parts_->keys, {}); }

std::vector<std::filesystem::path> Window::take_drops() { return std::exchange(parts_->drops, {}); }

void Window::point_at(ImVec2 at) {
    parts_->pointer = at;
    parts_->activity = true;
}

void Window::hold_button(bool right, bool down) {
    parts_->held[right ? 1 : 0] = down;
    parts_->activity = true;
}

void Window::turn_wheel(float steps) { ImGui_ImplGlfw_ScrollCallback(parts_->window, 0, steps); }

void Window::hold_modifiers(bool ctrl, bool shift, bool down) {
    parts_->plays_key = true;
    const auto send = [&](int key) {
        ImGui_ImplGlfw_KeyCallback(parts_->window, key, 0, down ? GLFW_PRESS : GLFW_RELEASE, 0);
    };
    if (ctrl) send(GLFW_KEY_LEFT_CONTROL);
    if (shift) send(GLFW_KEY_LEFT_SHIFT);
    parts_->plays_key = false;
}

void Window::play_key(const KeyPress& press, bool down) {
    const int action = down ? GLFW_PRESS : GLFW_RELEASE;
    const int mods = (press.ctrl ? GLFW_MOD_CONTROL : 0) | (press.shift ? GLFW_MOD_SHIFT : 0);
    const auto send = [&](int key) { ImGui_ImplGlfw_KeyCallback(parts_->window, key, 0, action, mods); };
    hold_modifiers(press.ctrl, press.shift, down);
    parts_->plays_key = true;
    for (const auto& [code, meaning] : kKeys)
        if (press.key == meaning && press.key != Key::character) {
            send(code);
            break;
        }
    const char32_t c = press.character, upper = c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c;
    if (press.key == Key::character && ((upper >= 'A' && upper <= 'Z') || (upper >= '0' && upper <= '9')))
        send(static_cast<int>(upper));  // GLFW numbers letters and digits as ASCII does
    if (down && !press.ctrl && (press.key == Key::character || press.key == Key::space))
        ImGui_ImplGlfw_CharCallback(parts_->window, press.key == Key::space ? U' ' : c);
    parts_->plays_key = false;
    if (down) parts_->keys.push_back(press);
}

// What is drawn, and into what: textures, framebuffers, pictures read back.

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
    if (!off_screen()) platform::read_shown_buffer();
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
