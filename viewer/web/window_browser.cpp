// The browser's side of the platform: WebGL 2 on a canvas as large as its element in the pixels of the screen, and the
// clipboard, which a page may write only from a key or a click and reads only as somebody pastes.
#include <emscripten.h>
#include <emscripten/html5.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "viewer/ui/window_platform.h"

namespace locus::platform {

namespace {

struct Page {
    GLFWwindow* window = nullptr;
    std::function<void()> activity;
    std::string pasted;
};

Page page;  // there is one per program

EM_JS(void, copy_text, (const char* text), { Module.locus.copy(UTF8ToString(text)); });

EM_JS(void, tell_caret, (bool wanted, int x, int y), { Module.locus.caret(Boolean(wanted), x, y); });

// Not glfwSetWindowSize(): emscripten's asks for the whole screen where the size happens to be that of the screen.
EM_JS(void, resize_canvas, (int width, int height), { Browser.setCanvasSize(width, height); });

/// The canvas gets as many pixels as its element covers.
EM_BOOL fit_canvas(int, const EmscriptenUiEvent*, void*) {
    double width = 0, height = 0;
    emscripten_get_element_css_size("#canvas", &width, &height);
    const double density = emscripten_get_device_pixel_ratio();
    const int wide = std::max(1, static_cast<int>(std::lround(width * density)));
    const int high = std::max(1, static_cast<int>(std::lround(height * density)));
    int before_wide = 0, before_high = 0;
    glfwGetWindowSize(page.window, &before_wide, &before_high);
    if (wide != before_wide || high != before_high) resize_canvas(wide, high);
    page.activity();
    return EM_FALSE;
}

/// What is pasted.  Dear ImGui asks for it in the frame after Ctrl+V; a paste without that key, from a menu, is typed.
extern "C" EMSCRIPTEN_KEEPALIVE void locus_paste(const char* text) {
    page.pasted = text;
    if (!ImGui::GetIO().KeyCtrl) ImGui::GetIO().AddInputCharactersUTF8(text);
    if (page.activity) page.activity();
}

/// What a method of input composed for the text field at the caret.
extern "C" EMSCRIPTEN_KEEPALIVE void locus_type(const char* text) {
    ImGui::GetIO().AddInputCharactersUTF8(text);
    if (page.activity) page.activity();
}

}  // namespace

const char* shader_version() { return "#version 300 es"; }

void check_room() {}  // a browser gives the context by itself

void hint_context() {
    glfwWindowHint(GLFW_ALPHA_BITS, 0);  // else what lies behind the canvas shines through
    glfwWindowHint(GLFW_SAMPLES, 0);
}

void hint_scaled(bool) {}  // the canvas is made to fit

void watch_display(const std::function<void()>&) {}

bool on_a_monitor(const WindowPlace&) { return false; }

std::optional<WindowPlace> place(GLFWwindow*) { return std::nullopt; }

float content_scale(GLFWwindow*) { return static_cast<float>(emscripten_get_device_pixel_ratio()); }

// GLFW numbers letters, digits and marks as ASCII does, and emscripten's gives keys the numbers of the user's layout.
char key_name(int key, int) {
    if (key >= 'A' && key <= 'Z') return static_cast<char>(key - 'A' + 'a');
    return key > ' ' && key < 0x7f ? static_cast<char>(key) : '\0';
}

// The browser calls each frame; what happened has arrived already.
void wait(double) {}

void wake() {
    if (page.activity) page.activity();
}

void read_shown_buffer() { glReadBuffer(GL_BACK); }

void attach(GLFWwindow* window, std::function<void()> activity) {
    page = {window, std::move(activity), {}};
    ImGuiIO& io = ImGui::GetIO();
    io.SetClipboardTextFn = [](void*, const char* text) { copy_text(text); };
    io.GetClipboardTextFn = [](void*) { return page.pasted.c_str(); };
    // Dear ImGui tells where the caret is when it moves, and 1, 1 where nothing is typed into.
    io.ImeSetInputScreenPosFn = [](int x, int y) { tell_caret(x != 1 || y != 1, x, y); };
    emscripten_set_resize_callback(EMSCRIPTEN_EVENT_TARGET_WINDOW, nullptr, EM_FALSE, fit_canvas);
    fit_canvas(0, nullptr, nullptr);
}

}  // namespace locus::platform
