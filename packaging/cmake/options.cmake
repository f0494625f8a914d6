# Language level, warnings and the flags on which bit-for-bit repeatability depends:
# x86-64-v2 and no contraction, on every build machine.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_BUILD_RPATH_USE_ORIGIN OFF)

set(MILLRACE_SANITIZE "" CACHE STRING "address or thread: builds without LibTorch")
option(MILLRACE_THREAD_SAFETY "clang's lock annotations as errors" OFF)
option(MILLRACE_WERROR "warnings are errors" ON)
option(MILLRACE_UNITY "several sources to a translation unit: a quarter of the compiler's work" ON)
option(MILLRACE_CONSOLE "the desktop console (Qt 6, Qt Charts)" ON)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
    set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
find_program(LLD_PROGRAM NAMES ld.lld)
if(LLD_PROGRAM)
    add_link_options(-fuse-ld=lld)
endif()
# One LibTorch file at a time: 1.3 GB and 20 s each.
set_property(GLOBAL APPEND PROPERTY JOB_POOLS torch_pool=1)

add_library(millrace_flags INTERFACE)
target_compile_options(millrace_flags INTERFACE
    -Wall -Wextra -Wno-missing-field-initializers
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    # in a unity build every source is an included file
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${MILLRACE_UNITY}>>:-Wno-subobject-linkage>
    # stable_sort of libstdc++ 12 calls a function that libstdc++ deprecates
    $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations> -march=x86-64-v2 -ffp-contract=off
    $<$<BOOL:${MILLRACE_WERROR}>:-Werror>)
if(MILLRACE_SANITIZE)
    add_compile_options(-fsanitize=${MILLRACE_SANITIZE} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${MILLRACE_SANITIZE})
endif()
if(MILLRACE_THREAD_SAFETY)
    target_compile_options(millrace_flags INTERFACE -Wthread-safety)
endif()
