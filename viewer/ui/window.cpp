#include "viewer/ui/window.h"

#include "viewer/ui/window_parts.h"

#include <dlfcn.h>

#include <algorithm>
#include <cfloat>

#include "core/check.h"

namespace locus {

namespace {

/// Xlib takes a plain function, so what it calls lies here; there is one display per program.
std::function<void()> display_lost;

/// Xlib ends the program with a message of its own unless somebody else does it first.  GLFW opens the library by
/// itself; where it has not (Wayland, other systems) there is nothing to hook.
void watch_display(const std::function<void()>& lost) {
    if (!lost) return;
    void* library = dlopen("libX11.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (!library) return;
    using Handler = int (*)(void* display);
    const auto set = reinterpret_cast<Handler (*)(Handler)>(dlsym(library, "XSetIOErrorHandler"));
    display_lost = lost;
    if (set)
        set([](void*) {
            display_lost();
            return 0;
        });
}

/// At least a corner to hold it by lies on a monitor.
bool on_a_monitor(const WindowPlace& place) {
    int count = 0;
    GLFWmonitor** monitors = glfwGetMonitors(&count);
    for (int n = 0; n < count; ++n) {
        int x = 0, y = 0, width = 0, height = 0;
        glfwGetMonitorWorkarea(monitors[n], &x, &y, &width, &height);
        if (place.x + 100 > x && place.x < x + width - 100 && place.y >= y && place.y < y + height - 100) return true;
    }
    return false;
}

}  // namespace

Window::Window(const WindowSetup& setup) : parts_(std::make_unique<Parts>()) {
    parts_->setup = setup;
    if (!glfwInit())
        throw Error(Fault::unreadable,
                    "there is no display to open a window on, expected DISPLAY to name one; "
                    "xvfb-run -a locus-view --screenshot FILE.png draws a page without");
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
    glfwWindowHint(GLFW_VISIBLE, setup.headless ? GLFW_FALSE : GLFW_TRUE);
    const bool placed = !setup.headless && setup.place && on_a_monitor(*setup.place);
    // A remembered size is in pixels of its monitor already.
    glfwWindowHint(GLFW_SCALE_TO_MONITOR, setup.headless || placed ? GLFW_FALSE : GLFW_TRUE);
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
    watch_display(setup.lost);
    glfwMakeContextCurrent(parts_->window);
    glfwSwapInterval(setup.headless ? 0 : 1);
    if (!setup.headless) glfwSetWindowSizeLimits(parts_->window, 800, 600, GLFW_DONT_CARE, GLFW_DONT_CARE);
    if (setup.headless) parts_->headless = Parts::make_framebuffer(setup.width, setup.height);
    parts_->listen();
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    ImGui_ImplGlfw_InitForOpenGL(parts_->window, true);
    parts_->queue_keys();
    ImGui_ImplOpenGL3_Init("#version 330 core");
}

Window::~Window() {
    ImGui_ImplOpenGL3_Shutdown();
    ImGui_ImplGlfw_Shutdown();
    ImGui::DestroyContext();
    glfwDestroyWindow(parts_->window);
    glfwTerminate();
}

bool Window::should_close() const { return glfwWindowShouldClose(parts_->window); }

void Window::wait(double seconds) {
    if (seconds > 0)
        glfwWaitEventsTimeout(seconds);
    else
        glfwPollEvents();
}

std::optional<WindowPlace> Window::place() const {
    if (parts_->setup.headless || glfwGetWindowAttrib(parts_->window, GLFW_MAXIMIZED) ||
        glfwGetWindowAttrib(parts_->window, GLFW_ICONIFIED))
        return std::nullopt;
    WindowPlace place;
    glfwGetWindowPos(parts_->window, &place.x, &place.y);
    glfwGetWindowSize(parts_->window, &place.width, &place.height);
    return place;
}

std::string Window::renderer() const { return reinterpret_cast<const char*>(glGetString(GL_RENDERER)); }

float Window::content_scale() const {
    if (parts_->picture) return parts_->picture->density;
    if (parts_->setup.headless) return 1;
    float x = 1, y = 1;
    glfwGetWindowContentScale(parts_->window, &x, &y);
    int width = 0, height = 0, pixels_wide = 0, pixels_high = 0;
    glfwGetWindowSize(parts_->window, &width, &height);
    glfwGetFramebufferSize(parts_->window, &pixels_wide, &pixels_high);
    // Where window units are not pixels, Dear ImGui already draws at the density of the framebuffer.
    return width > 0 && pixels_wide > width ? x * static_cast<float>(width) / static_cast<float>(pixels_wide) : x;
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

void Window::wake() { glfwPostEmptyEvent(); }

void Window::set_frame_time(double seconds) { parts_->frame_time = seconds; }

void Window::paint_every(int frames) { parts_->paint_every = frames; }

}  // namespace locus
