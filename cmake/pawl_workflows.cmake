# pawl_link_workflows(target library...)
#
# Links libraries into the target, like target_link_libraries(target PRIVATE ...), but as a whole: from a static
# library the linker takes only object files that are referenced, and a file that only registers a workflow with
# PAWL_WORKFLOW is not.
function(pawl_link_workflows target)
  if(NOT ARGN)
    message(FATAL_ERROR "pawl_link_workflows(${target}): pass the libraries that define the workflows")
  endif()
  foreach(library IN LISTS ARGN)
    if(NOT TARGET ${library})
      message(FATAL_ERROR "pawl_link_workflows(${target}): '${library}' is not a target; add the library first")
    endif()
    target_link_libraries(${target} PRIVATE ${library})
    get_target_property(type ${library} TYPE)
    if(type MATCHES "^(STATIC|SHARED)_LIBRARY$")
      # Not $<LINK_LIBRARY:WHOLE_ARCHIVE,...>: CMake 3.25 rejects it, or links every object twice, if another library
      # links the same one normally.
      target_link_options(${target} PRIVATE
        "LINKER:--push-state,--whole-archive,--no-as-needed,$<TARGET_FILE:${library}>,--pop-state")
    endif()
  endforeach()
endfunction()
