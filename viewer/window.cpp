#include "viewer/window.h"

#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include <GLFW/glfw3.h>
#include <imgui_impl_glfw.h>
#include <imgui_impl_opengl3.h>

#include <utility>

#include "core/check.h"

namespace locus::view {

Window::Window(int width, int height, bool visible) {
    std::string reason = "no reason given";
    static std::string* report = nullptr;
    report = &reason;
    glfwSetErrorCallback([](int, const char* text) {
        if (report) *report = text;
    });
    if (!glfwInit())
        throw Error(Fault::unreadable, "no display to open a window on (" + reason +
                                           "); with xvfb-run and --screenshot FILE.png the page becomes a picture");
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_VISIBLE, visible ? GLFW_TRUE : GLFW_FALSE);
    window_ = glfwCreateWindow(width, height, "Locus", nullptr, nullptr);
    report = nullptr;
    if (!window_) {
        glfwTerminate();
        throw Error(Fault::unreadable, "no window with OpenGL 3.3 can be opened (" + reason + ")");
    }
    glfwMakeContextCurrent(window_);
    glfwSwapInterval(visible ? 1 : 0);
    IMGUI_CHECKVERSION();
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    glfwSetWindowUserPointer(window_, this);
    glfwSetDropCallback(window_, [](GLFWwindow* window, int count, const char** paths) {
        auto* self = static_cast<Window*>(glfwGetWindowUserPointer(window));
        self->dropped_.insert(self->dropped_.end(), paths, paths + count);
    });
    ImGui_ImplGlfw_InitForOpenGL(window_, true);
    ImGui_ImplOpenGL3_Init("#version 330 core");
}

Window::~Window() {
    ImGui_ImplOpenGL3_Shutdown();
    ImGui_ImplGlfw_Shutdown();
    ImGui::DestroyContext();
    glfwDestroyWindow(window_);
    glfwTerminate();
}

bool Window::should_close() const { return glfwWindowShouldClose(window_) != 0; }
void Window::close() { glfwSetWindowShouldClose(window_, GLFW_TRUE); }
double Window::seconds() const { return glfwGetTime(); }
void Window::wake() { glfwPostEmptyEvent(); }

float Window::content_scale() const {
    float x = 1, y = 1;
    glfwGetWindowContentScale(window_, &x, &y);
    return x > 0 ? x : 1;
}

void Window::wait_events(double seconds) {
    if (seconds > 0)
        glfwWaitEventsTimeout(seconds);
    else
        glfwPollEvents();
}

void Window::begin_frame() {
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    ImGui::NewFrame();
}

void Window::end_frame(ImU32 background, Picture* copy) {
    ImGui::Render();
    int width = 0, height = 0;
    glfwGetFramebufferSize(window_, &width, &height);
    glViewport(0, 0, width, height);
    const ImVec4 clear = ImGui::ColorConvertU32ToFloat4(background);
    glClearColor(clear.x, clear.y, clear.z, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    if (copy) *copy = read_back();
    glfwSwapBuffers(window_);
}

Picture Window::read_back() const {
    Picture picture;
    glfwGetFramebufferSize(window_, &picture.width, &picture.height);
    std::vector<Rgba> upside_down(static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.height));
    glReadBuffer(GL_BACK);
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    glReadPixels(0, 0, picture.width, picture.height, GL_RGBA, GL_UNSIGNED_BYTE, upside_down.data());
    for (int y = picture.height; y-- > 0;) {
        const auto row = upside_down.begin() + static_cast<std::ptrdiff_t>(y) * picture.width;
        picture.pixels.insert(picture.pixels.end(), row, row + picture.width);
    }
    for (Rgba& pixel : picture.pixels) pixel.a = 255;
    return picture;
}

void Window::fonts_changed() { ImGui_ImplOpenGL3_DestroyFontsTexture(); }

std::vector<std::string> Window::take_dropped() { return std::exchange(dropped_, {}); }

Texture::Texture(int width, int height, const std::vector<Rgba>& pixels) {
    glGenTextures(1, &name_);
    glBindTexture(GL_TEXTURE_2D, name_);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, pixels.data());
}

Texture::~Texture() {
    if (name_) glDeleteTextures(1, &name_);
}

Texture::Texture(Texture&& other) noexcept : name_(std::exchange(other.name_, 0)) {}

Texture& Texture::operator=(Texture&& other) noexcept {
    std::swap(name_, other.name_);
    return *this;
}

ImTextureID Texture::id() const {
    return (ImTextureID)(std::intptr_t)name_;
}  // a pointer in old ImGui, a number in new

}  // namespace locus::view
