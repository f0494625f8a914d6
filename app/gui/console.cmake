# The program millrace-console: the shell around the pages.
add_room(gui_shell
    SOURCES console_app.cpp console_options.cpp console_pages.cpp main_window.cpp screenshot.cpp
            scrolled_page.cpp shell_commands.cpp status_line.cpp
    DEPS core client session ssh gui_models gui_bridge gui_charts gui_shell_widgets gui_page gui_watch
         gui_runs gui_launch gui_data Qt6::Widgets)
target_compile_definitions(millrace_gui_shell PRIVATE MILLRACE_VERSION="${PROJECT_VERSION}")
add_program(millrace-console RPC SOURCES main.cpp DEPS gui_shell)

install(TARGETS millrace-console RUNTIME DESTINATION bin)
install(FILES ${CMAKE_SOURCE_DIR}/packaging/desktop/millrace-console.desktop
        DESTINATION share/applications)
install(FILES ${CMAKE_SOURCE_DIR}/resources/icons/millrace.svg
        DESTINATION share/icons/hicolor/scalable/apps)
