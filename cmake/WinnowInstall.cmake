# Installs the libraries as a CMake package: find_package(winnow), with components `kernels` and `client`. Each component
# has its own export set, so that using one does not ask for the other's dependencies. Included last.
# The programs are installed by their folders, and OPTIONAL there: one that was not built is left out, so that the two that
# deploy/quickstart.sh builds, and the libraries they are made of, are a whole package.
#
# A build with a sanitizer is for testing and installs no libraries.
if(WINNOW_SANITIZE)
  return()
endif()
include(CMakePackageConfigHelpers)
set(WINNOW_PACKAGE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/winnow)

# winnow_install(SET targets...): each winnow_NAME becomes winnow::NAME of the export set.
function(winnow_install export_set)
  foreach(target ${ARGN})
    string(REGEX REPLACE "^winnow_" "" name ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  endforeach()
  install(TARGETS ${ARGN} EXPORT winnow_${export_set} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT winnow_development)
  install(EXPORT winnow_${export_set} NAMESPACE winnow:: FILE winnow_${export_set}.cmake
          DESTINATION ${WINNOW_PACKAGE_FOLDER} COMPONENT winnow_development)
endfunction()

target_compile_features(winnow_errors PUBLIC cxx_std_20)
winnow_install(errors winnow_errors)
winnow_install(kernels winnow_kernels)
install(DIRECTORY kernels/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT winnow_development
        FILES_MATCHING PATTERN "*.h")
if(WINNOW_BUILD_SERVER)
  winnow_install(client winnow_client winnow_client_lease_core winnow_default_target winnow_proto)
  install(DIRECTORY client/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT winnow_development
          FILES_MATCHING PATTERN "*.h")
endif()

configure_package_config_file(cmake/winnowConfig.cmake.in winnowConfig.cmake
  INSTALL_DESTINATION ${WINNOW_PACKAGE_FOLDER})
# Before 1.0 every minor version may change the interface.
write_basic_package_version_file(winnowConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/winnowConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/winnowConfigVersion.cmake
        DESTINATION ${WINNOW_PACKAGE_FOLDER} COMPONENT winnow_development)
