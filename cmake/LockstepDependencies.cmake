# What lockstep links, and which of the optional parts are there:
#   LOCKSTEP_WITH_MPI, LOCKSTEP_WITH_BLAS, LOCKSTEP_WITH_ZLIB  TRUE or FALSE
#   LOCKSTEP_BLAS_NAME                                         openblas, mkl, blas or eigen
# A layer picks its source files by these; no source file has an #ifdef for them.

find_package(Threads REQUIRED)
find_package(Eigen3 3.3 REQUIRED NO_MODULE)

# Sets LOCKSTEP_WITH_<name> from LOCKSTEP_<name> = AUTO|ON|OFF and from what was found.
macro(lockstep_optional name found what)
  if(LOCKSTEP_${name} STREQUAL "AUTO")
    set(LOCKSTEP_WITH_${name} ${found})
  elseif(LOCKSTEP_${name} AND NOT (${found}))
    message(FATAL_ERROR "LOCKSTEP_${name} is ON, but ${what} was not found")
  else()
    set(LOCKSTEP_WITH_${name} ${LOCKSTEP_${name}})
  endif()
  if(LOCKSTEP_WITH_${name})
    set(LOCKSTEP_WITH_${name} TRUE)
  else()
    set(LOCKSTEP_WITH_${name} FALSE)
  endif()
endmacro()

set(MPI_CXX_FOUND FALSE)
if(NOT LOCKSTEP_MPI STREQUAL "OFF")
  set(MPI_CXX_SKIP_MPICXX TRUE)
  find_package(MPI QUIET COMPONENTS CXX)
endif()
lockstep_optional(MPI "${MPI_CXX_FOUND}" "MPI (Debian: libopenmpi-dev)")

# A BLAS is usable with the C interface (cblas.h). BLA_VENDOR, if the user set it, is respected.
set(BLAS_FOUND FALSE)
set(LOCKSTEP_BLAS_NAME eigen)
if(NOT LOCKSTEP_BLAS STREQUAL "OFF")
  if(BLA_VENDOR)
    set(LOCKSTEP_BLAS_VENDOR ${BLA_VENDOR})
    find_package(BLAS QUIET)
  else()
    set(LOCKSTEP_BLAS_VENDOR OpenBLAS)
    set(BLA_VENDOR OpenBLAS)
    find_package(BLAS QUIET)
    unset(BLA_VENDOR)
  endif()
  find_path(LOCKSTEP_CBLAS_INCLUDE_DIR NAMES cblas.h mkl_cblas.h
            PATH_SUFFIXES openblas openblas-pthread mkl)
  mark_as_advanced(LOCKSTEP_CBLAS_INCLUDE_DIR)
  if(NOT LOCKSTEP_CBLAS_INCLUDE_DIR)
    set(BLAS_FOUND FALSE)
  endif()
endif()
lockstep_optional(BLAS "${BLAS_FOUND}" "a BLAS with cblas.h (Debian: libopenblas-dev)")
if(LOCKSTEP_WITH_BLAS)
  if(LOCKSTEP_BLAS_VENDOR MATCHES "OpenBLAS")
    set(LOCKSTEP_BLAS_NAME openblas)
  elseif(LOCKSTEP_BLAS_VENDOR MATCHES "^Intel")
    set(LOCKSTEP_BLAS_NAME mkl)
  else()
    set(LOCKSTEP_BLAS_NAME blas)
  endif()
endif()

set(ZLIB_FOUND FALSE)
if(NOT LOCKSTEP_ZLIB STREQUAL "OFF")
  find_package(ZLIB QUIET)
endif()
lockstep_optional(ZLIB "${ZLIB_FOUND}" "zlib (Debian: zlib1g-dev)")

# Eigen is header-only and private: its folder is given, its target is not, so that an installed
# static lockstep does not ask for it.
function(lockstep_link_dependencies target)
  target_link_libraries(${target} PRIVATE Threads::Threads)
  target_include_directories(
    ${target} SYSTEM PRIVATE $<TARGET_PROPERTY:Eigen3::Eigen,INTERFACE_INCLUDE_DIRECTORIES>)
  if(LOCKSTEP_WITH_MPI)
    target_link_libraries(${target} PRIVATE MPI::MPI_CXX)
  endif()
  if(LOCKSTEP_WITH_BLAS)
    target_link_libraries(${target} PRIVATE BLAS::BLAS)
    target_include_directories(${target} SYSTEM PRIVATE ${LOCKSTEP_CBLAS_INCLUDE_DIR})
  endif()
  if(LOCKSTEP_WITH_ZLIB)
    target_link_libraries(${target} PRIVATE ZLIB::ZLIB)
  endif()
endfunction()

message(STATUS "lockstep: MPI ${LOCKSTEP_WITH_MPI}, GEMM from ${LOCKSTEP_BLAS_NAME}, "
               "zlib ${LOCKSTEP_WITH_ZLIB}")
