# pawl_link_workflows(target library...)
#
# Links libraries into the target, as target_link_libraries(target PRIVATE ...) does, but whole: of a
# static library the linker takes only object files that somebody refers to, and nobody refers to one
# that only registers a workflow with PAWL_WORKFLOW.
function(pawl_link_workflows target)
  if(NOT ARGN)
    message(FATAL_ERROR "pawl_link_workflows(${target}): name the libraries that hold the workflows")
  endif()
  foreach(library IN LISTS ARGN)
    if(NOT TARGET ${library})
      message(FATAL_ERROR "pawl_link_workflows(${target}): '${library}' is not a target: add the library first")
    endif()
    target_link_libraries(${target} PRIVATE ${library})
    get_target_property(type ${library} TYPE)
    if(type MATCHES "^(STATIC|SHARED)_LIBRARY$")
      # Not $<LINK_LIBRARY:WHOLE_ARCHIVE,...>: CMake 3.25 refuses it, or takes every object twice, where
      # another library links the same one in the usual way.
      target_link_options(${target} PRIVATE
        "LINKER:--push-state,--whole-archive,--no-as-needed,$<TARGET_FILE:${library}>,--pop-state")
    endif()
  endforeach()
endfunction()
