# Fails if object files for one instruction set define a C++ function that other files may define
# too (weak, or unique): the linker keeps one of them, and it could be this one. Eigen's are fine,
# since its namespace has another name in each set.
string(REPLACE "|" ";" objects "${OBJECTS}")
execute_process(COMMAND ${NM} ${objects} OUTPUT_VARIABLE output RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${NM} failed on ${objects}")
endif()
string(REGEX MATCHALL " [WVu] _Z[^\n]*" shared "${output}")
list(FILTER shared EXCLUDE REGEX "lockstep_eigen_${VARIANT}")
if(shared)
  list(JOIN shared "\n" text)
  message(FATAL_ERROR "the ${VARIANT} code shares these symbols with other files:\n${text}")
endif()
