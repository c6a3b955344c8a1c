# Registers tests.
#
#   lockstep_add_test(<name> SOURCES a.cpp ... [RANKS 1 2 3 4] [TIMEOUT seconds] [INTERNAL]
#                     [LABELS label ...])
#
# One executable <name>, linked with Catch2's main. Without RANKS: one test, <name>, started
# directly. With RANKS: one test per count, <name>.ranks<N>, started by mpirun; the main calls
# lockstep::run, and test cases use test_environment() from support/test_environment.hpp. Without
# MPI in the build nothing is registered for RANKS. INTERNAL: the test may include src/ and use
# hidden symbols; it is left out where lockstep is a shared library.
#
#   lockstep_add_run(<name> [RANKS n] COMMAND <target or program> [argument ...]
#                    [TIMEOUT seconds] [LABELS label ...])
#
# One test that starts a program with its arguments, under mpirun where RANKS is given. Other
# properties (PASS_REGULAR_EXPRESSION, FIXTURES_REQUIRED, ...) may be set on <name> afterwards,
# if it exists: if(TEST <name>).

set(lockstep_test_timeout 120)  # seconds, unless TIMEOUT says otherwise
set(lockstep_test_environment LOCKSTEP_TIMEOUT=60)
if(LOCKSTEP_SANITIZE)
  set(lockstep_test_timeout 360)
  set(lockstep_test_environment LOCKSTEP_TIMEOUT=120)
endif()

# The start of every mpirun command. Tests share a machine with each other, so ranks are not bound
# to cores and give way while they wait; they talk through shared memory and open no port.
set(lockstep_mpirun ${MPIEXEC_EXECUTABLE})
set(lockstep_open_mpi FALSE)
if(LOCKSTEP_WITH_MPI)
  execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE lockstep_mpirun_version
                  ERROR_QUIET)
  if(lockstep_mpirun_version MATCHES "Open MPI|OpenRTE|PRRTE|prte")
    set(lockstep_open_mpi TRUE)
    list(APPEND lockstep_mpirun --oversubscribe --bind-to none --mca btl self,vader
         --mca mpi_yield_when_idle 1)
    list(APPEND lockstep_test_environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
  endif()
endif()

function(lockstep_add_run name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "RANKS;TIMEOUT" "COMMAND;LABELS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_COMMAND)
    message(FATAL_ERROR "lockstep_add_run(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(processors 1)
  if(arg_RANKS)
    if(NOT LOCKSTEP_WITH_MPI)
      return()
    endif()
    set(processors ${arg_RANKS})
    list(POP_FRONT arg_COMMAND program)
    if(TARGET ${program})
      set(program $<TARGET_FILE:${program}>)
    endif()
    set(arg_COMMAND ${lockstep_mpirun} -np ${arg_RANKS} ${program} ${arg_COMMAND})
    list(APPEND arg_LABELS ranks)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${lockstep_test_timeout})
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set(environment ${lockstep_test_environment})
  if("emulated" IN_LIST arg_LABELS OR "gpu" IN_LIST arg_LABELS)
    list(APPEND environment LOCKSTEP_TEST_DEVICE=auto)
  endif()
  set_tests_properties(
    ${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} PROCESSORS ${processors} LABELS "${arg_LABELS}"
                       ENVIRONMENT "${environment}")
endfunction()

function(lockstep_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "INTERNAL" "TIMEOUT" "SOURCES;RANKS;LABELS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "lockstep_add_test(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  get_target_property(type lockstep TYPE)
  if((arg_RANKS AND NOT LOCKSTEP_WITH_MPI) OR (arg_INTERNAL AND type STREQUAL "SHARED_LIBRARY"))
    return()
  endif()

  add_executable(${name} ${arg_SOURCES})
  lockstep_program_flags(${name})
  # Catch2's macros take the optimizer long, and gain nothing.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE lockstep::lockstep)
  if(arg_INTERNAL)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  endif()

  set(options LABELS ${arg_LABELS})
  if(arg_TIMEOUT)
    list(APPEND options TIMEOUT ${arg_TIMEOUT})
  endif()
  if(NOT arg_RANKS)
    target_link_libraries(${name} PRIVATE lockstep_test_main)
    lockstep_add_run(${name} COMMAND ${name} ${options})
    return()
  endif()
  target_link_libraries(${name} PRIVATE lockstep_test_mpi_main)
  foreach(count IN LISTS arg_RANKS)
    lockstep_add_run(${name}.ranks${count} RANKS ${count} COMMAND ${name} ${options})
  endforeach()
endfunction()
