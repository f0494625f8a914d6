add_program(millrace-exec
    SOURCES exec_main.cpp exec_guardian.cpp exec_log.cpp exec_control.cpp exec_files.cpp
    DEPS core)
