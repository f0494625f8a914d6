# LibTorch from the torch wheel. The wheel's own TorchConfig.cmake requires a CUDA toolkit, so this file
# defines the targets. Needs the wheels unpacked side by side (LibTorch's RPATH finds
# nvidia/cu13/lib). -DMILLRACE_TORCH_DIR=<site-packages>/torch selects another LibTorch.
#
# Torch::Torch   headers and libraries, for backend/train/torch only
set(MILLRACE_TORCH_DIR "${MILLRACE_WHEELS}/torch" CACHE PATH "the torch package's directory")
find_path(Torch_INCLUDE_DIR torch/script.h PATHS "${MILLRACE_TORCH_DIR}/include" NO_DEFAULT_PATH)
find_library(Torch_CPU_LIBRARY torch_cpu PATHS "${MILLRACE_TORCH_DIR}/lib" NO_DEFAULT_PATH)
find_library(Torch_C10_LIBRARY c10 PATHS "${MILLRACE_TORCH_DIR}/lib" NO_DEFAULT_PATH)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Torch
    REQUIRED_VARS Torch_INCLUDE_DIR Torch_CPU_LIBRARY Torch_C10_LIBRARY
    REASON_FAILURE_MESSAGE "run packaging/setup, or give -DMILLRACE_TORCH_DIR=<site-packages>/torch")
if(Torch_FOUND AND NOT TARGET Torch::Torch)
    add_library(Torch::Torch INTERFACE IMPORTED)
    target_include_directories(Torch::Torch SYSTEM INTERFACE
        "${Torch_INCLUDE_DIR}" "${Torch_INCLUDE_DIR}/torch/csrc/api/include")
    target_compile_definitions(Torch::Torch INTERFACE USE_C10D_GLOO)
    target_link_options(Torch::Torch INTERFACE
        -Wl,--allow-shlib-undefined "-Wl,-rpath,${MILLRACE_TORCH_DIR}/lib")
    target_link_libraries(Torch::Torch INTERFACE "${Torch_CPU_LIBRARY}" "${Torch_C10_LIBRARY}")
endif()
mark_as_advanced(Torch_INCLUDE_DIR Torch_CPU_LIBRARY Torch_C10_LIBRARY)
