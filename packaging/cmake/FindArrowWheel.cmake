# Arrow C++ from the pyarrow wheel, which has versioned libraries only (libarrow.so.2600).
#
# ArrowWheel::arrow  ArrowWheel::compute  ArrowWheel::parquet  ArrowWheel::s3
# libparquet exports its own OpenSSL: a target that links ArrowWheel::parquet and gRPC together must name
# the system's ssl and crypto first, which the parquet target does. A program looks for the libraries in ../lib
# of its folder (add_program). This file makes links to them there, so that a build has the layout of a wheel.
set(MILLRACE_ARROW_DIR "${MILLRACE_WHEELS}/pyarrow" CACHE PATH "the pyarrow package's directory")
find_path(ArrowWheel_INCLUDE_DIR arrow/api.h PATHS "${MILLRACE_ARROW_DIR}/include" NO_DEFAULT_PATH)
foreach(part arrow arrow_compute parquet arrow_s3)
    file(GLOB _found "${MILLRACE_ARROW_DIR}/lib${part}.so.[0-9][0-9][0-9][0-9]")
    set(ArrowWheel_${part}_LIBRARY "${_found}")
endforeach()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ArrowWheel
    REQUIRED_VARS ArrowWheel_INCLUDE_DIR ArrowWheel_arrow_LIBRARY
                  ArrowWheel_arrow_compute_LIBRARY ArrowWheel_parquet_LIBRARY
                  ArrowWheel_arrow_s3_LIBRARY
    REASON_FAILURE_MESSAGE "run packaging/setup, or give -DMILLRACE_ARROW_DIR=<site-packages>/pyarrow")
if(ArrowWheel_FOUND AND NOT TARGET ArrowWheel::arrow)
    foreach(part arrow arrow_compute parquet arrow_s3)
        string(REGEX REPLACE "^arrow_" "" _name ${part})
        add_library(ArrowWheel::${_name} SHARED IMPORTED)
        set_target_properties(ArrowWheel::${_name} PROPERTIES
            IMPORTED_LOCATION "${ArrowWheel_${part}_LIBRARY}"
            INTERFACE_INCLUDE_DIRECTORIES "${ArrowWheel_INCLUDE_DIR}"
            INTERFACE_LINK_OPTIONS "-Wl,--allow-shlib-undefined")
        get_filename_component(_file "${ArrowWheel_${part}_LIBRARY}" NAME)
        file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
        file(CREATE_LINK "${ArrowWheel_${part}_LIBRARY}" "${CMAKE_BINARY_DIR}/lib/${_file}" SYMBOLIC)
    endforeach()
    target_link_libraries(ArrowWheel::compute INTERFACE ArrowWheel::arrow)
    target_link_libraries(ArrowWheel::s3 INTERFACE ArrowWheel::arrow)
    target_link_libraries(ArrowWheel::parquet INTERFACE OpenSSL::SSL OpenSSL::Crypto ArrowWheel::arrow)
endif()
mark_as_advanced(ArrowWheel_INCLUDE_DIR)
