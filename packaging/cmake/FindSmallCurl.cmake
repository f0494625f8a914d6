# The libcurl that packaging/libcurl builds: an archive with only HTTP and HTTPS.
#
# SmallCurl::libcurl
set(MILLRACE_CURL_DIR "${MILLRACE_DEPS_DIR}/curl" CACHE PATH "where packaging/setup built libcurl")
find_path(SmallCurl_INCLUDE_DIR curl/curl.h PATHS "${MILLRACE_CURL_DIR}/include" NO_DEFAULT_PATH)
find_library(SmallCurl_LIBRARY libcurl.a PATHS "${MILLRACE_CURL_DIR}/lib" NO_DEFAULT_PATH)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SmallCurl
    REQUIRED_VARS SmallCurl_LIBRARY SmallCurl_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "run packaging/setup")
if(SmallCurl_FOUND AND NOT TARGET SmallCurl::libcurl)
    add_library(SmallCurl::libcurl STATIC IMPORTED)
    set_target_properties(SmallCurl::libcurl PROPERTIES
        IMPORTED_LOCATION "${SmallCurl_LIBRARY}"
        INTERFACE_COMPILE_DEFINITIONS CURL_STATICLIB
        INTERFACE_INCLUDE_DIRECTORIES "${SmallCurl_INCLUDE_DIR}"
        INTERFACE_LINK_LIBRARIES "OpenSSL::SSL;OpenSSL::Crypto;Threads::Threads")
endif()
mark_as_advanced(SmallCurl_INCLUDE_DIR SmallCurl_LIBRARY)
