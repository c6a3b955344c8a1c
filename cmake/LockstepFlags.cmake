# Compiler flags, per target: nothing reaches a project that lockstep is a part of.

function(lockstep_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
  if(LOCKSTEP_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# For work on lockstep only: everything in this build is instrumented.
if(LOCKSTEP_SANITIZE)
  string(REPLACE ";" "," lockstep_sanitizers "${LOCKSTEP_SANITIZE}")
  add_compile_options(-fsanitize=${lockstep_sanitizers} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${lockstep_sanitizers})
endif()

# What the library is compiled with. No fast-math of any kind and no contraction: ranks on unlike
# processors compute the same bits. No -march: the binary runs on any x86-64, and the backend
# chooses its vector code at run time.
function(lockstep_library_flags target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE -ffp-contract=off -fno-math-errno)
  lockstep_warnings(${target})
  set_target_properties(
    ${target}
    PROPERTIES CXX_EXTENSIONS OFF
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON
               VERSION ${PROJECT_VERSION}
               SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "SHARED_LIBRARY")
    target_compile_definitions(${target} PUBLIC LOCKSTEP_STATIC)
  endif()
endfunction()

# For lockstep's own programs: tests, examples, benchmarks.
function(lockstep_program_flags target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  lockstep_warnings(${target})
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()
