# How everything is compiled for a browser, by emscripten 3.1.6: one thread, exceptions of WebAssembly itself, 128-bit
# vectors.  Every object must agree on these.
set(CMAKE_CXX_FLAGS_RELEASE "-Os -DNDEBUG")
add_compile_options(-fwasm-exceptions -msimd128)
add_link_options(-fwasm-exceptions)
# What libc++ 13 does not have yet is declared before every file.
target_compile_options(locus_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-include ${PROJECT_SOURCE_DIR}/viewer/web/older_library.h>)
