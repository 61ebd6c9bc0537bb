#pragma once
// Whether a program can start threads: not in a browser, where work is done on the thread that draws.

namespace locus {

#ifdef __EMSCRIPTEN__
inline constexpr bool kHasThreads = false;
#else
inline constexpr bool kHasThreads = true;
#endif

}  // namespace locus
