#include "viewer/data/fiber.h"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#ifdef __EMSCRIPTEN__
extern "C" {  // viewer/web/fiber.js
bool locus_fiber_available();
void locus_fiber_start(void (*run)(void*), void* fiber);
void locus_fiber_suspend();
// What the compiler keeps in memory has a stack beside the browser's; these are emscripten's.
void* stackSave();
void stackRestore(void* top);
}

namespace locus {

namespace {

constexpr std::size_t kFiberStack = 1048576;  // bytes, as many as the program has itself
constexpr std::size_t kStackAlignment = 16;   // of a frame: the compiler counts on it where it makes addresses

struct RunningFiber {
    std::function<void()> work;
    std::unique_ptr<void, decltype(&std::free)> stack{std::aligned_alloc(kStackAlignment, kFiberStack), std::free};
    void* outside = nullptr;  // the top of the program's own stack while no frame is drawn
};

RunningFiber* running_fiber = nullptr;

void run_fiber(void* started) {
    const std::unique_ptr<RunningFiber> fiber(static_cast<RunningFiber*>(started));
    fiber->outside = stackSave();
    running_fiber = fiber.get();
    stackRestore(static_cast<char*>(fiber->stack.get()) + kFiberStack);
    fiber->work();
    stackRestore(fiber->outside);
    running_fiber = nullptr;
}

}  // namespace

bool Fiber::available() { return locus_fiber_available(); }

void Fiber::start(std::function<void()> work) {
    auto fiber = std::make_unique<RunningFiber>();
    if (!fiber->stack) throw std::bad_alloc();
    fiber->work = std::move(work);
    locus_fiber_start(run_fiber, fiber.release());
}

void Fiber::pause() {
    RunningFiber* const fiber = std::exchange(running_fiber, nullptr);
    if (!fiber) return;
    void* const inside = stackSave();
    stackRestore(fiber->outside);
    locus_fiber_suspend();
    stackRestore(inside);
    running_fiber = fiber;
}

}  // namespace locus
#else
namespace locus {

bool Fiber::available() { return false; }
void Fiber::start(std::function<void()> work) { work(); }
void Fiber::pause() {}

}  // namespace locus
#endif
