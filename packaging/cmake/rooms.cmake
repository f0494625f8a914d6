# add_room(NAME SOURCES a.cpp ... [DEPS room-or-library ...] [PRIVATE_DEPS ...])
#
# A room is one folder, one static library millrace_<NAME>, one namespace millrace::<NAME>. DEPS may
# be names of rooms (core, spec, ...) or of imported targets. A room without sources is headers only.
function(_millrace_resolve out)
    set(result)
    foreach(dep ${ARGN})
        if(TARGET millrace_${dep})
            list(APPEND result millrace_${dep})
        else()
            list(APPEND result ${dep})
        endif()
    endforeach()
    set(${out} ${result} PARENT_SCOPE)
endfunction()

# Compiles eight neighbouring sources of a target as one translation unit, so that the headers that they
# share are read once (decision 0017). Files with options of their own are compiled alone.
function(_millrace_unity target)
    if(MILLRACE_UNITY)
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    endif()
endfunction()

function(add_room name)
    cmake_parse_arguments(ROOM "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
    _millrace_resolve(deps ${ROOM_DEPS})
    _millrace_resolve(private ${ROOM_PRIVATE_DEPS})
    if(ROOM_SOURCES)
        add_library(millrace_${name} STATIC ${ROOM_SOURCES})
        target_include_directories(millrace_${name} PUBLIC ${CMAKE_SOURCE_DIR})
        target_link_libraries(millrace_${name} PUBLIC ${deps} PRIVATE millrace_flags ${private})
        _millrace_unity(millrace_${name})
    else()
        add_library(millrace_${name} INTERFACE)
        target_include_directories(millrace_${name} INTERFACE ${CMAKE_SOURCE_DIR})
        target_link_libraries(millrace_${name} INTERFACE ${deps} ${private})
    endif()
endfunction()

# buildId(), in a library of its own: its only source is rewritten when any source has changed.
add_custom_target(millrace_build_id_source
    COMMAND ${CMAKE_SOURCE_DIR}/packaging/build-id ${CMAKE_BINARY_DIR}/generated/build_id.cpp
    BYPRODUCTS ${CMAKE_BINARY_DIR}/generated/build_id.cpp VERBATIM)
add_library(millrace_build_id STATIC ${CMAKE_BINARY_DIR}/generated/build_id.cpp)
add_dependencies(millrace_build_id millrace_build_id_source)
target_include_directories(millrace_build_id PRIVATE ${CMAKE_SOURCE_DIR})

# add_program(NAME [RPC] [MALLOC] SOURCES ... DEPS ...): an executable in build/<preset>/bin. RPC: it uses
# gRPC. MALLOC: it links MILLRACE_MALLOC_ARCHIVES.
function(add_program name)
    cmake_parse_arguments(PROGRAM "RPC;MALLOC" "" "SOURCES;DEPS" ${ARGN})
    _millrace_resolve(deps ${PROGRAM_DEPS})
    set(archives ${MILLRACE_ARCHIVES})
    if(PROGRAM_RPC)
        list(PREPEND archives ${MILLRACE_RPC_ARCHIVES})
    endif()
    if(PROGRAM_MALLOC)
        list(PREPEND archives ${MILLRACE_MALLOC_ARCHIVES})
    endif()
    add_executable(${name} ${PROGRAM_SOURCES})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE millrace_flags millrace_build_id ${archives} ${deps})
    target_link_options(${name} PRIVATE LINKER:--as-needed LINKER:--gc-sections ${MILLRACE_HIDE_ARCHIVES})
    _millrace_unity(${name})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin
        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib")
endfunction()

# add_room_tests(ROOM SOURCES ... [DEPS ...] [LABEL unit] [NAME x]): one GoogleTest binary
# tests/<LABEL>_<NAME> of the build; every TEST becomes a ctest test "<NAME>.<Suite>.<Name>".
function(add_room_tests room)
    cmake_parse_arguments(T "" "LABEL;NAME;TIMEOUT" "SOURCES;DEPS;ENVIRONMENT" ${ARGN})
    if(NOT T_LABEL)
        set(T_LABEL unit)
    endif()
    if(NOT T_NAME)
        set(T_NAME ${room})
    endif()
    if(NOT T_TIMEOUT)
        set(T_TIMEOUT 120)
    endif()
    set(target ${T_LABEL}_${T_NAME})
    _millrace_resolve(deps ${room} ${T_DEPS})
    add_executable(${target} ${T_SOURCES})
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${target} PRIVATE millrace_flags ${deps} GTest::gmock GTest::gtest_main)
    target_compile_definitions(${target} PRIVATE
        MILLRACE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" MILLRACE_BIN_DIR="${CMAKE_BINARY_DIR}/bin")
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    _millrace_unity(${target})
    # A test's own code need not be fast: this halves the compiler's work, and a debugger sees every step.
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
    gtest_discover_tests(${target} TEST_PREFIX "${T_NAME}." DISCOVERY_MODE PRE_TEST
        PROPERTIES LABELS ${T_LABEL} TIMEOUT ${T_TIMEOUT} ENVIRONMENT "${T_ENVIRONMENT}")
endfunction()

# python_tests(FILE OUT): OUT is the list of "Suite.test_name" of a unittest file; reconfigures when the file changes.
function(python_tests file out)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} lines REGEX "^(class [A-Za-z]+\\(|    def test_)")
    set(tests)
    foreach(line ${lines})
        if(line MATCHES "^class ([A-Za-z]+)")
            set(suite ${CMAKE_MATCH_1})
        elseif(line MATCHES "def (test_[a-z0-9_]+)")
            list(APPEND tests ${suite}.${CMAKE_MATCH_1})
        endif()
    endforeach()
    set(${out} ${tests} PARENT_SCOPE)
endfunction()
