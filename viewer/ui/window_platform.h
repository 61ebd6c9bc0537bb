#pragma once
// What a desktop and a browser do differently behind Window: ui/window_desktop.cpp or web/window_browser.cpp is linked.
// Of the viewer only these three files know GLFW and OpenGL.
#ifdef __EMSCRIPTEN__
#define GLFW_INCLUDE_NONE
#include <GLES3/gl3.h>
#else
#define GL_GLEXT_PROTOTYPES
#define GLFW_INCLUDE_GLCOREARB
#endif
#include <GLFW/glfw3.h>

#include "viewer/ui/window.h"

namespace locus::platform {

/// First line of a shader, as Dear ImGui's backend takes it.
const char* shader_version();

/// Throws Error(memory) where a driver of OpenGL could not get the address space that it takes: it ends the program
/// without a word, because it does not look whether it was given any.
void check_room();

/// The hints of the context that the next window is created with.
void hint_context();

/// Whether the size of the next window is in design pixels, or in those of the screen.
void hint_scaled(bool scaled);

/// Calls `lost` when the display goes away, where it can.
void watch_display(const std::function<void()>& lost);

/// True if at least a corner to drag the window by is on a monitor.
bool on_a_monitor(const WindowPlace& place);

/// Of the window, where it does not fill the screen.
std::optional<WindowPlace> place(GLFWwindow* window);

/// Window units per design pixel.
float content_scale(GLFWwindow* window);

/// The lower-case character on a key of the user's keyboard; 0: the key writes none.
char key_name(int key, int scancode);

/// Sleeps until something happens, at most `seconds`; 0 only looks.
void wait(double seconds);
/// Ends wait() from any thread.
void wake();

/// The buffer that was shown last becomes what glReadPixels reads.
void read_shown_buffer();

/// What the platform needs after the window and Dear ImGui are there; `activity` is called when something changed that
/// GLFW does not tell.
void attach(GLFWwindow* window, std::function<void()> activity);

}  // namespace locus::platform
