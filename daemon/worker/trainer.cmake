if(TARGET Torch::Torch AND TARGET millrace_train AND TARGET millrace_spec)
    add_library(millrace_trainer STATIC trainer_job.cpp)
    target_include_directories(millrace_trainer PUBLIC ${CMAKE_SOURCE_DIR})
    target_link_libraries(millrace_trainer PUBLIC
        millrace_core millrace_spec millrace_feed millrace_rank millrace_train
        PRIVATE millrace_flags)
    add_program(millrace-trainer SOURCES trainer_main.cpp DEPS millrace_trainer)
    target_compile_definitions(millrace-trainer PRIVATE MILLRACE_VERSION="${PROJECT_VERSION}")
endif()
