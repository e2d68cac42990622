add_library(workflows STATIC ${CMAKE_CURRENT_LIST_DIR}/workflows.cpp)
target_link_libraries(workflows PUBLIC pawl::pawl)
add_executable(discovers ${CMAKE_CURRENT_LIST_DIR}/discovers.cpp)
pawl_link_workflows(discovers workflows)
