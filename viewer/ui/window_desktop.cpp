// The desktop's side of the platform: OpenGL 3.3 core, monitors, the X display that may go away.
#include <dlfcn.h>
#include <sys/mman.h>

#include <utility>

#include "core/check.h"
#include "viewer/ui/window_platform.h"

namespace locus::platform {

namespace {

/// Xlib takes a plain function, so what it calls is a variable of this file; there is one display per program.
std::function<void()> display_lost;

}  // namespace

const char* shader_version() { return "#version 330 core"; }

void check_room() {
    // Mesa's drawing by the processor: libraries of 170 MB, and heaps of its threads.
    constexpr std::size_t kRoom = std::size_t{640} << 20;
    void* const room = mmap(nullptr, kRoom, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        throw Error(Fault::memory, "there is not enough memory for a window, which needs 640 MB of address space");
    munmap(room, kRoom);
}

void hint_context() {
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
}

void hint_scaled(bool scaled) { glfwWindowHint(GLFW_SCALE_TO_MONITOR, scaled ? GLFW_TRUE : GLFW_FALSE); }

// Xlib ends the program with a message of its own unless a handler ends it first.  GLFW opens the library by itself;
// where it has not (Wayland, other systems) there is nothing to hook.
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

std::optional<WindowPlace> place(GLFWwindow* window) {
    if (glfwGetWindowAttrib(window, GLFW_MAXIMIZED) || glfwGetWindowAttrib(window, GLFW_ICONIFIED)) return std::nullopt;
    WindowPlace place;
    glfwGetWindowPos(window, &place.x, &place.y);
    glfwGetWindowSize(window, &place.width, &place.height);
    return place;
}

float content_scale(GLFWwindow* window) {
    float x = 1, y = 1;
    glfwGetWindowContentScale(window, &x, &y);
    int width = 0, height = 0, pixels_wide = 0, pixels_high = 0;
    glfwGetWindowSize(window, &width, &height);
    glfwGetFramebufferSize(window, &pixels_wide, &pixels_high);
    // Where window units are not pixels, Dear ImGui already draws at the density of the framebuffer.
    return width > 0 && pixels_wide > width ? x * static_cast<float>(width) / static_cast<float>(pixels_wide) : x;
}

char key_name(int key, int scancode) {
    const char* name = glfwGetKeyName(key, scancode);
    return name && name[0] != 0 && name[1] == 0 ? name[0] : '\0';
}

void wait(double seconds) {
    if (seconds > 0)
        glfwWaitEventsTimeout(seconds);
    else
        glfwPollEvents();
}

void wake() { glfwPostEmptyEvent(); }

void read_shown_buffer() { glReadBuffer(GL_FRONT); }

void attach(GLFWwindow* window, std::function<void()> activity) {
    static std::function<void()> changed;  // GLFW's own pointer is the Window's
    changed = std::move(activity);
    glfwSetWindowContentScaleCallback(window, [](GLFWwindow*, float, float) { changed(); });
}

}  // namespace locus::platform
