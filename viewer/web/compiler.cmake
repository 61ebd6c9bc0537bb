# How everything is compiled for a browser, by emscripten 3.1.6: one thread, exceptions of WebAssembly itself, 128-bit
# vectors.  Every object must agree on these.
# Under -Os clang 14 inlines nothing of Eigen: what the linker then makes of it is small, and a product of matrices runs at a
# hundredth of its speed.  So what computes is compiled under -O1, and the rest for size.
set(CMAKE_CXX_FLAGS_RELEASE "-DNDEBUG")
set(computes $<IN_LIST:$<TARGET_PROPERTY:NAME>,locus_core;locus_files;locus_training;web-tests>)
target_compile_options(locus_options INTERFACE $<IF:${computes},-O1,-Os>)
add_compile_options(-fwasm-exceptions -msimd128)
add_link_options(-Os -fwasm-exceptions)
# What libc++ 13 does not have yet is declared before every file.
target_compile_options(locus_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-include ${PROJECT_SOURCE_DIR}/viewer/web/older_library.h>)

# A program under node, with the files of the machine.
function(locus_under_node name)
  target_link_options(${name} PRIVATE -sNODERAWFS=1 -sENVIRONMENT=node -sEXIT_RUNTIME=1 -sALLOW_MEMORY_GROWTH=1
    -sMAXIMUM_MEMORY=4294967296 -sTOTAL_STACK=1048576 "SHELL:--pre-js \"${PROJECT_SOURCE_DIR}/viewer/web/node.js\"")
endfunction()
