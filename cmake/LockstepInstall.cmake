# Install rules and the package for find_package(lockstep CONFIG). The package can be moved: it
# names no path of this machine.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(lockstep_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lockstep)

install(TARGETS lockstep EXPORT lockstepTargets)
install(DIRECTORY include/lockstep DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Whoever links a static lockstep links what it needs; a shared one brings it along.
get_target_property(lockstep_type lockstep TYPE)
set(lockstep_static FALSE)
if(lockstep_type STREQUAL "STATIC_LIBRARY")
  set(lockstep_static TRUE)
endif()
configure_package_config_file(
  cmake/lockstepConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/package/lockstepConfig.cmake
  INSTALL_DESTINATION ${lockstep_package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/package/lockstepConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/package/lockstepConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/package/lockstepConfigVersion.cmake
        DESTINATION ${lockstep_package_dir})
if(LOCKSTEP_WITH_NCCL)
  install(FILES cmake/FindNCCL.cmake DESTINATION ${lockstep_package_dir})
endif()
install(EXPORT lockstepTargets NAMESPACE lockstep:: DESTINATION ${lockstep_package_dir})
