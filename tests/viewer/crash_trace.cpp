// A library that the tests load into the viewer: where it ends by a signal, stderr says in which function of which
// library. Much of the program is the system's OpenGL driver, and "Segmentation fault" alone does not say whose it was.
#include <execinfo.h>
#include <unistd.h>

#include <csignal>

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

/// Only what may be called in a handler: backtrace() has loaded what it needs in install().
void print_frames(int signal) {
    void* frames[40];
    backtrace_symbols_fd(frames, backtrace(frames, 40), STDERR_FILENO);
    std::signal(signal, SIG_DFL);
    raise(signal);
}

[[gnu::constructor]] void install() {
    void* frame;
    backtrace(&frame, 1);
    static char room[64 << 10];  // the stack may be what was used up
    stack_t stack{};
    stack.ss_sp = room;
    stack.ss_size = sizeof room;
    sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_handler = print_frames;
    action.sa_flags = SA_ONSTACK;
    for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

}  // namespace
