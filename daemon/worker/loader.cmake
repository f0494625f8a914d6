if(TARGET millrace_profile AND TARGET millrace_ring AND TARGET millrace_rank)
    add_library(millrace_loader STATIC
        loader_checksum.cpp loader_estimate.cpp loader_events.cpp loader_explain.cpp loader_feed.cpp loader_inspect.cpp loader_job.cpp
        loader_labels.cpp loader_memory.cpp loader_metrics.cpp loader_preview.cpp loader_process.cpp loader_profile.cpp loader_producer.cpp loader_progress.cpp loader_report.cpp
        loader_resolve.cpp loader_ring_stream.cpp loader_sample.cpp loader_sinks.cpp loader_stream.cpp
        loader_table.cpp loader_link.cpp)
    target_include_directories(millrace_loader PUBLIC ${CMAKE_SOURCE_DIR})
    target_link_libraries(millrace_loader PUBLIC
        millrace_core millrace_spec millrace_stream millrace_dataset millrace_recipe millrace_frame
        millrace_segment millrace_table millrace_profile millrace_ring millrace_feed millrace_rank PRIVATE millrace_flags)
    # The summing loops of the reference sink, as fast as the base instruction set allows.
    set_source_files_properties(loader_checksum.cpp PROPERTIES COMPILE_OPTIONS -O3)
    add_program(millrace-loader SOURCES loader_main.cpp DEPS millrace_loader CLI11::CLI11)
    target_compile_definitions(millrace-loader PRIVATE MILLRACE_VERSION="${PROJECT_VERSION}")
endif()
