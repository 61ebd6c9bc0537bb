// What comes in: keys, pointer and dropped files, of somebody at the window or of a script.
#include "viewer/ui/window_parts.h"

#include <algorithm>
#include <utility>

namespace locus {

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
    const char* name = press.ctrl ? glfwGetKeyName(key, scancode) : nullptr;
    if (!name || name[0] == 0 || name[1] != 0) return false;
    press.character = static_cast<unsigned char>(name[0]);
    return true;
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
    glfwSetWindowContentScaleCallback(window, [](GLFWwindow* w, float, float) { parts_of(w)->activity = true; });
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

}  // namespace locus
