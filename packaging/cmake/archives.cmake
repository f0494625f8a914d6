# The libraries that are linked from archives: all except the C and C++ runtimes, Arrow, LibTorch, Qt and
# SLEEF. A program then starts in half the time, and runs without Debian's packages (packaging/wheel).
#
# MILLRACE_ARCHIVES      for every program
# MILLRACE_RPC_ARCHIVES  for programs that use gRPC
# MILLRACE_MALLOC_ARCHIVES  for programs that read data: their malloc. The shared libraries use it too, so its
#                        symbols are not hidden (docs/decisions/0045-malloc-of-the-loader.md)
# MILLRACE_HIDE_ARCHIVES the linker option that hides their symbols from shared libraries: libarrow, libparquet
#                        and LibTorch contain some of the same libraries in other versions
#
# lld takes a symbol from the first archive that has it. The shared libraries that CMake names after the
# archives are therefore not needed and dropped (--as-needed). Sanitizer builds use the shared ones.
set(MILLRACE_ARCHIVES)
set(MILLRACE_RPC_ARCHIVES)
set(MILLRACE_MALLOC_ARCHIVES)
set(MILLRACE_HIDE_ARCHIVES)

function(_millrace_archives result)
    set(found)
    foreach(library ${ARGN})
        find_library(MILLRACE_ARCHIVE_${library} NAMES lib${library}.a)
        mark_as_advanced(MILLRACE_ARCHIVE_${library})
        if(MILLRACE_ARCHIVE_${library})
            list(APPEND found ${MILLRACE_ARCHIVE_${library}})
        endif()
    endforeach()
    set(${result} ${found} PARENT_SCOPE)
endfunction()

if(LLD_PROGRAM AND NOT MILLRACE_SANITIZE)
    set(_rpc ${GRPC_STATIC_LIBRARIES} protobuf)
    list(FILTER _rpc INCLUDE REGEX "^(grpc|gpr|upb|re2|address_sorting|cares|protobuf)")
    set(_absl ${GRPC_STATIC_LIBRARIES})
    list(FILTER _absl INCLUDE REGEX "^absl_")
    list(REMOVE_DUPLICATES _rpc)
    list(REMOVE_DUPLICATES _absl)
    _millrace_archives(MILLRACE_RPC_ARCHIVES ${_rpc})
    _millrace_archives(MILLRACE_ARCHIVES
        ${_absl} yaml-cpp xxhash zstd lz4 sqlite3 ncursesw tinfo ssl crypto z)
    _millrace_archives(MILLRACE_MALLOC_ARCHIVES jemalloc_pic)
    set(_names)
    foreach(archive ${MILLRACE_RPC_ARCHIVES} ${MILLRACE_ARCHIVES} libcurl.a)
        get_filename_component(_name ${archive} NAME)
        list(APPEND _names ${_name})
    endforeach()
    list(JOIN _names ":" _names)
    set(MILLRACE_HIDE_ARCHIVES "LINKER:--exclude-libs=${_names}")
endif()
